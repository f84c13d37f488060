//! The quickstart's `serve` as a Dockerfile: what a careful person writes without Wheelbase.
//!
//! It shares nothing with our frontend but the inputs: same tiers, interpreter, uv, sources and versions. There are two
//! of them: with one plain `uv pip install` for everything, and with as many layers as our image has.

use anyhow::Result;

use super::engine::Lab;
use super::project::Project;

/// A step that has uv, and whatever else is mounted.
const WITH_UV: &str = "RUN --mount=from=uv,source=/uv,target=/usr/local/bin/uv";
const VENV: &str = "uv venv --offline --no-cache --python /opt/python/bin/python3.11 /opt/venv";
const INSTALL: &str =
    "PYTHONDONTWRITEBYTECODE=1 uv pip install --no-cache --no-deps --python /opt/venv/bin/python";

/// Writes `Dockerfile` into a copy of the quickstart: everything is installed in one step.
///
/// # Errors
///
/// When the project cannot be read or written.
pub(crate) fn write(project: &Project, lab: &Lab) -> Result<()> {
    let index = &lab.index;
    let installs = format!(
        r"{WITH_UV} \
    --mount=from=rowmax,source=/wheels,target=/wheels/rowmax \
    --mount=from=markupsafe,source=/wheels,target=/wheels/markupsafe \
    --mount=from=serve,source=/wheels,target=/wheels/serve \
    {VENV} \
 && {INSTALL} --default-index {index}/simple \
    --find-links /wheels/rowmax --find-links /wheels/markupsafe --find-links /wheels/serve \
    numpy==2.4.6 idna==3.10 markupsafe==3.0.4 rowmax==1.0.0 serve==0.1.0"
    );
    project.write("Dockerfile", &dockerfile(lab, &installs))
}

/// Writes `Dockerfile.layers` into a copy of the quickstart: what is installed has a layer each, as in our image. (The
/// environment shares one, since `WORKDIR` makes one that our image has not.)
///
/// # Errors
///
/// When the project cannot be read or written.
pub(crate) fn write_layers(project: &Project, lab: &Lab) -> Result<()> {
    let index = &lab.index;
    let from_index = |package: &str| format!("{INSTALL} --default-index {index}/simple {package}");
    let built = |wheel: &str, version: &str| {
        format!(
            "{WITH_UV} --mount=from={wheel},source=/wheels,target=/wheels {INSTALL} --offline --find-links /wheels \
             {wheel}=={version}"
        )
    };
    let installs = [
        format!("{WITH_UV} {VENV} && {}", from_index("numpy==2.4.6")),
        built("markupsafe", "3.0.4"),
        built("rowmax", "1.0.0"),
        format!("{WITH_UV} {}", from_index("idna==3.10")),
        built("serve", "0.1.0"),
    ];
    project.write("Dockerfile.layers", &dockerfile(lab, &installs.join("\n")))
}

fn dockerfile(lab: &Lab, installs: &str) -> String {
    let Lab { registry, index, .. } = lab;
    format!(
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
{installs}
COPY config /etc/serve
ENV PATH=/opt/venv/bin:$PATH VIRTUAL_ENV=/opt/venv SERVE_CONFIG=/etc/serve/serve.toml PYTHONUNBUFFERED=1
LABEL org.opencontainers.image.title="quickstart serve"
EXPOSE 8080/tcp
USER app
WORKDIR /app
ENTRYPOINT ["python", "-m", "serve"]
"#
    )
}
