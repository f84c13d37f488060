//! Kernels for AMD's GPUs: compiled by a real hipcc, found again by compiler caches, shipped without the compiler.

use anyhow::{Result, ensure};

use crate::support::build::Build;
use crate::support::engine::lab;
use crate::support::project::Project;
use crate::support::rocm::{STEP, TARGETS, project, targets};
use crate::support::sccache::{again, counts, hits};
use crate::support::unique;
use crate::{Tag, image};

#[test]
fn a_kernel_has_code_for_its_targets_and_runs_in_an_image_without_hipcc() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::example("rocm", &lab)?;
    let tag = Tag::new(&lab);
    image(&lab, &project, "serve", &tag)?;
    let said = lab.engine().run(&tag.1, &[], &[])?;
    let line = "[2.0, 4.0, 6.0] without a GPU\n";
    ensure!(said == line.repeat(2), "{said}");
    assert_eq!(targets(&lab, &tag.1)?, TARGETS);
    let (_, tree) = Build::of(&lab, &project).target("serve").export()?;
    assert!(!tree.has("usr/bin/hipcc") && !tree.has("opt/rocm/bin/hipcc"));
    Ok(())
}

/// hipcc and g++ are answered when the wheel is compiled again, and the wheel is the same.
fn answers(tool: &str) -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = project(&lab, tool)?;
    let serve = || Build::of(&lab, &project).target("serve");
    let cold = serve().succeed()?;
    let counted = counts(&cold, "scale")?;
    // Two calls of hipcc, one of g++.
    let (early, calls) = hits(&cold, "scale")?;
    ensure!(early == 0 && calls >= 3, "{counted}");
    ensure!(
        counted["uncacheable"]
            .as_object()
            .is_some_and(serde_json::Map::is_empty),
        "{counted}"
    );
    again(&project)?;
    let warm = serve().succeed()?;
    let (hits, calls_again) = hits(&warm, "scale")?;
    ensure!(
        hits == calls && calls_again == calls,
        "{hits} of {calls_again} are hits"
    );
    ensure!(warm.executed() == [STEP], "{:?}", warm.executed());
    // What hipcc includes is seen by the cache: both kernels are compiled, and g++'s object is there.
    project.edit(
        "scale/csrc/kernel.h",
        "x[i] *= factor;",
        "x[i] *= factor + factor;",
    )?;
    let edited = serve().succeed()?;
    let (hits, calls_edited) = self::hits(&edited, "scale")?;
    ensure!(
        calls_edited == calls && (1..=calls - 2).contains(&hits),
        "{hits} of {calls_edited} are hits after an edit"
    );
    Ok(())
}

#[test]
fn ccache_answers_hipcc() -> Result<()> {
    answers("ccache")
}

#[test]
fn sccache_answers_hipcc() -> Result<()> {
    answers("sccache")
}

/// A build of its own instead of setup.py: HIP as a language of CMake, for which that calls clang and not hipcc; and C++ as HIP
/// and CUDA's file names, which hipcc takes.
fn answers_others(tool: &str) -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = project(&lab, tool)?;
    project.write(
        "scale/CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.21)\nproject(scale LANGUAGES HIP)\n\
         add_library(other SHARED csrc/scale_f32.hip csrc/scale_f64.hip)\n",
    )?;
    project.spec(
        "source = { path = \"scale\" }",
        "source  = { path = \"scale\" }\ncommand = \"\"\"\n\
         cmake -S . -B /tmp/other -G Ninja -D CMAKE_HIP_COMPILER=$ROCM_PATH/llvm/bin/clang++\n\
         cmake --build /tmp/other\n\
         for end in cpp cu; do\n\
           echo '#include <hip/hip_runtime.h>' >of.$end\n\
           echo '__global__ void f(int* x) { *x = 1; }' >>of.$end\n\
           echo 'void g(int* x) { f<<<1, 1>>>(x); }' >>of.$end\n\
           hipcc --offload-arch=gfx90a -c of.$end -o of_$end.o\n\
           grep amdgcn-amd-amdhsa--gfx90a of_$end.o\n\
           rm of.$end of_$end.o\n\
         done\n\
         python setup.py -q bdist_wheel --dist-dir /wheels\n\"\"\"",
    )?;
    let serve = || Build::of(&lab, &project).target("serve");
    let cold = serve().succeed()?;
    let (early, calls) = hits(&cold, "scale")?;
    // Beside the three of setup.py two of CMake and two of hipcc.
    ensure!(early == 0 && calls >= 7, "{}", counts(&cold, "scale")?);
    again(&project)?;
    let warm = serve().succeed()?;
    let (hits, calls_again) = hits(&warm, "scale")?;
    ensure!(
        hits == calls && calls_again == calls,
        "{hits} of {calls_again} are hits"
    );
    Ok(())
}

