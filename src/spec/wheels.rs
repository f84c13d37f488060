//! `[wheels.NAME]`: wheels that are compiled.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;

use super::decode::bytes;
use super::findings::Findings;
use super::model::{Requirement, Wheel, WheelSource};
use super::section::{Section, integer, unique};
use super::{circles, names, paths, secrets, sources};
use crate::diagnostic::Diagnostic;
use crate::rules::Rule;

/// Variables that Wheelbase sets for every build command, and the key that decides each.
const OWN_VARIABLES: &[(&str, &str)] = &[
    ("MAX_JOBS", "jobs"),
    ("CMAKE_BUILD_PARALLEL_LEVEL", "jobs"),
    ("CARGO_BUILD_JOBS", "jobs"),
    ("TORCH_CUDA_ARCH_LIST", "gpu.archs"),
    ("PYTORCH_ROCM_ARCH", "gpu.archs"),
];

/// Keys that say how a wheel is built.
const OF_A_BUILD: &[&str] = &[
    "patches",
    "provides",
    "isolation",
    "needs",
    "env",
    "command",
    "keep-build",
    "arch",
    "jobs",
    "job-memory",
    "network",
];

/// Reads all wheels. `mirror` takes the place of the registry of images.
pub(super) fn decode(
    root: &Section<'_>,
    mirror: Option<&str>,
    findings: &mut Findings,
) -> BTreeMap<String, Wheel> {
    let mut wheels: BTreeMap<String, Wheel> = BTreeMap::new();
    let mut sections = root.named("wheels");
    sections.sort_by_key(|(name, _)| name.span().start);
    for (name, section) in sections {
        let Some(normal) = findings.check(name.span(), names::package(name.get_ref())) else {
            continue;
        };
        if let Some(earlier) = wheels.get(&normal) {
            let (here, there) = (findings.place(name.span()), findings.place(earlier.name.span()));
            findings.push(
                Diagnostic::error(format!(
                    "`{}` and `{}` are one wheel",
                    earlier.name.get_ref(),
                    name.get_ref()
                ))
                .at(here, format!("its name is normally written `{normal}`"))
                .at(there, "already here")
                .help("remove one of the two tables"),
            );
            continue;
        }
        let wheel = wheel(name, &normal, &section, mirror, findings);
        if normal == names::WHEEL_STORE && wheel.is_compiled() {
            findings.error(
                wheel.name.span(),
                format!("a compiled wheel cannot be the target `{normal}`"),
                "that target is all compiled wheels",
                "compile it elsewhere, and take the file: source = { wheel = \"wheels/...whl\" }",
            );
        }
        wheels.insert(normal, wheel);
    }
    check_provided(&wheels, findings);
    circles::check(&wheels, findings);
    wheels
}

fn wheel(
    name: Spanned<String>,
    normal: &str,
    section: &Section<'_>,
    mirror: Option<&str>,
    findings: &mut Findings,
) -> Wheel {
    let given = section.section("source");
    if given.has("wheel") {
        no_build(name.get_ref(), section, findings);
    }
    // With an error about the source no `Spec` comes out: what stands in for it is never seen.
    let source = sources::decode(&given, normal, mirror, findings).unwrap_or_else(|| WheelSource::Lock {
        span: Spanned::new(name.span(), ()),
    });
    let patches = section.strings("patches").unwrap_or_default();
    let patches = unique(findings, &format!("`patches` of `{}`", name.get_ref()), patches)
        .into_iter()
        .filter_map(|patch| {
            let path = findings.check(patch.span(), paths::patch(patch.get_ref()))?;
            Some(Spanned::new(patch.span(), path))
        })
        .collect();
    let needs = requirements(
        &section.strings("needs").unwrap_or_default(),
        &format!("`needs` of `{}`", name.get_ref()),
        findings,
    );
    let env = variables(section, "env", findings);
    for (variable, key) in OWN_VARIABLES {
        if env.contains_key(*variable) {
            let place = section.section("env").key_span(variable);
            findings.warning(
                Rule::ReservedVariable,
                place,
                format!("`{variable}` is set by Wheelbase"),
                "this value would enter the wheel's key",
                format!("remove it and use `{key}`"),
            );
        }
    }
    let command = section.string("command").and_then(|command| {
        if command.get_ref().trim().is_empty() {
            findings.error(
                command.span(),
                "this command is empty",
                "",
                "leave `command` out for the usual build, or write what leaves wheels in /wheels",
            );
            return None;
        }
        Some(command.into_inner())
    });
    let keep_build = section.string("keep-build").and_then(|folder| {
        let checked = paths::folder_inside(folder.get_ref(), "the folder that is built");
        findings.check(folder.span(), checked)
    });
    let provides = section.strings("provides").unwrap_or_default();
    let provides = provides
        .into_iter()
        .filter_map(|package| {
            let name = findings.check(package.span(), names::package(package.get_ref()))?;
            Some(Spanned::new(package.span(), name))
        })
        .collect();
    let may_lack = section.strings("may-lack").unwrap_or_default();
    let may_lack = unique(findings, &format!("`may-lack` of `{}`", name.get_ref()), may_lack)
        .into_iter()
        .filter_map(|library| {
            findings.check(library.span(), names::library(library.get_ref()))?;
            Some(library.into_inner())
        })
        .collect();
    let imports = modules(section, &format!("`imports` of `{}`", name.get_ref()), findings);
    let isolation = section.boolean("isolation").unwrap_or(false);
    if isolation {
        check_isolation(section, findings);
    }
    let job_memory = bytes(section, "job-memory", findings);
    let jobs = section.value("jobs").and_then(|value| integer(value.get_ref()));
    Wheel {
        source,
        patches,
        isolation,
        provides,
        may_lack,
        imports,
        needs,
        env,
        command,
        keep_build,
        any_arch: section.has("arch"),
        jobs: jobs.and_then(|jobs| u32::try_from(jobs).ok()),
        job_memory,
        network: section.boolean("network").unwrap_or(false),
        description: section
            .string("description")
            .and_then(|text| findings.check(text.span(), names::description(text.get_ref()))),
        name,
    }
}

