//! Build arguments: where their values go, and what is said of wrong ones.

use super::errors::assert_said;
use super::*;

/// The small file with arguments, and one piece replaced.
fn with(args: &str, from: &str, to: &str) -> String {
    assert_eq!(SMALL.matches(from).count(), 1, "{from}");
    format!("{}{args}\n", SMALL.replace(from, to))
}

fn build(text: &str, given: &[(&str, &str)]) -> Result<(Spec, Vec<Diagnostic>), Vec<Diagnostic>> {
    let given = given.iter();
    let given = given
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    Spec::parse_with(&SourceFile::new("wheelbase.toml", text), &given)
}

fn built(text: &str, given: &[(&str, &str)]) -> Spec {
    let (spec, warnings) = build(text, given).unwrap_or_else(|errors| panic!("{}", rendered(&errors)));
    assert!(warnings.is_empty(), "{}", rendered(&warnings));
    spec
}

fn refused(text: &str, given: &[(&str, &str)]) -> String {
    rendered(&build(text, given).expect_err("this is refused"))
}

#[test]
fn a_value_is_the_builds_or_the_default() {
    let text = with(
        "[args.CUDA]\ndefault = \"12.8.1\"\ndescription = \"which CUDA\"",
        "cuda = \"12.8.1\"",
        "cuda = \"${CUDA}\"",
    );
    let tier = |spec: &Spec| spec.gpu.tiers[&Tier::Runtime].get_ref().clone();
    let spec = built(&text, &[]);
    assert_eq!(tier(&spec), "docker.io/nvidia/cuda:12.8.1-runtime-ubuntu22.04");
    assert!(spec.same_meaning(&valid(SMALL)));
    let spec = built(&text, &[("CUDA", "12.6.3")]);
    assert_eq!(tier(&spec), "docker.io/nvidia/cuda:12.6.3-runtime-ubuntu22.04");
    let arg = &spec.args["CUDA"];
    assert_eq!(arg.kind, ArgKind::String);
    assert_eq!(arg.description.as_deref(), Some("which CUDA"));
    assert_eq!(
        (arg.default.as_deref(), arg.value.as_deref()),
        (Some("12.8.1"), Some("12.6.3"))
    );
}

#[test]
fn values_stand_in_texts_tables_and_lists() {
    let text = with(
        "labels = { version = \"v${MAJOR}.${MINOR}\", price = \"$${MAJOR} is $5\" }\n\
         env = { MODE = \"${MODE}\" }\nentrypoint = [\"sh\", \"-c\", \"echo ${HOME}\"]\n\
         ports = [\"${MAJOR}\"]\n\
         [args]\nMAJOR = { default = 8 }\nMINOR = { default = \"0\" }\nMODE = { type = \"boolean\" }",
        "packages = [\"serve\"]",
        "packages = [\"serve${MINOR}\"]",
    );
    let spec = built(&text, &[("MODE", "true")]);
    let image = &spec.images["serve"];
    assert_eq!(image.packages[0].get_ref().name, "serve0");
    assert_eq!(image.labels["version"], "v8.0");
    assert_eq!(image.labels["price"], "${MAJOR} is $5");
    assert_eq!(image.env["MODE"], "true");
    assert_eq!(image.entrypoint.as_deref().unwrap()[2], "echo ${HOME}");
    assert!(image.ports.contains("8/tcp"));
}

#[test]
fn numbers_and_booleans_keep_their_type() {
    let text = "wheels = [\"fast\"]\n[wheels.fast]\nsource = { path = \"fast\" }\njobs = \"${JOBS}\"\n\
                network = \"${NET}\"\ncommand = \"echo ${JOBS}\"\nenv = { N = \"${JOBS}\" }\n\
                [args]\nJOBS = { type = \"integer\", default = 2 }\nNET = { default = false }\n";
    let text = with(text, "os =", "archs = [\"9.0\"]\nos =");
    let wheel = |given: &[(&str, &str)]| built(&text, given).wheels["fast"].clone();
    assert_eq!((wheel(&[]).jobs, wheel(&[]).network), (Some(2), false));
    let other = wheel(&[("JOBS", "16"), ("NET", "true")]);
    assert_eq!((other.jobs, other.network), (Some(16), true));
    assert_eq!(other.command.as_deref(), Some("echo ${JOBS}"), "a shell reads it");
    assert_eq!(other.env["N"], "16");
}

