//! What steps have to say of what they did: file lists, checked against what an image must not hold and against the
//! libraries that its wheels need, code for GPUs, what became of imports, and counts of the compiler cache.

use std::collections::BTreeMap;

use serde_json::Value;
use tokio::task::JoinSet;

use super::failure::Failure;
use super::read::Read;
use crate::diagnostic::Diagnostic;
use crate::gateway::{Client, Options, Reference, Solve};
use crate::llb::{Emitted, Reports};
use crate::plan::{
    self, Contents, Counted, Counts, Plan, StageId, device_code, forbid, imports, links, requires,
};

/// What steps said that fails no build.
#[derive(Debug, Default)]
pub(super) struct Reported {
    /// Counts of compiles.
    pub(super) counts: BTreeMap<StageId, Counts>,
    /// What is to be said of wheels.
    pub(super) warnings: Vec<Diagnostic>,
}

/// Reads the reports that steps left, compares the file lists with what the spec forbids, and gives the rest.
pub(super) async fn read(
    client: &Client,
    options: &Options,
    plan: &Plan,
    image: &str,
    emitted: &Emitted,
) -> Result<Reported, Failure> {
    let Some((reports, folder)) = folder(client, options, emitted).await? else {
        return Ok(Reported::default());
    };
    let folder = folder.as_ref();
    let lists = files(
        client,
        folder,
        (0..reports.lists).map(|index| format!("/{index}")),
    );
    let needed = files(
        client,
        folder,
        (0..reports.needed).map(|index| format!("/needed-{index}")),
    );
    let imported = files(
        client,
        folder,
        reports.imports.then(|| "/imports".to_owned()).into_iter(),
    );
    let counts = counts_in(client, folder, reports);
    let (lists, needed, imported, counts) = tokio::join!(lists, needed, imported, counts);
    let mut tree = forbid::Tree::default();
    for list in lists {
        tree.lay(&there(list)?)
            .map_err(|error| Diagnostic::error(error.to_string()))?;
    }
    let image_plan = &plan.images[image];
    let mut wheels = Vec::new();
    for (wheel, list) in image_plan.needed.iter().zip(needed) {
        let contents = Contents::read(&there(list)?);
        wheels.push((
            wheel,
            contents.map_err(|error| Diagnostic::error(error.to_string()))?,
        ));
    }
    let mut errors = forbid::check(image, &tree, &image_plan.forbid);
    errors.extend(links::check(image, &tree, &wheels));
    errors.extend(requires::check(plan, image, &wheels));
    for (imports, report) in image_plan.imports.iter().zip(imported) {
        let failed = imports::check(image, imports, &there(report)?);
        errors.extend(failed.map_err(|error| Diagnostic::error(error.to_string()))?);
    }
    if !errors.is_empty() {
        return Err(errors.into());
    }
    let warnings = device_code::check(&wheels);
    Ok(Reported { counts, warnings })
}

/// Reads the counts alone.
pub(super) async fn counts(
    client: &Client,
    options: &Options,
    emitted: &Emitted,
) -> Result<BTreeMap<StageId, Counts>, Failure> {
    match folder(client, options, emitted).await? {
        Some((reports, folder)) => Ok(counts_in(client, folder.as_ref(), reports).await),
        None => Ok(BTreeMap::new()),
    }
}

/// The folder with the reports; `None` when nothing is asked of the steps.
async fn folder<'e>(
    client: &Client,
    options: &Options,
    emitted: &'e Emitted,
) -> Result<Option<(&'e Reports, Option<Reference>)>, Failure> {
    let Some(reports) = &emitted.reports else {
        return Ok(None);
    };
    let solve = Solve {
        cache_imports: options.cache_imports()?,
        ..Solve::definition(emitted.graph.definition(reports.folder))
    };
    let result = client.solve(solve).await?;
    Ok(Some((reports, result.single()?.cloned())))
}

/// Counts are no part of the result: where they cannot be read there are none.
async fn counts_in(
    client: &Client,
    folder: Option<&Reference>,
    reports: &Reports,
) -> BTreeMap<StageId, Counts> {
    let names = (0..reports.counts.len()).map(|index| format!("/counts-{index}"));
    let texts = files(client, folder, names).await;
    let counts = texts.into_iter().map(|text| Counts::read(&text.ok()??));
    let counts = reports.counts.iter().copied().zip(counts);
    counts.filter_map(|(id, counts)| Some((id, counts?))).collect()
}

/// A list that has to be there.
fn there(list: Result<Option<String>, Failure>) -> Result<String, Failure> {
    Ok(list?.ok_or_else(|| Diagnostic::error("a step has left no list of what it found"))?)
}

/// The texts of files, in their order; `None` for one that is not there.
async fn files(
    client: &Client,
    folder: Option<&Reference>,
    names: impl Iterator<Item = String>,
) -> Vec<Result<Option<String>, Failure>> {
    let mut reads = JoinSet::new();
    for (index, name) in names.enumerate() {
        let (client, folder) = (client.clone(), folder.cloned());
        reads.spawn(async move {
            let bytes = match folder {
                Some(folder) => client.read_file(&folder, &name).await,
                None => Ok(None),
            };
            let text = bytes.map(|bytes| bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()));
            (index, text.map_err(Failure::from))
        });
    }
    let texts: BTreeMap<_, _> = reads.join_all().await.into_iter().collect();
    texts.into_values().collect()
}

/// Warns of compiles that the compiler cache helped too little, and gives what the metadata of a build says of all counts;
/// nothing where there are none.
pub(super) async fn tell(
    client: &Client,
    read: &Read,
    plan: &Plan,
    counts: BTreeMap<StageId, Counts>,
    began: u64,
) -> Option<(&'static str, Value)> {
    if counts.is_empty() {
        return None;
    }
    let (report, warnings) = judge(plan, counts, began);
    read.tell(client, &warnings).await;
    Some((plan::COUNTS, report))
}

/// The report for the metadata of a build, and what is to be said of compiles that ran in it. A compile ran in it when it
/// ended after the build began: the daemon and this process share a clock.
fn judge(plan: &Plan, counts: BTreeMap<StageId, Counts>, began: u64) -> (Value, Vec<Diagnostic>) {
    let mut wheels = BTreeMap::new();
    let mut warnings = Vec::new();
    for (id, counts) in counts {
        let stage = plan.stage(id);
        let name = stage.name.strip_prefix("wheel ").unwrap_or(&stage.name);
        let compiled = counts.ended >= began;
        if compiled {
            warnings.extend(counts.warning(name, stage.location.as_ref()));
        }
        wheels.insert(name.to_owned(), Counted { compiled, counts });
    }
    (plan::report(&wheels), warnings)
}
