//! Wheels that were compiled before: what stands for a compile in a store, and the plan that takes what is there.
//!
//! The key of a stage says which folder of the build context is read, and not what is in it: BuildKit compares that by
//! itself. A store is asked before there is anything to compare, so the key of a wheel there is the stage's with the
//! digests of all that was read of the context for it, by the stage itself and by those that it stands on.

use std::collections::{BTreeMap, BTreeSet};

use super::key::{Input, Key, key, sha256};
use super::model::{Plan, ReadyWheel, Source, StageId, Work};
use super::planner::named_context;
use crate::platform::Platform;

/// Key of the metadata of a build that says which wheels the store had.
pub const STORED: &str = "dev.wheelbase.wheel-store";

/// The label of a stored wheel that holds what its key is made of, as a JSON object.
pub const PARTS: &str = "dev.wheelbase.wheel.parts";

/// Prefix of the notes about a wheel that are ours.
const NOTE: &str = "dev.wheelbase.wheel";

/// The note with a wheel's name in `[wheels]`. An image without it is no wheel of ours.
pub const WHEEL_NAME: &str = "dev.wheelbase.wheel.name";

/// The note with the platform that a wheel was compiled for.
pub const WHEEL_PLATFORM: &str = "dev.wheelbase.wheel.platform";

/// The annotation with the time at which a wheel was pushed, as RFC 3339 writes it. An image's own time is that of the
/// compile, which may have been cached for long, or the one of `SOURCE_DATE_EPOCH`.
pub const WHEEL_PUSHED: &str = "dev.wheelbase.wheel.pushed";

/// A part of the build context that is read for a wheel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ContextRead {
    /// The name of the context; `None` for the build context.
    pub context: Option<String>,
    /// A file or a folder, relative to the context; `.` for all of it.
    pub path: String,
    /// Only these files of the folder, in Docker's pattern syntax; empty for all.
    pub include: Vec<String>,
    /// Never these.
    pub exclude: Vec<String>,
}

impl ContextRead {
    fn file(path: &str) -> Self {
        Self {
            context: None,
            path: path.to_owned(),
            include: Vec::new(),
            exclude: Vec::new(),
        }
    }
}

/// A compiled wheel of a plan, as a store knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreEntry {
    /// The stage that compiles it.
    pub stage: StageId,
    /// Its name in `[wheels]`.
    pub wheel: String,
    /// What its files depend on.
    pub key: Key,
    /// What people want to know of it: annotations of its image.
    pub notes: BTreeMap<String, String>,
    /// What the key is made of: each input of each stage by name, with the start of a digest of its value. Values may be
    /// long, and nobody has said that they may be published.
    pub parts: BTreeMap<String, String>,
}

impl StoreEntry {
    /// The tag of its image: the name for people, and the key.
    pub fn tag(&self) -> String {
        format!("{}-{}", name_tag(&self.wheel), self.key)
    }

    /// The tag of the one that was pushed last for a platform, whatever its key. A tag of a key has no dot.
    pub fn newest_tag(&self, platform: &Platform) -> String {
        let platform = platform.to_string().replace('/', "-");
        format!("{}.{platform}", name_tag(&self.wheel))
    }
}

/// What the tags of a wheel begin with.
pub(super) fn name_tag(wheel: &str) -> String {
    // A tag has at most 128 characters, of which the key takes 64.
    wheel.chars().take(60).collect()
}

/// What the stages that compile wheels read of the build context, together with all that they stand on.
pub fn context_reads(plan: &Plan) -> BTreeSet<ContextRead> {
    compiles(plan)
        .flat_map(|(id, _)| plan.closure(id))
        .flat_map(|id| reads(&plan.stage(id).work))
        .collect()
}

