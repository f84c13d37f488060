//! Options for the containers of steps, and what becomes of them on a daemon that lacks the means.
//!
//! A limit that a build may need (open files, shared memory) is not left out in silence: the step would fail an hour later
//! for no visible reason. What only spares the machine is left out with a warning, as builds come out the same.

use crate::diagnostic::Diagnostic;
use crate::gateway::{CapSet, Options};
use crate::llb::{Cap, Sandbox};
use crate::rules::Rule;

/// The containers that the client asks for.
///
/// # Errors
///
/// Wrong values.
pub(super) fn sandbox(options: &Options, llb: &CapSet) -> Result<Sandbox, Diagnostic> {
    let resources = options.resources()?;
    Ok(Sandbox {
        hostname: options.hostname().unwrap_or_default().to_owned(),
        ulimits: options.ulimits()?,
        cgroup_parent: options.cgroup_parent().unwrap_or_default().to_owned(),
        shm_size: options.shm_size()?,
        resources: resources.filter(|_| llb.supports(Cap::ExecResources.id())),
        cache_namespace: options.cache_mount_namespace().unwrap_or_default().to_owned(),
    })
}

/// What the daemon does not do of that: errors, or else warnings.
pub(super) fn check(options: &Options, llb: &CapSet) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let wrong = [
        sandbox(options, llb).err(),
        options.extra_hosts().err(),
        options.network().err(),
        options.source_date_epoch().err(),
    ];
    errors.extend(wrong.into_iter().flatten());
    let needed = [
        ("--ulimit", Cap::ExecUlimit, options.not_empty("ulimit").is_some()),
        (
            "--shm-size",
            Cap::MountTmpfsSize,
            matches!(options.shm_size(), Ok(Some(_))),
        ),
        (
            "--cgroup-parent",
            Cap::ExecCgroupParent,
            options.cgroup_parent().is_some(),
        ),
    ];
    for (flag, cap, used) in needed {
        if used && !llb.supports(cap.id()) {
            let error = Diagnostic::error(format!("{flag} needs BuildKit {} or later", cap.since()));
            errors.push(error.help(format!("leave it out, or update Docker to {DOCKER} or later")));
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let limits = matches!(options.resources(), Ok(Some(_)));
    let mut warnings = Vec::new();
    if limits && !llb.supports(Cap::ExecResources.id()) {
        let since = Cap::ExecResources.since();
        warnings.push(
            Rule::IgnoredLimit
                .warning(format!(
                    "limits of memory and processors need BuildKit {since} or later: steps run without them"
                ))
                .help("update BuildKit, or limit the builder itself"),
        );
    }
    Ok(warnings)
}

/// The first Docker whose BuildKit (0.10) has limits, sizes of `/dev/shm` and parents of cgroups.
const DOCKER: &str = "23.0";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::Caps;
    use crate::llb::Ulimit;
    use crate::proto::apicaps::ApiCap;
    use crate::proto::frontend::PongResponse;

    /// What a daemon with these capabilities alone can do.
    fn daemon(caps: &[Cap]) -> CapSet {
        let cap = |cap: &Cap| ApiCap {
            id: cap.id().to_owned(),
            enabled: true,
            ..ApiCap::default()
        };
        let pong = PongResponse {
            // An empty list is what a daemon from before lists sends.
            llb_caps: std::iter::once(&Cap::ExecBase).chain(caps).map(cap).collect(),
            ..PongResponse::default()
        };
        Caps::from_pong(&pong).llb
    }

    const ALL: [(&str, &str); 6] = [
        ("ulimit", "nofile=1024:2048"),
        ("shm-size", "1048576"),
        ("cgroup-parent", "cg"),
        ("hostname", "builder"),
        ("build-arg:BUILDKIT_CACHE_MOUNT_NS", "team"),
        ("memory", "1073741824"),
    ];

    #[test]
    fn a_new_daemon_does_all_of_it() {
        let new = daemon(&[
            Cap::ExecUlimit,
            Cap::MountTmpfsSize,
            Cap::ExecCgroupParent,
            Cap::ExecResources,
        ]);
        assert_eq!(check(&Options::of(&ALL), &new), Ok(Vec::new()));
        let sandbox = sandbox(&Options::of(&ALL), &new).unwrap();
        let limit = Ulimit {
            name: "nofile".to_owned(),
            soft: 1024,
            hard: 2048,
        };
        assert_eq!(sandbox.ulimits, [limit]);
        assert_eq!(sandbox.shm_size, Some(1 << 20));
        assert_eq!(
            [sandbox.cgroup_parent, sandbox.hostname, sandbox.cache_namespace],
            ["cg", "builder", "team"]
        );
        assert_eq!(sandbox.resources.unwrap().memory, Some(1 << 30));
    }

    #[test]
    fn an_old_daemon_is_named_with_what_it_lacks() {
        let errors = check(&Options::of(&ALL), &daemon(&[])).unwrap_err();
        let said: Vec<String> = errors
            .iter()
            .map(|error| format!("{}: {}", error.message, error.help.as_deref().unwrap_or_default()))
            .collect();
        insta::assert_snapshot!(said.join("\n"), @r"
        --ulimit needs BuildKit 0.10 or later: leave it out, or update Docker to 23.0 or later
        --shm-size needs BuildKit 0.10 or later: leave it out, or update Docker to 23.0 or later
        --cgroup-parent needs BuildKit 0.10 or later: leave it out, or update Docker to 23.0 or later
        ");
        assert_eq!(check(&Options::of(&ALL[3..5]), &daemon(&[])), Ok(Vec::new()));
    }

    #[test]
    fn limits_of_the_machine_are_left_out_with_a_warning() {
        let only = Options::of(&ALL[5..]);
        let old = daemon(&[]);
        let warnings = check(&only, &old).unwrap();
        assert!(
            warnings[0].message.contains("BuildKit 0.31 or later"),
            "{warnings:?}"
        );
        assert_eq!(sandbox(&only, &old).unwrap().resources, None);
    }

    #[test]
    fn all_wrong_values_are_told_at_once() {
        let wrong = Options::of(&[
            ("ulimit", "nofile"),
            ("add-hosts", "a"),
            ("force-network-mode", "bridge"),
            ("build-arg:SOURCE_DATE_EPOCH", "today"),
        ]);
        let errors = check(&wrong, &daemon(&[Cap::ExecUlimit])).unwrap_err();
        assert_eq!(errors.len(), 4, "{errors:?}");
    }
}
