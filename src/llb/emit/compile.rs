//! The compile of a wheel, and what it is told outside of its key.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::super::{ExtraHost, Metadata, Mount, Output, Sharing};
use super::Emitter;
use super::steps::PATH;
use crate::plan::{CacheTool, Compile, STORE_SECRET, Source, StoreKind, Vendor, Work, steps};

/// Where the program is that counts.
const COUNT: &str = "/wheelbase/count";

/// Where the program is that runs the build command.
const RUN: &str = "/wheelbase/run";

/// Where the locks of slots are, and the cache mount that all compiles of a builder have there. The number at the end is
/// that of the way in which they are locked: steps that lock otherwise would not see each other.
const SLOTS_FOLDER: &str = "/wheelbase/slots";
const SLOTS_MOUNT: &str = "wheelbase-slots-1";

/// Where cargo keeps what it fetches, and the cache mount that is there. Versions of cargo share it as they share a home;
/// the number at the end is that of its layout.
const CARGO_FOLDER: &str = "/wheelbase/cargo";
const CARGO_MOUNT: &str = "wheelbase-cargo-1";

/// Where a folder of the last build is.
const KEPT_FOLDER: &str = "/wheelbase/kept";

/// Where the build command of an isolated compile is.
const ISOLATED: &str = "/wheelbase/isolated";

/// Names under which numbers are handed to a step outside its key; see [`number`].
const SLOTS: &str = "slots.wheelbase.internal";
const JOBS: &str = "jobs.wheelbase.internal";
const JOB_MEGABYTES: &str = "job-memory.wheelbase.internal";
const CACHE_MEGABYTES: &str = "cache.wheelbase.internal";
const STORE: &str = "store.wheelbase.internal";
const REQUIRE: &str = "require.wheelbase.internal";

/// What the names of a text's parts begin with; see [`text`].
const SCOPE: &str = "scope";

/// How many addresses a text has. The names are part of the key, so it is the same for every text.
const PARTS: usize = 16;

/// What a compile leaves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Compiled {
    /// The folder with wheels.
    pub(super) wheels: Output,
    /// The folder with `counts.json`. A folder apart: what another build counts must not change the wheels.
    pub(super) counts: Output,
}

/// A number as an IPv4 address with a name: the name is in the step's key, the address is not
/// (`solver/llbsolver/ops/exec.go` leaves it out). Read back from /etc/hosts.
fn number(host: &str, number: u32) -> ExtraHost {
    let [_, high, middle, low] = number.min(0x00ff_ffff).to_be_bytes();
    ExtraHost {
        host: host.to_owned(),
        ip: format!("0.{high}.{middle}.{low}"),
    }
}

/// The number of a kind of store, as the step knows it.
fn word(kind: StoreKind) -> u32 {
    match kind {
        StoreKind::WebDav => 1,
        StoreKind::S3 => 2,
        StoreKind::Redis => 3,
        StoreKind::Gha => 4,
    }
}

/// A text as numbers of three bytes each, filled up with zeros; see [`number`]. A longer text than fits is cut, with a
/// digest at its end.
fn text(name: &str, text: &str) -> Vec<ExtraHost> {
    const MOST: usize = PARTS * 3;
    const DIGITS: usize = 16;
    let mut bytes = text.as_bytes().to_vec();
    if bytes.len() > MOST {
        let digest = Sha256::digest(&bytes);
        bytes.truncate(MOST - DIGITS);
        let digits = digest.iter().fold(String::new(), |mut digits, byte| {
            let _ = write!(digits, "{byte:02x}");
            digits
        });
        bytes.extend(digits.bytes().take(DIGITS));
    }
    bytes.resize(MOST, 0);
    let parts = bytes
        .chunks_exact(3)
        .map(|part| u32::from_be_bytes([0, part[0], part[1], part[2]]));
    (0..)
        .zip(parts)
        .map(|(index, part)| number(&format!("{name}-{index:02}.wheelbase.internal"), part))
        .collect()
}

/// Whether the build command may use the network.
fn is_online(compile: &Compile) -> bool {
    compile.network || compile.backend_index.is_some()
}

