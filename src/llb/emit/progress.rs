//! What a person sees of each operation while it runs: its name, the line that it shares with others, and the place in the
//! spec that is shown when it fails. None of it is part of a key.

use std::fmt::Write as _;

use super::super::{Metadata, ProgressGroup};
use super::Emitter;
use crate::plan::{Stage, StageId, Work};

/// Characters of the part of a progress line that follows its bracket. With ` => => ` before it, a time behind it and the
/// bracket of an image with a short name, it is not cut at 80 columns.
const WIDTH: usize = 48;

/// As many words as fit, and how many more there are.
fn some(words: impl Iterator<Item = String>, joint: &str) -> String {
    let words: Vec<String> = words.collect();
    let mut text = String::new();
    for (index, word) in words.iter().enumerate() {
        let rest = words.len() - index;
        let room = if rest > 1 {
            WIDTH - ", 99 more".len()
        } else {
            WIDTH
        };
        if index > 0 && text.len() + joint.len() + word.len() > room {
            let _ = write!(text, ", {rest} more");
            break;
        }
        if index > 0 {
            text.push_str(joint);
        }
        text.push_str(word);
    }
    text
}

/// A file name that fits: a wheel's tags may be long, and what tells files apart is at the start.
pub(super) fn cut(filename: &str) -> String {
    const END: &str = "...";
    if filename.chars().count() <= WIDTH {
        return filename.to_owned();
    }
    let kept: String = filename.chars().take(WIDTH - END.len()).collect();
    kept + END
}

/// A step in the words of its progress line.
fn describe(stage: &Stage) -> String {
    match &stage.work {
        Work::Install(install) => {
            let packages = install.packages.iter();
            some(
                packages.map(|package| format!("{} {}", package.name, package.version)),
                ", ",
            )
        }
        Work::InstallWheels { wheels, .. } => format!("install {}", some(wheels.keys().cloned(), ", ")),
        Work::System(system) if system.packages.is_empty() => "prepare the operating system".to_owned(),
        Work::System(system) => format!("install {}", some(system.packages.iter().cloned(), " ")),
        Work::Venv { .. } => "make /opt/venv".to_owned(),
        Work::Python(_) => "put Python into /opt/python".to_owned(),
        Work::Unpack { .. } => "unpack".to_owned(),
        Work::List { .. } | Work::ListNeeded { .. } => "list".to_owned(),
        Work::Import { modules, .. } => {
            let modules = modules.iter().flatten();
            format!("import {}", some(modules.cloned(), " "))
        }
        Work::Prepare(prepare) if prepare.patches.is_empty() => "unpack".to_owned(),
        Work::Prepare(prepare) => format!("apply {}", some(prepare.patches.iter().cloned(), ", ")),
        Work::Copy(copy) => format!("copy {} to {}", copy.from, copy.to),
        Work::Ready(ready) => format!("take {}", cut(ready.filename())),
        Work::Stored { .. } => "take from the wheel store".to_owned(),
        Work::Image(_) | Work::Compile(_) | Work::Project(_) => stage.name.clone(),
    }
}

impl Emitter<'_> {
    /// Name, place and cache behaviour of a stage's main vertex.
    pub(super) fn metadata(&self, id: StageId, stage: &Stage) -> Metadata {
        let name = match &stage.work {
            Work::Image(source) => format!("[{}] {}", stage.name, source.reference),
            Work::Compile(compile) => format!("[wheel {}] compile", compile.name),
            Work::Project(project) => format!("[wheel {}] build", project.name),
            Work::List { of, .. } => format!("[{}] list files", self.plan.stage(*of).name),
            Work::ListNeeded { of, .. } => format!("[{}] list libraries", self.plan.stage(*of).name),
            _ => match self.position.get(&id) {
                Some(position) => {
                    let what = describe(stage);
                    format!("[{} {position}/{}] {what}", self.image, self.position.len())
                }
                None => format!("[{}] {}", stage.name, describe(stage)),
            },
        };
        let of_image = self.own.contains(&id).then_some(self.image);
        Metadata::named(name)
            .ignore_cache(self.surroundings.no_cache.covers(stage, of_image))
            .locations(stage.location.clone().or_else(|| self.home.clone()))
    }

    /// Name and place of an operation of the stage that is being made.
    pub(super) fn named(&self, name: impl Into<String>) -> Metadata {
        Metadata::named(name).locations(self.place.clone())
    }

    /// The progress line of operations that only put layers together.
    pub(super) fn assembly(&self) -> ProgressGroup {
        assembly(self.image, "put layers together")
    }
}

/// The progress line of the operations that finish a target, which says what they do.
pub(super) fn assembly(target: &str, what: &str) -> ProgressGroup {
    ProgressGroup {
        id: format!("wheelbase-assemble-{target}").into(),
        name: format!("[{target}] {what}").into(),
        weak: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_file_names_fit_a_line() {
        let words = |count: usize, word: &str| some((0..count).map(|index| format!("{word}{index}")), ", ");
        assert_eq!(words(2, "torch "), "torch 0, torch 1");
        assert_eq!(words(40, "package-"), "package-0, package-1, package-2, 37 more");
        assert_eq!(words(1, &"x".repeat(90)).len(), 91, "one name is never cut");
        assert_eq!(words(0, "x"), "");
        assert_eq!(cut("idna-3.10-py3-none-any.whl"), "idna-3.10-py3-none-any.whl");
        let long = "numpy-2.4.6-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl";
        assert_eq!(cut(long), "numpy-2.4.6-cp311-cp311-manylinux_2_27_x86_64...");
    }
}
