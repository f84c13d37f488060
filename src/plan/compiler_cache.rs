//! The compiler cache of wheel stages: what runs it, and what it is told outside of every key.

use std::collections::BTreeSet;

use super::key::Input;
use super::model::{CacheTool, CompilerCache, Root, StageId};
use super::planner::{Planner, download};
use crate::diagnostic::Diagnostic;
use crate::spec::{CompilerCacheTool, Sccache, Spec, Vendor, Wheel};

/// The client's id of the secret with address and credentials of the compiler cache's store.
pub const STORE_SECRET: &str = "sccache";

impl Planner<'_> {
    /// The compiler cache of a wheel, if the spec has one; an error is noted where its tool does not run on the platform.
    pub(super) fn compiler_cache(&mut self, wheel: &Wheel) -> Option<CompilerCache> {
        let cache = &self.spec.compiler_cache;
        let platform = self.request.platform.to_string().replace('/', "-");
        // Another version may write another store, so the id carries which one it is; of ccache the tier decides.
        let (tool, words) = match cache.tool {
            CompilerCacheTool::None => return None,
            CompilerCacheTool::Ccache => (CacheTool::Ccache, "ccache".to_owned()),
            CompilerCacheTool::Sccache => {
                let root = self.python_root();
                let binary = self.sccache(&root)?;
                let words = format!("sccache-{}", self.stages[binary.0].key.short());
                (
                    CacheTool::Sccache {
                        binary,
                        store: cache.store,
                    },
                    words,
                )
            }
        };
        let scope = scope(self.spec, wheel);
        Some(CompilerCache {
            tool,
            id: format!("wheelbase-{words}-{platform}-{scope}"),
            scope,
            max_megabytes: megabytes(&cache.max_size),
        })
    }

    /// What of a compiler cache a wheel's result may depend on.
    pub(super) fn cache_inputs(&self, cache: &CompilerCache) -> Vec<Input> {
        let mut inputs = vec![Input::new("compiler cache", cache.tool.as_str())];
        if let CacheTool::Sccache { binary, store } = &cache.tool {
            inputs.push(self.parent(*binary));
            // Which store it is does not matter. That there is one gives the step a network.
            if store.is_some() {
                inputs.push(Input::new("compiler cache's store", "yes"));
            }
        }
        inputs
    }

    /// The stage with the sccache binary.
    fn sccache(&mut self, root: &Root) -> Option<StageId> {
        let file = match &self.spec.compiler_cache.sccache {
            Sccache::Image { reference } => {
                let location = self.spec.locate(reference);
                return Some(self.published("sccache", reference.get_ref(), location));
            }
            Sccache::File(file) => file,
            Sccache::Release(archives) => {
                let Some(file) = archives.get(&self.request.platform.architecture) else {
                    let error = Diagnostic::error(format!(
                        "no build of sccache is known for {}",
                        self.request.platform
                    ));
                    let help = "write sccache = { url = \"...\", sha256 = \"...\" } or sccache = { image = \"...\" } in \
                                [compiler-cache]";
                    let location = archives.values().next().map(|file| self.spec.locate(&file.url))?;
                    self.error(error.at(location, "asked for here").help(help));
                    return None;
                };
                file
            }
        };
        let location = self.spec.locate(&file.url);
        let file = download(file.url.get_ref(), &file.sha256);
        Some(self.unpack("sccache", root, file, location))
    }
}

/// What a wheel shares its compiled objects with: the spec's scope, and of AMD's GPUs the same targets. A HIP object holds the
/// code of all its targets, so one of other targets never answers; in one store, builds for one card would push out what
/// those for another have put there. A wheel that is the same for every architecture shares with all.
fn scope(spec: &Spec, wheel: &Wheel) -> String {
    let scope = &spec.compiler_cache.scope;
    if wheel.any_arch || spec.gpu.vendor != Some(Vendor::Amd) {
        return scope.clone();
    }
    let archs = spec.gpu.archs.iter();
    let archs: BTreeSet<&str> = archs.map(|arch| arch.get_ref().as_str()).collect();
    // A part of a URL and of a file's name: no colon, no plus.
    let word = |part: &str| match (part.strip_suffix('+'), part.strip_suffix('-')) {
        (Some(feature), _) => format!("{feature}.on"),
        (_, Some(feature)) => format!("{feature}.off"),
        _ => part.to_owned(),
    };
    archs.into_iter().fold(scope.clone(), |scope, arch| {
        let parts: Vec<String> = arch.split(':').map(word).collect();
        format!("{scope}-{}", parts.join("_"))
    })
}

/// A size as ccache writes it, in megabytes: a number with `k`, `M`, `G` (the default) or `T`, or with `Ki` to `Ti`.
/// 0, which ccache takes as no limit, for what is none.
fn megabytes(size: &str) -> u32 {
    let digits = size
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(size.len());
    let Ok(number) = size[..digits].parse::<u64>() else {
        return 0;
    };
    let unit: u64 = match size[digits..].trim() {
        "k" | "K" | "Ki" | "KB" => 1_000,
        "M" | "Mi" | "MB" => 1_000_000,
        "T" | "Ti" | "TB" => 1_000_000_000_000,
        _ => 1_000_000_000,
    };
    u32::try_from(number.saturating_mul(unit).div_ceil(1_000_000)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::SourceFile;

    #[test]
    fn targets_of_amd_have_a_scope_of_their_own() {
        let of = |archs: &str, wheel: &str| {
            let text = format!(
                "name = \"app\"\n[gpu]\narchs = {archs}\ntiers.runtime = \"a\"\ntiers.devel = \"b\"\n[python]\n\
                 version = \"3.12\"\n[wheels.fast]\nsource = {{ path = \"fast\" }}\n{wheel}\n[images.app]\n\
                 wheels = [\"fast\"]\n"
            );
            let (spec, _) = Spec::parse(&SourceFile::new("wheelbase.toml", text)).unwrap();
            scope(&spec, &spec.wheels["fast"])
        };
        assert_eq!(
            of("[\"gfx942\", \"gfx90a:xnack+\"]", ""),
            "app-gfx90a_xnack.on-gfx942"
        );
        assert_eq!(
            of("[\"gfx90a:xnack+\", \"gfx942\"]", ""),
            "app-gfx90a_xnack.on-gfx942"
        );
        assert_eq!(
            of("[\"gfx90a:sramecc-:xnack-\"]", ""),
            "app-gfx90a_sramecc.off_xnack.off"
        );
        assert_eq!(of("[\"gfx942\"]", "arch = \"any\""), "app");
        assert_eq!(of("[\"9.0\"]", ""), "app", "CUDA has one scope");
    }

    #[test]
    fn sizes_in_megabytes() {
        assert_eq!(megabytes("10G"), 10_000);
        assert_eq!(megabytes("5"), 5_000);
        assert_eq!(megabytes("500M"), 500);
        assert_eq!(megabytes("1k"), 1);
        assert_eq!(megabytes("2T"), 2_000_000);
        assert_eq!(megabytes("much"), 0);
    }
}
