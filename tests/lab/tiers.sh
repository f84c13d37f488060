# Stand-ins for the GPU tiers, under the real ones' names and tags below the
# loopback registry: Debian 12 root file systems with NVIDIA's own compiler.

CUDA_VERSION=13.0.2
CUDA_HOME="usr/local/cuda-${CUDA_VERSION%.*}"
CUDA_OS=ubuntu22.04
CUDA_WHEELS="nvidia-cuda-runtime nvidia-nvtx nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-cccl"
NGC_IMAGE=nvidia/pytorch:25.09-py3

# What the base tier holds beside the minimal system: the libraries that a
# CPython from elsewhere links to, and no Python.
BASE_PACKAGES=usr-is-merged,ca-certificates,libssl3,libffi8,zlib1g,libbz2-1.0,liblzma5,libsqlite3-0,libstdc++6,libexpat1,libuuid1,libncursesw6,libreadline8

tier_images() {
  echo "nvidia/cuda:$CUDA_VERSION-base-$CUDA_OS"
  echo "nvidia/cuda:$CUDA_VERSION-runtime-$CUDA_OS nvidia/cuda:$CUDA_VERSION-cudnn-runtime-$CUDA_OS"
  echo "nvidia/cuda:$CUDA_VERSION-devel-$CUDA_OS nvidia/cuda:$CUDA_VERSION-cudnn-devel-$CUDA_OS"
  echo "$NGC_IMAGE"
}

# build_image ENGINE DOCKERFILE CONTEXT TARGET NAME:TAG...: builds and pushes.
# No attestations: the pushed thing is a plain manifest that every engine pulls.
build_image() {
  local engine="$1" dockerfile="$2" context="$3" target="$4"
  shift 4
  say "building $1"
  docker_of "$engine" buildx build --quiet --load --network host --provenance=false --sbom=false \
    --file "$dockerfile" ${target:+--target "$target"} --tag "$REGISTRY/$1" "$context" >/dev/null
  publish "$engine" "$REGISTRY/$1" "$@"
}

# The root file system of the base tier. apt in it knows the same sources as
# apt on this machine.
rootfs_ready() {
  local key sources="$LAB/apt/tier.list" out="$LAB/contexts/tiers/rootfs.tar"
  debian_ready
  apt_sources | awk '!seen[$0]++ { printf "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n", $1, $2 }' >"$sources"
  key="$(printf '%s\n' "$BASE_PACKAGES" "$(cat "$sources" "$HERE/docker-clean")" "$(declare -f rootfs_ready)" | key_of)"
  if fresh rootfs "$key" && [ -e "$out" ]; then return 0; fi
  tree mmdebstrap bookworm mmdebstrap
  need_command perl perl
  say "making the Debian 12 root file system"
  mkdir -p "$(dirname "$out")" "$LAB/work"
  # PATH: it calls helpers of its own. TMPDIR: the work folder has to lie on a disk that allows devices and exec.
  PATH="$LAB/trees/mmdebstrap/usr/bin:$PATH" TMPDIR="$LAB/work" SOURCE_DATE_EPOCH="$LAB_EPOCH" perl "$LAB/trees/mmdebstrap/usr/bin/mmdebstrap" --verbose \
    --mode=root --variant=minbase --format=tar --include="$BASE_PACKAGES" \
    --hook-dir="$LAB/trees/mmdebstrap/usr/share/mmdebstrap/hooks/merged-usr" \
    --aptopt='APT::Install-Recommends "false"' \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --customize-hook='rm -f "$1"/var/cache/apt/*.bin' \
    --customize-hook='rm -f "$1/etc/apt/apt.conf.d/99mmdebstrap" "$1/etc/resolv.conf" "$1/etc/hostname"' \
    --customize-hook="cp '$HERE/docker-clean' \"\$1/etc/apt/apt.conf.d/docker-clean\"" \
    bookworm "$out.new" "$sources" >"$LAB/work/mmdebstrap.log" 2>&1 9>&- ||
    die "mmdebstrap failed: $(tail -n 30 "$LAB/work/mmdebstrap.log")"
  mv "$out.new" "$out"
  stamp rootfs "$key"
}

