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

#[cfg(test)]
mod tests {
    use pb::file_action::Action as Wire;

    use super::super::testing::{actions, caps};
    use super::super::{ImageSource, LocalSource, Mkfile, Rm, Symlink};
    use super::*;
    use crate::platform::Platform;

    fn graph() -> (Graph, Output, Output) {
        let mut graph = Graph::new(Platform::linux_amd64());
        let base = graph.image(ImageSource::new("base"), Metadata::default());
        let context = graph.local(LocalSource::new("context"), Metadata::default());
        (graph, base, context)
    }

    fn action(action: &pb::FileAction) -> &Wire {
        action.action.as_ref().unwrap()
    }

    #[test]
    fn steps_follow_each_other() {
        let (mut graph, base, context) = graph();
        let file = File::on(base)
            .mkdir(Mkdir::new("/app"))
            .copy(Copy::new(context, "src", "/app/"))
            .copy(Copy::new(base, "/etc/os-release", "/app/"))
            .rm(Rm::new("/tmp/x"));
        let output = graph.file(file, Metadata::default());
        let wiring: Vec<(i64, i64, i64)> = actions(&graph, output)
            .iter()
            .map(|action| (action.input, action.secondary_input, action.output))
            .collect();
        // Two inputs, so the result of the first action is number 2.
        assert_eq!(wiring, [(0, -1, -1), (2, 1, -1), (3, 0, -1), (4, -1, 0)]);
        let vertex = graph.vertex(output);
        assert_eq!(vertex.inputs(), [base, context]);
        assert_eq!(vertex.op().platform, None);
        assert_eq!(caps(&graph, output), ["file.base"]);
    }

    #[test]
    fn an_empty_base_is_minus_one() {
        let (mut graph, _, context) = graph();
        let file = File::scratch()
            .copy(Copy::new(context, "a", "b"))
            .mkfile(Mkfile::new("c", "d"));
        let output = graph.file(file, Metadata::default());
        let wiring: Vec<(i64, i64, i64)> = actions(&graph, output)
            .iter()
            .map(|action| (action.input, action.secondary_input, action.output))
            .collect();
        assert_eq!(wiring, [(-1, 0, -1), (1, -1, 0)]);
    }

    #[test]
    fn no_steps_are_no_vertex_but_on_nothing() {
        let (mut graph, base, _) = graph();
        assert_eq!(graph.file(File::on(base), Metadata::default()), base);
        let empty = graph.file(File::scratch(), Metadata::default());
        let [only] = &actions(&graph, empty)[..] else {
            panic!("one action")
        };
        let expected = pb::FileActionMkDir {
            path: "/".into(),
            mode: 0o755,
            make_parents: true,
            owner: None,
            timestamp: -1,
        };
        assert_eq!(action(only), &Wire::Mkdir(expected));
    }

    #[test]
    fn a_plain_copy_keeps_mode_time_and_owner() {
        let (mut graph, _, context) = graph();
        let output = graph.file(
            File::scratch().copy(Copy::new(context, "./a/../b", "dir/")),
            Metadata::default(),
        );
        let expected = pb::FileActionCopy {
            src: "/b".into(),
            dest: "/dir/".into(),
            mode: -1,
            timestamp: -1,
            create_dest_path: true,
            ..pb::FileActionCopy::default()
        };
        assert_eq!(action(&actions(&graph, output)[0]), &Wire::Copy(expected));
    }

    #[test]
    fn everything_about_a_copy_is_on_the_wire() {
        let (mut graph, base, context) = graph();
        let copy = Copy {
            owner: Some(Owner::ids(1000, 1001)),
            mode: Some(0o4755),
            follow_symlinks: true,
            contents_only: true,
            unpack: true,
            create_dest_path: false,
            wildcard: true,
            allow_empty_wildcard: true,
            timestamp: Some(Timestamp::from_seconds(2)),
            include: vec!["*.py".into()],
            exclude: vec!["test_*".into()],
            required: vec!["a.py".into()],
            always_replace: true,
            ..Copy::new(context, "/src", "/app")
        };
        let output = graph.file(File::on(base).copy(copy), Metadata::default());
        let by_id = |id| {
            Some(pb::UserOpt {
                user: Some(pb::user_opt::User::ById(id)),
            })
        };
        let expected = pb::FileActionCopy {
            src: "/src".into(),
            dest: "/app".into(),
            owner: Some(pb::ChownOpt {
                user: by_id(1000),
                group: by_id(1001),
            }),
            mode: 0o4755,
            follow_symlink: true,
            dir_copy_contents: true,
            attempt_unpack_docker_compatibility: true,
            create_dest_path: false,
            allow_wildcard: true,
            allow_empty_wildcard: true,
            timestamp: 2_000_000_000,
            include_patterns: vec!["*.py".into()],
            exclude_patterns: vec!["test_*".into()],
            always_replace_existing_dest_paths: true,
            mode_str: String::new(),
            required_paths: vec!["a.py".into()],
        };
        assert_eq!(action(&actions(&graph, output)[0]), &Wire::Copy(expected));
        let expected = [
            "file.base",
            "file.copy.alwaysreplaceexistingdestpaths",
            "file.copy.includeexcludepatterns",
            "file.copy.requiredpaths",
        ];
        assert_eq!(caps(&graph, output), expected);
    }

    #[test]
    fn files_directories_links_and_removals() {
        let (mut graph, base, _) = graph();
        let time = Some(Timestamp::from_seconds(0));
        let named = Owner {
            user: Some(User::Name("app".into())),
            group: None,
        };
        let file = File::on(base)
            .mkfile(Mkfile {
                mode: 0o600,
                owner: Some(named),
                timestamp: time,
                ..Mkfile::new("f", "x")
            })
            .mkdir(Mkdir {
                parents: false,
                timestamp: time,
                ..Mkdir::new("d/")
            })
            .symlink(Symlink {
                timestamp: time,
                ..Symlink::new("../f", "d/l")
            })
            .rm(Rm {
                allow_not_found: true,
                wildcard: true,
                ..Rm::new("/tmp/*")
            });
        let output = graph.file(file, Metadata::default());
        let name = pb::user_opt::User::ByName(pb::NamedUserOpt {
            name: "app".into(),
            input: 0,
        });
        let owner = pb::ChownOpt {
            user: Some(pb::UserOpt { user: Some(name) }),
            group: None,
        };
        let expected = [
            Wire::Mkfile(pb::FileActionMkFile {
                path: "/f".into(),
                mode: 0o600,
                data: b"x".to_vec(),
                owner: Some(owner),
                timestamp: 0,
            }),
            Wire::Mkdir(pb::FileActionMkDir {
                path: "/d".into(),
                mode: 0o755,
                make_parents: false,
                owner: None,
                timestamp: 0,
            }),
            Wire::Symlink(pb::FileActionSymlink {
                oldpath: "../f".into(),
                newpath: "/d/l".into(),
                owner: None,
                timestamp: 0,
            }),
            Wire::Rm(pb::FileActionRm {
                path: "/tmp/*".into(),
                allow_not_found: true,
                allow_wildcard: true,
            }),
        ];
        let found: Vec<Wire> = actions(&graph, output)
            .iter()
            .map(|one| action(one).clone())
            .collect();
        assert_eq!(found, expected);
        assert_eq!(
            caps(&graph, output),
            ["file.base", "file.rm.wildcard", "file.symlink.create"]
        );
    }
}
