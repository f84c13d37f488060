//! Specs and locks, written so that a case shows what it is about and nothing else.

/// A spec with these images and wheels.
pub(crate) fn spec(rest: &str) -> String {
    format!(
        "name = \"x\"\n[gpu]\ncuda = \"12.8.1\"\nos = \"ubuntu22.04\"\narchs = [\"9.0\"]\n[python]\nversion = \"3.10\"\n{rest}"
    )
}

/// A spec with one image of one package.
pub(crate) fn image(name: &str) -> String {
    spec(&format!("[images.{name}]\npackages = [\"{name}\"]\n"))
}

/// A lock with these packages.
pub(crate) fn lock(packages: &str) -> String {
    format!("version = 1\nrevision = 3\nrequires-python = \">=3.10\"\n\n{packages}")
}

/// 64 hex digits that are the text's own.
pub(crate) fn hash(text: &str) -> String {
    let digits: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("{digits:0<64.64}")
}

/// The tags of a wheel that fits everywhere.
pub(crate) const PURE: &str = "py3-none-any";

/// A package of a registry with a wheel, 100 kB large.
pub(crate) fn package(name: &str, version: &str, tags: &str, more: &str) -> String {
    sized(name, version, tags, 100_000, more)
}

/// The same with a size in bytes.
pub(crate) fn sized(name: &str, version: &str, tags: &str, size: u64, more: &str) -> String {
    let file = format!("{}-{version}-{tags}.whl", name.replace('-', "_"));
    format!(
        "[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n\
         source = {{ registry = \"https://index.example/simple\" }}\n{more}\nwheels = [{{ \
         url = \"https://files.index.example/{file}\", hash = \"sha256:{}\", size = {size} }}]\n\n",
        hash(&file)
    )
}

/// A project of the workspace that needs some packages.
pub(crate) fn member(name: &str, folder: &str, needs: &[&str]) -> String {
    let needs: Vec<String> = needs
        .iter()
        .map(|name| format!("{{ name = \"{name}\" }}"))
        .collect();
    format!(
        "[[package]]\nname = \"{name}\"\nversion = \"0.1.0\"\nsource = {{ editable = \"{folder}\" }}\n\
         dependencies = [{}]\n\n",
        needs.join(", ")
    )
}
