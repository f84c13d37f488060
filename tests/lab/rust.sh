# This machine's Rust toolchain as an image: the replaced base of a Dockerfile
# that compiles, where no public Rust image can be pulled.

rust_version() { rustc --version 2>/dev/null | awk '{ print $2 }'; }
rust_image() { echo "wheelbase-lab/rust:$(rust_version || true)"; }

rust_up() {
  local engine="$1" sysroot key context="$LAB/contexts/rust" image toolchain
  need_command rustc rustc
  image="$(rust_image)"
  sysroot="$(rustc --print sysroot)"
  engine_running "$engine" || die "engine $engine is not up; run: lab up $engine"
  in_registry "nvidia/cuda:$CUDA_VERSION-base-$CUDA_OS" || die "the tiers are not there; run: lab up $engine"
  key="$(cat "$HERE/rust.Dockerfile" "$LAB/stamps/rootfs" <(declare -f rust_up) <(rustc --version --verbose) | key_of)"
  if fresh rust "$key" && in_registry "$image"; then return 0; fi
  rm -rf "$context"
  toolchain="$context/toolchain"
  mkdir -p "$toolchain/lib"
  cp -a "$sysroot/bin" "$toolchain/"
  [ -x "$toolchain/bin/cargo" ] || cp "$(command -v cargo)" "$toolchain/bin/"
  cp -a "$sysroot"/lib/*.so* "$toolchain/lib/"
  mkdir -p "$toolchain/lib/rustlib"
  find "$sysroot/lib/rustlib" -mindepth 1 -maxdepth 1 -name '*-linux-*' -exec cp -a {} "$toolchain/lib/rustlib/" \;
  ln "$LAB/contexts/tiers/rootfs.tar" "$context/rootfs.tar"
  build_image "$engine" "$HERE/rust.Dockerfile" "$context" '' "$image"
  stamp rust "$key"
  rm -rf "$context"
}
