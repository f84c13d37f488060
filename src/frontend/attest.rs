//! What the build says of an image beside the image: `--sbom`.
//!
//! A client that asks for a list of contents gets two: a scanner's, which knows the tiers' own packages and guesses at what
//! Python packages there are, and the lock's, which is exact about them.

use std::collections::BTreeMap;
use std::str::FromStr as _;

use serde_json::Value;

use super::failure::Failure;
use crate::diagnostic::Diagnostic;
use crate::gateway::{Attestation, Client, Options, Reference, ScannedStages, Scanner, Solve};
use crate::llb::{Emitted, Output, SCANNED, Scan, emit_file};
use crate::plan::{self, Plan, Work, rfc3339};
use crate::platform::Platform;

/// The file with the document of the lock.
const DOCUMENT: &str = "/wheelbase.spdx.json";

/// Variables that a scanner is told things in.
const VARIABLE: &str = "BUILDKIT_SCAN_";

/// A scanner that is there.
pub(super) struct Sbom {
    scan: Scan,
    stages: ScannedStages,
}

/// Looks the scanner up that the client asks for.
pub(super) async fn scanner(client: &Client, options: &Options) -> Result<Option<Sbom>, Failure> {
    let Some(Scanner {
        image,
        parameters,
        stages,
    }) = options.scanner()?
    else {
        return Ok(None);
    };
    let reference = crate::llb::Reference::from_str(&image)
        .map_err(|error| Diagnostic::error(format!("the scanner `{image}` is no image: {error}")))?;
    let reference = reference.to_string();
    let platform = client.platform().cloned().unwrap_or_else(Platform::linux_amd64);
    let name = format!("[internal] load metadata for {reference}");
    let resolved = client
        .resolve_image(&reference, Some(&platform), options.resolve_mode()?, &name)
        .await
        .map_err(|error| Diagnostic::error(format!("the scanner {reference} cannot be resolved: {error}")))?;
    let config: Value = serde_json::from_slice(&resolved.config).unwrap_or_default();
    let config = &config["config"];
    let words = |key: &str| -> Vec<String> {
        let words = config[key].as_array().into_iter().flatten();
        words
            .filter_map(|word| word.as_str().map(str::to_owned))
            .collect()
    };
    let args: Vec<String> = words("Entrypoint").into_iter().chain(words("Cmd")).collect();
    if args.is_empty() {
        return Err(Diagnostic::error(format!("the scanner {reference} has no command")).into());
    }
    let env = words("Env").into_iter().filter_map(|entry| {
        let (name, value) = entry.split_once('=')?;
        Some((name.to_owned(), value.to_owned()))
    });
    let told = parameters
        .into_iter()
        .map(|(name, value)| (format!("{VARIABLE}{name}"), value));
    let pinned = match &resolved.digest {
        Some(digest) if !reference.contains('@') => format!("{reference}@{digest}"),
        _ => reference,
    };
    let scan = Scan {
        image: pinned,
        platform,
        args,
        env: env.chain(told).collect(),
        cwd: config["WorkingDir"].as_str().unwrap_or_default().to_owned(),
        network: options.network()?,
    };
    Ok(Some(Sbom { scan, stages }))
}

impl Sbom {
    /// Both lists of an image. The scan runs when the image is exported, or the daemon has it from before.
    pub(super) async fn attest(
        &self,
        client: &Client,
        options: &Options,
        plan: &Plan,
        image: &str,
        emitted: &mut Emitted,
    ) -> Result<Vec<Attestation>, Failure> {
        let beside = self.beside(plan, emitted)?;
        let place = &plan.images[image].location;
        let found = emitted.scan(&self.scan, &beside, image, place);
        let definition = emitted.graph.definition(found);
        let cache_imports = options.cache_imports()?;
        let solve = Solve {
            cache_imports,
            ..Solve::definition(definition)
        };
        let created = options.source_date_epoch()?.map(rfc3339);
        let document = plan::spdx(plan, image, created.as_deref()).to_string();
        let name = format!("[internal] write what {image} holds");
        let (graph, file) = emit_file(&plan.platform, DOCUMENT, document, &name, place);
        let (found, file) = tokio::try_join!(
            client.solve(solve),
            client.solve(Solve::definition(graph.definition(file)))
        )?;
        let scan = found
            .single()?
            .cloned()
            .map(|reference: Reference| Attestation::Scan {
                reference,
                core: SCANNED.to_owned(),
            });
        let spdx = file.single()?.cloned().map(|reference| Attestation::Spdx {
            reference,
            path: DOCUMENT.to_owned(),
        });
        Ok(scan.into_iter().chain(spdx).collect())
    }

    /// What wheels were compiled in, as far as the client wants to know.
    fn beside(&self, plan: &Plan, emitted: &Emitted) -> Result<BTreeMap<String, Output>, Diagnostic> {
        let compiles = plan.iter().filter_map(|(id, stage)| match &stage.work {
            Work::Compile(compile) => Some((compile.name.clone(), *emitted.compiled_in.get(&id)?)),
            _ => None,
        });
        let all: BTreeMap<String, Output> = compiles.collect();
        match &self.stages {
            ScannedStages::Nothing => Ok(BTreeMap::new()),
            ScannedStages::Everything => Ok(all),
            ScannedStages::Wheels(names) => {
                let one = |name: &String| {
                    let output = all.get(name).copied().ok_or_else(|| {
                        let known: Vec<&str> = all.keys().map(String::as_str).collect();
                        Diagnostic::error(format!(
                            "BUILDKIT_SBOM_SCAN_STAGE names `{name}`, which is not compiled for this image"
                        ))
                        .help(format!("its compiled wheels are: {}", known.join(", ")))
                    })?;
                    Ok((name.clone(), output))
                };
                names.iter().map(one).collect()
            }
        }
    }
}
