//! Whether the torch that a kernel is compiled against was built for the toolkit that compiles it.
//!
//! torch's extension builder refuses a CUDA toolkit of another major version (`_check_cuda_version` of
//! `torch/utils/cpp_extension.py`), after gigabytes have been pulled and installed. With ROCm nothing refuses: the kernel is
//! linked against a `libamdhip64.so` of another major version than torch's. A torch for the other vendor's GPUs, which an
//! index without a local version easily brings, cannot work at all. The lock tells all of it before.

use crate::diagnostic::{Diagnostic, Location};
use crate::spec::{Spec, Vendor};

use super::planner::Wanted;

/// The error, when the two differ; at the place that asks for the packages. Without torch, with one that is not built for
/// a GPU, or with tiers whose toolkit is not known, there is nothing to compare.
pub(super) fn mismatch(spec: &Spec, packages: &[Wanted], location: &Location) -> Option<Diagnostic> {
    let (text, vendor) = (spec.gpu.toolkit.as_ref()?, spec.gpu.vendor?);
    let torch = find(packages, "torch")?;
    let (built, torch_major) = built_for(torch, packages)?;
    let toolkit_major = number(text.get_ref())?;
    if (built, torch_major) == (vendor, toolkit_major) {
        return None;
    }
    let (theirs, ours) = (built.toolkit(), vendor.toolkit());
    let error = Diagnostic::error(format!(
        "`torch` {torch} is built for {theirs} {torch_major}, and the devel tier compiles for {ours} {toolkit_major}"
    ));
    let key = match built {
        Vendor::Nvidia => "cuda",
        Vendor::Amd => "rocm",
    };
    Some(
        error
            .at(location.clone(), "compiled against it")
            .at(spec.locate(text), format!("{ours} {toolkit_major}"))
            .help(format!(
                "choose a `{key}` {torch_major}.x in [gpu], or lock a torch for {ours} {toolkit_major}"
            )),
    )
}

/// Which toolkit, of which major version, a torch is built for: its local version says so (`2.8.0+cu128`, `2.8.0+rocm6.4`),
/// or else the runtime library of CUDA that it brings (`nvidia-cuda-runtime-cu12`; from CUDA 13 on `nvidia-cuda-runtime`
/// 13.0.96).
fn built_for(torch: &str, packages: &[Wanted]) -> Option<(Vendor, u32)> {
    const RUNTIME: &str = "nvidia-cuda-runtime";
    if let Some((_, local)) = torch.split_once('+') {
        if let Some(version) = local.strip_prefix("rocm") {
            return Some((Vendor::Amd, number(version)?));
        }
        // The last digit is the minor version: cu118, cu128, cu130.
        let digits = local.strip_prefix("cu")?;
        let major = number(digits.get(..digits.len().checked_sub(1)?)?)?;
        return Some((Vendor::Nvidia, major));
    }
    let by_name = packages
        .iter()
        .find_map(|wanted| wanted.package.name.strip_prefix(RUNTIME)?.strip_prefix("-cu"));
    let major = number(by_name.or_else(|| find(packages, RUNTIME))?)?;
    Some((Vendor::Nvidia, major))
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
    use crate::diagnostic::SourceFile;

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
        let cuda = |major| Some((Vendor::Nvidia, major));
        for (version, built) in [
            ("2.8.0+cu118", cuda(11)),
            ("2.8.0+cu128", cuda(12)),
            ("2.9.0+cu130", cuda(13)),
            ("2.8.0+rocm6.4", Some((Vendor::Amd, 6))),
            ("2.11.0+rocm7.14.0rc2", Some((Vendor::Amd, 7))),
            ("2.8.0+cpu", None),
            ("2.8.0+rocm", None),
            ("2.8.0+cu", None),
            ("2.8.0", None),
        ] {
            assert_eq!(built_for(version, &alone), built, "{version}");
        }
        let twelve = packages(&[("nvidia-cuda-runtime-cu12", "12.8.90")]);
        assert_eq!(built_for("2.8.0", &twelve), cuda(12));
        let thirteen = packages(&[("nvidia-cuda-runtime", "13.0.96")]);
        assert_eq!(built_for("2.9.0", &thirteen), cuda(13));
    }

    #[test]
    fn a_torch_for_another_toolkit_is_an_error() {
        let said = |toolkit: &str, torch: &str| {
            let text = format!(
                "name = \"app\"\n[gpu]\n{toolkit}\nos = \"ubuntu22.04\"\n[python]\nversion = \"3.10\"\n[images.app]\n\
                 packages = [\"app\"]\n"
            );
            let (spec, _) = Spec::parse(&SourceFile::new("wheelbase.toml", text)).unwrap();
            let place = spec.locate(&spec.name);
            let error = mismatch(&spec, &packages(&[("torch", torch)]), &place)?;
            Some((error.message.clone(), error.help.unwrap_or_default()))
        };
        assert_eq!(said("rocm = \"6.4\"", "2.8.0+rocm6.3"), None);
        assert_eq!(said("cuda = \"12.8.1\"", "2.8.0+cu126"), None);
        assert_eq!(said("rocm = \"6.4\"", "2.8.0+cpu"), None);
        let (message, help) = said("rocm = \"7.0\"", "2.8.0+rocm6.4").unwrap();
        assert!(message.contains("is built for ROCm 6, and the devel tier compiles for ROCm 7"));
        assert!(help.contains("`rocm` 6.x"));
        let (message, help) = said("rocm = \"6.4\"", "2.8.0+cu128").unwrap();
        assert!(message.contains("is built for CUDA 12, and the devel tier compiles for ROCm 6"));
        assert!(help.contains("`cuda` 12.x in [gpu], or lock a torch for ROCm 6"));
        assert!(said("cuda = \"12.8.1\"", "2.8.0+rocm6.4").is_some());
    }
}
