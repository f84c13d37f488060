//! What targets and tags of a bake file are called.
//!
//! The name of a variant is made of its values alone, so that another value in the matrix renames no target and moves no tag.

use anyhow::bail;

use crate::spec::{Axis, Combination};

/// What is replaced by the name of the image in a tag.
const IMAGE: &str = "{image}";

/// What is replaced by the values of a combination in a tag.
const VARIANT: &str = "{variant}";

/// The longest tag, in characters (`TagRegexp` of distribution's `reference` package).
const LONGEST_TAG: usize = 128;

/// A name as bake takes it: letters, digits, `_` and `-`.
pub(super) fn name(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' {
                c
            } else {
                '-'
            }
        })
        .collect()
}

/// The target of something in a combination: `serve-cuda-12-8-1-amd64`.
pub(super) fn target(what: &str, combination: &Combination<'_>) -> String {
    let mut words = vec![name(what)];
    for (axis, value) in combination.values() {
        match of_platform(axis, value) {
            Some(platform) => words.push(word(platform, false)),
            None => words.extend([axis.to_owned(), word(value, false)]),
        }
    }
    words.retain(|word| !word.is_empty());
    words.join("-")
}

/// Whether a tag says which image it is.
pub(super) fn names_image(template: &str) -> bool {
    template.contains(IMAGE)
}

/// The tag of an image in a combination. Where it does not say what varies, the variant stands at its end.
///
/// # Errors
///
/// When the tag names what does not vary, or is too long.
pub(super) fn tag(template: &str, image: &str, combination: &Combination<'_>) -> anyhow::Result<String> {
    let mut tag = template.replace(IMAGE, image);
    let variant = variant(combination);
    if !variant.is_empty() {
        let axes = combination.values().map(|(axis, value)| {
            let value = of_platform(axis, value).unwrap_or(value);
            (format!("{{{axis}}}"), word(value, true))
        });
        let mut said = tag.contains(VARIANT);
        tag = tag.replace(VARIANT, &variant);
        for (place, value) in axes {
            said |= tag.contains(&place);
            tag = tag.replace(&place, &value);
        }
        if let Some(rest) = tag.split_once('{').map(|(_, rest)| rest) {
            let wrong = rest.split('}').next().unwrap_or(rest);
            let known: Vec<&str> = combination.values().map(|(axis, _)| axis).collect();
            bail!(
                "the tag {template} has {{{wrong}}} in it; there are {IMAGE}, {VARIANT} and {{{}}}",
                known.join("}, {")
            );
        }
        if !said {
            let has_tag = tag.rsplit('/').next().is_some_and(|last| last.contains(':'));
            tag = format!("{tag}{}{variant}", if has_tag { '-' } else { ':' });
        }
    }
    let own = tag.rsplit_once(':').map_or("", |(_, own)| own);
    if !own.contains('/') && own.len() > LONGEST_TAG {
        bail!(
            "the tag of {tag} has {} characters, and {LONGEST_TAG} are allowed",
            own.len()
        );
    }
    Ok(tag)
}

/// A combination in a tag: `cuda12.8.1-os-ubuntu22.04-amd64`.
fn variant(combination: &Combination<'_>) -> String {
    let words: Vec<String> = combination
        .values()
        .map(|(axis, value)| {
            if let Some(platform) = of_platform(axis, value) {
                return word(platform, true);
            }
            let value = word(value, true);
            // `cuda12.8.1`, and `os-ubuntu22.04`.
            let is_number = value.starts_with(|c: char| c.is_ascii_digit());
            format!("{axis}{}{value}", if is_number { "" } else { "-" })
        })
        .collect();
    words.join("-")
}

/// A platform without what all have.
fn of_platform<'v>(axis: &str, value: &'v str) -> Option<&'v str> {
    (axis == Axis::PLATFORM).then(|| value.strip_prefix("linux/").unwrap_or(value))
}

