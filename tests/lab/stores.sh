# Stores for compiled objects on loopback, each with a folder, a port, a user and
# a password of its own: Debian's nginx with its WebDAV modules, Redis, and
# s3s-fs, an S3 server that is compiled once.

STORES='webdav redis s3'
S3S_VERSION=0.13.0

store_ready() {
  tree nginx bookworm nginx libnginx-mod-http-dav-ext libxml2 libicu72
  tree redis bookworm redis-server redis-tools libhiredis0.14 liblua5.1-0 liblzf1 libjemalloc2 lua-bitop lua-cjson
  need_command openssl openssl
  s3_ready
}

# Without optimisation, which takes a third of the time: what it serves are files of some kilobytes.
s3_ready() {
  local key
  need_command cargo cargo
  key="$(printf '%s\n' "$S3S_VERSION" "$(declare -f s3_ready)" | key_of)"
  if fresh s3 "$key" && [ -x "$LAB/s3/bin/s3s-fs" ]; then return 0; fi
  say "compiling s3s-fs $S3S_VERSION"
  CARGO_PROFILE_DEV_DEBUG=0 CARGO_TARGET_DIR="$LAB/work/s3" cargo install --quiet --debug --locked --force \
    --version "$S3S_VERSION" --features binary --root "$LAB/s3" s3s-fs 9>&-
  rm -rf "$LAB/work/s3"
  stamp s3 "$key"
}

store_folder() {
  case "$1" in '' | *[!a-z0-9-]*) die "a store's name is of a-z, 0-9 and -" ;; esac
  echo "$LAB/stores/$1"
}

store_libraries() { echo "$LAB/trees/$1/usr/lib/$(uname -m)-linux-gnu"; }

# store_up KIND NAME PORT USER PASSWORD: what the folder holds stays, so that a
# store may come back elsewhere, with another password. Redis knows no users.
store_up() {
  local kind="$1" name="$2" port="$3" user="$4" password="$5" dir
  case " $STORES " in *" $kind "*) ;; *) die "no store is a $kind; there are: $STORES" ;; esac
  dir="$(store_folder "$name")"
  store_down "$name"
  ! port_answers "$port" || die "port $port is taken by something else"
  mkdir -p "$dir/files"
  "store_$kind" "$dir" "$port" "$user" "$password"
  wait_for 30 "$dir/pid" "$dir" "$dir/log" port_answers "$port" || die "the $kind store did not come up"
  say "$kind store $name is up on 127.0.0.1:$port"
}

# PUT and MKCOL are nginx's own; PROPFIND, with which sccache looks for folders,
# is of the module. Every path that Debian has compiled in is named anew.
store_webdav() {
  local dir="$1" port="$2" user="$3" password="$4" temp hash
  mkdir -p "$dir/temp"
  hash="$(openssl passwd -apr1 -stdin <<<"$password")"
  printf '%s:%s\n' "$user" "$hash" >"$dir/users"
  cat >"$dir/nginx.conf" <<EOF
daemon off;
user root;
pid $dir/nginx.pid;
error_log $dir/error.log;
load_module $LAB/trees/nginx/usr/lib/nginx/modules/ngx_http_dav_ext_module.so;
events {}
http {
  access_log $dir/access.log;
$(for temp in client_body proxy fastcgi uwsgi scgi; do echo "  ${temp}_temp_path $dir/temp/$temp;"; done)
  server {
    listen 127.0.0.1:$port;
    root $dir/files;
    auth_basic store;
    auth_basic_user_file $dir/users;
    client_max_body_size 0;
    dav_methods PUT DELETE MKCOL COPY MOVE;
    dav_ext_methods PROPFIND OPTIONS;
    create_full_put_path on;
  }
}
EOF
  launch "$dir/pid" "$dir/log" env "LD_LIBRARY_PATH=$(store_libraries nginx)" \
    "$LAB/trees/nginx/usr/sbin/nginx" -e "$dir/error.log" -c "$dir/nginx.conf"
}

store_redis() {
  local dir="$1" port="$2" password="$4"
  cat >"$dir/redis.conf" <<EOF
bind 127.0.0.1
port $port
requirepass $password
dir $dir/files
save 60 1
set-proc-title no
EOF
  launch "$dir/pid" "$dir/log" env "LD_LIBRARY_PATH=$(store_libraries redis)" \
    "$LAB/trees/redis/usr/bin/redis-server" "$dir/redis.conf"
}

# A bucket is a folder.
store_s3() {
  local dir="$1" port="$2" user="$3" password="$4"
  mkdir -p "$dir/files/objects"
  launch "$dir/pid" "$dir/log" "$LAB/s3/bin/s3s-fs" --host 127.0.0.1 --port "$port" \
    --access-key "$user" --secret-key "$password" "$dir/files"
}

store_down() {
  local dir
  dir="$(store_folder "$1")"
  stop "$dir/pid" "$dir"
}

command_store() {
  local action="${1:-}"
  [ "$#" -eq 0 ] || shift
  case "$action" in
    build) take_lock; store_ready ;;
    up) [ "$#" -eq 5 ] || die "store up needs a kind, a name, a port, a user and a password"; store_up "$@" ;;
    down) [ "$#" -eq 1 ] || die "store down needs a name"; store_down "$1" ;;
    remove) [ "$#" -eq 1 ] || die "store remove needs a name"; store_down "$1"; rm -rf "$(store_folder "$1")" ;;
    *) die "unknown: store $action; there are build, up, down, remove" ;;
  esac
}
