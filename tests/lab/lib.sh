# What every part of the lab needs: its folders, its words, its lock, its
# daemons. Sourced, never run.

LAB="${WHEELBASE_LAB:-${XDG_CACHE_HOME:-$HOME/.cache}/wheelbase-lab}"
REGISTRY_PORT="${WHEELBASE_REGISTRY_PORT:-5000}"
# shellcheck disable=SC2034
INDEX_PORT="${WHEELBASE_INDEX_PORT:-5080}"
# shellcheck disable=SC2034
REGISTRY="127.0.0.1:$REGISTRY_PORT"

# Every file the lab makes carries this time, so that a tree built twice is
# the same tree. 2025-01-01T00:00:00Z.
LAB_EPOCH=1735689600

say() { printf 'lab: %s\n' "$*" >&2; }
die() { printf 'lab: error: %s\n' "$*" >&2; exit 1; }

# need_command COMMAND PACKAGE: the few things a minimal Debian may lack.
need_command() {
  command -v "$1" >/dev/null || die "no $1 on this machine; install it first: apt-get install $2"
}

# One caller at a time changes the lab. Descriptor 9 holds the lock until the
# process ends; daemons are started without it (see launch).
take_lock() {
  mkdir -p "$LAB"
  exec 9>"$LAB/lock"
  if ! flock --nonblock 9; then
    say "waiting for another lab command to finish"
    flock 9
  fi
}

# A stamp says which inputs a finished step was made from.
fresh() { [ "$(cat "$LAB/stamps/$1" 2>/dev/null)" = "$2" ]; }
stamp() { mkdir -p "$LAB/stamps"; printf '%s\n' "$2" >"$LAB/stamps/$1"; }
key_of() { sha256sum | cut -c1-32; }

# alive PIDFILE NEEDLE: the process is there and still the one that was
# started (its command line holds NEEDLE; a reused pid does not).
alive() {
  local pid
  pid="$(cat "$1" 2>/dev/null)" || return 1
  [ -n "$pid" ] && [ -r "/proc/$pid/cmdline" ] &&
    tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qF -- "$2"
}

# launch PIDFILE LOG COMMAND...: a daemon of its own session, which outlives
# the calling shell, and the checkout that it was started from: an engine runs
# git in its own folder. The last log is kept beside the new one.
launch() {
  local pidfile="$1" log="$2"
  shift 2
  mkdir -p "$(dirname "$pidfile")" "$(dirname "$log")"
  [ ! -e "$log" ] || mv "$log" "$log.old"
  setsid nohup env --chdir=/ "$@" >"$log" 2>&1 </dev/null 9>&- &
  printf '%s\n' "$!" >"$pidfile"
}

# stop PIDFILE NEEDLE: ends only what this lab started, by its pid.
stop() {
  local pid tries=0
  if alive "$1" "$2"; then
    pid="$(cat "$1")"
    kill -TERM "$pid" 2>/dev/null || true
    while alive "$1" "$2" && [ "$tries" -lt 150 ]; do
      sleep 0.2
      tries=$((tries + 1))
    done
    ! alive "$1" "$2" || kill -KILL "$pid" 2>/dev/null || true
  fi
  rm -f "$1"
}

# wait_for SECONDS PIDFILE NEEDLE LOG COMMAND...: until COMMAND succeeds; when
# the daemon dies before that, its last words are shown.
wait_for() {
  local tries=$(($1 * 10)) pidfile="$2" needle="$3" log="$4"
  shift 4
  while [ "$tries" -gt 0 ]; do
    "$@" >/dev/null 2>&1 && return 0
    # A command line is not there in the instant between fork and exec.
    if [ $((tries % 5)) -eq 0 ] && ! alive "$pidfile" "$needle"; then
      sleep 0.3
      alive "$pidfile" "$needle" || break
    fi
    sleep 0.1
    tries=$((tries - 1))
  done
  say "the last lines of $log:"
  tail -n 30 "$log" >&2 || true
  return 1
}

# http_status PORT PATH: the status of a HEAD request on loopback, 000 when
# nobody answers. A subshell, so that a refused connection ends only it.
http_status() (
  { exec 7<>"/dev/tcp/127.0.0.1/$1"; } 2>/dev/null || { echo 000; exit 0; }
  printf 'HEAD %s HTTP/1.0\r\nHost: 127.0.0.1:%s\r\nAccept: %s\r\n\r\n' "$2" "$1" \
    'application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.v2+json, */*' >&7
  status=000
  read -r -t 10 _ status _ <&7 || true
  echo "${status:-000}"
)

port_answers() { (exec 7<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# The host's CA bundle: what its own tools trust, a company's CA included.
ca_bundle() {
  local file
  for file in "${SSL_CERT_FILE:-}" /etc/ssl/certs/ca-certificates.crt; do
    if [ -n "$file" ] && [ -r "$file" ]; then
      printf '%s\n' "$file"
      return 0
    fi
  done
  return 0
}

# settle FOLDER: one fixed time on every file, links included.
settle() { find "$1" -exec touch --no-dereference --date="@$LAB_EPOCH" {} +; }