#[test]
fn an_argument_that_nothing_uses_needs_no_value_and_changes_nothing() {
    let text = format!("{SMALL}[args.NOTE]\ntype = \"string\"\n");
    assert!(built(&text, &[]).same_meaning(&built(&text, &[("NOTE", "x")])));
}

#[test]
fn a_password_that_an_argument_brings_is_not_taken() {
    let text = with(
        "[args.USER]\ndefault = \"\"",
        "cuda = \"12.8.1\"",
        "mirror = \"https://${USER}@zot.example\"\ncuda = \"12.8.1\"",
    );
    let said = refused(&text, &[("USER", "me:hunter2")]);
    assert!(
        said.contains("carries credentials in a URL") && !said.contains("hunter2"),
        "{said}"
    );
}

#[test]
fn what_a_build_gives_and_nothing_takes_is_warned_of() {
    let text = format!("{SMALL}[args.TORCH]\ndefault = \"2.8.0\"\n");
    let (_, warnings) = build(&text, &[("TROCH", "2"), ("http_proxies", "x")]).unwrap();
    let said: Vec<String> = warnings
        .iter()
        .map(|warning| {
            format!(
                "{}: {}",
                warning.message,
                warning.help.as_deref().unwrap_or_default()
            )
        })
        .collect();
    assert_eq!(
        said,
        [
            "nothing takes the build argument `TROCH`: did you mean --build-arg TORCH=...?",
            "nothing takes the build argument `http_proxies`: declare it with a table [args.http_proxies], or leave it out",
        ]
    );
    let (_, warnings) = build(&format!("{SMALL}[args.HF_TOKEN]\ndefault = \"x\"\n"), &[]).unwrap();
    assert_eq!(warnings[0].message, "`HF_TOKEN` looks like a secret");
}

#[test]
fn names_that_every_frontend_knows() {
    for name in [
        "http_proxy",
        "NO_PROXY",
        "ALL_PROXY",
        "SOURCE_DATE_EPOCH",
        "BUILDKIT_SYNTAX",
    ] {
        assert!(is_predefined(name), "{name}");
    }
    for name in ["TORCH", "PROXY", "source_date_epoch", "DOCKER_BUILDKIT_"] {
        assert!(!is_predefined(name), "{name}");
    }
}

#[test]
fn mistakes_are_shown_at_their_places() {
    let uses = |text: &str| format!("{SMALL}labels = {{ a = \"{text}\" }}\n[args.TORCH]\ndefault = \"2\"\n");
    let declares = |lines: &str| format!("{SMALL}labels = {{ a = \"${{MODE}}\" }}\n[args.MODE]\n{lines}\n");
    let cases = [
        ("undeclared", refused(&uses("version ${TROCH}"), &[])),
        ("undeclared, nothing near", refused(&uses("${HOME}"), &[])),
        ("a default in place", refused(&uses("${TORCH:-3}"), &[])),
        ("no end", refused(&uses("${TORCH"), &[])),
        ("no name", refused(&uses("${torch-version}"), &[])),
        (
            "no value",
            refused(&declares("description = \"fast or safe\""), &[]),
        ),
        (
            "no integer",
            refused(&declares("type = \"integer\""), &[("MODE", "many")]),
        ),
        (
            "no boolean",
            refused(&declares("default = true"), &[("MODE", "yes")]),
        ),
        (
            "no choice",
            refused(
                &declares("choices = [\"fast\", \"safe\"]\ndefault = \"safe\""),
                &[("MODE", "fsat")],
            ),
        ),
        (
            "a default that is no choice",
            refused(&declares("choices = [1, 2]\ndefault = 3"), &[]),
        ),
        (
            "types that differ",
            refused(&declares("type = \"integer\"\ndefault = \"two\""), &[]),
        ),
        ("a misspelt key", refused(&declares("defualt = \"fast\""), &[])),
        (
            "a value alone",
            refused(&format!("{SMALL}[args]\nMODE = \"fast\"\n"), &[]),
        ),
        (
            "a name with a dash",
            refused(&format!("{SMALL}[args.torch-version]\ndefault = \"2\"\n"), &[]),
        ),
        (
            "a value that its key does not take",
            refused(
                &with(
                    "[args.CUDA]\ndefault = \"12.8\"",
                    "cuda = \"12.8.1\"",
                    "cuda = \"${CUDA}\"",
                ),
                &[],
            ),
        ),
    ];
    assert_said("arguments", &cases);
}
