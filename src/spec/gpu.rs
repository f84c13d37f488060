//! `[gpu]`: which images the tiers are, and which GPUs are compiled for.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::DeValue;

use super::archs::{self, Arch};
use super::cuda::{self, Version};
use super::cuda_tags::Release;
use super::findings::{Findings, Problem};
use super::model::{Gpu, Os, Tier};
use super::python::image_reference;
use super::reference::{self, Reference};
use super::section::{self, Section};
use super::{keys, os};
use crate::diagnostic::Diagnostic;

/// What the rest of the file wants of `[gpu]`.
pub(super) struct Wanted {
    /// Places that use a tier, by tier, with who it is that uses it.
    pub(super) tiers: BTreeMap<Tier, Vec<(Range<usize>, String)>>,
    /// Names of the wheels that are compiled for GPUs.
    pub(super) gpu_wheels: Vec<Spanned<String>>,
}

/// A toolkit with its row of the table, when it has one.
struct Toolkit {
    version: Version,
    release: Option<&'static Release>,
    text: Spanned<String>,
}

/// Reads `mirror`: other sections need it for their images.
pub(super) fn mirror(section: &Section<'_>, findings: &mut Findings) -> Option<Spanned<String>> {
    let mirror = section.string("mirror")?;
    if !reference::is_host(mirror.get_ref()) {
        let text = mirror.get_ref();
        if text.contains('@') {
            findings.conceal(mirror.span());
        }
        let host = text
            .split_once("://")
            .map_or(text.as_str(), |(_, rest)| rest)
            .split('/')
            .next();
        let help = match host.filter(|host| reference::is_host(host)) {
            Some(host) => format!("write mirror = \"{host}\""),
            None => "write a host and, where it has one, a port: mirror = \"zot.example:5000\"".to_owned(),
        };
        findings.error(
            mirror.span(),
            "`gpu.mirror` is not a registry's host",
            "expected host or host:port",
            help,
        );
        return None;
    }
    Some(mirror)
}

/// Reads `[gpu]`.
pub(super) fn decode(
    section: &Section<'_>,
    mirror: Option<Spanned<String>>,
    wanted: &Wanted,
    findings: &mut Findings,
) -> Gpu {
    let host = mirror.as_ref().map(|mirror| mirror.get_ref().as_str());
    let mut tiers = BTreeMap::new();
    let named = section.section("tiers");
    for tier in Tier::ALL {
        let text = named.string(tier.as_str());
        if let Some(reference) = text.and_then(|text| image_reference(&text, host, findings)) {
            tiers.insert(tier, reference);
        }
    }
    let outright = |tier: Tier| named.has(tier.as_str());

    let os = section.string("os").and_then(|text| {
        let os = findings.check(text.span(), os::find(text.get_ref()))?;
        Some(Spanned::new(text.span(), os))
    });
    let toolkit = section.string("cuda").and_then(|text| {
        let version = findings.check(text.span(), Version::parse(text.get_ref()))?;
        let release = findings.check(text.span(), version.release())?;
        Some(Toolkit {
            version,
            release,
            text,
        })
    });
    if let Some(toolkit) = &toolkit {
        if Tier::ALL.into_iter().any(|tier| !outright(tier)) {
            let cudnn = cudnn(section, toolkit, findings);
            let published = images(section, toolkit, os.as_ref(), cudnn == Some(true), findings);
            if let (true, Some(os), Some(cudnn)) = (published, &os, cudnn) {
                for tier in Tier::ALL.into_iter().filter(|tier| !outright(*tier)) {
                    let name = &os.get_ref().name;
                    let text = cuda::reference(toolkit.version, toolkit.release, name, tier, cudnn);
                    if let Ok(reference) = Reference::parse(&text) {
                        let reference = reference.through(host).to_string();
                        tiers.insert(tier, Spanned::new(toolkit.text.span(), reference));
                    }
                }
            }
        }
    } else if !section.has("cuda") && !findings.is_meant("gpu.cuda") && !findings.is_meant("gpu") {
        missing_tiers(wanted, &outright, findings);
        if section.boolean("cudnn") == Some(true) {
            findings.warning(
                section.key_span("cudnn"),
                "`gpu.cudnn` has no effect",
                "it chooses among the images of `cuda`, and there is no `cuda`",
                "remove it, or write `cuda` and `os`",
            );
        }
    }
    let archs = gpu_archs(section, toolkit.as_ref(), findings);
    if !section.has("archs") || section.items("archs").next().is_none() {
        missing_archs(section, toolkit.as_ref(), wanted, findings);
    }
    Gpu {
        tiers,
        cuda: toolkit.map(|toolkit| toolkit.text),
        os,
        archs,
        mirror,
    }
}

