//! Plans for tests.

use std::collections::{BTreeMap, BTreeSet};

use super::{Plan, Request, StandIns, plan};
use crate::diagnostic::SourceFile;
use crate::lock::{Lock, Manifests};
use crate::platform::Platform;
use crate::spec::Spec;

/// The plan of all images of a spec for `linux/amd64`, with no registry asked. The lock is the text of a `uv.lock`.
pub(crate) fn planned(spec: &str, lock: Option<&str>, stand_ins: &StandIns) -> Plan {
    let (spec, _) = Spec::parse(&SourceFile::new("wheelbase.toml", spec)).unwrap();
    let lock = lock.map(|text| Lock::parse(&SourceFile::new("uv.lock", text)).unwrap().0);
    let images: BTreeSet<String> = spec.images.keys().cloned().collect();
    plan(&Request {
        spec: &spec,
        lock: lock.as_ref(),
        projects: &BTreeMap::new(),
        manifests: &Manifests::default(),
        platform: Platform::linux_amd64(),
        builder: None,
        stand_ins,
        resolved: &BTreeMap::new(),
        images: &images,
    })
    .unwrap()
}
