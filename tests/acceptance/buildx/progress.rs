//! What a person sees of a build: lines that fit a terminal, and the spec's line under a step that fails.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use super::table::{self, Cell, Row};
use crate::Claim;
use crate::support::build::Build;
use crate::support::engine::{Engine, Lab};
use crate::support::project::{Project, Release, SMALL, serve_file};
use crate::support::unique;

const ROWS: &[Row] = &[Row {
    option: "the spec's line under a failed step",
    measure: |lab, engine| {
        let is_old = engine.name == "20.10";
        for failure in FAILURES {
            let shown = failure.check(lab, engine);
            if is_old {
                // BuildKit 0.8 passes no places on. What the frontend itself finds has its place in its words.
                let Err(error) = shown else {
                    bail!(
                        "{}: the line is shown, and the table is to be mended",
                        failure.name
                    )
                };
                let own = failure.line.starts_with("paths = ");
                ensure!(!own || error.to_string().contains("forbidden here"), "{error}");
            } else {
                shown?;
            }
        }
        Ok(if is_old { Cell::FallsBack } else { Cell::Works })
    },
}];

pub(crate) fn claims() -> Vec<Claim> {
    let mut claims: Vec<Claim> = FAILURES
        .iter()
        .map(|failure| {
            Claim::new(
                format!("{} shows the line of the spec that asked for it", failure.name),
                |lab| failure.check(lab, &lab.engine()),
            )
        })
        .collect();
    claims.push(Claim::new(
        "every line of progress fits 80 columns, and docs/progress.md is what a terminal shows of the quickstart",
        transcript,
    ));
    claims.extend(table::claims(ROWS));
    claims
}

/// A step that cannot end well.
struct Failure {
    name: &'static str,
    make: fn(&Project, &Lab) -> Result<()>,
    /// A text of the line that has to be shown.
    line: &'static str,
}

const FAILURES: &[Failure] = &[
    Failure {
        name: "a compile that fails",
        make: |project, _| {
            let text = "#include \"rowmax.cuh\"\nint broken = nowhere;\n";
            project.write("kernels/rowmax/csrc/rowmax_f32.cu", text)
        },
        line: "[wheels.rowmax]",
    },
    Failure {
        name: "a package that cannot be installed",
        make: |project, lab| {
            let folder = tempfile::tempdir()?;
            let name = format!(
                "idna-3.10.{}-py3-none-any.whl",
                u64::from_str_radix(&unique()[5..15], 16)?
            );
            let path = folder.path().join(&name);
            std::fs::write(&path, "this is no wheel")?;
            let (url, sha256) = serve_file(lab, &path)?;
            let lock = project.read("uv.lock")?;
            let package = lock.find("name = \"idna\"").context("no idna")?;
            let start = package + lock[package..].find("wheels = [").context("no wheels")?;
            let end = start + lock[start..].find("\n]").context("no end")?;
            let wheels =
                format!("wheels = [\n    {{ url = \"{url}\", hash = \"sha256:{sha256}\", size = 16 }},");
            project.write("uv.lock", &format!("{}{wheels}{}", &lock[..start], &lock[end..]))
        },
        line: "[images.serve]",
    },
    Failure {
        name: "a file of the lock that cannot be fetched",
        make: |project, lab| {
            let lock = project.read("uv.lock")?;
            let url = format!("{}/files/idna-", lab.index);
            ensure!(lock.contains(&url), "the lock has no {url}");
            let elsewhere = format!("{}/nowhere/{}/idna-", lab.index, unique());
            // A hash that nobody has fetched: what is known by its hash is not fetched again.
            let start = lock.find(&url).context("no idna")?;
            let hash = start + lock[start..].find("sha256:").context("no hash")? + "sha256:".len();
            let new = format!("{:0>64}", unique().trim_start_matches('t'));
            let lock = format!("{}{new}{}", &lock[..hash], &lock[hash + 64..]);
            project.write("uv.lock", &lock.replace(&url, &elsewhere))
        },
        line: "[images.serve]",
    },
    Failure {
        name: "a system package that does not exist",
        make: |project, _| {
            let with = format!("user       = \"app\"\nsystem     = [\"no-such-{}\"]\n", unique());
            project.spec("user       = \"app\"\n", &with).map(drop)
        },
        line: "[images.serve]",
    },
    Failure {
        name: "a repository that cannot be reached",
        make: |project, _| {
            let source = "source = { git = \"http://127.0.0.1:9/rowmax.git\", rev = \"0123456789012345678901234567890123456789\" }";
            project
                .spec("source = { path = \"kernels/rowmax\" }", source)
                .map(drop)
        },
        line: "[wheels.rowmax]",
    },
    Failure {
        name: "a source that the context does not have",
        make: |project, _| {
            let source = "source = { path = \"kernels/rowmin\" }";
            project
                .spec("source = { path = \"kernels/rowmax\" }", source)
                .map(drop)
        },
        line: "[wheels.rowmax]",
    },
    Failure {
        name: "a copy of what the context does not have",
        make: |project, _| project.spec("from = \"config\"", "from = \"confog\"").map(drop),
        line: "from = \"confog\"",
    },
    Failure {
        name: "a file that an image must not hold",
        make: |project, _| {
            project
                .spec("tier       = \"base\"", "tier       = \"devel\"")
                .map(drop)
        },
        line: "paths = [\"**/bin/nvcc\"",
    },
];

