//! The interpreter: which Python a file asks for, and who provides it.

use std::collections::BTreeMap;

use toml::Spanned;

use super::decode::DEFAULT_LOCK;
use super::findings::{Findings, Problem};
use super::model::{Download, Fetch, Os, Provider, Python};
use super::reference::Reference;
use super::section::Section;
use super::{cuda, paths, urls};

/// A managed build of Python 3.
#[derive(Debug)]
struct Build {
    /// Minor and patch version.
    version: (u32, u32),
    /// SHA-256 of the archive for amd64.
    amd64: &'static str,
    /// SHA-256 of the archive for arm64.
    arm64: &'static str,
}

/// The release of python-build-standalone that [`BUILDS`] are from.
const BUILD_DATE: &str = "20260814";

/// The newest patch level of each minor version in that release; hashes as in uv's `download-metadata.json`.
const BUILDS: &[Build] = &[
    Build {
        version: (10, 21),
        amd64: "807bb6746dd8b7a347fe833ee1cc2543457e5c2c98059dc454600468ee7cae7b",
        arm64: "686077ed8d668e3446f03f202bc3c99955d350a0db0ace5f8ce45f1b451b54b7",
    },
    Build {
        version: (11, 16),
        amd64: "3b437f08720d3ddd9c1904532476ec9fb373e800d1598c72c907dd6d5f29b79b",
        arm64: "6a250f5c9326eebaa528d5d132cd66ebd1d7540cf45ac703f19e13f41d1be9b6",
    },
    Build {
        version: (12, 14),
        amd64: "5acfa3e9ba26b51ae161c83aff278da915b590d22373a424b2ba55b8afe91fcc",
        arm64: "2d8e17dfd732102cfeb18e0e1fa6769b24caa034e159981129590fe409c7157a",
    },
    Build {
        version: (13, 15),
        amd64: "aaca2af2ab4d7b68a712660d1334c0cfd5ec13c0312ccd30c29122d8d0342320",
        arm64: "985efd78c1c6521b379f7c64c2a25e6a1130f07441d1af8be441aa05260886aa",
    },
    Build {
        version: (14, 7),
        amd64: "cefba034445d2875408d1fd4d5700ae6731563aeb54dcb39fd8164ab5c457533",
        arm64: "86dfb106b303fa6a1991f7da42ced3e11576f777be299b3162e06617b6d22542",
    },
];

impl Build {
    /// Both archives: `install_only_stripped` ones, linked against a glibc older than any tier's.
    fn archives(&self, span: std::ops::Range<usize>) -> BTreeMap<String, Download> {
        let (minor, patch) = self.version;
        [("amd64", "x86_64", self.amd64), ("arm64", "aarch64", self.arm64)]
            .into_iter()
            .map(|(architecture, machine, sha256)| {
                let url = format!(
                    "https://github.com/astral-sh/python-build-standalone/releases/download/{BUILD_DATE}/\
                     cpython-3.{minor}.{patch}%2B{BUILD_DATE}-{machine}-unknown-linux-gnu-install_only_stripped.tar.gz"
                );
                let download = Download { url: Spanned::new(span.clone(), url), sha256: sha256.to_owned() };
                (architecture.to_owned(), download)
            })
            .collect()
    }
}

/// Reads `[python]`. `os` is the tiers' operating system where the file says it; `mirror` applies to the image of
/// a provider, and not to archives. `systems` are those that the tiers could be of.
pub(super) fn decode(
    section: &Section<'_>,
    os: Option<&Spanned<Os>>,
    systems: &[&str],
    mirror: Option<&str>,
    findings: &mut Findings,
) -> Option<Python> {
    let version = section.string("version").and_then(|text| {
        let parsed = findings.check(text.span(), version(text.get_ref()))?;
        Some(Spanned::new(text.span(), parsed))
    });
    let lock = match section.string("lock") {
        Some(lock) => findings
            .check(lock.span(), paths::context(lock.get_ref()))
            .map(|path| Spanned::new(lock.span(), path)),
        None => Some(Spanned::new(section.span.clone(), DEFAULT_LOCK.to_owned())),
    };
    let fetch = match section
        .string("fetch")
        .as_ref()
        .map(|word| word.get_ref().as_str())
    {
        Some("file") => Fetch::File,
        Some("index") => Fetch::Index,
        _ => Fetch::Auto,
    };
    let provider = match section.string("provider") {
        Some(word) if word.get_ref() == "system" => {
            if let (Some(version), Some(os)) = (&version, os) {
                system(version, &word, os, systems, findings);
            }
            Some(Provider::System)
        }
        None if section.has("provider") => own(&section.section("provider"), mirror, findings),
        _ => version
            .as_ref()
            .and_then(|version| automatic(version, os, findings)),
    };
    Some(Python {
        version: version?,
        lock: lock?,
        provider: provider?,
        fetch,
    })
}

/// Major and minor version.
fn version(text: &str) -> Result<(u32, u32), Problem> {
    let numbers: Option<Vec<u32>> = text
        .split('.')
        .map(|part| part.parse().ok().filter(|_| cuda::is_number(part)))
        .collect();
    match numbers.as_deref() {
        Some([3, minor]) if *minor >= 8 => Ok((3, *minor)),
        Some([3, minor]) => Err(Problem::new(
            format!("Python 3.{minor} is older than what uv installs for"),
            "write 3.8 or later, such as version = \"3.12\"",
        )),
        Some([3, minor, ..]) => Err(Problem::new(
            format!("`{text}` says more than major and minor version"),
            format!("write version = \"3.{minor}\"; the provider decides the patch level"),
        )),
        _ => Err(Problem::new(
            format!("`{text}` is not a version of Python 3"),
            "write major and minor version, such as version = \"3.12\"",
        )),
    }
}

