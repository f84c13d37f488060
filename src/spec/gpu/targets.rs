//! `gpu.archs`: which GPUs are compiled for, and whether the compiler can.

use toml::Spanned;

use super::Toolkit;
use crate::diagnostic::Diagnostic;
use crate::rules::Rule;
use crate::spec::archs::Arch;
use crate::spec::findings::{Findings, Problem};
use crate::spec::gfx::Target;
use crate::spec::model::Vendor;
use crate::spec::section::{self, Section};

/// An item of `archs` or `compiler-archs`.
enum Item {
    Cuda(Arch),
    Rocm(Target),
}

/// Whose GPU a text is meant to name.
pub(super) fn vendor(text: &str) -> Vendor {
    if Target::is_meant(text) {
        Vendor::Amd
    } else {
        Vendor::Nvidia
    }
}

impl Item {
    /// Reads a target of the vendor.
    fn parse(text: &str, vendor: Vendor) -> Result<Self, Problem> {
        match vendor {
            Vendor::Amd => Target::parse(text).map(Self::Rocm),
            Vendor::Nvidia if Target::is_meant(text) => Err(Problem::new(
                format!("`{text}` is a target of AMD's GPUs, and what is compiled here is CUDA"),
                "write rocm = \"6.4\" in the place of `cuda`, or a compute capability such as \"9.0\"",
            )),
            Vendor::Nvidia => Arch::parse(text).map(Self::Cuda),
        }
    }

    /// Checks that the toolkit's compiler compiles for it.
    fn check(&self, toolkit: &Toolkit) -> Result<(), Problem> {
        match (self, toolkit) {
            (Self::Cuda(arch), Toolkit::Cuda(toolkit)) => arch.check(toolkit.version),
            (Self::Rocm(target), Toolkit::Rocm(toolkit)) => target.check(toolkit.version),
            _ => Ok(()),
        }
    }

    fn is_among(&self, emitted: &[Spanned<Self>]) -> bool {
        emitted.iter().any(|known| match (self, known.get_ref()) {
            (Self::Cuda(arch), Self::Cuda(known)) => arch.is_among(&[*known]),
            (Self::Rocm(target), Self::Rocm(known)) => target.is_among(std::slice::from_ref(known)),
            _ => false,
        })
    }
}

/// Reads `archs`, and checks them against the toolkit, or against `compiler-archs` where that is there.
pub(super) fn decode(
    section: &Section<'_>,
    toolkit: Option<&Toolkit>,
    vendor: Option<Vendor>,
    findings: &mut Findings,
) -> Vec<Spanned<String>> {
    let Some(vendor) = vendor else {
        return Vec::new();
    };
    let (texts, items) = read(section, "archs", vendor, findings);
    let (known, emitted) = read(section, "compiler-archs", vendor, findings);
    for (item, text) in items.iter().zip(&texts) {
        if let Item::Cuda(arch) = item.get_ref()
            && arch.is_pointless_ptx()
        {
            findings.warning(
                Rule::PointlessPtx,
                item.span(),
                format!(
                    "`+PTX` adds nothing to `{}`",
                    text.get_ref().trim_end_matches("+PTX")
                ),
                "code of an `a` form runs on that GPU alone",
                "add `+PTX` to a capability without `a`",
            );
        }
        if section.has("compiler-archs") {
            if !emitted.is_empty() && !item.get_ref().is_among(&emitted) {
                let all: Vec<&str> = known.iter().map(|text| text.get_ref().as_str()).collect();
                let here = findings.place(item.span());
                let there = findings.place(section.key_span("compiler-archs"));
                findings.push(
                    Diagnostic::error(format!("the compiler cannot compile for {}", text.get_ref()))
                        .at(here, "")
                        .at(there, "what it can")
                        .help(format!(
                            "it knows {}; add what it can beside that, or leave {} out",
                            all.join(", "),
                            text.get_ref()
                        )),
                );
            }
        } else if let Some(toolkit) = toolkit
            && let Err(Problem { message, help }) = item.get_ref().check(toolkit)
        {
            let (here, there) = (findings.place(item.span()), findings.place(toolkit.text().span()));
            findings.push(
                Diagnostic::error(message)
                    .at(here, "")
                    .at(there, "the toolkit")
                    .help(help),
            );
        }
    }
    exclusive(&items, findings);
    texts
}

/// The items of a key that can be read, each as text and as target; errors for the others.
fn read(
    section: &Section<'_>,
    key: &str,
    vendor: Vendor,
    findings: &mut Findings,
) -> (Vec<Spanned<String>>, Vec<Spanned<Item>>) {
    let texts = section.strings(key).unwrap_or_default();
    let texts = section::unique(findings, &format!("`gpu.{key}`"), texts);
    let mut read = (Vec::new(), Vec::new());
    for text in texts {
        if let Some(item) = findings.check(text.span(), Item::parse(text.get_ref(), vendor)) {
            read.1.push(Spanned::new(text.span(), item));
            read.0.push(text);
        }
    }
    read
}

/// One processor with and without a setting of a feature: clang refuses to compile for both at once.
fn exclusive(items: &[Spanned<Item>], findings: &mut Findings) {
    for (index, item) in items.iter().enumerate() {
        let Item::Rocm(target) = item.get_ref() else {
            continue;
        };
        let other = items[..index].iter().find_map(|other| match other.get_ref() {
            Item::Rocm(known) if known.excludes(target) => Some((known, other.span())),
            _ => None,
        });
        if let Some((known, span)) = other {
            let (here, there) = (findings.place(item.span()), findings.place(span));
            findings.push(
                Diagnostic::error(format!("`{target}` and `{known}` cannot be compiled for at once"))
                    .at(here, "")
                    .at(there, "")
                    .help("set a feature in all items of a processor or in none of them"),
            );
        }
    }
}
