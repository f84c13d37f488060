//! What a builder of another platform cannot do for an image.
//!
//! Putting files in place is the same work everywhere, and runs on the builder's own platform. A compiler and a package
//! manager of the operating system have to run as what they are, and an emulator makes minutes into hours: it is never
//! chosen in silence.

use std::collections::BTreeSet;

use super::model::{ImagePlan, Plan, Project, Stage, StageId, System, Work};
use crate::diagnostic::Diagnostic;

/// The steps of an image that have to run on the image's platform, as errors at their places; none when the builder can run
/// it, see [`Plan::builder`]. Wheels that a store has are no such steps once they have been taken.
///
/// # Panics
///
/// When the plan has no image of this name.
pub fn foreign(plan: &Plan, image: &str) -> Vec<Diagnostic> {
    let ImagePlan {
        root,
        lists,
        needed,
        imports,
        ..
    } = &plan.images[image];
    let ends = std::iter::once(root.base)
        .chain(root.trees.iter().copied())
        .chain(lists.iter().copied())
        .chain(needed.iter().map(|needed| needed.list))
        .chain(imports.iter().map(|imports| imports.stage));
    foreign_below(plan, ends)
}

/// The same for one stage, such as that of a wheel.
pub fn foreign_stage(plan: &Plan, stage: StageId) -> Vec<Diagnostic> {
    foreign_below(plan, [stage])
}

fn foreign_below(plan: &Plan, ends: impl IntoIterator<Item = StageId>) -> Vec<Diagnostic> {
    let Some(builder) = &plan.builder else {
        return Vec::new();
    };
    let stages: BTreeSet<StageId> = ends.into_iter().flat_map(|end| plan.closure(end)).collect();
    // What a compile stands on is not worth a line of its own.
    let under: BTreeSet<StageId> = stages
        .iter()
        .filter(|id| matches!(plan.stage(**id).work, Work::Compile(_) | Work::Project(_)))
        .flat_map(|id| plan.stage(*id).work.stands_on(plan.uv))
        .collect();
    stages
        .into_iter()
        .filter_map(|id| {
            let stage = plan.stage(id);
            let (what, instead) = obstacle(plan, stage, under.contains(&id))?;
            let error = Diagnostic::error(format!("{what} for {} on a builder of {builder}", plan.platform));
            let error = match &stage.location {
                Some(location) => error.at(location.clone(), "it has to run on the image's platform"),
                None => error,
            };
            Some(error.help(format!(
                "{instead}, build with a node of that platform (docker buildx create --append --platform {}), or write \
                 emulate = true in [build] to have the builder's emulator run it",
                plan.platform
            )))
        })
        .collect()
}

/// What a stage would do, and what to write to do without it.
fn obstacle(plan: &Plan, stage: &Stage, is_under: bool) -> Option<(String, &'static str)> {
    let is_builders = |id: StageId| is_builders(plan, id);
    match &stage.work {
        Work::Compile(compile) => Some((
            format!("wheel `{}` would be compiled", compile.name),
            "take it from a wheel store that has it",
        )),
        Work::Import { .. } => Some(("modules would be imported".to_owned(), "leave `imports` out")),
        Work::Project(Project { name, root, .. }) if !is_builders(root.base) => Some((
            format!("the source distribution of `{name}` would be built"),
            "see that the lock has a wheel of it for that platform",
        )),
        Work::System(system) if !is_under && !is_builders(system.on) => Some(of_system(system)),
        _ => None,
    }
}

fn of_system(system: &System) -> (String, &'static str) {
    match (&system.python, system.packages.first(), &system.user) {
        (_, Some(package), _) => (
            format!("the operating system's package `{package}` would be installed"),
            "take a tier that has it",
        ),
        (Some(python), None, _) => (
            format!("{python} of the operating system would be installed"),
            "give Python as archives for each platform or as an image (`provider` in [python])",
        ),
        (None, None, user) => (
            format!("user `{}` would be made", user.as_deref().unwrap_or_default()),
            "write the user as a number",
        ),
    }
}

