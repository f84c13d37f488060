//! `gpu.cuda`: which images of NVIDIA's the tiers are.

use toml::Spanned;
use toml::de::DeValue;

use crate::diagnostic::Diagnostic;
use crate::rules::Rule;
use crate::spec::cuda::{self, Version};
use crate::spec::cuda_tags::Release;
use crate::spec::findings::Findings;
use crate::spec::model::{Os, Tier};
use crate::spec::os;
use crate::spec::section::{self, Section};

/// A toolkit with its row of the table, when it has one.
pub(super) struct Toolkit {
    pub(super) version: Version,
    release: Option<&'static Release>,
    pub(super) text: Spanned<String>,
}

/// Reads `cuda`.
pub(super) fn toolkit(section: &Section<'_>, findings: &mut Findings) -> Option<Toolkit> {
    let text = section.string("cuda")?;
    let version = findings.check(text.span(), Version::parse(text.get_ref()))?;
    let release = findings.check(text.span(), version.release())?;
    Some(Toolkit {
        version,
        release,
        text,
    })
}

impl Toolkit {
    /// The reference of each tier; none when there are no such images, which is said.
    pub(super) fn tiers(
        &self,
        section: &Section<'_>,
        os: Option<&Spanned<Os>>,
        findings: &mut Findings,
    ) -> Vec<(Tier, String)> {
        let cudnn = cudnn(section, self, findings);
        let published = images(section, self, os, cudnn == Some(true), findings);
        let (true, Some(os), Some(cudnn)) = (published, os, cudnn) else {
            return Vec::new();
        };
        let name = &os.get_ref().name;
        let reference = |tier| cuda::reference(self.version, self.release, name, tier, cudnn);
        Tier::ALL.map(|tier| (tier, reference(tier))).into()
    }
}

/// Whether there are images of a system with a toolkit, as far as the table knows.
pub(super) fn has_system(version: &str, name: &str) -> bool {
    let version = Version::parse(version).ok();
    let release = version.and_then(|version| version.release().ok().flatten());
    release.is_none_or(|release| release.systems().any(|system| system == name))
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
        let systems: Vec<&str> = toolkit.release.map_or(Vec::new(), |release| {
            release.systems().filter(|name| os::find(name).is_ok()).collect()
        });
        let help = if systems.is_empty() {
            "add os = \"ubuntu24.04\"".to_owned()
        } else {
            format!("CUDA {} has images of {}", toolkit.version, systems.join(", "))
        };
        super::missing_os(section, "cuda", help, findings);
        return false;
    };
    let Some(release) = toolkit.release else {
        findings.warning(
            Rule::UnknownToolkit,
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
            Rule::EndOfLifeToolkit,
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
