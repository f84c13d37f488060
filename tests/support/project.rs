//! Temporary copies of an example, to be edited as a user edits.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::engine::Lab;

/// A folder of its own that is gone when it goes out of scope.
#[derive(Debug)]
pub(crate) struct Project {
    folder: tempfile::TempDir,
}

impl AsRef<Path> for Project {
    fn as_ref(&self) -> &Path {
        self.folder.path()
    }
}

impl Project {
    /// A folder without files.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub(crate) fn empty() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        Ok(Self { folder })
    }

    /// A copy of `examples/quickstart` that is built with the lab's frontend image.
    ///
    /// # Errors
    ///
    /// When it cannot be copied.
    pub(crate) fn quickstart(lab: &Lab) -> Result<Self> {
        Self::example("quickstart", lab)
    }

    /// A copy of an example that is built with the lab's frontend image.
    ///
    /// # Errors
    ///
    /// When it cannot be copied.
    pub(crate) fn example(name: &str, lab: &Lab) -> Result<Self> {
        Self::of(&format!("examples/{name}"), lab)
    }

    /// A copy of a folder of the repository that is built with the lab's frontend image.
    ///
    /// # Errors
    ///
    /// When it cannot be copied.
    pub(crate) fn of(name: &str, lab: &Lab) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join(name), folder.path())?;
        let project = Self { folder };
        let spec = project.read("wheelbase.toml")?;
        let (first, rest) = spec.split_once('\n').context("an empty spec")?;
        if !first.starts_with("# syntax=") {
            bail!("the spec of {name} does not start with `# syntax=`");
        }
        project.write("wheelbase.toml", &format!("# syntax={}\n{rest}", lab.frontend))?;
        Ok(project)
    }

    /// Its folder.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    fn at(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    /// A file's text.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub(crate) fn read(&self, file: &str) -> Result<String> {
        fs::read_to_string(self.at(file)).with_context(|| format!("failed to read {file}"))
    }

    /// Replaces or makes a file.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub(crate) fn write(&self, file: &str, text: &str) -> Result<()> {
        let path = self.at(file);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text).with_context(|| format!("failed to write {file}"))
    }

    /// Replaces a text that must be there, everywhere in the file.
    ///
    /// # Errors
    ///
    /// When it is not there.
    pub(crate) fn edit(&self, file: &str, from: &str, to: &str) -> Result<&Self> {
        let text = self.read(file)?;
        if !text.contains(from) {
            bail!("{file} does not hold {from:?}");
        }
        self.write(file, &text.replace(from, to))?;
        Ok(self)
    }

    /// Replaces a text that must be there, the first time.
    ///
    /// # Errors
    ///
    /// When it is not there.
    pub(crate) fn edit_once(&self, file: &str, from: &str, to: &str) -> Result<&Self> {
        let text = self.read(file)?;
        if !text.contains(from) {
            bail!("{file} does not hold {from:?}");
        }
        self.write(file, &text.replacen(from, to, 1))?;
        Ok(self)
    }

    /// Edits the spec.
    ///
    /// # Errors
    ///
    /// When the text is not there.
    pub(crate) fn spec(&self, from: &str, to: &str) -> Result<&Self> {
        self.edit_once("wheelbase.toml", from, to)
    }

    /// Removes a file.
    ///
    /// # Errors
    ///
    /// When it cannot be removed.
    pub(crate) fn remove(&self, file: &str) -> Result<&Self> {
        fs::remove_file(self.at(file)).with_context(|| format!("failed to remove {file}"))?;
        Ok(self)
    }

    /// Gives a wheel an environment that no build had before, so that it is compiled for sure.
    ///
    /// # Errors
    ///
    /// When the spec has no such wheel.
    pub(crate) fn salt(&self, wheel: &str) -> Result<&Self> {
        let head = format!("[wheels.{wheel}]\n");
        self.spec(
            &head,
            &format!("{head}env    = {{ SALT = \"{}\" }}\n", super::unique()),
        )
    }

    /// Reverses tables and the keys of each, and drops comments: other text, same meaning.
    ///
    /// # Errors
    ///
    /// When the spec cannot be read.
    pub(crate) fn shuffle(&self) -> Result<&Self> {
        let spec = self.read("wheelbase.toml")?;
        self.write("wheelbase.toml", &shuffled(&spec))?;
        Ok(self)
    }

    /// Locks another file of a package, as `uv lock --upgrade-package` does.
    ///
    /// # Errors
    ///
    /// When the lock does not have the package.
    pub(crate) fn bump(&self, release: &Release) -> Result<&Self> {
        python(
            "bump.py",
            &[&self.at("uv.lock"), &release.file, Path::new(&release.url)],
        )?;
        Ok(self)
    }
}

