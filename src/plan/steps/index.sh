# A group of packages from a package index, by exact hash.
# $1 interpreter, $2 the program that settles and lists a tree, $3 index URL, the rest: requirement lines.
# WHEELBASE_PLATFORM is an option for uv where the wheels are for another platform than this one.
python=$1 settle=$2 index=$3
shift 3
printf '%s\n' "$@" >/tmp/requirements.txt
if [ -r /wheelbase/ca.pem ]; then export SSL_CERT_FILE=/wheelbase/ca.pem; fi
if [ -r /wheelbase/netrc ]; then export NETRC=/wheelbase/netrc; fi
export UV_CACHE_DIR=/wheelbase/cache UV_LINK_MODE=copy
/wheelbase/uv/uv pip install --quiet --no-config --no-deps --require-hashes --only-binary :all: ${WHEELBASE_PLATFORM-} \
    --default-index "$index" --python /opt/venv/bin/python -r /tmp/requirements.txt
exec "$python" -I -S -B "$settle" /opt/venv /wheelbase/out/files
