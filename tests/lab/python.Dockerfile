FROM scratch
COPY python/ /opt/python/
