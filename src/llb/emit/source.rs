//! Sources of wheels, and wheels that are there already.

use super::super::{Access, Bind, Copy, File, GitSource, Metadata, Mkdir, Mkfile, Mount, Output, Timestamp};
use super::{EPOCH, Emitter};
use crate::plan::{Crates, Prepare, ReadyWheel, Source, steps};

/// Where a source is made ready, from what, and with which patches.
const TREE: &str = "/wheelbase/out";
const SOURCE: &str = "/wheelbase/source";
const PATCHES: &str = "/wheelbase/patches";

impl Emitter<'_> {
    /// A source tree and the folder of it that is meant, for the stage of this name.
    pub(super) fn source(&mut self, name: &str, source: &Source) -> (Output, String) {
        match source {
            Source::Context {
                context,
                path,
                include,
                exclude,
            } => {
                let named = context.as_ref().map(|context| context.name.as_str());
                let files = self.files(named);
                let copy = self.part_of(files, path, "/", include, exclude);
                let metadata = self.named(match named {
                    Some(_) => format!("[{name}] take its context"),
                    None => format!("[{name}] take {path}"),
                });
                (
                    self.graph.file(File::scratch().copy(copy), metadata),
                    String::new(),
                )
            }
            Source::Crates(crates) => (self.crates(name, crates), String::new()),
            Source::Git {
                url,
                rev,
                subdir,
                submodules,
                token,
                known_hosts,
            } => {
                // The whole commit, so that wheels from several folders of it share one checkout.
                let mut git = GitSource::new(url, rev);
                git.skip_submodules = !submodules;
                git.auth_token_secret.clone_from(token);
                git.known_ssh_hosts.clone_from(known_hosts);
                if url.starts_with("ssh://") || !url.contains("://") {
                    git.ssh_socket = Some("default".to_owned());
                }
                let metadata = self.named(format!("[{name}] check out {}", rev.get(..12).unwrap_or(rev)));
                (self.graph.git(git, metadata), subdir.clone())
            }
            Source::Archive(archive) => (self.download(archive), String::new()),
            Source::Image { image, path } => (self.filesystem(*image), path.clone()),
            Source::Prepared { stage, subdir } => (self.folder(*stage), subdir.clone()),
        }
    }

    /// Crates of the build context, with the manifest of their workspace.
    fn crates(&mut self, name: &str, crates: &Crates) -> Output {
        let context = self.context();
        let copy = self.part_of(context, &crates.base, "/", &crates.include, &crates.exclude);
        let mut file = File::scratch().copy(copy);
        if let Some((path, text)) = &crates.manifest {
            if let Some((folder, _)) = path.rsplit_once('/') {
                file = file.mkdir(Mkdir::new(format!("/{folder}")));
            }
            let mut manifest = Mkfile::new(format!("/{path}"), text.clone());
            manifest.timestamp = Some(Timestamp::from_seconds(EPOCH));
            file = file.mkfile(manifest);
        }
        let number = crates.crates.len();
        let what = if number == 1 { "crate" } else { "crates" };
        let metadata = self.named(format!("[{name}] take {number} {what}"));
        self.graph.file(file, metadata)
    }

    /// A source as one folder, unpacked and patched.
    pub(super) fn prepare(
        &mut self,
        prepare: &Prepare,
        root: Output,
        name: &str,
        metadata: Metadata,
    ) -> Output {
        let (shape, mount) = match &prepare.source {
            // Python before 3.14 does not know zstd, and BuildKit does.
            Source::Archive(archive) if is_zstd(&archive.filename) => {
                let file = self.download(archive);
                let mut unpack = Copy::new(file, format!("/{}", archive.filename), "/");
                unpack.unpack = true;
                let metadata = self.named(format!("[{name}] unpack {}", archive.filename));
                let unpacked = self.graph.file(File::scratch().copy(unpack), metadata);
                ("unpacked", self.exact(SOURCE, unpacked))
            }
            Source::Archive(archive) => {
                let file = self.download(archive);
                ("archive", self.exact(SOURCE, file))
            }
            source => {
                let (tree, folder) = self.source(name, source);
                let mount = Mount::read_only(SOURCE, tree).selector(folder);
                ("folder", mount)
            }
        };
        let arguments = [shape, SOURCE, PATCHES, TREE].map(str::to_owned);
        let arguments = arguments.into_iter().chain(prepare.patches.iter().cloned());
        let mut exec = self.python_step(steps::source(), arguments, root);
        exec.mounts.push(mount);
        if !prepare.patches.is_empty() {
            let context = self.context();
            let taken = prepare
                .patches
                .iter()
                .enumerate()
                .fold(File::scratch(), |file, (index, path)| {
                    let mut copy = Copy::new(context, format!("/{path}"), format!("/{index}"));
                    copy.follow_symlinks = true;
                    file.copy(copy)
                });
            let patches = self
                .graph
                .file(taken, self.named(format!("[{name}] take patches")));
            exec.mounts.push(Mount::read_only(PATCHES, patches));
        }
        self.folder_of(exec, TREE, metadata)
    }

    /// The folder with a wheel that needs no build.
    pub(super) fn ready(&mut self, ready: &ReadyWheel, metadata: Metadata) -> Output {
        match ready {
            ReadyWheel::Download(file) => self.download(file),
            ReadyWheel::Context { path } => {
                let context = self.context();
                let mut copy = Copy::new(context, format!("/{path}"), format!("/{}", ready.filename()));
                copy.follow_symlinks = true;
                self.graph.file(File::scratch().copy(copy), metadata)
            }
        }
    }

    /// A source for a process that may change it; what it changes is thrown away.
    pub(super) fn scratch_source(&mut self, name: &str, dest: String, source: &Source) -> Mount {
        let (tree, folder) = self.source(&format!("wheel {name}"), source);
        let bind = Bind {
            source: Some(tree),
            access: Access::Discard,
            ..Bind::default()
        };
        Mount::bind(dest, bind).selector(folder)
    }
}

fn is_zstd(filename: &str) -> bool {
    [".tar.zst", ".tzst"].iter().any(|end| filename.ends_with(end))
}
