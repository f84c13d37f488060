//! `previous`: the image of an earlier build that `--call wheelbase.explain` compares with.

use crate::diagnostic::Diagnostic;
use crate::gateway::{ContextSource, Options};
use crate::llb::{ParseReferenceError, Reference};
use crate::platform::Platform;

/// The name of the image that a build is compared with.
pub(super) const PREVIOUS: &str = "previous";

/// What somebody may have meant who gives files.
const REVISION: &str = "; `wheelbase explain --since REVISION` compares with the files of a git revision";

/// How that image is given.
const USAGE: &str = "--build-context previous=docker-image://registry.example/app:1";

/// The image of an earlier build that this one is compared with.
pub(in super::super) fn previous(options: &Options, platform: &Platform) -> Result<Reference, Diagnostic> {
    let Some(context) = options.named_context(PREVIOUS, platform)? else {
        return Err(Diagnostic::error("there is no earlier image to compare with")
            .help(format!("name one that this spec has built: {USAGE}")));
    };
    let (what, more) = match context.source {
        ContextSource::Image(text) => {
            return text.parse().map_err(|error: ParseReferenceError| {
                Diagnostic::error(format!("`{PREVIOUS}` names no image: {}", error.reason()))
                    .help(format!("write it as in {USAGE}"))
            });
        }
        ContextSource::Scratch => ("an empty filesystem", ""),
        ContextSource::OciLayout { .. } => (
            "an OCI layout",
            "; it has to be in a registry that the builder can read",
        ),
        ContextSource::Local(_) => ("a folder", REVISION),
        ContextSource::Git(_) => ("a git repository", REVISION),
        ContextSource::Http(_) => (
            "a file of a web server",
            "; `wheelbase explain --previous FILE` compares with the metadata file of a build",
        ),
        ContextSource::Input(_) => ("the result of another target", ""),
    };
    let error = Diagnostic::error(format!("`{PREVIOUS}` is {what}, and it has to be an image"));
    Err(error.help(format!("write {USAGE}{more}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(finding: &Diagnostic) -> String {
        format!(
            "{}: {}",
            finding.message,
            finding.help.as_deref().unwrap_or_default()
        )
    }

    fn asked(value: &str) -> Result<String, Diagnostic> {
        let options = Options::of(&[("context:previous", value)]);
        previous(&options, &Platform::linux_amd64()).map(|reference| reference.to_string())
    }

    #[test]
    fn an_image_is_found_in_full_form_and_by_platform() {
        assert_eq!(
            asked("docker-image://app").as_deref(),
            Ok("docker.io/library/app:latest")
        );
        let options = Options::of(&[
            (
                "context:previous::linux/arm64",
                "docker-image://zot.example/arm:2",
            ),
            ("context:previous", "docker-image://zot.example/any:2"),
        ]);
        let of = |platform: Platform| previous(&options, &platform).unwrap().to_string();
        assert_eq!(of(Platform::linux_arm64()), "zot.example/arm:2");
        assert_eq!(of(Platform::linux_amd64()), "zot.example/any:2");
    }

    #[test]
    fn what_is_no_image_is_named_with_what_to_write() {
        insta::assert_snapshot!(
            [
                "docker-image://scratch",
                "docker-image://user:secret@zot.example/App:1",
                "oci-layout://store:tag@sha256:1",
                "local:previous",
                "https://git.example/app.git#main",
                "https://files.example/built.json",
                "input:previous",
            ]
            .map(|value| said(&asked(value).unwrap_err()))
            .join("\n"),
            @r"
            `previous` is an empty filesystem, and it has to be an image: write --build-context previous=docker-image://registry.example/app:1
            `previous` names no image: after `@` stands a digest such as sha256:<64 hexadecimal digits>: write it as in --build-context previous=docker-image://registry.example/app:1
            `previous` is an OCI layout, and it has to be an image: write --build-context previous=docker-image://registry.example/app:1; it has to be in a registry that the builder can read
            `previous` is a folder, and it has to be an image: write --build-context previous=docker-image://registry.example/app:1; `wheelbase explain --since REVISION` compares with the files of a git revision
            `previous` is a git repository, and it has to be an image: write --build-context previous=docker-image://registry.example/app:1; `wheelbase explain --since REVISION` compares with the files of a git revision
            `previous` is a file of a web server, and it has to be an image: write --build-context previous=docker-image://registry.example/app:1; `wheelbase explain --previous FILE` compares with the metadata file of a build
            `previous` is the result of another target, and it has to be an image: write --build-context previous=docker-image://registry.example/app:1
            "
        );
        let nothing = previous(&Options::of(&[]), &Platform::linux_amd64()).unwrap_err();
        insta::assert_snapshot!(said(&nothing), @r"
        there is no earlier image to compare with: name one that this spec has built: --build-context previous=docker-image://registry.example/app:1
        ");
    }
}
