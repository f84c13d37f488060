//! The table of keys and the tables of facts as a page of reference, `docs/reference/spec.md`.
//!
//! The page is rendered, not written: what it says about a key is what an editor and an error say.

use std::fmt::Write;

use super::cuda_tags::RELEASES;
use super::keys::{self, Key, Kind};
use super::model::OsFamily;
use super::{archs, cuda, gfx, os, rocm};

/// The page, in Markdown.
pub fn markdown() -> String {
    let mut page = String::from(
        "# The spec\n\n\
         <!-- Rendered from src/spec/keys, which to change instead: UPDATE_DOCS=1 cargo test --lib spec:: -->\n\n\
         A `wheelbase.toml` says what is built. Its first line names the frontend, so that any BuildKit can build it:\n\n\
         ```toml\n# syntax=registry.example/wheelbase:1\n#:schema wheelbase.schema.json\nname = \"mai-job\"\n```\n\n\
         Unknown keys are errors. Paths are relative to the build context, and stay inside it.\n\n\
         `${NAME}` in a string stands for the value of the build argument that `[args.NAME]` declares, and `$${` for `${` \
         itself. So it is in every string below but those that are said to be taken as they are, and in no key.\n",
    );
    for key in keys::all() {
        section(&mut page, key);
    }
    facts(&mut page);
    page
}

/// One key. Writing to a string cannot fail, so results of `write!` are dropped here and below.
fn section(page: &mut String, key: &Key) {
    let path = shown(key.path);
    let table = matches!(
        key.kind,
        Kind::Table | Kind::Named | Kind::Forms(_) | Kind::Open(_)
    ) && !key.path.contains('.');
    let heading = match &key.kind {
        Kind::Named => format!("## `[{path}.NAME]`"),
        _ if table => format!("## `[{path}]`"),
        _ if !key.path.contains('.') => format!("## `{path}`"),
        _ => format!("### `{path}`"),
    };
    let _ = write!(page, "\n{heading}\n\n{}\n", key.doc);
    let mut about = Vec::new();
    if !table {
        about.push(format!("Type: {}", kind(&key.kind)));
    }
    if key.required {
        about.push("required".to_owned());
    }
    if !key.default.is_empty() {
        about.push(format!("default: {}", default(key.default)));
    }
    if key.literal
        && !table
        && !["args.", "matrix."]
            .iter()
            .any(|table| key.path.starts_with(table))
    {
        about.push("taken as it is, without arguments".to_owned());
    }
    if !about.is_empty() {
        let _ = write!(page, "\n{}.\n", capital(&about.join("; ")));
    }
    let _ = write!(page, "\n```toml\n{}\n```\n", example(key));
}

/// A path with the user's names as `NAME`.
fn shown(path: &str) -> String {
    path.replace('*', "NAME")
}

fn kind(kind: &Kind) -> String {
    match kind {
        Kind::Word(words) => {
            let words: Vec<String> = words.iter().map(|word| format!("`\"{word}\"`")).collect();
            words.join(", ")
        }
        Kind::Any(kinds) => kinds.iter().map(self::kind).collect::<Vec<_>>().join(", or "),
        Kind::Integer {
            least,
            most: u64::MAX,
        } => format!("an integer, {least} or more"),
        Kind::Integer { least, most } => format!("an integer from {least} to {most}"),
        Kind::Forms(forms) => {
            let forms: Vec<String> = forms.iter().map(keys::Form::words).collect();
            format!("a table with {}", forms.join(", or "))
        }
        other => other.words(),
    }
}

/// A default: TOML as code, words as they are.
fn default(text: &str) -> String {
    if toml::from_str::<toml::Table>(&format!("x = {text}")).is_ok() {
        format!("`{text}`")
    } else {
        text.to_owned()
    }
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or(String::new(), |first| {
        format!("{}{}", first.to_uppercase(), characters.as_str())
    })
}

/// A key's example below the header of the table that it stands in.
fn example(key: &Key) -> String {
    let first = key.example.split(['=', '.', ' ']).next().unwrap_or_default();
    let mut path = key.path;
    while let Some((parent, name)) = path.rsplit_once('.') {
        if key.example.starts_with('[') {
            break;
        }
        if name == first {
            let list = keys::all().any(|key| key.path == parent && matches!(key.kind, Kind::Tables));
            let parent = parent
                .replace("args.*", "args.TORCH_CUDA")
                .replace("images.*", "images.serve")
                .replace("wheels.*", "wheels.flash-attn");
            let header = if list {
                format!("[[{parent}]]")
            } else {
                format!("[{parent}]")
            };
            return format!("{header}\n{}", key.example);
        }
        path = parent;
    }
    key.example.to_owned()
}