/// `provider = "system"`: the operating system must have this version.
fn system(
    version: &Spanned<(u32, u32)>,
    word: &Spanned<String>,
    os: &Spanned<Os>,
    systems: &[&str],
    findings: &mut Findings,
) {
    let ((_, minor), name) = (*version.get_ref(), &os.get_ref().name);
    if os.get_ref().pythons.contains(&minor) {
        return;
    }
    let has: Vec<String> = os
        .get_ref()
        .pythons
        .iter()
        .map(|minor| format!("3.{minor}"))
        .collect();
    let others: Vec<&str> = systems
        .iter()
        .copied()
        .filter(|name| super::os::find(name).is_ok_and(|os| os.pythons.contains(&minor)))
        .collect();
    let elsewhere = if others.is_empty() {
        String::new()
    } else {
        format!(" (or an `os` that has it: {})", others.join(", "))
    };
    let (asked, here, there) = (
        findings.place(word.span()),
        findings.place(version.span()),
        findings.place(os.span()),
    );
    findings.push(
        crate::diagnostic::Diagnostic::error(format!("{name} has no Python 3.{minor} of its own"))
            .at(asked, "the system's own is asked for")
            .at(here, "")
            .at(there, format!("{name} has Python {}", has.join(", ")))
            .help(format!(
                "write provider = \"auto\" for a managed build of 3.{minor}{elsewhere}, or version = \"{}\"",
                has.first().map_or("", String::as_str)
            )),
    );
}

/// `provider = "auto"`: the system's own where it has this version, else a managed build.
fn automatic(
    version: &Spanned<(u32, u32)>,
    os: Option<&Spanned<Os>>,
    findings: &mut Findings,
) -> Option<Provider> {
    let (_, minor) = *version.get_ref();
    let Some(os) = os.filter(|os| !os.get_ref().pythons.contains(&minor)) else {
        return Some(Provider::System);
    };
    if let Some(build) = BUILDS.iter().find(|build| build.version.0 == minor) {
        return Some(Provider::Archive {
            archives: build.archives(version.span()),
        });
    }
    let own: Vec<String> = os
        .get_ref()
        .pythons
        .iter()
        .map(|minor| format!("3.{minor}"))
        .collect();
    let managed: Vec<String> = BUILDS
        .iter()
        .map(|build| format!("3.{}", build.version.0))
        .collect();
    findings.error(
        version.span(),
        format!("nothing provides Python 3.{minor} on {}", os.get_ref().name),
        "",
        format!(
            "{} has {} of its own, and there are managed builds of {}; for others write provider = {{ url, sha256 }}",
            os.get_ref().name,
            own.join(", "),
            managed.join(", ")
        ),
    );
    None
}

/// `provider = { ... }`.
fn own(section: &Section<'_>, mirror: Option<&str>, findings: &mut Findings) -> Option<Provider> {
    if section.has("image") {
        let image = section.string("image");
        let reference = image.and_then(|text| image_reference(&text, mirror, findings));
        let path = match section.string("path") {
            Some(path) => findings.check(path.span(), paths::absolute(path.get_ref())),
            None => Some("/opt/python".to_owned()),
        };
        return Some(Provider::Image {
            reference: reference?,
            path: path?,
        });
    }
    if section.has("url") {
        let download = urls::download(findings, section)?;
        return Some(Provider::Archive {
            archives: BTreeMap::from([("amd64".to_owned(), download)]),
        });
    }
    let archives = ["amd64", "arm64"]
        .into_iter()
        .filter(|architecture| section.has(architecture))
        .map(|architecture| {
            let download = urls::download(findings, &section.section(architecture));
            Some((architecture.to_owned(), download?))
        })
        .collect::<Vec<_>>();
    Some(Provider::Archive {
        archives: archives.into_iter().collect::<Option<BTreeMap<_, _>>>()?,
    })
}

/// An image reference of the file: normalised, through the mirror. What is refused may be a password and is
/// concealed.
pub(super) fn image_reference(
    text: &Spanned<String>,
    mirror: Option<&str>,
    findings: &mut Findings,
) -> Option<Spanned<String>> {
    let parsed = Reference::parse(text.get_ref());
    if parsed.is_err() && text.get_ref().contains('@') {
        findings.conceal(text.span());
    }
    let reference = findings.check(text.span(), parsed)?;
    Some(Spanned::new(text.span(), reference.through(mirror).to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        assert_eq!(version("3.12").unwrap(), (3, 12));
        assert!(version("3.12.1").unwrap_err().help.contains("\"3.12\""));
        for text in ["", "3", "2.7", "3.7", "three", "3.+12", "3.12.x"] {
            assert!(version(text).is_err(), "{text}");
        }
    }

    #[test]
    fn builds_are_pinned_for_both_architectures() {
        assert!(BUILDS.windows(2).all(|pair| pair[0].version < pair[1].version));
        for build in BUILDS {
            let archives = build.archives(0..0);
            assert_eq!(
                archives.keys().map(String::as_str).collect::<Vec<_>>(),
                ["amd64", "arm64"]
            );
            for download in archives.values() {
                assert!(urls::file(download.url.get_ref()).is_ok() && urls::sha256(&download.sha256).is_ok());
            }
            assert_ne!(archives["amd64"].sha256, archives["arm64"].sha256);
        }
    }
}
