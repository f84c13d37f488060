//! What the daemon can do, from its answer to `Ping`.

use std::collections::BTreeMap;
use std::fmt;

use crate::llb::Cap;
use crate::proto::apicaps::ApiCap;
use crate::proto::frontend::PongResponse;

/// What a daemon that sends no list can do: the state of BuildKit 0.3, when lists came up
/// (`defaultCaps` of BuildKit's `frontend/gateway/grpcclient/client.go`, frozen there).
const FROZEN_FRONTEND: &[&str] = &["solve.base", "solve.inlinereturn", "resolveimage", "readfile"];

/// The same for LLB (`defaultLLBCaps`).
const FROZEN_LLB: &[&str] = &[
    "source.image",
    "source.local",
    "source.local.unique",
    "source.local.sessionid",
    "source.local.includepatterns",
    "source.local.followpaths",
    "source.local.excludepatterns",
    "source.local.sharedkeyhint",
    "source.git",
    "source.git.keepgitdir",
    "source.git.fullurl",
    "source.http",
    "source.http.checksum",
    "source.http.perm",
    "soruce.http.uidgid",
    "source.buildop.llbfilename",
    "exec.meta.base",
    "exec.meta.proxyenv",
    "exec.mount.bind",
    "exec.mount.cache",
    "exec.mount.cache.sharing",
    "exec.mount.selector",
    "exec.mount.tmpfs",
    "exec.mount.secret",
    "constraints",
    "platform",
    "meta.ignorecache",
    "meta.description",
    "meta.exportcache",
];

/// Both lists of a daemon.
#[derive(Debug, Clone, PartialEq)]
pub struct Caps {
    /// Of the gateway: which requests it answers.
    pub frontend: CapSet,
    /// Of LLB: which operations it executes. [`Cap`] names them.
    pub llb: CapSet,
}

impl Caps {
    /// The lists of an answer to `Ping`.
    pub fn from_pong(pong: &PongResponse) -> Self {
        Self {
            frontend: CapSet::new(&pong.frontend_api_caps, FROZEN_FRONTEND),
            llb: CapSet::new(&pong.llb_caps, FROZEN_LLB),
        }
    }
}

/// A list of capabilities.
#[derive(Debug, Clone, PartialEq)]
pub struct CapSet {
    caps: BTreeMap<String, ApiCap>,
}

impl CapSet {
    fn new(given: &[ApiCap], frozen: &[&str]) -> Self {
        let caps = if given.is_empty() {
            frozen
                .iter()
                .map(|id| ApiCap {
                    id: (*id).to_owned(),
                    enabled: true,
                    ..ApiCap::default()
                })
                .collect()
        } else {
            given.to_vec()
        };
        Self {
            caps: caps
                .into_iter()
                .map(|cap: ApiCap| (cap.id.clone(), cap))
                .collect(),
        }
    }

    /// Whether the daemon has it and has it switched on.
    pub fn supports(&self, id: &str) -> bool {
        self.caps.get(id).is_some_and(|cap| cap.enabled)
    }

    /// Says why the daemon cannot do it, when it cannot.
    pub fn require(&self, id: &str) -> Result<(), MissingCap> {
        let reason = match self.caps.get(id) {
            Some(cap) if cap.enabled => return Ok(()),
            Some(cap) if cap.disabled_reason_msg.is_empty() => Some(cap.disabled_reason.clone()),
            Some(cap) => Some(cap.disabled_reason_msg.clone()),
            None => None,
        };
        Err(MissingCap {
            id: id.to_owned(),
            disabled: reason,
            needed_by: Vec::new(),
        })
    }

    /// Those of `needed`, which is what [`Graph::caps`](crate::llb::Graph::caps) gives, that the daemon lacks.
    pub fn missing(&self, needed: &BTreeMap<String, Vec<String>>) -> Vec<MissingCap> {
        needed
            .iter()
            .filter_map(|(id, vertices)| {
                let missing = self.require(id).err()?;
                Some(MissingCap {
                    needed_by: vertices.clone(),
                    ..missing
                })
            })
            .collect()
    }
}

