//! The commands: they read files, ask `plan`, and show what it says. No decision is made here.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use crate::diagnostic::Diagnostic;
use crate::plan;
use crate::platform::Platform;
use crate::spec::is_predefined;

mod bake;
mod build;
mod explain;
mod gc;
mod git;
mod graph;
mod history;
mod holdings;
mod load;
mod metadata;
mod page;
mod registry;
mod replay;
mod tally;
mod variants;
mod wheels;

use load::Loaded;
use variants::Variants;

/// Builds GPU Python images with BuildKit from one TOML file.
///
/// Put `# syntax=<registry>/wheelbase:1` on the first line of wheelbase.toml and run
/// `docker buildx build -f wheelbase.toml .`: that is all that a build needs. The commands here check, explain and
/// run the same build; only `build` needs Docker.
#[derive(Debug, Parser)]
#[command(name = "wheelbase", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  wheelbase check                          find every mistake before anything is pulled
  wheelbase plan                           what will be built, and from what
  wheelbase plan serve --format llb | buildctl build --local context=. ...
  wheelbase graph --format mermaid         the plan as a picture
  wheelbase explain --since main           what rebuilds, and which package is the reason
  wheelbase replay --html replay.html      what the edits of the lock have cost, and would have
  wheelbase build serve --tag app:1 --load build with docker buildx
  wheelbase bake --tag app:{image} | docker buildx bake -f -
  wheelbase wheels push                    compile what the wheel store lacks, once for everybody
  wheelbase wheels gc --dry-run            which wheels of the store nobody needs any more";

#[derive(Debug, Subcommand)]
enum Command {
    /// Reports every mistake of the spec and its lock, and every rule of docs/reference/rules.md that they break; of each
    /// combination of [matrix], too.
    Check(Input),
    /// Shows what will be built, and why.
    Plan {
        #[command(flatten)]
        input: Input,
        /// How it is shown.
        #[arg(long, value_enum, default_value_t = PlanFormat::Text)]
        format: PlanFormat,
    },
    /// Draws the plan.
    Graph {
        #[command(flatten)]
        input: Input,
        /// The language of the picture.
        #[arg(long, value_enum, default_value_t = GraphFormat::Mermaid)]
        format: GraphFormat,
    },
    /// Says what rebuilds, and why, against a git revision or a built image.
    Explain(explain::Explain),
    /// Says what the edits of the lock have cost so far, by its git history.
    Replay(replay::Replay),
    /// Builds an image with `docker buildx build`, with zstd layers.
    Build(build::Build),
    /// Prints a bake file of the images, for `docker buildx bake`.
    ///
    /// Where the spec has a [matrix], there is a target for each image and combination, such as `serve-cuda-12-8-1`, and a
    /// group with the name of each image. Every combination is planned first: a mistake in one is told with its values.
    /// `--build-arg` and `--platform` leave the combinations that have the values.
    Bake(bake::Bake),
    /// Shows which compiled wheels the wheel store has, fills it, and deletes what nobody needs.
    Wheels(wheels::Wheels),
    /// Prints the JSON Schema of wheelbase.toml, for editors.
    Schema,
    /// Prints a completion script.
    Completions {
        /// The shell it is for.
        shell: clap_complete::Shell,
    },
}

/// What every command reads.
#[derive(Debug, Clone, Args)]
struct Input {
    /// Images to look at; all of them when none is named.
    images: Vec<String>,
    /// The spec.
    #[arg(short, long, default_value = "wheelbase.toml")]
    file: PathBuf,
    /// The build context: where the lock and the sources are. The spec's folder by default.
    #[arg(long)]
    context: Option<PathBuf>,
    /// What is built for.
    #[arg(long, default_value_t = Platform::linux_amd64())]
    platform: Platform,
    /// The value of an argument of [args]; without `=` it is that of the environment variable. May be given several times.
    #[arg(long, value_name = "NAME=VALUE")]
    build_arg: Vec<String>,
}

impl Input {
    /// The arguments that are the spec's, as `docker buildx build` reads them.
    fn arguments(&self) -> BTreeMap<String, String> {
        let given = self
            .build_arg
            .iter()
            .filter_map(|given| match given.split_once('=') {
                Some((name, value)) => Some((name.to_owned(), value.to_owned())),
                None => std::env::var(given).ok().map(|value| (given.clone(), value)),
            });
        given.filter(|(name, _)| !is_predefined(name)).collect()
    }
}