/// The compiled wheels of a plan, by name, once it is known what was read of the build context: a digest for each of the
/// [`context_reads`]. A wheel that stands on an image without a digest, such as a tier that another target of a bake file
/// stands in for, is not among them: nobody can say whether two of its kind are the same.
pub fn store_entries(plan: &Plan, contents: &BTreeMap<ContextRead, String>) -> Vec<StoreEntry> {
    let mut entries: Vec<StoreEntry> = compiles(plan)
        .map(|(stage, wheel)| (stage, wheel, plan.closure(stage)))
        .filter(|(_, _, stages)| stages.iter().all(|id| is_known(&plan.stage(*id).work)))
        .map(|(stage, wheel, stages)| {
            let mut inputs = vec![
                Input::new("platform", plan.platform.to_string()),
                Input::new("compile", plan.stage(stage).key.as_str()),
            ];
            let read: BTreeSet<(String, String)> = stages
                .iter()
                .flat_map(|id| {
                    let stage = plan.stage(*id);
                    let reads = reads(&stage.work).into_iter();
                    reads.map(|read| {
                        let content = contents.get(&read).cloned().unwrap_or_default();
                        (format!("{} {}", stage.key, read.path), content)
                    })
                })
                .collect();
            inputs.extend(read.into_iter().map(|(name, value)| Input::new(name, value)));
            StoreEntry {
                stage,
                wheel: wheel.to_owned(),
                key: key("stored wheel", &inputs),
                notes: notes(plan, stage, &stages),
                parts: parts(plan, &stages, contents),
            }
        })
        .collect();
    entries.sort_by(|one, other| (&one.wheel, one.stage).cmp(&(&other.wheel, other.stage)));
    entries
}

/// Takes wheels from a store: the images by stage, each pinned by its digest. Keys stay as they are, since the files are the
/// same.
pub fn take_stored(plan: &mut Plan, images: &BTreeMap<StageId, String>) {
    for (id, image) in images {
        if let Some(stage) = plan.stages.get_mut(id.0) {
            stage.work = Work::Stored { image: image.clone() };
        }
    }
}

/// The stage that compiles a wheel. Images may need it in different resolutions of the lock; then the first image, by name,
/// has it.
pub fn compile_of(plan: &Plan, wheel: &str) -> Option<StageId> {
    compiles(plan).find(|(_, name)| *name == wheel).map(|(id, _)| id)
}

/// Whether a stage's key says what it is, or what is read of a context does.
pub(super) fn is_known(work: &Work) -> bool {
    !matches!(work, Work::Image(image) if image.context.is_some() && image.digest.is_none())
}

/// The stages that compile, each with its wheel.
pub(super) fn compiles(plan: &Plan) -> impl Iterator<Item = (StageId, &str)> {
    plan.iter().filter_map(|(id, stage)| match &stage.work {
        Work::Compile(compile) => Some((id, compile.name.as_str())),
        _ => None,
    })
}

fn reads(work: &Work) -> Vec<ContextRead> {
    let mut reads = Vec::new();
    match work.source() {
        Some(Source::Context {
            context,
            path,
            include,
            exclude,
        }) => reads.push(ContextRead {
            context: context.as_ref().map(|context| context.name.clone()),
            path: path.clone(),
            include: include.clone(),
            exclude: exclude.clone(),
        }),
        Some(Source::Crates(crates)) => reads.push(ContextRead {
            context: None,
            path: crates.base.clone(),
            include: crates.include.clone(),
            exclude: crates.exclude.clone(),
        }),
        _ => {}
    }
    match work {
        Work::Prepare(prepare) => reads.extend(prepare.patches.iter().map(|path| ContextRead::file(path))),
        Work::Ready(ReadyWheel::Context { path }) => reads.push(ContextRead::file(path)),
        _ => {}
    }
    reads
}

/// The inputs of some stages, but not those that stand for one of these stages.
fn parts(
    plan: &Plan,
    stages: &BTreeSet<StageId>,
    contents: &BTreeMap<ContextRead, String>,
) -> BTreeMap<String, String> {
    const DIGITS: usize = 12;
    let short = |value: &str| sha256(value)[..DIGITS].to_owned();
    let keys: BTreeSet<&str> = stages.iter().map(|id| plan.stage(*id).key.as_str()).collect();
    let mut parts = BTreeMap::new();
    for id in stages {
        let stage = plan.stage(*id);
        for input in stage
            .inputs
            .iter()
            .filter(|input| !keys.contains(input.value.as_str()))
        {
            parts.insert(format!("{}: {}", stage.name, input.name), short(&input.value));
        }
        for read in reads(&stage.work) {
            let content = contents.get(&read).map(String::as_str).unwrap_or_default();
            parts.insert(format!("{}: files of {}", stage.name, read.path), short(content));
        }
    }
    parts
}

