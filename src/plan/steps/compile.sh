# One wheel from source.
# $1 name, $2 "archive" when the source is a source distribution and not a folder, $3 compiler cache
# (ccache | sccache | none), $4 command (empty for the default), $5 folder of the source to build in (empty for its root),
# $6 a folder in it that the next compile starts with (none when it is left out).
name=$1 shape=$2 cache=$3 command=$4 folder=${5-} kept=${6-}
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

# The folder of the last build, as it was left. What has changed since then gets a time after it, and nothing else does: so
# the build sees what is out of date. What is needed of wheels that were built here is in no name and no number.
if [ -n "$kept" ]; then
    find . -type f -exec sha256sum {} + | sort >/tmp/sources
    cat /opt/venv/lib/python*/site-packages/*.dist-info/RECORD 2>/dev/null | sha256sum >/tmp/needs
    if [ "$(cat /wheelbase/kept/needs 2>/dev/null)" = "$(cat /tmp/needs)" ]; then
        mkdir -p "/src/$name/$folder/$kept"
        cp -a /wheelbase/kept/build/. "/src/$name/$folder/$kept/"
        comm -13 /wheelbase/kept/sources /tmp/sources | cut -c 67- | while IFS= read -r changed; do touch "$changed"; done
        echo "wheelbase: $name: starts with $folder${folder:+/}$kept of the last compile"
    fi
fi

# A number that the plan hands over as an address in /etc/hosts, because that is part of no cache key.
number() {
    sed -n "s/^0\\.\\([0-9]*\\)\\.\\([0-9]*\\)\\.\\([0-9]*\\)[[:space:]].*$1.*\$/\\1 \\2 \\3/p" /etc/hosts | {
        read -r high middle low || high=0 middle=0 low=0
        echo $((high * 65536 + middle * 256 + low))
    }
}

# A text that is handed over the same way, three bytes an address.
text() {
    sed -n "s/^0\\.\\([0-9]*\\)\\.\\([0-9]*\\)\\.\\([0-9]*\\)[[:space:]].*$1-[0-9]*\\.wheelbase.*\$/\\1 \\2 \\3/p" /etc/hosts |
        while read -r first second third; do
            for byte in "$first" "$second" "$third"; do
                # shellcheck disable=SC2059
                if [ "$byte" -ne 0 ]; then printf "\\$(printf %03o "$byte")"; fi
            done
        done
}

# The store of sccache outside the builder. Its variables are in the secret `sccache`, and go to the server alone.
store=none
case $(number store.wheelbase.internal) in
    1) store=webdav needed='SCCACHE_WEBDAV_ENDPOINT=' known_words='SCCACHE_WEBDAV_[A-Z_]*' ;;
    2) store=s3 needed='SCCACHE_BUCKET=' known_words='SCCACHE_BUCKET|SCCACHE_REGION|SCCACHE_ENDPOINT|SCCACHE_S3_[A-Z0-9_]*|AWS_[A-Z0-9_]*' ;;
    3) store=redis needed='SCCACHE_REDIS(_ENDPOINT|_CLUSTER_ENDPOINTS)?=' known_words='SCCACHE_REDIS[A-Z_]*' ;;
    4) store=gha needed='ACTIONS_(RESULTS|CACHE)_URL=' known_words='ACTIONS_[A-Z0-9_]*|SCCACHE_GHA_[A-Z0-9_]*' ;;
esac

# hipcc at its places: AMD's packages put it below ROCM_PATH with a link in /usr/bin, and a distribution the other way round.
hipccs() {
    for hipcc in "${ROCM_PATH:-/opt/rocm}/bin/hipcc" /opt/rocm/bin/hipcc /usr/bin/hipcc; do
        if [ -x "$hipcc" ]; then readlink -f "$hipcc"; fi
    done | sort -u
}

# hipcc calls clang, and clang takes in the GPU's library as bitcode: neither is seen by a cache that looks at hipcc and at
# the source.
for hipcc in $(hipccs); do
    "$hipcc" --version
    cat "${ROCM_PATH:-/opt/rocm}"/amdgcn/bitcode/*.bc /usr/lib/*/amdgcn/bitcode/*.bc
done >/tmp/hip 2>/dev/null || :

# The caches know some options of nvcc by their short names alone, and torch's extension builder writes the long ones: what
# follows them was taken for a second source, and nothing was cached.
short='for word do
shift
case $word in
--generate-dependencies-with-compile) word=-MD ;;
--generate-nonsystem-dependencies-with-compile) word=-MMD ;;
--dependency-output) word=-MF ;;
esac
set -- "$@" "$word"
done'

# Terms on which a compile should find its objects in the cache: those of the last compile of this wheel, as long as
# compilers, packages, environment and command are the same. A compile on new terms may well find none.
known=
terms=$({
    for compiler in cc c++ "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc"; do "$compiler" --version 2>/dev/null || :; done
    cat /tmp/hip
    ls /opt/venv/lib/python*/site-packages
    env | grep -vi _proxy= | sort
    echo "$command $store"
    # Another server may be empty.
    grep -E '^(SCCACHE_[A-Z_]*ENDPOINTS?|SCCACHE_BUCKET|SCCACHE_REDIS|ACTIONS_(RESULTS|CACHE)_URL)=' /wheelbase/store 2>/dev/null || :
} | sha256sum)
if [ "$(cat "/wheelbase/cache/wheels/$name" 2>/dev/null)" = "$terms" ]; then known=known; fi

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
            printf '#!/bin/sh\n%s\nPATH=%s CCACHE_COMPILERTYPE=nvcc exec ccache %s-uncached "$@"\n' "$short" "$plain" "$nvcc" >"$nvcc"
            chmod 755 "$nvcc"
        fi
    done
    for hipcc in $(hipccs); do
        mv "$hipcc" "$hipcc-uncached"
        # Inside of it nothing is cached a second time.
        printf '#!/bin/sh\nunset HIP_CLANG_LAUNCHER\nPATH=%s CCACHE_COMPILERTYPE=clang exec ccache %s-uncached "$@"\n' "$plain" "$hipcc" >"$hipcc"
        chmod 755 "$hipcc"
        # For the clang that CMake calls, and for a hipcc that stands elsewhere.
        HIP_CLANG_LAUNCHER=$(command -v ccache)
        export HIP_CLANG_LAUNCHER CMAKE_HIP_COMPILER_LAUNCHER=ccache CCACHE_EXTRAFILES=/tmp/hip
    done
    # The size is no setting of the cache's own file: stages that start at once would write it at once.
    CCACHE_MAXSIZE=$(number cache.wheelbase.internal)M
    export CCACHE_MAXSIZE
    export PATH="/wheelbase/bin:$PATH" CCACHE_DIR=/wheelbase/cache CCACHE_BASEDIR=/src CCACHE_NOHASHDIR=1 \
        CCACHE_COMPILERCHECK=content CCACHE_SLOPPINESS=time_macros,include_file_mtime,include_file_ctime \
        CCACHE_STATSLOG=/tmp/compiler-cache
    : >/tmp/compiler-cache
