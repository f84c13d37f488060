//! Which published images a registry has to be asked about.

use std::collections::{BTreeMap, BTreeSet};

use super::planner::python_tier;
use super::{Plan, StandIn, StandIns, Work};
use crate::diagnostic::Location;
use crate::platform::Platform;
use crate::spec::{CompilerCacheTool, Image, Spec, Tier, Wheel};

/// The image references that a plan stands on, with the place of each. Planning comes first, without answers: what the
/// lock or the spec has wrong is said before any answer counts, and an image that nothing is made from is not asked
/// about.
pub fn references(plan: &Plan) -> BTreeMap<String, Location> {
    references_for(plan, None)
}

/// Those that steps run in on a builder of another platform.
pub fn builder_references(plan: &Plan) -> BTreeMap<String, Location> {
    let builder = plan.builder.as_ref();
    builder
        .map(|builder| references_for(plan, Some(builder)))
        .unwrap_or_default()
}

fn references_for(plan: &Plan, platform: Option<&Platform>) -> BTreeMap<String, Location> {
    plan.iter()
        .filter_map(|(_, stage)| match &stage.work {
            Work::Image(source) if source.context.is_none() && source.platform.as_ref() == platform => {
                Some((source.reference.clone(), stage.location.clone()?))
            }
            _ => None,
        })
        .collect()
}

/// The references that every plan of an image stands on, whatever the lock says: a registry can be asked about them
/// while the lock is still being read.
pub fn foreseen(spec: &Spec, image: &Image, stand_ins: &StandIns) -> BTreeSet<String> {
    let mut tiers = BTreeSet::from([python_tier(spec), *image.tier.get_ref()]);
    let wheels = built(spec, image);
    let compiles = wheels.iter().any(|wheel| wheel.is_compiled());
    if compiles {
        tiers.insert(Tier::Devel);
    }
    let own = wheels
        .iter()
        .filter(|wheel| !stand_ins.sources.contains_key(wheel.name.get_ref()));
    let sources = own.filter_map(|wheel| wheel.source.image());
    let tiers = tiers.iter().filter_map(|tier| {
        let reference = spec.gpu.tiers.get(tier)?.get_ref();
        Some((reference, stand_ins.tier(*tier, reference)))
    });
    let cache = &spec.compiler_cache;
    let caches = compiles && matches!(cache.tool, CompilerCacheTool::Sccache);
    let sccache = cache.sccache.image().filter(|_| caches);
    let others = sccache
        .into_iter()
        .chain(spec.python.provider.image())
        .chain(spec.uv.image())
        .chain(sources);
    let others = others.map(|reference| {
        let reference = reference.get_ref();
        (reference, stand_ins.images.get(reference))
    });
    tiers
        .chain(others)
        .filter_map(|(reference, stand_in)| match stand_in {
            None => Some(reference.clone()),
            Some(StandIn::Image(other)) => Some(other.clone()),
            Some(StandIn::Context { .. }) => None,
        })
        .collect()
}

/// The wheels of the spec that an image names, and those that they need.
fn built<'a>(spec: &'a Spec, image: &'a Image) -> Vec<&'a Wheel> {
    let mut open: Vec<&str> = image.wheels.iter().map(|name| name.get_ref().as_str()).collect();
    let mut found = BTreeMap::new();
    while let Some(name) = open.pop() {
        if let Some(name) = spec.wheel_of(name)
            && let Some(wheel) = spec.wheels.get(name)
            && found.insert(name, wheel).is_none()
        {
            open.extend(wheel.needs.iter().map(|need| need.get_ref().name.as_str()));
        }
    }
    found.into_values().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::diagnostic::SourceFile;
    use crate::lock::Lock;
    use crate::plan::{Request, plan};

    const LOCK: &str = r#"version = 1
revision = 3
requires-python = ">=3.11"

[[package]]
name = "idna"
version = "3.10"
source = { registry = "https://index.example/simple" }
wheels = [
    { url = "https://files.index.example/idna-3.10-py3-none-any.whl", hash = "sha256:00", size = 70442 },
]
"#;

    const TABLES: &str = r#"
[python]
version = "3.11"
provider = { image = "registry.example/python:3.11" }
[uv]
image = "registry.example/uv:1"
[gpu]
archs = ["9.0"]
tiers.base = "registry.example/base:1"
tiers.runtime = "registry.example/runtime:1"
tiers.devel = "registry.example/devel:1"
[wheels.kernel]
source = { path = "kernel" }
[compiler-cache]
tool = "sccache"
sccache = { image = "registry.example/sccache:1" }
[wheels.from-image]
source = { image = "registry.example/kernels:1", path = "/src" }
needs = ["kernel"]
[wheels.ready]
source = { wheel = "ready-1.0-py3-none-any.whl" }
[images.ready]
tier = "runtime"
packages = ["idna"]
wheels = ["ready"]
[images.taken]
tier = "runtime"
packages = ["idna"]
wheels = ["from-image"]
[images.small]
tier = "runtime"
packages = ["idna"]
[images.compiled]
tier = "runtime"
packages = ["idna"]
wheels = ["kernel"]
"#;

    #[test]
    fn what_is_foreseen_is_in_every_plan() {
        let file = SourceFile::new("wheelbase.toml", format!("name = \"app\"\n{TABLES}"));
        let (spec, _) = Spec::parse(&file).unwrap();
        let (lock, _) = Lock::parse(&SourceFile::new("uv.lock", LOCK)).unwrap();
        for (name, images) in [
            ("small", vec!["base:1", "runtime:1"]),
            ("compiled", vec!["base:1", "devel:1", "runtime:1", "sccache:1"]),
            ("ready", vec!["base:1", "runtime:1"]),
            (
                "taken",
                vec!["base:1", "devel:1", "kernels:1", "runtime:1", "sccache:1"],
            ),
        ] {
            let planned_images = BTreeSet::from([name.to_owned()]);
            let planned = plan(&Request {
                spec: &spec,
                lock: Some(&lock),
                projects: &BTreeMap::new(),
                manifests: &crate::lock::Manifests::default(),
                stand_ins: &StandIns::default(),
                platform: Platform::linux_amd64(),
                builder: None,
                resolved: &BTreeMap::new(),
                images: &planned_images,
            })
            .unwrap();
            let known = foreseen(&spec, &spec.images[name], &StandIns::default());
            let used: BTreeSet<String> = references(&planned).into_keys().collect();
            assert_eq!(known, used);
            let expected = images.iter().chain(&["python:3.11", "uv:1"]);
            let expected = expected.map(|image| format!("registry.example/{image}"));
            assert_eq!(known, expected.collect());
        }
    }
}
