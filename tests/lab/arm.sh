# What a build for two platforms needs: a base tier that is there for amd64 and
# arm64, a CPython for arm64, and a program that runs it here to see whether
# what was installed works. Nothing of it runs during a build.

ARM_IMAGE=wheelbase-lab/base:two-platforms
ARM_ARCHIVE=cpython-arm64-3.11.tar.gz

arm_up() {
  local engine="$1" key context="$LAB/contexts/arm" archive="$LAB/index/static/$ARM_ARCHIVE" amd64
  amd64="nvidia/cuda:$CUDA_VERSION-base-$CUDA_OS"
  key="$(cat "$HERE/arm.sh" "$HERE/arm.Dockerfile" <(declare -f python_tree) "$LAB/stamps/tiers" | key_of)"
  if fresh arm "$key" && [ -e "$archive" ] && [ -x "$LAB/bin/qemu-aarch64-static" ] && in_registry "$ARM_IMAGE"; then
    return 0
  fi
  rm -rf "$context"
  mkdir -p "$context" "$LAB/bin"
  LAB_ARCH=arm64 tree base-arm64 bookworm base-files libc6 libgcc-s1 libstdc++6 libssl3 libffi8 zlib1g libbz2-1.0 \
    liblzma5 libsqlite3-0 libexpat1 libuuid1
  cp -a "$LAB/trees/base-arm64" "$context/rootfs"
  settle "$context/rootfs"
  say "building $ARM_IMAGE"
  docker_of "$engine" buildx build --quiet --platform linux/arm64 --provenance=false --sbom=false --push \
    --file "$HERE/arm.Dockerfile" --tag "$REGISTRY/$ARM_IMAGE-arm64" "$context" >/dev/null
  docker_of "$engine" buildx imagetools create --tag "$REGISTRY/$ARM_IMAGE" \
    "$REGISTRY/$amd64" "$REGISTRY/$ARM_IMAGE-arm64" >/dev/null 2>&1
  python_tree "$context/python" arm64
  python_archive "$context" "$archive"
  tree qemu bookworm qemu-user-static
  install -m 0755 "$LAB/trees/qemu/usr/bin/qemu-aarch64-static" "$LAB/bin/"
  rm -rf "$context"
  stamp arm "$key"
}
