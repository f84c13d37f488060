//! `wheelbase replay`: what the edits of a lock would have cost.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use clap::{Args, ValueEnum};
use serde_json::json;

use super::history::{History, Source};
use super::load::{Loaded, context_of};
use super::{Input, page, print, report, tally};
use crate::diagnostic::{Diagnostic, SourceFile};
use crate::lock::{self, Lock, PackageName, PythonVersion, Root, Roots, Target};
use crate::plan::{Footprint, Key, Replay as Played, Version, file_key, replay};
use crate::spec::{DEFAULT_BUCKETS, DEFAULT_MAX_LAYER_SIZE, DEFAULT_MAX_LAYERS, DEFAULT_THRESHOLD, Layers};

/// Arguments of `replay`.
#[derive(Debug, Args)]
pub(super) struct Replay {
    #[command(flatten)]
    input: Input,
    /// Look at this many versions of the lock, the newest ones.
    #[arg(short = 'n', long, value_name = "N")]
    max_count: Option<usize>,
    /// Take the versions from the files `*.lock` of a folder, sorted by name, instead of git.
    #[arg(long, value_name = "DIR")]
    locks: Option<PathBuf>,
    #[command(flatten)]
    roots: PackageRoots,
    /// How it is shown.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write a page with a plot as well.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// What to look at where there is no spec.
#[derive(Debug, Args)]
struct PackageRoots {
    /// Without a spec: an image of this package of the lock, perhaps with extras (`NAME[EXTRA,...]`), or `*` for
    /// all that the lock installs; can be repeated.
    #[arg(long, value_name = "NAME", conflicts_with = "images")]
    package: Vec<String>,
    /// With --package: an extra of every package.
    #[arg(long, requires = "package")]
    extra: Vec<String>,
    /// With --package: a dependency group of every package, or of the workspace's root.
    #[arg(long, requires = "package")]
    group: Vec<String>,
    /// With --package: the version of Python.
    #[arg(long, requires = "package", default_value = "3.12", value_parser = pair)]
    python: (u32, u32),
    /// With --package: the lowest glibc that wheels meet, 2.35 on Ubuntu 22.04.
    #[arg(long, requires = "package", default_value = "2.35", value_parser = pair)]
    glibc: (u32, u32),
    /// With --package: the lock in git, relative to the context.
    #[arg(
        long,
        requires = "package",
        default_value = "uv.lock",
        value_name = "FILE",
        conflicts_with = "locks"
    )]
    lock: String,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// Tables for people.
    Text,
    /// For programs.
    Json,
}

/// The versions of each image, oldest first.
type Versions = BTreeMap<String, Vec<Version>>;

impl Replay {
    /// Reads all versions, adds them up and prints.
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        let (title, history, versions) = if self.roots.package.is_empty() {
            match self.with_spec()? {
                Ok(read) => read,
                Err(errors) => {
                    report(&errors);
                    return Ok(ExitCode::FAILURE);
                }
            }
        } else {
            self.with_packages()?
        };
        let played: BTreeMap<String, Played> = versions
            .into_iter()
            .map(|(image, versions)| (image, replay(versions)))
            .collect();
        let span = tally::Span::of(&title, &history);
        let note: Vec<Diagnostic> = history.note.iter().map(Diagnostic::warning).collect();
        report(&note);
        if let Some(file) = &self.html {
            std::fs::write(file, page::html(&span, &played))
                .with_context(|| format!("failed to write {}", file.display()))?;
        }
        let text = match self.format {
            Format::Text => tally::text(&span, &played),
            Format::Json => {
                let value = json!({ "lock": title, "versions": history.versions.len(), "images": played });
                serde_json::to_string_pretty(&value)? + "\n"
            }
        };
        print(text.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }

    /// Versions of the images of the spec.
    fn with_spec(&self) -> super::load::Reading<(String, History, Versions)> {
        let Input { file, context, .. } = &self.input;
        let mut loaded = match Loaded::read(&self.input)? {
            Ok(loaded) => loaded,
            Err(errors) => return Ok(Err(errors)),
        };
        // That an image is misspelt is one error, not one for each version.
        let unknown = loaded
            .images
            .iter()
            .any(|image| !loaded.spec.images.contains_key(image));
        if unknown && let Err(errors) = loaded.plan() {
            return Ok(Err(errors));
        }
        let folder = context_of(file, context.as_deref());
        let lock = loaded.spec.python.lock.get_ref().clone();
        let (title, history) = match &self.locks {
            Some(locks) => (
                locks.display().to_string(),
                History::of_folder(locks, Some(&folder), self.max_count)?,
            ),
            None => (lock.clone(), History::of_git(&folder, &lock, self.max_count)?),
        };
        let wanted = loaded.images.clone();
        let mut versions = Versions::new();
        for source in &history.versions {
            let read = source.read().and_then(|lock| {
                let lock = lock.ok_or_else(missing)?;
                loaded.warnings.clear();
                let set = loaded.set_lock(Some(&lock), &source.files)?;
                set.map_err(|errors| first(&errors))?;
                Ok(lock)
            });
            for image in &wanted {
                let footprint = match &read {
                    Ok(_) => loaded
                        .plan_images(&BTreeSet::from([image.clone()]))
                        .map_err(|errors| first(&errors).to_string())
                        .and_then(|plan| {
                            Footprint::of_plan(&plan, image).ok_or_else(|| "it has no plan".to_owned())
                        }),
                    Err(error) => Err(format!("{error:#}")),
                };
                let file = read.as_ref().ok().map(|lock| file_key(&lock.text));
                let version = version(source, file, footprint);
                versions.entry(image.clone()).or_default().push(version);
            }
        }
        Ok(Ok((title, history, versions)))
    }