/// Something that the daemon cannot do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingCap {
    /// BuildKit's name for it.
    pub id: String,
    /// The daemon knows it but has it switched off, for this reason; the reason may be empty.
    pub disabled: Option<String>,
    /// Names of the vertices that need it.
    pub needed_by: Vec<String>,
}

impl fmt::Display for MissingCap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(reason) = &self.disabled {
            write!(f, "this BuildKit has `{}` switched off", self.id)?;
            if !reason.is_empty() {
                write!(f, " ({reason})")?;
            }
        } else {
            write!(f, "this BuildKit cannot do `{}`", self.id)?;
            if let Some(cap) = Cap::from_id(&self.id) {
                write!(f, ", which came with BuildKit {}", cap.since())?;
            }
        }
        match self.needed_by.as_slice() {
            [] => Ok(()),
            [only] => write!(f, "; needed by `{only}`"),
            [first, rest @ ..] => write!(f, "; needed by `{first}` and {} more", rest.len()),
        }
    }
}

impl std::error::Error for MissingCap {}

#[cfg(test)]
mod tests {
    use super::*;

    fn cap(id: &str, enabled: bool, reason: &str, message: &str) -> ApiCap {
        ApiCap {
            id: id.into(),
            enabled,
            disabled_reason: reason.into(),
            disabled_reason_msg: message.into(),
            ..ApiCap::default()
        }
    }

    #[test]
    fn empty_lists_are_the_frozen_ones() {
        let caps = Caps::from_pong(&PongResponse::default());
        assert!(caps.frontend.supports("readfile"));
        assert!(!caps.frontend.supports("statfile"));
        assert!(caps.llb.supports("source.image"));
        assert!(!caps.llb.supports("file.base"));
        assert!(!caps.llb.supports("mergeop"));
    }

    #[test]
    fn lists_are_taken_alone() {
        let pong = PongResponse {
            frontend_api_caps: vec![cap("return", true, "", "")],
            llb_caps: vec![cap("mergeop", false, "", "only with the containerd image store")],
            ..PongResponse::default()
        };
        let caps = Caps::from_pong(&pong);
        assert!(caps.frontend.supports("return"));
        assert!(!caps.frontend.supports("readfile"));
        assert!(!caps.llb.supports("mergeop"));
    }

    #[test]
    fn says_why_not() {
        let given = [
            cap("mergeop", false, "code", "only with the containerd image store"),
            cap("x", false, "", ""),
        ];
        let set = CapSet::new(&given, &[]);
        let text = |id| set.require(id).unwrap_err().to_string();
        assert_eq!(
            text("mergeop"),
            "this BuildKit has `mergeop` switched off (only with the containerd image store)"
        );
        assert_eq!(text("x"), "this BuildKit has `x` switched off");
        assert_eq!(
            text("diffop"),
            "this BuildKit cannot do `diffop`, which came with BuildKit 0.10"
        );
        assert_eq!(text("return"), "this BuildKit cannot do `return`");
    }

    #[test]
    fn names_the_vertices() {
        let set = CapSet::new(&[cap("file.base", true, "", "")], &[]);
        let names = |names: &[&str]| {
            names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<String>>()
        };
        let needed = BTreeMap::from([
            ("file.base".to_owned(), names(&["f"])),
            ("diffop".to_owned(), names(&["a", "b", "c"])),
            ("mergeop".to_owned(), names(&["m"])),
        ]);
        let texts: Vec<String> = set.missing(&needed).iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), 2);
        assert!(texts[0].ends_with("needed by `a` and 2 more"), "{texts:?}");
        assert!(texts[1].ends_with("needed by `m`"), "{texts:?}");
    }
}
