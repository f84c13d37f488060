# Debian packages of several suites side by side, unpacked into lab folders.
# Nothing of the machine itself is upgraded or configured.

# The URIs and suites that this machine's own apt configuration names, one
# `URI SUITE` a line. `--print-uris` reads the configuration alone: it works
# before the first `apt-get update` and touches no network.
apt_sources() {
  apt-get update --print-uris | sed -n "s#^'\(.*\)/dists/\([^/]*\)/InRelease'.*#\1 \2#p"
}

debian_ready() {
  [ "$(id -u)" = 0 ] || die "the lab has to run as root: it starts engines and builds root file systems"
  need_command apt-get apt
  # shellcheck disable=SC1091
  [ "$(. /etc/os-release && echo "${VERSION_CODENAME:-}")" = bookworm ] ||
    die "the lab is made for Debian 12 (bookworm)"
  local uri keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  [ -r "$keyring" ] || die "no $keyring; install it first: apt-get install debian-archive-keyring"
  uri="$(apt_sources | awk '$2 == "bookworm" { print $1; exit }')"
  [ -n "$uri" ] || die "apt names no source for bookworm on this machine"
  mkdir -p "$LAB/apt/lists/partial" "$LAB/apt/cache/archives/partial" "$LAB/debs" "$LAB/trees"
  cat >"$LAB/apt/lab.sources" <<EOF
Types: deb
URIs: $uri
Suites: bookworm trixie sid
Components: main
Signed-By: $keyring
EOF
}

# apt-get with the lab's sources, lists and caches; the machine's remaining
# settings (proxies, credentials) stay in force. LAB_ARCH asks for another
# architecture than this machine's.
lab_apt() {
  local arch="${LAB_ARCH-}"
  mkdir -p "$LAB/apt/lists${arch:+-$arch}/partial"
  apt-get --quiet --quiet \
    ${arch:+-o "APT::Architecture=$arch" -o "APT::Architectures=$arch" -o Dir::State::status=/dev/null} \
    -o "Dir::Etc::sourcelist=$LAB/apt/lab.sources" -o Dir::Etc::sourceparts=/dev/null \
    -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
    -o "Dir::State::Lists=$LAB/apt/lists${arch:+-$arch}" -o "Dir::Cache=$LAB/apt/cache" \
    -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
    -o APT::Sandbox::User=root "$@"
}

# tree NAME SUITE PACKAGE...: the packages of SUITE, unpacked together under
# $LAB/trees/NAME. An update comes first only when the lists cannot serve the
# request, since sid drops old versions from its pool.
tree() {
  local name="$1" suite="$2" target="$LAB/trees/$1" key package
  shift 2
  key="$suite${LAB_ARCH:+ $LAB_ARCH} $*"
  ! fresh "tree-$name" "$key" || return 0
  debian_ready
  say "unpacking $* from $suite"
  rm -rf "$LAB/debs/$name" "$target"
  mkdir -p "$LAB/debs/$name" "$target"
  (
    cd "$LAB/debs/$name" || exit
    set -- "${@/%//$suite}"
    if ! lab_apt download "$@" >/dev/null 2>&1; then
      lab_apt update
      lab_apt download "$@" >/dev/null
    fi
  )
  for package in "$LAB/debs/$name"/*.deb; do
    dpkg -x "$package" "$target"
  done
  rm -rf "${LAB:?}/debs/$name"
  stamp "tree-$name" "$key"
}
