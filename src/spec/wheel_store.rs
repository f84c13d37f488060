//! The wheel store: a repository of images, each with a wheel that was compiled before.

use super::findings::Findings;
use super::model::WheelStore;
use super::reference::Reference;
use super::section::Section;

/// Reads `[wheel-store]`; `None` when the file has none, or errors were found.
pub(super) fn decode(section: &Section<'_>, findings: &mut Findings) -> Option<WheelStore> {
    let repo = section.string("repo")?;
    let text = repo.get_ref();
    let parsed = Reference::parse(text);
    if text.contains('@') {
        // It may be a password.
        findings.conceal(repo.span());
    }
    let Reference {
        registry, repository, ..
    } = findings.check(repo.span(), parsed)?;
    let last = text.rsplit('/').next().unwrap_or(text);
    if last.contains([':', '@']) {
        findings.error(
            repo.span(),
            "`wheel-store.repo` has a tag or a digest",
            "a repository is meant",
            format!("write repo = \"{registry}/{repository}\": the key of a wheel is its tag"),
        );
        return None;
    }
    Some(WheelStore {
        repo: toml::Spanned::new(repo.span(), format!("{registry}/{repository}")),
        require: section.boolean("require").unwrap_or(false),
    })
}