impl Failure {
    /// Builds a quickstart that fails and looks for its line, as every client draws it.
    fn check(&self, lab: &Lab, engine: &Engine) -> Result<String> {
        let project = Project::quickstart(lab)?;
        (self.make)(&project, lab)?;
        let spec = project.read("wheelbase.toml")?;
        let (index, text) = spec
            .lines()
            .enumerate()
            .find(|(_, line)| line.contains(self.line))
            .with_context(|| format!("no line has {:?}", self.line))?;
        let built = Build::of(lab, &project).on(engine).target("serve").fail()?;
        let shown = [
            format!("wheelbase.toml:{}", index + 1),
            format!(" {} | >>> {text}", index + 1),
        ];
        for words in &shown {
            ensure!(
                built.text.contains(words),
                "{}: {words:?} is not in\n{}",
                self.name,
                built.text
            );
        }
        Ok(shown[0].clone())
    }
}

/// The page, and what stands above each of its three screens.
const PAGE: &str = "docs/progress.md";

fn transcript(lab: &Lab) -> Result<String> {
    let project = Project::quickstart(lab)?;
    let first = screen(lab, &project, &["--no-cache"])?;
    // One that no other build of the lab has installed.
    let release = Release::new(lab, SMALL, "3.20")?;
    project.bump(&release)?;
    let version = version_of(&release)?;
    let second = screen(lab, &project, &[])?.replace(&version, "3.20");
    project.write(
        "kernels/rowmax/csrc/rowmax_f32.cu",
        "#include \"rowmax.cuh\"\nint broken = nowhere;\n",
    )?;
    let third = screen(lab, &project, &[])?.replace(&version, "3.20");
    let page = page(&[&first, &second, &third]);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page)?;
    }
    let committed = std::fs::read_to_string(&path)?;
    // A reference of an image may be as long as it likes: the client cuts it.
    let named = committed
        .lines()
        .filter(|line| line.starts_with(" => ") && !line.contains("127.0.0.1"));
    let widest = named.map(|line| line.chars().count()).max().unwrap_or(0);
    ensure!(
        widest > 20 && widest < 72,
        "the widest line has {widest} characters"
    );
    // What runs at the same time comes in another order each time.
    let (ours, theirs) = (lines(&page), lines(&committed));
    if ours != theirs {
        let differences: Vec<&String> = ours.symmetric_difference(&theirs).collect();
        bail!("{PAGE} is stale (UPDATE_DOCS=1 writes it): {differences:#?}");
    }
    Ok(format!("{} lines, the widest of {widest} characters", ours.len()))
}

fn version_of(release: &Release) -> Result<String> {
    let name = release
        .file
        .file_name()
        .context("no file name")?
        .to_string_lossy()
        .into_owned();
    Ok(name.split('-').nth(1).context("no version")?.to_owned())
}

