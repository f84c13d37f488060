# The package index on loopback: pinned packages, and whatever a test adds.

# A changed server is a new server: its own hash is part of the pid file's key.
index_up() {
  local dir="$LAB/index" key
  key="$INDEX_PORT $(key_of <"$HERE/index.py")"
  if alive "$dir/pid" "$dir"; then
    [ "$(cat "$dir/key" 2>/dev/null)" = "$key" ] && [ "$(http_status "$INDEX_PORT" /simple/)" = 200 ] && return 0
    stop "$dir/pid" "$dir"
  fi
  need_command python3 python3
  ! port_answers "$INDEX_PORT" ||
    die "port $INDEX_PORT is taken by something else; stop it or set WHEELBASE_INDEX_PORT"
  mkdir -p "$dir/files" "$dir/static"
  : >"$dir/access.log"
  # -S, -E: the server is the same with or without the machine's Python settings.
  launch "$dir/pid" "$dir/log" python3 -E -S "$HERE/index.py" --port "$INDEX_PORT" \
    --files "$dir/files" --static "$dir/static" --log "$dir/access.log"
  wait_for 30 "$dir/pid" "$dir" "$dir/log" port_answers "$INDEX_PORT" || die "the index did not come up"
  echo "$key" >"$dir/key"
  say "index is up on http://127.0.0.1:$INDEX_PORT/simple/"
}

index_down() {
  ! alive "$LAB/index/pid" "$LAB/index" || say "stopping the index"
  stop "$LAB/index/pid" "$LAB/index"
}

# Fetched beside the served folder, so that a test may change that one freely
# and the pins come back without a download.
index_build() {
  local file
  fetch "$HERE/index.lock" "$LAB/wheels"
  while read -r _ _ file _; do
    [ -e "$LAB/index/files/$file" ] || index_add "$LAB/wheels/$file"
  done < <(lock_lines "$HERE/index.lock")
}

# A file appears under its name in one step: a reader sees all of it or none.
index_add() {
  local file name
  mkdir -p "$LAB/index/files"
  for file in "$@"; do
    name="$(basename "$file")"
    case "$name" in *.whl | *-*.tar.gz) ;; *) die "$name is neither a wheel nor an sdist" ;; esac
    cp "$file" "$LAB/index/files/.$name.$$"
    chmod 0644 "$LAB/index/files/.$name.$$"
    mv "$LAB/index/files/.$name.$$" "$LAB/index/files/$name"
  done
}

command_index() {
  local action="${1:-build}" file
  [ "$#" -eq 0 ] || shift
  case "$action" in
    build) take_lock; index_up; index_build ;;
    add) [ "$#" -gt 0 ] || die "index add needs files"; index_add "$@" ;;
    remove) for file in "$@"; do rm -f "$LAB/index/files/$(basename "$file")"; done ;;
    *) die "unknown: index $action; there are build, add, remove" ;;
  esac
}
