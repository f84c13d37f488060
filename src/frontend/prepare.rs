//! What comes before the first step of a build, and before the answer to a question about one: files are read,
//! registries are asked, and the plan is made.

use std::collections::{BTreeMap, BTreeSet};

use super::contexts;
use super::failure::Failure;
use super::goal::Goal;
use super::place::Places;
use super::read::{self, Read};
use super::resolve::Questions;
use crate::diagnostic::Diagnostic;
use crate::gateway::{Client, Options};
use crate::plan::{self, Builder, Plan, Request};
use crate::platform::Platform;
use crate::spec::Spec;

/// All that plans are made from.
pub(super) struct Prepared {
    pub(super) read: Read,
    pub(super) goal: Goal,
    /// For each platform, in the order in which they were given, what registries have been asked.
    pub(super) questions: Vec<Questions>,
}

/// Reads the files, chooses what is built, and asks registries what any plan of it needs to know.
pub(super) async fn prepare(
    client: &Client,
    options: &Options,
    platforms: Vec<Platform>,
) -> Result<Prepared, Failure> {
    let choose = |spec: &Spec| {
        let goal = Goal::choose(spec, options.target())?;
        let image = goal.image().map(str::to_owned);
        Ok((goal, image))
    };
    let (read, goal, questions) = prepare_for(client, options, platforms, choose).await?;
    Ok(Prepared {
        read,
        goal,
        questions,
    })
}

/// The same for all that the spec has, whatever the target is, with no question asked yet.
pub(super) async fn prepare_all(
    client: &Client,
    options: &Options,
    platforms: Vec<Platform>,
) -> Result<(Read, Vec<Questions>), Failure> {
    let all = |_: &Spec| Ok(((), None));
    let (read, (), questions) = prepare_for(client, options, platforms, all).await?;
    Ok((read, questions))
}

/// The plan of some images as far as it goes without a registry.
pub(super) fn unresolved(
    read: &Read,
    images: &BTreeSet<String>,
    questions: &Questions,
) -> Result<Plan, Vec<Diagnostic>> {
    plan::plan(&Request {
        spec: &read.spec,
        lock: read.lock.as_ref(),
        projects: &read.projects,
        manifests: &read.manifests,
        platform: questions.platform.clone(),
        builder: None,
        stand_ins: &questions.named.stand_ins,
        resolved: &BTreeMap::new(),
        images,
    })
}

/// Reads the files. What is built, and the image whose tiers and tools registries are asked about beforehand, `choose` says
/// once the spec is there.
async fn prepare_for<T>(
    client: &Client,
    options: &Options,
    platforms: Vec<Platform>,
    choose: impl FnOnce(&Spec) -> Result<(T, Option<String>), Diagnostic>,
) -> Result<(Read, T, Vec<Questions>), Failure> {
    let places = Places::find(client, options).await?;
    // Registries are asked while the lock is read. What they say counts only once the plan stands.
    let asked = async {
        let mut definition = read::definition(client, options, &places).await?;
        let spec = &definition.spec;
        contexts::check(options, spec)?;
        let (goal, image) = choose(spec)?;
        let mut questions = Vec::new();
        for platform in platforms {
            let named = contexts::load(client, options, spec, &platform).await?;
            let foreseen = image
                .iter()
                .flat_map(|image| plan::foreseen(spec, &spec.images[image], &named.stand_ins));
            let foreseen: BTreeSet<String> = foreseen.collect();
            let builder = other_builder(client, &platform, spec.emulate);
            let mut asked = Questions::new(client, options, platform, builder, named)?;
            for reference in &foreseen {
                asked.ask(reference);
            }
            questions.push(asked);
        }
        definition.read_manifests(client, options, &places).await?;
        Ok::<_, Failure>((definition, goal, questions))
    };
    let (usual, asked) = tokio::join!(read::usual_lock(client, options, &places), asked);
    let (definition, goal, questions) = asked?;
    let read = read::context(client, options, &places, definition, usual).await?;
    Ok((read, goal, questions))
}

/// The platforms to build for. When none is asked for it is that of the daemon's first worker, as every frontend
/// takes it.
pub(super) fn platforms(client: &Client, options: &Options) -> Result<Vec<Platform>, Diagnostic> {
    let mut platforms = options.platforms()?;
    if platforms.is_empty() {
        platforms.push(client.platform().cloned().unwrap_or_else(Platform::linux_amd64));
    }
    Ok(platforms)
}

/// What the builder runs, where it cannot run `platform`, or may not since it would have to emulate it. The first platform of
/// a worker is its own; those after it are others that its processor runs, or that it has emulators for.
fn other_builder(client: &Client, platform: &Platform, emulate: bool) -> Option<Platform> {
    let own = client.platform()?;
    let is_alike = (&own.os, &own.architecture) == (&platform.os, &platform.architecture);
    let is_emulated = || {
        let worker = client.workers().first();
        worker.is_some_and(|worker| worker.platforms.contains(platform))
    };
    let runs = is_alike || (emulate && is_emulated());
    (!runs).then(|| own.clone())
}

/// The plan of some images for one platform, with what registries say of the images that it stands on.
pub(super) async fn planned(
    read: &Read,
    images: &BTreeSet<String>,
    questions: Questions,
) -> Result<Plan, Failure> {
    let unresolved = BTreeMap::new();
    let builder = questions.builder.clone();
    let builder_with = |resolved| {
        let platform = builder.as_ref()?;
        Some(Builder { platform, resolved })
    };
    let named = questions.named.clone();
    let mut request = Request {
        spec: &read.spec,
        lock: read.lock.as_ref(),
        projects: &read.projects,
        manifests: &read.manifests,
        platform: questions.platform.clone(),
        builder: builder_with(&unresolved),
        stand_ins: &named.stand_ins,
        resolved: &unresolved,
        images,
    };
    let answers = questions.answers(&plan::plan(&request)?).await?;
    request.resolved = &answers.image;
    request.builder = builder_with(&answers.builder);
    Ok(plan::plan(&request)?)
}
