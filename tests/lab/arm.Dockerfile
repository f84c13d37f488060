FROM scratch
COPY rootfs/ /
