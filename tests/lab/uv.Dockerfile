FROM scratch
COPY uv uvx /
WORKDIR /io
ENTRYPOINT ["/uv"]
