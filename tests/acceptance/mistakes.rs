//! Errors: each shows its line with a caret, or the step that failed, and none leaves an image.

use crate::Claim;
use crate::support::errors::MISTAKES;

pub(crate) fn claims() -> Vec<Claim> {
    MISTAKES
        .iter()
        .map(|mistake| {
            Claim::new(
                format!("{} is shown at its place, and no image is left", mistake.name),
                |lab| mistake.check(lab),
            )
        })
        .collect()
}
