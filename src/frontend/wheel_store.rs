//! Asks the wheel store which wheels of a plan it has.
//!
//! The key of a wheel in the store has the content of its sources in it. BuildKit compares that too, and tells nobody what
//! it finds, so the sources are read here: they are what a compile would be given, and small beside what it makes.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::task::JoinSet;

use super::failure::Failure;
use super::goal::Goal;
use super::prepare;
use super::read::Read;
use super::resolve::Questions;
use crate::diagnostic::{Diagnostic, Severity};
use crate::gateway::{self, Client, Options, Reference, Solve};
use crate::llb::{Surroundings, emit_reads};
use crate::plan::{self, ContextRead, Plan, StageId, StoreEntry};
use crate::rules::Rule;
use crate::spec::WheelStore;

/// Files that are read at the same time.
const AT_ONCE: usize = 16;

/// Bits of Go's `os.FileMode`: a directory, a symbolic link, and that somebody may execute it.
const DIRECTORY: u32 = 1 << 31;
const SYMLINK: u32 = 1 << 27;
const EXECUTABLE: u32 = 0o111;

/// A compiled wheel of a plan, and whether the store has it.
pub(super) struct Looked {
    pub(super) entry: StoreEntry,
    /// The image that it is or would be, by tag.
    pub(super) reference: String,
    /// The image of the wheel that was pushed last for this platform, whatever its key.
    pub(super) newest: String,
    /// The same by digest, when it is there.
    pub(super) image: Option<String>,
}

/// Warnings of wheels that the store is not asked for, of a target or of all that the spec has. It takes no registry to know
/// them, so they are there before the first step.
pub(super) fn unkeyed(read: &Read, target: Option<&Goal>, questions: &[Questions]) -> Vec<Diagnostic> {
    let images = match target {
        Some(goal) => goal.images(&read.spec),
        None => read.spec.images.keys().cloned().collect(),
    };
    // Another plan is made for builds alone that may have such a wheel.
    let questions = questions
        .iter()
        .filter(|one| read.spec.wheel_store.is_some() && one.named.stand_ins.is_any_unknown());
    let mut found = Vec::new();
    for one in questions {
        // What ends the plan ends what the plan is for, and is told then.
        let plan = prepare::unresolved(read, &images, one);
        for warning in plan
            .map(|plan| plan::unkeyed(&read.spec, &plan))
            .unwrap_or_default()
        {
            if !found.contains(&warning) {
                found.push(warning);
            }
        }
    }
    read.about(target, found)
}

/// Asks for every compiled wheel of a plan. Nothing is asked when the spec has no store. A store that cannot be asked ends
/// the build or is done without, as the spec says.
pub(super) async fn look(
    client: &Client,
    options: &Options,
    read: &Read,
    plan: &Plan,
    surroundings: &Surroundings,
) -> Result<Vec<Looked>, Failure> {
    let Some(store) = &read.spec.wheel_store else {
        return Ok(Vec::new());
    };
    match ask(client, options, store, plan, surroundings).await? {
        Ok(looked) => Ok(looked),
        Err(error) if store.require => Err(cannot_ask(read, store, &error).into()),
        Err(error) => {
            let warning = Diagnostic {
                severity: Severity::Warning,
                rule: Some(Rule::WheelStoreUnreached.name()),
                ..cannot_ask(read, store, &error)
            };
            read.tell(client, &[warning]).await;
            Ok(Vec::new())
        }
    }
}

/// Asks for every compiled wheel of a plan; the inner error is the store's.
pub(super) async fn ask(
    client: &Client,
    options: &Options,
    store: &WheelStore,
    plan: &Plan,
    surroundings: &Surroundings,
) -> Result<Result<Vec<Looked>, gateway::Error>, Failure> {
    let contents = contents(client, plan, surroundings).await?;
    let mut asked = JoinSet::new();
    for (index, entry) in plan::store_entries(plan, &contents).into_iter().enumerate() {
        let (client, mode) = (client.clone(), options.resolve_mode()?);
        let platform = plan.platform.clone();
        let reference = format!("{}:{}", store.repo.get_ref(), entry.tag());
        asked.spawn(async move {
            let name = format!("[wheel store] look for {}", entry.tag());
            let answer = client
                .resolve_image(&reference, Some(&platform), mode, &name)
                .await;
            (index, entry, reference, answer)
        });
    }
    let mut answers = asked.join_all().await;
    answers.sort_by_key(|(index, ..)| *index);
    let mut looked = Vec::new();
    for (_, entry, reference, answer) in answers {
        let image = match answer {
            Ok(image) => image.digest.map(|digest| format!("{}@{digest}", image.reference)),
            Err(error) if error.is_missing_image() => None,
            Err(error) => return Ok(Err(error)),
        };
        looked.push(Looked {
            newest: format!("{}:{}", store.repo.get_ref(), entry.newest_tag(&plan.platform)),
            entry,
            reference,
            image,
        });
    }
    Ok(Ok(looked))
}