impl Emitter<'_> {
    pub(super) fn compile(&mut self, compile: &Compile, root: Output, metadata: Metadata) -> Compiled {
        let (shape, source) = match &compile.source {
            Source::Archive(archive) => ("archive", {
                let archive = self.download(archive);
                self.exact("/wheelbase/sdist", archive)
            }),
            source => {
                let dest = format!("/src/{}", compile.name);
                ("folder", self.scratch_source(&compile.name, dest, source))
            }
        };
        let command = match (&compile.command, &compile.backend_index) {
            (Some(command), _) => command.clone(),
            (None, Some(_)) => format!(". {ISOLATED}"),
            (None, None) => String::new(),
        };
        let tool = compile.cache.as_ref().map(|cache| cache.tool);
        let arguments = [
            compile.name.clone(),
            shape.to_owned(),
            tool.map_or("none", CacheTool::as_str).to_owned(),
            command,
            compile.folder.clone(),
        ];
        let kept = compile.kept.as_ref();
        let arguments = arguments.into_iter().chain(kept.map(|kept| kept.folder.clone()));
        let mut exec = self.shell(steps::compile(), arguments, root);
        if let Some(kept) = kept {
            // Two compiles would write into one tree.
            exec.mounts
                .push(Mount::cache(KEPT_FOLDER, kept.id.clone(), Sharing::Locked));
        }
        exec.env.extend(self.compile_env(compile));
        exec.mounts.push(source);
        exec.mounts.push(self.uv());
        let (binary, store) = match tool {
            Some(CacheTool::Sccache { binary, store }) => (Some(binary), store),
            Some(CacheTool::Ccache) | None => (None, None),
        };
        if let Some(index) = &compile.backend_index {
            exec.mounts.push(self.program(ISOLATED, steps::isolated()));
            self.use_index(&mut exec, "/wheelbase/uv-cache");
            if !index.is_empty() {
                exec.env.insert("UV_DEFAULT_INDEX".to_owned(), index.clone());
            }
        } else if compile.network || store.is_some() {
            self.go_online(&mut exec);
        }
        if let Some(binary) = binary {
            let binary = self.folder(binary);
            exec.mounts.push(self.exact("/wheelbase/sccache", binary));
        }
        let pace = &compile.pace;
        if is_online(compile) {
            exec.mounts.push(self.cache(CARGO_FOLDER, CARGO_MOUNT));
        }
        exec.extra_hosts.push(number(SLOTS, pace.slots));
        exec.extra_hosts.push(number(JOBS, pace.jobs));
        exec.extra_hosts.push(number(JOB_MEGABYTES, pace.job_megabytes));
        if let Some(cache) = &compile.cache {
            exec.extra_hosts
                .push(number(CACHE_MEGABYTES, cache.max_megabytes));
            if let Some(store) = store {
                exec.extra_hosts.push(number(STORE, word(store.kind)));
                exec.extra_hosts.push(number(REQUIRE, store.require.into()));
                exec.extra_hosts.extend(text(SCOPE, &cache.scope));
                exec.mounts
                    .push(Mount::secret("/wheelbase/store", STORE_SECRET, true));
            }
            exec.mounts.push(self.cache("/wheelbase/cache", &cache.id));
        }
        // Always there: a build without slots must be the same step as one with them.
        exec.mounts
            .push(Mount::cache(SLOTS_FOLDER, SLOTS_MOUNT, Sharing::Shared));
        exec.mounts.push(self.program(RUN, steps::run()));
        exec.mounts.push(self.program(COUNT, steps::count()));
        exec.mounts.push(Mount::output("/wheels"));
        exec.mounts.push(Mount::output("/wheelbase/counts"));
        let executed = self.process(exec, metadata);
        let folder = |dest| executed.mount(dest).unwrap_or_else(|| executed.root());
        Compiled {
            wheels: folder("/wheels"),
            counts: folder("/wheelbase/counts"),
        }
    }

    /// The tier's environment, which compilers rely on, with the virtual environment in front.
    fn compile_env(&self, compile: &Compile) -> BTreeMap<String, String> {
        let mut env = match &self.plan.stage(compile.root.base).work {
            Work::Image(image) => image.env.clone(),
            Work::System(system) => match &self.plan.stage(system.on).work {
                Work::Image(image) => image.env.clone(),
                _ => BTreeMap::new(),
            },
            _ => BTreeMap::new(),
        };
        let path = env.get("PATH").map_or(PATH, String::as_str);
        let path = format!("/opt/venv/bin:{path}");
        env.insert("PATH".to_owned(), path);
        env.insert("VIRTUAL_ENV".to_owned(), "/opt/venv".to_owned());
        match compile.vendor {
            Some(Vendor::Amd) => rocm_env(&mut env),
            Some(Vendor::Nvidia) | None => cuda_env(&mut env),
        }
        // Without a network cargo would ask in vain for minutes; what is vendored it finds.
        if !is_online(compile) {
            env.insert("CARGO_NET_OFFLINE".to_owned(), "true".to_owned());
        }
        env.extend(compile.env.clone());
        env
    }
}

