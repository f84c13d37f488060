//! Spec, lock, platform and resolved images in; [`Plan`] out.

use std::collections::{BTreeMap, BTreeSet};

use super::key::{Input, Key, key, sha256};
use super::model::{
    Download, ImageSource, Install, Package, Plan, PythonSource, Root, Stage, StageId, Supply, System, Work,
};
use super::{Request, StandIn, layers, steps};
use crate::diagnostic::{Diagnostic, Location};
use crate::lock::{Indexes, PythonVersion, Target};
use crate::rules::table_named;
use crate::spec::{OsFamily, Provider, Spec, Tier, Uv};

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
        let base = self.python_root(Side::Image);
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

    /// A published image, or what stands in for it, for the platform of the image that is built.
    pub(super) fn published(&mut self, name: &str, reference: &str, location: Location) -> StageId {
        self.published_for(Side::Image, name, reference, location)
    }

    fn published_for(&mut self, side: Side, name: &str, reference: &str, location: Location) -> StageId {
        let stand_in = self.request.stand_ins.images.get(reference);
        self.image_stage(
            side,
            self.kind_of_image(side),
            name,
            reference,
            stand_in,
            location,
        )
    }

    fn image_stage(
        &mut self,
        side: Side,
        kind: &str,
        name: &str,
        reference: &str,
        stand_in: Option<&StandIn>,
        location: Location,
    ) -> StageId {
        let builder = self.request.builder.filter(|_| side == Side::Builder);
        let resolved = builder.map_or(self.request.resolved, |builder| builder.resolved);
        let (reference, context, digest, config) = match stand_in {
            // A filesystem that was given is of the image's platform. What only runs steps can be the usual one.
            Some(StandIn::Context { name, digest, config }) if builder.is_none() => {
                (reference, Some(name.clone()), digest.clone(), config.clone())
            }
            other => {
                let reference = match other {
                    Some(StandIn::Image(other)) => other.as_str(),
                    _ => reference,
                };
                let resolved = resolved.get(reference);
                let digest = resolved.and_then(|resolved| resolved.digest.clone());
                let config = resolved.map(|resolved| resolved.config.clone());
                (reference, None, digest, config)
            }
        };
        let env = config.as_ref().map(config_env).unwrap_or_default();
        // The digest alone counts: neither the tag nor the host that it was asked from.
        let input = match (&digest, &context) {
            (Some(digest), _) => Input::new("digest", digest),
            (None, Some(context)) => Input::new("content", named_context(context)),
            (None, None) => Input::new("digest", format!("unresolved {reference}")),
        };
        let source = ImageSource {
            reference: reference.to_owned(),
            platform: builder.map(|builder| builder.platform.clone()),
            context,
            digest,
            env,
            config,
        };
        self.stage(kind, name, Work::Image(source), vec![input], Some(location))
    }

    /// The name of something that is there for the image and for the builder.
    fn name_for(&self, side: Side, name: &str) -> String {
        match (side, self.request.builder) {
            (Side::Builder, Some(builder)) => format!("{name} for {}", builder.platform),
            _ => name.to_owned(),
        }
    }

    /// One digest is of an image for every platform: it takes another word to tell the two apart.
    fn kind_of_image(&self, side: Side) -> &'static str {
        match (side, self.request.builder) {
            (Side::Builder, Some(_)) => "image for the builder",
            _ => "image",
        }
    }

    /// A tier as published.
    fn tier(&mut self, side: Side, tier: Tier) -> StageId {
        let reference = &self.spec.gpu.tiers[&tier];
        let location = self.spec.locate(reference);
        let stand_in = self.request.stand_ins.tier(tier, reference.get_ref());
        let name = self.name_for(side, &format!("tier {}", tier.as_str()));
        let kind = self.kind_of_image(side);
        self.image_stage(side, kind, &name, reference.get_ref(), stand_in, location)
    }

    /// Where the file says which system packages compiles need, when it does.
    pub(super) fn system_table(&self) -> Option<Location> {
        if self.spec.system.devel.is_empty() {
            return None;
        }
        table_named(&self.spec.file, "system")
    }

    /// A tier with the interpreter, packages and user of `extra`; the tier itself when nothing has to be added.
    pub(super) fn system(&mut self, tier: Tier, extra: SystemRequest<'_>) -> StageId {
        self.system_for(Side::Image, tier, extra)
    }

    fn system_for(&mut self, side: Side, tier: Tier, extra: SystemRequest<'_>) -> StageId {
        let on = self.tier(side, tier);
        let python = matches!(self.spec.python.provider, Provider::System).then(|| python_name(self.spec));
        if python.is_none() && extra.packages.is_empty() && extra.user.is_none() {
            return on;
        }
        let family = match self.spec.gpu.os.as_ref().map(|os| os.get_ref().family) {
            Some(OsFamily::RedHat) => "redhat",
            Some(OsFamily::Debian) | None => "debian",
        };
        let system = System {
            on,
            family,
            packages: extra.packages,
            headers: extra.headers && python.is_some(),
            python,
            user: extra.user.map(str::to_owned),
        };
        let mut inputs = vec![self.parent(on), Input::new("step", sha256(&steps::system()))];
        inputs.extend(
            system
                .packages
                .iter()
                .map(|package| Input::new("package", package)),
        );
        inputs.extend(
            system
                .python
                .iter()
                .map(|python| Input::new("interpreter", python)),
        );
        if system.headers {
            inputs.push(Input::new("headers", "yes"));
        }
        inputs.extend(system.user.iter().map(|user| Input::new("user", user)));
        let location = extra.location.or_else(|| self.stages[on.0].location.clone());
        let name = self.name_for(side, &format!("system {}", tier.as_str()));
        self.stage("system", &name, Work::System(system), inputs, location)
    }

    /// The smallest tier with an interpreter: what package layers are rooted in, so that the packages of the
    /// operating system of an image's own tier touch no Python layer.
    fn python_root(&mut self, side: Side) -> Root {
        let tier = python_tier(self.spec);
        let base = self.system_for(side, tier, SystemRequest::default());
        Root {
            base,
            trees: self.python_tree(side).into_iter().collect(),
        }
    }

    /// Where Python runs that only reads files.
    pub(super) fn reading_root(&mut self) -> Root {
        self.python_root(Side::Image)
    }

    /// Where a step runs that makes the same files on every platform: in the same layers, with an interpreter that the
    /// builder can run. What is built for is another matter, and where it is built changes no key of the plan.
    pub(super) fn run_on(&mut self, root: &Root) -> Root {
        if self.request.builder.is_none() {
            return root.clone();
        }
        let own = self.python_root(Side::Image).trees;
        let mut run_on = self.python_root(Side::Builder);
        run_on
            .trees
            .extend(root.trees.iter().filter(|id| !own.contains(id)));
        run_on
    }

    /// `/opt/python`, when the interpreter is not the operating system's.
    fn python_tree(&mut self, side: Side) -> Option<StageId> {
        let location = self.spec.locate(&self.spec.python.version);
        let request = self.request;
        let platform = match (side, request.builder) {
            (Side::Builder, Some(builder)) => builder.platform,
            _ => &request.platform,
        };
        match &self.spec.python.provider {
            Provider::System => None,
            Provider::Archive { archives } => {
                let Some(archive) = archives.get(&platform.architecture) else {
                    let known: Vec<&str> = archives.keys().map(String::as_str).collect();
                    self.error(
                        Diagnostic::error(format!("there is no Python archive for {platform}"))
                            .at(location, format!("archives are given for: {}", known.join(", "))),
                    );
                    return None;
                };
                let download = download(archive.url.get_ref(), &archive.sha256);
                let location = self.spec.locate(&archive.url);
                let inputs = vec![Input::new("archive", format!("sha256:{}", download.sha256))];
                let work = Work::Python(PythonSource::Archive(download));
                let name = self.name_for(side, "python");
                Some(self.stage("python", &name, work, inputs, Some(location)))
            }
            Provider::Image { reference, path } => {
                let location = self.spec.locate(reference);
                let name = self.name_for(side, "python image");
                let image = self.published_for(side, &name, reference.get_ref(), location.clone());
                let inputs = vec![self.parent(image), Input::new("path", path)];
                let work = Work::Python(PythonSource::Image {
                    image,
                    path: path.clone(),
                });
                let name = self.name_for(side, "python");
                Some(self.stage("python", &name, work, inputs, Some(location)))
            }
        }
    }

    fn uv(&mut self, python: &Root) -> StageId {
        match &self.spec.uv {
            Uv::Image { reference } => {
                let location = self.spec.locate(reference);
                // It is the same uv for a key, whatever machine it runs on.
                let stand_in = self.request.stand_ins.images.get(reference.get_ref());
                self.image_stage(
                    Side::Builder,
                    "image",
                    "uv",
                    reference.get_ref(),
                    stand_in,
                    location,
                )
            }
            Uv::Wheel(wheel) => {
                let location = self.spec.locate(&wheel.url);
                let wheel = download(wheel.url.get_ref(), &wheel.sha256);
                self.unpack("uv", python, wheel, location)
            }
        }
    }

    /// The folder with one program out of a file.
    pub(super) fn unpack(
        &mut self,
        program: &'static str,
        python: &Root,
        file: Download,
        location: Location,
    ) -> StageId {
        let mut inputs = self.root_inputs(python);
        inputs.push(Input::new("file", format!("sha256:{}", file.sha256)));
        inputs.push(Input::new("step", sha256(&steps::unpack())));
        let work = Work::Unpack {
            root: self.run_on(python),
            file,
            program,
        };
        self.stage(program, program, work, inputs, Some(location))
    }

    /// The Python tier with the empty environment laid upon it.
    pub(super) fn venv_root(&mut self, uv: StageId) -> Root {
        let mut root = self.python_root(Side::Image);
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

/// Whose platform a filesystem is of. There is no difference unless the request has a builder of another platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// That of the image.
    Image,
    /// That of the machine that builds.
    Builder,
}

/// What a tier needs beside what it has.
#[derive(Debug, Default)]
pub(super) struct SystemRequest<'a> {
    pub(super) packages: BTreeSet<String>,
    pub(super) headers: bool,
    pub(super) user: Option<&'a str>,
    /// What asked for it, when it is not the tier alone.
    pub(super) location: Option<Location>,
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
