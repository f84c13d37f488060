//! What a finished image must not hold.
//!
//! Steps list the files that they leave (`steps/settle.py`, `steps/list.py`). Laid over each other in layer
//! order, the lists are the finished filesystem, so the check needs no look into gigabytes of merged layers:
//! one changed layer is one small list read again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::model::Forbidden;
use crate::diagnostic::Diagnostic;

/// Links followed before a path counts as going round in circles, as in Linux (`path_resolution(7)`).
const MAX_LINKS: usize = 40;

/// How many offending paths an error names.
const SHOWN: usize = 5;

/// The paths of a filesystem.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Tree {
    /// Files, links and empty folders, and where links point.
    leaves: BTreeMap<String, Option<String>>,
    /// Everything above a leaf.
    folders: BTreeSet<String>,
}

/// A list that a step left and that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListError {
    line: usize,
}

impl std::fmt::Display for ListError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "line {} of a step's file list is not [path] or [path, target]",
            self.line
        )
    }
}

impl std::error::Error for ListError {}

impl Tree {
    /// Lays the files of a list over the tree. Each line is a JSON array of a path and, for a link, its target.
    pub fn lay(&mut self, list: &str) -> Result<(), ListError> {
        // Lists are in order: most files are in the folder of the one before.
        let mut above_last = String::new();
        for (index, line) in list.lines().enumerate() {
            let mut entry: Vec<String> =
                serde_json::from_str(line).map_err(|_| ListError { line: index + 1 })?;
            let target = if entry.len() == 2 { entry.pop() } else { None };
            let (Some(path), true) = (entry.pop(), entry.is_empty()) else {
                return Err(ListError { line: index + 1 });
            };
            if let Some((folder, _)) = path.rsplit_once('/')
                && folder != above_last
            {
                let mut above = folder;
                while !above.is_empty() && !self.folders.contains(above) {
                    self.folders.insert(above.to_owned());
                    above = above.rsplit_once('/').map_or("", |(above, _)| above);
                }
                folder.clone_into(&mut above_last);
            }
            self.leaves.insert(path, target);
        }
        Ok(())
    }

    /// The paths that a pattern matches: an absolute path through any links, or a pattern in which `?` is one
    /// character, `*` any number within a name, and `**` any number of folders. A pattern that does not start
    /// with a slash or `**` may match at any depth.
    pub fn matches(&self, pattern: &str) -> Vec<&str> {
        let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
        let literal = parts.iter().take_while(|part| !part.contains(['*', '?'])).count();
        if pattern.starts_with('/') && literal > 0 {
            let Some(start) = self.resolve(&parts[..literal]) else {
                return Vec::new();
            };
            if literal == parts.len() {
                return vec![start];
            }
            let below = format!("{start}/");
            return self
                .all()
                .filter(|path| {
                    path.strip_prefix(&below)
                        .is_some_and(|rest| glob(&parts[literal..], rest))
                })
                .collect();
        }
        let anywhere: Vec<&str> = std::iter::once("**").chain(parts.iter().copied()).collect();
        let parts = if pattern.starts_with('/') {
            &parts
        } else {
            &anywhere
        };
        self.all()
            .filter(|path| glob(parts, path.trim_start_matches('/')))
            .collect()
    }

    /// Names of files and links, without the folders that they are in.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.leaves
            .keys()
            .filter_map(|path| Some(path.rsplit_once('/')?.1))
    }

    fn all(&self) -> impl Iterator<Item = &str> {
        self.leaves.keys().chain(self.folders.iter()).map(String::as_str)
    }

    /// Follows links from the root, as the kernel does for a process in the image.
    fn resolve(&self, parts: &[&str]) -> Option<&str> {
        let mut left: Vec<String> = parts.iter().rev().map(|part| (*part).to_owned()).collect();
        let mut at = String::new();
        let mut links = 0;
        while let Some(part) = left.pop() {
            match part.as_str() {
                "" | "." => continue,
                ".." => {
                    at.truncate(at.rfind('/').unwrap_or(0));
                    continue;
                }
                part => {
                    at.push('/');
                    at.push_str(part);
                }
            }
            match self.leaves.get(&at) {
                Some(Some(target)) if !left.is_empty() => {
                    links += 1;
                    if links > MAX_LINKS {
                        return None;
                    }
                    at.truncate(if target.starts_with('/') {
                        0
                    } else {
                        at.rfind('/').unwrap_or(0)
                    });
                    left.extend(target.rsplit('/').map(str::to_owned));
                }
                Some(_) if left.is_empty() => {}
                None if self.folders.contains(&at) => {}
                Some(_) | None => return None,
            }
        }
        self.leaves
            .get_key_value(&at)
            .map(|(path, _)| path)
            .or_else(|| self.folders.get(&at))
            .map(String::as_str)
    }
}

/// Whether the components of a path match those of a pattern. They are compared from the last one on: most patterns name
/// a file, and most files have another name.
fn glob(pattern: &[&str], path: &str) -> bool {
    fn components(pattern: &[&str], path: Option<&str>) -> bool {
        let split = path.map(|path| match path.rsplit_once('/') {
            Some((above, name)) => (Some(above), name),
            None => (None, path),
        });
        match (pattern.split_last(), split) {
            (None, None) => true,
            (Some((&"**", rest)), _) => {
                components(rest, path) || split.is_some_and(|(above, _)| components(pattern, above))
            }
            (Some((last, rest)), Some((above, name))) => self::name(last, name) && components(rest, above),
            (None, Some(_)) | (Some(_), None) => false,
        }
    }
    components(pattern, Some(path))
}

