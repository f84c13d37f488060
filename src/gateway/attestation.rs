//! What a build says of its images, beside the images.
//!
//! The daemon attaches statements to an image when it is exported. They are made from files that it is given here
//! (`exporter/attestation` of BuildKit; in-toto statements, SPDX 2.3).

use std::collections::BTreeMap;

use super::options::{Options, wrong};
use super::result::Reference;
use super::values::comma_separated;
use crate::diagnostic::Diagnostic;
use crate::proto::frontend;

/// Predicate type of an SPDX document, as in-toto names it.
const SPDX: &str = "https://spdx.dev/Document";

/// The scanner that clients mean who name none.
const SCANNER: &str = "docker/buildkit-syft-scanner:stable-1";

/// What is attested of one image.
#[derive(Debug, Clone, PartialEq)]
pub enum Attestation {
    /// A list of what is in it, in SPDX: a file of a filesystem.
    Spdx {
        /// The filesystem.
        reference: Reference,
        /// The file.
        path: String,
    },
    /// All that a scanner has left in its folder (`docs/attestations/sbom-protocol.md` of BuildKit).
    Scan {
        /// The folder.
        reference: Reference,
        /// The name of the statement that is about the image itself.
        core: String,
    },
}

impl Attestation {
    pub(super) fn into_wire(self) -> frontend::Attestation {
        match self {
            Self::Spdx { reference, path } => frontend::Attestation {
                kind: frontend::AttestationKind::InToto.into(),
                metadata: metadata(None),
                r#ref: Some(reference.into_wire()),
                path,
                in_toto_predicate_type: SPDX.to_owned(),
                in_toto_subjects: vec![frontend::InTotoSubject {
                    kind: frontend::InTotoSubjectKind::Self_.into(),
                    ..frontend::InTotoSubject::default()
                }],
            },
            Self::Scan { reference, core } => frontend::Attestation {
                kind: frontend::AttestationKind::Bundle.into(),
                metadata: metadata(Some(core)),
                r#ref: Some(reference.into_wire()),
                ..frontend::Attestation::default()
            },
        }
    }
}

/// Keys of `solver/result/attestation.go`.
fn metadata(core: Option<String>) -> BTreeMap<String, Vec<u8>> {
    let mut metadata = BTreeMap::from([("reason".to_owned(), b"sbom".to_vec())]);
    metadata.extend(core.map(|core| ("sbom-core".to_owned(), core.into_bytes())));
    metadata
}

/// The scanner that a client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scanner {
    /// Its image.
    pub image: String,
    /// What it is told, as variables `BUILDKIT_SCAN_NAME`.
    pub parameters: BTreeMap<String, String>,
    /// What it is to look at beside the image.
    pub stages: ScannedStages,
}

/// The stages that a scanner looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScannedStages {
    /// None.
    Nothing,
    /// All that compile wheels.
    Everything,
    /// Those of these wheels.
    Wheels(Vec<String>),
}

impl Options {
    /// The scanner, when `--sbom` or `--attest type=sbom` asks for one. Provenance is the daemon's business.
    ///
    /// # Errors
    ///
    /// For a kind of attestation that nobody knows, and a value that is none.
    pub fn scanner(&self) -> Result<Option<Scanner>, Diagnostic> {
        let mut asked = self.with_prefix("attest:");
        for (name, value) in self.with_prefix("build-arg:BUILDKIT_ATTEST_") {
            asked.insert(
                if name.eq_ignore_ascii_case("sbom") {
                    "sbom"
                } else {
                    name
                },
                value,
            );
        }
        let known = |kind: &str| {
            ["sbom", "provenance"]
                .iter()
                .any(|known| kind.eq_ignore_ascii_case(known))
        };
        if let Some(kind) = asked.keys().find(|kind| !known(kind)) {
            return Err(wrong(
                &format!("attest:{kind}"),
                "the kinds are sbom and provenance",
            ));
        }
        let Some(value) = asked.get("sbom") else {
            return Ok(None);
        };
        let mut image = SCANNER.to_owned();
        let mut parameters = BTreeMap::new();
        for field in comma_separated(value).iter().filter(|field| !field.is_empty()) {
            let (name, value) = field
                .split_once('=')
                .ok_or_else(|| wrong("attest:sbom", format!("`{field}` has no `=`")))?;
            match name {
                "generator" if value.is_empty() => {
                    return Err(wrong("attest:sbom", "the generator is empty"));
                }
                "generator" => value.clone_into(&mut image),
                _ => {
                    parameters.insert(name.to_owned(), value.to_owned());
                }
            }
        }
        let stages = match self.get("build-arg:BUILDKIT_SBOM_SCAN_STAGE") {
            None | Some("" | "false") => ScannedStages::Nothing,
            Some("true") => ScannedStages::Everything,
            Some(names) => ScannedStages::Wheels(comma_separated(names)),
        };
        Ok(Some(Scanner {
            image,
            parameters,
            stages,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanner(pairs: &[(&str, &str)]) -> Result<Option<Scanner>, Diagnostic> {
        Options::of(pairs).scanner()
    }

    #[test]
    fn nobody_scans_who_is_not_asked() {
        assert_eq!(scanner(&[]), Ok(None));
        assert_eq!(scanner(&[("attest:provenance", "mode=min")]), Ok(None));
    }

    #[test]
    fn a_scanner_is_named_or_the_usual_one() {
        let usual = scanner(&[("attest:sbom", "")]).unwrap().unwrap();
        assert_eq!(
            (usual.image.as_str(), usual.stages),
            (SCANNER, ScannedStages::Nothing)
        );
        let named = scanner(&[
            ("attest:sbom", "generator=registry.example/scan:1,DEPTH=2"),
            ("build-arg:BUILDKIT_SBOM_SCAN_STAGE", "kernel,other"),
        ]);
        let named = named.unwrap().unwrap();
        assert_eq!(named.image, "registry.example/scan:1");
        assert_eq!(named.parameters["DEPTH"], "2");
        assert_eq!(
            named.stages,
            ScannedStages::Wheels(vec!["kernel".to_owned(), "other".to_owned()])
        );
        let argument = scanner(&[
            ("build-arg:BUILDKIT_ATTEST_SBOM", "generator=a:1"),
            ("build-arg:BUILDKIT_SBOM_SCAN_STAGE", "true"),
        ]);
        let argument = argument.unwrap().unwrap();
        assert_eq!(
            (argument.image.as_str(), argument.stages),
            ("a:1", ScannedStages::Everything)
        );
    }

    #[test]
    fn what_nobody_knows_is_refused() {
        for (key, value, says) in [
            ("attest:slsa", "", "attest:slsa"),
            ("attest:sbom", "generator=", "the generator is empty"),
            ("attest:sbom", "generator", "has no `=`"),
        ] {
            let error = scanner(&[(key, value)]).unwrap_err();
            assert!(error.message.contains(says), "{}", error.message);
        }
    }
}
