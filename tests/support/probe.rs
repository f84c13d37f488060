//! A step that tells what it sees, in a spec and in a Dockerfile that do the same job.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};

use super::build::{Build, Built};
use super::engine::{Engine, Lab};
use super::project::Project;
use super::unique;

/// What is run in both: lines `see NAME=VALUE`, and a mark in a cache mount for the next who looks.
const PROBE: &str = r#"see() { echo "see $1=$2"; }
see nofile "$(ulimit -Sn):$(ulimit -Hn)"
see shm "$(df -B1 --output=size /dev/shm | tail -n 1 | tr -d ' ')"
see hostname "$(cat /proc/sys/kernel/hostname)"
see host "$(grep -w flags.example /etc/hosts | head -n 1 | tr '\t' ' ' | cut -d ' ' -f 1)"
see devices "$(tail -n +3 /proc/net/dev | cut -d : -f 1 | tr -d ' ' | sort | tr '\n' ' ')"
see proxy "${HTTP_PROXY-} ${https_proxy-} ${NO_PROXY-}"
see greeting "${GREETING-}"
see cgroup "$(tail -n 1 /proc/self/cgroup)"
see secret "$(cat /run/secrets/ca 2>/dev/null | wc -c)"
mkdir -p "$1"
see mark "$(cat "$1/flags-mark" 2>/dev/null)"
echo "$SALT" >"$1/flags-mark"
"#;

/// A project with both files. The steps have not run before, in any build.
///
/// # Errors
///
/// When files cannot be written.
pub(crate) fn project(lab: &Lab) -> Result<Project> {
    let Lab {
        registry, frontend, ..
    } = lab;
    let project = Project::quickstart(lab)?;
    project.write("probe/probe.sh", PROBE)?;
    project.write(
        "probe/pyproject.toml",
        "[build-system]\nrequires = [\"setuptools\"]\nbuild-backend = \"setuptools.build_meta\"\n[project]\n\
         name = \"probe\"\nversion = \"1.0\"\n[tool.setuptools]\npy-modules = []\n",
    )?;
    project.write(
        "wheelbase.toml",
        &format!(
            r#"# syntax={frontend}
# check=skip=UncachedCompile
name = "probe"
[gpu]
cuda = "13.0.2"
os = "ubuntu22.04"
mirror = "{registry}"
[python]
version = "3.11"
provider = {{ image = "{registry}/wheelbase-lab/python:3.11" }}
[uv]
image = "{registry}/astral-sh/uv:0.13.9"
[compiler-cache]
tool = "none"
[args.GREETING]
default = "hello"
description = "what the image says"
[args.SALT]
default = "none"
[args.PORT]
default = 8080
[wheels.probe]
arch = "any"
source = {{ path = "probe" }}
needs = ["setuptools"]
network = true
env = {{ SALT = "${{SALT}}", GREETING = "${{GREETING}}" }}
command = "sh ./probe.sh /wheelbase/cargo; /wheelbase/uv/uv build --wheel --offline --no-build-isolation --no-cache --python /opt/venv/bin/python --out-dir /wheels ."
[images.app]
tier = "base"
wheels = ["probe"]
env = {{ GREETING = "${{GREETING}}", MODE = "a b" }}
labels = {{ "org.opencontainers.image.title" = "probe ${{GREETING}}", both = "file" }}
user = "1000:1000"
workdir = "/work"
entrypoint = ["python"]
cmd = ["-V"]
ports = ["${{PORT}}"]
"#
        ),
    )?;
    project.write(
        "Dockerfile",
        &format!(
            r#"FROM {registry}/nvidia/cuda:13.0.2-devel-ubuntu22.04 AS probe
COPY probe/probe.sh /probe.sh
ARG GREETING=hello
ARG SALT
RUN --mount=type=cache,id=flags-cache,target=/var/flags sh /probe.sh /var/flags
FROM {registry}/nvidia/cuda:13.0.2-base-ubuntu22.04
ARG GREETING=hello
ARG PORT=8080
COPY --from=probe /probe.sh /probe.sh
ENV PATH=/opt/venv/bin:$PATH VIRTUAL_ENV=/opt/venv GREETING=$GREETING MODE="a b"
LABEL "org.opencontainers.image.title"="probe ${{GREETING}}" "both"="file"
USER 1000:1000
WORKDIR /work
ENTRYPOINT ["python"]
CMD ["-V"]
EXPOSE $PORT
"#
        ),
    )?;
    Ok(project)
}

/// One of the two files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Spec,
    Dockerfile,
}

impl Way {
    pub(crate) const BOTH: [Self; 2] = [Self::Spec, Self::Dockerfile];

    fn file(self) -> &'static str {
        match self {
            Self::Spec => "wheelbase.toml",
            Self::Dockerfile => "Dockerfile",
        }
    }

    /// A build of it, whose step runs for sure.
    pub(crate) fn build<'a>(
        self,
        lab: &'a Lab,
        project: &Project,
        engine: &Engine,
        flags: &[&str],
    ) -> Build<'a> {
        let salt = format!("SALT={}", unique());
        Build::of(lab, project)
            .on(engine)
            .file(self.file())
            .arguments(&["--build-arg", &salt])
            .arguments(flags)
    }

    /// What the step saw.
    ///
    /// # Errors
    ///
    /// When it did not run.
    pub(crate) fn sight(self, built: &Built) -> Result<BTreeMap<String, String>> {
        let is_probe = |name: &str| match self {
            Self::Spec => name == "[wheel probe] compile",
            Self::Dockerfile => name.contains("] RUN "),
        };
        let step = built
            .progress
            .vertices
            .iter()
            .find(|vertex| is_probe(&vertex.name) && vertex.executed())
            .with_context(|| format!("the step of {} did not run", self.file()))?;
        let lines = step
            .log
            .lines()
            .filter_map(|line| line.trim_end().strip_prefix("see "));
        Ok(lines
            .filter_map(|line| line.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
            .collect())
    }
}

/// Builds with the same flags from both files; gives what the steps saw, that of the spec first.
///
/// # Errors
///
/// When a build fails.
pub(crate) fn sights(
    lab: &Lab,
    project: &Project,
    engine: &Engine,
    flags: &[&str],
) -> Result<[BTreeMap<String, String>; 2]> {
    let sight = |way: Way| way.sight(&way.build(lab, project, engine, flags).succeed()?);
    Ok([sight(Way::Spec)?, sight(Way::Dockerfile)?])
}
