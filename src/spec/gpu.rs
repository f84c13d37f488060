//! `[gpu]`: which images the tiers are, and which GPUs are compiled for.

mod amd;
mod nvidia;
mod targets;

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;

use super::findings::Findings;
use super::model::{Gpu, Os, Tier, Vendor};
use super::python::image_reference;
use super::reference::{self, Reference};
use super::section::Section;
use super::{archs, cuda, gfx, keys, os};
use crate::diagnostic::Diagnostic;
use crate::rules::Rule;

/// What the rest of the file wants of `[gpu]`.
pub(super) struct Wanted {
    /// Places that use a tier, by tier, with who it is that uses it.
    pub(super) tiers: BTreeMap<Tier, Vec<(Range<usize>, String)>>,
    /// Names of the wheels that are compiled for GPUs.
    pub(super) gpu_wheels: Vec<Spanned<String>>,
}

/// A vendor's toolkit that the file names.
enum Toolkit {
    Cuda(nvidia::Toolkit),
    Rocm(amd::Toolkit),
}

impl Toolkit {
    /// The version as written.
    fn text(&self) -> &Spanned<String> {
        match self {
            Self::Cuda(toolkit) => &toolkit.text,
            Self::Rocm(toolkit) => &toolkit.text,
        }
    }

    fn tiers(
        &self,
        section: &Section<'_>,
        os: Option<&Spanned<Os>>,
        findings: &mut Findings,
    ) -> Vec<(Tier, String)> {
        match self {
            Self::Cuda(toolkit) => toolkit.tiers(section, os, findings),
            Self::Rocm(toolkit) => toolkit.tiers(section, os, findings),
        }
    }

    /// From where to where its compiler goes, in words for a help.
    fn range(&self) -> Option<String> {
        match self {
            Self::Cuda(toolkit) => {
                let range = archs::range(toolkit.version)?;
                Some(format!("nvcc of CUDA {} goes from {range}", toolkit.version))
            }
            Self::Rocm(_) => None,
        }
    }
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

/// Whose GPUs the file is for: what the rest of it means depends on that.
pub(super) fn vendor(section: &Section<'_>) -> Option<Vendor> {
    match (section.has("cuda"), section.has("rocm")) {
        (true, false) => Some(Vendor::Nvidia),
        (false, true) => Some(Vendor::Amd),
        // An error, which is said.
        (true, true) => None,
        (false, false) => {
            let archs = section.strings("archs")?;
            archs.first().map(|arch| targets::vendor(arch.get_ref()))
        }
    }
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
    let toolkit = toolkit(section, findings);
    if let Some(toolkit) = &toolkit {
        if Tier::ALL.into_iter().any(|tier| !outright(tier)) {
            for (tier, text) in toolkit.tiers(section, os.as_ref(), findings) {
                if let (false, Ok(reference)) = (outright(tier), Reference::parse(&text)) {
                    let reference = reference.through(host).to_string();
                    tiers.insert(tier, Spanned::new(toolkit.text().span(), reference));
                }
            }
        }
    } else if !["cuda", "rocm"].iter().any(|key| section.has(key))
        && !["gpu", "gpu.cuda", "gpu.rocm"]
            .iter()
            .any(|path| findings.is_meant(path))
    {
        missing_tiers(wanted, &outright, findings);
    }
    if section.boolean("cudnn") == Some(true) && !section.has("cuda") {
        findings.warning(
            Rule::KeyWithoutEffect,
            section.key_span("cudnn"),
            "`gpu.cudnn` has no effect",
            "it chooses among the images of `cuda`, and there is no `cuda`",
            "remove it, or write `cuda` and `os`",
        );
    }
    let vendor = vendor(section);
    let archs = targets::decode(section, toolkit.as_ref(), vendor, findings);
    if !section.has("archs") || section.items("archs").next().is_none() {
        missing_archs(section, toolkit.as_ref(), wanted, findings);
    }
    Gpu {
        tiers,
        vendor,
        toolkit: toolkit.map(|toolkit| toolkit.text().clone()),
        os,
        archs,
        mirror,
    }
}

/// The toolkit of `cuda` or `rocm`; both at once are an error.
fn toolkit(section: &Section<'_>, findings: &mut Findings) -> Option<Toolkit> {
    if section.has("cuda") && section.has("rocm") {
        let here = findings.place(section.key_span("rocm"));
        let there = findings.place(section.key_span("cuda"));
        findings.push(
            Diagnostic::error("`gpu.cuda` and `gpu.rocm` exclude each other")
                .at(here, "for AMD's GPUs")
                .at(there, "for NVIDIA's")
                .help("remove one of the two, and write a file of its own for the other vendor's GPUs"),
        );
        return None;
    }
    if section.has("rocm") {
        return amd::toolkit(section, findings).map(Toolkit::Rocm);
    }
    nvidia::toolkit(section, findings).map(Toolkit::Cuda)
}

/// The operating systems that the tiers could be of: those with images of the toolkit, or all that are known.
pub(super) fn systems(gpu: &Gpu) -> Vec<&'static str> {
    let version = gpu.toolkit.as_ref().map(|text| text.get_ref().as_str());
    os::names()
        .filter(|name| match (gpu.vendor, version) {
            (Some(Vendor::Nvidia), Some(version)) => nvidia::has_system(version, name),
            (Some(Vendor::Amd), Some(_)) => amd::has_system(name),
            _ => true,
        })
        .collect()
}

/// The error for a `[gpu]` without `os`, whose images `key` names together with it.
fn missing_os(section: &Section<'_>, key: &str, help: String, findings: &mut Findings) {
    if section.has("os") || findings.is_meant("gpu.os") {
        return;
    }
    findings.error(
        section.key_span(key),
        "`gpu.os` is missing",
        format!("`{key}` names images together with `os`"),
        help,
    );
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
        let (newest, rocm) = (cuda::newest(), gfx::newest());
        findings.push(diagnostic.help(format!(
            "write [gpu] with cuda = \"{newest}\" (or rocm = \"{rocm}\") and os = \"ubuntu24.04\", or with tiers.{tier} = \"registry/image:tag\""
        )));
    }
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
        .and_then(Toolkit::range)
        .map_or(String::new(), |range| format!(" ({range})"));
    let example = match toolkit {
        Some(Toolkit::Rocm(_)) => "archs = [\"gfx90a\", \"gfx942\"]",
        _ => keys::find("gpu", "archs").map_or("", |key| key.example),
    };
    findings.push(diagnostic.help(format!(
        "a build has no GPU to ask: write {example} under [gpu]{range}, or arch = \"any\" in a wheel without GPU code"
    )));
}
