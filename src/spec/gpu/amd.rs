//! `gpu.rocm`: which images the tiers are, for AMD's GPUs.

use toml::Spanned;

use crate::diagnostic::Diagnostic;
use crate::rules::Rule;
use crate::spec::findings::Findings;
use crate::spec::gfx;
use crate::spec::model::{Os, Tier};
use crate::spec::rocm::{self, Version};
use crate::spec::section::Section;

/// A toolkit that the file names.
pub(super) struct Toolkit {
    pub(super) version: Version,
    pub(super) text: Spanned<String>,
}

/// Reads `rocm`. A version that the table of targets does not know is warned of, unless the file says itself what the
/// compiler emits.
pub(super) fn toolkit(section: &Section<'_>, findings: &mut Findings) -> Option<Toolkit> {
    let text = section.string("rocm")?;
    let version = findings.check(text.span(), Version::parse(text.get_ref()))?;
    if !gfx::knows(version) && !section.has("compiler-archs") {
        findings.warning(
            Rule::UnknownToolkit,
            text.span(),
            format!("ROCm {version} is not among what this release of Wheelbase knows"),
            "which targets its compiler emits is not checked, nor whether its images exist",
            format!(
                "it knows {}; `compiler-archs` says what the compiler of another version emits",
                gfx::known()
            ),
        );
    }
    Some(Toolkit { version, text })
}

impl Toolkit {
    /// The reference of each tier; none when the system has no such images, which is said.
    pub(super) fn tiers(
        &self,
        section: &Section<'_>,
        os: Option<&Spanned<Os>>,
        findings: &mut Findings,
    ) -> Vec<(Tier, String)> {
        let known: Vec<&str> = rocm::systems()
            .filter(|name| rocm::supports(self.version, name) == Some(true))
            .collect();
        let help = format!("ROCm {} has images of {}", self.version, known.join(", "));
        let Some(os) = os else {
            super::missing_os(section, "rocm", help, findings);
            return Vec::new();
        };
        let name = &os.get_ref().name;
        match rocm::supports(self.version, name) {
            Some(true) => {}
            Some(false) => findings.warning(
                Rule::UnlistedSystem,
                os.span(),
                format!(
                    "AMD does not name {name} among the systems of ROCm {}",
                    self.version
                ),
                "whether its images exist shows when they are pulled",
                help,
            ),
            None => {
                let (here, there) = (findings.place(os.span()), findings.place(self.text.span()));
                findings.push(
                    Diagnostic::error(format!("there are no rocm/dev images of {name}"))
                        .at(here, "")
                        .at(there, "")
                        .help(format!("{help}; name others with `tiers`, all three of them")),
                );
                return Vec::new();
            }
        }
        Tier::ALL
            .map(|tier| (tier, rocm::reference(self.version, name, tier)))
            .into()
    }
}

/// Whether there are images of a system.
pub(super) fn has_system(name: &str) -> bool {
    rocm::systems().any(|system| system == name)
}
