//! Keys that can explain themselves.
//!
//! BuildKit computes its own cache keys from the graph. The keys here are computed from the same inputs in the
//! user's words, so that two plans can be compared: a stage is rebuilt when its key changes, and the input that
//! changed it has a name.

use std::fmt;

use serde::Serialize;
use sha2::{Digest, Sha256};

/// SHA-256 of a stage's inputs, lower-case hex.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Key(String);

impl Key {
    /// The first twelve digits, for people.
    pub fn short(&self) -> &str {
        &self.0[..12]
    }

    /// All digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One thing that a stage's result depends on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Input {
    /// What it is: `torch`, `tier devel`, `env CC`.
    pub name: String,
    /// Its exact value: `2.8.0 sha256:...`.
    pub value: String,
    /// Why it counts, where that is not plain: `train > torch`. Not part of the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

impl Input {
    /// An input whose name says why it counts.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
            because: None,
        }
    }

    /// Says why it counts.
    #[must_use]
    pub fn because(mut self, because: impl Into<String>) -> Self {
        self.because = Some(because.into());
        self
    }
}

/// The key of a stage of some kind from its inputs, in the order given.
pub(super) fn key(kind: &str, inputs: &[Input]) -> Key {
    let values = inputs.iter().flat_map(|input| [&*input.name, &*input.value]);
    Key(digest(std::iter::once(kind).chain(values)))
}

/// SHA-256 of texts in their order, lower-case hex.
pub fn digest<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        // Lengths before texts: no two lists may read the same.
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    hex(&hash.finalize())
}

/// Lower-case hex.
/// Lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)]))
        .collect()
}

/// SHA-256 of a text, lower-case hex.
pub(super) fn sha256(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_no_part_of_a_key() {
        let plain = [Input::new("torch", "2.8.0")];
        let explained = [Input::new("torch", "2.8.0").because("train > torch")];
        assert_eq!(key("layer", &plain), key("layer", &explained));
    }

    #[test]
    fn boundaries_are_part_of_a_key() {
        assert_ne!(
            key("layer", &[Input::new("ab", "c")]),
            key("layer", &[Input::new("a", "bc")])
        );
        assert_ne!(
            key("layer", &[Input::new("a", "b")]),
            key("layer", &[Input::new("a", "b"), Input::new("", "")])
        );
    }
}
