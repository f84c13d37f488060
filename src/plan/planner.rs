//! Spec, lock, platform and resolved images in; [`Plan`] out.

use std::collections::{BTreeMap, BTreeSet};

use super::key::{Input, Key, key, sha256};
use super::model::{Download, Install, Package, Plan, Root, Stage, StageId, Supply, Work};
use super::{Request, layers, steps};
use crate::diagnostic::{Diagnostic, Location};
use crate::lock::{Indexes, PythonVersion, Target};
use crate::spec::{Provider, Spec, Tier};

/// glibc assumed of tiers that the spec says no operating system for: the floor of current torch wheels.
const DEFAULT_GLIBC: (u32, u32) = (2, 28);

/// Collects stages; the same stage asked for twice is one stage.
pub(super) struct Planner<'a> {
    pub(super) request: &'a Request<'a>,
    pub(super) spec: &'a Spec,
    pub(super) stages: Vec<Stage>,
    by_key: BTreeMap<Key, StageId>,
    names: BTreeSet<String>,
    pub(super) errors: Vec<Diagnostic>,
}

impl<'a> Planner<'a> {
    pub(super) fn new(request: &'a Request<'a>) -> Self {
        Self {
            request,
            spec: request.spec,
            stages: Vec::new(),
            by_key: BTreeMap::new(),
            names: BTreeSet::new(),
            errors: Vec::new(),
        }
    }

    /// Plans every image of the request.
    pub(super) fn plan(mut self) -> Result<Plan, Vec<Diagnostic>> {
        let base = self.python_root();
        let uv = self.uv(&base);
        let mut images = BTreeMap::new();
        for name in self.request.images {
            match self.spec.images.get(name) {
                Some(image) => {
                    if let Some(plan) = self.image(image, uv) {
                        images.insert(name.clone(), plan);
                    }
                }
                None => self.errors.push(self.unknown_image(name)),
            }
        }
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        let mut plan = Plan {
            name: self.spec.name.get_ref().clone(),
            platform: self.request.platform.clone(),
            builder: self.request.builder.map(|builder| builder.platform.clone()),
            interpreter: interpreter(self.spec),
            stages: self.stages,
            uv,
            overrides: self
                .request
                .lock
                .map(|lock| lock.overrides().clone())
                .unwrap_or_default(),
            images,
        };
        super::compact::label(&mut plan);
        Ok(plan)
    }

