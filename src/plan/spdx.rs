//! What is in an image, as an SPDX document (version 2.3).
//!
//! A scanner guesses from what it finds in a filesystem. The lock knows: which file of which hash was installed, and a
//! compiled wheel was made from a source that the plan names. Packages of the tiers are a scanner's business.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::key::digest;
use super::model::{Compile, Download, Package, Plan, Project, ReadyWheel, Source, StageId, Supply, Work};
use crate::diagnostic::without_secrets;

/// The time of a document that nobody gave one: as of the files that it is about.
const CREATED: &str = "1980-01-01T00:00:00Z";

/// Where names of documents begin. It is a name, and not a place to look.
const NAMESPACE: &str = "https://spdx.example/wheelbase";

/// The document of one image. `created` is a time as RFC 3339 has it; the same plan and time give the same bytes.
///
/// # Panics
///
/// When the plan has no image of this name.
pub fn spdx(plan: &Plan, image: &str, created: Option<&str>) -> Value {
    let root = &plan.images[image].root;
    let mut packages = Packages::default();
    let mut about = Map::new();
    about.insert("versionInfo".into(), json!(plan.images[image].location.file.name));
    packages.add(IMAGE, image, about);
    let base = plan.closure(root.base);
    for id in &base {
        if let Work::Image(source) = &plan.stage(*id).work {
            let id = packages.image(&source.reference, source.digest.as_deref());
            packages.relate(IMAGE, "DESCENDANT_OF", &id);
        }
    }
    for id in &root.trees {
        match &plan.stage(*id).work {
            Work::Install(install) => {
                for package in &install.packages {
                    let id = packages.locked(package, &install.supply);
                    packages.relate(IMAGE, "CONTAINS", &id);
                }
            }
            Work::InstallWheels { wheels, .. } => {
                for (name, stage) in wheels {
                    let id = packages.built(plan, name, *stage);
                    packages.relate(IMAGE, "CONTAINS", &id);
                }
            }
            Work::Python(super::PythonSource::Archive(archive)) => {
                let id = packages.file("python", archive);
                packages.relate(IMAGE, "CONTAINS", &id);
            }
            Work::Python(super::PythonSource::Image { image, .. }) => {
                if let Work::Image(source) = &plan.stage(*image).work {
                    let id = packages.image(&source.reference, source.digest.as_deref());
                    packages.relate(IMAGE, "CONTAINS", &id);
                }
            }
            _ => {}
        }
    }
    packages.document(image, created.unwrap_or(CREATED))
}

/// The element that is the image.
const IMAGE: &str = "SPDXRef-Image";

#[derive(Debug, Default)]
struct Packages {
    by_id: BTreeMap<String, Map<String, Value>>,
    relations: BTreeSet<(String, &'static str, String)>,
}

impl Packages {
    /// Adds an element with what is known of it.
    fn add(&mut self, id: &str, name: &str, known: Map<String, Value>) {
        let mut package = Map::new();
        package.insert("SPDXID".into(), json!(id));
        package.insert("name".into(), json!(name));
        package.insert("downloadLocation".into(), json!("NOASSERTION"));
        package.insert("filesAnalyzed".into(), json!(false));
        for unknown in ["licenseConcluded", "licenseDeclared", "copyrightText"] {
            package.insert(unknown.into(), json!("NOASSERTION"));
        }
        package.extend(known);
        self.by_id.insert(id.to_owned(), package);
    }

    fn relate(&mut self, one: &str, how: &'static str, other: &str) {
        self.relations.insert((one.to_owned(), how, other.to_owned()));
    }

    /// A package of the lock.
    fn locked(&mut self, package: &Package, supply: &Supply) -> String {
        let id = id_of("pypi", &package.name);
        let mut known = Map::new();
        known.insert("versionInfo".into(), json!(package.version));
        known.insert(
            "externalRefs".into(),
            json!([{
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": purl(package, supply),
            }]),
        );
        match &package.wheel {
            Some(wheel) => known.extend(downloaded(wheel)),
            // The index gives one of several files; which one is not known here.
            None if package.hashes.len() == 1 => {
                let hash = package.hashes[0].strip_prefix("sha256:");
                known.extend(hash.map(|hash| ("checksums".to_owned(), checksums(hash))));
            }
            None => {}
        }
        self.add(&id, &package.name, known);
        id
    }

    /// A wheel that a stage made, and what that was made from.
    fn built(&mut self, plan: &Plan, name: &str, stage: StageId) -> String {
        let id = id_of("pypi", name);
        let made = plan.stage(stage);
        let mut known = Map::new();
        known.insert("comment".into(), json!(format!("wheelbase key {}", made.key)));
        match &made.work {
            Work::Ready(ReadyWheel::Download(wheel)) => known.extend(downloaded(wheel)),
            Work::Stored { image } => {
                known.insert(
                    "sourceInfo".into(),
                    json!(format!("compiled before, taken from {image}")),
                );
            }
            Work::Compile(Compile { source, .. }) | Work::Project(Project { source, .. }) => {
                let of = self.source(plan, name, source);
                known.insert("sourceInfo".into(), json!("compiled by this build"));
                self.relate(&id, "GENERATED_FROM", &of);
            }
            _ => {}
        }
        self.add(&id, name, known);
        id
    }