/// What a wheel was made from, in words.
fn notes(plan: &Plan, stage: StageId, stages: &BTreeSet<StageId>) -> BTreeMap<String, String> {
    let mut notes = BTreeMap::new();
    let mut note = |name: &str, value: String| notes.insert(name.to_owned(), value);
    let Work::Compile(compile) = &plan.stage(stage).work else {
        return notes;
    };
    note(
        "org.opencontainers.image.title",
        format!("wheel {}", compile.name),
    );
    note(WHEEL_NAME, compile.name.clone());
    note(WHEEL_PLATFORM, plan.platform.to_string());
    if let Some(archs) = compile.env.get("TORCH_CUDA_ARCH_LIST") {
        note(&format!("{NOTE}.archs"), archs.clone());
    }
    let source = match &compile.source {
        Source::Prepared { stage, .. } => plan.stage(*stage).work.source().unwrap_or(&compile.source),
        source => source,
    };
    match source {
        Source::Git { url, rev, .. } => {
            note("org.opencontainers.image.source", url.clone());
            note("org.opencontainers.image.revision", rev.clone());
        }
        Source::Archive(file) => {
            note(&format!("{NOTE}.source"), file.filename.clone());
        }
        Source::Context {
            context: None, path, ..
        } => {
            note(&format!("{NOTE}.source"), format!("{path} of the build context"));
        }
        Source::Context {
            context: Some(context),
            ..
        } => {
            note(&format!("{NOTE}.source"), named_context(&context.name));
        }
        Source::Crates(crates) => {
            note(
                &format!("{NOTE}.source"),
                format!("crates of {} of the build context", crates.base),
            );
        }
        Source::Image { .. } | Source::Prepared { .. } => {}
    }
    for id in stages {
        match &plan.stage(*id).work {
            Work::Install(install) => {
                let torch = install.packages.iter().find(|package| package.name == "torch");
                if let Some(torch) = torch {
                    note(&format!("{NOTE}.torch"), torch.version.clone());
                }
            }
            Work::Image(image) if Some(*id) == plan.tier(compile.root.base) => {
                note(&format!("{NOTE}.tier"), image.reference.clone());
                if let Some(cuda) = image.env.get("CUDA_VERSION") {
                    note(&format!("{NOTE}.cuda"), cuda.clone());
                }
            }
            _ => {}
        }
    }
    let python = plan.interpreter.rsplit('/').next().unwrap_or_default();
    note(&format!("{NOTE}.python"), python.to_owned());
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::SourceFile;
    use crate::plan::{Request, plan};
    use crate::spec::Spec;

    const SPEC: &str = "name = \"app\"\n[gpu]\narchs = [\"9.0\"]\ntiers.base = \"registry.example/base:1\"\n\
                        tiers.devel = \"registry.example/devel:1\"\n[python]\nversion = \"3.11\"\n\
                        provider = { image = \"registry.example/python:3.11\" }\n[compiler-cache]\nscope = \"a\"\n\
                        [wheel-store]\nrepo = \"registry.example/wheels\"\n\
                        [wheels.kernel]\nsource = { path = \"kernel\", exclude = [\"docs\"] }\npatches = [\"fix.patch\"]\n\
                        [wheels.other]\nsource = { path = \"other\" }\n\
                        [images.app]\ntier = \"base\"\nwheels = [\"kernel\", \"other\"]\n";

    fn planned(spec: &str, platform: Platform) -> Plan {
        let (spec, _) = Spec::parse(&SourceFile::new("wheelbase.toml", spec)).unwrap();
        plan(&Request {
            spec: &spec,
            lock: None,
            projects: &BTreeMap::new(),
            manifests: &crate::lock::Manifests::default(),
            stand_ins: &crate::plan::StandIns::default(),
            platform,
            builder: None,
            resolved: &BTreeMap::new(),
            images: &BTreeSet::from(["app".to_owned()]),
        })
        .unwrap()
    }

    fn tags(plan: &Plan, contents: &[(&str, &str)]) -> Vec<String> {
        let contents = context_reads(plan)
            .into_iter()
            .map(|read| {
                let known = contents.iter().find(|(path, _)| *path == read.path);
                let digest = known.map_or("same", |(_, digest)| digest);
                (read, digest.to_owned())
            })
            .collect();
        store_entries(plan, &contents)
            .iter()
            .map(StoreEntry::tag)
            .collect()
    }

    #[test]
    fn what_is_read_for_wheels() {
        let plan = planned(SPEC, Platform::linux_amd64());
        let reads = context_reads(&plan);
        let paths: Vec<&str> = reads.iter().map(|read| read.path.as_str()).collect();
        assert_eq!(paths, ["fix.patch", "kernel", "other"]);
        let kernel = reads.iter().find(|read| read.path == "kernel").unwrap();
        assert!(kernel.exclude.contains(&"docs".to_owned()));
    }

    #[test]
    fn content_counts_for_the_wheels_that_are_made_from_it() {
        let plan = planned(SPEC, Platform::linux_amd64());
        let before = tags(&plan, &[]);
        assert!(before[0].starts_with("kernel-") && before[1].starts_with("other-"));
        assert!(before.iter().all(|tag| tag.len() <= 128));
        for path in ["kernel", "fix.patch"] {
            let after = tags(&plan, &[(path, "edited")]);
            assert_ne!(before[0], after[0], "{path}");
            assert_eq!(before[1], after[1], "{path}");
        }
    }

    #[test]
    fn what_no_layer_depends_on_is_in_no_tag() {
        let before = tags(&planned(SPEC, Platform::linux_amd64()), &[]);
        let scope = SPEC.replace("scope = \"a\"", "scope = \"b\"");
        let jobs = SPEC.replace("[wheels.other]\n", "[wheels.other]\njobs = 3\n");
        for same in [scope, jobs] {
            assert_eq!(before, tags(&planned(&same, Platform::linux_amd64()), &[]));
        }
        let arch = SPEC.replace("9.0", "8.0");
        assert_ne!(before, tags(&planned(&arch, Platform::linux_amd64()), &[]));
        let arm: Platform = "linux/arm64".parse().unwrap();
        assert_ne!(before, tags(&planned(SPEC, arm), &[]));
    }

    #[test]
    fn a_stored_wheel_leaves_the_keys_above_it() {
        let mut plan = planned(SPEC, Platform::linux_amd64());
        let keys: Vec<Key> = plan.iter().map(|(_, stage)| stage.key.clone()).collect();
        let entries = store_entries(&plan, &BTreeMap::new());
        let image = "registry.example/wheels@sha256:00".to_owned();
        take_stored(&mut plan, &BTreeMap::from([(entries[0].stage, image)]));
        let after: Vec<Key> = plan.iter().map(|(_, stage)| stage.key.clone()).collect();
        assert_eq!(keys, after);
        assert!(matches!(plan.stage(entries[0].stage).work, Work::Stored { .. }));
        assert_eq!(store_entries(&plan, &BTreeMap::new()).len(), 1);
    }

    #[test]
    fn notes_and_parts_name_what_it_was_made_from() {
        let plan = planned(SPEC, Platform::linux_amd64());
        let entry = &store_entries(&plan, &BTreeMap::new())[0];
        let note = |name: &str| entry.notes.get(&format!("{NOTE}.{name}")).map(String::as_str);
        assert_eq!(note("archs"), Some("9.0"));
        assert_eq!(note("python"), Some("python3.11"));
        assert_eq!(note("source"), Some("kernel of the build context"));
        assert_eq!(note("tier"), Some("registry.example/devel:1"));
        assert!(entry.parts.contains_key("source kernel: files of kernel"));
        assert!(entry.parts.contains_key("wheel kernel: env TORCH_CUDA_ARCH_LIST"));
        assert!(entry.parts.values().all(|part| part.len() == 12));
    }
}
