//! `[images.NAME]`: what is shipped.

use std::collections::{BTreeMap, BTreeSet};

use toml::Spanned;

use super::findings::Findings;
use super::model::{Copy, Forbid, Image, Requirement, Tier, Vendor, Wheel};
use super::section::{Section, string, unique};
use super::wheels::{modules, requirements, variables};
use super::{names, paths};
use crate::diagnostic::nearest;
use crate::rules::Rule;

/// What images of tier base and runtime must not hold unless they say otherwise: a compiler, and its headers.
const FORBIDDEN: &[&str] = &["**/bin/nvcc", "/usr/local/cuda/include"];

/// The same for AMD's GPUs: hipcc, the headers, and the clang that hipcc calls.
const FORBIDDEN_OF_AMD: &[&str] = &["**/bin/hipcc", "/opt/rocm/include", "/opt/rocm/llvm/bin"];

/// Reads all images. `wheels` are those of the file, for the names in `wheels`; `vendor` is whose GPUs the file is for.
pub(super) fn decode(
    root: &Section<'_>,
    wheels: &BTreeMap<String, Wheel>,
    vendor: Option<Vendor>,
    findings: &mut Findings,
) -> BTreeMap<String, Image> {
    let mut images = BTreeMap::new();
    for (name, section) in root.named("images") {
        findings.check(name.span(), names::image(name.get_ref()));
        let image = image(name, &section, wheels, vendor, findings);
        images.insert(image.name.get_ref().clone(), image);
    }
    if images.is_empty() && root.has("images") && root.section("images").exists() {
        findings.error(
            root.key_span("images"),
            "there is no image",
            "",
            "add a table such as [images.serve], with `packages`",
        );
    }
    images
}

fn image(
    name: Spanned<String>,
    section: &Section<'_>,
    wheels: &BTreeMap<String, Wheel>,
    vendor: Option<Vendor>,
    findings: &mut Findings,
) -> Image {
    let owner = name.get_ref().clone();
    let tier = tier(&name, section);
    let (everything, packages) = packages(section, &owner, findings);
    let extras = package_names(section, "extras", &owner, findings);
    let groups = package_names(section, "groups", &owner, findings);
    for (key, named) in [("extras", &extras), ("groups", &groups)] {
        if !named.is_empty() && !section.has("packages") && !findings.is_meant("images.*.packages") {
            findings.error(
                section.key_span(key),
                format!("image `{owner}` has `{key}` but no `packages`"),
                format!("{key} of which package?"),
                "add for example packages = [\"mai-job\"]: the package of the lockfile that defines them",
            );
        }
    }
    let image = Image {
        tier,
        everything,
        extras,
        groups,
        wheels: image_wheels(section, &owner, wheels, findings),
        system: system(section, "system", &format!("`system` of `{owner}`"), findings),
        copy: section
            .tables("copy")
            .iter()
            .filter_map(|item| copy(item, findings))
            .collect(),
        env: variables(section, "env", findings),
        user: section
            .string("user")
            .filter(|user| findings.check(user.span(), names::user(user.get_ref())).is_some()),
        workdir: section
            .string("workdir")
            .and_then(|path| findings.check(path.span(), paths::absolute(path.get_ref()))),
        entrypoint: words(section, "entrypoint", findings),
        cmd: words(section, "cmd", findings),
        description: section
            .string("description")
            .and_then(|text| findings.check(text.span(), names::description(text.get_ref()))),
        labels: labels(section, findings),
        ports: ports(section, &owner, findings),
        imports: modules(section, &format!("`imports` of `{owner}`"), findings),
        forbid: Forbid {
            paths: forbidden(&name, vendor, section, findings),
        },
        packages,
        name,
    };
    let empty = ["packages", "wheels", "system", "copy"]
        .iter()
        .all(|key| section.items(key).next().is_none());
    if empty {
        findings.warning(
            Rule::EmptyImage,
            image.name.span(),
            format!("image `{owner}` adds nothing to its tier"),
            "",
            "add `packages`, `wheels`, `system` or `copy`",
        );
    }
    image
}

fn tier_of(section: &Section<'_>) -> Tier {
    let word = section.string("tier");
    let named = |tier: &Tier| word.as_ref().is_some_and(|word| word.get_ref() == tier.as_str());
    Tier::ALL.into_iter().find(named).unwrap_or(Tier::Runtime)
}

fn tier(name: &Spanned<String>, section: &Section<'_>) -> Spanned<Tier> {
    let span = section.value("tier").map_or_else(|| name.span(), Spanned::span);
    Spanned::new(span, tier_of(section))
}

/// Roots in the lock: names, and the word `*` for all that the lock installs.
fn packages(
    section: &Section<'_>,
    owner: &str,
    findings: &mut Findings,
) -> (Option<Spanned<()>>, Vec<Spanned<Requirement>>) {
    let what = format!("`packages` of `{owner}`");
    let items = section.strings("packages").unwrap_or_default();
    let (stars, names): (Vec<_>, Vec<_>) = items.into_iter().partition(|item| item.get_ref() == "*");
    let star = unique(findings, &what, stars).into_iter().next();
    (
        star.map(|star| Spanned::new(star.span(), ())),
        requirements(&names, &what, findings),
    )
}

/// Names of extras or groups, normalised.
fn package_names(
    section: &Section<'_>,
    key: &str,
    owner: &str,
    findings: &mut Findings,
) -> Vec<Spanned<String>> {
    let items = section.strings(key).unwrap_or_default();
    let items = items
        .into_iter()
        .filter_map(|item| {
            let name = findings.check(item.span(), names::package(item.get_ref()))?;
            Some(Spanned::new(item.span(), name))
        })
        .collect();
    unique(findings, &format!("`{key}` of `{owner}`"), items)
}

