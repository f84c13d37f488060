//! The matrix: what it is read as, and what is said of a wrong one.

use super::errors::assert_said;
use super::*;

/// The small file with two arguments, of which one names the toolkit, and these lines of a matrix.
fn with(lines: &str) -> String {
    let from = "cuda = \"12.8.1\"";
    assert_eq!(SMALL.matches(from).count(), 1);
    format!(
        "{}labels = {{ python = \"${{python}}\", n = \"${{JOBS}}\" }}\n\
         [args]\ncuda = {{ default = \"12.8.1\" }}\npython = {{ choices = [\"3.11\", \"3.12\"] }}\nJOBS = {{ default = 8 }}\n\
         [matrix]\n{lines}\n",
        SMALL.replace(from, "cuda = \"${cuda}\"")
    )
}

fn read(text: &str) -> Matrix {
    let read = Matrix::read(&SourceFile::new("wheelbase.toml", text));
    read.unwrap_or_else(|errors| panic!("{}", rendered(&errors)))
        .unwrap()
        .0
}

/// What is said of a matrix: errors, or else warnings of a build that gives `python`.
fn said(lines: &str) -> String {
    let given = [("python".to_owned(), "3.12".to_owned())].into();
    match Spec::parse_with(&SourceFile::new("wheelbase.toml", with(lines)), &given) {
        Ok((_, warnings)) => rendered(&warnings),
        Err(errors) => rendered(&errors),
    }
}

/// What is said of 258 combinations, without the line that has them.
fn too_many() -> String {
    let jobs: Vec<usize> = (0..129).collect();
    let said = said(&format!("cuda = [\"12.8.1\", \"12.6.3\"]\nJOBS = {jobs:?}"));
    said.lines()
        .filter(|line| line.len() < 200)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn it_is_read_in_the_order_of_the_file_and_without_values_of_arguments() {
    let text = with(
        "python = [\"3.12\", \"3.11\"]\nplatform = [\"linux/x86_64\", \"linux/arm64/v8\"]\ncuda = [\"12.8.1\"]\n\
         exclude = [{ platform = \"linux/aarch64\", python = \"3.11\" }]",
    );
    let matrix = read(&text);
    let names: Vec<(&str, bool)> = matrix
        .axes
        .iter()
        .map(|axis| (axis.name.get_ref().as_str(), axis.has_default))
        .collect();
    assert_eq!(names, [("python", false), ("platform", true), ("cuda", true)]);
    let words: Vec<String> = matrix.combinations().iter().map(Combination::words).collect();
    assert_eq!(
        words,
        [
            "python = \"3.12\", platform = \"linux/amd64\", cuda = \"12.8.1\"",
            "python = \"3.12\", platform = \"linux/arm64\", cuda = \"12.8.1\"",
            "python = \"3.11\", platform = \"linux/amd64\", cuda = \"12.8.1\"",
        ]
    );
    assert!(parse(&text).is_err(), "a build has to give python");
    assert!(
        Matrix::read(&SourceFile::new("wheelbase.toml", SMALL))
            .unwrap()
            .is_none()
    );
}

#[test]
fn a_build_is_the_same_with_and_without_it() {
    let text = with("cuda = [\"12.6.3\", \"13.0.2\"]\nJOBS = [1, 2]")
        .replace("choices = [\"3.11\", \"3.12\"]", "default = \"\"");
    let (without, _) = text.split_once("[matrix]").unwrap();
    assert!(valid(&text).same_meaning(&valid(without)));
    assert_eq!(valid(&text).matrix, Some(read(&text)));
}

#[test]
fn mistakes_are_shown_at_their_places() {
    let cases = [
        ("an unknown argument", said("cdua = [\"12.8.1\"]\nos = [\"ubuntu22.04\"]")),
        ("platforms", said("platforms = [\"linux/amd64\"]")),
        ("exclude, misspelt", said("cuda = [\"12.8.1\"]\nexlude = [{ cuda = \"12.8.1\" }]")),
        ("no list", said("cuda = \"12.8.1\"")),
        ("no value", said("cuda = []")),
        ("nothing that varies", said("exclude = []")),
        ("another type", said("cuda = [12, \"12.8.1\"]\nJOBS = [\"8\", \"many\", true]")),
        ("a float", said("python = [3.12]")),
        ("no choice", said("python = [\"3.12\", \"3.13\"]")),
        ("a value twice", said("cuda = [\"12.8.1\", \"12.6.3\", \"12.8.1\"]")),
        ("a platform twice", said("platform = [\"linux/amd64\", \"linux/x86_64\"]")),
        ("no platform", said("platform = [\"amd64\", \"windows/amd64\"]")),
        (
            "exclude without an axis",
            said("cuda = [\"12.8.1\"]\nexclude = [{ cuad = \"12.8.1\" }, { python = \"3.11\" }]"),
        ),
        (
            "exclude without a value",
            said("cuda = [\"12.8.1\", \"12.6.3\"]\nexclude = [{ cuda = \"12.8.0\" }, { cuda = \"11\" }, {}]"),
        ),
        (
            "nothing is left",
            said("cuda = [\"12.8.1\", \"12.6.3\"]\nexclude = [{ cuda = \"12.8.1\" }, { cuda = \"12.6.3\" }]"),
        ),
        (
            "left out before",
            said(
                "cuda = [\"12.8.1\", \"12.6.3\"]\nJOBS = [1, 2]\n\
                 exclude = [{ cuda = \"12.8.1\" }, { cuda = \"12.8.1\", JOBS = 1 }]",
            ),
        ),
        ("too many", too_many()),
        (
            "an argument called platform",
            rendered(
                &parse(&format!(
                    "{SMALL}[args.platform]\ndefault = \"\"\n[matrix]\nplatform = [\"linux/amd64\"]\n"
                ))
                .unwrap_err(),
            ),
        ),
        (
            "an argument that nothing uses",
            rendered(
                &parse(&format!(
                    "{SMALL}cmd = [\"run\", \"${{mode}}\"]\n[args.mode]\ndefault = \"\"\n[matrix]\nmode = [\"a\", \"b\"]\n"
                ))
                .unwrap()
                .1,
            ),
        ),
    ];
    assert_said("matrix", &cases);
}

#[test]
fn a_password_in_it_is_shown_nowhere() {
    let said = said(
        "cuda = [\"https://me:hunter2@index.example\"]\nexclude = [{ cuda = \"https://me:hunter2@index.example\" }]",
    );
    assert!(
        said.contains("carries credentials in a URL") && !said.contains("hunter2"),
        "{said}"
    );
}
