# A wheel of a workspace member, of another folder with a pyproject.toml, or of a source distribution.
# $1 name, $2 "isolated" when the build front may fetch the build backend from an index, $3 index URL.
source=/src
cp -r /wheelbase/source "$source"
for archive in /src/*.tar.gz /src/*.zip; do
    if [ -f "$archive" ] && [ ! -e /src/pyproject.toml ]; then source=$archive; fi
done
if [ -r /wheelbase/ca.pem ]; then export SSL_CERT_FILE=/wheelbase/ca.pem; fi
if [ -r /wheelbase/netrc ]; then export NETRC=/wheelbase/netrc; fi
if [ "$2" = isolated ]; then
    UV_CACHE_DIR=/wheelbase/cache /wheelbase/uv/uv build --wheel --no-config --no-sources \
        ${3:+--default-index "$3"} --python /opt/venv/bin/python --out-dir /wheels "$source"
else
    /wheelbase/uv/uv build --wheel --offline --no-config --no-cache --no-sources --no-build-isolation \
        --python /opt/venv/bin/python --out-dir /wheels "$source"
fi
rm -f /wheels/.gitignore
