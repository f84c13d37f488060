# torch with all that it brings, and a kernel project for it: files for an index of their own. Wheels of hundreds of megabytes:
# a second copy in pip's cache helps nobody.

torch_fetch() {
  local name
  need_command python3 python3
  for name in $(lock_lines "$HERE/torch.lock" | awk '$3 ~ /\.whl$/ && !seen[$1]++ { print $1 }'); do
    PIP_NO_CACHE_DIR=1 fetch "$HERE/torch.lock" "$LAB/torch/wheels" "$name"
  done
  torch_sdist
}

# pip hands a source distribution over when its setup.py has told its metadata, and this one imports torch for that. The
# few names that it takes from there are enough.
torch_sdist() {
  local stub="$LAB/work/torch" tool name version file hash
  read -r name version file hash < <(lock_lines "$HERE/torch.lock" causal-conv1d)
  [ ! -e "$LAB/torch/wheels/$file" ] || return 0
  rm -rf "$stub"
  mkdir -p "$stub/torch/utils" "$stub/out"
  printf '%s\n' 'from types import SimpleNamespace' "__version__ = '0.0'" 'version = SimpleNamespace(hip=None)' \
    >"$stub/torch/__init__.py"
  : >"$stub/torch/utils/__init__.py"
  printf '%s\n' 'BuildExtension = CppExtension = CUDAExtension = object' 'CUDA_HOME = HIP_HOME = None' \
    >"$stub/torch/utils/cpp_extension.py"
  for tool in setuptools wheel packaging; do
    unpack_wheel "$LAB/torch/wheels/$(lock_lines "$HERE/torch.lock" "$tool" | awk '{ print $3 }')" "$stub"
  done
  say "fetching $name $version"
  printf '%s==%s --hash=sha256:%s\n' "$name" "$version" "$hash" >"$stub/requirements.txt"
  CAUSAL_CONV1D_SKIP_CUDA_BUILD=TRUE PYTHONPATH="$stub" PIP_NO_CACHE_DIR=1 lab_pip download --quiet --no-deps --require-hashes \
    --no-binary=:all: --no-build-isolation --dest "$stub/out" --requirement "$stub/requirements.txt" </dev/null
  mv "$stub/out/$file" "$LAB/torch/wheels/$file"
  rm -rf "$stub"
}
