//! Keys of what is built: wheels and images.

use super::{ABSOLUTE, Form, Key, Kind, NAME, PATH, TEXTS, key, required};

const REQUIREMENTS: Kind = Kind::Array(&Kind::Shaped(
    "^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?\\s*(\\[[A-Za-z0-9._,\\s-]*\\])?$",
));

const PACKAGES: Kind = Kind::Array(&Kind::Shaped(
    "^(\\*|[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?\\s*(\\[[A-Za-z0-9._,\\s-]*\\])?)$",
));

/// The keys, in the order in which the reference page shows them.
pub(super) const KEYS: &[Key] = &[
    key(
        "wheels",
        Kind::Named,
        "",
        "Wheels that are compiled on the devel tier, each in a stage of its own, all in parallel.",
        "[wheels.flash-attn]\nsource = { lock = true }\nneeds = [\"torch\", \"ninja\"]",
    ),
    required(
        "wheels.*.source",
        Kind::Forms(&[
            Form {
                needs: &["path"],
                takes: &["include"],
            },
            Form {
                needs: &["git", "rev"],
                takes: &["subdir", "submodules"],
            },
            Form {
                needs: &["lock"],
                takes: &[],
            },
        ]),
        "Where the source is: a folder of the build context, a commit of a git repository, or the source distribution \
         that the lockfile pins.",
        "source = { path = \"mai_kernels\" }",
    ),
    key(
        "wheels.*.source.path",
        PATH,
        "",
        "A folder of the build context.",
        "source = { path = \"mai_kernels\" }",
    ),
    key(
        "wheels.*.source.include",
        TEXTS,
        "[]",
        "Patterns, relative to `path`, of the only files that are sent and that count; empty for all.",
        "source = { path = \"mai_kernels\", include = [\"csrc/**\", \"setup.py\"] }",
    ),
    key(
        "wheels.*.source.git",
        Kind::Shaped("^(https?|ssh|git)://"),
        "",
        "URL of a git repository.",
        "source = { git = \"https://git.example/triton\", rev = \"<40 hex digits>\" }",
    ),
    key(
        "wheels.*.source.rev",
        Kind::Shaped("^[0-9a-fA-F]{40}$"),
        "",
        "The commit, as 40 hex digits.",
        "rev = \"<40 hex digits>\"",
    ),
    key(
        "wheels.*.source.subdir",
        PATH,
        "the root",
        "The folder of the repository to build.",
        "subdir = \"python\"",
    ),
    key(
        "wheels.*.source.submodules",
        Kind::Boolean,
        "true",
        "Fetches submodules too.",
        "submodules = false",
    ),
    key(
        "wheels.*.source.lock",
        Kind::Boolean,
        "",
        "Takes the source distribution that the lockfile pins for a package of this name.",
        "source = { lock = true }",
    ),
    key(
        "wheels.*.needs",
        REQUIREMENTS,
        "[]",
        "What must be installed to build it: packages of the lockfile (with all that they need), or other wheels of \
         this file.",
        "needs = [\"torch\", \"ninja\"]",
    ),
    key(
        "wheels.*.env",
        Kind::Map(&Kind::Text),
        "{}",
        "Environment variables of the build command; they are part of the wheel's key.",
        "env = { FLASH_ATTENTION_FORCE_BUILD = \"TRUE\" }",
    ),
    key(
        "wheels.*.command",
        Kind::Text,
        "a build of one wheel without build isolation",
        "Replaces the build command: it runs with `sh -eu` in the source folder and leaves wheels in `/wheels`.",
        "command = \"python setup.py bdist_wheel --dist-dir /wheels\"",
    ),
    key(
        "wheels.*.arch",
        Kind::Word(&["any"]),
        "",
        "`any` says that the wheel is the same for all GPUs: `gpu.archs` then is no part of its key.",
        "arch = \"any\"",
    ),
    key(
        "wheels.*.jobs",
        Kind::Any(&[Kind::Integer { least: 1, most: 1024 }, Kind::Word(&["auto"])]),
        "\"auto\"",
        "How many compilers run at once; `auto` works it out from the memory and cores of the step, and neither is part of \
         a key.",
        "jobs = 8",
    ),
    key(
        "wheels.*.network",
        Kind::Boolean,
        "false",
        "Lets the build command use the network.",
        "network = true",
    ),
    required(
        "images",
        Kind::Named,
        "The images, one table for each; `--target NAME` builds one.",
        "[images.serve]\npackages = [\"mai-serve\"]",
    ),
    key(
        "images.*.tier",
        Kind::Word(&["base", "runtime", "devel"]),
        "\"runtime\"",
        "The base image.",
        "tier = \"devel\"",
    ),
    key(
        "images.*.packages",
        PACKAGES,
        "[]",
        "Packages of the lockfile that the image is for, with all that the lockfile says they need; `*` is everything \
         that the lockfile installs.",
        "packages = [\"mai-serve\"]",
    ),
    key(
        "images.*.extras",
        Kind::Array(&NAME),
        "[]",
        "Extras that are switched on for each of `packages` that has them.",
        "extras = [\"cu128\"]",
    ),
    key(
        "images.*.groups",
        Kind::Array(&NAME),
        "[]",
        "Dependency groups (PEP 735) of `packages`.",
        "groups = [\"train\"]",
    ),
    key(
        "images.*.wheels",
        Kind::Array(&NAME),
        "[]",
        "Wheels of this file that are installed.",
        "wheels = [\"flash-attn\"]",
    ),
    key(
        "images.*.system",
        TEXTS,
        "[]",
        "Packages of the operating system, beside `system.runtime`.",
        "system = [\"ffmpeg\"]",
    ),
    key(
        "images.*.copy",
        Kind::Tables,
        "[]",
        "What is copied from the build context, in this order, on top of everything else.",
        "copy = [{ from = \"src\", to = \"/app/src\" }]",
    ),
    required(
        "images.*.copy.from",
        PATH,
        "A file of the build context, or a folder whose content is copied.",
        "from = \"src\"",
    ),
    required(
        "images.*.copy.to",
        ABSOLUTE,
        "The absolute path in the image.",
        "to = \"/app/src\"",
    ),
    key(
        "images.*.env",
        Kind::Map(&Kind::Text),
        "{}",
        "Environment variables of the image.",
        "env = { HF_HUB_OFFLINE = \"1\" }",
    ),
    key(
        "images.*.user",
        Kind::Shaped("^([a-z_][a-z0-9_-]*|[0-9]+(:[0-9]+)?)$"),
        "the tier's",
        "Who runs in the image: a name, a uid, or uid:gid.",
        "user = \"app\"",
    ),
    key(
        "images.*.workdir",
        ABSOLUTE,
        "the tier's",
        "The working directory.",
        "workdir = \"/app\"",
    ),
    key(
        "images.*.entrypoint",
        TEXTS,
        "the tier's",
        "The program that the image runs, one word an item.",
        "entrypoint = [\"python\", \"-m\", \"serve\"]",
    ),
    key(
        "images.*.cmd",
        TEXTS,
        "the tier's",
        "Arguments that `docker run` may replace, one word an item.",
        "cmd = [\"--port\", \"8000\"]",
    ),
    key(
        "images.*.labels",
        Kind::Map(&Kind::Text),
        "{}",
        "Labels of the image.",
        "labels = { \"org.opencontainers.image.vendor\" = \"Example\" }",
    ),
    key(
        "images.*.ports",
        Kind::Array(&Kind::Any(&[
            Kind::Shaped("^[0-9]+(/(tcp|udp|sctp))?$"),
            Kind::Integer {
                least: 1,
                most: 65535,
            },
        ])),
        "[]",
        "Ports that the image listens on; `tcp` unless it says otherwise.",
        "ports = [\"8000/tcp\"]",
    ),
    key(
        "images.*.forbid",
        Kind::Table,
        "",
        "What must not be in the finished image; the build fails when it is.",
        "[images.serve.forbid]\npaths = [\"**/bin/nvcc\"]",
    ),
    key(
        "images.*.forbid.paths",
        Kind::Array(&Kind::Shaped("^(/|\\*\\*/)")),
        "[\"**/bin/nvcc\", \"/usr/local/cuda/include\"] on tiers base and runtime, [] on devel",
        "Absolute paths, or patterns with `*`, `?` and `**` over the whole path.",
        "paths = [\"**/bin/nvcc\", \"/usr/local/cuda/include\"]",
    ),
];