/// Where the CUDA toolkit is.
fn cuda_env(env: &mut BTreeMap<String, String>) {
    let cuda = env
        .get("CUDA_HOME")
        .cloned()
        .unwrap_or_else(|| "/usr/local/cuda".to_owned());
    // Linking against the driver needs the stub; running must not find it.
    let stubs = format!("{cuda}/lib64/stubs");
    let library_path = match env.get("LIBRARY_PATH") {
        Some(path) if path.split(':').any(|part| part == stubs) => path.clone(),
        Some(path) if !path.is_empty() => format!("{path}:{stubs}"),
        _ => stubs,
    };
    env.insert("LIBRARY_PATH".to_owned(), library_path);
    env.insert("CUDA_HOME".to_owned(), cuda);
}

/// Where ROCm is: the tier says it, or it is where AMD's packages put it. Since ROCm 6 HIP has no folder of its own. The images
/// of AMD do not have its programs on their `PATH`.
fn rocm_env(env: &mut BTreeMap<String, String>) {
    let rocm = env
        .get("ROCM_PATH")
        .cloned()
        .unwrap_or_else(|| "/opt/rocm".to_owned());
    let programs = format!("{rocm}/bin");
    if let Some(path) = env.get_mut("PATH")
        && !path.split(':').any(|part| part == programs)
    {
        *path = format!("{path}:{programs}");
    }
    env.entry("HIP_PATH".to_owned()).or_insert_with(|| rocm.clone());
    env.insert("ROCM_PATH".to_owned(), rocm);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn rocm_is_where_the_tier_says() {
        let mut env = environment(&[("PATH", "/usr/bin")]);
        rocm_env(&mut env);
        assert_eq!(
            env,
            environment(&[
                ("HIP_PATH", "/opt/rocm"),
                ("PATH", "/usr/bin:/opt/rocm/bin"),
                ("ROCM_PATH", "/opt/rocm"),
            ])
        );
        let tier = [
            ("HIP_PATH", "/opt/rocm-5.2/hip"),
            ("PATH", "/opt/rocm-5.2/bin:/usr/bin"),
            ("ROCM_PATH", "/opt/rocm-5.2"),
        ];
        let mut env = environment(&tier);
        rocm_env(&mut env);
        assert_eq!(env, environment(&tier));
    }

    #[test]
    fn cuda_is_where_the_tier_says() {
        let mut env = environment(&[("CUDA_HOME", "/cuda"), ("LIBRARY_PATH", "/lib")]);
        cuda_env(&mut env);
        assert_eq!(
            env,
            environment(&[("CUDA_HOME", "/cuda"), ("LIBRARY_PATH", "/lib:/cuda/lib64/stubs")])
        );
    }

    #[test]
    fn numbers_fit_an_address() {
        assert_eq!(number("n", 0).ip, "0.0.0.0");
        assert_eq!(number("n", 10_000).ip, "0.0.39.16");
        assert_eq!(number("n", u32::MAX).ip, "0.255.255.255");
    }

    #[test]
    fn texts_have_the_same_names_and_other_addresses() {
        let names = |hosts: &[ExtraHost]| hosts.iter().map(|host| host.host.clone()).collect::<Vec<_>>();
        let (short, other) = (text("scope", "rocm-pytorch"), text("scope", "b"));
        let (long, longer) = (text("scope", &"x".repeat(60)), text("scope", &"x".repeat(61)));
        for hosts in [&other, &long, &longer] {
            assert_eq!(names(hosts), names(&short));
        }
        assert_eq!(short[0].ip, "0.114.111.99", "roc");
        assert_eq!(short[15].ip, "0.0.0.0");
        assert_ne!(long, longer);
    }
}
