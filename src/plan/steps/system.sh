# Operating system packages, the interpreter when the tier has none, and the image's user.
# $1 family (debian | redhat), $2 interpreter (python3.12, empty for none), $3 "devel" when headers are needed,
# $4 user to create (empty for none), the rest: packages.
family=$1 python=$2 devel=$3 user=$4
shift 4
: >/tmp/start
if [ -n "$python" ] && [ ! -x "/usr/bin/$python" ]; then set -- "$python" "$@"; fi
if [ -n "$python" ] && [ -n "$devel" ] && [ ! -e "/usr/include/$python/Python.h" ]; then
    case $family in
        debian) set -- "$python-dev" "$@" ;;
        redhat) set -- "$python-devel" "$@" ;;
    esac
fi
ca=
if [ -r /wheelbase/ca.pem ]; then
    ca=/wheelbase/ca.pem
    export SSL_CERT_FILE=$ca CURL_CA_BUNDLE=$ca
fi
if [ $# -gt 0 ]; then
    case $family in
        debian)
            # The vendor's own repositories are left out: an outage or a rotated key there must not break
            # a step that takes nothing from them.
            mkdir -p /tmp/sources
            if [ -d /etc/apt/sources.list.d ]; then
                for source in /etc/apt/sources.list.d/*; do
                    case $source in
                        *cuda* | *nvidia* | *rocm* | *amdgpu* | *'*') ;;
                        *) cp "$source" /tmp/sources/ ;;
                    esac
                done
            fi
            export DEBIAN_FRONTEND=noninteractive
            apt() {
                apt-get -qq -o Dir::Etc::sourceparts=/tmp/sources -o Dpkg::Use-Pty=0 \
                    ${ca:+-o "Acquire::https::CaInfo=$ca"} "$@"
            }
            apt update
            apt install -y --no-install-recommends "$@"
            rm -f /var/log/apt/* /var/log/dpkg.log /var/log/alternatives.log /var/cache/ldconfig/aux-cache
            ;;
        redhat)
            manager=dnf
            command -v dnf >/dev/null || manager=microdnf
            install() {
                "$manager" install -y --setopt=install_weak_deps=0 --setopt=tsflags=nodocs \
                    ${ca:+"--setopt=sslcacert=$ca"} "$@"
            }
            # ccache is not among the distribution's own packages, but in EPEL.
            case " $* " in *' ccache '*) install epel-release || true ;; esac
            install "$@"
            "$manager" clean all
            rm -rf /var/log/dnf* /var/log/hawkey.log /var/cache/ldconfig/aux-cache
            ;;
    esac
fi
if [ -n "$user" ] && ! grep -q "^$user:" /etc/passwd; then
    id=10001
    while grep -q "^[^:]*:[^:]*:$id:" /etc/passwd /etc/group; do id=$((id + 1)); done
    printf '%s:x:%s:\n' "$user" "$id" >>/etc/group
    printf '%s:x:%s:%s::/home/%s:/sbin/nologin\n' "$user" "$id" "$id" "$user" >>/etc/passwd
    mkdir -p "/home/$user"
    chown "$id:$id" "/home/$user"
fi
# One time for all that was written, so that the same packages make the same layer on another day. /etc was written
# to before this step began: the builder mounts files there.
find / -xdev -newer /tmp/start -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
touch --date="@$SOURCE_DATE_EPOCH" /etc