    /// Versions of packages of the lock.
    fn with_packages(&self) -> anyhow::Result<(String, History, Versions)> {
        let roots = self.package_roots()?;
        let folder = match (&self.input.context, self.input.file.parent()) {
            (Some(context), _) => context.clone(),
            (None, parent) => parent.map(PathBuf::from).unwrap_or_default(),
        };
        let (title, history) = match &self.locks {
            Some(locks) => (
                locks.display().to_string(),
                History::of_folder(locks, None, self.max_count)?,
            ),
            None => (
                self.roots.lock.clone(),
                History::of_git(&folder, &self.roots.lock, self.max_count)?,
            ),
        };
        let (major, minor) = self.roots.python;
        let target = Target {
            platform: self.input.platform.clone(),
            python: PythonVersion::new(major, minor),
            glibc: self.roots.glibc,
        };
        let settings = Layers {
            threshold: DEFAULT_THRESHOLD,
            buckets: DEFAULT_BUCKETS,
            max: DEFAULT_MAX_LAYERS,
            max_size: DEFAULT_MAX_LAYER_SIZE,
        };
        let mut versions = Versions::new();
        for source in &history.versions {
            let read: anyhow::Result<(Arc<SourceFile>, Lock)> = source.read().and_then(|file| {
                let file = file.ok_or_else(missing)?;
                let (lock, _) = Lock::parse(&file).map_err(|errors| first(&errors))?;
                Ok((file, lock))
            });
            for (name, roots) in &roots {
                let (file, footprint) = match &read {
                    Ok((file, lock)) => (
                        Some(file_key(&file.text)),
                        footprint(lock, roots, &target, &settings),
                    ),
                    Err(error) => (None, Err(format!("{error:#}"))),
                };
                let version = version(source, file, footprint);
                versions.entry(name.clone()).or_default().push(version);
            }
        }
        Ok((title, history, versions))
    }

    /// What is asked of the lock for each package.
    fn package_roots(&self) -> anyhow::Result<BTreeMap<String, Roots>> {
        let normal = |what: &str, names: &[String]| -> anyhow::Result<BTreeSet<String>> {
            names
                .iter()
                .map(|name| lock::normalise(name).ok_or_else(|| anyhow!("`{name}` is no name of {what}")))
                .collect()
        };
        let extras = normal("an extra", &self.roots.extra)?;
        let groups = normal("a group", &self.roots.group)?;
        let mut roots = BTreeMap::new();
        for package in &self.roots.package {
            if package == "*" {
                let all = Roots {
                    everything: true,
                    extras: extras.clone(),
                    groups: groups.clone(),
                    ..Roots::default()
                };
                roots.insert(package.clone(), all);
                continue;
            }
            let (name, own) = match package.split_once('[') {
                None => (package.as_str(), Vec::new()),
                Some((name, rest)) => {
                    let Some(inner) = rest.strip_suffix(']') else {
                        bail!("`{package}` has no closing bracket");
                    };
                    (
                        name,
                        inner.split(',').map(|extra| extra.trim().to_owned()).collect(),
                    )
                }
            };
            let name: PackageName = name.trim().parse()?;
            let root = Root {
                name,
                extras: normal("an extra", &own)?,
            };
            roots.insert(
                package.clone(),
                Roots {
                    packages: vec![root],
                    extras: extras.clone(),
                    groups: groups.clone(),
                    ..Roots::default()
                },
            );
        }
        Ok(roots)
    }
}

fn version(source: &Source, file: Option<Key>, footprint: Result<Footprint, String>) -> Version {
    Version {
        name: source.name.clone(),
        date: source.date.clone(),
        subject: source.subject.clone(),
        file,
        footprint,
    }
}

fn footprint(lock: &Lock, roots: &Roots, target: &Target, settings: &Layers) -> Result<Footprint, String> {
    match lock.subset(roots, target) {
        Ok(subset) => Ok(Footprint::of_subset(&subset, settings)),
        Err(errors) => Err(errors.first().map(ToString::to_string).unwrap_or_default()),
    }
}

fn missing() -> anyhow::Error {
    anyhow!("the commit took the lock away")
}

/// The first of some errors, in one line.
fn first(errors: &[Diagnostic]) -> anyhow::Error {
    let more = errors.len().saturating_sub(1);
    let text = errors.first().map(Diagnostic::one_line).unwrap_or_default();
    if more == 0 {
        anyhow!(text)
    } else {
        anyhow!("{text} (and {more} more)")
    }
}

/// Two numbers with a point between.
fn pair(text: &str) -> Result<(u32, u32), String> {
    let numbers = text
        .split_once('.')
        .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    numbers.ok_or_else(|| format!("`{text}` is not two numbers with a point between, such as 3.12"))
}
