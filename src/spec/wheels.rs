//! `[wheels.NAME]`: wheels that are compiled.

use std::collections::BTreeMap;

use toml::Spanned;

use super::findings::Findings;
use super::model::{Requirement, Wheel, WheelSource};
use super::section::{Section, integer, unique};
use super::{circles, names, paths, secrets, urls};
use crate::diagnostic::Diagnostic;

/// Variables that Wheelbase sets for every build command, and the key that decides each.
const OWN_VARIABLES: &[(&str, &str)] = &[
    ("MAX_JOBS", "jobs"),
    ("CMAKE_BUILD_PARALLEL_LEVEL", "jobs"),
    ("TORCH_CUDA_ARCH_LIST", "gpu.archs"),
];

/// Reads all wheels.
pub(super) fn decode(root: &Section<'_>, findings: &mut Findings) -> BTreeMap<String, Wheel> {
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
        let wheel = wheel(name, &section, findings);
        wheels.insert(normal, wheel);
    }
    circles::check(&wheels, findings);
    wheels
}

fn wheel(name: Spanned<String>, section: &Section<'_>, findings: &mut Findings) -> Wheel {
    // With an error about the source no `Spec` comes out: what stands in for it is never seen.
    let source = source(&section.section("source"), findings).unwrap_or_else(|| WheelSource::Lock {
        span: Spanned::new(name.span(), ()),
    });
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
    let jobs = section.value("jobs").and_then(|value| integer(value.get_ref()));
    Wheel {
        source,
        needs,
        env,
        command,
        any_arch: section.has("arch"),
        jobs: jobs.and_then(|jobs| u32::try_from(jobs).ok()),
        network: section.boolean("network").unwrap_or(false),
        name,
    }
}

fn source(section: &Section<'_>, findings: &mut Findings) -> Option<WheelSource> {
    if let Some(path) = section.string("path") {
        let checked = findings.check(path.span(), paths::context(path.get_ref()));
        let include = section.strings("include").unwrap_or_default();
        let include = unique(findings, "`include`", include);
        let include: Vec<String> = include
            .iter()
            .filter_map(|item| findings.check(item.span(), paths::pattern(item.get_ref())))
            .collect();
        return Some(WheelSource::Path {
            path: Spanned::new(path.span(), checked?),
            include,
        });
    }
    if section.has("git") {
        let url = section.string("git").and_then(|url| {
            findings
                .check(url.span(), urls::repository(url.get_ref()))
                .map(|()| url)
        });
        let address = url.as_ref().map(|url| url.get_ref().as_str());
        let rev = section.string("rev").and_then(|rev| {
            let commit = findings.check(rev.span(), urls::commit(rev.get_ref(), address))?;
            Some(Spanned::new(rev.span(), commit))
        });
        let subdir = match section.string("subdir") {
            Some(path) => findings.check(path.span(), paths::inside(path.get_ref(), "the repository")),
            None => Some(String::new()),
        };
        let submodules = section.boolean("submodules").unwrap_or(true);
        return Some(WheelSource::Git {
            url: url?,
            rev: rev?,
            subdir: subdir?,
            submodules,
        });
    }
    match section.boolean("lock") {
        Some(true) => Some(WheelSource::Lock {
            span: Spanned::new(section.key_span("lock"), ()),
        }),
        Some(false) => {
            findings.error(
                section.key_span("lock"),
                "`lock = false` says where the source is not",
                "",
                "write lock = true, or `path`, or `git` with `rev`",
            );
            None
        }
        None => None,
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
