//! Whether a finished image has the shared libraries that its compiled wheels name.
//!
//! A wheel is linked on the devel tier and runs on a smaller one. What it needs is read from the wheel
//! (`steps/needed.py`) and looked for among the files of the image, which [`super::forbid`] knows anyway. A file of that
//! name anywhere counts: packages load libraries of their own from places that no search path names, as torch does.

use std::collections::{BTreeMap, BTreeSet};

use super::contents::Contents;
use super::forbid::Tree;
use super::model::Needed;
use crate::diagnostic::Diagnostic;

/// Libraries that come with the driver when a container starts (NVIDIA Container Toolkit), by how their names begin.
const OF_THE_DRIVER: [&str; 6] = [
    "libcuda.so.",
    "libcudadebugger.so.",
    "libnvidia-",
    "libnvcuvid.so.",
    "libnvoptix.so.",
    "libdrm_nvidia",
];

/// Reports the libraries that wheels need and the image does not have: each with the wheel's place and one file that
/// needs it.
pub fn check(image: &str, tree: &Tree, wheels: &[(&Needed, Contents)]) -> Vec<Diagnostic> {
    let needs = wheels.iter().flat_map(|(_, contents)| &contents.libraries);
    let libraries: BTreeSet<&str> = needs.map(|(_, library)| library.as_str()).collect();
    // An image has ten thousand files and more, and wheels need few libraries.
    let names: BTreeSet<&str> = tree.names().filter(|name| libraries.contains(*name)).collect();
    let mut errors = Vec::new();
    for (needed, contents) in wheels {
        let mut lacking: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (file, library) in &contents.libraries {
            let given = names.contains(library.as_str())
                || needed.may_lack.contains(library)
                || OF_THE_DRIVER.iter().any(|start| library.starts_with(start));
            if !given {
                lacking.entry(library).or_default().push(file);
            }
        }
        errors.extend(lacking.iter().map(|(library, files)| {
            let mut label = format!("{} is linked against it", files.first().copied().unwrap_or_default());
            if files.len() > 1 {
                label = format!("{label}, and {} more", files.len() - 1);
            }
            Diagnostic::error(format!(
                "wheel `{}` needs {library}, which is not in image `{image}`",
                needed.wheel
            ))
            .at(needed.location.clone(), label)
            .help(format!(
                "add what holds it to `system` or `packages` of the image, or write may-lack = [\"{library}\"] in \
                 [wheels.{}] when it comes with the container",
                needed.wheel
            ))
        }));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::{Location, SourceFile};
    use crate::lock::{PythonVersion, Target};
    use crate::platform::Platform;

    fn needed(may_lack: &[&str]) -> Needed {
        let file = SourceFile::new("wheelbase.toml", "[wheels.fast]\n");
        Needed {
            list: super::super::StageId(0),
            wheel: "fast".to_owned(),
            may_lack: may_lack.iter().map(|name| (*name).to_owned()).collect(),
            archs: Vec::new(),
            target: Target {
                platform: Platform::linux_amd64(),
                python: PythonVersion::new(3, 12),
                glibc: (2, 35),
            },
            location: Location::new(&file, 8..12),
        }
    }

    fn tree() -> Tree {
        let mut tree = Tree::default();
        tree.lay("[\"/usr/lib/libc.so.6\"]\n[\"/opt/venv/lib/torch/lib/libc10.so\"]\n[\"/lib/liba.so.1\", \"liba.so.1.2\"]\n")
            .unwrap();
        tree
    }

    const LIST: &str = "[\"fast/a.so\", \"libc.so.6\"]\n[\"fast/a.so\", \"libc10.so\"]\n[\"fast/a.so\", \"liba.so.1\"]\n\
                        [\"fast/a.so\", \"libcuda.so.1\"]\n[\"fast/a.so\", \"libgomp.so.1\"]\n[\"fast/b.so\", \"libgomp.so.1\"]\n";

    #[test]
    fn what_lacks_is_shown_with_its_wheel() {
        let errors = check("serve", &tree(), &[(&needed(&[]), Contents::read(LIST).unwrap())]);
        let shown: Vec<String> = errors.iter().map(|error| error.render(false)).collect();
        insta::assert_snapshot!(shown.join("\n"));
    }

    #[test]
    fn what_may_lack_is_not_looked_for() {
        let contents = Contents::read(LIST).unwrap();
        let errors = check("serve", &tree(), &[(&needed(&["libgomp.so.1"]), contents)]);
        assert_eq!(errors, Vec::new());
    }
}