fi

# The server of sccache, which listens on a socket of its own: stages that run at once may share a network. What it says
# when it does not start names the store's address, so it is not repeated.
serve() (
    if [ -r /wheelbase/ca.pem ]; then export SSL_CERT_FILE=/wheelbase/ca.pem; fi
    if [ "$1" != none ]; then
        scope=$(text scope)
        # A variable of another kind of store would ask for that one.
        case $1 in
            webdav) export SCCACHE_WEBDAV_KEY_PREFIX="$scope" ;;
            s3) export SCCACHE_S3_KEY_PREFIX="$scope" ;;
            redis) export SCCACHE_REDIS_KEY_PREFIX="$scope" ;;
            gha)
                export SCCACHE_GHA_ENABLED=on SCCACHE_GHA_VERSION="$scope"
                # Without this word sccache speaks the first protocol, whose address is the other one, to the server of the second.
                if ! grep -q '^ACTIONS_CACHE_URL=' /wheelbase/store; then export ACTIONS_CACHE_SERVICE_V2=on; fi
                ;;
        esac
        while IFS= read -r line || [ -n "$line" ]; do
            case $line in *=*) export "${line?}" ;; esac
        done </wheelbase/store
    fi
    # What is left on the socket is a server that has not come up.
    rm -f "$SCCACHE_SERVER_UDS"
    : >"$SCCACHE_ERROR_LOG"
    timeout 15 /wheelbase/sccache/sccache --start-server
) >/tmp/sccache-start 2>&1

