# Tries what the lab promises: on every engine named the images pull, compile
# and install; uv locks against the index.

check_engine() {
  local engine="$1" context="$LAB/contexts/check" log="$LAB/engines/$1/check.log" started=$SECONDS
  rm -rf "$context"
  mkdir -p "$context"
  cp "$HERE/check.cu" "$HERE/check.c" "$context/"
  docker_of "$engine" buildx build --network host --no-cache --progress plain --output type=cacheonly \
    --file "$HERE/check.Dockerfile" --target all --build-arg "registry=$REGISTRY" \
    --build-arg "cuda=$CUDA_VERSION" --build-arg "uv=$(lock_version "$HERE/tools.lock" uv)" \
    "$context" >"$log" 2>&1 || die "engine $engine: $(tail -n 40 "$log")"
  say "engine $engine: tiers, compilers, Python and apt work ($((SECONDS - started)) s)"
}

check_index() {
  local project="$LAB/work/lock-check" lock
  rm -rf "$project"
  mkdir -p "$project"
  cat >"$project/pyproject.toml" <<'EOF'
[project]
name = "lock-check"
version = "0"
requires-python = ">=3.11,<3.12"
dependencies = ["requests", "numpy", "idna<3.20"]
EOF
  lock="$project/uv.lock"
  (
    cd "$project"
    UV_CACHE_DIR="$project/cache" "$LAB/bin/uv" lock --quiet --no-config --no-python-downloads \
      --python "$LAB/contexts/python/python/bin/python3.11" \
      --default-index "http://127.0.0.1:$INDEX_PORT/simple/"
  ) || die "uv did not lock against the index"
  grep -q 'idna-3.10-py3-none-any.whl", hash = "sha256:[0-9a-f]\{64\}", size = [0-9]' "$lock" ||
    die "the lock lacks hashes or sizes: $(grep idna "$lock")"
  rm -rf "$project"
  say "index: uv locks with hashes and sizes"
}

command_check() {
  local engine found=0
  if [ "$#" -eq 0 ]; then
    for engine in $ENGINES; do
      ! engine_running "$engine" || set -- "$@" "$engine"
    done
  fi
  take_lock
  for engine in "$@"; do
    check_engine "$engine"
    found=1
  done
  [ "$found" = 1 ] || die "no engine is up; run: lab up"
  check_index
}
