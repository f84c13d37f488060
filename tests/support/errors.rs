//! Mistakes that a user makes, each as an edit of the quickstart, and what has to be said of it.

use anyhow::{Result, bail};

use super::build::{Build, Built};
use super::engine::Lab;
use super::project::Project;

/// One mistake.
pub(crate) struct Mistake {
    pub(crate) name: &'static str,
    make: fn(&Project, &Lab) -> Result<()>,
    /// Words of the error, all of them.
    says: &'static [&'static str],
    place: Place,
}

/// What the error points at.
enum Place {
    /// The line of the spec that holds this text, with a caret below it.
    Line(&'static str),
    /// A step that failed, with these words in its log.
    Step(&'static str, &'static str),
}

/// All of them.
pub(crate) const MISTAKES: &[Mistake] = &[
    Mistake {
        name: "a misspelt key",
        make: |project, _| {
            project
                .spec("packages   = [\"serve\"]", "packges    = [\"serve\"]")
                .map(drop)
        },
        says: &["unknown key `packges`", "did you mean `packages`?"],
        place: Place::Line("packges"),
    },
    Mistake {
        name: "a wrong type",
        make: |project, _| project.spec("buckets   = 4", "buckets   = \"four\"").map(drop),
        says: &["integer", "string"],
        place: Place::Line("buckets   = \"four\""),
    },
    Mistake {
        name: "a missing lock",
        make: |project, _| project.remove("uv.lock").map(drop),
        says: &["the lockfile `uv.lock` does not exist", "uv lock"],
        place: Place::Line("lock     = \"uv.lock\""),
    },
    Mistake {
        name: "a lock without the package",
        make: |project, _| {
            project
                .spec("packages   = [\"serve\"]", "packages   = [\"server\"]")
                .map(drop)
        },
        says: &["`server` is not in uv.lock", "did you mean `serve`?"],
        place: Place::Line("packages   = [\"server\"]"),
    },
    Mistake {
        name: "cyclic needs of wheels",
        make: |project, _| {
            project.spec("[wheels.vecadd]\n", "[wheels.vecadd]\n#")?;
            project.edit_once(
                "wheelbase.toml",
                "needs  = [\"setuptools\"]",
                "source = { path = \"kernels/vecadd\" }\nneeds  = [\"rowmax\"]",
            )?;
            project.edit_once(
                "wheelbase.toml",
                "needs  = [\"setuptools\"]",
                "needs  = [\"vecadd\"]",
            )?;
            Ok(())
        },
        says: &["vecadd", "rowmax", "needs"],
        place: Place::Line("needs  = [\"rowmax\"]"),
    },
    Mistake {
        name: "a tag that does not exist",
        make: |project, lab| {
            let tier = format!("tiers.base = \"{}/nvidia/cuda:13.0.2-nothing\"\n", lab.registry);
            project.spec("[gpu]\n", &format!("[gpu]\n{tier}")).map(drop)
        },
        says: &["nvidia/cuda:13.0.2-nothing cannot be resolved"],
        place: Place::Line("tiers.base"),
    },
    Mistake {
        name: "a compile error",
        make: |project, _| {
            project.write(
                "kernels/rowmax/csrc/rowmax_f32.cu",
                "#include \"rowmax.cuh\"\nint broken = nowhere;\n",
            )
        },
        says: &[">>> [wheels.rowmax]"],
        place: Place::Step("[wheel rowmax] compile", "nowhere"),
    },
];

impl Mistake {
    /// Builds a quickstart with the mistake in it and checks what is said.
    ///
    /// # Errors
    ///
    /// When the build succeeds, leaves an image, or says too little.
    pub(crate) fn check(&self, lab: &Lab) -> Result<String> {
        let project = Project::quickstart(lab)?;
        (self.make)(&project, lab)?;
        let built = Build::of(lab, &project).target("serve").fail()?;
        for words in self.says {
            if !built.text.contains(words) {
                bail!("{}: nothing says {words:?}:\n{}", self.name, built.text);
            }
        }
        match self.place {
            Place::Line(text) => {
                let spec = project.read("wheelbase.toml")?;
                let line = line_of(&spec, text)?;
                points_at(&built.text, "wheelbase.toml", line)
            }
            Place::Step(step, words) => failed_step(&built, step, words),
        }
    }
}

fn line_of(spec: &str, text: &str) -> Result<usize> {
    match spec.lines().position(|line| line.contains(text)) {
        Some(index) => Ok(index + 1),
        None => bail!("the spec has no line with {text:?}"),
    }
}

/// Whether an error names the file and line, and draws a caret.
///
/// # Errors
///
/// When it does not, with the error.
pub(crate) fn points_at(text: &str, file: &str, line: usize) -> Result<String> {
    let place = format!("{file}:{line}");
    if !text.contains(&place) {
        bail!("nothing points at {place}:\n{text}");
    }
    if !text.contains('^') {
        bail!("there is no caret:\n{text}");
    }
    Ok(place)
}

fn failed_step(built: &Built, step: &str, words: &str) -> Result<String> {
    let Some(vertex) = built.progress.named(step) else {
        bail!("there is no step {step:?}")
    };
    if vertex.error.is_empty() {
        bail!("{step} did not fail");
    }
    if !vertex.log.contains(words) {
        bail!("the log of {step} does not say {words:?}:\n{}", vertex.log);
    }
    Ok(step.to_owned())
}
