//! Failures that people who compile kernels have had. Those that a plan shows are here; the others need an engine, a
//! compiler or a store:
//!
//! | what failed | where it is tested |
//! | --- | --- |
//! | `import torch` in a setup.py finds none, or another one | here (`a_kernel_is_compiled_against_the_very_torch_of_the_lock`, `a_kernel_whose_needs_the_lock_does_not_have_is_named`); engine `backends` |
//! | too many compilers for the memory | `run_step`; engine `slots`; acceptance `memory` |
//! | no GPU in the build: no list of architectures, or all of them | here; `spec::tests` `archs_missing` |
//! | an architecture that the toolkit does not know, or no longer | here; `spec::archs` |
//! | a compiler cache in a cache mount is cold on every new builder | here; acceptance `elsewhere` (layer cache), `store` (objects), `stored` (wheels) |
//! | a cache mount belongs to root, and the image's user is another | here |
//! | parallel builds of two platforms write into one cache mount | here |
//! | credentials of a store in arguments, history, logs | engine `sccache`; acceptance `secrets` |
//! | a store with stale credentials is done without for weeks | engine `sccache` (`a_wrong_password_...`, `without_a_store_...`) |
//! | another list of architectures misses everything | engine `sccache` (`one_architecture_of_two_...`) |
//! | a cache that grows and never answers: random folders | here; engine `caches`; acceptance `caches` |
//! | submodules that are missing | engine `sources` (`a_repository_is_read_with_its_submodules_...`) |
//! | a kernel's requirement replaces torch | here; engine `imports` (`a_wheel_that_asks_for_another_version_is_refused_...`) |
//! | torch for one CUDA, compiler of another | here (`a_kernel_is_not_compiled_for_another_cuda_than_its_torch`) |
//! | a ready wheel for another torch: undefined symbols | engine `imports` (`a_module_that_cannot_be_imported_...`); acceptance `torch` |
//! | kernels left out without a word, since no GPU is there | here (`FORCE_CUDA`); acceptance `torch`, `rocm` (code for every target) |
//! | `cudnn.h` is missing | here |
//! | a wheel needs a newer glibc, or a library that the image lacks | engine `backends` (`a_library_that_the_image_lacks_...`), `imports` |
//! | `-lcuda`, or libcuda.so.1 at import | here; engine `imports` (`a_module_that_is_linked_against_the_driver_...`) |
//! | no wheel for arm64 | `cases`: `what_has_a_wheel_for_one_platform_...`; `sources`: `a_ready_wheel_that_does_not_fit_is_refused` |
//! | hipcc is cached by no launcher | engine `rocm`; acceptance `rocm` |
//! | works on devel, fails to import on runtime | engine `imports`; acceptance `torch` |

use std::collections::{BTreeMap, BTreeSet};

use prost::Message as _;
use wheelbase::proto::pb;

use crate::folder::Folder;
use crate::inputs::{PURE, lock, member, package, spec};

/// A kernel that needs torch, and an image with it.
const KERNEL: &str = "[wheels.kernel]\nsource = { path = \"kernel\" }\nneeds = [\"torch\"]\n\
                      [images.app]\npackages = [\"app\"]\nwheels = [\"kernel\"]\n";

/// An image with one kernel, built from a folder, beside a torch of this version.
fn beside(torch: &str, text: &str) -> Folder {
    let packages = member("app", "app", &["torch"]) + &package("torch", torch, PURE, "");
    let folder = Folder::new(text, &lock(&packages));
    folder.project("app", "app").project("kernel", "kernel");
    folder
}

/// An image with one kernel that has `lines` in its table.
fn kernel(lines: &str) -> Folder {
    let text = KERNEL.replace("[images", &format!("{lines}\n[images"));
    beside("2.8.0+cu128", &spec(&text))
}

impl Folder {
    /// All processes of an image on a platform.
    fn processes(&self, platform: &str) -> Vec<pb::ExecOp> {
        let bytes = self.succeed(&["plan", "app", "--platform", platform, "--format", "llb"]);
        let definition = pb::Definition::decode(bytes.as_slice()).unwrap();
        let ops = definition.def.iter();
        ops.filter_map(|op| match pb::Op::decode(op.as_slice()).unwrap().op {
            Some(pb::op::Op::Exec(exec)) => Some(exec),
            _ => None,
        })
        .collect()
    }