# Why a store cannot be used, in words without an address.
trouble() {
    if [ ! -r /wheelbase/store ]; then
        echo "the build has no secret \`sccache\`: give it with --secret id=sccache,src=FILE"
    elif line=$(grep -nvE "^(($known_words)=.*|#.*|[[:space:]]*)\$" /wheelbase/store | head -n 1 | cut -d: -f1) && [ -n "$line" ]; then
        echo "line $line of the secret \`sccache\` is no variable of a $store store"
    elif ! grep -qE "^$needed" /wheelbase/store; then
        echo "the secret \`sccache\` does not say where the store is: no line begins with $needed"
    elif serve "$store"; then
        # sccache goes on where it can only read, and so with a server that has nothing for anybody. Stages that start at
        # once may be in each other's way when they try to write.
        for attempt in 1 2 3; do
            if ! grep -q 'storage write check failed' /tmp/sccache-log || grep -q '_RW_MODE=READ_ONLY' /wheelbase/store; then
                return
            fi
            /wheelbase/sccache/sccache --stop-server >/dev/null 2>&1 || :
            sleep "$attempt"
            serve "$store" || break
        done
        /wheelbase/sccache/sccache --stop-server >/dev/null 2>&1 || :
        echo "it cannot be written to, and the secret \`sccache\` does not say READ_ONLY"
    elif grep -qE 'status: 40[13]|PermissionDenied|AccessDenied|InvalidAccessKeyId|SignatureDoesNotMatch|NOAUTH|WRONGPASS' /tmp/sccache-start; then
        echo "it refuses the credentials in the secret \`sccache\`"
    elif grep -q 'Timed out waiting for server startup' /tmp/sccache-start; then
        echo "nobody answers in time at the address in the secret \`sccache\`, or not to its credentials"
    elif grep -qiE 'connect|dns error|timed out' /tmp/sccache-start; then
        echo "nobody answers at the address in the secret \`sccache\`"
    else
        echo "it does not answer as a $store store, at the address and with the credentials in the secret \`sccache\`"
    fi
}

used=mount unreached=
if [ "$cache" = sccache ]; then
    export SCCACHE_SERVER_UDS=/tmp/sccache.sock SCCACHE_IDLE_TIMEOUT=0 SCCACHE_IGNORE_SERVER_IO_ERROR=1 \
        SCCACHE_DIR=/wheelbase/cache/objects SCCACHE_ERROR_LOG=/tmp/sccache-log
    size=$(number cache.wheelbase.internal)
    if [ "$size" -gt 0 ]; then export SCCACHE_CACHE_SIZE="${size}M"; fi
    if [ "$store" != none ]; then
        trouble=$(trouble)
        if [ -z "$trouble" ]; then
            used=$store
        elif [ "$(number require.wheelbase.internal)" -eq 1 ]; then
            echo "wheelbase: $name: the $store store of the compiler cache is required: $trouble" >&2
            exit 1
        else
            unreached=unreached
            echo "wheelbase: $name: WARNING: compiles without the $store store of the compiler cache: $trouble" >&2
        fi
    fi
    if [ "$used" = mount ]; then
        serve none || { echo "wheelbase: $name: sccache does not start: $(tail -n 1 /tmp/sccache-start)" >&2; exit 1; }
    fi
    # Launchers stand where compilers are really called, as above. What a compiler calls in turn is part of its own call.
    mkdir -p /wheelbase/bin
    launcher() {
        printf '#!/bin/sh\nif [ -n "${WHEELBASE_LAUNCHED-}" ]; then exec %s "$@"; fi\n%s\n%s exec /wheelbase/sccache/sccache %s "$@"\n' \
            "$2" "${4-}" "WHEELBASE_LAUNCHED=1 $3" "$2" >"$1"
        chmod 755 "$1"
    }
    for compiler in cc c++ gcc g++ clang clang++ "$(uname -m)-linux-gnu-gcc" "$(uname -m)-linux-gnu-g++"; do
        if command -v "$compiler" >/dev/null; then launcher "/wheelbase/bin/$compiler" "$(command -v "$compiler")" ''; fi
    done
    nvcc=${CUDA_HOME:-/usr/local/cuda}/bin/nvcc
    if [ -x "$nvcc" ]; then
        mv "$nvcc" "$nvcc-uncached"
        launcher "$nvcc" "$nvcc-uncached" "PATH=$PATH" "$short"
    fi
    for hipcc in $(hipccs); do
        mv "$hipcc" "$hipcc-uncached"
        # hipcc takes C++ for HIP unless it is told otherwise, and sccache goes by the name of the file.
        printf '#!/bin/sh\nunset HIP_CLANG_LAUNCHER\nif [ -n "${WHEELBASE_LAUNCHED-}" ]; then exec %s-uncached "$@"; fi\n' "$hipcc" >"$hipcc"
        printf 'c= x=${HIP_COMPILE_CXX_AS_HIP#1}\nfor word; do case $word in -c) c=c ;; -x* | *.c) x=x ;; esac; done\n' >>"$hipcc"
        printf 'if [ "$c$x" = c ]; then set -- -x hip "$@"; fi\nWHEELBASE_LAUNCHED=1 PATH=%s exec /wheelbase/sccache/sccache %s-uncached "$@"\n' \
            "$PATH" "$hipcc" >>"$hipcc"
        chmod 755 "$hipcc"
        SCCACHE_C_CUSTOM_CACHE_BUSTER=$(sha256sum </tmp/hip)
        export SCCACHE_C_CUSTOM_CACHE_BUSTER HIP_CLANG_LAUNCHER=/wheelbase/bin/wheelbase-launch \
            CMAKE_HIP_COMPILER_LAUNCHER=/wheelbase/bin/wheelbase-launch
    done
    # For compilers that CMake finds elsewhere. A launcher of a launcher would hash the script and not the compiler.
    printf '#!/bin/sh\ncase $1 in /wheelbase/bin/* | */hipcc | %s) exec "$@" ;; esac\nWHEELBASE_LAUNCHED=1 exec /wheelbase/sccache/sccache "$@"\n' \
        "$nvcc" >/wheelbase/bin/wheelbase-launch
    chmod 755 /wheelbase/bin/wheelbase-launch
    for language in C CXX CUDA; do export "CMAKE_${language}_COMPILER_LAUNCHER=/wheelbase/bin/wheelbase-launch"; done
    # What rustc compiles incrementally sccache cannot keep.
    export PATH="/wheelbase/bin:$PATH" RUSTC_WRAPPER=/wheelbase/sccache/sccache CARGO_INCREMENTAL=0
