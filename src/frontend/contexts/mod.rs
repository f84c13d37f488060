//! Named contexts, `--build-context NAME=VALUE`: which names count, and for what.
//!
//! A name that nothing looks up would be passed over in silence, and what was meant to be replaced would not be. So
//! a name that does not count is an error.

use std::collections::{BTreeMap, BTreeSet};

use super::failure::{Failure, refuse};
use crate::diagnostic::{Diagnostic, nearest};
use crate::gateway::{Options, context_name};
use crate::spec::{Spanned, Spec, Tier};

mod load;
mod previous;

pub(super) use load::{Named, load, lock_paths, of_files};
pub(super) use previous::previous;

use previous::PREVIOUS;

/// The names of what is no tier, no image and no wheel.
const LOCK: &str = "lock";
const CONTEXT: &str = "context";

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    /// A tier of the spec.
    Tier(Tier),
    /// An image that the spec names, by its full reference.
    Image(String),
    /// The source of a wheel that is compiled.
    Source,
    /// A wheel that is there already.
    Ready,
    /// The lock.
    Lock,
    /// The files of the build context.
    Files,
    /// The image that a build is compared with.
    Previous,
}

impl Role {
    fn words(&self) -> &'static str {
        match self {
            Self::Tier(_) => "a tier",
            Self::Image(_) => "an image of the spec",
            Self::Source | Self::Ready => "a wheel",
            Self::Lock => "the lock",
            Self::Files => "the build context",
            Self::Previous => "the image that builds are compared with",
        }
    }
}

/// All names that count for a spec.
fn roles(spec: &Spec) -> BTreeMap<String, BTreeSet<Role>> {
    let mut roles: BTreeMap<String, BTreeSet<Role>> = BTreeMap::new();
    let mut add = |name: String, role: Role| {
        roles.entry(name).or_default().insert(role);
    };
    for (name, role) in [
        (LOCK, Role::Lock),
        (CONTEXT, Role::Files),
        (PREVIOUS, Role::Previous),
    ] {
        add(name.to_owned(), role);
    }
    for tier in spec.gpu.tiers.keys() {
        add(tier.as_str().to_owned(), Role::Tier(*tier));
    }
    for (name, wheel) in &spec.wheels {
        let role = if wheel.is_compiled() {
            Role::Source
        } else {
            Role::Ready
        };
        add(name.clone(), role);
    }
    for reference in images(spec) {
        let reference = reference.get_ref();
        add(context_name(reference), Role::Image(reference.clone()));
    }
    roles
}

/// The images that a spec names.
fn images(spec: &Spec) -> impl Iterator<Item = &Spanned<String>> {
    let sources = spec.wheels.values().filter_map(|wheel| wheel.source.image());
    let tiers = spec.gpu.tiers.values();
    tiers
        .chain(spec.python.provider.image())
        .chain(spec.uv.image())
        .chain(spec.compiler_cache.sccache.image())
        .chain(sources)
}

/// Refuses names that do not count, or count twice. A build without a question takes `previous` too: it may stand in a bake
/// file.
pub(super) fn check(options: &Options, spec: &Spec) -> Result<(), Failure> {
    // The frontend's own image can be replaced; the daemon has done that already.
    let own = options.source().map(context_name);
    let names: BTreeSet<String> = options
        .named_contexts()?
        .into_iter()
        .map(|context| context.name)
        .filter(|name| Some(name) != own.as_ref())
        .collect();
    let roles = roles(spec);
    let errors: Vec<Diagnostic> = names
        .iter()
        .filter_map(|name| match roles.get(name) {
            None => Some(unused(name, &roles)),
            Some(of) if of.len() > 1 => Some(ambiguous(name, of)),
            Some(of) if of.contains(&Role::Ready) => Some(ready(name, spec)),
            Some(_) => None,
        })
        .collect();
    refuse(errors)
}

fn unused(name: &str, roles: &BTreeMap<String, BTreeSet<Role>>) -> Diagnostic {
    let help = match nearest(name, roles.keys().map(String::as_str)) {
        Some(PREVIOUS) => {
            format!("did you mean `{PREVIOUS}`, the image that --call wheelbase.explain compares with?")
        }
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            let names = roles.iter().filter(|(_, roles)| !roles.contains(&Role::Ready));
            let names: Vec<&str> = names.map(|(name, _)| name.as_str()).collect();
            format!(
                "a named context stands in for a tier, an image that the spec names, the source of a wheel, `{LOCK}`, \
                 `{CONTEXT}`, or is `{PREVIOUS}`; here that is one of: {}",
                names.join(", ")
            )
        }
    };
    Diagnostic::error(format!("nothing uses the named context `{name}`")).help(help)
}