    fn unknown_image(&self, name: &str) -> Diagnostic {
        let known: Vec<&str> = self.spec.images.keys().map(String::as_str).collect();
        let help = match crate::diagnostic::nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the images of {} are: {}", self.spec.file.name, known.join(", ")),
        };
        Diagnostic::error(format!("no image is called `{name}`")).help(help)
    }

    /// What markers and wheel tags are evaluated for.
    pub(super) fn target(&self) -> Target {
        let glibc = self
            .spec
            .gpu
            .os
            .as_ref()
            .map_or(DEFAULT_GLIBC, |os| os.get_ref().glibc);
        let (major, minor) = *self.spec.python.version.get_ref();
        Target {
            platform: self.request.platform.clone(),
            python: PythonVersion::new(major, minor),
            glibc,
        }
    }

    /// Adds a stage, or finds the one with the same key.
    pub(super) fn stage(
        &mut self,
        kind: &str,
        name: &str,
        work: Work,
        inputs: Vec<Input>,
        location: Option<Location>,
    ) -> StageId {
        let key = key(kind, &inputs);
        if let Some(id) = self.by_key.get(&key) {
            return *id;
        }
        let mut unique = name.to_owned();
        let mut count = 1;
        while !self.names.insert(unique.clone()) {
            count += 1;
            unique = format!("{name} #{count}");
        }
        let id = StageId(self.stages.len());
        self.stages.push(Stage {
            name: unique,
            work,
            inputs,
            key: key.clone(),
            location,
        });
        self.by_key.insert(key, id);
        id
    }

    /// A stage that another one stands on, as an input of its key.
    pub(super) fn parent(&self, id: StageId) -> Input {
        let stage = &self.stages[id.0];
        Input::new(stage.name.clone(), stage.key.as_str())
    }

    /// All stages of a root, as inputs.
    pub(super) fn root_inputs(&self, root: &Root) -> Vec<Input> {
        std::iter::once(root.base)
            .chain(root.trees.iter().copied())
            .map(|id| self.parent(id))
            .collect()
    }

    /// The Python tier with the empty environment laid upon it.
    pub(super) fn venv_root(&mut self, uv: StageId) -> Root {
        let mut root = self.python_root();
        let mut inputs = self.root_inputs(&root);
        inputs.push(self.parent(uv));
        inputs.push(Input::new("interpreter", interpreter(self.spec)));
        inputs.push(Input::new("step", sha256(&(steps::venv() + &steps::settle()))));
        let location = Some(self.spec.locate(&self.spec.python.version));
        let work = Work::Venv {
            root: self.run_on(&root),
        };
        let venv = self.stage("venv", "venv", work, inputs, location);
        root.trees.push(venv);
        root
    }

    /// Layers for a set of packages, heavy ones first. The flag says whether a layer is a bucket.
    pub(super) fn package_layers(
        &mut self,
        uv: StageId,
        packages: Vec<Wanted>,
        location: &Location,
    ) -> Vec<(StageId, bool)> {
        let root = self.venv_root(uv);
        let run_on = self.run_on(&root);
        let mut by_source: BTreeMap<Option<Indexes>, Vec<Wanted>> = BTreeMap::new();
        let most = packages.len();
        for wanted in packages {
            let of_source = by_source.entry(wanted.index.clone());
            of_source.or_insert_with(|| Vec::with_capacity(most)).push(wanted);
        }
        let mut stages = Vec::new();
        for (index, packages) in by_source {
            for group in layers::group(packages, &self.spec.layers) {
                let supply = index.clone().map_or(Supply::Files, Supply::Index);
                let step = match &supply {
                    Supply::Files => steps::install(),
                    Supply::Index(_) => steps::index(),
                };
                let mut inputs = self.root_inputs(&root);
                inputs.push(self.parent(uv));
                inputs.push(Input::new("step", sha256(&(step + &steps::settle()))));
                if let Supply::Index(indexes) = &supply {
                    let main = indexes.main.as_deref().unwrap_or("the default one");
                    inputs.push(Input::new("index", main));
                    inputs.extend(indexes.others.iter().map(|url| Input::new("extra index", url)));
                    inputs.extend(indexes.pages.iter().map(|url| Input::new("page of links", url)));
                }
                inputs.reserve(group.packages.len());
                let mut packages = Vec::with_capacity(group.packages.len());
                for Wanted { package, because, .. } in group.packages {
                    let Package { version, hashes, .. } = &package;
                    let value = format!("{version} {}", hashes.join(" "));
                    inputs.push(Input::new(&package.name, value).because(because));
                    packages.push(package);
                }
                let install = Install {
                    root: run_on.clone(),
                    packages,
                    supply,
                };
                let name = format!("layer {}", group.name);
                let id = self.stage(
                    "install",
                    &name,
                    Work::Install(install),
                    inputs,
                    Some(location.clone()),
                );
                stages.push((id, group.bucket));
            }
        }
        // Indexes are told apart before sizes are; the order of layers is by size again.
        stages.sort_by_key(|(_, bucket)| *bucket);
        stages
    }
}

/// A package with the reason why it is wanted and where it has to come from.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) package: Package,
    pub(super) because: String,
    /// `None`: its own URL.
    pub(super) index: Option<Indexes>,
    /// Whether its wheel is Python code alone, as far as its name is known.
    pub(super) pure: bool,
}

impl layers::Weighed for Wanted {
    fn name(&self) -> &str {
        &self.package.name
    }

    fn size(&self) -> Option<u64> {
        self.package.size
    }

    fn pure(&self) -> bool {
        self.pure
    }
}

/// A named context in the words of a key.
pub(super) fn named_context(name: &str) -> String {
    format!("the named context {name}")
}

/// `python3.12`.
pub(super) fn python_name(spec: &Spec) -> String {
    let (major, minor) = spec.python.version.get_ref();
    format!("python{major}.{minor}")
}

/// The one path of the interpreter.
pub(super) fn interpreter(spec: &Spec) -> String {
    match spec.python.provider {
        Provider::System => format!("/usr/bin/{}", python_name(spec)),
        Provider::Archive { .. } | Provider::Image { .. } => format!("/opt/python/bin/{}", python_name(spec)),
    }
}

/// The smallest tier that the spec has.
pub(super) fn python_tier(spec: &Spec) -> Tier {
    Tier::ALL
        .into_iter()
        .find(|tier| spec.gpu.tiers.contains_key(tier))
        .unwrap_or(Tier::Base)
}

/// A download whose file name is the last part of its URL.
pub(super) fn download(url: &str, sha256: &str) -> Download {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let filename = path
        .rsplit('/')
        .next()
        .filter(|name| !name.is_empty())
        .unwrap_or("download");
    Download {
        url: url.to_owned(),
        sha256: sha256.to_owned(),
        filename: filename.replace("%2B", "+"),
    }
}

/// `config.Env` of an image config.
pub(super) fn config_env(config: &serde_json::Value) -> BTreeMap<String, String> {
    config["config"]["Env"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.as_str()?.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_download_is_named_by_its_url() {
        assert_eq!(
            download("https://index.example/a/torch-2.8.0%2Bcu128.whl#x", "00").filename,
            "torch-2.8.0+cu128.whl"
        );
    }
}
