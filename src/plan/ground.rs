//! What steps and images stand on: published images, tiers with what is added to them, the interpreter, and uv.

use std::collections::BTreeSet;

use super::key::{Input, sha256};
use super::model::{Download, ImageSource, PythonSource, Root, StageId, System, Work};
use super::planner::{Planner, config_env, download, named_context, python_name, python_tier};
use super::{StandIn, steps};
use crate::diagnostic::{Diagnostic, Location};
use crate::rules::table_named;
use crate::spec::{OsFamily, Provider, Tier, Uv};

impl Planner<'_> {
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
    pub(super) fn python_root(&mut self) -> Root {
        self.python_root_for(Side::Image)
    }

    fn python_root_for(&mut self, side: Side) -> Root {
        let tier = python_tier(self.spec);
        let base = self.system_for(side, tier, SystemRequest::default());
        Root {
            base,
            trees: self.python_tree(side).into_iter().collect(),
        }
    }

    /// Where a step runs that makes the same files on every platform: in the same layers, with an interpreter that the
    /// builder can run. What is built for is another matter, and where it is built changes no key of the plan.
    pub(super) fn run_on(&mut self, root: &Root) -> Root {
        if self.request.builder.is_none() {
            return root.clone();
        }
        let own = self.python_root_for(Side::Image).trees;
        let mut run_on = self.python_root_for(Side::Builder);
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

    pub(super) fn uv(&mut self, python: &Root) -> StageId {
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
