//! Where the files of a build are: in folders of the client, or in what a graph ends in.
//!
//! A context that is a repository, a file of a web server or a result of another build is a graph. Whoever reads a file
//! need not know which it is. Which context counts, and where the spec is looked for then, is that of the Dockerfile
//! frontend (`frontend/dockerui/context.go` of BuildKit).

use std::sync::Arc;

use super::contexts;
use super::failure::Failure;
use crate::diagnostic::{Diagnostic, SourceFile};
use crate::gateway::{self, Client, ContextSource, Options, Reference, Solve, parse_git_url, shown_url};
use crate::llb::{Cap, Copy, Differ, File, Given, Graph, HttpSource, LocalSource, Metadata, Output};
use crate::platform::Platform;
use crate::proto::pb;

/// The spec's name when the client gives none, as `buildctl` does.
const DEFAULT_FILENAME: &str = "wheelbase.toml";

/// The client's names for its folders.
const CONTEXT: &str = "context";
const BUILD_FILE: &str = "dockerfile";

/// The name of the one file that a web server's file becomes.
pub(super) const DOWNLOADED: &str = "context";

/// Where the daemon has what the client uploads.
const UPLOAD: &str = "http://buildkit-session/";

/// As much of a file as says whether it is an archive.
const HEAD: usize = 1024;

/// A folder with files.
#[derive(Debug, Clone)]
pub(super) enum Place {
    /// One of the client, by its name there.
    Client(String),
    /// What a graph ends in.
    Given(Box<Opened>),
}

/// A graph, and what can be read of it.
#[derive(Debug, Clone)]
pub(super) struct Opened {
    pub(super) given: Given,
    pub(super) reference: Reference,
    /// What it is called in what is said of it.
    pub(super) called: String,
}

/// Where each thing of a build is.
#[derive(Debug, Clone)]
pub(super) struct Places {
    /// The spec, in the place of the build file.
    pub(super) filename: String,
    pub(super) build_file: Place,
    pub(super) context: Place,
    /// The lock, where it is not in the context.
    pub(super) lock: Option<Place>,
}

impl Places {
    /// Finds out from what the client says.
    ///
    /// # Errors
    ///
    /// When it says what is no context, or the context cannot be loaded.
    pub(super) async fn find(client: &Client, options: &Options) -> Result<Self, Failure> {
        let mut filename = options.filename().unwrap_or(DEFAULT_FILENAME).to_owned();
        let mut build_file = None;
        let mut context = None;
        if let Some(url) = options.context() {
            let (place, is_file) = remote(client, options, url).await?;
            if is_file {
                DOWNLOADED.clone_into(&mut filename);
            }
            build_file = Some(place.clone());
            context = Some(place);
        } else {
            let mut inputs = client.inputs().await?;
            if let Some(definition) = inputs.remove(BUILD_FILE) {
                build_file = Some(input(client, BUILD_FILE, definition).await?);
            }
            if let Some(definition) = inputs.remove(CONTEXT) {
                context = Some(input(client, CONTEXT, definition).await?);
            }
        }
        if let (Some(Place::Given(opened)), Some(folder)) = (&context, options.context_subdir()) {
            context = Some(below(client, opened, folder).await?);
        }
        let build_file = match options.build_file_local() {
            Some(local) => Place::Client(local.to_owned()),
            None => build_file.unwrap_or_else(|| Place::Client(BUILD_FILE.to_owned())),
        };
        let named = contexts::of_files(client, options).await?;
        Ok(Self {
            filename,
            build_file,
            context: named
                .context
                .or(context)
                .unwrap_or_else(|| Place::Client(CONTEXT.to_owned())),
            lock: named.lock,
        })
    }
}

impl Place {
    /// What a graph ends in. It is made at once: what cannot be made is said of the context, and not of a file in it.
    pub(super) async fn open(client: &Client, given: Given, called: &str) -> Result<Self, Failure> {
        let solve = Solve {
            evaluate: true,
            ..Solve::definition(given.definition().clone())
        };
        let opened = async {
            client
                .solve(solve)
                .await?
                .single()
                .map(Option::<&Reference>::cloned)
        };
        match opened.await {
            Ok(Some(reference)) => Ok(Self::Given(Box::new(Opened {
                given,
                reference,
                called: called.to_owned(),
            }))),
            Ok(None) => Err(empty(called).into()),
            Err(error) => Err(cannot_load(called, &error).into()),
        }
    }

