# The stand-ins for nvidia/cuda's base, runtime and devel tiers and for NGC's
# PyTorch image. Environment, folders and entrypoint are the real ones'; the
# system below is Debian 12. No frontend line and no newer syntax: engine 20.10
# builds this as well.
FROM scratch AS base
ADD rootfs.tar /
COPY cuda/base/ /
RUN printf '/usr/local/cuda/lib64\n' > /etc/ld.so.conf.d/000_cuda.conf && ldconfig
ENV NVARCH=x86_64 \
    NVIDIA_REQUIRE_CUDA="cuda>=13.0 brand=unknown,driver>=535,driver<536 brand=tesla,driver>=535,driver<536 brand=unknown,driver>=570,driver<571 brand=tesla,driver>=570,driver<571" \
    NV_CUDA_CUDART_VERSION=13.0.96-1 \
    CUDA_VERSION=13.0.2 \
    PATH=/usr/local/nvidia/bin:/usr/local/cuda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    LD_LIBRARY_PATH=/usr/local/cuda/lib64 \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
CMD ["/bin/bash"]

# The entrypoint sits in runtime and all above, as in the real images: what
# inherits the config inherits it too.
FROM base AS runtime
COPY cuda/runtime/ /
RUN mkdir -p /opt/nvidia \
 && printf '#!/bin/bash\nexec "$@"\n' > /opt/nvidia/nvidia_entrypoint.sh \
 && chmod 0755 /opt/nvidia/nvidia_entrypoint.sh \
 && ldconfig
ENV NVIDIA_PRODUCT_NAME=CUDA
ENTRYPOINT ["/opt/nvidia/nvidia_entrypoint.sh"]

# The driver's libcuda comes from the host when a container runs; to link
# against it there is a stub in devel, with every function that cuda.h names:
# plainly, after its macros (cuMemAlloc is cuMemAlloc_v2) and in the variant for
# per-thread streams.
FROM runtime AS devel
RUN apt-get update \
 && apt-get install -y --no-install-recommends gcc g++ make ninja-build cmake git \
 && rm -rf /var/lib/apt/lists/* /var/log/apt /var/log/dpkg.log /var/log/alternatives.log
COPY cuda/devel/ /
RUN mkdir -p /usr/local/cuda/lib64/stubs \
 && (cd /usr/local/cuda/include && cat cuda.h && gcc -E cuda.h && gcc -E -DCUDA_API_PER_THREAD_DEFAULT_STREAM cuda.h) \
  | grep -oE 'CUresult +(CUDAAPI +)?cu[A-Z][A-Za-z0-9_]+ *\(' \
  | sed -E 's/.*(cu[A-Z][A-Za-z0-9_]+) *\(/int \1(void) { return 34; }/' | sort -u > /tmp/cuda.c \
 && gcc -shared -fPIC -w -fno-builtin -Wl,-soname,libcuda.so.1 -o /usr/local/cuda/lib64/stubs/libcuda.so /tmp/cuda.c \
 && rm /tmp/cuda.c
ENV LIBRARY_PATH=/usr/local/cuda/lib64/stubs

# NGC's images bring a Python of the system and a constraint file that pip
# obeys without being asked.
FROM devel AS ngc
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 python3.11 python3.11-dev python3.11-venv \
 && rm -rf /var/lib/apt/lists/* /var/log/apt /var/log/dpkg.log /var/log/alternatives.log \
 && mkdir -p /etc/pip && : > /etc/pip/constraint.txt
ENV NVIDIA_PYTORCH_VERSION=25.09 \
    PIP_CONSTRAINT=/etc/pip/constraint.txt
