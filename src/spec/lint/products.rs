//! What is probably not meant in a table of what is built: `[images.NAME]` and `[wheels.NAME]`.
//!
//! What is found stands in that table, by which [`Spec::about`] keeps it from whoever builds another target.

use std::collections::BTreeSet;

use crate::diagnostic::Diagnostic;
use crate::rules::Rule;
use crate::spec::model::{Image, Spec, Tier, Vendor, Wheel, WheelSource};

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
    pub(super) fn lint_image(&self, image: &Image, found: &mut Vec<Diagnostic>) {
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

    pub(super) fn lint_wheel(&self, name: &str, wheel: &Wheel, used: bool, found: &mut Vec<Diagnostic>) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_are_told_from_what_is_named_like_one() {
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
    }
}