    /// The graph, if it is one.
    pub(super) fn given(&self) -> Option<&Given> {
        match self {
            Self::Client(_) => None,
            Self::Given(opened) => Some(&opened.given),
        }
    }
}

/// What is said of a context without a file.
pub(super) fn empty(called: &str) -> Diagnostic {
    Diagnostic::error(format!("{called} is an empty filesystem")).help("there is nothing in it to build from")
}

/// What is said of a context that the daemon cannot make.
pub(super) fn cannot_load(called: &str, error: &gateway::Error) -> Diagnostic {
    Diagnostic::error(format!("{called} cannot be loaded: {error}"))
        .help("see that the address is right, and that the builder can reach it and may read it")
}

/// The context by its URL, and whether it is the spec alone.
async fn remote(client: &Client, options: &Options, url: &str) -> Result<(Place, bool), Failure> {
    let called = format!("the build context {}", shown_url(url));
    match ContextSource::parse(&full(url)) {
        Ok(ContextSource::Git(address)) => {
            let name = format!("[internal] load git source {}", shown_url(url));
            let given = repository(client, options, &address, "the option `context`", name)?;
            Ok((Place::open(client, given, &called).await?, false))
        }
        Ok(ContextSource::Http(address)) => {
            let file = uploaded(client, options, &address, &called).await?;
            let Place::Given(opened) = &file else {
                return Ok((file, true));
            };
            match unpacked(client, opened).await? {
                Some(given) => Ok((Place::open(client, given, &called).await?, false)),
                None => Ok((file, true)),
            }
        }
        _ => Err(Diagnostic::error(format!(
            "the option `context` is wrong: `{}` is neither a git repository nor an http address",
            shown_url(url)
        ))
        .help("a folder of the client is given with --local context=FOLDER, and no such option")
        .into()),
    }
}

/// The file that is the context. What the client uploads can be read once, and the Dockerfile frontend that has read the
/// syntax line has done so. The daemon keeps it for an operation of the same bytes, and what these are has changed between
/// releases of BuildKit: their order, and whether a platform is among them.
async fn uploaded(client: &Client, options: &Options, address: &str, called: &str) -> Result<Place, Failure> {
    let name = "[internal] load remote build context";
    let plain = download(address, name.to_owned(), None);
    if options.cmdline().is_none() || !address.starts_with(UPLOAD) {
        return Place::open(client, plain, called).await;
    }
    let with_platform = download(address, name.to_owned(), client.platform().cloned());
    let is_new = client.caps().llb.supports(Cap::FileSymlink.id());
    let old = [plain.in_old_order(), with_platform.in_old_order()];
    let forms = if is_new { vec![Some(plain)] } else { old.into() };
    for form in forms.into_iter().flatten() {
        if let Ok(place) = Place::open(client, form, called).await {
            return Ok(place);
        }
    }
    let image = options.source().unwrap_or("registry.example/wheelbase:1");
    Err(Diagnostic::error(
        "standard input has been read, and this builder does not keep it for a second reader",
    )
    .help(format!(
        "say --build-arg BUILDKIT_SYNTAX={image}: the builder's own frontend is not asked then"
    ))
    .into())
}

/// The old short form of an address that Docker still takes for a build context.
fn full(url: &str) -> String {
    if url.starts_with("github.com/") {
        let end = url.find(['#', '?']).unwrap_or(url.len());
        let (path, rest) = url.split_at(end);
        let path = path.strip_suffix(".git").unwrap_or(path);
        format!("https://{path}.git{rest}")
    } else {
        url.to_owned()
    }
}

