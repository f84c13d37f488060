# Docker engines, several at once, each with its own socket and data.

ENGINES="28.5 26.1 20.10"

engine_suite() {
  case "$1" in
    28.5) echo sid ;;
    26.1) echo trixie ;;
    20.10) echo bookworm ;;
    *) die "unknown engine '$1'; there are: $ENGINES" ;;
  esac
}

engine_dir() { echo "$LAB/engines/$1"; }
engine_socket() { echo "$LAB/engines/$1/docker.sock"; }

# docker_of ENGINE ARGUMENT...: the lab's docker client, on that engine.
docker_of() {
  local engine="$1"
  shift
  DOCKER_HOST="unix://$(engine_socket "$engine")" DOCKER_CONFIG="$LAB/docker" \
    DOCKER_CONTEXT='' BUILDX_BUILDER='' "$LAB/bin/docker" "$@"
}

engine_version() { docker_of "$1" version --format '{{.Server.Version}}'; }

# The client and buildx are one pair for all engines.
client_ready() {
  tree client sid docker-cli docker-buildx
  local plugin="$LAB/trees/client/usr/libexec/docker/cli-plugins/docker-buildx"
  [ -x "$plugin" ] || die "docker-buildx of Debian's sid has no plugin at $plugin"
  mkdir -p "$LAB/bin" "$LAB/docker/cli-plugins"
  ln -sfn "$LAB/trees/client/usr/bin/docker" "$LAB/bin/docker"
  ln -sfn "$plugin" "$LAB/docker/cli-plugins/docker-buildx"
  [ -e "$LAB/docker/config.json" ] || echo '{}' >"$LAB/docker/config.json"
}

engine_tree() {
  case "$1" in
    20.10) tree "engine-$1" bookworm docker.io containerd libdevmapper1.02.1 ;;
    *) tree "engine-$1" "$(engine_suite "$1")" docker.io containerd ;;
  esac
  # The newer suites' runc needs a newer libc than Debian 12 has.
  tree runc bookworm runc libseccomp2
  rm -f "$LAB/trees/engine-$1/usr/sbin/runc" "$LAB/trees/engine-$1/usr/bin/runc"
}

engine_up() {
  local engine="$1" dir trees socket libs features='' started
  dir="$(engine_dir "$engine")"
  socket="$(engine_socket "$engine")"
  # A unix socket's path holds 107 bytes; the engine's own containerd puts one
  # into its exec root as well.
  [ "${#dir}" -le 70 ] || die "$LAB is too long a path for the engines' sockets; set WHEELBASE_LAB to a shorter one"
  client_ready
  engine_tree "$engine"
  if alive "$dir/pid" "$dir" && engine_version "$engine" >/dev/null 2>&1; then
    return 0
  fi
  stop "$dir/pid" "$dir"
  engine_sweep "$engine"
  started=$SECONDS
  mkdir -p "$dir/data" "$dir/exec"
  rm -f "$dir/docker.pid" "$socket"
  [ "$engine" = 20.10 ] || features='"features": {"containerd-snapshotter": true},'
  # The key path is 20.10's only: elsewhere it would be an unknown setting.
  [ "$engine" != 20.10 ] || features="\"storage-driver\": \"overlay2\", \"deprecated-key-path\": \"$dir/key.json\","
  cat >"$dir/daemon.json" <<EOF
{$features "builder": {"gc": {"enabled": true, "defaultKeepStorage": "${WHEELBASE_KEEP_STORAGE:-20GB}"}}}
EOF
  trees="$LAB/trees/engine-$engine"
  libs="$(printf '%s:' "$trees"/usr/lib/*-linux-gnu "$trees"/lib/*-linux-gnu "$LAB"/trees/runc/usr/lib/*-linux-gnu)"
  launch "$dir/pid" "$dir/log" env \
    "PATH=$trees/usr/sbin:$trees/usr/bin:$LAB/trees/runc/usr/sbin:$PATH" \
    "LD_LIBRARY_PATH=${libs%:}" "SSL_CERT_FILE=$(ca_bundle)" \
    dockerd --config-file "$dir/daemon.json" --host "unix://$socket" \
    --data-root "$dir/data" --exec-root "$dir/exec" --pidfile "$dir/docker.pid" \
    --iptables=false --ip6tables=false --bridge=none
  wait_for 60 "$dir/pid" "$dir" "$dir/log" engine_version "$engine" ||
    die "engine $engine did not come up"
  engine_version "$engine" >"$dir/version"
  case "$(cat "$dir/version")" in
    "$engine".*) ;;
    *) say "warning: Debian's $(engine_suite "$engine") now has engine $(cat "$dir/version"), not $engine" ;;
  esac
  say "engine $engine is up ($(cat "$dir/version"), $((SECONDS - started)) s)"
}

# An engine that was killed leaves its containerd behind, and every engine its
# mounts, on which a folder's removal would fail.
engine_sweep() {
  local dir mount
  dir="$(engine_dir "$1")"
  stop "$dir/exec/containerd/containerd.pid" "$dir/exec"
  awk -v below="$dir/" 'index($2, below) == 1 { print $2 }' /proc/self/mounts | sort -r | while read -r mount; do
    umount "$mount" 2>/dev/null || umount --lazy "$mount" || true
  done
}

engine_down() {
  local dir
  dir="$(engine_dir "$1")"
  ! alive "$dir/pid" "$dir" || say "stopping engine $1"
  stop "$dir/pid" "$dir"
  engine_sweep "$1"
  rm -f "$(engine_socket "$1")"
}

engine_running() { alive "$(engine_dir "$1")/pid" "$(engine_dir "$1")"; }
