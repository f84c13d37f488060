//! What a whole file says that is probably not meant: rules that need more than one section to be seen.
//!
//! Warnings that a value alone gives rise to are found where it is read. These here ask who uses what, so they come
//! last, and only of a file without errors. Who uses what is said by [`targets`](super::targets).
//!
//! Rules of images and wheels are in `products`, those of what images and wheels are built on are here.

mod products;

use std::collections::BTreeSet;

use toml::Spanned;

use super::model::{CompilerCacheTool, Spec, Tier, Vendor, Wheel};
use crate::diagnostic::{Diagnostic, Location};
use crate::rules::{Rule, table_named};

impl Spec {
    /// The findings of all rules that need the whole file, in its order. They are not filtered: see
    /// [`crate::rules::Settings::keep`].
    pub fn lint(&self) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        let used = self.used_wheels(self.images.keys().map(String::as_str));
        for image in self.images.values() {
            self.lint_image(image, &mut found);
        }
        for (name, wheel) in &self.wheels {
            self.lint_wheel(name, wheel, used.contains(name.as_str()), &mut found);
        }
        self.lint_references(&mut found);
        self.lint_tiers(&used, &mut found);
        self.lint_cache(&used, &mut found);
        self.lint_archs(&used, &mut found);
        found.sort_by_key(|finding| {
            finding
                .labels
                .first()
                .map_or(0, |label| label.location.range.start)
        });
        found
    }

    /// References of images that are written in the file.
    fn lint_references(&self, found: &mut Vec<Diagnostic>) {
        let tiers = self.named_tiers().map(|(_, reference)| reference);
        let tools = [
            self.uv.image(),
            self.python.provider.image(),
            self.compiler_cache.sccache.image(),
        ];
        let sources = self.wheels.values().filter_map(|wheel| wheel.source.image());
        for reference in tiers.chain(tools.into_iter().flatten()).chain(sources) {
            if is_latest(reference.get_ref()) {
                found.push(
                    Rule::LatestTag
                        .warning(format!(
                            "{} is another image every time that it is pushed",
                            reference.get_ref()
                        ))
                        .at(self.locate(reference), "")
                        .help("write the tag of a version, or a digest"),
                );
            }
        }
    }

    /// Tiers that are named outright, and not by a toolkit's version.
    fn named_tiers(&self) -> impl Iterator<Item = (Tier, &Spanned<String>)> {
        let toolkit = self.gpu.toolkit.as_ref().map(Spanned::span);
        self.gpu
            .tiers
            .iter()
            .filter(move |(_, reference)| Some(reference.span()) != toolkit)
            .map(|(tier, reference)| (*tier, reference))
    }

    fn lint_tiers(&self, used: &BTreeSet<&str>, found: &mut Vec<Diagnostic>) {
        let compiled = used
            .iter()
            .any(|name| self.wheels.get(*name).is_some_and(Wheel::is_compiled));
        // Packages are installed on the smallest tier that there is.
        let smallest = self.gpu.tiers.keys().next().copied();
        for (tier, reference) in self.named_tiers() {
            let stood_on = self.images.values().any(|image| *image.tier.get_ref() == tier);
            if !stood_on && Some(tier) != smallest && !(tier == Tier::Devel && compiled) {
                found.push(
                    Rule::UnusedTier
                        .warning(format!("nothing uses tier {}", tier.as_str()))
                        .at(self.locate(reference), "this image is never pulled")
                        .help("remove it, or give it to an image with `tier`"),
                );
            }
            if !reference.get_ref().contains('@') {
                found.push(
                    Rule::UnpinnedTier
                        .warning(format!("tier {} is a tag without a digest", tier.as_str()))
                        .at(self.locate(reference), "")
                        .help("write the digest behind it: TAG@sha256:..., as `docker buildx imagetools inspect` prints it"),
                );
            }
        }
    }

    fn lint_cache(&self, used: &BTreeSet<&str>, found: &mut Vec<Diagnostic>) {
        let place = |key: &str| self.key_of_cache(key);
        if self.compiler_cache.tool == CompilerCacheTool::None {
            let compiled = used
                .iter()
                .filter_map(|name| self.wheels.get(*name))
                .filter(|wheel| wheel.is_compiled());
            let names: Vec<&str> = compiled.map(|wheel| wheel.name.get_ref().as_str()).collect();
            if !names.is_empty() {
                found.push(
                    Rule::UncachedCompile
                        .warning(format!(
                            "{} is compiled without a compiler cache",
                            names.join(", ")
                        ))
                        .at(place("tool"), "every edit compiles every file")
                        .help("write tool = \"ccache\" or \"sccache\": no key changes with it"),
                );
            }
        }
        if self.compiler_cache.store.is_some_and(|store| !store.require) {
            found.push(
                Rule::OptionalStore
                    .warning("a build goes on without the store of the compiler cache")
                    .at(place("store"), "")
                    .help("add require = true"),
            );
        }
    }

    /// Where a key of `[compiler-cache]` is, or its table, or the top of the file where it is written in another way.
    fn key_of_cache(&self, key: &str) -> Location {
        let Some(header) = table_named(&self.file, "compiler-cache") else {
            return Location::new(&self.file, self.name.span());
        };
        let mut start = header.range.end + 1;
        for line in self.file.text.get(start..).unwrap_or_default().split('\n') {
            let rest = line.trim_start();
            if rest.starts_with('[') {
                break;
            }
            if rest
                .strip_prefix(key)
                .is_some_and(|rest| rest.trim_start().starts_with('='))
            {
                let indent = line.len() - rest.len();
                return Location::new(&self.file, start + indent..start + line.trim_end().len());
            }
            start += line.len() + 1;
        }
        header
    }

    fn lint_archs(&self, used: &BTreeSet<&str>, found: &mut Vec<Diagnostic>) {
        let kernels = used.iter().any(|name| {
            self.wheels
                .get(*name)
                .is_some_and(|wheel| wheel.is_compiled() && !wheel.any_arch)
        });
        if self.gpu.vendor != Some(Vendor::Nvidia) || !kernels {
            return;
        }
        if let Some(last) = self.gpu.archs.last()
            && !self.gpu.archs.iter().any(|arch| arch.get_ref().ends_with("+PTX"))
        {
            found.push(
                Rule::NoPtx
                    .warning("no kernel runs on a GPU of a later generation")
                    .at(self.locate(last), "")
                    .help(format!(
                        "write \"{}+PTX\"",
                        last.get_ref().trim_end_matches(['a', 'f'])
                    )),
            );
        }
    }
}

