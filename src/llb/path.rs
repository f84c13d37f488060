//! Paths inside images, in the manner of Go's `path` package, which BuildKit applies to what it receives.

/// An absolute path without `.`, `..`, empty parts or a slash at its end; a relative one counts from `base`.
pub(crate) fn clean(base: &str, path: &str) -> String {
    let base = if path.starts_with('/') { "" } else { base };
    let mut parts: Vec<&str> = Vec::new();
    for part in base.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Like [`clean`], but a slash or `/.` at the end stays: there it says that the path is a directory.
pub(crate) fn clean_destination(base: &str, path: &str) -> String {
    let mut cleaned = clean(base, path);
    if path.ends_with('/') && cleaned != "/" {
        cleaned.push('/');
    } else if path.ends_with("/.") {
        cleaned.push_str(if cleaned == "/" { "." } else { "/." });
    }
    cleaned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cleans_like_go() {
        assert_eq!(clean("/", "a/./b//c/"), "/a/b/c");
        assert_eq!(clean("/w", "a"), "/w/a");
        assert_eq!(clean("/w", "/a/../b"), "/b");
        assert_eq!(clean("/", "../.."), "/");
        assert_eq!(clean("/", ""), "/");
    }

    #[test]
    fn keeps_what_says_directory() {
        assert_eq!(clean_destination("/", "a/"), "/a/");
        assert_eq!(clean_destination("/", "/"), "/");
        assert_eq!(clean_destination("/", "/."), "/.");
        assert_eq!(clean_destination("/", "a/."), "/a/.");
        assert_eq!(clean_destination("/", "a/b/.."), "/a");
    }
}
