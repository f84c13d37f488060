//! Compiled wheels as results of their own, and what is read of the build context to know them by.

use std::collections::BTreeSet;

use super::super::{File, Graph, Output};
use super::{Emitted, Emitter, Surroundings, whole};
use crate::diagnostic::Location;
use crate::plan::{ContextRead, Plan, StageId, Work};

/// What many wheels are called in progress lines.
const WHEELS: &str = "wheel-store";

/// Translates one compiled wheel of a plan into an image that holds its files at its root. One that comes from a store is
/// that image already.
pub fn emit_wheel(plan: &Plan, wheel: StageId, surroundings: &Surroundings) -> Emitted {
    let name = &plan.stage(wheel).name;
    let mut emitter = Emitter::new(plan, name, surroundings, plan.stage(wheel).location.as_ref());
    let image = emitter.files_of(wheel);
    emitter.emitted(image)
}

/// Translates compiled wheels of a plan into one image with the files of all of them at its root. Each is a layer, the one
/// that [`emit_wheel`] makes of it; a daemon that cannot merge copies all of them in one step.
pub fn emit_wheels(plan: &Plan, wheels: &[StageId], surroundings: &Surroundings) -> Emitted {
    let mut emitter = Emitter::new(plan, WHEELS, surroundings, None);
    let together = emitter.named(format!("[{WHEELS}] put wheels together"));
    let together = together.group(emitter.assembly());
    let image = if surroundings.merge {
        let layers: Vec<Output> = wheels.iter().map(|wheel| emitter.files_of(*wheel)).collect();
        emitter.graph.merge(&layers, together)
    } else {
        let copies = wheels.iter().fold(File::scratch(), |file, wheel| {
            file.copy(whole(emitter.folder(*wheel)))
        });
        Some(emitter.graph.file(copies, together))
    };
    let image = image.unwrap_or_else(|| {
        emitter
            .graph
            .file(File::scratch(), emitter.named("[internal] no wheels"))
    });
    emitter.emitted(image)
}

/// What is read of the build context, in one folder: each part in a folder `0`, `1` and so on of it.
pub fn emit_reads(
    plan: &Plan,
    reads: &BTreeSet<ContextRead>,
    surroundings: &Surroundings,
) -> (Graph, Output) {
    let mut emitter = Emitter::new(plan, "wheel store", surroundings, None);
    let file = reads
        .iter()
        .enumerate()
        .fold(File::scratch(), |file, (index, read)| {
            let dest = format!("/{index}/");
            let context = emitter.files(read.context.as_deref());
            let mut copy = emitter.part_of(context, &read.path, &dest, &read.include, &read.exclude);
            copy.follow_symlinks = true;
            file.copy(copy)
        });
    let metadata = emitter
        .named("[wheel store] take sources")
        .locations(readers(plan));
    let folder = emitter.graph.file(file, metadata);
    (emitter.graph, folder)
}

/// The places of what reads the build context, each once.
fn readers(plan: &Plan) -> Vec<Location> {
    let mut places: Vec<Location> = Vec::new();
    for (_, stage) in plan.iter() {
        if let Some(location) = &stage.location
            && !stage.work.context_paths().is_empty()
            && !places.contains(location)
        {
            places.push(location.clone());
        }
    }
    places
}

impl Emitter<'_> {
    /// The files of a wheel at the root of an image of its own.
    fn files_of(&mut self, wheel: StageId) -> Output {
        let files = self.folder(wheel);
        let stage = self.plan.stage(wheel);
        if matches!(stage.work, Work::Stored { .. }) {
            return files;
        }
        let metadata = self.named(format!("[{}] take files", stage.name));
        self.graph.file(File::scratch().copy(whole(files)), metadata)
    }

    /// The graph with the counts of what is compiled.
    fn emitted(mut self, image: Output) -> Emitted {
        let reports = self.reports(&[], &[], None);
        Emitted {
            graph: self.graph,
            image,
            reports,
            compiled_in: self.compiled_in,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llb::testing::{TWO_WHEELS, actions, planned};
    use crate::plan::{compile_of, take_stored};

    fn stages(plan: &Plan) -> Vec<StageId> {
        let names = ["fast", "faster"].iter();
        names.filter_map(|name| compile_of(plan, name)).collect()
    }

    #[test]
    fn all_wheels_are_the_layers_that_each_has_as_a_target_of_its_own() {
        let (plan, surroundings) = (planned(TWO_WHEELS), Surroundings::default());
        let stages = stages(&plan);
        let all = emit_wheels(&plan, &stages, &surroundings);
        let layers: Vec<&str> = all
            .graph
            .vertex(all.image)
            .inputs()
            .iter()
            .map(|layer| all.graph.digest(*layer))
            .collect();
        let each: Vec<Emitted> = stages
            .iter()
            .map(|stage| emit_wheel(&plan, *stage, &surroundings))
            .collect();
        // The context's hint is the target's, so the operations are the same and not their inputs.
        for (layer, one) in all.graph.vertex(all.image).inputs().iter().zip(&each) {
            assert_eq!(actions(&all.graph, *layer), actions(&one.graph, one.image));
        }
        assert_eq!(layers.len(), 2);
        assert_eq!(all.reports.map(|reports| reports.counts), Some(stages));
    }

    #[test]
    fn a_daemon_that_cannot_merge_copies_all_wheels_in_one_step() {
        let surroundings = Surroundings {
            merge: false,
            ..Surroundings::default()
        };
        let plan = planned(TWO_WHEELS);
        let all = emit_wheels(&plan, &stages(&plan), &surroundings);
        assert_eq!(actions(&all.graph, all.image).len(), 2);
    }

    #[test]
    fn what_the_store_has_is_its_own_layer() {
        let (mut plan, surroundings) = (planned(TWO_WHEELS), Surroundings::default());
        let stages = stages(&plan);
        let image =
            "registry.example/wheels@sha256:0123456789012345678901234567890123456789012345678901234567890123";
        take_stored(&mut plan, &[(stages[0], image.to_owned())].into());
        let all = emit_wheels(&plan, &stages, &surroundings);
        let layers = all.graph.vertex(all.image).inputs();
        assert!(
            all.graph
                .vertex(layers[0])
                .name()
                .contains("take from the wheel store")
        );
        assert_eq!(all.reports.map(|reports| reports.counts), Some(vec![stages[1]]));
        take_stored(&mut plan, &[(stages[1], image.to_owned())].into());
        let one = emit_wheels(&plan, &stages[1..], &surroundings);
        assert!(one.reports.is_none());
        assert!(one.graph.vertex(one.image).inputs().is_empty());
    }
}
