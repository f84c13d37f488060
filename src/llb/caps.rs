//! Capabilities: what a daemon must be able to do for a vertex.
//!
//! A vertex lists the capabilities of the features it uses, so that a daemon which lacks one refuses the graph
//! instead of ignoring the field. Ids and releases are those of BuildKit's `solver/pb/caps.go`. Two ids which
//! stand there, `exec.meta.removemountstubs.recursive` and `file.copy.modestring`, are never registered by the
//! daemon: naming them makes every solve fail, so they are absent here.

macro_rules! capabilities {
    ($($(#[$doc:meta])* $name:ident = $id:literal since $since:literal,)*) => {
        /// A feature of LLB.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Cap {
            $($(#[$doc])* $name,)*
        }

        impl Cap {
            /// Every capability that this room can ask for.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// BuildKit's name for it.
            pub const fn id(self) -> &'static str {
                match self {
                    $(Self::$name => $id,)*
                }
            }

            /// The first release of BuildKit that has it, for messages alone: what a daemon can do is only
            /// known from its answer to `Ping`.
            pub const fn since(self) -> &'static str {
                match self {
                    $(Self::$name => $since,)*
                }
            }
        }
    };
}

capabilities! {
    /// Worker constraints.
    Constraints = "constraints" since "0.3",
    /// Platforms of vertices.
    Platform = "platform" since "0.3",
    /// `ignore_cache`.
    MetaIgnoreCache = "meta.ignorecache" since "0.3",
    /// Names and other descriptions.
    MetaDescription = "meta.description" since "0.3",
    /// `export_cache`.
    MetaExportCache = "meta.exportcache" since "0.3",
    /// Images of a registry.
    SourceImage = "source.image" since "0.3",
    /// Images that must be pulled anew.
    SourceImageResolveMode = "source.image.resolvemode" since "0.3",
    /// The first layers of an image.
    SourceImageLayerLimit = "source.image.layerlimit" since "0.11",
    /// An image of an exact digest whatever its reference says.
    SourceImageChecksum = "source.image.checksum" since "0.25",
    /// Directories of the client.
    SourceLocal = "source.local" since "0.3",
    /// A directory without a session.
    SourceLocalUnique = "source.local.unique" since "0.3",
    /// A directory of a given session.
    SourceLocalSession = "source.local.sessionid" since "0.3",
    /// Only what matches.
    SourceLocalInclude = "source.local.includepatterns" since "0.3",
    /// Only these paths and what they link to.
    SourceLocalFollowPaths = "source.local.followpaths" since "0.3",
    /// All but what matches.
    SourceLocalExclude = "source.local.excludepatterns" since "0.3",
    /// Which earlier transfer is updated.
    SourceLocalSharedKeyHint = "source.local.sharedkeyhint" since "0.3",
    /// Repositories.
    SourceGit = "source.git" since "0.3",
    /// Repositories with their `.git`.
    SourceGitKeepDir = "source.git.keepgitdir" since "0.3",
    /// Repositories by full URL.
    SourceGitFullUrl = "source.git.fullurl" since "0.3",
    /// Credentials of a repository.
    SourceGitHttpAuth = "source.git.httpauth" since "0.8",
    /// Host keys.
    SourceGitKnownSshHosts = "source.git.knownsshhosts" since "0.8",
    /// SSH agents.
    SourceGitSshSocket = "source.git.mountsshsock" since "0.8",
    /// A directory of a repository.
    SourceGitSubdir = "source.git.subdir" since "0.9",
    /// A commit that must be the one.
    SourceGitChecksum = "source.git.checksum" since "0.22",
    /// A repository without its submodules.
    SourceGitSkipSubmodules = "source.git.skipsubmodules" since "0.24",
    /// Which times the files get.
    SourceGitTime = "source.git.mtime" since "0.29",
    /// A commit that no branch or tag names.
    SourceGitFetchByCommit = "source.git.fetchbycommit" since "0.30",
    /// Files of a web server.
    SourceHttp = "source.http" since "0.3",
    /// Credentials of a web server.
    SourceHttpAuth = "source.http.auth" since "0.21",
    /// A file with a known digest.
    SourceHttpChecksum = "source.http.checksum" since "0.3",
    /// Permissions of a file.
    SourceHttpMode = "source.http.perm" since "0.3",
    /// Owner of a file. The id is misspelt in BuildKit, and so it must be here.
    SourceHttpOwner = "soruce.http.uidgid" since "0.3",
    /// Request headers.
    SourceHttpHeader = "source.http.header" since "0.21",
    /// OCI layouts of the client.
    SourceOciLayout = "source.ocilayout" since "0.11",
    /// Processes.
    ExecBase = "exec.meta.base" since "0.3",
    /// The cgroup of a process.
    ExecCgroupParent = "exec.meta.cgroup.parent" since "0.10",
    /// Memory and processors of a process.
    ExecResources = "exec.meta.linux.resources" since "0.31",
    /// The network of a process.
    ExecNetwork = "exec.meta.network" since "0.3",
    /// Proxy variables that are not part of the key.
    ExecProxy = "exec.meta.proxyenv" since "0.3",
    /// Privileged processes.
    ExecSecurity = "exec.meta.security" since "0.5",
    /// A `PATH` when none is given.
    ExecDefaultPath = "exec.meta.setsdefaultpath" since "0.3",
    /// Resource limits.
    ExecUlimit = "exec.meta.ulimit" since "0.10",
    /// Secrets as environment variables.
    ExecSecretEnv = "exec.secretenv" since "0.10",
    /// Exit codes other than 0.
    ExecValidExitCodes = "exec.validexitcode" since "0.17",
    /// File systems of other vertices.
    MountBind = "exec.mount.bind" since "0.3",
    /// A writable file system whose changes are thrown away.
    MountBindDiscard = "exec.mount.bind.readwrite-nooutput" since "0.7",
    /// Directories that outlive the build.
    MountCache = "exec.mount.cache" since "0.3",
    /// Who may use a cache at the same time.
    MountCacheSharing = "exec.mount.cache.sharing" since "0.3",
    /// A directory or file of a file system.
    MountSelector = "exec.mount.selector" since "0.3",
    /// Memory.
    MountTmpfs = "exec.mount.tmpfs" since "0.3",
    /// Memory with a limit.
    MountTmpfsSize = "exec.mount.tmpfs.size" since "0.10",
    /// Secrets as files.
    MountSecret = "exec.mount.secret" since "0.3",
    /// SSH agents.
    MountSsh = "exec.mount.ssh" since "0.3",
    /// Whether the content of a mount is part of the key.
    MountContentCache = "exec.mount.cache.content" since "0.13",
    /// File operations.
    FileBase = "file.base" since "0.5",
    /// Removal by pattern.
    FileRmWildcard = "file.rm.wildcard" since "0.7",
    /// Copies by pattern.
    FileCopyPatterns = "file.copy.includeexcludepatterns" since "0.9",
    /// Copies that must find something.
    FileCopyRequiredPaths = "file.copy.requiredpaths" since "0.26",
    /// Copies that replace a directory by a file and the reverse.
    FileCopyAlwaysReplace = "file.copy.alwaysreplaceexistingdestpaths" since "0.14",
    /// Symbolic links.
    FileSymlink = "file.symlink.create" since "0.19",
    /// Merges.
    Merge = "mergeop" since "0.10",
    /// Differences.
    Diff = "diffop" since "0.10",
}

impl Cap {
    /// The capability of an id, if it is one that this room can ask for.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|cap| cap.id() == id)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_are_distinct_and_found() {
        let ids: BTreeSet<&str> = Cap::ALL.iter().map(|cap| cap.id()).collect();
        assert_eq!(ids.len(), Cap::ALL.len());
        for cap in Cap::ALL {
            assert_eq!(Cap::from_id(cap.id()), Some(*cap));
        }
        assert_eq!(Cap::from_id("mergeop2"), None);
    }

    #[test]
    fn never_asks_for_what_no_daemon_registers() {
        for id in ["exec.meta.removemountstubs.recursive", "file.copy.modestring"] {
            assert_eq!(Cap::from_id(id), None);
        }
    }
}