impl Input {
    fn load(&self) -> load::Reading<Loaded> {
        Loaded::read(self)
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PlanFormat {
    /// For people.
    Text,
    /// For programs: stages, keys, inputs and image configs.
    Json,
    /// A serialised LLB definition of one image, for `buildctl build`.
    Llb,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum GraphFormat {
    /// Graphviz.
    Dot,
    /// Mermaid, which GitHub draws in Markdown.
    Mermaid,
}

/// Runs the command line, in seconds since 1970 at `now`; what it says of errors goes to standard error.
pub fn run(now: i64) -> ExitCode {
    let cli = Cli::parse();
    match command(cli.command, now) {
        Ok(code) => code,
        // A reader that has seen enough, such as `head`, is no error.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}

fn command(command: Command, now: i64) -> anyhow::Result<ExitCode> {
    match command {
        Command::Check(input) => check(&input),
        Command::Plan { input, format } => with_loaded(&input, |loaded| {
            let plan = loaded.plan()?;
            match format {
                PlanFormat::Text => Ok(plan::show::text(&plan).into_bytes()),
                PlanFormat::Json => Ok(plan::show::json(&plan).into_bytes()),
                PlanFormat::Llb => Loaded::definition(&plan),
            }
        }),
        Command::Graph { input, format } => with_loaded(&input, |loaded| {
            let plan = loaded.plan()?;
            Ok(match format {
                GraphFormat::Dot => graph::dot(&plan),
                GraphFormat::Mermaid => graph::mermaid(&plan),
            }
            .into_bytes())
        }),
        Command::Explain(explain) => explain.run(),
        Command::Replay(replay) => replay.run(),
        Command::Build(build) => build.run(),
        Command::Bake(bake) => bake.run(),
        Command::Wheels(wheels) => wheels.run(now),
        Command::Schema => {
            print(crate::spec::schema::json().as_bytes())?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "wheelbase", &mut script);
            print(&script)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Looks at every rule, and for every mistake, in each combination of `[matrix]` too. Warnings alone are no failure, unless the
/// spec says so.
fn check(input: &Input) -> anyhow::Result<ExitCode> {
    let given = input.arguments();
    let variants = match Variants::read(input)? {
        Ok(variants) => variants,
        Err(errors) => return finish(Err(errors)),
    };
    let mut said = Vec::new();
    let mut warnings = Vec::new();
    let mut settings = None;
    // A spec may leave it to the matrix to give values.
    if variants
        .as_ref()
        .is_none_or(|variants| variants.have_defaults(&given))
    {
        let loaded = match input.load()? {
            Ok(loaded) => loaded,
            Err(errors) => return finish(Err(errors)),
        };
        warnings = loaded.lint();
        match loaded.plan() {
            Ok(plan) => said.push(format!(
                "{} images, {} stages",
                plan.images.len(),
                plan.stages.len()
            )),
            Err(errors) => {
                report(&warnings);
                return finish(Err(errors));
            }
        }
        settings = Some(loaded.settings);
    }
    let mut errors = Vec::new();
    if let Some(variants) = &variants {
        let combinations = variants.chosen(&given, &[]);
        let planned = variants.plan(
            &combinations,
            input,
            std::slice::from_ref(&input.platform),
            |loaded| {
                let mut own = loaded.lint();
                own.retain(|warning| !warnings.contains(warning));
                own
            },
        )?;
        warnings.extend(planned.warnings);
        errors = planned.errors;
        settings = settings.or(planned.first.map(|loaded| loaded.settings));
        if !combinations.is_empty() {
            said.push(format!("{} variants", combinations.len()));
        }
    }
    report(&warnings);
    if errors.is_empty() {
        errors.extend(settings.and_then(|settings| settings.verdict(&warnings)));
    }
    finish(if errors.is_empty() {
        Ok(format!("{}: {}, no errors\n", input.file.display(), said.join(", ")).into_bytes())
    } else {
        Err(errors)
    })
}

/// Reads the input, shows what its files have that is not understood, and prints what `show` makes of it, or its errors.
fn with_loaded(
    input: &Input,
    show: impl FnOnce(&Loaded) -> Result<Vec<u8>, Vec<Diagnostic>>,
) -> anyhow::Result<ExitCode> {
    finish(input.load()?.and_then(|loaded| {
        report(&loaded.settings.keep(loaded.warnings.clone()));
        show(&loaded)
    }))
}

fn finish(said: Result<Vec<u8>, Vec<Diagnostic>>) -> anyhow::Result<ExitCode> {
    match said {
        Ok(bytes) => {
            print(&bytes)?;
            Ok(ExitCode::SUCCESS)
        }
        Err(errors) => {
            report(&errors);
            Ok(ExitCode::FAILURE)
        }
    }
}

fn print(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()?;
    Ok(())
}

/// Draws diagnostics on standard error, in colour on a terminal unless `NO_COLOR` says otherwise.
fn report(diagnostics: &[Diagnostic]) {
    let mut err = std::io::stderr().lock();
    let colour = err.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    for diagnostic in diagnostics {
        let _ = writeln!(err, "{}\n", diagnostic.render(colour));
    }
}