/// The operating systems that the tiers could be of: those with images of the toolkit, or all that are known.
pub(super) fn systems(gpu: &Gpu) -> Vec<&'static str> {
    let version = gpu
        .cuda
        .as_ref()
        .and_then(|text| Version::parse(text.get_ref()).ok());
    let release = version.and_then(|version| version.release().ok().flatten());
    os::names()
        .filter(|name| release.is_none_or(|release| release.systems().any(|system| system == *name)))
        .collect()
}

/// `cudnn`: a boolean; a number is answered with what the toolkit's images carry.
fn cudnn(section: &Section<'_>, toolkit: &Toolkit, findings: &mut Findings) -> Option<bool> {
    let Some(value) = section.value("cudnn") else {
        return Some(false);
    };
    let asked = match value.get_ref() {
        DeValue::Boolean(wanted) => return Some(*wanted),
        DeValue::String(text) => text.split('.').next().and_then(|major| major.parse::<u64>().ok()),
        value => section::integer(value),
    };
    let version = toolkit.version;
    let carried = toolkit.release.map_or(Some(9), cuda::cudnn_major);
    let help = match (asked, carried) {
        (Some(asked), Some(carried)) if asked == carried => "write cudnn = true".to_owned(),
        (Some(asked), Some(_)) => match cuda::newest_with_cudnn(asked) {
            Some(newest) => {
                format!(
                    "write cudnn = true to take it, or cuda = \"{newest}\", the newest with cuDNN {asked}"
                )
            }
            None => "write cudnn = true to take it".to_owned(),
        },
        _ => "write cudnn = true, or false".to_owned(),
    };
    let message = match (asked, carried) {
        (Some(asked), Some(carried)) if asked != carried => {
            format!("the images of CUDA {version} carry cuDNN {carried}, not {asked}")
        }
        (_, Some(carried)) => {
            format!("`gpu.cudnn` is true or false; the images of CUDA {version} carry cuDNN {carried}")
        }
        (_, None) => format!("`gpu.cudnn` is true or false, and no image of CUDA {version} carries cuDNN"),
    };
    findings.error(value.span(), message, "expected a boolean", help);
    None
}

/// Whether the toolkit's images exist for this system; says so when they do not.
fn images(
    section: &Section<'_>,
    toolkit: &Toolkit,
    os: Option<&Spanned<Os>>,
    cudnn: bool,
    findings: &mut Findings,
) -> bool {
    let Some(os) = os else {
        if !section.has("os") && !findings.is_meant("gpu.os") {
            let systems = toolkit.release.map_or(Vec::new(), |release| {
                release.systems().filter(|name| os::find(name).is_ok()).collect()
            });
            let help = if systems.is_empty() {
                "add os = \"ubuntu24.04\"".to_owned()
            } else {
                format!("CUDA {} has images of {}", toolkit.version, systems.join(", "))
            };
            findings.error(
                section.key_span("cuda"),
                "`gpu.os` is missing",
                "`cuda` names images together with `os`",
                help,
            );
        }
        return false;
    };
    let Some(release) = toolkit.release else {
        findings.warning(
            toolkit.text.span(),
            format!(
                "CUDA {} is newer than what this release of Wheelbase knows",
                toolkit.version
            ),
            "whether its images exist shows when they are pulled",
            format!("the newest that is known is \"{}\"", cuda::newest()),
        );
        return true;
    };
    if let Err(problem) = cuda::published(release, &os.get_ref().name, cudnn) {
        let (here, there) = (findings.place(toolkit.text.span()), findings.place(os.span()));
        let mut diagnostic = Diagnostic::error(problem.message)
            .at(here, "")
            .at(there, "")
            .help(problem.help);
        if cudnn {
            diagnostic = diagnostic.at(findings.place(section.key_span("cudnn")), "cuDNN is asked for");
        }
        findings.push(diagnostic);
        return false;
    }
    if release.end_of_life {
        let newer = cuda::newest_patch(toolkit.version.0, toolkit.version.1)
            .filter(|newest| *newest > toolkit.version)
            .map_or(String::new(), |newest| format!("take cuda = \"{newest}\", or "));
        findings.warning(
            toolkit.text.span(),
            format!(
                "the images of CUDA {} have reached their end of life",
                toolkit.version
            ),
            "NVIDIA deletes such tags after six months",
            format!("{newer}keep a copy in a registry of your own and name it with `mirror` or `tiers`"),
        );
    }
    true
}

