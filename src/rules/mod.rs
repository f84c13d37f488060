//! The one table of rules: what builds, and is probably not meant.
//!
//! A warning that cannot be named cannot be switched off, and one that is switched off in two ways is soon switched off for
//! good. So every warning of every room is one of these rules, under the name that `docker buildx build --check` and
//! `wheelbase check` print, that `# check=skip=` takes, and that the page of [`docs`] explains.
//!
//! [`Settings`] are what a file and a build say about rules. Looking for what a rule is about is the business of the rooms
//! that know it: `spec` for what the file says, `lock` and `plan` for what comes of it.

pub mod docs;
mod settings;
mod tables;

pub use settings::Settings;
pub use tables::{table_named, table_of};

use crate::diagnostic::Diagnostic;

/// How much a rule weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Somebody may come to harm: a secret is given away, or a host is trusted that nobody has checked.
    Security,
    /// Probably a mistake, or a build that does more than it has to.
    Warning,
    /// Good advice for some teams. It is given on request: `experimental=` in a `check` directive.
    Advice,
}

impl Severity {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Security => "security",
            Self::Warning => "warning",
            Self::Advice => "advice",
        }
    }
}

/// When a rule can be broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// By the files alone, which `--check` looks at.
    Check,
    /// By what a build finds when it runs.
    Build,
}

/// What the table says of a rule.
#[derive(Debug)]
pub struct Entry {
    /// The name, in the casing of the Dockerfile's rules.
    pub name: &'static str,
    /// How much it weighs.
    pub severity: Severity,
    /// When it can be broken.
    pub stage: Stage,
    /// What should be, in one line.
    pub description: &'static str,
    /// Why, and what to do.
    pub detail: &'static str,
    /// Lines of a spec that break it; empty where a spec alone cannot.
    pub bad: &'static str,
    /// The same as it should be.
    pub good: &'static str,
    /// The release that brought it.
    pub since: &'static str,
}

/// Makes the type of all rules from the table, so that no rule can be left out of a list.
macro_rules! rules {
    ($($name:ident: $severity:ident, $stage:ident, since $since:literal, $description:literal, $detail:literal,
        bad $bad:literal, good $good:literal;)*) => {
        /// A rule.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Rule {
            $(#[doc = $description] $name,)*
        }

        impl Rule {
            /// All rules, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// What the table says of it.
            pub fn entry(self) -> &'static Entry {
                match self {
                    $(Self::$name => &Entry {
                        name: stringify!($name),
                        severity: Severity::$severity,
                        stage: Stage::$stage,
                        description: $description,
                        detail: $detail,
                        bad: $bad,
                        good: $good,
                        since: $since,
                    },)*
                }
            }
        }
    };
}

