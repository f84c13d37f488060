//! What a whole file says that is probably not meant: rules that need more than one section to be seen.
//!
//! Warnings that a value alone gives rise to are found where it is read. These here ask who uses what, so they come
//! last, and only of a file without errors.

use std::collections::BTreeSet;

use toml::Spanned;

use super::model::{
    CompilerCacheTool, Image, Provider, Sccache, Spec, Tier, Uv, Vendor, Wheel, WheelSource, wheel_of,
};
use crate::diagnostic::{Diagnostic, Location};
use crate::rules::{Rule, table_named, table_of};

/// Beginnings of the names of system packages that are compilers.
const COMPILERS: &[&str] = &[
    "build-essential",
    "clang",
    "cuda-compiler",
    "cuda-nvcc",
    "cuda-toolkit",
    "g++",
    "gcc",
    "hipcc",
    "nvidia-cuda-toolkit",
    "rocm-dev",
];

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

    /// The tables of wheels that these images have, and those that they need in turn.
    pub fn used_wheels<'a>(&'a self, images: impl Iterator<Item = &'a str>) -> BTreeSet<&'a str> {
        let mut open: Vec<&str> = images
            .filter_map(|name| self.images.get(name))
            .flat_map(|image| &image.wheels)
            .map(|name| name.get_ref().as_str())
            .collect();
        self.needed_wheels(&mut open)
    }

    /// The tables that packages come from, and those that they need in turn.
    fn needed_wheels<'a>(&'a self, open: &mut Vec<&'a str>) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::new();
        while let Some(name) = open.pop() {
            if let Some(name) = wheel_of(&self.wheels, name)
                && let Some(wheel) = self.wheels.get(name)
                && found.insert(name)
            {
                open.extend(wheel.needs.iter().map(|need| need.get_ref().name.as_str()));
            }
        }
        found
    }

    /// The tables that a target is made of, as the spec writes them; a target is an image or a wheel.
    pub fn tables_of(&self, target: &str) -> BTreeSet<String> {
        let mut tables = BTreeSet::new();
        let mut open = Vec::new();
        if let Some(image) = self.images.get(target) {
            tables.insert(format!("images.{}", image.name.get_ref()));
            open.extend(image.wheels.iter().map(|name| name.get_ref().as_str()));
        } else {
            open.push(target);
        }
        for name in self.needed_wheels(&mut open) {
            tables.insert(format!("wheels.{}", self.wheels[name].name.get_ref()));
        }
        tables
    }

    /// What findings say of these targets, and of the file as a whole: not what stands in tables of others.
    pub fn about<'a>(
        &self,
        targets: impl IntoIterator<Item = &'a str>,
        mut findings: Vec<Diagnostic>,
    ) -> Vec<Diagnostic> {
        let tables: BTreeSet<String> = targets
            .into_iter()
            .flat_map(|target| self.tables_of(target))
            .collect();
        findings.retain(|finding| {
            let location = finding.labels.first().map(|label| &label.location);
            let location = location.filter(|location| location.file == self.file);
            let table = location.and_then(table_of).unwrap_or_default();
            let mut parts = table.splitn(3, '.');
            match (parts.next(), parts.next()) {
                (Some(kind @ ("images" | "wheels")), Some(name)) => {
                    tables.contains(&format!("{kind}.{}", name.trim_matches(['"', '\''])))
                }
                _ => true,
            }
        });
        findings
    }

    fn lint_image(&self, image: &Image, found: &mut Vec<Diagnostic>) {
        let name = image.name.get_ref();
        let here = || self.locate(&image.name);
        if *image.tier.get_ref() == Tier::Devel {
            let what = match self.gpu.vendor {
                Some(Vendor::Amd) => "hipcc",
                Some(Vendor::Nvidia) | None => "nvcc",
            };
            found.push(
                Rule::CompilerInImage
                    .warning(format!("image `{name}` ships tier devel"))
                    .at(
                        self.locate(&image.tier),
                        format!("{what}, headers and static libraries"),
                    )
                    .help(
                        "take tier \"runtime\" or \"base\": wheels are compiled on devel whatever the image's tier is",
                    ),
            );
        } else {
            let compilers = self.system.runtime.iter().chain(&image.system);
            let compilers: BTreeSet<&str> = compilers
                .map(String::as_str)
                .filter(|package| is_compiler(package))
                .collect();
            if !compilers.is_empty() {
                let names: Vec<&str> = compilers.into_iter().collect();
                found.push(
                    Rule::CompilerInImage
                        .warning(format!(
                            "image `{name}` installs a compiler: {}",
                            names.join(", ")
                        ))
                        .at(here(), "")
                        .help("name it in `system.devel`, where wheels are compiled"),
                );
            }
            let root = |user: &str| matches!(user.split(':').next(), Some("root" | "0"));
            match &image.user {
                None => found.push(
                    Rule::RootUser
                        .warning(format!("image `{name}` names no user, and runs as root"))
                        .at(here(), "")
                        .help(
                            "add for example user = \"app\": it is made where the tier has none of that name",
                        ),
                ),
                Some(user) if root(user.get_ref()) => found.push(
                    Rule::RootUser
                        .warning(format!("image `{name}` runs as root"))
                        .at(self.locate(user), "")
                        .help("write for example user = \"app\""),
                ),
                Some(_) => {}
            }
        }
        for (key, words) in [("entrypoint", &image.entrypoint), ("cmd", &image.cmd)] {
            if let Some([only]) = words.as_deref()
                && only.trim().contains(' ')
            {
                let words: Vec<String> = only
                    .split_whitespace()
                    .map(|word| format!("\"{word}\""))
                    .collect();
                found.push(
                    Rule::CommandInOneWord
                        .warning(format!("`{key}` of `{name}` is one word with spaces in it"))
                        .at(here(), "")
                        .help(format!("write {key} = [{}]", words.join(", "))),
                );
            }
        }
        for copy in &image.copy {
            if is_all(copy.from.get_ref()) {
                found.push(
                    Rule::WholeContext
                        .warning(format!("image `{name}` copies the whole build context"))
                        .at(self.locate(&copy.from), "every file of the repository")
                        .help("name the folder that the image needs"),
                );
            }
        }
    }

    fn lint_wheel(&self, name: &str, wheel: &Wheel, used: bool, found: &mut Vec<Diagnostic>) {
        let written = wheel.name.get_ref();
        if !used {
            found.push(
                Rule::UnusedWheel
                    .warning(format!("no image has the wheel `{written}`"))
                    .at(self.locate(&wheel.name), "it is never built")
                    .help(format!(
                        "add \"{name}\" to `wheels` of an image, or remove the table"
                    )),
            );
        }
        if wheel.network {
            found.push(
                Rule::NetworkInCompile
                    .warning(format!("the build of `{written}` uses the network"))
                    .at(self.locate(&wheel.name), "what it fetches is in no key")
                    .help("give what it fetches as `source` or in `needs`"),
            );
        }
        match &wheel.source {
            WheelSource::Git { url, known_hosts, .. } if known_hosts.is_none() && is_ssh(url.get_ref()) => {
                found.push(
                    Rule::UnverifiedHost
                        .warning(format!("the host of `{written}` is not checked"))
                        .at(self.locate(url), "any host key is taken")
                        .help("add known-hosts = \"HOST ssh-ed25519 ...\", as `ssh-keyscan HOST` prints it"),
                );
            }
            WheelSource::Path { path, include, .. } if is_all(path.get_ref()) && include.is_empty() => {
                found.push(
                    Rule::WholeContext
                        .warning(format!("the source of `{written}` is the whole build context"))
                        .at(self.locate(path), "every edit compiles it again")
                        .help("name its folder, or say with `include` which files count"),
                );
            }
            _ => {}
        }
    }

    /// References of images that are written in the file.
    fn lint_references(&self, found: &mut Vec<Diagnostic>) {
        let tiers = self.named_tiers().map(|(_, reference)| reference);
        let uv = match &self.uv {
            Uv::Image { reference } => Some(reference),
            Uv::Wheel(_) => None,
        };
        let python = match &self.python.provider {
            Provider::Image { reference, .. } => Some(reference),
            Provider::System | Provider::Archive { .. } => None,
        };
        let sccache = match &self.compiler_cache.sccache {
            Sccache::Image { reference } => Some(reference),
            Sccache::File(_) | Sccache::Release(_) => None,
        };
        let sources = self.wheels.values().filter_map(|wheel| match &wheel.source {
            WheelSource::Image { reference, .. } => Some(reference),
            _ => None,
        });
        for reference in tiers.chain(uv).chain(python).chain(sccache).chain(sources) {
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

/// Whether a system package is a compiler: `gcc`, `gcc-12`, `cuda-nvcc-12-8`; not `gcc-12-base`, which holds no more than a
/// copyright.
fn is_compiler(package: &str) -> bool {
    !package.ends_with("-base")
        && COMPILERS.iter().any(|name| {
            package.strip_prefix(name).is_some_and(|rest| {
                rest.is_empty()
                    || rest
                        .trim_start_matches('-')
                        .starts_with(|first: char| first.is_ascii_digit())
            })
        })
}

fn is_all(path: &str) -> bool {
    matches!(path, "." | "./" | "/" | "")
}

fn is_ssh(url: &str) -> bool {
    url.starts_with("ssh://") || !url.contains("://")
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
    fn tables_of_a_target() {
        let text = whole(
            "[wheels.a]\narch = \"any\"\nsource = { path = \"a\" }\nneeds = [\"B\"]\n[wheels.B]\narch = \"any\"\n\
             source = { path = \"b\" }\n[images.one]\nwheels = [\"a\"]\n[images.two]\npackages = [\"p\"]\n",
        );
        let (spec, _) = Spec::parse(&SourceFile::new("wheelbase.toml", text)).unwrap();
        let of = |target| spec.tables_of(target).into_iter().collect::<Vec<_>>();
        assert_eq!(of("one"), ["images.one", "wheels.B", "wheels.a"]);
        assert_eq!(of("two"), ["images.two"]);
        assert_eq!(of("b"), ["wheels.B"]);
        let warnings = |targets: &[&str]| spec.about(targets.iter().copied(), spec.lint()).len();
        assert_eq!(
            (warnings(&["one"]), warnings(&["one", "two"]), warnings(&["b"])),
            (1, 2, 0)
        );
    }

    #[test]
    fn compilers_and_tags_are_told_apart() {
        for (package, compiler) in [
            ("gcc", true),
            ("gcc-12", true),
            ("g++-12", true),
            ("gcc-12-base", false),
            ("clang-format", false),
            ("clang-15", true),
            ("cuda-nvcc-12-8", true),
            ("libgomp1", false),
        ] {
            assert_eq!(is_compiler(package), compiler, "{package}");
        }
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
