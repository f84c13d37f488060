//! The operating systems that vendors publish tiers for: package manager, C library, Python.
//!
//! The facts are those of the distributions' own package indexes; a Python counts when the system's package
//! manager installs it from the repositories that the image ships with, without a PPA or other third party.

use super::findings::Problem;
use super::model::{Os, OsFamily};
use crate::diagnostic::nearest;

/// Name in tags, family, glibc, minor versions of Python 3 (the default one first).
type Row = (&'static str, OsFamily, (u32, u32), &'static [u32]);

const TABLE: &[Row] = &[
    ("ubuntu18.04", OsFamily::Debian, (2, 27), &[6]),
    ("ubuntu20.04", OsFamily::Debian, (2, 31), &[8]),
    ("ubuntu22.04", OsFamily::Debian, (2, 35), &[10]),
    ("ubuntu24.04", OsFamily::Debian, (2, 39), &[12]),
    ("debian11", OsFamily::Debian, (2, 31), &[9]),
    ("debian12", OsFamily::Debian, (2, 36), &[11]),
    ("debian13", OsFamily::Debian, (2, 41), &[13]),
    ("ubi8", OsFamily::RedHat, (2, 28), &[6, 9, 11, 12]),
    ("ubi9", OsFamily::RedHat, (2, 34), &[9, 11, 12]),
    ("ubi10", OsFamily::RedHat, (2, 39), &[12]),
    ("rockylinux8", OsFamily::RedHat, (2, 28), &[6, 9, 11, 12]),
    ("rockylinux9", OsFamily::RedHat, (2, 34), &[9, 11, 12]),
    ("rockylinux10", OsFamily::RedHat, (2, 39), &[12]),
    ("oraclelinux8", OsFamily::RedHat, (2, 28), &[6, 9, 11, 12]),
    ("oraclelinux9", OsFamily::RedHat, (2, 34), &[9, 11, 12]),
    ("amzn2023", OsFamily::RedHat, (2, 34), &[9, 11]),
];

/// Published as tiers, but their package managers (yum 3, tdnf) are not ones that system packages install with.
const FOREIGN: &[&str] = &["centos7", "ubi7", "cm2", "azl3", "ubuntu16.04"];

/// The names of the table.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|row| row.0)
}

/// All operating systems of the table.
pub(super) fn all() -> impl Iterator<Item = Os> {
    names().filter_map(|name| find(name).ok())
}

/// The operating system with this name.
pub(super) fn find(name: &str) -> Result<Os, Problem> {
    if let Some((name, family, glibc, pythons)) = TABLE.iter().find(|row| row.0 == name) {
        return Ok(Os {
            name: (*name).to_owned(),
            family: *family,
            glibc: *glibc,
            pythons: pythons.to_vec(),
        });
    }
    if FOREIGN.contains(&name) {
        return Err(Problem::new(
            format!(
                "`{name}` is not supported: Wheelbase installs packages with apt-get or dnf of a current release"
            ),
            "take another `os`, or name your own images with `tiers` and leave `os` out",
        ));
    }
    let known: Vec<&str> = names().collect();
    let guess = name.to_ascii_lowercase().replace(['-', '_', ' ', ':'], "");
    let close = nearest(&guess, known.iter().copied());
    let longer = || {
        known
            .iter()
            .copied()
            .rfind(|name| !guess.is_empty() && name.starts_with(&guess))
    };
    let help = match close.or_else(longer) {
        Some(near) => format!("did you mean \"{near}\"? Known are {}", known.join(", ")),
        None => format!("known are {}", known.join(", ")),
    };
    Err(Problem::new(
        format!("`{name}` is not a known operating system"),
        help,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_and_suggests() {
        let os = find("ubuntu22.04").unwrap();
        assert_eq!(
            (os.family, os.glibc, os.pythons),
            (OsFamily::Debian, (2, 35), vec![10])
        );
        assert!(
            find("Ubuntu-22.04")
                .unwrap_err()
                .help
                .contains("did you mean \"ubuntu22.04\"?")
        );
        assert!(find("centos7").unwrap_err().message.contains("not supported"));
        assert!(find("plan9").is_err());
    }

    #[test]
    fn every_system_has_a_python() {
        assert!(TABLE.iter().all(|row| !row.3.is_empty()));
    }
}