/// A wheel that the lab's index serves.
#[derive(Debug)]
pub(crate) struct Release {
    /// Where it lies.
    pub(crate) file: PathBuf,
    /// Where it is served.
    pub(crate) url: String,
    made: bool,
}

impl Release {
    /// A wheel of the index.
    pub(crate) fn of(lab: &Lab, file: &str) -> Self {
        Self {
            file: lab.folder().join("index/files").join(file),
            url: format!("{}/files/{file}", lab.index),
            made: false,
        }
    }

    /// A release of a package that nobody has ever installed, made from a wheel of the index. It is gone when the
    /// value goes out of scope.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub(crate) fn new(lab: &Lab, wheel: &str, version: &str) -> Result<Self> {
        let number = u64::from_str_radix(&super::unique()[5..15], 16)?;
        let version = format!("{version}.post{number}");
        let folder = lab.folder().join("index/static");
        let from = lab.folder().join("index/files").join(wheel);
        let said = python("release.py", &[&from, Path::new(&version), &folder])?;
        let file = PathBuf::from(
            said.split_whitespace()
                .next()
                .context("release.py says nothing")?,
        );
        let name = file.file_name().context("no file name")?.to_string_lossy();
        let url = format!("{}/files/{name}", lab.index);
        Ok(Self {
            file,
            url,
            made: true,
        })
    }
}

impl Drop for Release {
    fn drop(&mut self) {
        if self.made {
            fs::remove_file(&self.file).ok();
        }
    }
}

/// Has the lab's index serve a file beside the packages; gives its URL and SHA-256.
///
/// # Errors
///
/// When it cannot be copied.
pub(crate) fn serve_file(lab: &Lab, path: &Path) -> Result<(String, String)> {
    let name = path
        .file_name()
        .context("no file name")?
        .to_string_lossy()
        .into_owned();
    let bytes = fs::read(path).with_context(|| path.display().to_string())?;
    let folder = lab.folder().join("index/static");
    if !folder.join(&name).exists() {
        let new = folder.join(format!(".{name}.{}", super::unique()));
        fs::write(&new, &bytes)?;
        fs::rename(&new, folder.join(&name))?;
    }
    Ok((format!("{}/files/{name}", lab.index), super::tree::sha256(&bytes)))
}

/// A file of the lab by its folder and the beginning of its name.
///
/// # Errors
///
/// When there is none.
pub(crate) fn lab_file(lab: &Lab, folder: &str, prefix: &str) -> Result<PathBuf> {
    let folder = lab.folder().join(folder);
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(prefix))
        {
            return Ok(path);
        }
    }
    bail!("{} has no {prefix}*", folder.display())
}

/// Runs a program of this folder.
pub(crate) fn python(program: &str, arguments: &[&Path]) -> Result<String> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/support")
        .join(program);
    let output = std::process::Command::new("python3")
        .arg(&program)
        .args(arguments)
        .output()?;
    if !output.status.success() {
        bail!(
            "{}: {}",
            program.display(),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A release of a package of the lock that no image of the quickstart uses.
pub(crate) const UNUSED: &str = "certifi-2026.10.19.post1-py3-none-any.whl";

/// A release of a small package that `serve` uses.
pub(crate) const SMALL: &str = "idna-3.20-py3-none-any.whl";

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("failed to read {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// A spec whose values stand on one line each, with its first line kept, tables and keys reversed.
pub(crate) fn shuffled(spec: &str) -> String {
    let mut tables: Vec<(Option<&str>, Vec<&str>)> = vec![(None, Vec::new())];
    for line in spec.lines().skip(1) {
        if line.starts_with('[') {
            tables.push((Some(line), Vec::new()));
        } else if !line.trim().is_empty()
            && !line.starts_with('#')
            && let Some((_, keys)) = tables.last_mut()
        {
            keys.push(line);
        }
    }
    let head = tables.remove(0);
    tables.reverse();
    tables.insert(0, head);
    let mut out = format!("{}\n# shuffled\n", spec.lines().next().unwrap_or_default());
    for (table, keys) in tables {
        if let Some(table) = table {
            out.push_str(table);
            out.push('\n');
        }
        for key in keys.iter().rev() {
            out.push_str(key);
            out.push('\n');
        }
    }
    out
}
