//! The plan as a finished image carries it: small, and enough to say later why another build differs.

use serde_json::{Value, json};

use super::model::{ImagePlan, Plan};

/// Label and, after `frontend.`, result metadata key of the compact plan.
pub const LABEL: &str = "dev.wheelbase.plan";

/// Format of the compact plan; readers refuse a greater one.
const VERSION: u32 = 1;

/// The compact plan of one image: its stages in order, each with its key and named inputs. An input that is a
/// digest is cut to sixteen digits.
pub fn compact(plan: &Plan, image: &str) -> Option<Value> {
    let image_plan = plan.images.get(image)?;
    let stages: Vec<Value> = used(plan, image_plan)
        .into_iter()
        .map(|stage| {
            let inputs: Vec<Value> = stage
                .inputs
                .iter()
                .map(|input| json!([input.name, shorten(&input.value)]))
                .collect();
            json!({ "name": stage.name, "key": stage.key.short(), "inputs": inputs })
        })
        .collect();
    Some(json!({
        "version": VERSION,
        "name": plan.name,
        "image": image,
        "platform": plan.platform.to_string(),
        "stages": stages,
    }))
}

/// Puts each image's compact plan into its labels.
pub(super) fn label(plan: &mut Plan) {
    let names: Vec<String> = plan.images.keys().cloned().collect();
    for name in names {
        let Some(text) = compact(plan, &name).map(|value| value.to_string()) else {
            continue;
        };
        if let Some(image) = plan.images.get_mut(&name) {
            image.config["config"]["Labels"][LABEL] = Value::String(text);
        }
    }
}

/// The stages that an image stands on, in the plan's order.
fn used<'a>(plan: &'a Plan, image: &ImagePlan) -> Vec<&'a super::model::Stage> {
    let mut wanted = vec![false; plan.stages.len()];
    let mut open: Vec<usize> = std::iter::once(image.root.base)
        .chain(image.root.trees.iter().copied())
        .map(|id| id.0)
        .collect();
    while let Some(index) = open.pop() {
        if !std::mem::replace(&mut wanted[index], true) {
            open.extend(
                plan.stages[index]
                    .work
                    .stands_on(plan.uv)
                    .into_iter()
                    .map(|id| id.0),
            );
        }
    }
    plan.stages
        .iter()
        .zip(wanted)
        .filter(|(_, wanted)| *wanted)
        .map(|(stage, _)| stage)
        .collect()
}

/// Digests are long and there are many of them; sixteen digits tell two apart.
fn shorten(value: &str) -> String {
    value
        .split(' ')
        .map(|word| {
            let digits = word.strip_prefix("sha256:").unwrap_or(word);
            let is_digest = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            if is_digest { &digits[..16] } else { word }
        })
        .collect::<Vec<_>>()
        .join(" ")
}
