# WebDAV servers on loopback: Debian's Apache with its own WebDAV modules, each
# with a folder, a port, a user and a password of its own.

webdav_ready() {
  tree webdav bookworm apache2-bin libapr1 libaprutil1
  need_command openssl openssl
}

webdav_folder() {
  case "$1" in '' | *[!a-z0-9-]*) die "a server's name is of a-z, 0-9 and -" ;; esac
  echo "$LAB/webdav/$1"
}

# webdav_up NAME PORT USER PASSWORD: what the folder holds stays, so that a
# server may come back elsewhere, with another password.
webdav_up() {
  local name="$1" port="$2" user="$3" password="$4" dir modules="$LAB/trees/webdav/usr/lib/apache2/modules" hash
  dir="$(webdav_folder "$name")"
  webdav_down "$name"
  ! port_answers "$port" || die "port $port is taken by something else"
  mkdir -p "$dir/files" "$dir/locks"
  # Apache takes a process that nobody has waited for yet for a running one.
  rm -f "$dir/httpd.pid"
  hash="$(openssl passwd -apr1 -stdin <<<"$password")"
  printf '%s:%s\n' "$user" "$hash" >"$dir/users"
  # Apache gives its files to a user that every Debian has; the lab's folder is root's own.
  cat >"$dir/httpd.conf" <<EOF
ServerRoot "$dir"
ServerName 127.0.0.1
Listen 127.0.0.1:$port
PidFile "$dir/httpd.pid"
DefaultRuntimeDir "$dir"
ErrorLog "$dir/error.log"
LoadModule mpm_event_module $modules/mod_mpm_event.so
LoadModule authn_core_module $modules/mod_authn_core.so
LoadModule authn_file_module $modules/mod_authn_file.so
LoadModule authz_core_module $modules/mod_authz_core.so
LoadModule authz_user_module $modules/mod_authz_user.so
LoadModule auth_basic_module $modules/mod_auth_basic.so
LoadModule dav_module $modules/mod_dav.so
LoadModule dav_fs_module $modules/mod_dav_fs.so
DavLockDB "$dir/locks/db"
DocumentRoot "$dir/files"
<Directory "$dir/files">
  Dav On
  AuthType Basic
  AuthName store
  AuthUserFile "$dir/users"
  Require valid-user
</Directory>
EOF
  launch "$dir/pid" "$dir/log" env "LD_LIBRARY_PATH=$(webdav_libraries)" \
    "$LAB/trees/webdav/usr/sbin/apache2" -X -f "$dir/httpd.conf"
  wait_for 30 "$dir/pid" "$dir" "$dir/log" port_answers "$port" || die "the WebDAV server did not come up"
  say "webdav $name is up on http://127.0.0.1:$port/"
}

webdav_libraries() { echo "$LAB/trees/webdav/usr/lib/$(uname -m)-linux-gnu"; }

webdav_down() {
  local dir
  dir="$(webdav_folder "$1")"
  stop "$dir/pid" "$dir"
}

command_webdav() {
  local action="${1:-}"
  [ "$#" -eq 0 ] || shift
  case "$action" in
    build) take_lock; webdav_ready ;;
    up) [ "$#" -eq 4 ] || die "webdav up needs a name, a port, a user and a password"; webdav_up "$@" ;;
    down) [ "$#" -eq 1 ] || die "webdav down needs a name"; webdav_down "$1" ;;
    remove) [ "$#" -eq 1 ] || die "webdav remove needs a name"; webdav_down "$1"; rm -rf "$(webdav_folder "$1")" ;;
    *) die "unknown: webdav $action; there are build, up, down, remove" ;;
  esac
}