#[test]
fn ccache_answers_clang_and_hipcc_for_other_files() -> Result<()> {
    answers_others("ccache")
}

#[test]
fn sccache_answers_clang_and_hipcc_for_other_files() -> Result<()> {
    answers_others("sccache")
}

/// Another release of ROCm may have the same hipcc over another clang, or another library of the GPU.
fn forgets(tool: &str) -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let devel = format!("{}/rocm/dev-ubuntu-22.04:6.4-complete", lab.registry);
    let other = format!("{}/wheelbase-lab/{}:1", lab.registry, unique());
    let tier = Project::empty()?;
    tier.write(
        "Dockerfile",
        &format!("FROM {devel}\nCOPY more.bc /usr/lib/x86_64-linux-gnu/amdgcn/bitcode/\n"),
    )?;
    tier.write("more.bc", "more")?;
    let folder = tier.path().to_string_lossy().into_owned();
    let push = [
        "buildx",
        "build",
        "--quiet",
        "--push",
        "--provenance=false",
        "--tag",
    ];
    lab.engine().output(&[&push[..], &[&other, &folder]].concat())?;

    let project = project(&lab, tool)?;
    let serve = || Build::of(&lab, &project).target("serve");
    let (early, calls) = hits(&serve().succeed()?, "scale")?;
    project.spec(
        "tiers.runtime",
        &format!("tiers.devel = \"{other}\"\ntiers.runtime"),
    )?;
    let (hits, calls_again) = hits(&serve().succeed()?, "scale")?;
    lab.engine().remove_image(&other);
    ensure!(
        early == 0 && calls == calls_again,
        "{calls} and {calls_again} calls"
    );
    ensure!(hits == 0, "{hits} of {calls} are hits with another library");
    Ok(())
}

#[test]
fn ccache_forgets_what_another_library_of_the_gpu_is_in() -> Result<()> {
    forgets("ccache")
}

#[test]
fn sccache_forgets_what_another_library_of_the_gpu_is_in() -> Result<()> {
    forgets("sccache")
}

#[test]
fn other_targets_are_compiled_in_a_cache_of_their_own() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = project(&lab, "ccache")?;
    let tag = Tag::new(&lab);
    image(&lab, &project, "serve", &tag)?;
    project.spec("[\"gfx90a\", \"gfx1030\"]", "[\"gfx90a:xnack-\"]")?;
    let built = image(&lab, &project, "serve", &tag)?;
    // Even g++'s object, which is the same, is not there.
    let (hits, calls) = hits(&built, "scale")?;
    ensure!(hits == 0 && calls >= 3, "{hits} of {calls} are hits");
    assert_eq!(targets(&lab, &tag.1)?, ["gfx90a"]);
    Ok(())
}

#[test]
fn an_image_with_hipcc_is_refused() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::example("rocm", &lab)?;
    project.spec(
        "wheelbase-lab/rocm-runtime:6.4",
        "rocm/dev-ubuntu-22.04:6.4-complete",
    )?;
    let built = Build::of(&lab, &project).target("serve").fail()?;
    // Where the links of /opt/rocm lead.
    for held in [
        "/opt/rocm-6.4.0/bin/hipcc",
        "/opt/rocm-6.4.0/include",
        "/usr/lib/llvm-15/bin",
    ] {
        assert!(built.text.contains(held), "{held}: {}", built.text);
    }
    Ok(())
}

#[test]
fn an_image_without_the_library_of_hip_is_refused() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::example("rocm", &lab)?;
    project.spec("tiers.runtime = ", "# ")?;
    let built = Build::of(&lab, &project).target("serve").fail()?;
    assert!(
        built
            .text
            .contains("wheel `scale` needs libamdhip64.so.5, which is not in image `serve`"),
        "{}",
        built.text
    );
    Ok(())
}