/// What a terminal of 80 columns shows in the end, without times.
fn screen(lab: &Lab, project: &Project, arguments: &[&str]) -> Result<String> {
    let build = Build::of(lab, project).target("serve").arguments(arguments);
    let docker = build.command("tty");
    let mut command = Command::new("python3");
    command
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/screen.py"))
        .args(["80", "400"])
        .arg(docker.get_program())
        .args(docker.get_args());
    for (name, value) in docker.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = command.output()?;
    let said = String::from_utf8(output.stdout)?;
    ensure!(
        said.contains("[+] Building"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let folder = project.path().display().to_string();
    let said = said
        .replace(&lab.frontend, "127.0.0.1:5000/wheelbase:1")
        .replace(&folder, ".");
    let mut lines: Vec<String> = Vec::new();
    let mut traceback = false;
    for line in said.lines().skip_while(|line| line.is_empty()).filter_map(line) {
        // What the build backend says of itself is long, and nothing of ours.
        if line == "------" {
            traceback = false;
        } else if line.starts_with("Traceback") {
            lines.push("[... the build backend's traceback]".to_owned());
            traceback = true;
        }
        if !traceback {
            lines.push(line);
        }
    }
    Ok(lines.join("\n"))
}

/// A line without times, sizes and digests, which are others each time; none where nothing else is in it.
fn line(line: &str) -> Option<String> {
    // What is fetched and unpacked of an image is told in lines of its own, as it comes.
    if line.starts_with(" => =>") {
        return None;
    }
    // The image of the frontend has another name in each lab, cut where the line ends.
    for start in [
        " => resolve image config for docker-image://",
        " => CACHED docker-image://",
        " => docker-image://",
    ] {
        if line.starts_with(start) {
            return Some(format!("{start}127.0.0.1:5000/wheelbase:1"));
        }
    }
    if line.starts_with("[+] Building") {
        let words: Vec<&str> = line.split_whitespace().skip(3).collect();
        return Some(format!("[+] Building {}", words.join(" ")));
    }
    let number = |word: &str| word.contains('.') && word.parse::<f64>().is_ok();
    let trimmed = line.trim_end();
    let kept = match trimmed.rsplit_once(' ') {
        Some((rest, last)) if last.strip_suffix('s').is_some_and(number) => rest.trim_end(),
        _ => trimmed,
    };
    // Lines of a log begin with the time since the start of their step, and some have nothing else.
    let kept = match kept.split_once(' ') {
        Some((first, rest)) if number(first) => rest,
        None if number(kept) => return None,
        _ => kept,
    };
    // How many cores the builder has.
    (!kept.starts_with("wheelbase: rowmax: ")).then(|| kept.to_owned())
}

fn page(screens: &[&str; 3]) -> String {
    let [first, second, third] = screens;
    format!(
        "# What a build looks like\n\n\
         <!-- Written by a claim, not by hand: UPDATE_DOCS=1 WHEELBASE_ACCEPTANCE=buildx WHEELBASE_CLAIM=\"80 columns\" cargo \
         test --test acceptance -->\n\n\
         A terminal of 80 columns at the end of three builds of `examples/quickstart`. Times are left out. Steps that run at the \
         same time come in another order each time; `[serve 4/9]` is the place of a layer in the image.\n\n\
         ## The first build\n\n\
         ```console\n$ docker buildx build -f wheelbase.toml --target serve .\n{first}\n```\n\n\
         ## One package of the lock has a new version\n\n\
         `idna` shares a layer with nothing else here. It is fetched and installed; nothing is compiled.\n\n\
         ```console\n$ docker buildx build -f wheelbase.toml --target serve .\n{second}\n```\n\n\
         ## A kernel does not compile\n\n\
         The compiler's words come last, and then the line of the spec that the step belongs to.\n\n\
         ```console\n$ docker buildx build -f wheelbase.toml --target serve .\n{third}\n```\n"
    )
}

fn lines(page: &str) -> BTreeSet<String> {
    // Whether a step that need not run is shown as cached depends on when its neighbours end.
    page.lines().map(|line| line.replacen("CACHED ", "", 1)).collect()
}