/// Whether a reference has no digest, and the tag `latest` or none.
fn is_latest(reference: &str) -> bool {
    if reference.contains('@') {
        return false;
    }
    let name = reference.rsplit('/').next().unwrap_or(reference);
    name.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::SourceFile;
    use crate::rules::{Settings, Stage};

    /// What is said of a file, filtered as a build does it: rule and line.
    fn said(text: &str) -> Vec<(&'static str, usize)> {
        let file = SourceFile::new("wheelbase.toml", text);
        let settings = Settings::of(&file).unwrap();
        let (spec, mut warnings) = Spec::parse(&file).unwrap_or_else(|errors| {
            let errors: Vec<String> = errors.iter().map(|error| error.render(false)).collect();
            panic!("{}\n{text}", errors.join("\n"))
        });
        warnings.extend(spec.lint());
        warnings.extend(settings.warnings());
        settings
            .keep(warnings)
            .iter()
            .map(|finding| {
                let line = finding.labels.first().map_or(0, |label| {
                    label.location.file.position(label.location.range.start).0
                });
                (finding.rule.unwrap_or("none"), line)
            })
            .collect()
    }

    /// A piece of a file with what every file must have.
    fn whole(piece: &str) -> String {
        let (head, rest) = match piece.split_once('\n') {
            Some((head, rest)) if head.starts_with("# check") => (head, rest),
            None if piece.starts_with("# check") => (piece, ""),
            _ => ("# syntax=registry.example/wheelbase:1", piece),
        };
        let mut text = format!("{head}\nname = \"a\"\n{rest}\n");
        for (table, with) in [
            ("[gpu]", "[gpu]\ncuda = \"12.8.1\"\nos = \"ubuntu22.04\"\n"),
            ("[python]", "[python]\nversion = \"3.10\"\n"),
            (
                "[images.",
                "[images.serve]\npackages = [\"serve\"]\nuser = \"app\"\n",
            ),
        ] {
            if !text.contains(table) {
                text.push_str(with);
            }
        }
        if text.contains("tiers.base = \"registry") && !text.contains("provider") {
            text = text.replace(
                "version = \"3.10\"\n",
                "version = \"3.10\"\nprovider = \"system\"\n",
            );
        }
        text
    }

    #[test]
    fn every_rule_of_a_spec_is_broken_by_its_example_and_by_nothing_else() {
        for rule in Rule::ALL {
            let entry = rule.entry();
            if entry.bad.is_empty() {
                continue;
            }
            assert_eq!(entry.stage, Stage::Check);
            let broken: BTreeSet<&str> = said(&whole(entry.bad)).iter().map(|(name, _)| *name).collect();
            assert_eq!(broken, BTreeSet::from([entry.name]), "{}", entry.bad);
            assert_eq!(said(&whole(entry.good)), [], "{}", entry.good);
        }
    }

    #[test]
    fn findings_have_lines_of_their_own() {
        let text = whole(
            "[compiler-cache]\n  tool = \"none\"\n[wheels.a]\narch = \"any\"\nsource = { path = \".\" }\nneeds = [\"b\"]\n\
             [wheels.b]\narch = \"any\"\nsource = { path = \"b\" }\n[wheels.c]\narch = \"any\"\nsource = { path = \"c\" }\n\
             [images.one]\nwheels = [\"a\"]\nsystem = [\"gcc-12\", \"gcc-12-base\"]\nuser = \"0:0\"\n",
        );
        assert_eq!(
            said(&text),
            [
                ("UncachedCompile", 4),
                ("WholeContext", 7),
                ("UnusedWheel", 12),
                ("CompilerInImage", 15),
                ("RootUser", 18),
            ]
        );
    }

    #[test]
    fn latest_is_a_tag_or_none_at_all() {
        for (reference, latest) in [
            ("docker.io/library/a:latest", true),
            ("host:5000/a", true),
            ("host:5000/a:1", false),
            ("host:5000/a:latest@sha256:1", false),
        ] {
            assert_eq!(is_latest(reference), latest, "{reference}");
        }
    }
}