/// Whether a filesystem is of the builder's platform.
fn is_builders(plan: &Plan, base: StageId) -> bool {
    let tier = plan.tier(base).map(|tier| &plan.stage(tier).work);
    matches!(tier, Some(Work::Image(source)) if source.platform.is_some())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::diagnostic::SourceFile;
    use crate::lock::{Lock, Manifests};
    use crate::plan::{Builder, Request, plan, take_stored};
    use crate::platform::Platform;
    use crate::spec::Spec;

    const LOCK: &str = r#"version = 1
revision = 3
requires-python = ">=3.12"

[[package]]
name = "six"
version = "1.17.0"
source = { registry = "https://index.example/simple" }
wheels = [
    { url = "https://files.index.example/six-1.17.0-py2.py3-none-any.whl", hash = "sha256:01", size = 11050 },
]

[[package]]
name = "numpy"
version = "2.3.0"
source = { registry = "https://index.example/simple" }
wheels = [
    { url = "https://files.index.example/numpy-2.3.0-cp312-cp312-manylinux_2_28_aarch64.whl", hash = "sha256:02", size = 14000000 },
    { url = "https://files.index.example/numpy-2.3.0-cp312-cp312-manylinux_2_28_x86_64.whl", hash = "sha256:03", size = 16000000 },
]
"#;

    const HEAD: &str = "name = \"app\"\n[gpu]\nos = \"ubuntu22.04\"\narchs = [\"9.0\"]\ntiers.base = \"registry.example/base:1\"\n\
                        tiers.devel = \"registry.example/devel:1\"\n[compiler-cache]\nscope = \"a\"\n";

    fn planned(tables: &str, builder: Option<&Platform>) -> Plan {
        let mut text = format!("{HEAD}{tables}");
        if text.contains("provider = \"system\"") {
            // The one that has the version.
            text = text.replace("ubuntu22.04", "ubuntu24.04");
        }
        let (spec, _) = Spec::parse(&SourceFile::new("wheelbase.toml", text)).unwrap();
        let (lock, _) = Lock::parse(&SourceFile::new("uv.lock", LOCK)).unwrap();
        let resolved = BTreeMap::new();
        plan(&Request {
            spec: &spec,
            lock: Some(&lock),
            projects: &BTreeMap::new(),
            manifests: &Manifests::default(),
            platform: Platform::linux_arm64(),
            stand_ins: &crate::plan::StandIns::default(),
            builder: builder.map(|platform| Builder {
                platform,
                resolved: &resolved,
            }),
            resolved: &BTreeMap::new(),
            images: &spec.images.keys().cloned().collect(),
        })
        .unwrap()
    }

    const PYTHON: &str = "[python]\nversion = \"3.12\"\n";
    const IMAGE: &str = "[images.app]\ntier = \"base\"\npackages = [\"six\", \"numpy\"]\n";

    #[test]
    fn files_are_put_in_place_by_the_builder() {
        let tables = format!("{PYTHON}{IMAGE}forbid = {{ paths = [\"**/nvcc\"] }}\n");
        let plan = planned(&tables, Some(&Platform::linux_amd64()));
        assert!(foreign(&plan, "app").is_empty());
        for (_, stage) in plan.iter() {
            if let Work::Install(install) = &stage.work {
                assert!(is_builders(&plan, install.root.base));
                let wheels = install
                    .packages
                    .iter()
                    .filter_map(|package| package.wheel.as_ref());
                assert!(wheels.clone().all(|wheel| !wheel.filename.contains("x86_64")));
            }
        }
        assert!(!is_builders(&plan, plan.images["app"].root.base));
    }

    #[test]
    fn where_a_step_runs_is_in_no_key() {
        let wheel = "[wheels.kernel]\nsource = { path = \"kernel\" }\nneeds = [\"numpy\"]\n";
        let tables = format!("{PYTHON}{wheel}{IMAGE}wheels = [\"kernel\"]\n");
        let keys = |plan: &Plan| -> BTreeMap<String, String> {
            let own = plan
                .iter()
                .filter(|(_, stage)| !stage.name.contains("linux/amd64"));
            own.map(|(_, stage)| (stage.name.clone(), stage.key.to_string()))
                .collect()
        };
        let native = planned(&tables, None);
        let abroad = planned(&tables, Some(&Platform::linux_amd64()));
        assert!(foreign(&native, "app").is_empty());
        assert_eq!(keys(&native), keys(&abroad));
    }

    #[test]
    fn a_wheel_of_a_store_needs_no_compiler() {
        let wheel = "[wheels.kernel]\nsource = { path = \"kernel\" }\n";
        let tables = format!("{PYTHON}{wheel}{IMAGE}wheels = [\"kernel\"]\n");
        let mut plan = planned(&tables, Some(&Platform::linux_amd64()));
        let said: Vec<String> = foreign(&plan, "app")
            .into_iter()
            .map(|error| error.message)
            .collect();
        assert_eq!(
            said,
            ["wheel `kernel` would be compiled for linux/arm64 on a builder of linux/amd64"]
        );
        let stage = crate::plan::compile_of(&plan, "kernel").unwrap();
        take_stored(
            &mut plan,
            &BTreeMap::from([(stage, "registry.example/wheels@sha256:00".to_owned())]),
        );
        assert!(foreign(&plan, "app").is_empty());
    }

    #[test]
    fn what_the_operating_system_does_is_said() {
        for (tables, says) in [
            (
                format!("{PYTHON}{IMAGE}system = [\"libgomp1\"]\n"),
                "package `libgomp1` would be installed",
            ),
            (
                format!("{PYTHON}{IMAGE}user = \"app\"\n"),
                "user `app` would be made",
            ),
            (
                format!("[python]\nversion = \"3.12\"\nprovider = \"system\"\n{IMAGE}"),
                "python3.12 of the operating system would be installed",
            ),
        ] {
            let plan = planned(&tables, Some(&Platform::linux_amd64()));
            let said = foreign(&plan, "app");
            assert_eq!(said.len(), 1);
            assert!(said[0].message.contains(says), "{}", said[0].message);
            assert!(!said[0].labels.is_empty());
        }
    }
}
