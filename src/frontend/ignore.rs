//! `.dockerignore`, as far as the frontend has to understand it: BuildKit does the matching.

/// The patterns of an ignore file in the form that `local.excludepatterns` takes: comments and blank lines
/// dropped, each pattern cleaned as a path and without a leading slash, `!` and order kept
/// (`moby/patternmatcher/ignorefile`).
pub(super) fn patterns(text: &str) -> Vec<String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|line| {
            let (negated, pattern) = match line.strip_prefix('!') {
                Some(pattern) => ("!", pattern.trim()),
                None => ("", line),
            };
            format!("{negated}{}", clean(pattern))
        })
        .collect()
}

/// A slash path without empty, `.` and resolvable `..` parts, relative to the context.
fn clean(pattern: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in pattern.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    if parts.is_empty() && !pattern.is_empty() {
        ".".to_owned()
    } else {
        parts.join("/")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_like_docker() {
        let text = "\u{feff}# comment\n\n  /build/ \n!./build/keep\n**/*.pyc\na/../b\n # not a comment\n/\n";
        assert_eq!(
            patterns(text),
            ["build", "!build/keep", "**/*.pyc", "b", "# not a comment", "."]
        );
    }
}