# The toolkit laid out as in the vendor's images: real folders under
# targets/x86_64-linux, links to them from /usr/local/cuda-13.0. Each tier is
# an overlay of its own, so that a tier holds what the tier below lacks.
cuda_ready() {
  local context="$LAB/contexts/tiers" unpacked="$LAB/work/cuda" file target home tier
  # shellcheck disable=SC2086
  fetch "$HERE/tools.lock" "$LAB/wheels" $CUDA_WHEELS
  rm -rf "$unpacked" "$context/cuda"
  # shellcheck disable=SC2086
  for file in $(lock_lines "$HERE/tools.lock" $CUDA_WHEELS | awk '{ print $3 }'); do
    unpack_wheel "$LAB/wheels/$file" "$unpacked"
  done
  unpacked="$unpacked/nvidia/cu13"
  for tier in base runtime devel; do
    mkdir -p "$context/cuda/$tier/$CUDA_HOME/targets/x86_64-linux/lib"
  done
  home="$context/cuda/base/$CUDA_HOME"
  ln -s targets/x86_64-linux/lib "$home/lib64"
  ln -s "/$CUDA_HOME" "$context/cuda/base/usr/local/cuda"
  ln -s "/$CUDA_HOME" "$context/cuda/base/usr/local/cuda-${CUDA_VERSION%%.*}"
  mv "$unpacked"/lib/libcudart.so.* "$home/targets/x86_64-linux/lib/"
  mv "$unpacked"/lib/libnvtx3interop.so.* "$context/cuda/runtime/$CUDA_HOME/targets/x86_64-linux/lib/"

  home="$context/cuda/devel/$CUDA_HOME"
  target="$home/targets/x86_64-linux"
  cp -a "$unpacked/bin" "$unpacked/nvvm" "$home/"
  cp -a "$unpacked/include" "$target/"
  cp -a "$unpacked"/lib/. "$target/lib/"
  ln -s libcudart.so.13 "$target/lib/libcudart.so"
  ln -s targets/x86_64-linux/include "$home/include"
  # The wheels' nvcc looks for its own libraries in `lib`.
  ln -s targets/x86_64-linux/lib "$home/lib"
  # Wheels carry no mode bits.
  find "$context/cuda" -type f -exec chmod 0644 {} +
  find "$home/bin" "$home/nvvm/bin" -maxdepth 1 -type f ! -name '*.profile' -exec chmod 0755 {} +
  find "$context/cuda" -name '.metadata' -prune -exec rm -rf {} +
  settle "$context/cuda"
  rm -rf "$LAB/work/cuda"
}

tiers_up() {
  local engine="$1" key context="$LAB/contexts/tiers" tier names
  rootfs_ready
  # shellcheck disable=SC2086
  key="$(cat <(grep -v "^#" "$HERE/tiers.Dockerfile") "$LAB/stamps/rootfs" <(declare -f cuda_ready) <(lock_lines "$HERE/tools.lock" $CUDA_WHEELS) | key_of)"
  # shellcheck disable=SC2046
  if fresh tiers "$key" && in_registry $(tier_images); then return 0; fi
  cuda_ready
  for tier in base runtime devel ngc; do
    case "$tier" in
      base) names="nvidia/cuda:$CUDA_VERSION-base-$CUDA_OS" ;;
      ngc) names="$NGC_IMAGE" ;;
      *) names="nvidia/cuda:$CUDA_VERSION-$tier-$CUDA_OS nvidia/cuda:$CUDA_VERSION-cudnn-$tier-$CUDA_OS" ;;
    esac
    # shellcheck disable=SC2086
    build_image "$engine" "$HERE/tiers.Dockerfile" "$context" "$tier" $names
  done
  stamp tiers "$key"
}
