# Debian's registry on loopback. Docker and BuildKit speak plain http to
# 127.0.0.0/8 without any setting.

registry_up() {
  local dir="$LAB/registry"
  tree registry bookworm docker-registry
  if alive "$dir/pid" "$dir"; then
    [ "$(cat "$dir/port" 2>/dev/null)" = "$REGISTRY_PORT" ] && [ "$(http_status "$REGISTRY_PORT" /v2/)" = 200 ] && return 0
    stop "$dir/pid" "$dir"
  fi
  ! port_answers "$REGISTRY_PORT" ||
    die "port $REGISTRY_PORT is taken by something else; stop it or set WHEELBASE_REGISTRY_PORT"
  mkdir -p "$dir/data"
  cat >"$dir/config.yml" <<EOF
version: 0.1
log:
  level: info
storage:
  filesystem:
    rootdirectory: $dir/data
  delete:
    enabled: true
http:
  addr: $REGISTRY
EOF
  launch "$dir/pid" "$dir/log" env OTEL_TRACES_EXPORTER=none \
    "$LAB/trees/registry/usr/bin/docker-registry" serve "$dir/config.yml"
  wait_for 30 "$dir/pid" "$dir" "$dir/log" port_answers "$REGISTRY_PORT" ||
    die "the registry did not come up"
  echo "$REGISTRY_PORT" >"$dir/port"
  say "registry is up on $REGISTRY"
}

registry_down() {
  ! alive "$LAB/registry/pid" "$LAB/registry" || say "stopping the registry"
  stop "$LAB/registry/pid" "$LAB/registry"
}

# in_registry NAME:TAG...: all of them are there.
in_registry() {
  local image
  for image in "$@"; do
    [ "$(http_status "$REGISTRY_PORT" "/v2/${image%:*}/manifests/${image##*:}")" = 200 ] || return 1
  done
}

# publish ENGINE SOURCE NAME:TAG...: pushes one local image under each name.
publish() {
  local engine="$1" source="$2" image
  shift 2
  for image in "$@"; do
    [ "$source" = "$REGISTRY/$image" ] || docker_of "$engine" tag "$source" "$REGISTRY/$image"
    docker_of "$engine" push --quiet "$REGISTRY/$image" >/dev/null
  done
}