    /// What a wheel was compiled from.
    fn source(&mut self, plan: &Plan, name: &str, source: &Source) -> String {
        let mut known = Map::new();
        let id = id_of("source", name);
        match source {
            Source::Prepared { stage, .. } => {
                let made = plan.stage(*stage);
                if let Some(source) = made.work.source() {
                    let of = self.source(plan, name, source);
                    if let Work::Prepare(prepare) = &made.work
                        && !prepare.patches.is_empty()
                        && let Some(package) = self.by_id.get_mut(&of)
                    {
                        let patches = prepare.patches.join(", ");
                        package.insert("comment".into(), json!(format!("with the patches {patches}")));
                    }
                    return of;
                }
            }
            Source::Git { url, rev, .. } => {
                known.insert("versionInfo".into(), json!(rev));
                let location = format!("git+{}@{rev}", without_secrets(url));
                known.insert("downloadLocation".into(), json!(location));
            }
            Source::Archive(archive) => known.extend(downloaded(archive)),
            Source::Image { image, .. } => {
                if let Work::Image(source) = &plan.stage(*image).work {
                    return self.image(&source.reference, source.digest.as_deref());
                }
            }
            Source::Context { path, .. } => {
                known.insert("sourceInfo".into(), json!(format!("{path} of the build context")));
            }
            Source::Crates(crates) => {
                let words = format!("crates of {} of the build context", crates.base);
                known.insert("sourceInfo".into(), json!(words));
            }
        }
        self.add(&id, &format!("source of {name}"), known);
        id
    }

    fn file(&mut self, name: &str, file: &Download) -> String {
        let id = id_of("file", name);
        self.add(&id, name, downloaded(file));
        id
    }

    fn image(&mut self, reference: &str, of: Option<&str>) -> String {
        let id = id_of("image", reference);
        let mut known = Map::new();
        if let Some(of) = of {
            known.insert("versionInfo".into(), json!(of));
            if let Some(hash) = of.strip_prefix("sha256:") {
                known.insert("checksums".into(), checksums(hash));
            }
        }
        self.add(&id, reference, known);
        id
    }

    fn document(self, image: &str, created: &str) -> Value {
        let packages: Vec<Value> = self.by_id.into_values().map(Value::Object).collect();
        let described = (DOCUMENT.to_owned(), "DESCRIBES", IMAGE.to_owned());
        let relations = std::iter::once(described).chain(self.relations);
        let relations: Vec<Value> = relations
            .map(|(one, how, other)| {
                json!({ "spdxElementId": one, "relationshipType": how, "relatedSpdxElement": other })
            })
            .collect();
        let text = json!([packages, relations]).to_string();
        json!({
            "spdxVersion": "SPDX-2.3",
            "dataLicense": "CC0-1.0",
            "SPDXID": DOCUMENT,
            "name": image,
            "documentNamespace": format!("{NAMESPACE}/{image}-{}", digest([text.as_str()])),
            "creationInfo": {
                "created": created,
                "creators": [format!("Tool: wheelbase-{}", env!("CARGO_PKG_VERSION"))],
            },
            "packages": packages,
            "relationships": relations,
        })
    }
}

/// The element that is the document.
const DOCUMENT: &str = "SPDXRef-DOCUMENT";

/// An identifier: letters, digits, dots and dashes.
fn id_of(kind: &str, name: &str) -> String {
    let plain = |character: char| match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '.' => character,
        _ => '-',
    };
    let name: String = name.chars().map(plain).collect();
    format!("SPDXRef-{kind}-{name}")
}

/// Where a file was taken from, and its hash.
fn downloaded(file: &Download) -> Map<String, Value> {
    Map::from_iter([
        ("downloadLocation".to_owned(), json!(without_secrets(&file.url))),
        ("packageFileName".to_owned(), json!(file.filename)),
        ("checksums".to_owned(), checksums(&file.sha256)),
    ])
}

fn checksums(sha256: &str) -> Value {
    json!([{ "algorithm": "SHA256", "checksumValue": sha256 }])
}

/// A package URL (`pkg:pypi`). The index is said where it is not the usual one.
fn purl(package: &Package, supply: &Supply) -> String {
    let version = package.version.replace('+', "%2B");
    let name = format!("pkg:pypi/{}@{version}", package.name);
    match supply {
        Supply::Index(indexes) => match &indexes.main {
            Some(main) => format!("{name}?repository_url={}", without_secrets(main)),
            None => name,
        },
        Supply::Files => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_have_no_other_characters() {
        assert_eq!(
            id_of("image", "registry.example/a_b:1"),
            "SPDXRef-image-registry.example-a-b-1"
        );
    }
}
