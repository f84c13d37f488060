//! What stages are made from, asked of what they do.

use super::model::{
    CacheTool, Compile, CopyTree, Install, Prepare, Project, PythonSource, ReadyWheel, Root, Source, StageId,
    System, Work,
};

impl ReadyWheel {
    /// Its file name, which says what it fits.
    pub fn filename(&self) -> &str {
        match self {
            Self::Download(file) => &file.filename,
            Self::Context { path } => path.rsplit('/').next().unwrap_or(path),
        }
    }
}

impl Source {
    /// The stage that it comes from, if it comes from one.
    pub fn stage(&self) -> Option<StageId> {
        match self {
            Self::Image { image: stage, .. } | Self::Prepared { stage, .. } => Some(*stage),
            Self::Context { .. } | Self::Crates(_) | Self::Git { .. } | Self::Archive(_) => None,
        }
    }
}

impl Work {
    /// The source that it takes, if it takes one.
    pub fn source(&self) -> Option<&Source> {
        match self {
            Self::Prepare(Prepare { source, .. })
            | Self::Compile(Compile { source, .. })
            | Self::Project(Project { source, .. }) => Some(source),
            _ => None,
        }
    }

    /// The paths of the build context that it reads, `.` for all of it.
    pub fn context_paths(&self) -> Vec<&str> {
        let mut paths = Vec::new();
        match self.source() {
            Some(Source::Context {
                context: None, path, ..
            }) => paths.push(path.as_str()),
            Some(Source::Crates(crates)) => paths.extend(crates.sent.iter().map(String::as_str)),
            _ => {}
        }
        match self {
            Self::Prepare(prepare) => paths.extend(prepare.patches.iter().map(String::as_str)),
            Self::Ready(ReadyWheel::Context { path }) => paths.push(path),
            Self::Copy(copy) => paths.push(&copy.from),
            _ => {}
        }
        paths
    }

    /// The stages that this one is made from. `uv` is the plan's uv, which steps that install need.
    pub fn stands_on(&self, uv: StageId) -> Vec<StageId> {
        let on_root = |root: &Root| -> Vec<StageId> {
            std::iter::once(root.base)
                .chain(root.trees.iter().copied())
                .collect()
        };
        match self {
            Self::Image(_)
            | Self::Ready(_)
            | Self::Stored { .. }
            | Self::Python(PythonSource::Archive(_)) => Vec::new(),
            Self::System(System { on, .. }) | Self::Copy(CopyTree { on, .. }) => vec![*on],
            Self::Python(PythonSource::Image { image, .. }) => vec![*image],
            Self::Unpack { root, .. } | Self::Import { root, .. } => on_root(root),
            Self::Prepare(Prepare { root, source, .. }) => {
                let mut stages = on_root(root);
                stages.extend(source.stage());
                stages
            }
            Self::Project(Project { root, source, .. }) => {
                let mut stages = on_root(root);
                stages.push(uv);
                stages.extend(source.stage());
                stages
            }
            Self::Venv { root } | Self::Install(Install { root, .. }) => {
                let mut stages = on_root(root);
                stages.push(uv);
                stages
            }
            Self::Compile(compile) => {
                let mut stages = on_root(&compile.root);
                if let Some(CacheTool::Sccache { binary, .. }) =
                    compile.cache.as_ref().map(|cache| cache.tool)
                {
                    stages.push(binary);
                }
                stages.push(uv);
                stages.extend(compile.source.stage());
                stages
            }
            Self::InstallWheels { root, wheels } => {
                let mut stages = on_root(root);
                stages.extend(wheels.values());
                stages.push(uv);
                stages
            }
            Self::List { root, of } | Self::ListNeeded { root, of, .. } => {
                let mut stages = on_root(root);
                stages.push(*of);
                stages
            }
        }
    }
}
