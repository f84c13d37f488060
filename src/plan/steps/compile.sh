# One wheel from source.
# $1 name, $2 "archive" when the source is a source distribution and not a folder, $3 compiler cache
# (ccache | none), $4 command (empty for the default).
name=$1 shape=$2 cache=$3 command=$4
if [ "$shape" = archive ]; then
    # A fixed folder: a random one would be in every object's hash and defeat the compiler cache.
    mkdir -p "/src/$name"
    for archive in /wheelbase/sdist/*; do
        case $archive in
            *.zip) python -I -B -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall("/src")' "$archive" &&
                rmdir "/src/$name" && mv /src/* "/src/$name" ;;
            *) tar -xf "$archive" -C "/src/$name" --strip-components=1 --no-same-owner ;;
        esac
    done
fi
began=$(date +%s)
cd "/src/$name"
# One time for all sources: nvcc puts a source's time into the names of its kernels.
find . -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +

# A number that the plan hands over as an address in /etc/hosts, because that is part of no cache key.
number() {
    sed -n "s/^0\\.\\([0-9]*\\)\\.\\([0-9]*\\)\\.\\([0-9]*\\)[[:space:]].*$1.*\$/\\1 \\2 \\3/p" /etc/hosts | {
        read -r high middle low || high=0 middle=0 low=0
        echo $((high * 65536 + middle * 256 + low))
    }
}

# Terms on which a compile should find its objects in the cache: those of the last compile of this wheel, as long as
# compilers, packages, environment and command are the same. A compile on new terms may well find none.
known=
terms=$({
    for compiler in cc c++ "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc"; do "$compiler" --version 2>/dev/null || :; done
    ls /opt/venv/lib/python*/site-packages
    env | grep -vi _proxy= | sort
    echo "$command"
} | sha256sum)
if [ "$(cat "/wheelbase/cache/wheels/$name" 2>/dev/null)" = "$terms" ]; then known=known; fi

# Jobs: what the spec says, else what this step's cores and memory (cgroup v2, v1, or the machine's) allow at
# 5 GB a compiler.
jobs=$(number jobs.wheelbase.internal)
if [ "$jobs" -eq 0 ]; then
    jobs=$(nproc)
    memory=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB$/\1/p' /proc/meminfo)
    for limit in /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes; do
        if [ -r "$limit" ] && read -r bytes <"$limit" && [ "$bytes" != max ] && [ $((bytes / 1024)) -lt "$memory" ]; then
            memory=$((bytes / 1024))
        fi
    done
    most=$((memory / 5000000))
    [ "$most" -ge 1 ] || most=1
    [ "$jobs" -le "$most" ] || jobs=$most
fi
export MAX_JOBS=$jobs CMAKE_BUILD_PARALLEL_LEVEL=$jobs MAKEFLAGS=-j$jobs
echo "wheelbase: $name: $jobs jobs"

if [ "$cache" = ccache ]; then
    # The launcher stands where compilers are really called: by name on PATH, and nvcc by its absolute path,
    # as torch's extension builder calls it.
    mkdir -p /wheelbase/bin
    for compiler in cc c++ gcc g++ "$(uname -m)-linux-gnu-gcc" "$(uname -m)-linux-gnu-g++"; do
        if command -v "$compiler" >/dev/null; then ln -s "$(command -v ccache)" "/wheelbase/bin/$compiler"; fi
    done
    plain=$PATH
    for nvcc in "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc"; do
        if [ -x "$nvcc" ]; then
            mv "$nvcc" "$nvcc-uncached"
            printf '#!/bin/sh\nPATH=%s CCACHE_COMPILERTYPE=nvcc exec ccache %s-uncached "$@"\n' "$plain" "$nvcc" >"$nvcc"
            chmod 755 "$nvcc"
        fi
    done
    # The size is no setting of the cache's own file: stages that start at once would write it at once.
    CCACHE_MAXSIZE=$(number cache.wheelbase.internal)M
    export CCACHE_MAXSIZE
    export PATH="/wheelbase/bin:$PATH" CCACHE_DIR=/wheelbase/cache CCACHE_BASEDIR=/src CCACHE_NOHASHDIR=1 \
        CCACHE_COMPILERCHECK=content CCACHE_SLOPPINESS=time_macros,include_file_mtime,include_file_ctime \
        CCACHE_STATSLOG=/tmp/compiler-cache
    : >/tmp/compiler-cache
fi

if [ -n "$command" ]; then
    sh -euc "$command"
else
    /wheelbase/uv/uv build --wheel --offline --no-config --no-build-isolation --no-cache \
        --python /opt/venv/bin/python --out-dir /wheels .
fi
rm -f /wheels/.gitignore
ls /wheels/*.whl >/dev/null 2>&1 || { echo "wheelbase: $name: the build left no wheel in /wheels" >&2; exit 1; }

if [ "$cache" != none ]; then
    mkdir -p /wheelbase/cache/wheels
    echo "$terms" >"/wheelbase/cache/wheels/$name"
fi
exec /opt/venv/bin/python -I -S -B /wheelbase/count \
    "$name" "$cache" /tmp/compiler-cache "$known" "$began" /wheelbase/counts/counts.json
