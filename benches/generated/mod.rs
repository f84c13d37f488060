//! A lock of any size, in the shape of real ones: packages stand in the order of their names, a quarter of them has a
//! wheel for each of twelve platforms, some edges have markers.

use std::fmt::Write as _;

/// A spec with one image of that project.
pub(crate) const SPEC: &str = r#"# syntax=registry.example/wheelbase:1
name = "bench"
[gpu]
cuda = "12.8.1"
os = "ubuntu22.04"
archs = ["9.0"]
[python]
version = "3.11"
[images.app]
tier = "runtime"
packages = ["app"]
"#;

/// Its `pyproject.toml`.
pub(crate) const PROJECT: &str = r#"[project]
name = "app"
version = "1.0.0"
requires-python = ">=3.11"
dependencies = ["p0"]
[build-system]
requires = ["uv_build"]
build-backend = "uv_build"
"#;

/// A lock of one project and `count` packages, all of which it needs: each one needs two of the next.
pub(crate) fn lock(count: usize) -> String {
    let platforms = [
        "manylinux_2_17_x86_64.manylinux2014_x86_64",
        "manylinux_2_17_aarch64.manylinux2014_aarch64",
        "musllinux_1_2_x86_64",
        "musllinux_1_2_aarch64",
        "macosx_10_9_x86_64",
        "macosx_11_0_arm64",
        "win_amd64",
        "win_arm64",
        "win32",
        "manylinux_2_31_riscv64",
        "manylinux_2_17_s390x.manylinux2014_s390x",
        "manylinux_2_17_ppc64le.manylinux2014_ppc64le",
    ];
    let mut text = String::from(
        "version = 1\nrevision = 3\nrequires-python = \">=3.11\"\n\n[[package]]\nname = \"app\"\nversion = \"1.0.0\"\n\
         source = { editable = \".\" }\ndependencies = [{ name = \"p0\" }]\n",
    );
    let mut by_name: Vec<usize> = (0..count).collect();
    by_name.sort_by_key(|index| format!("p{index}"));
    for index in by_name {
        let hash = |file: usize| format!("{:064x}", index * 100 + file);
        let size = if index % 40 == 0 {
            60_000_000
        } else {
            40_000 + index
        };
        let _ = write!(
            text,
            "\n[[package]]\nname = \"p{index}\"\nversion = \"1.{index}.0\"\n\
             source = {{ registry = \"https://index.example/simple\" }}\n"
        );
        let next: Vec<usize> = [2 * index + 1, 2 * index + 2]
            .into_iter()
            .filter(|next| *next < count)
            .collect();
        if !next.is_empty() {
            text.push_str("dependencies = [\n");
            for next in next {
                let marker = if next % 5 == 0 {
                    ", marker = \"sys_platform == 'linux'\""
                } else {
                    ""
                };
                let _ = writeln!(text, "    {{ name = \"p{next}\"{marker} }},");
            }
            text.push_str("]\n");
        }
        let url = format!("https://files.index.example/{index}/p{index}-1.{index}.0");
        let _ = writeln!(
            text,
            "sdist = {{ url = \"{url}.tar.gz\", hash = \"sha256:{}\", size = {size} }}\nwheels = [",
            hash(99)
        );
        let tags: Vec<String> = if index % 4 == 0 {
            platforms
                .iter()
                .map(|platform| format!("cp311-cp311-{platform}"))
                .collect()
        } else {
            vec!["py3-none-any".to_owned()]
        };
        for (file, tag) in tags.iter().enumerate() {
            let _ = writeln!(
                text,
                "    {{ url = \"{url}-{tag}.whl\", hash = \"sha256:{}\", size = {size} }},",
                hash(file)
            );
        }
        text.push_str("]\n");
    }
    text
}
