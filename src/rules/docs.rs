//! The table of rules as a page of reference, `docs/reference/rules.md`.

use std::fmt::Write as _;

use super::{Rule, Severity, Stage};

/// The page, below the root of the repository.
pub const PAGE: &str = "docs/reference/rules.md";

/// The page, in Markdown.
pub fn markdown() -> String {
    let mut page = String::from(
        "# Rules\n\n\
         <!-- Rendered from src/rules, which to change instead: UPDATE_DOCS=1 cargo test --lib rules:: -->\n\n\
         What builds, and is probably not meant. `docker buildx build --check` and `wheelbase check` look for all of it without \
         a build; a build warns of what its target is made of. With `--target` only the target is looked at.\n\n\
         A directive in the comments at the head of the spec switches rules off, asks for advice, or makes errors of warnings. \
         Above a table it speaks of that table, and of those below it:\n\n\
         ```toml\n# syntax=registry.example/wheelbase:1\n# check=skip=LatestTag,UnusedTier;experimental=NoPtx;error=true\n\
         name = \"mai-job\"\n\n# check=skip=CompilerInImage\n[images.train]\n```\n\n\
         `skip=all` switches off every rule, `experimental=all` asks for all advice. `--build-arg BUILDKIT_DOCKERFILE_CHECK=...` \
         takes the place of the directive at the head for one build, as with a Dockerfile.\n\n\
         | rule | severity | since | what should be |\n| --- | --- | --- | --- |\n",
    );
    for rule in Rule::ALL {
        let entry = rule.entry();
        let _ = writeln!(
            page,
            "| [{}](#{}) | {} | {} | {} |",
            entry.name,
            entry.name.to_ascii_lowercase(),
            entry.severity.as_str(),
            entry.since,
            entry.description
        );
    }
    for rule in Rule::ALL {
        let entry = rule.entry();
        let _ = write!(
            page,
            "\n## {}\n\n{}.\n\n{}\n",
            entry.name, entry.description, entry.detail
        );
        if entry.severity == Severity::Advice {
            let _ = write!(
                page,
                "\nGiven on request: `# check=experimental={}`.\n",
                entry.name
            );
        }
        if entry.stage == Stage::Build {
            page.push_str("\nOnly a build finds it out, so `--check` does not, and `error=true` makes no error of it.\n");
        }
        if !entry.bad.is_empty() {
            let _ = write!(
                page,
                "\nBreaks it:\n\n```toml\n{}\n```\n\nDoes not:\n\n```toml\n{}\n```\n",
                entry.bad, entry.good
            );
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_page_is_fresh() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
        let rendered = markdown();
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, &rendered).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == rendered,
            "{PAGE} is stale: UPDATE_DOCS=1 cargo test --lib rules::"
        );
    }
}