/// Puts the wheels that the store has into a plan.
pub(super) fn take(plan: &mut Plan, looked: &[Looked]) {
    let found: BTreeMap<StageId, String> = looked
        .iter()
        .filter_map(|one| Some((one.entry.stage, one.image.clone()?)))
        .collect();
    plan::take_stored(plan, &found);
}

/// What the metadata of a build says under [`plan::STORED`]: for each wheel its image in the store, and whether it came from there.
pub(super) fn report(looked: &[Looked]) -> Value {
    looked
        .iter()
        .map(|one| {
            let value = json!({ "reference": one.reference, "stored": one.image.is_some() });
            (one.entry.wheel.clone(), value)
        })
        .collect()
}

/// What is said of a store that cannot be asked.
pub(super) fn cannot_ask(read: &Read, store: &WheelStore, error: &gateway::Error) -> Diagnostic {
    let repo = store.repo.get_ref();
    let next = if store.require {
        "the build requires it"
    } else {
        "everything is compiled instead"
    };
    Diagnostic::error(format!("the wheel store {repo} cannot be asked: {error}"))
        .at(read.spec.locate(&store.repo), next)
        .help("see that the builder can reach the registry and may read from it (`docker login`)")
}

/// Digests of what is read of the build context for wheels.
async fn contents(
    client: &Client,
    plan: &Plan,
    surroundings: &Surroundings,
) -> Result<BTreeMap<ContextRead, String>, Failure> {
    let reads = plan::context_reads(plan);
    if reads.is_empty() {
        return Ok(BTreeMap::new());
    }
    let (graph, folder) = emit_reads(plan, &reads, surroundings);
    let result = client.solve(Solve::definition(graph.definition(folder))).await?;
    let folder = result.single()?.cloned();
    let mut contents = BTreeMap::new();
    for (index, read) in reads.into_iter().enumerate() {
        let digest = match &folder {
            Some(folder) => tree_digest(client, folder, &format!("/{index}")).await?,
            None => String::new(),
        };
        contents.insert(read, digest);
    }
    Ok(contents)
}

/// SHA-256 of a tree: of names, contents, link targets, and which files may be executed. Times and owners are left out,
/// since a checkout gives them as it likes.
async fn tree_digest(client: &Client, folder: &Reference, root: &str) -> Result<String, Failure> {
    let mut lines: BTreeMap<String, String> = BTreeMap::new();
    let mut files = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(above) = open.pop() {
        for entry in client.read_dir(folder, &above, "").await?.unwrap_or_default() {
            let path = format!("{above}/{}", entry.path);
            let name = path[root.len()..].to_owned();
            if entry.mode & DIRECTORY != 0 {
                lines.insert(name, "folder".to_owned());
                open.push(path);
            } else if entry.mode & SYMLINK != 0 {
                lines.insert(name, format!("link {}", entry.linkname));
            } else {
                let kind = if entry.mode & EXECUTABLE == 0 {
                    "file"
                } else {
                    "program"
                };
                files.push((path, name, kind));
            }
        }
    }
    for some in files.chunks(AT_ONCE) {
        let mut reads = JoinSet::new();
        for (path, name, kind) in some {
            let (client, folder) = (client.clone(), folder.clone());
            let (path, name, kind) = (path.clone(), name.clone(), *kind);
            reads.spawn(async move {
                let bytes = client.read_file(&folder, &path).await;
                (
                    name,
                    kind,
                    bytes.map(|bytes| Sha256::digest(bytes.unwrap_or_default())),
                )
            });
        }
        for (name, kind, digest) in reads.join_all().await {
            lines.insert(name, format!("{kind} {}", plan::hex(&digest?)));
        }
    }
    Ok(plan::digest(
        lines.iter().flat_map(|(name, value)| [&**name, &**value]),
    ))
}
