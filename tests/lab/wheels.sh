# Pinned packages from a lock file (`name version file sha256` lines), fetched
# by pip with the hashes checked.

# pip as the machine has it set up (its index, its CA), less the settings that
# would change what is picked.
lab_pip() {
  env -u PIP_FIND_LINKS -u PIP_NO_INDEX -u PIP_CONSTRAINT -u PIP_REQUIRE_VIRTUALENV -u PIP_TARGET \
    python3 -m pip --disable-pip-version-check "$@"
}

# lock_lines LOCK [NAME...]: the lines of a lock, or of some of its packages.
lock_lines() {
  local lock="$1"
  shift
  awk -v names=" $* " '!/^#/ && NF == 4 && (names == "  " || index(names, " " $1 " "))' "$lock"
}

lock_version() { lock_lines "$1" "$2" | awk '{ print $2; exit }'; }

# fetch LOCK FOLDER [NAME...]: every locked file lies in FOLDER afterwards. The
# hash in each requirement makes pip pick exactly that file, whatever Python,
# libc or platform it is for.
fetch() {
  local lock="$1" folder="$2" missing="$LAB/work/fetch.lock" name version file hash
  shift 2
  mkdir -p "$folder" "$LAB/work"
  while :; do
    lock_lines "$lock" "$@" | while read -r name version file hash; do
      [ -e "$folder/$file" ] || echo "$name $version $file $hash"
    done >"$missing"
    [ -s "$missing" ] || break
    # One run of pip takes one version of a package, wheels or sdists: those of
    # the first missing line's kind go first, the others in later rounds.
    awk '{ kind = $3 ~ /\.whl$/ } NR == 1 { first = kind } kind == first && !seen[$1]++' "$missing" >"$missing.round"
    fetch_round "$missing.round" "$folder"
  done
}

fetch_round() {
  local round="$1" folder="$2" kind='--no-binary=:all:' file
  python3 -m pip --version >/dev/null 2>&1 || die "python3 has no pip; install it first: apt-get install python3-pip"
  say "fetching $(awk '{ printf "%s%s %s", sep, $1, $2; sep = ", " }' "$round")"
  rm -rf "$LAB/work/fetch"
  mkdir -p "$LAB/work/fetch"
  awk '{ printf "%s==%s --hash=sha256:%s\n", $1, $2, $4 }' "$round" >"$round.txt"
  if grep -q '\.whl ' "$round"; then
    kind='--only-binary=:all: --python-version=3.11 --implementation=cp --abi=cp311 --abi=abi3 --abi=none
      --platform=manylinux_2_28_x86_64 --platform=manylinux_2_27_x86_64 --platform=manylinux_2_25_x86_64
      --platform=manylinux_2_24_x86_64
      --platform=manylinux_2_18_x86_64 --platform=manylinux_2_17_x86_64 --platform=manylinux2014_x86_64
      --platform=musllinux_1_1_x86_64 --platform=manylinux_2_28_aarch64 --platform=any'
  fi
  # shellcheck disable=SC2086
  lab_pip download --quiet --no-deps --require-hashes $kind \
    --dest "$LAB/work/fetch" --requirement "$round.txt" </dev/null
  while read -r _ _ file _; do
    [ -e "$LAB/work/fetch/$file" ] || die "pip did not give $file, which is locked"
    mv "$LAB/work/fetch/$file" "$folder/$file"
  done <"$round"
}

unpack_wheel() { python3 -m zipfile -e "$1" "$2"; }
