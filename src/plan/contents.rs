//! What a wheel needs of an image, what it asks for, and what it holds for GPUs: the list that `steps/needed.py` leaves of it.

use std::collections::BTreeSet;

/// A list that a step left and that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListError;

impl std::fmt::Display for ListError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(
            "a step's list of a wheel has a line that is neither [file, library] nor [file, kind, text]",
        )
    }
}

impl std::error::Error for ListError {}

/// Code for GPUs. Numbers are major times ten plus minor, such as 90.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// Machine code: runs on GPUs of its major version from its minor version on.
    Machine(u32),
    /// PTX, which the driver compiles: runs on later GPUs too.
    Ptx(u32),
    /// In a file of its own, which is not looked into.
    Other,
}

/// What a wheel needs and holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    /// A file of the wheel and a shared library that it is linked against.
    pub libraries: Vec<(String, String)>,
    /// What there is for GPUs.
    pub code: BTreeSet<Code>,
    /// Requirements of its metadata (PEP 508).
    pub requires: Vec<String>,
}

impl Contents {
    /// Reads a list: on each line a JSON array.
    ///
    /// # Errors
    ///
    /// When a line is something else.
    pub fn read(list: &str) -> Result<Self, ListError> {
        let mut contents = Self::default();
        for line in list.lines() {
            let words: Vec<String> = serde_json::from_str(line).map_err(|_| ListError)?;
            match words.as_slice() {
                [file, library] => contents.libraries.push((file.clone(), library.clone())),
                [_, kind, requirement] if kind == "requires" => contents.requires.push(requirement.clone()),
                [_, kind, number] => {
                    let number = number.parse().map_err(|_| ListError)?;
                    contents.code.insert(match kind.as_str() {
                        "sm" => Code::Machine(number),
                        "ptx" => Code::Ptx(number),
                        "other" => Code::Other,
                        _ => return Err(ListError),
                    });
                }
                _ => return Err(ListError),
            }
        }
        Ok(contents)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_libraries_or_code() {
        let list = "[\"a.so\", \"libc.so.6\"]\n[\"a.so\", \"sm\", \"90\"]\n[\"a.so\", \"ptx\", \"120\"]\n[\"b.ptx\", \"other\", \"0\"]\n\
                    [\"a-1.dist-info/METADATA\", \"requires\", \"torch==2.6.0\"]\n";
        let contents = Contents::read(list).unwrap();
        assert_eq!(contents.libraries, [("a.so".to_owned(), "libc.so.6".to_owned())]);
        assert_eq!(contents.requires, ["torch==2.6.0"]);
        let code: Vec<Code> = contents.code.into_iter().collect();
        assert_eq!(code, [Code::Machine(90), Code::Ptx(120), Code::Other]);
        for broken in [
            "[\"a\"]",
            "[\"a\", \"sm\", \"x\"]",
            "[\"a\", \"lto\", \"90\"]",
            "null",
        ] {
            assert_eq!(Contents::read(broken), Err(ListError), "{broken}");
        }
    }
}