/// A value as a word of a name, with its dots or without.
fn word(value: &str, dots: bool) -> String {
    let mut word = String::with_capacity(value.len());
    for c in value.chars() {
        if c.is_ascii_alphanumeric() || c == '_' || (dots && c == '.') {
            word.push(c);
        } else if !word.ends_with('-') {
            word.push('-');
        }
    }
    word.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::SourceFile;
    use crate::spec::Matrix;

    fn matrix(lines: &str) -> Matrix {
        let text = format!(
            "[args]\ncuda = {{ type = \"string\" }}\nos = {{ type = \"string\" }}\nMKL = {{ type = \"boolean\" }}\n[matrix]\n{lines}\n"
        );
        let read = Matrix::read(&SourceFile::new("wheelbase.toml", text));
        read.unwrap().unwrap().0
    }

    fn named(lines: &str, template: &str) -> Vec<(String, String)> {
        let matrix = matrix(lines);
        let all = matrix.combinations();
        all.iter()
            .map(|one| (target("serve", one), tag(template, "serve", one).unwrap()))
            .collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected
            .iter()
            .map(|(target, tag)| ((*target).to_owned(), (*tag).to_owned()))
            .collect()
    }

    #[test]
    fn names_are_made_of_values() {
        assert_eq!(
            named("cuda = [\"12.8.1\", \"13.0.2\"]", "zot.example:5000/{image}:1.2"),
            pairs(&[
                ("serve-cuda-12-8-1", "zot.example:5000/serve:1.2-cuda12.8.1"),
                ("serve-cuda-13-0-2", "zot.example:5000/serve:1.2-cuda13.0.2"),
            ])
        );
        assert_eq!(
            named(
                "os = [\"ubuntu22.04\"]\nMKL = [true]\nplatform = [\"linux/arm64\", \"linux/arm/v7\"]",
                "zot.example:5000/serve"
            ),
            pairs(&[
                (
                    "serve-os-ubuntu22-04-MKL-true-arm64",
                    "zot.example:5000/serve:os-ubuntu22.04-MKL-true-arm64"
                ),
                (
                    "serve-os-ubuntu22-04-MKL-true-arm-v7",
                    "zot.example:5000/serve:os-ubuntu22.04-MKL-true-arm-v7"
                ),
            ])
        );
    }

    #[test]
    fn a_tag_may_say_where_a_value_stands() {
        let lines = "cuda = [\"12.8.1\", \"\"]\nplatform = [\"linux/amd64\"]";
        assert_eq!(
            named(lines, "app-{platform}:cu{cuda}"),
            pairs(&[
                ("serve-cuda-12-8-1-amd64", "app-amd64:cu12.8.1"),
                ("serve-cuda-amd64", "app-amd64:cu"),
            ])
        );
        assert_eq!(
            named("cuda = [\"https://a/b+c\"]", "app:{variant}-rc1"),
            pairs(&[("serve-cuda-https-a-b-c", "app:cuda-https-a-b-c-rc1")])
        );
    }

    #[test]
    fn a_tag_that_cannot_be_is_refused() {
        let matrix = matrix("cuda = [\"12.8.1\"]\nos = [\"ubuntu22.04\"]");
        let all = matrix.combinations();
        let error = tag("app:{cdua}", "serve", &all[0]).unwrap_err().to_string();
        assert_eq!(
            error,
            "the tag app:{cdua} has {cdua} in it; there are {image}, {variant} and {cuda}, {os}"
        );
        let error = tag(&format!("app:{}", "x".repeat(120)), "serve", &all[0]).unwrap_err();
        assert!(error.to_string().contains("128 are allowed"), "{error}");
        // Without a matrix it is left alone.
        let none = Combination::default();
        assert_eq!(tag("app:{x}", "serve", &none).unwrap(), "app:{x}");
        assert_eq!(target("a.b", &none), "a-b");
    }
}