fi

if [ -d /wheelbase/cargo ]; then
    # What cargo fetches is kept for all compiles, with the lock files by which its processes share it. A tier that brings
    # crates along keeps its own.
    home=${CARGO_HOME:-$HOME/.cargo}
    if [ ! -e "$home/registry" ] && [ ! -e "$home/git" ]; then
        mkdir -p "$home" /wheelbase/cargo/registry /wheelbase/cargo/git
        for part in registry git .package-cache .package-cache-mutate; do ln -sf "/wheelbase/cargo/$part" "$home/$part"; done
    fi
fi
if [ -r /wheelbase/ca.pem ]; then export SSL_CERT_FILE=/wheelbase/ca.pem CARGO_HTTP_CAINFO=/wheelbase/ca.pem; fi
cd "/src/$name/$folder"

run() {
    /opt/venv/bin/python -I -S -B /wheelbase/run "$name" "$(number slots.wheelbase.internal)" \
        "$(number jobs.wheelbase.internal)" "$(number job-memory.wheelbase.internal)" "$@"
}
if [ -n "$command" ]; then
    run sh -euc "$command"
else
    run /wheelbase/uv/uv build --wheel --offline --no-config --no-build-isolation --no-cache \
        --python /opt/venv/bin/python --out-dir /wheels .
fi
# What was waited is no time of the compile.
if [ -r /tmp/waited ]; then began=$((began + $(cat /tmp/waited))); fi
rm -f /wheels/.gitignore
ls /wheels/*.whl >/dev/null 2>&1 || { echo "wheelbase: $name: the build left no wheel in /wheels" >&2; exit 1; }

# Without `needs` it is nobody's: a copy that is cut off is not started with.
if [ -n "$kept" ] && [ -d "/src/$name/$folder/$kept" ]; then
    rm -rf /wheelbase/kept/*
    cp -a "/src/$name/$folder/$kept" /wheelbase/kept/build
    cp /tmp/sources /wheelbase/kept/sources
    cp /tmp/needs /wheelbase/kept/needs
fi

if [ "$cache" = sccache ]; then
    /wheelbase/sccache/sccache --show-stats --stats-format json >/tmp/compiler-cache
    # The server leaves when all objects are written.
    /wheelbase/sccache/sccache --stop-server >/dev/null 2>&1 || :
fi
# What was kept in the mount for once says nothing of what a store has.
if [ "$cache" != none ] && [ -z "$unreached" ]; then
    mkdir -p /wheelbase/cache/wheels
    echo "$terms" >"/wheelbase/cache/wheels/$name"
fi
exec /opt/venv/bin/python -I -S -B /wheelbase/count \
    "$name" "$cache" /tmp/compiler-cache "$known" "$began" /wheelbase/counts/counts.json "$used" "$unreached"
