//! Wheels that are built: kernel wheels over the devel tier, and folders of the build context.

use std::collections::{BTreeMap, BTreeSet};

use super::ground::SystemRequest;
use super::key::{Input, key, sha256};
use super::model::{CacheTool, Compile, KeptBuild, Pace, Project, Source, StageId, Work};
use super::packages::{self, Built, ProjectRef, SdistRef};
use super::planner::Planner;
use super::source::{display, exclude_inputs, junk, source_inputs};
use super::{steps, toolkit};
use crate::diagnostic::{Diagnostic, Location};
use crate::lock::{Lock, Roots};
use crate::spec::{Requirement, Spanned, Tier, Vendor, Wheel, WheelSource};

impl Planner<'_> {
    /// The stage that compiles `[wheels.NAME]` in the resolution of `context`; `None` when errors were found.
    pub(super) fn compile(&mut self, name: &str, uv: StageId, context: &Roots) -> Option<StageId> {
        let wheel = self.spec.wheels.get(name)?;
        if !wheel.is_compiled() {
            return self.ready(name, wheel);
        }
        let (source, folder) = self.source(wheel)?;
        let mut root = self.venv_root(uv);
        let needs = self.needs(wheel, uv, context)?;

        let cache = self.compiler_cache(wheel);
        let mut packages = self.spec.system.devel.clone();
        if cache
            .as_ref()
            .is_some_and(|cache| cache.tool == CacheTool::Ccache)
        {
            packages.insert("ccache".to_owned());
        }
        root.base = self.system(
            Tier::Devel,
            SystemRequest {
                packages,
                headers: true,
                user: None,
                location: self.system_table(),
            },
        );
        root.trees.extend(needs);

        let mut env = super::architectures::environment(self.spec, wheel);
        env.extend(wheel.env.clone());
        let mut inputs = self.root_inputs(&root);
        inputs.push(self.parent(uv));
        inputs.extend(source.stage().map(|id| self.parent(id)));
        inputs.extend(source_inputs(&source));
        inputs.extend(exclude_inputs(&source));
        if !folder.is_empty() {
            inputs.push(Input::new("folder", &folder));
        }
        inputs.extend(
            env.iter()
                .map(|(name, value)| Input::new(format!("env {name}"), value)),
        );
        inputs.extend(wheel.command.iter().map(|command| Input::new("command", command)));
        inputs.extend(cache.iter().flat_map(|cache| self.cache_inputs(cache)));
        let vendor = self.spec.gpu.vendor;
        if vendor == Some(Vendor::Amd) {
            // Other folders are named in the environment than for CUDA, which is meant where nothing is said.
            inputs.push(Input::new("toolkit", Vendor::Amd.toolkit()));
        }
        if wheel.network {
            inputs.push(Input::new("network", "yes"));
        }
        let backend_index = wheel.isolation.then(|| self.main_index());
        if let Some(index) = &backend_index {
            inputs.push(Input::new("build backend", format!("from {index}")));
            inputs.push(Input::new("build", sha256(&steps::isolated())));
        }
        let kept = wheel
            .keep_build
            .as_ref()
            .map(|folder| self.kept(name, folder, &source, &inputs));
        inputs.extend(kept.iter().map(|kept| Input::new("kept build", &kept.folder)));
        inputs.push(Input::new(
            "step",
            sha256(&(steps::compile() + &steps::run() + &steps::count())),
        ));
        let compile = Compile {
            name: name.to_owned(),
            root,
            source,
            folder,
            command: wheel.command.clone(),
            vendor,
            env,
            cache,
            kept,
            pace: self.pace(wheel),
            network: wheel.network,
            backend_index,
        };
        let location = self.spec.locate(&wheel.name);
        Some(self.stage(
            "compile",
            &format!("wheel {name}"),
            Work::Compile(compile),
            inputs,
            Some(location),
        ))
    }

    /// The folder of a build that is kept. What was made with other packages, variables or compilers is another one's.
    fn kept(&self, wheel: &str, folder: &str, source: &Source, inputs: &[Input]) -> KeptBuild {
        let mut of_source = source_inputs(source);
        of_source.extend(source.stage().map(|id| self.parent(id)));
        let others: Vec<Input> = inputs
            .iter()
            .filter(|input| !of_source.contains(input))
            .cloned()
            .collect();
        let platform = self.request.platform.to_string().replace('/', "-");
        let digest = key("kept build", &others);
        KeptBuild {
            folder: folder.to_owned(),
            id: format!("wheelbase-kept-{platform}-{wheel}-{}", digest.short()),
        }
    }

    /// What the compile of a wheel takes of the builder.
    fn pace(&self, wheel: &Wheel) -> Pace {
        let megabytes = wheel.job_memory.unwrap_or(0).div_ceil(1_000_000);
        Pace {
            slots: self.spec.slots.unwrap_or(0),
            jobs: wheel.jobs.unwrap_or(0),
            job_megabytes: u32::try_from(megabytes).unwrap_or(u32::MAX),
        }
    }

    /// Layers that must be there to build a wheel: packages of the lock, and other wheels.
    fn needs(&mut self, wheel: &Wheel, uv: StageId, context: &Roots) -> Option<Vec<StageId>> {
        let location = self.spec.locate(&wheel.name);
        let known = wheel.needs.iter().filter(|need| self.check_known(need)).count();
        if known < wheel.needs.len() {
            return None;
        }
        let locked: Vec<Spanned<Requirement>> = wheel
            .needs
            .iter()
            .filter(|need| self.in_lock(&need.get_ref().name))
            .cloned()
            .collect();
        let words = self.words(&wheel.needs, &[]);
        let roots = packages::roots(&locked, [], []);
        let mut sorted = self.sorted(&roots, Some(context), &words)?;
        let asked = words
            .iter()
            .find(|(word, _)| word == "torch")
            .map_or(&location, |(_, place)| place);
        if let Some(error) = toolkit::mismatch(self.spec, &sorted.packages, asked) {
            self.error(error);
            return None;
        }
        sorted.wheels.extend(
            wheel
                .needs
                .iter()
                .filter_map(|need| self.spec.wheel_of(&need.get_ref().name))
                .map(str::to_owned),
        );
        sorted.wheels.remove(wheel.name.get_ref());
        let mut trees: Vec<StageId> = self
            .package_layers(uv, sorted.packages, &location)
            .into_iter()
            .map(|(id, _)| id)
            .collect();
        let mut built = Built::new();
        for name in sorted.wheels {
            let stage = self.compile(&name, uv, context)?;
            built.extend(self.provided(&name, stage));
        }
        for sdist in &sorted.sdists {
            built.insert(sdist.name.clone(), self.sdist(sdist, uv, &location));
        }
        for project in sorted.projects {
            built.insert(project.name.clone(), self.project(&project, uv, &location)?);
        }
        if !built.is_empty() {
            trees.push(self.install_wheels(uv, built));
        }
        Some(trees)
    }

    /// The packages that a compiled wheel's stage has wheels of.
    pub(super) fn provided(&self, name: &str, stage: StageId) -> Built {
        let packages = self.spec.packages_of(name);
        packages.map(|package| (package.to_owned(), stage)).collect()
    }

    /// A layer of wheels that were built here.
    pub(super) fn install_wheels(&mut self, uv: StageId, wheels: Built) -> StageId {
        let root = self.venv_root(uv);
        let mut inputs = self.root_inputs(&root);
        inputs.push(self.parent(uv));
        let stages: BTreeSet<StageId> = wheels.values().copied().collect();
        if stages.len() == wheels.len() {
            inputs.extend(wheels.values().map(|id| self.parent(*id)));
        } else {
            // Stages do not say which of their wheels are meant.
            inputs.extend(stages.into_iter().map(|id| self.parent(id)));
            inputs.extend(wheels.keys().map(|package| Input::new("wheel of", package)));
        }
        inputs.push(Input::new("step", sha256(&(steps::install() + &steps::settle()))));
        let names: Vec<&str> = wheels.keys().map(String::as_str).collect();
        let name = format!("layer {}", names.join(" "));
        let location = wheels
            .values()
            .next()
            .and_then(|id| self.stages[id.0].location.clone());
        let root = self.run_on(&root);
        self.stage(
            "install wheels",
            &name,
            Work::InstallWheels { root, wheels },
            inputs,
            location,
        )
    }

    /// The wheel of a folder of the build context.
    pub(super) fn project(
        &mut self,
        project: &ProjectRef,
        uv: StageId,
        location: &Location,
    ) -> Option<StageId> {
        let path = self.beside_lock(&project.path);
        let mut root = self.venv_root(uv);
        let Some(file) = self.request.projects.get(&path) else {
            self.errors.push(
                Diagnostic::error(format!("`{}` has no pyproject.toml", display(&path)))
                    .at(
                        location.clone(),
                        format!("the lock says that `{}` is that folder", project.name),
                    )
                    .help("see that the folder is in the build context and that no .dockerignore hides it"),
            );
            return None;
        };

        // uv brings its own build backend along; any other one is taken from the lock when it is there, so that
        // it is pinned and needs no network.
        let native = file.backend.as_deref() == Some("uv_build");
        let in_lock = !native
            && file
                .build_requires
                .iter()
                .all(|(name, _)| self.in_lock(name.as_str()));
        let backend_index = (!native && (!in_lock || file.backend.is_none())).then(|| self.main_index());
        if in_lock && backend_index.is_none() {
            let requirements: Vec<Spanned<Requirement>> = file
                .build_requires
                .iter()
                .map(|(name, _)| {
                    let name = name.as_str().to_owned();
                    Spanned::new(
                        location.range.clone(),
                        Requirement {
                            name,
                            extras: [].into(),
                        },
                    )
                })
                .collect();
            let roots = packages::roots(&requirements, [], []);
            let words = self.words(&requirements, &[]);
            let sorted = self.sorted(&roots, None, &words)?;
            let layers = self.package_layers(uv, sorted.packages, location);
            root.trees.extend(layers.into_iter().map(|(id, _)| id));
        }

        let mut exclude = junk();
        if path == "." {
            // The root project of a workspace is everything except what is known to be something else.
            exclude.push(self.spec.file.name.clone());
            exclude.push(self.spec.python.lock.get_ref().clone());
            exclude.extend(
                self.request
                    .projects
                    .keys()
                    .filter(|other| *other != ".")
                    .cloned(),
            );
            exclude.extend(self.spec.wheels.values().filter_map(|wheel| match &wheel.source {
                WheelSource::Path { path, .. } | WheelSource::ReadyInContext(path)
                    if !path.get_ref().is_empty() =>
                {
                    Some(path.get_ref().clone())
                }
                _ => None,
            }));
            let patches = self.spec.wheels.values().flat_map(|wheel| &wheel.patches);
            exclude.extend(patches.map(|patch| patch.get_ref().clone()));
        }
        let source = Source::Context {
            context: None,
            path,
            include: Vec::new(),
            exclude,
        };
        let mut inputs = self.root_inputs(&root);
        inputs.push(self.parent(uv));
        inputs.extend(source_inputs(&source));
        if let Some(index) = &backend_index {
            inputs.push(Input::new("build backend", format!("from {index}")));
        }
        inputs.push(Input::new("step", sha256(&steps::project())));
        let name = format!("project {}", project.name);
        let work = Work::Project(Project {
            name: project.name.clone(),
            root: self.run_on(&root),
            source,
            backend_index,
        });
        Some(self.stage("project", &name, work, inputs, Some(location.clone())))
    }

    /// The wheel of a package that has none which fits. Nobody has said what it needs to be built, so its build
    /// backend comes from the index, and it is built where a compiler is if the spec has such a tier.
    pub(super) fn sdist(&mut self, sdist: &SdistRef, uv: StageId, location: &Location) -> StageId {
        let mut root = self.venv_root(uv);
        if self.spec.gpu.tiers.contains_key(&Tier::Devel) {
            let packages = self.spec.system.devel.clone();
            root.base = self.system(
                Tier::Devel,
                SystemRequest {
                    packages,
                    headers: true,
                    user: None,
                    location: self.system_table(),
                },
            );
        }
        let source = Source::Archive(sdist.archive.clone());
        let index = self.main_index();
        let mut inputs = self.root_inputs(&root);
        inputs.push(self.parent(uv));
        inputs.extend(
            source_inputs(&source)
                .into_iter()
                .map(|input| input.because(&sdist.because)),
        );
        inputs.push(Input::new("build backend", format!("from {index}")));
        inputs.push(Input::new("step", sha256(&steps::project())));
        let name = format!("wheel {}", sdist.name);
        let project = Project {
            name: sdist.name.clone(),
            root,
            source,
            backend_index: Some(index),
        };
        self.stage(
            "project",
            &name,
            Work::Project(project),
            inputs,
            Some(location.clone()),
        )
    }

    /// The index that most packages of the lock come from; empty when the lock has none.
    fn main_index(&self) -> String {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for package in self.request.lock.into_iter().flat_map(Lock::packages) {
            if let Some(url) = package.source().indexes().and_then(|indexes| indexes.main) {
                *counts.entry(url).or_default() += 1;
            }
        }
        let most = counts
            .into_iter()
            .max_by_key(|(url, count)| (*count, std::cmp::Reverse(url.clone())));
        most.map(|(url, _)| url).unwrap_or_default()
    }

    /// A path of the lock, which is relative to the lock's folder, relative to the build context.
    pub(super) fn beside_lock(&self, path: &str) -> String {
        super::beside(self.spec.python.lock.get_ref(), path)
    }
}
