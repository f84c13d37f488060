//! Where the source of a wheel comes from, and what has to be done to it before it is built.

use super::key::{Input, sha256};
use super::model::{NamedContext, Prepare, ReadyWheel, Source, StageId, Work};
use super::planner::{Planner, download, named_context};
use super::{crates, steps};
use crate::diagnostic::{Diagnostic, Location};
use crate::lock::{Artifact, PackageName, check_wheel};
use crate::spec::{Wheel, WheelSource};

/// What never matters to a build of Python sources and would only disturb keys.
const JUNK: [&str; 6] = [
    "**/.git",
    "**/__pycache__",
    "**/*.pyc",
    "**/*.egg-info",
    "**/.venv",
    "**/.pytest_cache",
];

impl Planner<'_> {
    /// The source of a wheel that is compiled, and the folder of it to build in; `None` when errors were found.
    pub(super) fn source(&mut self, wheel: &Wheel) -> Option<(Source, String)> {
        let mut build_in = String::new();
        if let Some(digest) = self.request.stand_ins.sources.get(wheel.name.get_ref()) {
            return Some((self.stand_in(wheel, digest.as_deref()), build_in));
        }
        let mut source = match &wheel.source {
            WheelSource::Path {
                path,
                include,
                exclude,
            } => {
                let path = folder(path.get_ref());
                if let Some((source, inner)) = crates::source(self.request.manifests, &path, include, exclude)
                {
                    build_in = inner;
                    source
                } else {
                    Source::Context {
                        context: None,
                        path,
                        include: include.clone(),
                        exclude: junk().into_iter().chain(exclude.iter().cloned()).collect(),
                    }
                }
            }
            WheelSource::Git {
                url,
                rev,
                subdir,
                submodules,
                token,
                known_hosts,
            } => Source::Git {
                url: url.get_ref().clone(),
                rev: rev.get_ref().clone(),
                subdir: subdir.clone(),
                submodules: *submodules,
                token: token.clone(),
                known_hosts: known_hosts.clone(),
            },
            WheelSource::Archive { archive, subdir } => {
                let archive = download(archive.url.get_ref(), &archive.sha256);
                return Some((
                    self.prepare(wheel, Source::Archive(archive), subdir.clone()),
                    build_in,
                ));
            }
            WheelSource::Image { reference, path } => {
                let location = self.spec.locate(reference);
                let image = self.published("source image", reference.get_ref(), location);
                Source::Image {
                    image,
                    path: path.clone(),
                }
            }
            WheelSource::Lock { span } => self.locked_source(wheel, self.spec.locate(span))?,
            // What needs no build has no source; see `ready`.
            WheelSource::Ready(_) | WheelSource::ReadyInContext(_) => return None,
        };
        if wheel.patches.is_empty() {
            return Some((source, build_in));
        }
        // Patches are written against the whole of a repository, whichever folder of it is built.
        let subdir = match &mut source {
            Source::Git { subdir, .. } => std::mem::take(subdir),
            _ => String::new(),
        };
        Some((self.prepare(wheel, source, subdir), build_in))
    }

    /// A named context in place of what `source` fetches. What else the wheel says of its source counts as before: the
    /// folder that is built, patterns, patches.
    fn stand_in(&mut self, wheel: &Wheel, digest: Option<&str>) -> Source {
        let (subdir, include, exclude): (&str, &[String], &[String]) = match &wheel.source {
            WheelSource::Path { include, exclude, .. } => ("", include, exclude),
            WheelSource::Git { subdir, .. } | WheelSource::Archive { subdir, .. } => (subdir, &[], &[]),
            _ => ("", &[], &[]),
        };
        let source = Source::Context {
            context: Some(NamedContext {
                name: wheel.name.get_ref().clone(),
                digest: digest.map(str::to_owned),
            }),
            path: folder(if wheel.patches.is_empty() { subdir } else { "" }),
            include: include.to_vec(),
            exclude: junk().into_iter().chain(exclude.iter().cloned()).collect(),
        };
        if wheel.patches.is_empty() {
            source
        } else {
            self.prepare(wheel, source, subdir.to_owned())
        }
    }

    /// A source that is unpacked and patched in a stage of its own: two wheels from the same one share it.
    fn prepare(&mut self, wheel: &Wheel, source: Source, subdir: String) -> Source {
        let root = self.python_root();
        let patches: Vec<String> = wheel.patches.iter().map(|path| path.get_ref().clone()).collect();
        let mut inputs = self.root_inputs(&root);
        inputs.extend(source.stage().map(|id| self.parent(id)));
        inputs.extend(match (&wheel.source, &source) {
            (WheelSource::Archive { .. }, Source::Archive(file)) => {
                vec![Input::new("archive", format!("sha256:{}", file.sha256))]
            }
            (_, source) => source_inputs(source),
        });
        inputs.extend(exclude_inputs(&source));
        inputs.extend(
            patches
                .iter()
                .map(|path| Input::new("patch", format!("{path} of the build context"))),
        );
        inputs.push(Input::new("step", sha256(&steps::source())));
        let location = match (wheel.patches.first(), &wheel.source) {
            (Some(patch), _) => self.spec.locate(patch),
            (None, WheelSource::Archive { archive, .. }) => self.spec.locate(&archive.url),
            (None, _) => self.spec.locate(&wheel.name),
        };
        let work = Work::Prepare(Prepare {
            root: self.run_on(&root),
            source,
            patches,
        });
        let name = format!("source {}", wheel.name.get_ref());
        let stage = self.stage("source", &name, work, inputs, Some(location));
        Source::Prepared { stage, subdir }
    }

    /// The stage of a wheel that is there already; `None` when it does not fit.
    pub(super) fn ready(&mut self, name: &str, wheel: &Wheel) -> Option<StageId> {
        let (work, input, location) = match &wheel.source {
            WheelSource::Ready(file) => {
                let location = self.spec.locate(&file.url);
                let file = download(file.url.get_ref(), &file.sha256);
                let input = Input::new("wheel", format!("sha256:{}", file.sha256));
                (ReadyWheel::Download(file), input, location)
            }
            WheelSource::ReadyInContext(path) => {
                let location = self.spec.locate(path);
                let path = path.get_ref().clone();
                let input = Input::new("content", format!("{path} of the build context"));
                (ReadyWheel::Context { path }, input, location)
            }
            _ => return None,
        };
        if let Err(unfit) = check_wheel(work.filename(), &self.target()) {
            self.error(
                Diagnostic::error(unfit.message)
                    .at(location, "installed as it is")
                    .help(unfit.help),
            );
            return None;
        }
        let name = format!("wheel {name}");
        let work = Work::Ready(work);
        Some(self.stage("ready wheel", &name, work, vec![input], Some(location)))
    }

    /// The source that the lock pins for a wheel with `source = { lock = true }`.
    fn locked_source(&mut self, wheel: &Wheel, location: Location) -> Option<Source> {
        let name = wheel.name.get_ref();
        let lock = self.lock()?;
        if !self.in_lock(name) {
            self.unknown(name, location, "its source is to be taken from the lock");
            return None;
        }
        let parsed: PackageName = name.parse().ok()?;
        let origin = match lock.sdist(&parsed, None) {
            Ok(origin) => origin,
            Err(error) => {
                let mut diagnostic = Diagnostic::error(error.message()).at(location, "asked for here");
                diagnostic.help = error.help();
                self.errors.push(diagnostic);
                return None;
            }
        };
        let problem = match origin.artifact {
            Artifact::Sdist {
                url: Some(url),
                sha256: Some(sha256),
                filename,
                ..
            } => {
                let mut archive = download(&url, &sha256);
                archive.filename = filename;
                return Some(Source::Archive(archive));
            }
            Artifact::Git {
                url,
                rev,
                subdirectory,
                submodules,
                ..
            } => {
                return Some(Source::Git {
                    url,
                    rev,
                    subdir: subdirectory.unwrap_or_default(),
                    submodules,
                    token: None,
                    known_hosts: None,
                });
            }
            Artifact::Tree { path, .. } => {
                return Some(Source::Context {
                    context: None,
                    path: self.beside_lock(&path),
                    include: Vec::new(),
                    exclude: junk(),
                });
            }
            _ => format!("the lock pins no source of `{name}` by URL and SHA-256"),
        };
        self.errors.push(
            Diagnostic::error(problem)
                .at(location, "asked for here")
                .help("give the source here: { git = \"...\", rev = \"...\" } or { path = \"...\" }"),
        );
        None
    }
}

