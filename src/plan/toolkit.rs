//! Whether the torch that a kernel is compiled against was built for the toolkit that compiles it.
//!
//! torch's extension builder refuses a toolkit of another major version (`_check_cuda_version` of
//! `torch/utils/cpp_extension.py`), after gigabytes have been pulled and installed. The lock tells it before.

use crate::diagnostic::{Diagnostic, Location};
use crate::spec::Spec;

use super::planner::Wanted;

/// The error, when the two differ; at the place that asks for the packages. Without torch, with one that is not built for
/// CUDA, or with tiers whose toolkit is not known, there is nothing to compare.
pub(super) fn mismatch(spec: &Spec, packages: &[Wanted], location: &Location) -> Option<Diagnostic> {
    let toolkit = spec.gpu.cuda.as_ref()?;
    let torch = find(packages, "torch")?;
    let (torch_major, toolkit_major) = (built_for(torch, packages)?, number(toolkit.get_ref())?);
    if torch_major == toolkit_major {
        return None;
    }
    let error = Diagnostic::error(format!(
        "`torch` {torch} is built for CUDA {torch_major}, and the devel tier compiles for CUDA {toolkit_major}"
    ));
    Some(
        error
            .at(location.clone(), "compiled against it")
            .at(spec.locate(toolkit), format!("CUDA {toolkit_major}"))
            .help(format!(
                "choose a `cuda` {torch_major}.x in [gpu], or lock a torch for CUDA {toolkit_major}"
            )),
    )
}

/// The major version of CUDA that a torch is built for: its local version says so (`2.8.0+cu128`), or else the runtime
/// library that it brings (`nvidia-cuda-runtime-cu12`; from CUDA 13 on `nvidia-cuda-runtime` 13.0.96).
fn built_for(torch: &str, packages: &[Wanted]) -> Option<u32> {
    const RUNTIME: &str = "nvidia-cuda-runtime";
    if let Some((_, local)) = torch.split_once('+') {
        // The last digit is the minor version: cu118, cu128, cu130.
        let digits = local.strip_prefix("cu")?;
        return number(digits.get(..digits.len().checked_sub(1)?)?);
    }
    let by_name = packages
        .iter()
        .find_map(|wanted| wanted.package.name.strip_prefix(RUNTIME)?.strip_prefix("-cu"));
    number(by_name.or_else(|| find(packages, RUNTIME))?)
}

/// The version of a package.
fn find<'a>(packages: &'a [Wanted], name: &str) -> Option<&'a str> {
    let wanted = packages.iter().find(|wanted| wanted.package.name == name)?;
    Some(&wanted.package.version)
}

/// The number that a text starts with, up to a dot.
fn number(text: &str) -> Option<u32> {
    text.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::Package;
    use super::*;

    fn packages(all: &[(&str, &str)]) -> Vec<Wanted> {
        let wanted = |(name, version): &(&str, &str)| Wanted {
            package: Package {
                name: (*name).to_owned(),
                version: (*version).to_owned(),
                wheel: None,
                hashes: Vec::new(),
                size: None,
            },
            because: String::new(),
            index: None,
            pure: false,
        };
        all.iter().map(wanted).collect()
    }

    #[test]
    fn a_torch_says_what_it_is_built_for() {
        let alone = packages(&[]);
        for (version, major) in [
            ("2.8.0+cu118", Some(11)),
            ("2.8.0+cu128", Some(12)),
            ("2.9.0+cu130", Some(13)),
            ("2.8.0+cpu", None),
            ("2.8.0+rocm6.4", None),
            ("2.8.0+cu", None),
            ("2.8.0", None),
        ] {
            assert_eq!(built_for(version, &alone), major, "{version}");
        }
        let twelve = packages(&[("nvidia-cuda-runtime-cu12", "12.8.90")]);
        assert_eq!(built_for("2.8.0", &twelve), Some(12));
        let thirteen = packages(&[("nvidia-cuda-runtime", "13.0.96")]);
        assert_eq!(built_for("2.9.0", &thirteen), Some(13));
    }
}
