//! Each step as a process.

use std::collections::BTreeMap;

use super::super::{Exec, File, Metadata, Mkfile, Mount, Network, Output, ProgressGroup, Timestamp};
use super::{EPOCH, Emitter};
use crate::plan::{Install, Project, Root, Supply, System, steps};

/// `PATH` of steps that do not need the tier's own.
pub(super) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Where a step's texts are mounted.
const STEP: &str = "/wheelbase/step";
const SETTLE: &str = "/wheelbase/settle";
const PROGRAM: &str = "/wheelbase/program";

/// What an install step leaves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Installed {
    /// Its whole filesystem.
    pub(super) root: Output,
    /// The folder with its file list.
    pub(super) list: Output,
}

impl Emitter<'_> {
    /// A step in an environment that is the same everywhere, on the platform of its root.
    fn step(&self, args: Vec<String>, root: Output) -> Exec {
        let mut exec = Exec::new(args);
        if self.of_builder.contains(&root) {
            exec.platform.clone_from(&self.plan.builder);
        }
        exec.env = BTreeMap::from(
            [
                ("HOME", "/root"),
                ("LC_ALL", "C.UTF-8"),
                ("PATH", PATH),
                // The interpreter must leave nothing of its own in a layer.
                ("PYTHONDONTWRITEBYTECODE", "1"),
                ("PYTHONHASHSEED", "0"),
                ("SOURCE_DATE_EPOCH", &EPOCH.to_string()),
                ("UV_NO_PROGRESS", "1"),
                ("UV_PYTHON_DOWNLOADS", "never"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
        "/".clone_into(&mut exec.cwd);
        exec.root = Some(root);
        exec.network = Network::None;
        exec
    }

    /// A step that runs a shell text. The text is a mounted file and not an argument: it is keyed just the same,
    /// and what BuildKit says of a failed step stays readable.
    pub(super) fn shell(
        &mut self,
        text: String,
        arguments: impl IntoIterator<Item = String>,
        root: Output,
    ) -> Exec {
        let head = ["/bin/sh", "-eu", STEP].map(str::to_owned);
        let mut exec = self.step(head.into_iter().chain(arguments).collect(), root);
        exec.mounts.push(self.program(STEP, text));
        exec
    }

    /// A step that runs a Python text, without site packages.
    pub(super) fn python_step(
        &mut self,
        text: String,
        arguments: impl IntoIterator<Item = String>,
        root: Output,
    ) -> Exec {
        let head = [self.plan.interpreter.as_str(), "-I", "-S", "-B", PROGRAM].map(str::to_owned);
        let mut exec = self.step(head.into_iter().chain(arguments).collect(), root);
        exec.mounts.push(self.program(PROGRAM, text));
        exec
    }

    /// A text as a file of a step.
    pub(super) fn program(&mut self, dest: &str, text: String) -> Mount {
        let mut file = Mkfile::new("/program", text + "\n");
        file.mode = 0o644;
        file.timestamp = Some(Timestamp::from_seconds(0));
        let group = ProgressGroup {
            id: "wheelbase-programs".into(),
            name: "[internal] write programs of steps".into(),
            weak: false,
        };
        let metadata = self.named(format!("[internal] write {dest}")).group(group);
        let program = self.graph.file(File::scratch().mkfile(file), metadata);
        Mount::read_only(dest, program).selector("/program")
    }

    /// Lets a step use the network, with the client's proxy, hosts and certificate.
    pub(super) fn go_online(&self, exec: &mut Exec) {
        exec.network = self.surroundings.online;
        exec.proxy.clone_from(&self.surroundings.proxy);
        exec.extra_hosts
            .extend(self.surroundings.extra_hosts.iter().cloned());
        exec.mounts.push(Mount::secret("/wheelbase/ca.pem", "ca", true));
    }

    /// What uv needs to ask an index; its cache is mounted at `cache`.
    pub(super) fn use_index(&self, exec: &mut Exec, cache: &str) {
        self.go_online(exec);
        exec.mounts.push(Mount::secret("/wheelbase/netrc", "netrc", true));
        // Another uv may write another store, so the id carries which uv it is.
        let uv = self.plan.stage(self.plan.uv).key.short();
        let id = format!("wheelbase-uv-{uv}");
        exec.mounts.push(self.cache(cache, &id));
    }

    pub(super) fn system(&mut self, system: &System, on: Output, metadata: Metadata) -> Output {
        let arguments = [
            system.family.to_owned(),
            system.python.clone().unwrap_or_default(),
            if system.headers {
                "devel".to_owned()
            } else {
                String::new()
            },
            system.user.clone().unwrap_or_default(),
        ];
        let arguments = arguments.into_iter().chain(system.packages.iter().cloned());
        let mut exec = self.shell(steps::system(), arguments, on);
        exec.mounts.push(Mount::tmpfs("/tmp"));
        // A step that only makes a user must not ask for a network that the client may not allow.
        if !system.packages.is_empty() || system.python.is_some() {
            self.go_online(&mut exec);
            if system.family == "debian" {
                exec.mounts.push(Mount::tmpfs("/var/lib/apt/lists"));
                exec.mounts.push(Mount::tmpfs("/var/cache/apt"));
            }
        }
        self.process(exec, metadata).root()
    }

    pub(super) fn unpack(&mut self, program: &str, root: Output, file: Output, metadata: Metadata) -> Output {
        let mut exec = self.python_step(steps::unpack(), [program.to_owned()], root);
        exec.mounts.push(self.exact("/wheelbase/file", file));
        self.folder_of(exec, "/wheelbase/out", metadata)
    }

    pub(super) fn venv(&mut self, on: Output, metadata: Metadata) -> Installed {
        let arguments = [self.plan.interpreter.clone(), SETTLE.to_owned()];
        let mut exec = self.shell(steps::venv(), arguments, on);
        exec.mounts.push(Mount::tmpfs("/tmp"));
        self.install_step(exec, metadata)
    }

    pub(super) fn install(&mut self, install: &Install, on: Output, metadata: Metadata) -> Installed {
        let head = [self.plan.interpreter.clone(), SETTLE.to_owned()];
        let exact = |package: &crate::plan::Package| format!("{}=={}", package.name, package.version);
        let mut exec = match &install.supply {
            Supply::Files => {
                // Python code alone is one layer for all platforms.
                let files = install
                    .packages
                    .iter()
                    .filter_map(|package| package.wheel.as_ref());
                let differ = files.clone().any(|wheel| !wheel.filename.ends_with("-any.whl"));
                let arguments = head
                    .into_iter()
                    .chain(self.platform_of_wheels(on).filter(|_| differ))
                    .chain(install.packages.iter().map(exact));
                let mut exec = self.shell(steps::install(), arguments, on);
                exec.mounts.reserve(install.packages.len());
                for (index, package) in install.packages.iter().enumerate() {
                    if let Some(wheel) = &package.wheel {
                        let wheel = self.download(wheel);
                        exec.mounts
                            .push(self.exact(&format!("/wheelbase/wheels/{index}"), wheel));
                    }
                }
                exec
            }
            Supply::Index(indexes) => {
                // Further places to look are lines of the requirements file; an empty index is uv's default one.
                let main = indexes.main.clone().unwrap_or_default();
                let others = indexes
                    .others
                    .iter()
                    .map(|url| format!("--extra-index-url {url}"));
                let pages = indexes.pages.iter().map(|url| format!("--find-links {url}"));
                let lines = install.packages.iter().map(|package| {
                    let hashes = package.hashes.iter().map(|hash| format!(" --hash={hash}"));
                    exact(package) + &hashes.collect::<String>()
                });
                let arguments = head
                    .into_iter()
                    .chain([main])
                    .chain(others)
                    .chain(pages)
                    .chain(lines);
                let mut exec = self.shell(steps::index(), arguments, on);
                if let Some(platform) = self.platform_of_wheels(on) {
                    exec.env.insert("WHEELBASE_PLATFORM".to_owned(), platform);
                }
                if indexes.is_several() {
                    // uv stops at the first index that has the name, pip looks at all. With hashes both are safe, and
                    // the lock may have been made by either.
                    exec.env
                        .insert("UV_INDEX_STRATEGY".to_owned(), "unsafe-best-match".to_owned());
                }
                self.use_index(&mut exec, "/wheelbase/cache");
                exec
            }
        };
        exec.mounts.push(Mount::tmpfs("/tmp"));
        self.install_step(exec, metadata)
    }

    /// Installs wheels, by name and folder. Those that were built here are mounted by content: a build that gave the same
    /// bytes again installs nothing again. The flag says which are exact by definition.
    pub(super) fn install_wheels(
        &mut self,
        wheels: &[(String, Output, bool)],
        on: Output,
        metadata: Metadata,
    ) -> Installed {
        let head = [self.plan.interpreter.clone(), SETTLE.to_owned()];
        let arguments = head
            .into_iter()
            .chain(self.platform_of_wheels(on))
            .chain(wheels.iter().map(|(name, ..)| name.clone()));
        let mut exec = self.shell(steps::install(), arguments, on);
        for (index, (_, wheel, exact)) in wheels.iter().enumerate() {
            let dest = format!("/wheelbase/wheels/{index}");
            exec.mounts.push(self.wheels_at(&dest, *wheel, *exact));
        }
        exec.mounts.push(Mount::tmpfs("/tmp"));
        self.install_step(exec, metadata)
    }

    /// What uv is told where wheels are installed for another platform than it runs on. That they fit the libc of the
    /// tier was decided with the plan, so uv's newest one allows all of them.
    fn platform_of_wheels(&self, on: Output) -> Option<String> {
        let machine = self.plan.platform.machine();
        let told = || format!("--python-platform={machine}-manylinux_2_40");
        self.of_builder.contains(&on).then(told)
    }

    /// A folder with wheels: compared by content, unless it is exact by definition.
    pub(super) fn wheels_at(&self, dest: &str, wheels: Output, exact: bool) -> Mount {
        if exact {
            self.exact(dest, wheels)
        } else {
            Mount::read_only(dest, wheels)
        }
    }

    fn install_step(&mut self, mut exec: Exec, metadata: Metadata) -> Installed {
        exec.mounts.push(self.uv());
        exec.mounts.push(self.program(SETTLE, steps::settle()));
        exec.mounts.push(Mount::output("/wheelbase/out"));
        let executed = self.process(exec, metadata);
        let root = executed.root();
        Installed {
            root,
            list: executed.mount("/wheelbase/out").unwrap_or(root),
        }
    }

    pub(super) fn project(&mut self, project: &Project, root: Output, metadata: Metadata) -> Output {
        let (source, selector) = self.source(&format!("wheel {}", project.name), &project.source);
        let mode = if project.backend_index.is_some() {
            "isolated"
        } else {
            "offline"
        };
        let index = project.backend_index.clone().unwrap_or_default();
        let arguments = [project.name.clone(), mode.to_owned(), index];
        let mut exec = self.shell(steps::project(), arguments, root);
        exec.env
            .insert("PATH".to_owned(), format!("/opt/venv/bin:{PATH}"));
        exec.mounts
            .push(Mount::read_only("/wheelbase/source", source).selector(selector));
        exec.mounts.push(self.uv());
        if project.backend_index.is_some() {
            self.use_index(&mut exec, "/wheelbase/cache");
        }
        self.folder_of(exec, "/wheels", metadata)
    }

    pub(super) fn list(&mut self, root: Output, of: Output, metadata: Metadata) -> Output {
        let arguments = ["/wheelbase/image", "/wheelbase/out/files"].map(str::to_owned);
        let mut exec = self.python_step(steps::list(), arguments, root);
        exec.mounts.push(self.exact("/wheelbase/image", of));
        self.folder_of(exec, "/wheelbase/out", metadata)
    }

    /// The folder with the libraries that wheels need.
    pub(super) fn list_needed(
        &mut self,
        root: Output,
        wheels: Mount,
        packages: &[String],
        metadata: Metadata,
    ) -> Output {
        let arguments = [wheels.dest.clone(), "/wheelbase/out/needed".to_owned()];
        let arguments = arguments.into_iter().chain(packages.iter().cloned());
        let mut exec = self.python_step(steps::needed(), arguments, root);
        exec.mounts.push(wheels);
        self.folder_of(exec, "/wheelbase/out", metadata)
    }

    /// The folder with what became of imports. The environment is the image's, so that libraries are found as they will be.
    pub(super) fn import(
        &mut self,
        root: &Root,
        modules: &[Vec<String>],
        env: &BTreeMap<String, String>,
        metadata: Metadata,
    ) -> Output {
        let root = self.lay(root);
        let arguments = ["/opt/venv", "/wheelbase/stubs", "/wheelbase/out/imports"].map(str::to_owned);
        let groups = modules.iter().map(|group| group.join(" "));
        let mut exec = self.python_step(steps::imports(), arguments.into_iter().chain(groups), root);
        exec.env.extend(env.clone());
        exec.mounts.push(Mount::tmpfs("/wheelbase/stubs"));
        exec.mounts.push(Mount::tmpfs("/tmp"));
        self.folder_of(exec, "/wheelbase/out", metadata)
    }

    /// Runs a process for the sake of one folder; what it does to its root is thrown away.
    pub(super) fn folder_of(&mut self, mut exec: Exec, dest: &str, metadata: Metadata) -> Output {
        exec.mounts.push(Mount::output(dest));
        let executed = self.process(exec, metadata);
        executed.mount(dest).unwrap_or_else(|| executed.root())
    }
}
