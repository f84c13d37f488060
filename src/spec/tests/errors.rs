//! Errors as they are shown. Each case is the least file that shows one kind of mistake.

use super::*;

/// The errors of a file, as a terminal shows them.
fn errors(text: &str) -> String {
    rendered(&parse(text).expect_err("this file has an error"))
}

/// The warnings of a file without errors.
fn warnings(text: &str) -> String {
    let (_, warnings) = parse(text).unwrap_or_else(|errors| panic!("{}", rendered(&errors)));
    assert!(!warnings.is_empty());
    rendered(&warnings)
}

/// The small file with one piece replaced.
fn small(from: &str, to: &str) -> String {
    assert_eq!(SMALL.matches(from).count(), 1, "{from}");
    SMALL.replace(from, to)
}

/// The small file for AMD's GPUs, with one piece replaced.
fn rocm(from: &str, to: &str) -> String {
    let text = small("cuda = \"12.8.1\"", "rocm = \"6.4\"");
    assert_eq!(text.matches(from).count(), 1, "{from}");
    text.replace(from, to)
}

/// The small file with lines added to its image.
fn image(lines: &str) -> String {
    format!("{SMALL}{lines}\n")
}

/// The small file with a wheel, whose table has these lines.
fn wheel(lines: &str) -> String {
    format!(
        "{}wheels = [\"fast\"]\n[wheels.fast]\n{lines}\n",
        small("os =", "archs = [\"9.0\"]\nos =")
    )
}

/// Compares a text with the snapshot of this name.
fn assert_shown(name: &str, shown: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!(name, shown));
}

/// Compares what is said in several cases, each with its name, with one snapshot.
pub(super) fn assert_said(name: &str, cases: &[(&str, String)]) {
    let text: Vec<String> = cases
        .iter()
        .map(|(name, said)| format!("--- {name}\n{said}"))
        .collect();
    assert_shown(name, &text.join("\n"));
}

macro_rules! cases {
    ($($name:ident: $shown:expr;)*) => { $(
        #[test]
        fn $name() {
            assert_shown(stringify!($name), &$shown);
        }
    )* };
}