rules! {
    SecretsUsedInArgOrEnv: Security, Check, since "0.1.0",
        "Secrets do not belong into the environment of a wheel or an image",
        "A value of `env` stands in the image's config and in the keys of wheels, for everybody who can pull the image or read \
         the build's log. Give it to the build with `--secret`, or to the container when it starts.",
        bad "[images.serve]\npackages = [\"serve\"]\nuser = \"app\"\nenv = { HF_TOKEN = \"hf_0123456789\" }",
        good "[images.serve]\npackages = [\"serve\"]\nuser = \"app\"\nenv = { HF_HOME = \"/models\" }";
    UnverifiedHost: Security, Check, since "0.1.0",
        "A git repository over ssh names the keys of its host",
        "Without `known-hosts` any host key is taken. The commit is still the one that `rev` names, but your agent speaks with \
         whoever answers.",
        bad "[wheels.fast]\narch = \"any\"\nsource = { git = \"ssh://git@git.example/fast\", rev = \"0123456789012345678901234567890123456789\" }\n[images.serve]\nwheels = [\"fast\"]\nuser = \"app\"",
        good "[wheels.fast]\narch = \"any\"\nsource = { git = \"ssh://git@git.example/fast\", rev = \"0123456789012345678901234567890123456789\", known-hosts = \"git.example ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAA\" }\n[images.serve]\nwheels = [\"fast\"]\nuser = \"app\"";
    RootUser: Security, Check, since "0.1.0",
        "An image on tier base or runtime runs as a user other than root",
        "Images of CUDA and ROCm run as root. A GPU needs no root in the container; write `user`, and the user is made where it \
         is missing. Images on tier devel are let off: people work in them.",
        bad "[images.serve]\npackages = [\"serve\"]",
        good "[images.serve]\npackages = [\"serve\"]\nuser = \"app\"";
    CompilerInImage: Warning, Check, since "0.1.0",
        "A compiler is part of stages that compile, and not of an image",
        "Tier devel adds several gigabytes of compilers, headers and static libraries. Wheels are compiled on it in stages of \
         their own, so an image on tier runtime or base has the kernels and not the compiler. Where people compile in the \
         container, say so above its table: `# check=skip=CompilerInImage`.",
        bad "[images.serve]\npackages = [\"serve\"]\ntier = \"devel\"\nuser = \"app\"",
        good "[images.serve]\npackages = [\"serve\"]\ntier = \"base\"\nuser = \"app\"";
    LatestTag: Warning, Check, since "0.1.0",
        "An image is named with a version",
        "What `latest` names changes without an edit of the spec: everything on top is built again, on some day, for no reason \
         that can be seen in the repository.",
        bad "[gpu]\ntiers.base = \"registry.example/cuda:latest\"\n[images.serve]\npackages = [\"serve\"]\ntier = \"base\"\nuser = \"app\"",
        good "[gpu]\ntiers.base = \"registry.example/cuda:12.8.1\"\n[images.serve]\npackages = [\"serve\"]\ntier = \"base\"\nuser = \"app\"";
    EndOfLifeToolkit: Warning, Check, since "0.1.0",
        "The toolkit's images are still published",
        "NVIDIA deletes tags six months after their end of life. Take a newer patch release, or keep a copy in a registry of your \
         own.",
        bad "[gpu]\ncuda = \"12.8.0\"\nos = \"ubuntu22.04\"",
        good "[gpu]\ncuda = \"12.8.1\"\nos = \"ubuntu22.04\"";
    UnknownToolkit: Warning, Check, since "0.1.0",
        "The toolkit is one that this release knows",
        "Whether its images exist, and what its compiler emits, shows only when the build runs. Update Wheelbase, or say with \
         `compiler-archs` what the compiler emits.",
        bad "[gpu]\ncuda = \"19.0.0\"\nos = \"ubuntu22.04\"",
        good "[gpu]\ncuda = \"12.8.1\"\nos = \"ubuntu22.04\"";
    UnlistedSystem: Warning, Check, since "0.1.0",
        "The toolkit's vendor supports the operating system",
        "AMD names the systems of each version of ROCm. Images of others may not exist.",
        bad "[gpu]\nrocm = \"6.1\"\nos = \"ubuntu24.04\"\n[python]\nversion = \"3.12\"",
        good "[gpu]\nrocm = \"6.4\"\nos = \"ubuntu24.04\"\n[python]\nversion = \"3.12\"";
    PointlessPtx: Warning, Check, since "0.1.0",
        "`+PTX` stands at a capability that other GPUs can use",
        "Code of an `a` form runs on that GPU alone, and so does what is compiled from its PTX.",
        bad "[gpu]\ncuda = \"12.8.1\"\nos = \"ubuntu22.04\"\narchs = [\"9.0a+PTX\"]",
        good "[gpu]\ncuda = \"12.8.1\"\nos = \"ubuntu22.04\"\narchs = [\"9.0a\", \"9.0+PTX\"]";
    KeyWithoutEffect: Warning, Check, since "0.1.0",
        "Every key has an effect",
        "A key that chooses among the images of a toolkit says nothing where every image is named outright.",
        bad "[gpu]\ntiers.base = \"registry.example/cuda:1\"\ncudnn = true\n[images.serve]\npackages = [\"serve\"]\ntier = \"base\"\nuser = \"app\"",
        good "[gpu]\ntiers.base = \"registry.example/cuda:1\"\n[images.serve]\npackages = [\"serve\"]\ntier = \"base\"\nuser = \"app\"";
    ReservedVariable: Warning, Check, since "0.1.0",
        "Variables that Wheelbase sets are left to it",
        "The number of jobs and the architectures reach a build through keys of the spec. As a variable of `env` the value would \
         be part of the wheel's key, and another number of jobs would compile everything again.",
        bad "[wheels.fast]\narch = \"any\"\nsource = { lock = true }\nenv = { MAX_JOBS = \"4\" }\n[images.serve]\nwheels = [\"fast\"]\nuser = \"app\"",
        good "[wheels.fast]\narch = \"any\"\nsource = { lock = true }\njobs = 4\n[images.serve]\nwheels = [\"fast\"]\nuser = \"app\"";
    UnusedAxis: Warning, Check, since "0.1.0",
        "Every argument of `[matrix]` is used in the spec",
        "Variants that differ in nothing but it are the same image, under several names. An argument stands as `${NAME}` in \
         strings; `command`, `entrypoint` and `cmd` are taken as they are.",
        bad "[args.cuda]\ndefault = \"12.8.1\"\n[matrix]\ncuda = [\"12.6.3\", \"12.8.1\"]\n[gpu]\ncuda = \"12.8.1\"\nos = \"ubuntu22.04\"",
        good "[args.cuda]\ndefault = \"12.8.1\"\n[matrix]\ncuda = [\"12.6.3\", \"12.8.1\"]\n[gpu]\ncuda = \"${cuda}\"\nos = \"ubuntu22.04\"";
    EmptyImage: Warning, Check, since "0.1.0",
        "An image adds something to its tier",
        "An image without packages, wheels, system packages and files is its tier with a virtual environment in it.",
        bad "[images.serve]\nuser = \"app\"",
        good "[images.serve]\npackages = [\"serve\"]\nuser = \"app\"";
    UnusedWheel: Warning, Check, since "0.1.0",
        "Every wheel is in an image, or needed by one that is",
        "What a wheel is compiled against is decided by the images that have it. One that no image has is never built, by no \
         target.",
        bad "[wheels.fast]\narch = \"any\"\nsource = { lock = true }\n[images.serve]\npackages = [\"serve\"]\nuser = \"app\"",
        good "[wheels.fast]\narch = \"any\"\nsource = { lock = true }\n[images.serve]\nwheels = [\"fast\"]\nuser = \"app\"";
    UnusedTier: Warning, Check, since "0.1.0",
        "Every tier that is named is used",
        "A tier that no image stands on, and that nothing is compiled on, is never pulled. Its tag grows old unseen.",
        bad "[gpu]\ncuda = \"12.8.1\"\nos = \"ubuntu22.04\"\ntiers.devel = \"registry.example/devel:1\"",
        good "[gpu]\ncuda = \"12.8.1\"\nos = \"ubuntu22.04\"\ntiers.runtime = \"registry.example/runtime:1\"";
    UncachedCompile: Warning, Check, since "0.1.0",
        "Wheels are compiled with a compiler cache",
        "With `tool = \"none\"` an edit of one file compiles every file of a wheel. The cache never decides what comes out: it \
         has no part in any key.",
        bad "[compiler-cache]\ntool = \"none\"\n[wheels.fast]\narch = \"any\"\nsource = { lock = true }\n[images.serve]\nwheels = [\"fast\"]\nuser = \"app\"",
        good "[compiler-cache]\ntool = \"ccache\"\n[wheels.fast]\narch = \"any\"\nsource = { lock = true }\n[images.serve]\nwheels = [\"fast\"]\nuser = \"app\"";
    WholeContext: Warning, Check, since "0.1.0",
        "A source or a copy is a part of the build context",
        "With `.` every edit in the repository compiles the wheel or copies the files again, and what nobody thought of (`.git`, \
         notes, keys) goes with it. Name a folder, or say with `include` which files count.",
        bad "[images.serve]\npackages = [\"serve\"]\nuser = \"app\"\ncopy = [{ from = \".\", to = \"/app\" }]",
        good "[images.serve]\npackages = [\"serve\"]\nuser = \"app\"\ncopy = [{ from = \"src\", to = \"/app\" }]";
    CommandInOneWord: Warning, Check, since "0.1.0",
        "`entrypoint` and `cmd` have one word in each string",
        "No shell takes part: the first string is a program's name, spaces and all.",
        bad "[images.serve]\npackages = [\"serve\"]\nuser = \"app\"\nentrypoint = [\"python -m serve\"]",
        good "[images.serve]\npackages = [\"serve\"]\nuser = \"app\"\nentrypoint = [\"python\", \"-m\", \"serve\"]";
    UnknownRule: Warning, Check, since "0.1.0",
        "A `check` directive names rules that there are",
        "A rule that is misspelt is not switched off.",
        bad "# check=skip=RotUser",
        good "# check=skip=RootUser";
    IgnoredSource: Warning, Check, since "0.1.0",
        "What the spec takes from the build context is not hidden by the ignore file",
        "A copy or a source that `.dockerignore` hides is not there, or less than it looks. Take the path back in the ignore \
         file, with a line `!path`. The frontend reads that file, so `wheelbase check` does not find it.",
        bad "", good "";
    UnkeyedWheel: Warning, Check, since "0.1.0",
        "What the wheels of a wheel store are compiled on has a digest",
        "The key of a wheel in the store is made of all that it was built on. A tier that is the result of another target, a \
         folder or an archive has nothing that could stand for it there, so the wheel is compiled on every builder. Push the \
         tier to a registry, and give it as a context `docker-image://` or in `gpu.tiers`. Only a build knows its contexts, so \
         `wheelbase check` does not find it.",
        bad "", good "";
    LockNotUnderstood: Warning, Check, since "0.1.0",
        "The lockfile is of a format that is known",
        "What a newer format adds is not read. Update Wheelbase, or lock with the version of the resolver that wrote the format \
         before.",
        bad "", good "";
    LockWithoutDependencies: Warning, Check, since "0.1.0",
        "A lockfile says what its packages need",
        "A list without edges, such as a requirements.txt, does not say what a package brings along. Take all of it with \
         `packages = [\"*\"]`, or name everything.",
        bad "", good "";
    UnpinnedTier: Advice, Check, since "0.1.0",
        "A tier that is named outright has a digest",
        "A tag can be pushed again. With a digest beside it the same spec is the same image next year. Without one, `--call \
         wheelbase.explain` says which digest has changed.",
        bad "# check=experimental=UnpinnedTier\n[gpu]\ntiers.base = \"registry.example/cuda:1\"\n[images.serve]\npackages = [\"serve\"]\ntier = \"base\"\nuser = \"app\"",
        good "# check=experimental=UnpinnedTier\n[gpu]\ntiers.base = \"registry.example/cuda:1@sha256:0123456789012345678901234567890123456789012345678901234567890123\"\n[images.serve]\npackages = [\"serve\"]\ntier = \"base\"\nuser = \"app\"";
    OptionalStore: Advice, Check, since "0.1.0",
        "The store of the compiler cache is required",
        "Where the store cannot be reached, everything is compiled, perhaps for an hour, and the build succeeds. With `require = \
         true` it ends before the first compile and says why.",
        bad "# check=experimental=OptionalStore\n[compiler-cache]\ntool = \"sccache\"\nstore = \"redis\"",
        good "# check=experimental=OptionalStore\n[compiler-cache]\ntool = \"sccache\"\nstore = \"redis\"\nrequire = true";
    NetworkInCompile: Advice, Check, since "0.1.0",
        "A wheel is compiled without a network",
        "What a build fetches is in no key: it may be another file next time, and no cache will notice. Give it as `source`, or as \
         a package in `needs`.",
        bad "# check=experimental=NetworkInCompile\n[wheels.fast]\narch = \"any\"\nsource = { lock = true }\nnetwork = true\n[images.serve]\nwheels = [\"fast\"]\nuser = \"app\"",
        good "# check=experimental=NetworkInCompile\n[wheels.fast]\narch = \"any\"\nsource = { lock = true }\n[images.serve]\nwheels = [\"fast\"]\nuser = \"app\"";
    NoPtx: Advice, Check, since "0.1.0",
        "Kernels hold code for GPUs that are newer than `archs`",
        "A GPU of a later generation than the last of `archs` cannot run them. `+PTX` at the last one adds code that its driver \
         compiles at the first start.",
        bad "# check=experimental=NoPtx\n[gpu]\ncuda = \"12.8.1\"\nos = \"ubuntu22.04\"\narchs = [\"9.0\"]\n[wheels.fast]\nsource = { lock = true }\n[images.serve]\nwheels = [\"fast\"]\nuser = \"app\"",
        good "# check=experimental=NoPtx\n[gpu]\ncuda = \"12.8.1\"\nos = \"ubuntu22.04\"\narchs = [\"9.0+PTX\"]\n[wheels.fast]\nsource = { lock = true }\n[images.serve]\nwheels = [\"fast\"]\nuser = \"app\"";
    UndeclaredArgument: Warning, Build, since "0.1.0",
        "A build argument that is given is one that the spec declares",
        "It changes nothing, so somebody expects what does not happen. Declare it in `[args]`, or leave it out. Proxies, \
         `SOURCE_DATE_EPOCH` and what starts with `BUILDKIT_` need no declaration.",
        bad "", good "";
    IgnoredLimit: Warning, Build, since "0.1.0",
        "The builder can keep a limit that is asked for",
        "Steps run without the limit of memory or processors. Update BuildKit, or limit the builder itself.",
        bad "", good "";
    CompilerCacheMissed: Warning, Build, since "0.1.0",
        "A compiler cache answers what it has compiled before",
        "A path, a time or a random name in a command makes every call a new one. After an edit of a header that most sources \
         include, misses are as they should be.",
        bad "", good "";
    CompilerCacheUnreached: Warning, Build, since "0.1.0",
        "The store of the compiler cache can be reached",
        "The log of the step says why it could not. `require = true` ends such a build before the first compile.",
        bad "", good "";
    NoDeviceCode: Warning, Build, since "0.1.0",
        "A wheel has code for every GPU that it is compiled for",
        "Some builds leave their kernels out where they see no GPU, or compile for a list of their own, and succeed. With `arch = \
         \"any\"` a wheel is not expected to have any.",
        bad "", good "";
    WheelStoreUnreached: Warning, Build, since "0.1.0",
        "The wheel store can be asked",
        "Everything is compiled instead. `require = true` in `[wheel-store]` ends such a build.",
        bad "", good "";
}

