# What the lab promises, tried in its own images: any broken promise fails the
# build. Each stage runs on its own; `all` asks for every one of them.
ARG registry
ARG cuda
ARG uv
FROM ${registry}/wheelbase-lab/python:3.11 AS python
FROM ${registry}/astral-sh/uv:${uv} AS uv

FROM ${registry}/nvidia/cuda:${cuda}-base-ubuntu22.04 AS base
RUN ! command -v python3 && ! command -v gcc && ! command -v nvcc \
 && test "$(readlink /usr/local/cuda)" = /usr/local/cuda-13.0 \
 && test -e /usr/local/cuda/lib64/libcudart.so.13 \
 && test "$NVIDIA_VISIBLE_DEVICES" = all
COPY --from=python /opt/python /opt/python
COPY --from=uv /uv /uvx /usr/local/bin/
RUN test "$(/opt/python/bin/python3.11 -c "import ssl, ctypes, sqlite3, venv, bz2, lzma, readline, curses, uuid, decimal, sysconfig; print(sysconfig.get_paths()['include'])")" = /opt/python/include/python3.11 \
 && test "$(/opt/python/bin/python3.11 -c "import sysconfig; print(sysconfig.get_config_var('INCLUDEPY'))")" = /opt/python/include/python3.11 \
 && uv venv --offline --python /opt/python/bin/python3.11 /opt/venv \
 && /opt/venv/bin/python -c "import sys; assert sys.base_prefix == '/opt/python', sys.base_prefix" \
 && touch /base

FROM ${registry}/nvidia/cuda:${cuda}-runtime-ubuntu22.04 AS runtime
RUN ! command -v python3 && ! command -v gcc && ! command -v nvcc && test -e /usr/local/cuda/lib64/libnvtx3interop.so.1 && touch /runtime

FROM ${registry}/nvidia/cuda:${cuda}-devel-ubuntu22.04 AS devel
COPY --from=python /opt/python /opt/python
COPY check.cu check.c /src/
RUN ! command -v python3 \
 && nvcc -arch=sm_90 -shared -Xcompiler -fPIC -o /src/check.so /src/check.cu \
 && ldd /src/check.so \
 && nvcc -gencode arch=compute_80,code=sm_80 -gencode arch=compute_120,code=compute_120 -c -o /src/check.o /src/check.cu \
 && gcc -shared -fPIC -o /src/driver.so -DDRIVER /src/check.c -I/usr/local/cuda/include -Wl,-z,defs -lcuda \
 && readelf -d /src/driver.so | grep -q 'NEEDED.*libcuda.so.1' \
 && ninja --version && cmake --version && git --version
RUN gcc -shared -fPIC -I/opt/python/include/python3.11 -o /src/check_extension.so /src/check.c \
 && cd /src && test "$(/opt/python/bin/python3.11 -c 'import check_extension; print(check_extension.answer())')" = 42
RUN apt-get update && apt-get install -y --no-install-recommends ccache && ccache --version | head -1 && touch /devel

FROM ${registry}/nvidia/pytorch:25.09-py3 AS ngc
RUN /usr/bin/python3.11 -m venv /tmp/venv && /tmp/venv/bin/pip --version \
 && test -e /usr/include/python3.11/Python.h && nvcc --version && touch /ngc

FROM scratch AS all
COPY --from=base /base /
COPY --from=runtime /runtime /
COPY --from=devel /devel /
COPY --from=ngc /ngc /
