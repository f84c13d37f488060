//! Small locks for tests, and how they are asked.
//!
//! Each test writes the lock that it is about; what is the same in all of them is here, so that a test shows what matters.

use super::{Lock, Locked, PackageName, PythonVersion, Root, Roots, Subset, SubsetError, Target};
use crate::diagnostic::SourceFile;
use crate::platform::Platform;

pub(super) fn parse(text: &str) -> Lock {
    match Lock::parse(&SourceFile::new("uv.lock", text)) {
        Ok((lock, warnings)) => {
            assert_eq!(warnings, []);
            lock
        }
        Err(errors) => panic!(
            "{}",
            errors.iter().map(|error| error.render(false)).collect::<String>()
        ),
    }
}

/// A lock with some packages.
pub(super) fn lock(packages: &str) -> Lock {
    parse(&format!(
        "version = 1\nrevision = 3\nrequires-python = \">=3.10\"\n\n{packages}"
    ))
}

/// A registry package with one pure wheel, whose hash is made of its name and version, and more lines.
pub(super) fn wheel(name: &str, version: &str, more: &str) -> String {
    let (file, hash) = (name.replace('-', "_"), hash(name, version));
    format!(
        "[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n\
         source = {{ registry = \"https://index.example/simple\" }}\n{more}\n\
         wheels = [{{ url = \"https://files.index.example/{file}-{version}-py3-none-any.whl\", \
         hash = \"sha256:{hash}\", size = 1000, upload-time = \"2025-01-01T00:00:00Z\" }}]\n\n"
    )
}

fn hash(name: &str, version: &str) -> String {
    let bytes = name.bytes().chain(version.bytes());
    let digits: Vec<String> = bytes.map(|byte| format!("{byte:02x}")).collect();
    format!("{:0<64.64}", digits.concat())
}

/// The project itself.
pub(super) fn app(more: &str) -> String {
    format!("[[package]]\nname = \"app\"\nversion = \"0.1.0\"\nsource = {{ editable = \".\" }}\n{more}\n\n")
}

pub(super) fn target() -> Target {
    Target {
        platform: Platform::linux_amd64(),
        python: PythonVersion::new(3, 12),
        glibc: (2, 35),
    }
}

pub(super) fn name(text: &str) -> PackageName {
    text.parse().unwrap()
}

/// `app`, `app[x]` or `app:group`, separated by spaces; an extra or group counts for all roots.
pub(super) fn roots(text: &str) -> Roots {
    let mut roots = Roots::default();
    for word in text.split_whitespace() {
        if let Some((package, group)) = word.split_once(':') {
            roots
                .packages
                .extend((!package.is_empty()).then(|| Root::new(name(package))));
            roots.groups.insert(group.to_owned());
        } else if let Some((package, extras)) = word.trim_end_matches(']').split_once('[') {
            let extras = extras.split(',').map(str::to_owned).collect();
            roots.packages.push(Root {
                name: name(package),
                extras,
            });
        } else {
            roots.packages.push(Root::new(name(word)));
        }
    }
    roots
}

pub(super) fn subset(lock: &Lock, text: &str) -> Subset {
    lock.subset(&roots(text), &target()).unwrap()
}

/// `name==version` of all packages.
pub(super) fn pins(subset: &Subset) -> Vec<String> {
    let pin = |locked: &Locked| match &locked.version {
        Some(version) => format!("{}=={version}", locked.name),
        None => locked.name.to_string(),
    };
    subset.packages.iter().map(pin).collect()
}

pub(super) fn errors(lock: &Lock, text: &str) -> Vec<String> {
    lock.subset(&roots(text), &target())
        .unwrap_err()
        .iter()
        .map(SubsetError::message)
        .collect()
}