/// What the checks know about images, systems and compilers.
fn facts(page: &mut String) {
    page.push_str(
        "\n## Toolkits\n\n\
         Images of `nvidia/cuda` that are known; each has tiers base, runtime and devel. cuDNN comes with runtime and devel. \
         Newer versions are tried, with a warning. Code that was compiled for a GPU runs from the first driver on, and what \
         `+PTX` adds from the second, which the toolkit came with.\n\n\
         | CUDA | cuDNN in tags | systems with cuDNN | without | driver | for PTX |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    for release in RELEASES {
        let state = if release.end_of_life { " (end of life)" } else { "" };
        let word = if release.cudnn.is_empty() {
            "-".to_owned()
        } else {
            format!("`{}`", release.cudnn)
        };
        let (with, without) = (release.with_cudnn.join(", "), release.without_cudnn.join(", "));
        let _ = writeln!(
            page,
            "| {}{state} | {word} | {} | {} | {} | {} |",
            release.version(),
            dash(&with),
            dash(&without),
            dash(cuda::oldest_driver(release.version().0).unwrap_or_default()),
            dash(cuda::own_driver(release.version()).unwrap_or_default())
        );
    }
    page.push_str(
        "\nFor ROCm, tier devel is `rocm/dev-ubuntu-*:*-complete`, and tiers base and runtime are `ubuntu:*`: AMD publishes no \
         image without the compiler.\n\n\
         | system | ROCm from | before |\n| --- | --- | --- |\n",
    );
    for (system, from, before) in rocm::SYSTEMS {
        let show = |version: &Option<(u32, u32)>| {
            version.map_or("-".to_owned(), |(major, minor)| format!("{major}.{minor}"))
        };
        let _ = writeln!(page, "| {system} | {} | {} |", show(from), show(before));
    }
    page.push_str(
        "\n## Compute capabilities\n\n\
         What `gpu.archs` may name for CUDA. `9.0` and later have an `a` form from CUDA 12.0 on, `10.0` and later an `f` form from \
         12.9 on; `+PTX` adds code that later GPUs compile for themselves.\n\n\
         | CUDA from | released | capabilities |\n| --- | --- | --- |\n",
    );
    for ((major, minor), month, capabilities) in archs::ranges() {
        let _ = writeln!(
            page,
            "| {major}.{minor} | {month} | {} |",
            capabilities.join(", ")
        );
    }
    let _ = write!(
        page,
        "\n## Targets of AMD's GPUs\n\n\
         What `gpu.archs` may name for ROCm {}, with `:xnack+`, `:xnack-`, `:sramecc+` and `:sramecc-` where the processor has \
         the feature. Of other versions nothing is known: any target is taken, with a warning.\n\n\
         | ROCm from | released | targets |\n| --- | --- | --- |\n",
        gfx::known()
    );
    for ((major, minor), month, targets) in gfx::ranges() {
        let _ = writeln!(page, "| {major}.{minor} | {month} | {} |", targets.join(", "));
    }
    page.push_str(
        "\n## Systems\n\n\
         What `gpu.os` may name. The first Python is the system's default.\n\n\
         | `os` | package manager | glibc | Python |\n| --- | --- | --- | --- |\n",
    );
    for os in os::all() {
        let manager = match os.family {
            OsFamily::Debian => "apt-get",
            OsFamily::RedHat => "dnf",
        };
        let pythons: Vec<String> = os.pythons.iter().map(|minor| format!("3.{minor}")).collect();
        let (major, minor) = os.glibc;
        let _ = writeln!(
            page,
            "| {} | {manager} | {major}.{minor} | {} |",
            os.name,
            pythons.join(", ")
        );
    }
}

fn dash(text: &str) -> &str {
    if text.is_empty() { "-" } else { text }
}

#[cfg(test)]
pub(super) mod tests {
    use toml::de::DeTable;

    use super::*;
    use crate::diagnostic::SourceFile;
    use crate::spec::findings::Findings;
    use crate::spec::shape;

    /// Compares a committed file with what is rendered now; with `UPDATE_DOCS=1` writes it.
    pub(in crate::spec) fn fresh(path: &str, rendered: &str) {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, rendered).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == rendered,
            "{} is stale: UPDATE_DOCS=1 cargo test --lib spec::",
            path.display()
        );
    }

    #[test]
    fn the_committed_page_is_fresh() {
        fresh("docs/reference/spec.md", &markdown());
    }

    #[test]
    fn every_example_is_toml_of_the_right_shape() {
        for key in keys::all() {
            let text = example(key);
            let file = SourceFile::new(key.path, text.clone());
            let mut findings = Findings::new(&file);
            let tree = DeTable::parse(&file.text).unwrap_or_else(|error| panic!("{text}: {error}"));
            shape::check(tree.get_ref(), &mut findings);
            // An example is a piece of a file: other keys are missing from it.
            for finding in findings.finish().err().unwrap_or_default() {
                let piece = finding.message.ends_with(" is missing") || finding.message.contains(" but no ");
                assert!(piece, "{}", finding.render(false));
            }
        }
    }
}
