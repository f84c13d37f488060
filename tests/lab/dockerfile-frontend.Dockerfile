# The labels are those that BuildKit reads before it starts a frontend: no
# network for the container, and what the frontend can do beside a build.
FROM scratch
LABEL moby.buildkit.frontend.network.none="true" \
      moby.buildkit.frontend.caps="moby.buildkit.frontend.inputs,moby.buildkit.frontend.subrequests,moby.buildkit.frontend.contexts"
COPY dockerfile-frontend /bin/
ENTRYPOINT ["/bin/dockerfile-frontend"]
