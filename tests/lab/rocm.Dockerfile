# The stand-ins for AMD's image with the compiler, for the Ubuntu below it, and for an image of one's own that has HIP's
# shared library and no compiler. The system is Debian 12, and so is the compiler: hipcc 5.2 over clang 15, at the places
# where AMD's packages have them.
FROM scratch AS ubuntu
ADD rootfs.tar /
CMD ["/bin/bash"]

FROM ubuntu AS runtime
RUN apt-get update \
 && apt-get install -y --no-install-recommends libamdhip64-5 \
 && rm -rf /var/lib/apt/lists/* /var/log/apt /var/log/dpkg.log /var/log/alternatives.log

# AMD's packages put everything below /opt/rocm and link the programs into /usr/bin; Debian's have it the other way round.
FROM ubuntu AS devel
RUN apt-get update \
 && apt-get install -y --no-install-recommends hipcc libamdhip64-dev rocm-device-libs gcc g++ make ninja-build cmake git \
 && rm -rf /var/lib/apt/lists/* /var/log/apt /var/log/dpkg.log /var/log/alternatives.log
RUN home=/opt/rocm-6.4.0 && libraries=/usr/lib/x86_64-linux-gnu \
 && mkdir -p "$home/bin" "$home/include" "$home/lib/cmake" \
 && mv /usr/bin/hipcc /usr/bin/hipcc.pl /usr/bin/hipconfig /usr/bin/hipconfig.pl /usr/bin/hipvars.pm "$home/bin/" \
 && mv /usr/include/hip "$home/include/" \
 && ln -s "$libraries/libamdhip64.so" "$home/lib/libamdhip64.so" \
 && ln -s "$libraries/cmake/hip-lang" "$home/lib/cmake/hip-lang" \
 && ln -s "$libraries/amdgcn" "$home/amdgcn" \
 && ln -s /usr/lib/llvm-15 "$home/llvm" \
 && ln -s "$home" /opt/rocm \
 && ln -s /opt/rocm/bin/hipcc /usr/bin/hipcc \
 && printf '#include <hip/hip_runtime.h>\n__global__ void f(int* x) { *x = 1; }\n' > /tmp/f.hip \
 && /opt/rocm/bin/hipcc --offload-arch=gfx90a -c /tmp/f.hip -o /tmp/f.o \
 && grep -q amdgcn-amd-amdhsa--gfx90a /tmp/f.o \
 && rm /tmp/f.hip /tmp/f.o
# CMake looks into the folder of the machine's architecture only when it knows a language, and HIP is to be the first.
ENV CMAKE_PREFIX_PATH=/usr/lib/x86_64-linux-gnu/cmake