pub(super) fn source_inputs(source: &Source) -> Vec<Input> {
    match source {
        Source::Context {
            context,
            path,
            include,
            ..
        } => {
            let of = match context {
                Some(context) => named_context(&context.name),
                None => "the build context".to_owned(),
            };
            let mut inputs = vec![Input::new("content", format!("{} of {of}", display(path)))];
            inputs.extend(
                context
                    .iter()
                    .filter_map(|context| context.digest.as_ref())
                    .map(|digest| Input::new("digest", digest)),
            );
            inputs.extend(include.iter().map(|pattern| Input::new("include", pattern)));
            inputs
        }
        Source::Crates(crates) => {
            let words: Vec<&str> = crates.crates.iter().map(|path| display(path)).collect();
            let mut inputs = vec![Input::new(
                "content",
                format!("crates of the build context: {}", words.join(", ")),
            )];
            inputs.extend(
                crates
                    .include
                    .iter()
                    .map(|pattern| Input::new("include", pattern)),
            );
            inputs.extend(
                crates
                    .manifest
                    .iter()
                    .map(|(path, text)| Input::new(path.clone(), sha256(text))),
            );
            inputs
        }
        Source::Git {
            rev,
            subdir,
            submodules,
            ..
        } => {
            let mut inputs = vec![Input::new("commit", rev)];
            if !subdir.is_empty() {
                inputs.push(Input::new("subdir", subdir));
            }
            if !submodules {
                inputs.push(Input::new("submodules", "no"));
            }
            inputs
        }
        Source::Archive(archive) => vec![Input::new(
            "source distribution",
            format!("sha256:{}", archive.sha256),
        )],
        Source::Image { path, .. } => vec![Input::new("path", path)],
        Source::Prepared { subdir, .. } if subdir.is_empty() => Vec::new(),
        Source::Prepared { subdir, .. } => vec![Input::new("subdir", subdir)],
    }
}

/// What the spec leaves out of a source; of a project, what is known to be something else never counts.
pub(super) fn exclude_inputs(source: &Source) -> Vec<Input> {
    match source {
        Source::Context { exclude, .. } => own_patterns(exclude)
            .iter()
            .map(|pattern| Input::new("exclude", pattern))
            .collect(),
        Source::Crates(crates) => crates
            .exclude
            .iter()
            .map(|pattern| Input::new("exclude", pattern))
            .collect(),
        _ => Vec::new(),
    }
}

/// The patterns of a source's `exclude` that come after those which every source has.
pub fn own_patterns(exclude: &[String]) -> &[String] {
    exclude.get(JUNK.len()..).unwrap_or_default()
}

/// [`JUNK`], as patterns of a source.
pub(super) fn junk() -> Vec<String> {
    JUNK.map(str::to_owned).to_vec()
}

/// The whole context is `.`.
pub(super) fn folder(path: &str) -> String {
    if path.is_empty() {
        ".".to_owned()
    } else {
        path.to_owned()
    }
}

pub(super) fn display(path: &str) -> &str {
    if path == "." { "the root" } else { path }
}