    /// The one that compiles.
    fn compile(&self, platform: &str) -> pb::ExecOp {
        let is_compile = |exec: &pb::ExecOp| {
            let arguments = exec.meta.iter().flat_map(|meta| &meta.args);
            arguments
                .into_iter()
                .any(|argument| argument == "folder" || argument == "archive")
        };
        self.processes(platform).into_iter().find(is_compile).unwrap()
    }
}

fn cache_mounts(exec: &pb::ExecOp) -> BTreeMap<String, (String, i32)> {
    let mounts = exec.mounts.iter().filter_map(|mount| {
        let cache = mount.cache_opt.as_ref()?;
        Some((mount.dest.clone(), (cache.id.clone(), cache.sharing)))
    });
    mounts.collect()
}

/// The environment of the step that compiles a wheel.
fn compile_environment(folder: &Folder, image: &str) -> BTreeMap<String, String> {
    let operations = folder.operations(image).into_iter();
    let mut environments = operations.filter_map(|op| match op {
        pb::op::Op::Exec(exec) => exec.meta.map(|meta| meta.env),
        _ => None,
    });
    let environment = environments
        .find(|env| {
            env.iter()
                .any(|line| line.starts_with("ROCM_PATH=") || line.starts_with("CUDA_HOME="))
        })
        .unwrap();
    environment
        .iter()
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

const AMD64: &str = "linux/amd64";
const ARM64: &str = "linux/arm64";

/// Its setup.py imports torch, and in an isolated build there is none, or another one.
#[test]
fn a_kernel_is_compiled_against_the_very_torch_of_the_lock() {
    let with = |version: &str| beside(version, &spec(KERNEL)).layers("app")["wheel kernel"].clone();
    assert_ne!(with("2.8.0+cu128"), with("2.8.0+cu126"));
    assert_eq!(with("2.8.0+cu128"), with("2.8.0+cu128"));
}

#[test]
fn a_kernel_whose_needs_the_lock_does_not_have_is_named() {
    let folder = Folder::new(&spec(KERNEL), &lock(&member("app", "app", &[])));
    folder.project("app", "app").project("kernel", "kernel");
    let said = folder.refused(&["check"]);
    assert!(
        said.contains("`torch`") && said.contains("needs = [\"torch\"]") && said.contains("^^^^^^^"),
        "{said}"
    );
}

/// torch's extension builder refuses such a pair, after both have been pulled and installed.
#[test]
fn a_kernel_is_not_compiled_for_another_cuda_than_its_torch() {
    let with = |version: &str, cuda: &str| beside(version, &spec(KERNEL).replace("12.8.1", cuda));
    let said = with("2.8.0+cu128", "13.0.2").refused(&["check"]);
    assert!(
        said.contains("`torch` 2.8.0+cu128 is built for CUDA 12"),
        "{said}"
    );
    assert!(
        said.contains("needs = [\"torch\"]") && said.contains("cuda = \"13.0.2\""),
        "{said}"
    );
    // Another minor version works, and a torch that names none may be anything.
    for version in ["2.8.0+cu126", "2.8.0+cpu", "2.8.0"] {
        with(version, "12.8.1").succeed(&["check"]);
    }
}

#[test]
fn a_torch_for_cuda_is_not_taken_for_amds_gpus() {
    let torch = package("torch", "2.8.0+cu128", "cp310-cp310-manylinux_2_28_x86_64", "");
    let text = spec(
        "[wheels.fast]\nsource = { path = \"fast\" }\nneeds = [\"torch\"]\n[images.x]\nwheels = [\"fast\"]\n",
    )
    .replace("cuda = \"12.8.1\"", "rocm = \"6.4\"")
    .replace("\"9.0\"", "\"gfx942\"");
    let said = Folder::new(&text, &lock(&torch)).refused(&["check"]);
    assert!(
        said.contains("`torch` 2.8.0+cu128 is built for CUDA 12, and the devel tier compiles for ROCm 6"),
        "{said}"
    );
    let torch = torch.replace("+cu128", "+rocm6.4");
    Folder::new(&text, &lock(&torch)).succeed(&["check"]);
}

#[test]
fn a_wheel_for_amds_gpus_is_told_of_nothing_of_cuda() {
    let text = spec("[wheels.fast]\nsource = { path = \"fast\" }\n[images.x]\nwheels = [\"fast\"]\n")
        .replace("cuda = \"12.8.1\"", "rocm = \"6.4.1\"")
        .replace("[\"9.0\"]", "[\"gfx90a\", \"gfx942\"]");
    let folder = Folder::new(&text, &lock(""));
    let env = compile_environment(&folder, "x");
    assert_eq!(env["PYTORCH_ROCM_ARCH"], "gfx90a;gfx942");
    assert_eq!(
        (env["ROCM_PATH"].as_str(), env["HIP_PATH"].as_str()),
        ("/opt/rocm", "/opt/rocm")
    );
    assert!(env["PATH"].ends_with(":/opt/rocm/bin"));
    let cuda: Vec<&String> = env
        .keys()
        .filter(|name| name.contains("CUDA") || *name == "LIBRARY_PATH")
        .collect();
    assert!(cuda.is_empty(), "{cuda:?}");
    let tiers: BTreeSet<String> = folder
        .sources("x")
        .into_iter()
        .map(|source| source.identifier)
        .collect();
    let has = |image: &str| tiers.iter().any(|tier| tier.ends_with(image));
    assert!(has("docker.io/rocm/dev-ubuntu-22.04:6.4.1-complete"), "{tiers:?}");
    assert!(has("docker.io/library/ubuntu:22.04"), "{tiers:?}");
    // A wheel that is the same for all GPUs is told of no target.
    let any = text.replace("\"fast\" }\n", "\"fast\" }\narch = \"any\"\n");
    let env = compile_environment(&Folder::new(&any, &lock("")), "x");
    assert!(env.contains_key("ROCM_PATH") && !env.contains_key("PYTORCH_ROCM_ARCH"));
}

/// Builders have no GPU: setup.py found an empty list of architectures and died, or compiled for all there are.
#[test]
fn nothing_is_compiled_for_a_gpu_that_is_asked_for() {
    let folder = kernel("");
    let env = compile_environment(&folder, "app");
    assert_eq!(env["TORCH_CUDA_ARCH_LIST"], "9.0");
    assert_eq!(env["CMAKE_CUDA_ARCHITECTURES"], "90-real");
    folder.spec("archs = [\"9.0\"]\n", "");
    let said = folder.refused(&["check"]);
    assert!(
        said.contains("`gpu.archs` is missing") && said.contains("kernel"),
        "{said}"
    );
}

/// nvcc says it after the base images are pulled and everything before it is compiled.
#[test]
fn an_architecture_that_the_toolkit_does_not_have_is_refused_at_both_ends() {
    let folder = kernel("");
    folder.spec("\"9.0\"", "\"9.0\", \"10.3\"");
    let said = folder.refused(&["check"]);
    assert!(said.contains("10.3") && said.contains("12.9"), "{said}");
    assert!(said.contains("archs = [\"9.0\", \"10.3\"]"), "{said}");
    let folder = kernel("");
    folder.spec("12.8.1", "13.0.2").spec("\"9.0\"", "\"7.0\"");
    let said = folder.refused(&["check"]);
    assert!(said.contains("7.0") && said.contains("13.0"), "{said}");
}

/// mmcv and others compile without their kernels where they see no GPU, and the build succeeds.
#[test]
fn kernels_are_asked_for_where_no_gpu_is_seen() {
    assert_eq!(compile_environment(&kernel(""), "app")["FORCE_CUDA"], "1");
    // What is the same for every GPU is told of none.
    let any = compile_environment(&kernel("arch = \"any\""), "app");
    assert!(!any.contains_key("FORCE_CUDA") && !any.contains_key("TORCH_CUDA_ARCH_LIST"));
    // Who has to have it otherwise says so.
    let env = compile_environment(&kernel("env = { FORCE_CUDA = \"0\" }"), "app");
    assert_eq!(env["FORCE_CUDA"], "0");
}

/// `cannot find -lcuda`: the driver is not there when a kernel is linked. With the stub on the search path of programs the
/// image used it instead of the driver.
#[test]
fn the_stub_of_the_driver_is_for_the_linker_alone() {
    let folder = kernel("");
    let env = compile_environment(&folder, "app");
    assert_eq!(env["LIBRARY_PATH"], "/usr/local/cuda/lib64/stubs");
    assert!(
        env.get("LD_LIBRARY_PATH")
            .is_none_or(|path| !path.contains("stubs"))
    );
    let plan = folder.succeed(&["plan", "app", "--format", "json"]);
    let plan: serde_json::Value = serde_json::from_slice(&plan).unwrap();
    let config = plan["images"]["app"]["config"]["config"].to_string();
    assert!(
        config.contains("VIRTUAL_ENV") && !config.contains("stubs"),
        "{config}"
    );
}

/// `Could not find cudnn_LIBRARY` on a devel tier without cuDNN.
#[test]
fn a_kernel_with_cudnn_is_compiled_on_the_tier_that_has_it() {
    let folder = kernel("");
    let tiers = |folder: &Folder| -> BTreeSet<String> {
        let sources = folder.sources("app").into_iter().map(|source| source.identifier);
        sources.filter(|name| name.contains("nvidia/cuda")).collect()
    };
    assert!(tiers(&folder).iter().all(|tier| !tier.contains("cudnn")));
    folder.spec("os = ", "cudnn = true\nos = ");
    let tiers = tiers(&folder);
    assert!(
        tiers
            .iter()
            .any(|tier| tier.contains("12.8.1-cudnn-devel-ubuntu22.04")),
        "{tiers:?}"
    );
}

/// A cache mount that belongs to root could not be written to by the image's user.
#[test]
fn the_user_of_an_image_is_nobody_to_the_steps_of_its_kernels() {
    let folder = kernel("");
    let of_root = folder.compile(AMD64);
    folder.spec(
        "wheels = [\"kernel\"]",
        "wheels = [\"kernel\"]\nuser = \"1000:1000\"",
    );
    assert_eq!(folder.compile(AMD64), of_root);
    for exec in folder.processes(AMD64) {
        assert_eq!(exec.meta.map(|meta| meta.user), Some(String::new()));
    }
}

/// Two platforms, and many wheels at once, wrote into one folder and waited for one lock.
#[test]
fn platforms_have_compiler_caches_of_their_own_and_wheels_share_them() {
    let folder = kernel("");
    folder.spec("[images.app]", "[system]\ndevel = [\"git\"]\n[images.app]");
    let caches = |platform: &str| cache_mounts(&folder.compile(platform))["/wheelbase/cache"].clone();
    let (amd64, arm64) = (caches(AMD64), caches(ARM64));
    assert_ne!(amd64.0, arm64.0);
    for (_, sharing) in [amd64, arm64] {
        assert_eq!(sharing, pb::CacheSharingOpt::Shared as i32);
    }
    // What apt keeps nobody waits for: it is in no cache mount.
    let apt = folder.processes(AMD64).into_iter().find(|exec| {
        let arguments = exec.meta.iter().flat_map(|meta| &meta.args);
        arguments.into_iter().any(|argument| argument == "git")
    });
    assert!(cache_mounts(&apt.unwrap()).is_empty());
}

/// Cache mounts are in no image and no exported cache: whatever lies in one is missing on the next builder.
#[test]
fn nothing_that_comes_out_of_a_step_lies_in_a_cache_mount() {
    let folder = kernel("imports = [\"kernel\"]");
    let mut seen = 0;
    for exec in folder.processes(AMD64) {
        for cache in cache_mounts(&exec).keys() {
            seen += 1;
            assert!(cache.starts_with("/wheelbase/"), "{cache}");
            let below = format!("{cache}/");
            assert!(
                exec.mounts.iter().all(|mount| !mount.dest.starts_with(&below)),
                "{cache}"
            );
        }
    }
    assert!(seen > 0);
}

/// A cache of compiled objects grew and never answered: the folder of each build was another one.
#[test]
fn a_kernel_is_compiled_in_a_folder_that_is_always_the_same() {
    let folder = kernel("");
    let dests =
        |exec: &pb::ExecOp| -> Vec<String> { exec.mounts.iter().map(|mount| mount.dest.clone()).collect() };
    let compile = folder.compile(AMD64);
    assert!(
        dests(&compile).contains(&"/src/kernel".to_owned()),
        "{:?}",
        dests(&compile)
    );
    assert_eq!(dests(&folder.compile(AMD64)), dests(&compile));
    // Jobs, and what moves a cache, are in no argument and no variable.
    folder.spec("needs = [\"torch\"]", "needs = [\"torch\"]\njobs = 3");
    folder.spec(
        "[images.app]",
        "[compiler-cache]\nscope = \"another\"\n[images.app]",
    );
    assert_eq!(
        folder.compile(AMD64).meta.map(|meta| (meta.args, meta.env)),
        compile.meta.map(|meta| (meta.args, meta.env))
    );
}

/// pip took another torch because a kernel's metadata asked for it: the image lost its CUDA.
#[test]
fn a_kernel_changes_no_package_of_the_lock() {
    let with = kernel("").layers("app");
    let folder = kernel("");
    folder.spec("wheels = [\"kernel\"]", "");
    let without = folder.layers("app");
    assert!(
        without.contains_key("layer torch") || without.keys().any(|name| name.starts_with("layer packages"))
    );
    for (name, key) in without {
        assert_eq!(with.get(&name), Some(&key), "{name}");
    }
}
