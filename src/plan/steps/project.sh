# A wheel of a workspace member or of another folder with a pyproject.toml.
# $1 name, $2 "isolated" when the build front may fetch the build backend from an index, $3 index URL.
cp -r "/wheelbase/source" "/src"
cd /src
if [ -r /wheelbase/ca.pem ]; then export SSL_CERT_FILE=/wheelbase/ca.pem; fi
if [ -r /wheelbase/netrc ]; then export NETRC=/wheelbase/netrc; fi
if [ "$2" = isolated ]; then
    UV_CACHE_DIR=/wheelbase/cache /wheelbase/uv/uv build --wheel --no-config --no-sources \
        ${3:+--default-index "$3"} --python /opt/venv/bin/python --out-dir /wheels .
else
    /wheelbase/uv/uv build --wheel --offline --no-config --no-cache --no-sources --no-build-isolation \
        --python /opt/venv/bin/python --out-dir /wheels .
fi
rm -f /wheels/.gitignore
