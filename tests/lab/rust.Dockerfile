# Folders and environment as in the official Rust images.
FROM scratch
ADD rootfs.tar /
RUN apt-get update \
 && apt-get install -y --no-install-recommends gcc libc6-dev git ca-certificates \
 && rm -rf /var/lib/apt/lists/*
ENV CARGO_HOME=/usr/local/cargo \
    PATH=/usr/local/cargo/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
COPY toolchain/ /usr/local/rust/
RUN mkdir -p /usr/local/cargo/bin \
 && ln -s /usr/local/rust/bin/* /usr/local/cargo/bin/ \
 && chmod -R a+w /usr/local/cargo \
 && cargo --version && rustc --version