/// Tiers that are used although nothing says what they are; one error for each.
fn missing_tiers(wanted: &Wanted, outright: &dyn Fn(Tier) -> bool, findings: &mut Findings) {
    for (tier, users) in &wanted.tiers {
        if outright(*tier) {
            continue;
        }
        let tier = tier.as_str();
        let mut diagnostic = Diagnostic::error(format!("nothing says which image tier `{tier}` is"));
        for (span, user) in users {
            diagnostic = diagnostic.at(findings.place(span.clone()), format!("{user} uses it"));
        }
        let newest = cuda::newest();
        findings.push(diagnostic.help(format!(
            "write [gpu] with cuda = \"{newest}\" and os = \"ubuntu24.04\", or with tiers.{tier} = \"registry/image:tag\""
        )));
    }
}

fn gpu_archs(
    section: &Section<'_>,
    toolkit: Option<&Toolkit>,
    findings: &mut Findings,
) -> Vec<Spanned<String>> {
    let items = section.strings("archs").unwrap_or_default();
    let items = section::unique(findings, "`gpu.archs`", items);
    for item in &items {
        let arch = match Arch::parse(item.get_ref()) {
            Ok(arch) => arch,
            Err(problem) => {
                findings.error(item.span(), problem.message, "", problem.help);
                continue;
            }
        };
        if arch.is_pointless_ptx() {
            findings.warning(
                item.span(),
                format!(
                    "`+PTX` adds nothing to `{}`",
                    item.get_ref().trim_end_matches("+PTX")
                ),
                "code of an `a` form runs on that GPU alone",
                "add `+PTX` to a capability without `a`",
            );
        }
        if let Some(toolkit) = toolkit
            && let Err(Problem { message, help }) = arch.check(toolkit.version)
        {
            let (here, there) = (findings.place(item.span()), findings.place(toolkit.text.span()));
            findings.push(
                Diagnostic::error(message)
                    .at(here, "")
                    .at(there, "the toolkit")
                    .help(help),
            );
        }
    }
    items
}

/// Wheels that are compiled for GPUs, and no word about which.
fn missing_archs(section: &Section<'_>, toolkit: Option<&Toolkit>, wanted: &Wanted, findings: &mut Findings) {
    let known = toolkit.is_some() || section.section("tiers").has(Tier::Devel.as_str());
    if !known || wanted.gpu_wheels.is_empty() || findings.is_meant("gpu.archs") {
        return;
    }
    let names: Vec<String> = wanted
        .gpu_wheels
        .iter()
        .map(|name| format!("`{}`", name.get_ref()))
        .collect();
    let verb = if names.len() == 1 { "is" } else { "are" };
    let message = format!(
        "`gpu.archs` is missing: {} {verb} compiled for GPUs",
        names.join(", ")
    );
    let mut diagnostic = Diagnostic::error(message);
    if section.has("archs") {
        diagnostic = diagnostic.at(findings.place(section.key_span("archs")), "empty");
    }
    for name in &wanted.gpu_wheels {
        diagnostic = diagnostic.at(findings.place(name.span()), "for which?");
    }
    let range = toolkit
        .and_then(|toolkit| Some((toolkit.version, archs::range(toolkit.version)?)))
        .map_or(String::new(), |(version, range)| {
            format!(" (nvcc of CUDA {version} goes from {range})")
        });
    let example = keys::find("gpu", "archs").map_or("", |key| key.example);
    findings.push(diagnostic.help(format!(
        "a build has no GPU to ask: write {example} under [gpu]{range}, or arch = \"any\" in a wheel without GPU code"
    )));
}
