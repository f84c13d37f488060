//! File operations on the wire (`client/llb/fileop.go` of BuildKit).

use std::collections::BTreeSet;

use super::caps::Cap;
use super::file::{Action, Copy, File, Mkdir, Owner, Timestamp, User};
use super::graph::{Graph, Output};
use super::metadata::Metadata;
use super::path::{clean, clean_destination};
use crate::proto::pb;

/// No such input, no output, no change of the time.
const NONE: i64 = -1;
/// No change of the mode.
const KEEP: i32 = -1;

impl Graph {
    /// Adds file operations. Without steps it is the base itself; an empty file system without steps becomes a
    /// vertex that makes its own root directory, since old daemons fail on results without a vertex.
    pub fn file(&mut self, file: File, metadata: Metadata) -> Output {
        let File { base, mut actions } = file;
        if actions.is_empty() {
            match base {
                Some(base) => return base,
                None => actions.push(Action::Mkdir(Mkdir::new("/"))),
            }
        }
        // All inputs are known before the first action is written: results of actions are numbered after them.
        let mut inputs: Vec<Output> = base.into_iter().collect();
        for action in &actions {
            if let Action::Copy(copy) = action
                && !inputs.contains(&copy.from)
            {
                inputs.push(copy.from);
            }
        }
        let base_input = if base.is_some() { 0 } else { NONE };
        let mut caps = BTreeSet::from([Cap::FileBase]);
        let last = actions.len() - 1;
        let actions = actions
            .into_iter()
            .enumerate()
            .map(|(step, action)| pb::FileAction {
                input: if step == 0 {
                    base_input
                } else {
                    number(inputs.len() + step - 1)
                },
                secondary_input: match &action {
                    Action::Copy(copy) => inputs
                        .iter()
                        .position(|input| *input == copy.from)
                        .map_or(NONE, number),
                    _ => NONE,
                },
                output: if step == last { 0 } else { NONE },
                action: Some(wire(action, base_input, &mut caps)),
            });
        let op = pb::FileOp {
            actions: actions.collect(),
        };
        self.add(pb::op::Op::File(op), inputs, None, caps, metadata)
    }
}

fn number(index: usize) -> i64 {
    i64::try_from(index).unwrap_or(i64::MAX)
}

fn wire(action: Action, base: i64, caps: &mut BTreeSet<Cap>) -> pb::file_action::Action {
    use pb::file_action::Action as Wire;
    match action {
        Action::Copy(copy) => Wire::Copy(wire_copy(copy, base, caps)),
        Action::Mkfile(mkfile) => Wire::Mkfile(pb::FileActionMkFile {
            path: clean("/", &mkfile.path),
            mode: mode(mkfile.mode),
            data: mkfile.data,
            owner: wire_owner(mkfile.owner, base),
            timestamp: time(mkfile.timestamp),
        }),
        Action::Mkdir(mkdir) => Wire::Mkdir(pb::FileActionMkDir {
            path: clean("/", &mkdir.path),
            mode: mode(mkdir.mode),
            make_parents: mkdir.parents,
            owner: wire_owner(mkdir.owner, base),
            timestamp: time(mkdir.timestamp),
        }),
        Action::Rm(rm) => {
            if rm.wildcard {
                caps.insert(Cap::FileRmWildcard);
            }
            Wire::Rm(pb::FileActionRm {
                path: clean("/", &rm.path),
                allow_not_found: rm.allow_not_found,
                allow_wildcard: rm.wildcard,
            })
        }
        Action::Symlink(symlink) => {
            caps.insert(Cap::FileSymlink);
            Wire::Symlink(pb::FileActionSymlink {
                oldpath: symlink.target,
                newpath: clean("/", &symlink.path),
                owner: wire_owner(symlink.owner, base),
                timestamp: time(symlink.timestamp),
            })
        }
    }
}

fn wire_copy(copy: Copy, base: i64, caps: &mut BTreeSet<Cap>) -> pb::FileActionCopy {
    let uses = [
        (
            Cap::FileCopyPatterns,
            !copy.include.is_empty() || !copy.exclude.is_empty(),
        ),
        (Cap::FileCopyRequiredPaths, !copy.required.is_empty()),
        (Cap::FileCopyAlwaysReplace, copy.always_replace),
    ];
    caps.extend(uses.into_iter().filter(|(_, used)| *used).map(|(cap, _)| cap));
    pb::FileActionCopy {
        src: clean("/", &copy.src),
        dest: clean_destination("/", &copy.dest),
        owner: wire_owner(copy.owner, base),
        mode: copy.mode.map_or(KEEP, mode),
        follow_symlink: copy.follow_symlinks,
        dir_copy_contents: copy.contents_only,
        attempt_unpack_docker_compatibility: copy.unpack,
        create_dest_path: copy.create_dest_path,
        allow_wildcard: copy.wildcard,
        allow_empty_wildcard: copy.allow_empty_wildcard,
        timestamp: time(copy.timestamp),
        include_patterns: copy.include,
        exclude_patterns: copy.exclude,
        always_replace_existing_dest_paths: copy.always_replace,
        mode_str: String::new(),
        required_paths: copy.required,
    }
}

/// Permission bits with set-uid, set-gid and sticky.
fn mode(mode: u32) -> i32 {
    i32::try_from(mode & 0o7777).unwrap_or(KEEP)
}

fn time(timestamp: Option<Timestamp>) -> i64 {
    timestamp.map_or(NONE, |timestamp| timestamp.nanoseconds)
}

fn wire_owner(owner: Option<Owner>, base: i64) -> Option<pb::ChownOpt> {
    let wire = |user: User| pb::UserOpt {
        user: Some(match user {
            User::Id(id) => pb::user_opt::User::ById(id),
            User::Name(name) => pb::user_opt::User::ByName(pb::NamedUserOpt { name, input: base }),
        }),
    };
    owner.map(|owner| pb::ChownOpt {
        user: owner.user.map(wire),
        group: owner.group.map(wire),
    })
}
