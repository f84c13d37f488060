//! The compiler cache: which tool, where its binary comes from, and what kind of store it has outside the builder.

use std::collections::BTreeMap;

use toml::Spanned;

use super::findings::Findings;
use super::model::{CompilerCache, CompilerCacheTool, Download, Sccache, Store, StoreKind};
use super::section::Section;
use super::{names, python, urls};

/// `compiler-cache.max-size` when the file says nothing.
pub const DEFAULT_CACHE_SIZE: &str = "10G";

/// The release of sccache that [`release`] is. It caches the steps of an nvcc call one by one, so that another list of
/// architectures compiles only what is new in it.
const VERSION: &str = "0.16.0";

/// Its archives for Linux, linked statically: architecture, the word in the file's name, SHA-256.
const ARCHIVES: [(&str, &str, &str); 2] = [
    (
        "amd64",
        "x86_64",
        "aec995a83ad3dff3d14b6314e08858b7b73d35ca85a5bcf3d3a9ec07dee35588",
    ),
    (
        "arm64",
        "aarch64",
        "f73a5c39f96bb6ebb89cc7915cf182260d4cbf30765322c5e793d0fe8bd80784",
    ),
];

/// Reads `[compiler-cache]`. `name` is the file's own, which is the scope when there is none.
pub(super) fn decode(
    section: &Section<'_>,
    name: Option<&Spanned<String>>,
    mirror: Option<&str>,
    findings: &mut Findings,
) -> Option<CompilerCache> {
    let word = section.string("tool");
    let tool = match word.as_ref().map(|word| word.get_ref().as_str()) {
        Some("none") => CompilerCacheTool::None,
        Some("sccache") => CompilerCacheTool::Sccache,
        _ => CompilerCacheTool::Ccache,
    };
    // A tool that is misspelt has been told of; what stands beside it may be right.
    let wrong_tool = tool != CompilerCacheTool::Sccache && (!section.has("tool") || is_tool(word.as_ref()));
    for key in ["sccache", "store", "require"] {
        if wrong_tool && section.has(key) {
            findings.error(
                section.key_span(key),
                format!("`compiler-cache.{key}` is for sccache"),
                "the tool is another one",
                "write tool = \"sccache\" beside it, or remove it",
            );
        }
    }
    let kind = section.string("store").and_then(|word| {
        let mut kinds = StoreKind::ALL.into_iter();
        kinds.find(|kind| kind.as_str() == word.get_ref())
    });
    let require = section.boolean("require").unwrap_or(false);
    if require && !wrong_tool && !section.has("store") {
        findings.error(
            section.key_span("require"),
            "`compiler-cache.require` needs a store",
            "the cache mount is always there",
            "say what kind of store it is, such as store = \"webdav\", or remove it",
        );
    }
    let scope = section.string("scope");
    if let Some(scope) = &scope {
        findings.check(scope.span(), names::product(scope.get_ref()));
    }
    let max_size = section.string("max-size");
    if let Some(size) = &max_size {
        findings.check(size.span(), names::cache_size(size.get_ref()));
    }
    Some(CompilerCache {
        tool,
        sccache: sccache(section, mirror, findings)?,
        store: kind.map(|kind| Store { kind, require }),
        scope: scope
            .as_ref()
            .or(name)
            .map(|scope| scope.get_ref().clone())
            .unwrap_or_default(),
        max_size: max_size.map_or_else(|| DEFAULT_CACHE_SIZE.to_owned(), Spanned::into_inner),
    })
}

fn is_tool(word: Option<&Spanned<String>>) -> bool {
    word.is_some_and(|word| ["ccache", "none"].contains(&word.get_ref().as_str()))
}

fn sccache(section: &Section<'_>, mirror: Option<&str>, findings: &mut Findings) -> Option<Sccache> {
    let own = section.section("sccache");
    if own.has("image") {
        let reference = python::image_reference(&own.string("image")?, mirror, findings)?;
        return Some(Sccache::Image { reference });
    }
    if own.has("url") || own.has("sha256") {
        return urls::download(findings, &own).map(Sccache::File);
    }
    Some(release(section.key_span("tool")))
}

/// The release that is taken when the file says nothing, with the place that asked for it.
pub(super) fn release(span: std::ops::Range<usize>) -> Sccache {
    let archives = ARCHIVES.into_iter().map(|(architecture, machine, sha256)| {
        let url = format!(
            "https://github.com/mozilla/sccache/releases/download/v{VERSION}/sccache-v{VERSION}-{machine}-unknown-linux-musl.tar.gz"
        );
        let download = Download {
            url: Spanned::new(span.clone(), url),
            sha256: sha256.to_owned(),
        };
        (architecture.to_owned(), download)
    });
    Sccache::Release(archives.collect::<BTreeMap<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_is_pinned_for_both_architectures() {
        let Sccache::Release(archives) = release(0..0) else {
            panic!("no release")
        };
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