fn image_wheels(
    section: &Section<'_>,
    owner: &str,
    wheels: &BTreeMap<String, Wheel>,
    findings: &mut Findings,
) -> Vec<Spanned<String>> {
    let items = package_names(section, "wheels", owner, findings);
    for item in &items {
        let name = item.get_ref();
        if wheels.contains_key(name) || findings.is_meant("wheels") {
            continue;
        }
        let help = match nearest(name, wheels.keys().map(String::as_str)) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None if wheels.is_empty() => {
                format!("add [wheels.{name}] with a `source`, or list a wheel of the lockfile in `packages`")
            }
            None => {
                let known: Vec<&str> = wheels.keys().map(String::as_str).collect();
                format!(
                    "the wheels are {}; a package of the lockfile stands in `packages`",
                    known.join(", ")
                )
            }
        };
        findings.error(item.span(), format!("there is no [wheels.{name}]"), "", help);
    }
    items
}

/// Packages of the operating system, each once.
pub(super) fn system(
    section: &Section<'_>,
    key: &str,
    what: &str,
    findings: &mut Findings,
) -> BTreeSet<String> {
    let items = section.strings(key).unwrap_or_default();
    let items = unique(findings, what, items);
    items
        .into_iter()
        .filter(|item| {
            findings
                .check(item.span(), names::system_package(item.get_ref()))
                .is_some()
        })
        .map(Spanned::into_inner)
        .collect()
}

fn copy(section: &Section<'_>, findings: &mut Findings) -> Option<Copy> {
    let from = section.string("from").and_then(|path| {
        let checked = findings.check(path.span(), paths::context(path.get_ref()))?;
        Some(Spanned::new(path.span(), checked))
    });
    let to = section
        .string("to")
        .and_then(|path| findings.check(path.span(), paths::absolute(path.get_ref())));
    Some(Copy { from: from?, to: to? })
}

/// `entrypoint` and `cmd`: words of a command; an empty array takes the tier's away.
fn words(section: &Section<'_>, key: &str, findings: &mut Findings) -> Option<Vec<String>> {
    let items = section.strings(key)?;
    if let Some(first) = items.first().filter(|first| first.get_ref().is_empty()) {
        findings.error(
            first.span(),
            format!("the first word of `{key}` is empty"),
            "",
            "write the program there; an empty array takes the tier's away",
        );
    }
    Some(items.into_iter().map(Spanned::into_inner).collect())
}

fn labels(section: &Section<'_>, findings: &mut Findings) -> BTreeMap<String, String> {
    section
        .map("labels")
        .into_iter()
        .filter(|(key, _)| findings.check(key.span(), names::label(key.get_ref())).is_some())
        .map(|(key, value)| (key.into_inner(), value.into_inner()))
        .collect()
}

fn ports(section: &Section<'_>, owner: &str, findings: &mut Findings) -> BTreeSet<String> {
    let items: Vec<Spanned<String>> = section
        .items("ports")
        .filter_map(|item| {
            let text = match item.get_ref().as_integer() {
                Some(_) => {
                    let number = super::section::integer(item.get_ref())?;
                    Spanned::new(
                        item.span(),
                        u16::try_from(number).ok().filter(|port| *port > 0)?.to_string(),
                    )
                }
                None => string(item)?,
            };
            let port = findings.check(text.span(), names::port(text.get_ref()))?;
            Some(Spanned::new(text.span(), port))
        })
        .collect();
    unique(findings, &format!("`ports` of `{owner}`"), items)
        .into_iter()
        .map(Spanned::into_inner)
        .collect()
}

fn forbidden(
    name: &Spanned<String>,
    vendor: Option<Vendor>,
    section: &Section<'_>,
    findings: &mut Findings,
) -> Vec<Spanned<String>> {
    let forbid = section.section("forbid");
    match forbid.strings("paths") {
        Some(items) => unique(findings, "`forbid.paths`", items)
            .into_iter()
            .filter(|item| {
                findings
                    .check(item.span(), paths::forbidden(item.get_ref()))
                    .is_some()
            })
            .collect(),
        None if tier_of(section) == Tier::Devel => Vec::new(),
        None => {
            let paths = match vendor {
                Some(Vendor::Amd) => FORBIDDEN_OF_AMD,
                Some(Vendor::Nvidia) | None => FORBIDDEN,
            };
            let path = |path: &&str| Spanned::new(name.span(), (*path).to_owned());
            paths.iter().map(path).collect()
        }
    }
}

/// `default` names an image; with a single image it is that one.
pub(super) fn default(
    root: &Section<'_>,
    images: &BTreeMap<String, Image>,
    findings: &mut Findings,
) -> Option<Spanned<String>> {
    let Some(default) = root.string("default") else {
        let mut all = images.values();
        return all
            .next()
            .filter(|_| images.len() == 1)
            .map(|only| only.name.clone());
    };
    if !images.contains_key(default.get_ref()) && !images.is_empty() {
        let known: Vec<&str> = images.keys().map(String::as_str).collect();
        let help = match nearest(default.get_ref(), known.iter().copied()) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("the images are {}", known.join(", ")),
        };
        findings.error(
            default.span(),
            format!("there is no [images.{}]", default.get_ref()),
            "",
            help,
        );
    }
    Some(default)
}