/// A git repository as a graph.
///
/// # Errors
///
/// When its address says what is not known.
pub(super) fn repository(
    client: &Client,
    options: &Options,
    address: &str,
    called: &str,
    name: String,
) -> Result<Given, Diagnostic> {
    let mut source = parse_git_url(address, called)?;
    source.keep_git_dir |= options.keeps_git_dir();
    if source.checksum.is_some() {
        demand(client, Cap::SourceGitChecksum, called, "a commit that is checked")?;
    }
    let subdir = if client.caps().llb.supports(Cap::SourceGitSubdir.id()) {
        String::new()
    } else {
        std::mem::take(&mut source.subdir)
    };
    let mut graph = Graph::new(Platform::linux_amd64());
    let output = graph.git(source, Metadata::named(name.clone()));
    if subdir.is_empty() {
        return Ok(Given::of(&graph, output));
    }
    // Builders before BuildKit 0.9 check out all of a repository, and a folder of it is copied.
    let file = File::scratch().copy(contents(output, &subdir));
    let output = graph.file(file, Metadata::named(name));
    Ok(Given::of(&graph, output))
}

/// Refuses what the daemon cannot do before the daemon does with less to say.
///
/// # Errors
///
/// When it lacks the capability.
pub(super) fn demand(client: &Client, cap: Cap, called: &str, what: &str) -> Result<(), Diagnostic> {
    match client.caps().llb.require(cap.id()) {
        Ok(()) => Ok(()),
        Err(_) => Err(Diagnostic::error(format!(
            "{called} names {what}, and this builder knows no such thing"
        ))
        .help(format!(
            "BuildKit {} and later can do it: update Docker",
            cap.since()
        ))),
    }
}

/// A file of a web server as a graph.
pub(super) fn download(address: &str, name: String, platform: Option<Platform>) -> Given {
    let mut source = HttpSource::new(address);
    source.platform = platform;
    source.filename = Some(DOWNLOADED.to_owned());
    let mut graph = Graph::new(Platform::linux_amd64());
    let output = graph.http(source, Metadata::named(name));
    Given::of(&graph, output)
}

/// What is in a downloaded archive; `None` when the file is none.
pub(super) async fn unpacked(client: &Client, file: &Opened) -> Result<Option<Given>, Failure> {
    let head = client.read_range(&file.reference, DOWNLOADED, 0, HEAD).await?;
    if !head.is_some_and(|head| is_archive(&head)) {
        return Ok(None);
    }
    let mut graph = Graph::new(Platform::linux_amd64());
    let from = graph.give(&file.given);
    let mut copy = Copy::new(from, format!("/{DOWNLOADED}"), "/");
    copy.unpack = true;
    copy.create_dest_path = false;
    let output = graph.file(
        File::scratch().copy(copy),
        Metadata::named("[internal] unpack the build context"),
    );
    Ok(Some(Given::of(&graph, output)))
}

/// A folder of a place.
pub(super) async fn below(client: &Client, place: &Opened, folder: &str) -> Result<Place, Failure> {
    let mut graph = Graph::new(Platform::linux_amd64());
    let from = graph.give(&place.given);
    let output = graph.file(
        File::scratch().copy(contents(from, folder)),
        Metadata::named(format!("[internal] take {folder} of the build context")),
    );
    let called = format!("the folder {folder} of {}", place.called);
    Place::open(client, Given::of(&graph, output), &called).await
}

/// A copy of what is in a folder.
fn contents(from: Output, folder: &str) -> Copy {
    let mut copy = Copy::new(from, format!("/{}", folder.trim_start_matches('/')), "/");
    copy.contents_only = true;
    copy.create_dest_path = false;
    copy
}

/// A graph that the client gives in the place of a folder.
async fn input(client: &Client, name: &str, definition: pb::Definition) -> Result<Place, Failure> {
    let called = format!("the frontend input `{name}`");
    match Given::new(definition) {
        Ok(Some(given)) => Place::open(client, given, &called).await,
        Ok(None) => Err(empty(&called).into()),
        Err(error) => Err(Diagnostic::error(format!("{called} is no graph: {error}")).into()),
    }
}

/// Whether a file that begins so is a tar archive, as it is or compressed with bzip2, gzip or xz (`isArchive` of
/// BuildKit's `frontend/dockerui/context.go`).
fn is_archive(head: &[u8]) -> bool {
    const MAGIC: [&[u8]; 3] = [b"BZh", b"\x1f\x8b\x08", b"\xfd7zXZ\0"];
    MAGIC.iter().any(|magic| head.starts_with(magic)) || is_tar(head)
}

