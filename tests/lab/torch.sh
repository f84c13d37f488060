# torch with all that it brings, and a kernel project for it: files for an index of their own. Wheels of hundreds of megabytes:
# a second copy in pip's cache helps nobody.

torch_fetch() {
  local name
  need_command python3 python3
  for name in $(lock_lines "$HERE/torch.lock" | awk '!seen[$1]++ { print $1 }'); do
    PIP_NO_CACHE_DIR=1 fetch "$HERE/torch.lock" "$LAB/torch/wheels" "$name"
  done
}
