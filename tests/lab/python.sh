# A CPython that lives at /opt/python, as an image and as an archive with the
# shape of a standalone build's (`python/bin`, `python/lib`, ...). It is
# Debian's, taken out of its packages.

PYTHON_IMAGE=wheelbase-lab/python:3.11
PYTHON_ARCHIVE=cpython-3.11.tar.gz

# python_tree FOLDER [ARCHITECTURE]
python_tree() {
  local out="$1" arch="${2-}" name="python${2:+-$2}" usr file
  usr="$LAB/trees/$name/usr"
  LAB_ARCH="$arch" tree "$name" bookworm python3.11-minimal python3.11 libpython3.11-minimal libpython3.11-stdlib \
    libpython3.11-dev python3-distutils python3-lib2to3
  rm -rf "$out"
  mkdir -p "$out/bin" "$out/lib" "$out/include"
  cp -a "$usr/bin/python3.11" "$out/bin/"
  ln -s python3.11 "$out/bin/python3"
  ln -s python3.11 "$out/bin/python"
  cp -a "$usr/lib/python3.11" "$out/lib/"
  cp -a "$usr/include/python3.11" "$out/include/"
  # Debian's pyconfig.h only forwards to a folder below /usr/include.
  cp "$usr"/include/*-linux-gnu/python3.11/pyconfig.h "$out/include/python3.11/pyconfig.h"
  # Debian keeps the system's Python from installers; this one is nobody's
  # system, and links into /usr or /etc point nowhere in it.
  rm -rf "$out"/lib/python3.11/EXTERNALLY-MANAGED "$out"/lib/python3.11/config-3.11-*
  find "$out" \( -xtype l -o -lname '/*' \) -delete
  find "$out" -name __pycache__ -prune -exec rm -rf {} +
  # Its own record of where it lives still says /usr.
  for file in "$out"/lib/python3.11/_sysconfigdata_*.py; do
    sed -E -i "s#/usr/(include|lib|bin|share)#/opt/python/\1#g; s#'/usr'#'/opt/python'#g" "$file"
  done
  cp "$usr/share/doc/libpython3.11-minimal/copyright" "$out/LICENSE"
  settle "$out"
}

# python_archive CONTEXT FILE: the archive of a tree in CONTEXT/python.
python_archive() {
  mkdir -p "$(dirname "$2")"
  tar --create --directory "$1" --sort=name --format=ustar --owner=0 --group=0 --numeric-owner \
    --mtime="@$LAB_EPOCH" python | gzip --no-name >"$2.new"
  mv "$2.new" "$2"
}

python_up() {
  local engine="$1" key context="$LAB/contexts/python" archive="$LAB/index/static/$PYTHON_ARCHIVE"
  key="$(cat "$HERE/python.Dockerfile" <(declare -f python_tree) | key_of)"
  if fresh python "$key" && [ -e "$archive" ] && in_registry "$PYTHON_IMAGE"; then return 0; fi
  python_tree "$context/python"
  build_image "$engine" "$HERE/python.Dockerfile" "$context" '' "$PYTHON_IMAGE"
  python_archive "$context" "$archive"
  stamp python "$key"
}
