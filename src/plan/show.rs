//! The plan for people and for programs.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{ImagePlan, Plan, Stage, StageId, Supply, Work};

/// The plan as text: each image's layers in order, then every stage with its key and what it is made from.
pub fn text(plan: &Plan) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{} for {}", plan.name, plan.platform);
    for (name, image) in &plan.images {
        let _ = writeln!(out, "\nimage {name}");
        for id in std::iter::once(image.root.base).chain(image.root.trees.iter().copied()) {
            let stage = plan.stage(id);
            let _ = writeln!(
                out,
                "  {}  {:<28} {}",
                stage.key.short(),
                stage.name,
                summary(stage)
            );
        }
        for forbidden in &image.forbid {
            let _ = writeln!(out, "  must not hold {}", forbidden.pattern);
        }
        for group in image.imports.iter().flat_map(|imports| &imports.groups) {
            let modules: Vec<&str> = group.modules.iter().map(|(name, _)| name.as_str()).collect();
            let _ = writeln!(out, "  must import {}", modules.join(", "));
        }
    }
    let _ = writeln!(out, "\nstages");
    for (_, stage) in plan.iter() {
        let _ = writeln!(out, "  {}  {}", stage.key.short(), stage.name);
        for input in &stage.inputs {
            let value = short(&input.value);
            match &input.because {
                Some(because) => {
                    let _ = writeln!(out, "      {} {value}, needed by {because}", input.name);
                }
                None => {
                    let _ = writeln!(out, "      {} {value}", input.name);
                }
            }
        }
    }
    out
}

/// What a layer holds, in a few words.
fn summary(stage: &Stage) -> String {
    match &stage.work {
        Work::Image(image) => match &image.digest {
            Some(digest) => format!("{} {}", image.reference, short(digest)),
            None => format!("{} (not resolved)", image.reference),
        },
        Work::Install(install) => {
            let packages: Vec<String> = install
                .packages
                .iter()
                .map(|package| format!("{} {}", package.name, package.version))
                .collect();
            let known: u64 = install.packages.iter().filter_map(|package| package.size).sum();
            let from = match &install.supply {
                Supply::Files => "",
                Supply::Index(_) => ", from the index",
            };
            format!("{} ({}{from})", packages.join(", "), bytes(known))
        }
        Work::System(system) => system.packages.iter().cloned().collect::<Vec<_>>().join(" "),
        _ => String::new(),
    }
}

/// Bytes in the unit that a person would use.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [(&str, u64); 4] = [
        ("TB", 1_000_000_000_000),
        ("GB", 1_000_000_000),
        ("MB", 1_000_000),
        ("kB", 1_000),
    ];
    for (unit, size) in UNITS {
        if bytes >= size {
            let tenths = bytes.saturating_mul(10) / size;
            return format!("{}.{} {unit}", tenths / 10, tenths % 10);
        }
    }
    format!("{bytes} B")
}

/// A value with long digests cut.
fn short(value: &str) -> String {
    value
        .split(' ')
        .map(|word| {
            let digits = word.strip_prefix("sha256:").unwrap_or(word);
            if digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                &digits[..12]
            } else {
                word
            }
        })
        .collect::<Vec<_>>()
        .join(" ")
}

/// The plan as JSON: `stages` in dependency order, each with `key`, `kind`, `inputs` and the `stages` it stands on,
/// and `images` with their layers and configs.
pub fn json(plan: &Plan) -> String {
    // Writing to a string cannot fail; an empty text would be noticed at once.
    serde_json::to_string_pretty(&value(plan)).unwrap_or_default() + "\n"
}

/// The same as a value.
pub fn value(plan: &Plan) -> Value {
    let stages: Vec<Value> = plan.iter().map(|(_, stage)| json_stage(plan, stage)).collect();
    let images: serde_json::Map<String, Value> = plan
        .images
        .iter()
        .map(|(name, image)| (name.clone(), json_image(plan, image)))
        .collect();
    json!({
        "name": plan.name,
        "platform": plan.platform.to_string(),
        "interpreter": plan.interpreter,
        "stages": stages,
        "images": images,
    })
}

fn json_stage(plan: &Plan, stage: &Stage) -> Value {
    let on: Vec<&str> = stage
        .work
        .stands_on(plan.uv)
        .into_iter()
        .map(|id| plan.stage(id).name.as_str())
        .collect();
    let location = stage.location.as_ref().map(|location| {
        let (line, character) = location.file.position(location.range.start);
        json!({ "file": location.file.name, "line": line, "column": character + 1 })
    });
    json!({
        "name": stage.name,
        "kind": kind(&stage.work),
        "key": stage.key,
        "inputs": stage.inputs,
        "on": on,
        "location": location,
    })
}

fn json_image(plan: &Plan, image: &ImagePlan) -> Value {
    let names = |ids: &[StageId]| {
        ids.iter()
            .map(|id| plan.stage(*id).name.clone())
            .collect::<Vec<_>>()
    };
    json!({
        "base": plan.stage(image.root.base).name,
        "layers": names(&image.root.trees),
        "forbid": image.forbid.iter().map(|forbidden| &forbidden.pattern).collect::<Vec<_>>(),
        "config": image.config,
    })
}

/// The word for a stage's kind of work.
pub fn kind(work: &Work) -> &'static str {
    match work {
        Work::Image(_) => "image",
        Work::System(_) => "system",
        Work::Python(_) => "python",
        Work::Unpack { program, .. } => program,
        Work::Venv { .. } => "venv",
        Work::Install(_) => "install",
        Work::InstallWheels { .. } => "install-wheels",
        Work::Prepare(_) => "source",
        Work::Compile(_) => "compile",
        Work::Ready(_) => "ready-wheel",
        Work::Stored { .. } => "stored-wheel",
        Work::Project(_) => "project",
        Work::Copy(_) => "copy",
        Work::List { .. } => "list",
        Work::ListNeeded { .. } => "list-needed",
        Work::Import { .. } => "import",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_well() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(70_100), "70.1 kB");
        assert_eq!(bytes(899_999_999), "899.9 MB");
        assert_eq!(bytes(2_000_000_000), "2.0 GB");
        assert_eq!(bytes(1_500_000_000_000), "1.5 TB");
    }
}
