//! What comes before the first step of a build, and before the answer to a question about one: files are read,
//! registries are asked, and the plan is made.

use std::collections::{BTreeMap, BTreeSet};

use super::failure::Failure;
use super::read::{self, Definition, Read};
use super::resolve::Questions;
use crate::diagnostic::Diagnostic;
use crate::gateway::{Client, Options};
use crate::plan::{self, Plan, Request};
use crate::platform::Platform;
use crate::spec::Spec;

/// All that plans are made from.
pub(super) struct Prepared {
    pub(super) read: Read,
    /// The image to build.
    pub(super) image: String,
    /// For each platform, in the order in which they were given, what registries have been asked.
    pub(super) questions: Vec<Questions>,
}

/// Reads the files, chooses the image, and asks registries what any plan of it needs to know.
pub(super) async fn prepare(
    client: &Client,
    options: &Options,
    platforms: Vec<Platform>,
) -> Result<Prepared, Failure> {
    let (usual, asked) = tokio::join!(read::usual_lock(client, options), ask(client, options, platforms));
    let (definition, image, questions) = asked?;
    let read = read::context(client, options, definition, usual).await?;
    read.warn(client).await;
    Ok(Prepared {
        read,
        image,
        questions,
    })
}

/// Reads the spec, and asks registries what any plan of its image needs, while the lock is read. What they say counts only
/// once the plan stands.
async fn ask(
    client: &Client,
    options: &Options,
    platforms: Vec<Platform>,
) -> Result<(Definition, String, Vec<Questions>), Failure> {
    let mut definition = read::definition(client, options).await?;
    let image = choose(&definition.spec, options.target())?;
    let foreseen = plan::foreseen(&definition.spec, &definition.spec.images[&image]);
    let mut questions = Vec::new();
    for platform in platforms {
        let mut asked = Questions::new(client, options, platform)?;
        for reference in &foreseen {
            asked.ask(reference);
        }
        questions.push(asked);
    }
    definition.read_manifests(client, options).await?;
    Ok((definition, image, questions))
}

/// The platforms to build for. When none is asked for it is that of the daemon's first worker, as every frontend
/// takes it.
pub(super) fn platforms(client: &Client, options: &Options) -> Result<Vec<Platform>, Diagnostic> {
    let mut platforms = options.platforms()?;
    if platforms.is_empty() {
        let first = client
            .workers()
            .first()
            .and_then(|worker| worker.platforms.first());
        platforms.push(first.cloned().unwrap_or_else(Platform::linux_amd64));
    }
    Ok(platforms)
}

/// The plan of one image for one platform, with what registries say of the images that it stands on.
pub(super) async fn planned(read: &Read, image: &str, questions: Questions) -> Result<Plan, Failure> {
    let images = BTreeSet::from([image.to_owned()]);
    let unresolved = BTreeMap::new();
    let mut request = Request {
        spec: &read.spec,
        lock: read.lock.as_ref(),
        projects: &read.projects,
        manifests: &read.manifests,
        platform: questions.platform.clone(),
        resolved: &unresolved,
        images: &images,
    };
    let references = plan::references(&plan::plan(&request)?);
    let resolved = questions.answers(&references).await?;
    request.resolved = &resolved;
    Ok(plan::plan(&request)?)
}

/// The image to build: the target, the spec's default, or the only one there is.
fn choose(spec: &Spec, target: Option<&str>) -> Result<String, Diagnostic> {
    let names: Vec<&str> = spec.images.keys().map(String::as_str).collect();
    let wanted = match (target, &spec.default, names.as_slice()) {
        (Some(target), _, _) => target,
        (None, Some(default), _) => default.get_ref(),
        (None, None, [only]) => only,
        (None, None, []) => return Err(Diagnostic::error(format!("{} has no images", spec.file.name))),
        (None, None, _) => {
            return Err(
                Diagnostic::error(format!("{} has {} images", spec.file.name, names.len())).help(format!(
                    "name one with --target ({}), or write default = \"{}\" at the top of the file",
                    names.join(", "),
                    names[0]
                )),
            );
        }
    };
    if spec.images.contains_key(wanted) {
        return Ok(wanted.to_owned());
    }
    let help = match crate::diagnostic::nearest(wanted, names.iter().copied()) {
        Some(near) => format!("did you mean --target {near}?"),
        None => format!("the images of {} are: {}", spec.file.name, names.join(", ")),
    };
    Err(Diagnostic::error(format!("there is no target `{wanted}`")).help(help))
}