/// Reports packages that come from two places.
fn check_provided(wheels: &BTreeMap<String, Wheel>, findings: &mut Findings) {
    let mut places: BTreeMap<&str, Range<usize>> = wheels
        .iter()
        .map(|(name, wheel)| (name.as_str(), wheel.name.span()))
        .collect();
    for package in wheels.values().flat_map(|wheel| &wheel.provides) {
        if let Some(earlier) = places.insert(package.get_ref(), package.span()) {
            let (here, there) = (findings.place(package.span()), findings.place(earlier));
            findings.push(
                Diagnostic::error(format!(
                    "the wheel of `{}` comes from two places",
                    package.get_ref()
                ))
                .at(here, "from this build")
                .at(there, "and from here")
                .help("leave it out of `provides`, or remove the other"),
            );
        }
    }
}

/// Reports keys of a build beside a wheel that is there already.
fn no_build(name: &str, section: &Section<'_>, findings: &mut Findings) {
    for key in OF_A_BUILD.iter().filter(|key| section.has(key)) {
        let empty = section
            .value(key)
            .and_then(|value| value.get_ref().as_array())
            .is_some_and(|items| items.is_empty());
        if !empty {
            findings.error(
                section.key_span(key),
                format!("`{key}` says how `{name}` is built, but it is a wheel already"),
                "nothing is built here",
                "remove this key, or give the source instead of the wheel",
            );
        }
    }
}

/// Reports keys that an isolated build does not see.
fn check_isolation(section: &Section<'_>, findings: &mut Findings) {
    if section.items("needs").next().is_some() {
        findings.error(
            section.key_span("needs"),
            "an isolated build does not see what is in `needs`",
            "",
            "remove `isolation` to build against `needs`, or `needs` to take what `build-system.requires` says",
        );
    }
    if section.has("command") {
        findings.error(
            section.key_span("command"),
            "`command` takes the place of the build that `isolation` is about",
            "",
            "remove one of the two",
        );
    }
}

/// Requirements, each once. The same package with other extras counts as the same.
pub(super) fn requirements(
    items: &[Spanned<String>],
    what: &str,
    findings: &mut Findings,
) -> Vec<Spanned<Requirement>> {
    let items: Vec<Spanned<Requirement>> = items
        .iter()
        .filter_map(|item| {
            let requirement = findings.check(item.span(), names::requirement(item.get_ref()))?;
            Some(Spanned::new(item.span(), requirement))
        })
        .collect();
    let names = items
        .iter()
        .map(|item| Spanned::new(item.span(), item.get_ref().name.clone()))
        .collect();
    let kept = unique(findings, what, names);
    let kept: Vec<usize> = kept.iter().map(|name| name.span().start).collect();
    items
        .into_iter()
        .filter(|item| kept.binary_search(&item.span().start).is_ok())
        .collect()
}

/// `imports`: modules, each once.
pub(super) fn modules(section: &Section<'_>, what: &str, findings: &mut Findings) -> Vec<Spanned<String>> {
    let items = section.strings("imports").unwrap_or_default();
    unique(findings, what, items)
        .into_iter()
        .filter(|item| {
            findings
                .check(item.span(), names::module(item.get_ref()))
                .is_some()
        })
        .collect()
}

/// A table of environment variables.
pub(super) fn variables(
    section: &Section<'_>,
    key: &str,
    findings: &mut Findings,
) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    for (name, value) in section.map(key) {
        if secrets::is_secret_name(name.get_ref()) && !value.get_ref().is_empty() {
            findings.conceal(value.span());
            findings.warning(
                Rule::SecretsUsedInArgOrEnv,
                name.span(),
                format!("`{}` looks like a secret", name.get_ref()),
                "what stands here ends in keys and images, for all to read",
                "give it to the build, or to the container when it starts, as a secret",
            );
        }
        if findings
            .check(name.span(), names::variable(name.get_ref()))
            .is_some()
        {
            variables.insert(name.into_inner(), value.into_inner());
        }
    }
    variables
}
