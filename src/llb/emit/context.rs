//! Files that a build is given: of the build context, and of contexts that have names.

use std::collections::BTreeSet;

use super::super::{Copy, LocalSource, Metadata, Output, Timestamp};
use super::{EPOCH, Emitter};

impl Emitter<'_> {
    /// A context by its name, or the build context.
    pub(super) fn files(&mut self, context: Option<&str>) -> Output {
        match context.and_then(|name| self.surroundings.contexts.get(name)) {
            Some(given) => self.graph.give(given),
            None => self.context(),
        }
    }

    /// The build context, narrowed to what this image takes from it.
    pub(super) fn context(&mut self) -> Output {
        if let Some(context) = self.context {
            return context;
        }
        if let Some(given) = &self.surroundings.context {
            let context = self.graph.give(given);
            self.context = Some(context);
            return context;
        }
        let paths: BTreeSet<String> = self
            .plan
            .iter()
            .flat_map(|(_, stage)| stage.work.context_paths())
            .map(str::to_owned)
            .collect();
        let mut source = LocalSource::new("context");
        source.session.clone_from(&self.surroundings.session);
        source.exclude.clone_from(&self.surroundings.ignore);
        if !paths.contains(".") {
            source.follow_paths = paths.into_iter().collect();
        }
        // Another set of paths is another transfer; sharing one would send files back and forth.
        source.shared_key_hint = format!("wheelbase-context-{}", self.image);
        let metadata = Metadata::named("[internal] load build context").locations(self.home.clone());
        let context = self.graph.local(source, metadata);
        self.context = Some(context);
        context
    }

    /// A copy of a file of the build context, or of what is in a folder of it, as far as patterns leave it.
    pub(super) fn part_of(
        &self,
        context: Output,
        path: &str,
        dest: &str,
        include: &[String],
        exclude: &[String],
    ) -> Copy {
        let from = match path {
            "." => "/".to_owned(),
            path => format!("/{path}"),
        };
        let mut copy = Copy::new(context, from, dest);
        copy.contents_only = true;
        copy.create_dest_path = true;
        if self.surroundings.patterns {
            copy.include = include.to_vec();
            copy.exclude = exclude.to_vec();
        }
        copy
    }
}

/// `copy` of a spec: a file, or what is in a folder; links of the context are followed, as `COPY` does. Times are not
/// kept: those of a checkout differ from one machine to the next.
pub(super) fn copy(context: Output, from: &str, to: &str) -> Copy {
    let mut copy = Copy::new(context, format!("/{}", from.trim_start_matches("./")), to);
    copy.contents_only = true;
    copy.follow_symlinks = true;
    copy.timestamp = Some(Timestamp::from_seconds(EPOCH));
    copy
}
