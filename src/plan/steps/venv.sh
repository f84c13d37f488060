# The empty environment that every package layer is laid upon.
# $1 interpreter, $2 the program that settles and lists a tree.
/wheelbase/uv/uv venv --quiet --offline --no-config --no-cache --python "$1" /opt/venv
exec "$1" -I -S -B "$2" /opt/venv /wheelbase/out/files
