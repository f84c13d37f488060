# A group of packages from files that are mounted below /wheelbase/wheels.
# $1 interpreter, $2 the program that settles and lists a tree, the rest: requirements.
# The cache lies in the layer's own filesystem, so that files are linked and not written twice, and is gone
# before the layer is taken.
python=$1 settle=$2
shift 2
for folder in /wheelbase/wheels/*; do set -- "$@" --find-links "$folder"; done
export UV_CACHE_DIR=/opt/venv/.wheelbase-cache UV_LINK_MODE=hardlink
/wheelbase/uv/uv pip install --quiet --offline --no-config --no-index --no-deps --python /opt/venv/bin/python "$@"
rm -rf /opt/venv/.wheelbase-cache
exec "$python" -I -S -B "$settle" /opt/venv /wheelbase/out/files
