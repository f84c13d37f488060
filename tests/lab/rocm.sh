# Stand-ins for what a spec with `rocm` stands on, under the real names and tags below the loopback registry.

ROCM_VERSION=6.4
ROCM_OS=22.04

rocm_images() {
  echo "library/ubuntu:$ROCM_OS wheelbase-lab/rocm-runtime:$ROCM_VERSION rocm/dev-ubuntu-$ROCM_OS:$ROCM_VERSION-complete"
}

rocm_up() {
  local engine="$1" key context="$LAB/contexts/tiers"
  rootfs_ready
  key="$(cat <(grep -v "^#" "$HERE/rocm.Dockerfile") "$LAB/stamps/rootfs" <(declare -f rocm_images) | key_of)"
  # shellcheck disable=SC2046
  if fresh rocm "$key" && in_registry $(rocm_images); then return 0; fi
  build_image "$engine" "$HERE/rocm.Dockerfile" "$context" ubuntu "library/ubuntu:$ROCM_OS"
  build_image "$engine" "$HERE/rocm.Dockerfile" "$context" runtime "wheelbase-lab/rocm-runtime:$ROCM_VERSION"
  build_image "$engine" "$HERE/rocm.Dockerfile" "$context" devel "rocm/dev-ubuntu-$ROCM_OS:$ROCM_VERSION-complete"
  stamp rocm "$key"
}