impl Rule {
    /// Its name.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// The rule of this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|rule| rule.name() == name)
    }

    /// Where it is explained: a file of this repository, and the heading in it.
    pub fn url(self) -> String {
        format!("{}#{}", docs::PAGE, self.name().to_ascii_lowercase())
    }

    /// A finding of this rule.
    pub fn warning(self, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            rule: Some(self.name()),
            ..Diagnostic::warning(message)
        }
    }
}

/// The rule that a finding is of.
pub fn rule_of(finding: &Diagnostic) -> Option<Rule> {
    finding.rule.and_then(Rule::find)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_table_reads_well() {
        let names: BTreeSet<&str> = Rule::ALL.iter().map(|rule| rule.name()).collect();
        assert_eq!(names.len(), Rule::ALL.len());
        for rule in Rule::ALL {
            let entry = rule.entry();
            assert!(
                entry.name.starts_with(|first: char| first.is_ascii_uppercase())
                    && entry.name.bytes().all(|byte| byte.is_ascii_alphanumeric()),
                "{}",
                entry.name
            );
            assert!(!entry.description.ends_with('.'), "{}: one line", entry.name);
            assert!(entry.detail.ends_with('.'), "{}", entry.name);
            assert_eq!(entry.bad.is_empty(), entry.good.is_empty(), "{}", entry.name);
            assert_eq!(Rule::find(entry.name), Some(*rule));
        }
        assert_eq!(Rule::find("rootuser"), None);
    }

    #[test]
    fn a_finding_knows_its_rule() {
        let finding = Rule::RootUser.warning("it runs as root");
        assert_eq!((finding.rule, finding.is_error()), (Some("RootUser"), false));
        assert_eq!(rule_of(&finding), Some(Rule::RootUser));
        assert_eq!(rule_of(&Diagnostic::warning("odd")), None);
    }
}