/// Whether a block is the header of a tar archive: the sum of its bytes is in it, counted with blanks in its own place.
fn is_tar(head: &[u8]) -> bool {
    const BLOCK: usize = 512;
    const SUM: std::ops::Range<usize> = 148..156;
    let Some(block) = head.get(..BLOCK) else {
        return false;
    };
    let sum = |as_number: fn(u8) -> i64| -> i64 {
        let bytes = block.iter().enumerate();
        bytes
            .map(|(index, byte)| as_number(if SUM.contains(&index) { b' ' } else { *byte }))
            .sum()
    };
    let said = String::from_utf8_lossy(&block[SUM]);
    let said = said.trim_matches(['\0', ' ']);
    let Ok(said) = i64::from_str_radix(said, 8) else {
        return false;
    };
    // Some old programs added signed bytes up.
    said == sum(i64::from) || said == sum(|byte| i64::from(byte.cast_signed()))
}

/// A few files of a place.
pub(super) struct Folder {
    reference: Option<Reference>,
    pub(super) definition: pb::Definition,
    pub(super) vertex: String,
}

impl Folder {
    pub(super) async fn open(
        client: &Client,
        options: &Options,
        place: &Place,
        paths: &[&str],
        name: &str,
    ) -> Result<Self, Failure> {
        let local = match place {
            Place::Client(local) => local,
            Place::Given(opened) => {
                let definition = opened.given.definition().clone();
                let mut graph = Graph::new(Platform::linux_amd64());
                let end = graph.give(&opened.given);
                return Ok(Self {
                    reference: Some(opened.reference.clone()),
                    definition,
                    vertex: graph.digest(end).to_owned(),
                });
            }
        };
        let mut graph = Graph::new(Platform::linux_amd64());
        let mut source = LocalSource::new(local);
        options.session_of(local).clone_into(&mut source.session);
        source.follow_paths = paths.iter().map(|path| (*path).to_owned()).collect();
        // Another set of paths is another transfer.
        source.shared_key_hint = format!("wheelbase-{local}-{}", paths.join(","));
        // An edit that keeps a file's size and time must not be missed in what decides the build.
        source.differ = Some(Differ::None);
        let output = graph.local(source, Metadata::named(name));
        let definition = graph.definition(output);
        let result = client.solve(Solve::definition(definition.clone())).await?;
        let reference = result.single()?.cloned();
        Ok(Self {
            reference,
            definition,
            vertex: graph.digest(output).to_owned(),
        })
    }

    /// The text of a file; `None` when it is not there.
    pub(super) async fn text(&self, client: &Client, path: &str) -> Result<Option<Arc<SourceFile>>, Failure> {
        let Some(reference) = &self.reference else {
            return Ok(None);
        };
        let Some(bytes) = client.read_file(reference, path).await? else {
            return Ok(None);
        };
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(SourceFile::new(path, text))),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                Err(Diagnostic::error(format!("{path} is not UTF-8 text: byte {at} is no character")).into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_known_by_their_first_bytes() {
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_ustar();
        header.set_size(2);
        header.set_mode(0o644);
        header.set_cksum();
        builder.append_data(&mut header, "a", &b"hi"[..]).unwrap();
        let plain = builder.into_inner().unwrap();
        let mut cut = plain.clone();
        cut[0] ^= 1;
        for (bytes, expected) in [
            (plain.as_slice(), true),
            (b"\x1f\x8b\x08\0rest", true),
            (b"BZh9", true),
            (b"\xfd7zXZ\0", true),
            (cut.as_slice(), false),
            (b"# syntax=registry.example/wheelbase:1\n", false),
            (&[0; 1024], false),
            (b"", false),
        ] {
            assert_eq!(is_archive(bytes), expected);
        }
    }

    #[test]
    fn the_short_form_of_an_address() {
        assert_eq!(full("github.com/a/b#main"), "https://github.com/a/b.git#main");
        assert_eq!(full("github.com/a/b.git"), "https://github.com/a/b.git");
        assert_eq!(full("https://git.example/a.git"), "https://git.example/a.git");
    }
}
