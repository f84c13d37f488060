//! The quickstart's `serve` as a Dockerfile: what a careful person writes without Wheelbase.
//!
//! It shares nothing with our frontend but the inputs: same tiers, interpreter, uv, sources and versions, one
//! plain `uv pip install` for everything.

use anyhow::Result;

use super::engine::Lab;
use super::project::Project;

/// Writes `Dockerfile` into a copy of the quickstart.
///
/// # Errors
///
/// When the project cannot be read or written.
pub(crate) fn write(project: &Project, lab: &Lab) -> Result<()> {
    let Lab { registry, index, .. } = lab;
    let dockerfile = format!(
        r#"FROM {registry}/wheelbase-lab/python:3.11 AS python
FROM {registry}/astral-sh/uv:0.13.9 AS uv

FROM {registry}/nvidia/cuda:13.0.2-devel-ubuntu22.04 AS devel
COPY --from=python /opt/python /opt/python
COPY --from=uv /uv /usr/local/bin/uv
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0 SOURCE_DATE_EPOCH=315532800 LC_ALL=C.UTF-8
RUN uv venv --offline --python /opt/python/bin/python3.11 /opt/venv \
 && uv pip install --python /opt/venv/bin/python --default-index {index}/simple setuptools==84.2.1
ENV PATH=/opt/venv/bin:/usr/local/cuda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

FROM devel AS rowmax
COPY kernels/rowmax /src/rowmax
RUN cd /src/rowmax && TORCH_CUDA_ARCH_LIST="8.0;9.0" MAX_JOBS=2 uv build --wheel --offline --no-build-isolation \
    --no-cache --python /opt/venv/bin/python --out-dir /wheels .

FROM devel AS markupsafe
ADD {index}/files/markupsafe-3.0.4.tar.gz /sdist/
RUN mkdir -p /src/markupsafe && tar -xf /sdist/*.tar.gz -C /src/markupsafe --strip-components=1 --no-same-owner \
 && cd /src/markupsafe && uv build --wheel --offline --no-build-isolation \
    --no-cache --python /opt/venv/bin/python --out-dir /wheels .

FROM devel AS serve
COPY serve /src
RUN cd /src && uv build --wheel --offline --no-build-isolation --no-cache --python /opt/venv/bin/python --out-dir /wheels .

FROM {registry}/nvidia/cuda:13.0.2-base-ubuntu22.04
RUN printf 'app:x:10001:\n' >> /etc/group \
 && printf 'app:x:10001:10001::/home/app:/sbin/nologin\n' >> /etc/passwd \
 && mkdir -p /home/app && chown 10001:10001 /home/app
COPY --from=python /opt/python /opt/python
RUN --mount=from=uv,source=/uv,target=/usr/local/bin/uv \
    --mount=from=rowmax,source=/wheels,target=/wheels/rowmax \
    --mount=from=markupsafe,source=/wheels,target=/wheels/markupsafe \
    --mount=from=serve,source=/wheels,target=/wheels/serve \
    uv venv --offline --no-cache --python /opt/python/bin/python3.11 /opt/venv \
 && PYTHONDONTWRITEBYTECODE=1 uv pip install --no-cache --no-deps --python /opt/venv/bin/python \
    --default-index {index}/simple \
    --find-links /wheels/rowmax --find-links /wheels/markupsafe --find-links /wheels/serve \
    numpy==2.4.6 idna==3.10 markupsafe==3.0.4 rowmax==1.0.0 serve==0.1.0
COPY config /etc/serve
ENV PATH=/opt/venv/bin:$PATH VIRTUAL_ENV=/opt/venv SERVE_CONFIG=/etc/serve/serve.toml PYTHONUNBUFFERED=1
LABEL org.opencontainers.image.title="quickstart serve"
EXPOSE 8080/tcp
USER app
WORKDIR /app
ENTRYPOINT ["python", "-m", "serve"]
"#
    );
    project.write("Dockerfile", &dockerfile)
}
