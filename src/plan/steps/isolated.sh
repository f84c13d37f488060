# The build command of a compile that is isolated: the backend and what it asks for come from an index.
if [ -r /wheelbase/ca.pem ]; then export SSL_CERT_FILE=/wheelbase/ca.pem; fi
if [ -r /wheelbase/netrc ]; then export NETRC=/wheelbase/netrc; fi
UV_CACHE_DIR=/wheelbase/uv-cache /wheelbase/uv/uv build --wheel --no-config --no-sources \
    --python /opt/venv/bin/python --out-dir /wheels .