/// Whether one name matches one component with `*` and `?`; takes time in proportion to the product of both
/// lengths at worst.
fn name(pattern: &str, text: &str) -> bool {
    let literal = pattern.split(['*', '?']).next().unwrap_or(pattern);
    if literal.len() == pattern.len() || !text.starts_with(literal) {
        return pattern == text;
    }
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if p < pattern.len() && pattern[p] == '*' {
            star = Some((p, t));
            p += 1;
        } else if p < pattern.len() && (pattern[p] == '?' || pattern[p] == text[t]) {
            p += 1;
            t += 1;
        } else if let Some((star_at, taken)) = star {
            p = star_at + 1;
            t = taken + 1;
            star = Some((star_at, taken + 1));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|rest| *rest == '*')
}

/// An error for every pattern that the finished filesystem matches.
pub fn check(image: &str, tree: &Tree, forbid: &[Forbidden]) -> Vec<Diagnostic> {
    forbid
        .iter()
        .filter_map(|forbidden| {
            let mut found = tree.matches(&forbidden.pattern);
            found.sort_unstable();
            found.dedup();
            let first = found.first()?;
            let mut help = found.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
            if found.len() > SHOWN {
                let _ = write!(help, " and {} more", found.len() - SHOWN);
            }
            Some(
                Diagnostic::error(format!("image `{image}` holds `{first}`, which it must not"))
                    .at(forbidden.location.clone(), "forbidden here")
                    .help(format!(
                        "found: {help}; choose a smaller tier, or leave out what brings it"
                    )),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::{Location, SourceFile};
    use proptest::prelude::*;

    fn tree(entries: &[(&str, Option<&str>)]) -> Tree {
        let list: String = entries
            .iter()
            .map(|(path, target)| match target {
                None => format!("[\"{path}\"]\n"),
                Some(target) => format!("[\"{path}\",\"{target}\"]\n"),
            })
            .collect();
        let mut tree = Tree::default();
        tree.lay(&list).unwrap();
        tree
    }

    fn cuda() -> Tree {
        tree(&[
            ("/usr/local/cuda", Some("/etc/alternatives/cuda")),
            ("/etc/alternatives/cuda", Some("../../usr/local/cuda-12.8")),
            ("/usr/local/cuda-12.8/bin/nvcc", None),
            ("/usr/local/cuda-12.8/include/cuda.h", None),
            (
                "/opt/venv/lib/python3.12/site-packages/nvidia/cuda_nvcc/bin/ptxas",
                None,
            ),
            ("/loop", Some("/loop")),
        ])
    }

    #[test]
    fn follows_links_like_the_kernel() {
        let tree = cuda();
        assert_eq!(
            tree.matches("/usr/local/cuda/include"),
            ["/usr/local/cuda-12.8/include"]
        );
        assert_eq!(
            tree.matches("/usr/local/cuda/bin/*"),
            ["/usr/local/cuda-12.8/bin/nvcc"]
        );
        assert!(tree.matches("/usr/local/cuda/lib64").is_empty());
        assert!(tree.matches("/loop/x").is_empty());
        assert_eq!(tree.matches("/usr/local/cuda"), ["/usr/local/cuda"]);
    }

    #[test]
    fn patterns_match_at_any_depth() {
        let tree = cuda();
        assert_eq!(tree.matches("**/bin/nvcc"), ["/usr/local/cuda-12.8/bin/nvcc"]);
        assert_eq!(tree.matches("nvcc"), ["/usr/local/cuda-12.8/bin/nvcc"]);
        assert_eq!(tree.matches("**/bin/ptx??").len(), 1);
        assert!(tree.matches("/bin/nvcc").is_empty());
        assert_eq!(tree.matches("/opt/**/nvidia/**/bin/p*").len(), 1);
        assert!(tree.matches("/opt/**/bin/**/nvidia/**").is_empty());
        assert_eq!(
            tree.matches("/**/cuda.h"),
            ["/usr/local/cuda-12.8/include/cuda.h"]
        );
    }

    #[test]
    fn later_lists_lie_over_earlier_ones() {
        let mut tree = tree(&[("/a/link", Some("/b"))]);
        tree.lay("[\"/a/link\"]\n").unwrap();
        assert_eq!(tree.leaves["/a/link"], None);
        assert_eq!(tree.lay("[1]"), Err(ListError { line: 1 }));
    }

    #[test]
    fn the_error_names_place_and_path() {
        let file = SourceFile::new("wheelbase.toml", "paths = [\"**/bin/nvcc\"]");
        let forbid = [Forbidden {
            pattern: "**/bin/nvcc".into(),
            location: Location::new(&file, 9..22),
        }];
        let errors = check("serve", &cuda(), &forbid);
        assert_eq!(errors.len(), 1);
        assert!(
            errors[0]
                .one_line()
                .starts_with("wheelbase.toml:1:10: image `serve` holds")
        );
    }

    proptest! {
        #[test]
        fn never_panics(list in ".{0,80}", pattern in "[a-z*?/.]{0,20}") {
            let mut tree = cuda();
            let _ = tree.lay(&list);
            let _ = tree.matches(&pattern);
        }

        #[test]
        fn every_path_matches_itself(path in "(/[a-z]{1,4}){1,4}") {
            let tree = tree(&[(&path, None)]);
            prop_assert_eq!(tree.matches(&path), vec![path.as_str()]);
        }
    }
}
