//! Whole files, right and wrong.

mod args;
mod errors;
mod laws;
mod matrix;

use super::*;
use crate::diagnostic::{Diagnostic, SourceFile};

fn parse(text: &str) -> Result<(Spec, Vec<Diagnostic>), Vec<Diagnostic>> {
    Spec::parse(&SourceFile::new("wheelbase.toml", text))
}

fn valid(text: &str) -> Spec {
    let (spec, warnings) = parse(text).unwrap_or_else(|errors| panic!("{}", rendered(&errors)));
    assert!(warnings.is_empty(), "{}", rendered(&warnings));
    spec
}

/// All findings as a terminal shows them.
fn rendered(findings: &[Diagnostic]) -> String {
    findings
        .iter()
        .map(|finding| finding.render(false))
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// Every key that there is, each with another value than its default.
const FULL: &str = include_str!("tests/full.toml");

const SMALL: &str = r#"
name = "small"
[gpu]
cuda = "12.8.1"
os = "ubuntu22.04"
[python]
version = "3.10"
[images.serve]
packages = ["serve"]
"#;

#[test]
fn a_full_file() {
    let spec = valid(FULL);
    assert_eq!(spec.name.get_ref(), "mai-job");
    assert_eq!(
        spec.default.as_ref().map(Spanned::get_ref),
        Some(&"serve".to_owned())
    );
    let tier = |tier| spec.gpu.tiers[&tier].get_ref().as_str();
    assert_eq!(
        tier(Tier::Base),
        "zot.example:5000/nvidia/cuda:12.8.1-base-ubuntu22.04"
    );
    assert_eq!(
        tier(Tier::Runtime),
        "zot.example:5000/nvidia/cuda:12.8.1-cudnn-runtime-ubuntu22.04"
    );
    assert_eq!(tier(Tier::Devel), "zot.example:5000/nvidia/pytorch:25.03-py3");
    assert_eq!(
        spec.locate(&spec.gpu.tiers[&Tier::Devel]).file.text[spec.gpu.tiers[&Tier::Devel].span()],
        *"\"nvcr.io/nvidia/pytorch:25.03-py3\""
    );
    assert_eq!(spec.gpu.os.as_ref().map(|os| os.get_ref().glibc), Some((2, 35)));
    assert_eq!(
        spec.matrix.as_ref().map(|matrix| matrix.combinations().len()),
        Some(3)
    );
    assert_eq!(spec.python.version.get_ref(), &(3, 12));
    let Provider::Archive { archives } = &spec.python.provider else {
        panic!("{:?}", spec.python.provider)
    };
    assert_eq!(archives.len(), 2);
    assert_eq!(spec.python.fetch, Fetch::Index);
    let Uv::Image { reference } = &spec.uv else {
        panic!("{:?}", spec.uv)
    };
    assert_eq!(reference.get_ref(), "zot.example:5000/uv:0.13.9");
    assert_eq!(
        spec.layers,
        Layers {
            threshold: 50_000_000,
            buckets: 4,
            max: 60,
            max_size: 1_000_000_000
        }
    );
    assert_eq!(spec.compiler_cache.scope, "rocm-pytorch");
    assert_eq!(spec.slots, Some(2));
    assert_eq!(spec.wheels["mai-kernels"].job_memory, Some(2_000_000_000));
    let WheelSource::Git {
        url,
        subdir,
        submodules,
        ..
    } = &spec.wheels["triton"].source
    else {
        panic!()
    };
    assert_eq!(
        (url.get_ref().as_str(), subdir.as_str(), *submodules),
        ("https://git.example/triton", "python", false)
    );
    assert!(spec.wheels["triton"].any_arch);
    assert_eq!(spec.wheels["flash-attn"].needs[0].get_ref().name, "torch");
    let WheelSource::Path { exclude, .. } = &spec.wheels["mai-kernels"].source else {
        panic!()
    };
    assert_eq!(exclude, &["csrc/tests", "!csrc/tests/data"]);
    let WheelSource::Image { reference, path } = &spec.wheels["in-image"].source else {
        panic!()
    };
    assert_eq!(
        (reference.get_ref().as_str(), path.as_str()),
        ("zot.example:5000/kernels:1.0", "/src")
    );
    let compiled = |name: &str| spec.wheels[name].is_compiled();
    assert!(!compiled("ready") && !compiled("ready-too") && compiled("archived"));
    let serve = &spec.images["serve"];
    assert_eq!(
        serve.ports.iter().map(String::as_str).collect::<Vec<_>>(),
        ["53/udp", "8000/tcp"]
    );
    assert_eq!(serve.copy[0].to, "/app/src");
    assert_eq!(serve.forbid.paths.len(), 1);
    assert!(spec.images["train"].forbid.paths.is_empty());
}

#[test]
fn a_small_file_and_its_defaults() {
    let spec = valid(SMALL);
    assert_eq!(
        spec.default.as_ref().map(Spanned::get_ref),
        Some(&"serve".to_owned())
    );
    assert_eq!(
        spec.gpu.tiers[&Tier::Runtime].get_ref(),
        "docker.io/nvidia/cuda:12.8.1-runtime-ubuntu22.04"
    );
    assert_eq!(spec.python.lock.get_ref(), "uv.lock");
    assert_eq!(spec.python.fetch, Fetch::Auto);
    assert!(matches!(spec.python.provider, Provider::System));
    let Uv::Image { reference } = &spec.uv else {
        panic!("{:?}", spec.uv)
    };
    assert_eq!(reference.get_ref(), DEFAULT_UV_IMAGE);
    assert_eq!(
        spec.layers,
        Layers {
            threshold: DEFAULT_THRESHOLD,
            buckets: DEFAULT_BUCKETS,
            max: DEFAULT_MAX_LAYERS,
            max_size: DEFAULT_MAX_LAYER_SIZE
        }
    );
    let cache = CompilerCache {
        tool: CompilerCacheTool::Ccache,
        sccache: super::compiler_cache::release(0..0),
        store: None,
        scope: "small".into(),
        max_size: "10G".into(),
    };
    assert_eq!(spec.compiler_cache, cache);
    let serve = &spec.images["serve"];
    assert_eq!(*serve.tier.get_ref(), Tier::Runtime);
    let forbidden: Vec<&str> = serve
        .forbid
        .paths
        .iter()
        .map(|path| path.get_ref().as_str())
        .collect();
    assert_eq!(forbidden, ["**/bin/nvcc", "/usr/local/cuda/include"]);
}

#[test]
fn a_managed_python_where_the_system_has_none() {
    let spec = valid(&SMALL.replace("3.10", "3.13"));
    let Provider::Archive { archives } = &spec.python.provider else {
        panic!("{:?}", spec.python.provider)
    };
    assert!(
        archives["arm64"]
            .url
            .get_ref()
            .contains("aarch64-unknown-linux-gnu")
    );
    assert_eq!(
        &SMALL.replace("3.10", "3.13")[archives["arm64"].url.span()],
        "\"3.13\""
    );
}

#[test]
fn explicit_tiers_need_no_cuda() {
    let spec = valid(&SMALL.replace(
        "cuda = \"12.8.1\"\nos = \"ubuntu22.04\"",
        "tiers.runtime = \"ubuntu:24.04\"",
    ));
    assert_eq!(spec.gpu.tiers.len(), 1);
    assert_eq!(
        spec.gpu.tiers[&Tier::Runtime].get_ref(),
        "docker.io/library/ubuntu:24.04"
    );
    assert!(matches!(spec.python.provider, Provider::System));
}

#[test]
fn rocm_names_its_tiers() {
    let text = SMALL.replace(
        "cuda = \"12.8.1\"",
        "rocm = \"6.4\"\narchs = [\"gfx90a:xnack+\", \"gfx1100\"]",
    );
    let spec = valid(&text);
    let tier = |spec: &Spec, tier| spec.gpu.tiers[&tier].get_ref().clone();
    assert_eq!(
        tier(&spec, Tier::Devel),
        "docker.io/rocm/dev-ubuntu-22.04:6.4-complete"
    );
    assert_eq!(tier(&spec, Tier::Base), "docker.io/library/ubuntu:22.04");
    assert_eq!(tier(&spec, Tier::Runtime), tier(&spec, Tier::Base));
    assert_eq!(&text[spec.gpu.tiers[&Tier::Devel].span()], "\"6.4\"");
    assert_eq!((spec.gpu.vendor, spec.gpu.archs.len()), (Some(Vendor::Amd), 2));
    assert!(matches!(spec.python.provider, Provider::System));
    let mirrored = valid(&text.replace(
        "rocm =",
        "mirror = \"zot.example:5000\"\ntiers.base = \"a/b:c\"\nrocm =",
    ));
    assert_eq!(
        tier(&mirrored, Tier::Runtime),
        "zot.example:5000/library/ubuntu:22.04"
    );
    assert_eq!(tier(&mirrored, Tier::Base), "zot.example:5000/a/b:c");
}

#[test]
fn archs_say_whose_gpus_explicit_tiers_are_for() {
    let vendor = |archs: &str| {
        let tiers = format!("tiers.runtime = \"a\"\narchs = [{archs}]");
        valid(&SMALL.replace("cuda = \"12.8.1\"\nos = \"ubuntu22.04\"", &tiers))
            .gpu
            .vendor
    };
    assert_eq!(vendor("\"gfx942\""), Some(Vendor::Amd));
    assert_eq!(vendor("\"9.0\""), Some(Vendor::Nvidia));
    assert_eq!(vendor(""), None);
}

#[test]
fn images_for_amd_hold_no_hipcc() {
    let forbidden = |text: &str| {
        let paths = valid(text).images["serve"].forbid.paths.clone();
        paths.into_iter().map(Spanned::into_inner).collect::<Vec<_>>()
    };
    let text = SMALL.replace("cuda = \"12.8.1\"", "rocm = \"6.4\"");
    assert_eq!(
        forbidden(&text),
        ["**/bin/hipcc", "/opt/rocm/include", "/opt/rocm/llvm/bin"]
    );
    assert!(forbidden(&format!("{text}tier = \"devel\"\n")).is_empty());
}

#[test]
fn a_file_may_say_what_its_compiler_emits() {
    let text = |toolkit: &str, more: &str| SMALL.replace("cuda = \"12.8.1\"", &format!("{toolkit}\n{more}"));
    let rocm = "archs = [\"gfx950:xnack-\"]";
    assert!(parse(&text("rocm = \"6.4\"", rocm)).is_err());
    valid(&text(
        "rocm = \"6.4\"",
        &format!("{rocm}\ncompiler-archs = [\"gfx942\", \"gfx950\"]"),
    ));
    valid(&text(
        "rocm = \"10.0\"",
        &format!("{rocm}\ncompiler-archs = [\"gfx950\"]"),
    ));
    assert!(
        parse(&text(
            "rocm = \"7.0\"",
            &format!("{rocm}\ncompiler-archs = [\"gfx942\"]")
        ))
        .is_err()
    );
    let cuda = "archs = [\"10.3\"]\ncompiler-archs = [\"9.0\", \"10.3\"]";
    valid(&text("cuda = \"12.8.1\"", cuda));
}

#[test]
fn everything_of_the_lock_has_a_word() {
    let spec = valid(&SMALL.replace("[\"serve\"]", "[\"train\", \"*\"]"));
    let image = &spec.images["serve"];
    let star = image.everything.as_ref().unwrap();
    assert_eq!(&spec.file.text[star.span()], "\"*\"");
    assert_eq!(image.packages.len(), 1);
    assert!(valid(SMALL).images["serve"].everything.is_none());
    for packages in ["[\"*\", \"*\"]", "[\"*[x]\"]", "[\"**\"]"] {
        assert!(
            parse(&SMALL.replace("[\"serve\"]", packages)).is_err(),
            "{packages}"
        );
    }
    // What a wheel needs is named: with everything it would need itself.
    let wheel = "[wheels.a]\nsource = { path = \"a\" }\narch = \"any\"\nneeds = [\"*\"]\n[images.serve]";
    assert!(parse(&SMALL.replace("[images.serve]", wheel)).is_err());
}

#[test]
fn several_images_need_no_default() {
    assert!(
        valid(&format!("{SMALL}[images.train]\npackages = [\"serve\"]\n"))
            .default
            .is_none()
    );
}

#[test]
fn an_ssh_user_is_no_secret() {
    let text = format!(
        "{}wheels = [\"x\"]\n[wheels.x]\narch = \"any\"\nsource = {{ git = \"ssh://git@git.example/x\", rev = \"{}\" }}\n",
        SMALL,
        "a".repeat(40)
    );
    let WheelSource::Git { url, submodules, .. } = &valid(&text).wheels["x"].source else {
        panic!()
    };
    assert_eq!(
        (url.get_ref().as_str(), *submodules),
        ("ssh://git@git.example/x", true)
    );
}

#[test]
fn credentials_are_masked_in_the_file_that_goes_on() {
    let text = format!("# see https://user:hunter2@host.example/ é\n{SMALL}");
    let (spec, _) = parse(&text).unwrap();
    assert!(!spec.file.text.contains("hunter2"));
    assert_eq!(spec.file.text.len(), text.len());
    assert_eq!(&spec.file.text[spec.name.span()], "\"small\"");
}