cases! {
    broken_toml: errors("name = \n[gpu\ncuda = \"12.8.1\"\n[python]\nversion = \"3.12\"\nversion = \"3.11\"\n");
    empty_file: errors("");
    several_at_once: errors(concat!(
        "name = \"Mai Job\"\ndefalt = \"serve\"\n[gpu]\ncuda = \"12.8\"\nos = \"ubuntu22\"\n[python]\nversion = 3.10\n",
        "lock = \"../uv.lock\"\n[images.serve]\npackges = [\"serve\"]\nuser = \"App\"\nports = [0]\n",
    ));

    unknown_key_at_top: errors(&small("images", "image"));
    unknown_key_in_section: errors(&small("cuda =", "cudn = true\ncuda ="));
    unknown_key_in_image: errors(&image("packges = [\"x\"]"));
    unknown_key_in_source: errors(&wheel("source = { pth = \"x\" }"));
    unknown_key_in_forbid: errors(&image("forbid.path = [\"/x\"]"));
    unknown_key_of_another_table: errors(&image("cudnn = true"));
    unknown_key_without_guess: errors(&small("cuda =", "oneapi = \"2025.1\"\ncuda ="));
    unknown_keys_of_later_releases: errors(concat!(
        "name = \"mai-job\"\n[gpu]\noneapi = \"2025.1\"\ntiers.devel = \"a\"\ntiers.runtime = \"b\"\narchs = [\"9.0\"]\n",
        "[python]\nversion = \"3.12\"\n[compiler-cache]\ntool = \"sccache\"\nbackend = \"webdav\"\nrequire = true\n",
        "[wheels.x]\nsource = { url = \"https://files.example/x.whl\", sha256 = \"0\" }\n[layer-cache]\nfrozen = \"-ref\"\n",
        "[images.serve]\npackages = [\"mai-serve\"]\nwheels = [\"x\"]\n",
    ));
    compiler_cache_of_another_tool: errors(&format!("{SMALL}[compiler-cache]\nstore = \"webdav\"\nrequire = true\n"));
    compiler_cache_store_required_but_none: errors(&format!("{SMALL}[compiler-cache]\ntool = \"sccache\"\nrequire = true\n"));
    compiler_cache_store_unknown: errors(&format!("{SMALL}[compiler-cache]\ntool = \"sccache\"\nstore = \"s4\"\nrequire = true\n"));
    unknown_keys_are_one_error_each: errors(
        "name = \"x\"\n[gpu]\ncudda = \"12.8.1\"\noss = \"ubuntu22.04\"\narchz = [\"9.0\"]\n[python]\nversion = \"3.12\"\n\
         [wheel.fast]\nsource = { lock = true }\n[images.a]\npackage = [\"a\"]\ngroups = [\"b\"]\nwheels = [\"fast\"]\n"
    );
    type_integer_for_table: errors(&format!("gpu = 1\n{}", SMALL.replace("[gpu]\ncuda = \"12.8.1\"\nos = \"ubuntu22.04\"\n", "")));
    unknown_table: errors(&format!("{SMALL}[layer-cache]\nrepo = \"zot.example:5000/cache\"\n"));
    wheel_store_is_no_name: errors(&format!(
        "{SMALL}[wheels.Wheel_Store]\nsource = {{ lock = true }}\narch = \"any\"\n[images.wheel-store]\npackages = [\"a\"]\n"
    ));
    wheel_store_with_a_tag: errors(&format!("{SMALL}[wheel-store]\nrepo = \"zot.example:5000/wheels:1\"\n"));
    wheel_store_without_a_repository: errors(&format!("{SMALL}[wheel-store]\nrequire = true\n"));

    type_integer_for_strings: errors(&image("groups = 3"));
    type_string_for_strings: errors(&image("entrypoint = \"python -m serve\""));
    type_float_in_strings: errors(&small("os =", "archs = [8.0, \"9.0\"]\nos ="));
    type_float_for_string: errors(&small("\"3.10\"", "3.10"));
    type_string_for_table: errors(&wheel("source = \"https://git.example/x\""));
    type_table_for_array: errors(&image("copy = { from = \"a\", to = \"/a\" }"));
    type_value_for_named_table: errors(&format!("{SMALL}[wheels]\nfast = true\n"));
    type_string_for_boolean: errors(&wheel("source = { lock = true }\nnetwork = \"yes\""));
    word_misspelt: errors(&image("tier = \"runtine\""));
    integer_out_of_range: errors(&wheel("source = { lock = true }\njobs = 0"));
    threshold_without_unit: errors(&format!("{SMALL}[layers]\nthreshold = \"20\"\nbuckets = 50\n"));
    missing_keys: errors("[python]\n[images.serve]\ncopy = [{ from = \"a\" }]\n");

    source_in_two_forms: errors(&wheel("source = { path = \"x\", lock = true }"));
    source_in_no_form: errors(&wheel("source = {}"));
    source_half_a_form: errors(&wheel("source = { git = \"https://git.example/x\" }"));
    source_is_a_tag: errors(&wheel("source = { git = \"https://git.example/x\", rev = \"v2.8.2\" }"));
    source_is_scp: errors(&wheel(
        "source = { git = \"git@git.example:a/b\", rev = \"0123456789012345678901234567890123456789\" }"
    ));
    source_leaves_context: errors(&wheel("source = { path = \"../x\", include = [\"/setup.py\", \"!x\"] }"));
    source_excludes: errors(&wheel("source = { path = \"x\", exclude = [\"!\", \"../y\", \"tests\", \"tests\"] }"));
    source_is_half_an_archive: errors(&wheel("source = { sha256 = \"0\" }"));
    source_is_no_archive: errors(&wheel(&format!(
        "source = {{ url = \"https://files.example/fast-1.0-py3-none-any.whl\", sha256 = \"{0}\" }}\n[wheels.b]\narch = \"any\"\n\
         source = {{ url = \"https://files.example/download?file=x.zip\", sha256 = \"{0}\", subdir = \"/b\" }}",
        "0".repeat(64)
    )));
    source_of_an_image: errors(&wheel(
        "source = { image = \"Kernels\", path = \"src\" }\n[wheels.b]\narch = \"any\"\nsource = { image = \"a\" }"
    ));
    source_of_an_image_and_a_folder: errors(&wheel("source = { path = \"x\", image = \"a\", include = [\"y\"] }"));
    source_git_credentials: errors(&wheel(concat!(
        "source = { git = \"ssh://git@git.example/x\", rev = \"0123456789012345678901234567890123456789\", ",
        "token = \"ghp_hunter2\", known-hosts = \"git.example\" }\n[wheels.b]\narch = \"any\"\n",
        "source = { git = \"https://git.example/x\", rev = \"main\", known-hosts = ",
        "\"git.example ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAA\" }",
    )));
    ready_wheel: errors(&wheel(concat!(
        "source = { wheel = \"https://files.example/other-1.0-py3-none-any.whl\" }\nneeds = [\"torch\"]\njobs = 4\n",
        "patches = [\"a.patch\"]\n[wheels.b]\nsource = { wheel = \"/wheels/b.whl\", sha256 = \"0\" }\nneeds = []",
    )));
    wheel_patches: errors(&wheel(
        "source = { lock = true }\npatches = [\"../a.patch\", \".\", \"b.patch\", \"b.patch\", \"/c.patch\"]"
    ));
    wheel_isolated: errors(&wheel(
        "source = { lock = true }\nisolation = true\nneeds = [\"torch\"]\ncommand = \"make\""
    ));
    wheel_may_lack: errors(&wheel(
        "source = { lock = true }\nmay-lack = [\"a.so.1\", \"a.so.1\", \"/lib/b.so\", \"libibverbs\"]"
    ));
    wheel_keeps_everything: errors(&wheel(concat!(
        "source = { lock = true }\nkeep-build = \".\"\n[wheels.b]\nsource = { lock = true }\nkeep-build = \"/src/b\"\n",
        "[wheels.c]\nsource = { wheel = \"c-1.0-py3-none-any.whl\" }\nkeep-build = \"build\"",
    )));
    imports: errors(&wheel(concat!(
        "source = { lock = true }\nimports = [\"torch\", \"torch\", \"flash-attn\", \"a..b\"]\n",
        "[images.other]\nwheels = [\"fast\"]\nimports = [\"import torch\"]",
    )));
    wheel_provides: errors(&wheel(concat!(
        "source = { lock = true }\nprovides = [\"b\", \"c\", \"C\", \"d>1\"]\n[wheels.b]\nsource = { lock = true }\n",
        "[wheels.e]\nsource = { lock = true }\nneeds = [\"f\"]\n[wheels.g]\nsource = { lock = true }\nprovides = [\"f\"]\n",
        "needs = [\"e\"]",
    )));
    wheel_twice: errors(&wheel("source = { lock = true }\n[wheels.Fast]\nsource = { lock = true }"));
    wheel_needs_a_version: errors(&wheel("source = { lock = true }\nneeds = [\"torch==2.8.0\", \"jax[cuda\"]"));
    wheel_needs_twice: errors(&wheel("source = { lock = true }\nneeds = [\"torch\", \"Torch\"]"));
    wheel_needs_itself: errors(&wheel("source = { lock = true }\nneeds = [\"fast\"]"));
    wheels_in_a_circle: errors(&wheel(concat!(
        "source = { lock = true }\nneeds = [\"torch\", \"b\"]\n[wheels.b]\nsource = { lock = true }\nneeds = [\"c\"]\n",
        "[wheels.c]\nsource = { lock = true }\nneeds = [\"fast\"]",
    )));
    wheel_unknown: errors(&format!("{SMALL}wheels = [\"fsat\"]\n[wheels.fast]\narch = \"any\"\nsource = {{ lock = true }}\n"));
    wheel_unknown_and_none_known: errors(&image("wheels = [\"flash-attn\"]"));
    wheel_env: errors(&wheel("source = { lock = true }\nenv = { \"A-B\" = \"1\", C = 1 }\ncommand = \" \""));

    cuda_in_two_parts: errors(&small("12.8.1", "12.8"));
    cuda_in_two_unknown_parts: errors(&small("12.8.1", "12.7"));
    cuda_never_published: errors(&small("12.8.1", "12.7.0"));
    cuda_without_os: errors(&small("os = \"ubuntu22.04\"\n", ""));
    cuda_13_on_ubuntu_20: errors(&small("cuda = \"12.8.1\"\nos = \"ubuntu22.04\"", "cuda = \"13.0.2\"\nos = \"ubuntu20.04\""));
    cuda_before_its_os: errors(&small("cuda = \"12.8.1\"\nos = \"ubuntu22.04\"", "cuda = \"12.4.1\"\nos = \"ubuntu24.04\""));
    cudnn_8_on_12_8_1: errors(&small("os =", "cudnn = 8\nos ="));
    cudnn_9_on_12_8_1: errors(&small("os =", "cudnn = \"9\"\nos ="));
    cudnn_where_none_is: errors(&small("cuda = \"12.8.1\"\nos = \"ubuntu22.04\"", "cuda = \"12.5.1\"\nos = \"ubuntu24.04\"\ncudnn = true"));
    os_unknown: errors(&small("\"ubuntu22.04\"", "\"Ubuntu-22.04\""));
    os_unsupported: errors(&small("\"ubuntu22.04\"", "\"cm2\""));
    arch_too_new: errors(&small("os =", "archs = [\"9.0\", \"10.3\"]\nos ="));
    arch_removed: errors(&small("12.8.1\"", "13.0.2\"\narchs = [\"7.0\", \"9.0\"]"));
    arch_of_another_spelling: errors(&small("os =", "archs = [\"sm_90\", \"Hopper\", \"9.0\", \"9.0\"]\nos ="));
    archs_missing: errors(&format!("{SMALL}wheels = [\"a\", \"b\"]\n[wheels.a]\nsource = {{ lock = true }}\n[wheels.b]\nsource = {{ lock = true }}\n"));
    rocm_beside_cuda: errors(&small("cuda =", "rocm = \"6.4\"\narchs = [\"gfx942\"]\ncuda ="));
    rocm_with_a_patch_level_of_0: errors(&rocm("6.4", "6.4.0"));
    rocm_in_one_part: errors(&rocm("6.4", "6"));
    rocm_without_os: errors(&rocm("os = \"ubuntu22.04\"\n", ""));
    rocm_on_another_system: errors(&rocm("ubuntu22.04", "rockylinux9"));
    rocm_archs_of_another_vendor: errors(&rocm("os =", "archs = [\"9.0\", \"MI300X\", \"gfx90A\"]\nos ="));
    rocm_arch_too_new: errors(&rocm("os =", "archs = [\"gfx90a\", \"gfx950\"]\nos ="));
    rocm_arch_dropped: errors(&rocm("6.4\"", "7.2\"\narchs = [\"gfx940\"]"));
    rocm_arch_of_no_gpu: errors(&rocm("os =", "archs = [\"gfx943\"]\nos ="));
    rocm_arch_features: errors(&rocm(
        "os =",
        "archs = [\"gfx90a\", \"gfx90a:xnack+\", \"gfx1100:xnack+\", \"gfx942:xnack\", \"gfx942:ecc+\"]\nos ="
    ));
    rocm_archs_missing: errors(&format!(
        "{}wheels = [\"a\"]\n[wheels.a]\nsource = {{ lock = true }}\n", rocm("6.4", "6.4")
    ));
    rocm_arch_on_cuda: errors(&small("os =", "archs = [\"9.0\", \"gfx942\"]\nos ="));
    arch_beside_those_of_the_compiler: errors(&rocm(
        "os =", "archs = [\"gfx942\", \"gfx950\"]\ncompiler-archs = [\"gfx942\", \"gfx1100\"]\nos ="
    ));
    mirror_is_a_url: errors(&small("os =", "mirror = \"https://zot.example:5000/x\"\nos ="));
    tiers_missing: errors("name = \"x\"\n[python]\nversion = \"3.12\"\n[images.a]\npackages = [\"a\"]\n[images.b]\npackages = [\"a\"]\n");
    tier_is_no_reference: errors(&small("os =", "tiers.devel = \"NVIDIA/cuda\"\ntiers.base = \"a:b:c\"\nos ="));

    python_not_on_os: errors(&small("\"3.10\"", "\"3.12\"\nprovider = \"system\""));
    python_from_nobody: errors(&small("\"3.10\"", "\"3.9\""));
    python_with_patch_level: errors(&small("\"3.10\"", "\"3.10.4\""));
    provider_in_two_forms: errors(&small("\"3.10\"", "\"3.10\"\nprovider = { image = \"a\", amd64 = { url = \"https://f.example/a\" } }"));
    provider_without_a_hash: errors(&small("\"3.10\"", "\"3.10\"\nprovider = { url = \"ftp://f.example/a\", sha256 = \"sha256:ab\" }"));

    secret_in_a_url: errors(&wheel(
        "source = { git = \"https://me:hunter2@git.example/x\", rev = \"0123456789012345678901234567890123456789\" }"
    ));
    secret_in_env: errors(&image("env = { PIP_INDEX_URL = \"https://me:hunter2@index.example/simple\" }"));
    secret_in_a_reference: errors(&small("os =", "tiers.base = \"me:hunter2@registry.example/x\"\nos ="));
    secret_beside_a_slip: errors(&image("user = \"App\" # see https://me:hunter2@index.example/"));
    secret_in_broken_toml: errors("name = https://me:hunter2@index.example/\nx = me:hunter2@registry.example/x\n");
    secret_behind_escapes: errors(&image("labels = { a = \"https:\\u002f/me:hunter2\\u0040index.example\" }"));

    image_name: errors(&format!("{SMALL}[images.\"Serve 2\"]\npackages = [\"x\"]\n"));
    image_groups_of_nothing: errors(&small("packages = [\"serve\"]", "groups = [\"train\"]"));
    image_paths: errors(&image("copy = [{ from = \"/src\", to = \"app\" }]\nworkdir = \"app\"\nforbid.paths = [\"bin/nvcc\"]"));
    image_user_and_ports: errors(&image("user = \"app:app\"\nports = [\"8000-8001\", 8000, \"8000/tcp\"]"));
    image_system: errors(&image("system = [\"git cmake\", \"curl\", \"curl\"]"));
    image_nul: errors(&image("cmd = [\"a\\u0000b\"]"));
    image_labels: errors(&image("labels = { \"a b\" = \"1\" }"));
    no_images: errors("name = \"x\"\n[python]\nversion = \"3.12\"\n[images]\n");
    default_unknown: errors(&format!("default = \"srve\"\n{SMALL}"));

    warning_rocm_outside_of_the_table: warnings(&rocm("6.4\"", "7.14\"\narchs = [\"gfx1310\"]\ncudnn = true"));
    warning_rocm_on_a_system_too_new: warnings(&rocm("6.4\"\nos = \"ubuntu22.04", "6.1\"\nos = \"ubuntu24.04").replace("3.10", "3.12"));
    warning_newer_than_the_table: warnings(&small("12.8.1", "14.0.0"));
    warning_end_of_life: warnings(&small("12.8.1", "12.8.0"));
    warning_own_variables: warnings(&wheel("source = { lock = true }\nenv = { MAX_JOBS = \"4\" }"));
    warning_secret_in_env: warnings(&image("env = { HF_TOKEN = \"hf_hunter2\" }"));
    warning_empty_image: warnings(&format!("{SMALL}[images.empty]\n"));
    warning_pointless: warnings(&small("cuda = \"12.8.1\"", "tiers.runtime = \"a\"\ncudnn = true\narchs = [\"9.0a+PTX\"]"));
}

#[test]
fn no_secret_is_ever_shown() {
    for value in [
        "https://me:hunter2@host.example/x",
        "me:hunter2@host.example/x",
        "https://hunter2@host.example",
    ] {
        for line in FULL.lines().filter(|line| line.contains('"')) {
            // Put it at the place of the first string of each line.
            let Some((before, rest)) = line.split_once('"') else {
                continue;
            };
            let Some((_, after)) = rest.split_once('"') else {
                continue;
            };
            let changed = FULL.replace(line, &format!("{before}\"{value}\"{after}"));
            let shown = match parse(&changed) {
                Ok((_, warnings)) => rendered(&warnings),
                Err(errors) => rendered(&errors),
            };
            assert!(!shown.contains("hunter2"), "{shown}");
        }
    }
}
