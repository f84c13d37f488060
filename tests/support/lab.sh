# Sourced by scripts that run in the repository's root: the lab's environment.

# use_lab all|ENGINE...: starts what is named and exports how it is reached. With WHEELBASE_DOCKER=host builds go to
# the Docker that is there; registry, tiers and index are the lab's even then.
use_lab() {
    local host=${DOCKER_HOST-} config=${DOCKER_CONFIG-} path=$PATH
    tests/lab/lab up "$@"
    eval "$(tests/lab/lab env)"
    if [ "${WHEELBASE_DOCKER:-lab}" = host ]; then
        export PATH=$path
        if [ -n "$host" ]; then export DOCKER_HOST=$host; else unset DOCKER_HOST; fi
        if [ -n "$config" ]; then export DOCKER_CONFIG=$config; else unset DOCKER_CONFIG; fi
    fi
    export WHEELBASE_FRONTEND=${WHEELBASE_FRONTEND:-$WHEELBASE_REGISTRY/wheelbase:1}
}
