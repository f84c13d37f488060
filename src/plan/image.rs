//! One image: which packages, wheels and files it holds, in which order, and its config.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::ground::SystemRequest;
use super::key::{Input, sha256};
use super::model::{CopyTree, Forbidden, ImagePlan, Needed, Plan, Root, StageId, Work};
use super::packages::{self, Sorted};
use super::planner::Planner;
use super::{source, steps};
use crate::diagnostic::Location;
use crate::lock::Roots;
use crate::spec::{Image, Spanned};

/// What lines of the history that Wheelbase has made say in `comment`.
pub const HISTORY_COMMENT: &str = "wheelbase";

/// PATH of an image whose config has none, as Docker sets it.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

impl Planner<'_> {
    /// Plans one image; `None` when errors were found.
    pub(super) fn image(&mut self, image: &Image, uv: StageId) -> Option<ImagePlan> {
        let errors = self.errors.len();
        let location = self.spec.locate(&image.name);

        let (context, sorted) = self.resolve(image)?;
        let layers = self.package_layers(uv, sorted.packages, &location);
        let mut kernels = Vec::new();
        for name in &sorted.wheels {
            if let Some(stage) = self.compile(name, uv, &context) {
                kernels.push(self.install_wheels(uv, self.provided(name, stage)));
            }
        }
        for sdist in &sorted.sdists {
            let stage = self.sdist(sdist, uv, &location);
            kernels.push(self.install_wheels(uv, BTreeMap::from([(sdist.name.clone(), stage)])));
        }
        let mut projects = BTreeMap::new();
        for project in sorted.projects {
            if let Some(stage) = self.project(&project, uv, &location) {
                projects.insert(project.name, stage);
            }
        }
        if self.errors.len() > errors {
            return None;
        }

        let tier = *image.tier.get_ref();
        let named_user = image
            .user
            .as_ref()
            .map(|user| user.get_ref().as_str())
            .filter(|user| {
                let name = user.split(':').next().unwrap_or(user);
                name != "root" && !name.bytes().all(|byte| byte.is_ascii_digit())
            });
        let packages = self.spec.system.runtime.union(&image.system).cloned().collect();
        let base = self.system(
            tier,
            SystemRequest {
                packages,
                headers: false,
                user: named_user,
                location: Some(self.spec.locate(&image.name)),
            },
        );

        // Heavy and slow first: a node that pulls a changed layer unpacks all layers above it again.
        let mut trees: Vec<StageId> = self.venv_root(uv).trees;
        trees.extend(layers.iter().filter(|(_, bucket)| !bucket).map(|(id, _)| *id));
        trees.extend(&kernels);
        trees.extend(layers.iter().filter(|(_, bucket)| *bucket).map(|(id, _)| *id));
        let installed = trees.len();
        if !projects.is_empty() {
            trees.push(self.install_wheels(uv, projects));
        }
        for copy in &image.copy {
            let from = source::folder(copy.from.get_ref());
            let inputs = vec![
                self.parent(base),
                Input::new("content", format!("{from} of the build context")),
                Input::new("to", &copy.to),
            ];
            let name = format!("copy {from} to {}", copy.to);
            let work = Work::Copy(CopyTree {
                on: base,
                from,
                to: copy.to.clone(),
            });
            let location = self.spec.locate(&copy.from);
            trees.push(self.stage("copy", &name, work, inputs, Some(location)));
        }

        let forbid: Vec<Forbidden> = image
            .forbid
            .paths
            .iter()
            .map(|path| Forbidden {
                pattern: path.get_ref().clone(),
                location: self.spec.locate(path),
            })
            .collect();
        let lists = if forbid.is_empty() {
            Vec::new()
        } else {
            self.lists(base, &trees)
        };
        let needed = if forbid.is_empty() {
            Vec::new()
        } else {
            self.needed(&kernels, &location)
        };
        let config = self.config(image, base, &trees);
        let imports = self.imports(image, &sorted.wheels, base, &trees[..installed], &config);
        Some(ImagePlan {
            root: Root { base, trees },
            config,
            forbid,
            lists,
            needed,
            imports,
            location,
        })
    }

    /// What the image asks of the lock, and what that is made of.
    fn resolve(&mut self, image: &Image) -> Option<(Roots, Sorted)> {
        // A compiled wheel that the lock knows brings the dependencies that the lock gives it.
        let known = image
            .packages
            .iter()
            .filter(|package| self.check_known(package))
            .count();
        if known < image.packages.len() {
            return None;
        }
        let mut requirements = image.packages.clone();
        requirements.extend(
            image
                .wheels
                .iter()
                .flat_map(|wheel| {
                    let packages = self.spec.packages_of(wheel.get_ref());
                    packages.map(|package| Spanned::new(wheel.span(), package.to_owned()))
                })
                .filter(|package| self.in_lock(package.get_ref()))
                .map(|package| packages::as_requirement(&package)),
        );
        let mut context = packages::roots(
            &requirements,
            image.extras.iter().map(|extra| extra.get_ref().clone()),
            image.groups.iter().map(|group| group.get_ref().clone()),
        );
        context.everything = image.everything.is_some();
        let mut words = self.words(&requirements, &[&image.extras, &image.groups]);
        let everything = image.everything.iter();
        words.extend(everything.map(|star| ("*".to_owned(), self.spec.locate(star))));
        let mut sorted = self.sorted(&context, None, &words)?;
        sorted
            .wheels
            .extend(image.wheels.iter().map(|wheel| wheel.get_ref().clone()));
        Some((context, sorted))
    }

    /// Stages whose file lists make up an image: what installs lists itself, the rest is listed by a stage.
    fn lists(&mut self, base: StageId, trees: &[StageId]) -> Vec<StageId> {
        std::iter::once(base)
            .chain(trees.iter().copied())
            .map(|id| match self.stages[id.0].work {
                Work::Venv { .. } | Work::Install(_) | Work::InstallWheels { .. } => id,
                _ => {
                    let root = self.python_root();
                    let mut inputs = self.root_inputs(&root);
                    inputs.push(self.parent(id));
                    inputs.push(Input::new("step", sha256(&steps::list())));
                    let name = format!("files of {}", self.stages[id.0].name);
                    let location = self.stages[id.0].location.clone();
                    let root = self.run_on(&root);
                    self.stage("list", &name, Work::List { root, of: id }, inputs, location)
                }
            })
            .collect()
    }

    /// What the wheels of some layers need of the image.
    fn needed(&mut self, layers: &[StageId], image: &Location) -> Vec<Needed> {
        let mut found: BTreeMap<StageId, Vec<String>> = BTreeMap::new();
        for layer in layers {
            if let Work::InstallWheels { wheels, .. } = &self.stages[layer.0].work {
                for (package, stage) in wheels {
                    found.entry(*stage).or_default().push(package.clone());
                }
            }
        }
        let list = |planner: &mut Self, (of, packages): (StageId, Vec<String>)| {
            let root = planner.python_root();
            let mut inputs = planner.root_inputs(&root);
            inputs.push(planner.parent(of));
            inputs.extend(packages.iter().map(|package| Input::new("wheel of", package)));
            inputs.push(Input::new("step", sha256(&steps::needed())));
            let stage = &planner.stages[of.0];
            let (name, location) = (format!("libraries of {}", stage.name), stage.location.clone());
            let declared = packages.iter().find_map(|package| planner.spec.wheel_of(package));
            let wheel = declared
                .or(packages.first().map(String::as_str))
                .unwrap_or_default();
            let may_lack = planner.spec.wheels.get(wheel).map(|wheel| wheel.may_lack.clone());
            let archs = match &stage.work {
                Work::Compile(_) => super::architectures::nvidia(planner.spec, wheel),
                _ => Vec::new(),
            };
            let wheel = wheel.to_owned();
            let root = planner.run_on(&root);
            let work = Work::ListNeeded { root, of, packages };
            Needed {
                list: planner.stage("list needed", &name, work, inputs, location.clone()),
                wheel,
                may_lack: may_lack.unwrap_or_default(),
                archs,
                target: planner.target(),
                location: location.unwrap_or_else(|| image.clone()),
            }
        };
        found.into_iter().map(|entry| list(self, entry)).collect()
    }

    /// The image config: the tier's, with what the spec says laid over it.
    fn config(&self, image: &Image, base: StageId, trees: &[StageId]) -> Value {
        let tier = match &self.stages[base.0].work {
            Work::System(system) => system.on,
            _ => base,
        };
        let (mut config, mut env) = match &self.stages[tier.0].work {
            Work::Image(source) => (
                source.config.clone().unwrap_or_else(|| json!({})),
                source.env.clone(),
            ),
            _ => (json!({}), BTreeMap::new()),
        };
        if !config.is_object() {
            config = json!({});
        }
        let platform = &self.request.platform;
        config["architecture"] = json!(platform.architecture);
        config["os"] = json!(platform.os);
        if !platform.variant.is_empty() {
            config["variant"] = json!(platform.variant);
        }

        let path = env.get("PATH").map_or(DEFAULT_PATH, String::as_str);
        env.insert("PATH".into(), format!("/opt/venv/bin:{path}"));
        env.insert("VIRTUAL_ENV".into(), "/opt/venv".into());
        env.extend(image.env.clone());

        let mut inner = match config["config"].take() {
            Value::Object(inner) => inner,
            _ => Map::new(),
        };
        let env: Vec<String> = env
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        inner.insert("Env".into(), json!(env));
        if let Some(user) = &image.user {
            inner.insert("User".into(), json!(user.get_ref()));
        }
        if let Some(workdir) = &image.workdir {
            inner.insert("WorkingDir".into(), json!(workdir));
        }
        if let Some(entrypoint) = &image.entrypoint {
            inner.insert("Entrypoint".into(), json!(entrypoint));
            // As in a Dockerfile: arguments meant for another entrypoint are not kept.
            inner.remove("Cmd");
        }
        if let Some(cmd) = &image.cmd {
            inner.insert("Cmd".into(), json!(cmd));
        }
        extend(
            &mut inner,
            "Labels",
            image
                .labels
                .iter()
                .map(|(name, value)| (name.clone(), json!(value))),
        );
        extend(
            &mut inner,
            "ExposedPorts",
            image.ports.iter().map(|port| (port.clone(), json!({}))),
        );
        // A tier's ONBUILD triggers are for Dockerfiles that build on it.
        inner.remove("OnBuild");
        config["config"] = Value::Object(inner);

        let mut history = config["history"].as_array().cloned().unwrap_or_default();
        if base != tier {
            history.push(self.history(base));
        }
        history.extend(trees.iter().map(|id| self.history(*id)));
        config["history"] = json!(history);
        if let Value::Object(config) = &mut config {
            config.remove("rootfs");
            // The tier's time of creation is not this image's; without SOURCE_DATE_EPOCH it has none.
            config.remove("created");
        }
        config
    }

    fn history(&self, id: StageId) -> Value {
        json!({ "created_by": format!("wheelbase: {}", self.stages[id.0].name), "comment": HISTORY_COMMENT })
    }
}

/// The config of the tier that an image of a plan stands on, where the registry has given it.
pub fn tier_config<'p>(plan: &'p Plan, image: &str) -> Option<&'p Value> {
    let tier = plan.tier(plan.images.get(image)?.root.base)?;
    match &plan.stage(tier).work {
        Work::Image(source) => source.config.as_ref().filter(|config| config.is_object()),
        _ => None,
    }
}

/// Adds entries to an object of the config, which may be missing or null.
fn extend(config: &mut Map<String, Value>, key: &str, entries: impl Iterator<Item = (String, Value)>) {
    let mut object = match config.remove(key) {
        Some(Value::Object(object)) => object,
        _ => Map::new(),
    };
    object.extend(entries);
    if !object.is_empty() {
        config.insert(key.into(), Value::Object(object));
    }
}
