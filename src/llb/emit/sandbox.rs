//! What the client wants of the containers of all steps, whatever a step does.

use super::super::{Exec, Executed, Metadata, Mount, Resources, Sharing, Ulimit};
use super::Emitter;

/// The container of a step, as `docker buildx build` has it for `RUN`. All of it but `resources` and `cache_namespace`
/// is part of the keys of steps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sandbox {
    /// Host name; BuildKit's own when empty.
    pub hostname: String,
    /// Limits of processes.
    pub ulimits: Vec<Ulimit>,
    /// The cgroup above those of steps; BuildKit's own when empty.
    pub cgroup_parent: String,
    /// Bytes of `/dev/shm`; BuildKit's own size when `None`.
    pub shm_size: Option<u64>,
    /// What a step may use of the machine.
    pub resources: Option<Resources>,
    /// What stands in front of the ids of cache mounts; nothing when empty.
    pub cache_namespace: String,
}

impl Emitter<'_> {
    /// Adds a process, in the container that the client wants.
    pub(super) fn process(&mut self, exec: Exec, metadata: Metadata) -> Executed {
        let sandbox = &self.surroundings.sandbox;
        let exec = Exec {
            hostname: sandbox.hostname.clone(),
            ulimits: sandbox.ulimits.clone(),
            cgroup_parent: sandbox.cgroup_parent.clone(),
            shm_size: sandbox.shm_size,
            ..exec
        };
        self.graph
            .exec(exec, metadata.resources(sandbox.resources.clone()))
    }

    /// A cache mount that builds of other namespaces do not see. What locks builds against each other is none.
    pub(super) fn cache(&self, dest: &str, id: &str) -> Mount {
        let id = match self.surroundings.sandbox.cache_namespace.as_str() {
            "" => id.to_owned(),
            namespace => format!("{namespace}/{id}"),
        };
        Mount::cache(dest, id, Sharing::Shared)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use prost::Message as _;

    use super::super::{NoCache, Surroundings, emit};
    use super::*;
    use crate::llb::testing;
    use crate::plan::Plan;
    use crate::proto::pb;

    fn planned() -> Plan {
        let text = "name = \"job\"\n[gpu]\narchs = [\"9.0\"]\n\
                    tiers = { base = \"registry.example/base:1\", devel = \"registry.example/devel:1\" }\n\
                    [python]\nversion = \"3.12\"\nprovider = { image = \"registry.example/python:1\" }\n\
                    [compiler-cache]\ntool = \"ccache\"\n\
                    [wheels.fast]\nsource = { path = \"fast\" }\nnetwork = true\n\
                    [images.serve]\ntier = \"base\"\nwheels = [\"fast\"]\nsystem = [\"git\"]\n";
        testing::planned(text)
    }

    /// The processes of the image by their names, with what is said about them.
    fn processes(surroundings: &Surroundings) -> BTreeMap<String, (pb::ExecOp, pb::OpMetadata)> {
        let emitted = emit(&planned(), "serve", surroundings);
        let definition = emitted.graph.definition(emitted.image);
        let ops = definition.def.iter().map(|bytes| {
            let op = pb::Op::decode(bytes.as_slice()).unwrap();
            (crate::llb::graph::digest_of(bytes), op)
        });
        ops.filter_map(|(digest, op)| match op.op {
            Some(pb::op::Op::Exec(exec)) => {
                let metadata = definition.metadata[&digest].clone();
                Some((metadata.description["llb.customname"].clone(), (exec, metadata)))
            }
            _ => None,
        })
        .collect()
    }

    fn with(sandbox: Sandbox) -> Surroundings {
        Surroundings {
            sandbox,
            ..Surroundings::default()
        }
    }

    #[test]
    fn every_step_is_in_the_container_that_was_asked_for() {
        let limit = Ulimit {
            name: "nofile".to_owned(),
            soft: 1024,
            hard: 2048,
        };
        let asked = processes(&with(Sandbox {
            hostname: "builder".to_owned(),
            ulimits: vec![limit],
            cgroup_parent: "cg".to_owned(),
            shm_size: Some(1 << 20),
            ..Sandbox::default()
        }));
        assert!(asked.len() >= 4, "{:?}", asked.keys());
        for (name, (exec, _)) in &asked {
            let meta = exec.meta.as_ref().unwrap();
            assert_eq!(
                (meta.hostname.as_str(), meta.cgroup_parent.as_str()),
                ("builder", "cg"),
                "{name}"
            );
            assert_eq!(meta.ulimit[0].hard, 2048, "{name}");
            let shm = exec.mounts.iter().find(|mount| mount.dest == "/dev/shm").unwrap();
            assert_eq!(shm.tmpfs_opt.as_ref().unwrap().size, 1 << 20, "{name}");
        }
        for (name, (exec, _)) in &processes(&Surroundings::default()) {
            let meta = exec.meta.as_ref().unwrap();
            assert!(meta.hostname.is_empty() && meta.ulimit.is_empty(), "{name}");
            assert!(exec.mounts.iter().all(|mount| mount.dest != "/dev/shm"), "{name}");
        }
    }

    #[test]
    fn resources_are_said_beside_the_steps() {
        let resources = Resources {
            memory: Some(1 << 30),
            cpus: "0-1".to_owned(),
            ..Resources::default()
        };
        let limited = processes(&with(Sandbox {
            resources: Some(resources),
            ..Sandbox::default()
        }));
        let free = processes(&Surroundings::default());
        for (name, (exec, metadata)) in &limited {
            let said = metadata.linux_resources.as_ref().unwrap();
            assert_eq!(
                (said.memory, said.cpuset_cpus.as_str(), said.cpu_quota),
                (1 << 30, "0-1", 0)
            );
            assert!(metadata.caps.contains_key("exec.meta.linux.resources"), "{name}");
            assert_eq!(*exec, free[name].0, "no part of the step itself");
            assert_eq!(free[name].1.linux_resources, None);
        }
    }

    #[test]
    fn a_namespace_is_in_front_of_all_caches() {
        let caches = |namespace: &str| -> BTreeSet<String> {
            let processes = processes(&with(Sandbox {
                cache_namespace: namespace.to_owned(),
                ..Sandbox::default()
            }));
            let mounts = processes.into_values().flat_map(|(exec, _)| exec.mounts);
            mounts.filter_map(|mount| Some(mount.cache_opt?.id)).collect()
        };
        let (plain, other) = (caches(""), caches("team"));
        assert!(plain.len() >= 3, "{plain:?}");
        let expected: BTreeSet<String> = plain
            .iter()
            .map(|id| match id.as_str() {
                // Builds of all namespaces wait for each other.
                "wheelbase-slots-1" => id.clone(),
                id => format!("team/{id}"),
            })
            .collect();
        assert_eq!(other, expected);
    }

    #[test]
    fn no_cache_filter_takes_names_of_steps_wheels_and_images() {
        let ignored = |name: &str| -> Vec<String> {
            let processes = processes(&Surroundings {
                no_cache: NoCache::Only(vec![name.to_owned()]),
                ..Surroundings::default()
            });
            let ignored = processes
                .into_iter()
                .filter(|(_, (_, metadata))| metadata.ignore_cache);
            ignored.map(|(name, _)| name).collect()
        };
        assert_eq!(ignored("fast"), ["[wheel fast] compile"]);
        assert_eq!(ignored("Wheel Fast"), ["[wheel fast] compile"]);
        let image = ignored("serve");
        assert!(
            image.len() >= 2 && image.iter().all(|name| name.starts_with("[serve ")),
            "{image:?}"
        );
        assert!(
            !image.iter().any(|name| name.contains("/opt/venv")),
            "the wheel is built on it: {image:?}"
        );
        assert_eq!(ignored("other"), [""; 0]);
    }
}