fn ambiguous(name: &str, of: &BTreeSet<Role>) -> Diagnostic {
    let words: BTreeSet<&str> = of.iter().map(Role::words).collect();
    let words: Vec<&str> = words.into_iter().collect();
    Diagnostic::error(format!(
        "the named context `{name}` could stand in for several things: {}",
        words.join(", ")
    ))
    .help("rename the wheel; a tier or an image can be given by its reference too")
}

/// A wheel without a build has no source.
fn ready(name: &str, spec: &Spec) -> Diagnostic {
    let error = Diagnostic::error(format!(
        "the named context `{name}` could stand in for the source of a wheel, and this wheel is not built"
    ))
    .help("give the wheel a source that is built, such as { path = \"...\" }, and the context replaces it");
    match spec.wheels.get(name) {
        Some(wheel) => error.at(spec.locate(&wheel.name), "there already"),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::SourceFile;

    const SPEC: &str = "name = \"app\"\n[gpu]\narchs = [\"9.0\"]\ntiers.base = \"registry.example/base:1\"\n\
                        tiers.devel = \"nvidia/cuda:13\"\n[python]\nversion = \"3.11\"\n\
                        provider = { image = \"registry.example/python\" }\n\
                        [wheels.flash-attn]\nsource = { path = \"kernel\" }\n\
                        [wheels.ready]\nsource = { wheel = \"ready-1.0-py3-none-any.whl\" }\n\
                        [wheels.lock]\nsource = { path = \"lock\" }\n\
                        [images.app]\ntier = \"base\"\nwheels = [\"flash-attn\"]\n";

    fn checked(pairs: &[(&str, &str)]) -> Result<(), Vec<String>> {
        let (spec, _) = Spec::parse(&SourceFile::new("wheelbase.toml", SPEC)).unwrap();
        match check(&Options::of(pairs), &spec) {
            Ok(()) => Ok(()),
            Err(Failure::Findings(findings)) => Err(findings
                .iter()
                .map(|finding| {
                    let help = finding.help.as_deref().unwrap_or_default();
                    format!("{}: {help}", finding.message)
                })
                .collect()),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn names_that_count_are_taken() {
        let own = ("context:zot.example/wheelbase:1", "oci-layout://store@sha256:1");
        for name in [
            "previous",
            "context",
            "base",
            "devel",
            "flash-attn",
            "nvidia/cuda:13",
            "nvidia/cuda:13::linux/arm64",
            "registry.example/python",
        ] {
            let context = format!("context:{name}");
            let pairs = [("source", "zot.example/wheelbase:1"), own, (&context, "local:p")];
            assert_eq!(checked(&pairs), Ok(()), "{name}");
        }
    }

    #[test]
    fn names_that_do_not_count_are_refused() {
        let said = checked(&[
            ("context:previuos", "docker-image://a"),
            ("context:flash_attn", "local:b"),
            ("context:runtime", "local:b"),
            ("context:nvidia/cuda:12::linux/amd64", "docker-image://b"),
            ("context:nvidia/cuda:12::linux/arm64", "docker-image://c"),
            ("context:lock", "local:b"),
            ("context:ready", "local:b"),
        ]);
        insta::assert_snapshot!(said.unwrap_err().join("\n"), @r#"
        nothing uses the named context `flash_attn`: did you mean `flash-attn`?
        the named context `lock` could stand in for several things: a wheel, the lock: rename the wheel; a tier or an image can be given by its reference too
        nothing uses the named context `nvidia/cuda:12`: did you mean `nvidia/cuda:13`?
        nothing uses the named context `previuos`: did you mean `previous`, the image that --call wheelbase.explain compares with?
        the named context `ready` could stand in for the source of a wheel, and this wheel is not built: give the wheel a source that is built, such as { path = "..." }, and the context replaces it
        nothing uses the named context `runtime`: a named context stands in for a tier, an image that the spec names, the source of a wheel, `lock`, `context`, or is `previous`; here that is one of: base, context, devel, flash-attn, ghcr.io/astral-sh/uv:0.13.9, lock, nvidia/cuda:13, previous, registry.example/base:1, registry.example/python
        "#);
    }
}
