//! Everything is made, and nothing is left: for builds that fill caches.
//!
//! BuildKit makes what its result depends on, and exports to a cache what its result depends on (`solver/exporter.go`, which
//! follows the keys of the result's inputs). A result that takes no file of an image, and yet has it for an input, brings all
//! of its steps into a cache, and is exported in no time.

use super::super::{Copy, File, Mkdir, Output};
use super::progress::assembly;
use super::{Emitted, Surroundings};
use crate::llb::Metadata;

/// What no folder has that a copy is taken from.
const NOTHING: &str = "/wheelbase-nothing-*";

impl Emitted {
    /// Puts an empty filesystem in the place of the result, which depends on the result and on all that is asked of steps.
    /// `name` is the target's.
    ///
    /// What a filesystem changes in itself is nothing, and BuildKit knows that without a look at it (`ops/diff.go`): layers
    /// are neither merged nor unpacked for it. There is no filesystem at all then, which cannot be exported to a cache, so
    /// one without files is made on top. A daemon that cannot diff looks for a file that is not there.
    pub fn leave_nothing(&mut self, name: &str, surroundings: &Surroundings) {
        let places = self.graph.vertex(self.image).metadata().locations.clone();
        let group = assembly(name, "leave nothing");
        let metadata = |what: &str| {
            let metadata = Metadata::named(format!("[{name}] {what}")).group(group.clone());
            metadata.locations(places.clone())
        };
        let file = if surroundings.merge {
            let nothing = self
                .graph
                .diff(Some(self.image), self.image, metadata("take nothing"));
            File::on(nothing)
        } else {
            File::scratch().copy(nothing_of(self.image))
        };
        let file = match &self.reports {
            Some(reports) => file.copy(nothing_of(reports.folder)),
            None => file.mkdir(Mkdir::new("/")),
        };
        self.image = self.graph.file(file, metadata("leave nothing"));
    }
}

/// A copy that finds nothing.
fn nothing_of(from: Output) -> Copy {
    let mut copy = Copy::new(from, NOTHING, "/");
    copy.wildcard = true;
    copy.allow_empty_wildcard = true;
    copy
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::{Counting, emit, emit_wheels};
    use super::*;
    use crate::llb::testing::{TWO_WHEELS, actions, planned};
    use crate::plan::compile_of;

    fn below(emitted: &Emitted, output: Output) -> BTreeSet<String> {
        let closure = emitted.graph.closure(output).into_iter();
        closure.map(|vertex| vertex.digest().to_owned()).collect()
    }

    /// Emits twice, the second time with nothing left.
    fn both(surroundings: &Surroundings) -> [Emitted; 2] {
        let plan = planned(TWO_WHEELS);
        let whole = emit(&plan, "serve", surroundings);
        let mut nothing = emit(&plan, "serve", surroundings);
        nothing.leave_nothing("cache-serve", surroundings);
        [whole, nothing]
    }

    #[test]
    fn nothing_stands_on_the_image_and_on_all_that_is_asked_of_its_steps() {
        let surroundings = Surroundings::default();
        let [whole, nothing] = both(&surroundings);
        let reports = whole.reports.as_ref().map(|reports| reports.folder).unwrap();
        let mut made = below(&whole, whole.image);
        made.extend(below(&whole, reports));
        let all = below(&nothing, nothing.image);
        assert!(all.is_superset(&made), "every step of the image is below it");
        assert_eq!(all.len(), made.len() + 2, "two operations more");
        let [diff, folder] = nothing.graph.vertex(nothing.image).inputs() else {
            panic!("{:?}", nothing.graph.vertex(nothing.image).inputs())
        };
        // The file system is below by its definition; nobody looks into it.
        assert_eq!(nothing.graph.vertex(*diff).inputs(), [whole.image, whole.image]);
        assert_eq!(*folder, reports);
        assert_eq!(
            nothing.graph.vertex(nothing.image).name(),
            "[cache-serve] leave nothing"
        );
    }

    #[test]
    fn a_daemon_that_cannot_diff_looks_for_a_file_that_is_not_there() {
        let surroundings = Surroundings {
            merge: false,
            ..Surroundings::default()
        };
        let [whole, nothing] = both(&surroundings);
        let reports = whole.reports.as_ref().map(|reports| reports.folder).unwrap();
        assert_eq!(
            nothing.graph.vertex(nothing.image).inputs(),
            [whole.image, reports]
        );
        assert_eq!(actions(&nothing.graph, nothing.image).len(), 2);
    }

    #[test]
    fn what_is_asked_nothing_of_is_below_it_too() {
        let surroundings = Surroundings {
            counts: Counting::Left,
            ..Surroundings::default()
        };
        let plan = planned(TWO_WHEELS);
        let stages: Vec<_> = ["fast", "faster"]
            .iter()
            .filter_map(|name| compile_of(&plan, name))
            .collect();
        let mut wheels = emit_wheels(&plan, &stages, &surroundings);
        assert!(wheels.reports.is_none());
        let image = wheels.image;
        wheels.leave_nothing("cache-wheel-store", &surroundings);
        let [diff] = wheels.graph.vertex(wheels.image).inputs() else {
            panic!("{:?}", wheels.graph.vertex(wheels.image).inputs())
        };
        assert_eq!(wheels.graph.vertex(*diff).inputs(), [image, image]);
        assert_eq!(actions(&wheels.graph, wheels.image).len(), 1);
    }
}
