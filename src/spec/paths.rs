//! Paths of the build context and of images.

use super::findings::Problem;

/// A path of the build context: relative, inside it, with `/` between parts. `.` and `./x/` come out as the
/// empty path and `x`.
pub(super) fn context(text: &str) -> Result<String, Problem> {
    if text.is_empty() {
        return Err(Problem::new(
            "this path is empty",
            "write `.` for the build context itself",
        ));
    }
    if text.starts_with('/') {
        return Err(Problem::new(
            format!("`{text}` is absolute, but the path is looked up in the build context"),
            "write it relative to the build context, without the leading `/`",
        ));
    }
    relative(text, "the build context")
}

/// A path inside a source tree; the empty path is its root.
pub(super) fn inside(text: &str, tree: &str) -> Result<String, Problem> {
    if text.starts_with('/') {
        return Err(Problem::new(
            format!("`{text}` is absolute, but the path is looked up in {tree}"),
            "leave the leading `/` out",
        ));
    }
    relative(text, tree)
}

fn relative(text: &str, tree: &str) -> Result<String, Problem> {
    plain(text)?;
    let parts: Vec<&str> = text
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    if parts.contains(&"..") {
        return Err(Problem::new(
            format!("`{text}` leaves {tree}"),
            format!("write a path without `..`; what is outside of {tree} cannot be reached"),
        ));
    }
    Ok(parts.join("/"))
}

/// An absolute path of an image, without `.` and `..`. A trailing slash goes, except of `/` itself.
pub(super) fn absolute(text: &str) -> Result<String, Problem> {
    plain(text)?;
    if !text.starts_with('/') {
        let help = format!("write it from the root: \"/{}\"", text.trim_start_matches("./"));
        return Err(Problem::new(format!("`{text}` is not absolute"), help));
    }
    let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty()).collect();
    if parts.iter().any(|part| matches!(*part, "." | "..")) {
        return Err(Problem::new(
            format!("`{text}` has `.` or `..` in it"),
            "write where it leads",
        ));
    }
    Ok(format!("/{}", parts.join("/")))
}

/// A patch of the build context.
pub(super) fn patch(text: &str) -> Result<String, Problem> {
    let path = context(text)?;
    if path.is_empty() {
        return Err(Problem::new(
            format!("`{text}` is the build context itself"),
            "write the path of one patch: \"patches/fix.patch\"",
        ));
    }
    Ok(path)
}

/// A folder inside a source tree that is not all of it.
pub(super) fn folder_inside(text: &str, tree: &str) -> Result<String, Problem> {
    let path = inside(text, tree)?;
    if path.is_empty() {
        return Err(Problem::new(
            format!("`{text}` is all of {tree}"),
            "write the folder that the build makes in it, such as \"build\"",
        ));
    }
    Ok(path)
}

/// An item of `exclude`: a pattern of a source tree in the syntax of `.dockerignore`.
pub(super) fn excluded(text: &str) -> Result<String, Problem> {
    let (back, pattern) = match text.strip_prefix('!') {
        Some(pattern) => ("!", pattern),
        None => ("", text),
    };
    let path = inside(pattern, "the source's folder")?;
    if path.is_empty() {
        return Err(Problem::new(
            format!("`{text}` leaves nothing to choose"),
            "write what is left out, such as \"tests\" or \"**/*.md\"",
        ));
    }
    Ok(format!("{back}{path}"))
}

/// An item of `include`: a pattern of a source tree in the syntax of `.dockerignore`, without exceptions (`!`).
pub(super) fn included(text: &str) -> Result<String, Problem> {
    if text.starts_with('!') {
        return Err(Problem::new(
            format!("`{text}` is an exception, but `include` only lists what comes in"),
            "list the files that count, and leave out some of them with `exclude`",
        ));
    }
    let path = inside(text, "the source's folder")?;
    if path.is_empty() {
        return Err(Problem::new(
            format!("`{text}` says nothing"),
            "leave `include` out to take the whole folder",
        ));
    }
    Ok(path)
}

/// A path or pattern over a whole image.
pub(super) fn forbidden(text: &str) -> Result<(), Problem> {
    plain(text)?;
    if !text.starts_with('/') && !text.starts_with("**/") {
        let help = format!("write \"/{text}\" for one place, or \"**/{text}\" for any");
        return Err(Problem::new(
            format!("`{text}` is neither an absolute path nor a pattern for one"),
            help,
        ));
    }
    if text.split('/').any(|part| matches!(part, "." | "..")) {
        return Err(Problem::new(
            format!("`{text}` has `.` or `..` in it"),
            "write where it leads",
        ));
    }
    if text.contains(['[', ']', '{', '}', '\\']) {
        return Err(Problem::new(
            format!("`{text}` has a character that patterns here do not know"),
            "patterns have `*`, `?` and `**`",
        ));
    }
    if text.split('/').any(|part| part.contains("**") && part != "**") {
        return Err(Problem::new(
            format!("`**` must stand between slashes in `{text}`"),
            "write `*` inside a name, `**` for any number of folders",
        ));
    }
    if text.trim_matches('/').is_empty() {
        return Err(Problem::new(
            "everything is forbidden by `/`",
            "write what must not be there",
        ));
    }
    Ok(())
}

/// No control characters: a path with a line end in it is a slip, and no shell script survives it.
fn plain(text: &str) -> Result<(), Problem> {
    if text.chars().any(char::is_control) {
        return Err(Problem::new(
            format!("the path {text:?} has a control character in it"),
            "remove it: a path here is one line",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn context_paths_stay_inside() {
        assert_eq!(context("./a//b/").unwrap(), "a/b");
        assert_eq!(context(".").unwrap(), "");
        for text in ["", "/a", "..", "a/../..", "a/..", "a\nb"] {
            assert!(context(text).is_err(), "{text}");
        }
    }

    #[test]
    fn image_paths_are_absolute() {
        assert_eq!(absolute("/app/").unwrap(), "/app");
        assert_eq!(absolute("/").unwrap(), "/");
        for text in ["", "app", "/app/../x", "./x"] {
            assert!(absolute(text).is_err(), "{text}");
        }
    }

    #[test]
    fn forbidden_patterns() {
        for text in [
            "**/bin/nvcc",
            "/usr/local/cuda/include",
            "/usr/**/x?.so*",
            "**/*.pem",
        ] {
            assert!(forbidden(text).is_ok(), "{text}");
        }
        for text in ["", "bin/nvcc", "/", "/a/../b", "/a[b]", "/a**b", "*.pem"] {
            assert!(forbidden(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_context_path_never_leaves(text in "[a./]{0,12}") {
            if let Ok(path) = context(&text) {
                prop_assert!(!path.starts_with('/') && !path.ends_with('/'));
                prop_assert!(path.split('/').all(|part| part != ".."));
                if !path.is_empty() {
                    prop_assert_eq!(context(&path).unwrap(), path);
                }
            }
        }
    }
}
