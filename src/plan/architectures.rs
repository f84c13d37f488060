//! The GPU architectures of a spec in the words of build systems.
//!
//! A build has no GPU to ask, and each build system has a variable of its own that it asks instead. All of them are set, so
//! that no wheel is compiled for whatever its build takes for granted.

use std::collections::BTreeMap;

use crate::spec::{Spec, Vendor, Wheel};

/// The GPUs of NVIDIA that a wheel is compiled for; none when it is the same for every GPU.
pub(super) fn nvidia(spec: &Spec, wheel: &str) -> Vec<String> {
    let of_amd = spec.gpu.vendor == Some(Vendor::Amd);
    if of_amd || spec.wheels.get(wheel).is_none_or(|wheel| wheel.any_arch) {
        return Vec::new();
    }
    let archs = spec.gpu.archs.iter();
    archs.map(|arch| arch.get_ref().as_str().to_owned()).collect()
}

/// The variables for the build of a wheel; none when it is the same for every architecture.
pub(super) fn environment(spec: &Spec, wheel: &Wheel) -> BTreeMap<String, String> {
    let archs: Vec<&str> = spec
        .gpu
        .archs
        .iter()
        .map(|arch| arch.get_ref().as_str())
        .collect();
    if wheel.any_arch || archs.is_empty() {
        return BTreeMap::new();
    }
    let variables = match spec.gpu.vendor {
        Some(Vendor::Amd) => rocm(&archs),
        Some(Vendor::Nvidia) | None => cuda(&archs),
    };
    variables
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// `TORCH_CUDA_ARCH_LIST` of torch's extension builder, CMake's variable, and `FORCE_CUDA` of those that leave their kernels
/// out without a word where they see no GPU (mmcv, detectron2, torchvision, torch-scatter).
fn cuda(archs: &[&str]) -> Vec<(&'static str, String)> {
    let cmake: Vec<String> = archs.iter().map(|arch| cmake_architecture(arch)).collect();
    vec![
        ("TORCH_CUDA_ARCH_LIST", archs.join(";")),
        ("CMAKE_CUDA_ARCHITECTURES", cmake.join(";")),
        ("FORCE_CUDA", "1".to_owned()),
    ]
}

/// `PYTORCH_ROCM_ARCH` of torch's extension builder, CMake's variable, those of ROCm's own CMake packages (`GPU_TARGETS`,
/// before ROCm 6 `AMDGPU_TARGETS`), that of flash-attention and aiter, and that of xformers, whose items are apart by spaces.
fn rocm(archs: &[&str]) -> Vec<(&'static str, String)> {
    let list = archs.join(";");
    vec![
        ("PYTORCH_ROCM_ARCH", list.clone()),
        ("CMAKE_HIP_ARCHITECTURES", list.clone()),
        ("GPU_TARGETS", list.clone()),
        ("AMDGPU_TARGETS", list.clone()),
        ("GPU_ARCHS", list),
        ("HIP_ARCHITECTURES", archs.join(" ")),
    ]
}

/// `9.0` is `90-real`, `12.0+PTX` is `120` (both code and PTX), `9.0a` is `90a-real`: the
/// words of `CMAKE_CUDA_ARCHITECTURES`.
fn cmake_architecture(arch: &str) -> String {
    let (number, virtual_too) = match arch.strip_suffix("+PTX") {
        Some(number) => (number, true),
        None => (arch, false),
    };
    let digits = number.replace('.', "");
    if virtual_too { digits } else { digits + "-real" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::SourceFile;

    fn variables(archs: &str, wheel: &str) -> BTreeMap<String, String> {
        let text = format!(
            "name = \"app\"\n[gpu]\narchs = {archs}\ntiers.runtime = \"a\"\ntiers.devel = \"b\"\n[python]\n\
             version = \"3.12\"\n[wheels.fast]\nsource = {{ path = \"fast\" }}\n{wheel}\n[images.app]\nwheels = [\"fast\"]\n"
        );
        let (spec, _) = Spec::parse(&SourceFile::new("wheelbase.toml", text)).unwrap();
        environment(&spec, &spec.wheels["fast"])
    }

    #[test]
    fn architectures_in_cmake_words() {
        assert_eq!(cmake_architecture("9.0"), "90-real");
        assert_eq!(cmake_architecture("12.0+PTX"), "120");
        assert_eq!(cmake_architecture("9.0a"), "90a-real");
    }

    #[test]
    fn each_vendor_has_its_own_variables() {
        let cuda = variables("[\"8.0\", \"9.0+PTX\"]", "");
        assert_eq!(cuda["TORCH_CUDA_ARCH_LIST"], "8.0;9.0+PTX");
        assert_eq!(cuda["CMAKE_CUDA_ARCHITECTURES"], "80-real;90");
        assert_eq!(cuda["FORCE_CUDA"], "1");
        assert_eq!(cuda.len(), 3);
        let rocm = variables("[\"gfx90a:xnack-\", \"gfx942\"]", "");
        for name in [
            "PYTORCH_ROCM_ARCH",
            "CMAKE_HIP_ARCHITECTURES",
            "GPU_TARGETS",
            "AMDGPU_TARGETS",
            "GPU_ARCHS",
        ] {
            assert_eq!(rocm[name], "gfx90a:xnack-;gfx942", "{name}");
        }
        assert_eq!(rocm["HIP_ARCHITECTURES"], "gfx90a:xnack- gfx942");
        assert!(rocm.keys().all(|name| !name.contains("CUDA")));
        assert!(variables("[\"gfx942\"]", "arch = \"any\"").is_empty());
    }
}
