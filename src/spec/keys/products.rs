//! Keys of what is built: wheels and images.

use super::{ABSOLUTE, BYTES, Form, Key, Kind, NAME, PATH, SHA256, TEXTS, URL, key, literal, required};

const REQUIREMENTS: Kind = Kind::Array(&Kind::Shaped(
    "^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?\\s*(\\[[A-Za-z0-9._,\\s-]*\\])?$",
));

const PACKAGES: Kind = Kind::Array(&Kind::Shaped(
    "^(\\*|[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?\\s*(\\[[A-Za-z0-9._,\\s-]*\\])?)$",
));

const MODULES: Kind = Kind::Array(&Kind::Shaped("^[^\\s.]+(\\.[^\\s.]+)*$"));

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
                takes: &["include", "exclude"],
            },
            Form {
                needs: &["git", "rev"],
                takes: &["subdir", "submodules", "token", "known-hosts"],
            },
            Form {
                needs: &["url", "sha256"],
                takes: &["subdir"],
            },
            Form {
                needs: &["image", "path"],
                takes: &[],
            },
            Form {
                needs: &["lock"],
                takes: &[],
            },
            Form {
                needs: &["wheel"],
                takes: &["sha256"],
            },
        ]),
        "Where the source is: a folder of the build context, a commit of a git repository, an archive, a folder of an \
         image, or the source distribution that the lockfile pins. Or a wheel that is there already, which is installed \
         as it is.",
        "source = { path = \"mai_kernels\" }",
    ),
    key(
        "wheels.*.source.path",
        Kind::Text,
        "",
        "A folder of the build context; beside `image`, the absolute path of a folder in that image.",
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
        "wheels.*.source.exclude",
        TEXTS,
        "[]",
        "Patterns, relative to `path`, of files that are not sent and do not count, as in a .dockerignore; `!` takes back \
         what a pattern before it left out. What no build reads (`**/.git`, `**/__pycache__`, `**/*.pyc`, \
         `**/*.egg-info`, `**/.venv`, `**/.pytest_cache`) is always left out first.",
        "source = { path = \"mai_kernels\", exclude = [\"tests\", \"**/*.md\"] }",
    ),
    key(
        "wheels.*.source.git",
        Kind::Shaped("^(https?|ssh|git)://"),
        "",
        "URL of a git repository. One over `https` is read with the build's secret `GIT_AUTH_TOKEN` when there is one, one \
         over `ssh` with the agent of `--ssh default`.",
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
        "The folder of the repository or archive to build.",
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
        "wheels.*.source.token",
        NAME,
        "\"GIT_AUTH_TOKEN\"",
        "Id of the build's secret that holds a token for the repository; `ID.HOST` is asked for before `ID`. It is no part \
         of a key.",
        "token = \"GITLAB_TOKEN\"",
    ),
    key(
        "wheels.*.source.known-hosts",
        Kind::Text,
        "any host key is taken",
        "Lines of a `known_hosts` file, which the host of a repository over `ssh` must match.",
        "known-hosts = \"git.example ssh-ed25519 AAAA...\"",
    ),
    key(
        "wheels.*.source.url",
        URL,
        "",
        "URL of an archive: `.tar.gz`, `.tar.bz2`, `.tar.xz`, `.tar.zst`, `.tar` or `.zip`. A single folder at its top \
         is stepped into.",
        "source = { url = \"https://files.example/kernels-1.0.tar.gz\", sha256 = \"<64 hex digits>\" }",
    ),
    key(
        "wheels.*.source.sha256",
        SHA256,
        "",
        "SHA-256, in hex, of what is at the URL. A wheel of the build context has none: its content counts.",
        "sha256 = \"<64 hex digits>\"",
    ),
    key(
        "wheels.*.source.image",
        super::IMAGE,
        "",
        "An image that holds the source in a folder; `gpu.mirror` applies. The content of that folder counts, and not the \
         image.",
        "source = { image = \"registry.example/kernels:1.0\", path = \"/src\" }",
    ),
    key(
        "wheels.*.source.wheel",
        Kind::Text,
        "",
        "URL, or path in the build context, of a wheel that is installed as it is: nothing is compiled, and the keys of a \
         build have no place beside it.",
        "source = { wheel = \"https://files.example/fast-1.0-cp312-cp312-linux_x86_64.whl\", sha256 = \"<64 hex digits>\" }",
    ),
    key(
        "wheels.*.source.lock",
        Kind::Boolean,
        "",
        "Takes the source distribution that the lockfile pins for a package of this name.",
        "source = { lock = true }",
    ),
    key(
        "wheels.*.provides",
        Kind::Array(&Kind::Shaped("^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$")),
        "[]",
        "Further packages whose wheels the build leaves in `/wheels`; they are installed with the wheel that the table is \
         named after.",
        "provides = [\"mai-kernels-cuda\"]",
    ),
    key(
        "wheels.*.may-lack",
        TEXTS,
        "[]",
        "Shared libraries that the wheel is linked against and that come from elsewhere when a container runs, as those of \
         the driver do. All others must be in an image on tiers base and runtime, or the build fails.",
        "may-lack = [\"libibverbs.so.1\"]",
    ),
    key(
        "wheels.*.imports",
        MODULES,
        "[]",
        "Modules that are imported, in this order and in one process, in every image that has the wheel: on the image's tier, \
         with its packages and environment, without a GPU and without the network. Where the NVIDIA driver is missing, a stub \
         of its library stands in. One that fails fails the build. Nothing of it is in the image.",
        "imports = [\"torch\", \"flash_attn_2_cuda\"]",
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
        "wheels.*.patches",
        TEXTS,
        "[]",
        "Patches of the build context that are applied to the source, in this order, as `git apply` does: paths lose their \
         first part, context must match exactly and may have moved. They count by content.",
        "patches = [\"patches/fix-arch-list.patch\"]",
    ),
    key(
        "wheels.*.isolation",
        Kind::Boolean,
        "false",
        "Builds in an environment of its own, with what `build-system.requires` says from the index. What comes is not \
         pinned, so `needs` is the better way.",
        "isolation = true",
    ),
    key(
        "wheels.*.env",
        Kind::Map(&Kind::Text),
        "{}",
        "Environment variables of the build command; they are part of the wheel's key.",
        "env = { FLASH_ATTENTION_FORCE_BUILD = \"TRUE\" }",
    ),
    literal(key(
        "wheels.*.command",
        Kind::Text,
        "a build of one wheel without build isolation",
        "Replaces the build command: it runs with `sh -eu` in the source folder and leaves wheels in `/wheels`. It sees \
         arguments through `env`.",
        "command = \"python setup.py bdist_wheel --dist-dir /wheels\"",
    )),
    key(
        "wheels.*.keep-build",
        PATH,
        "",
        "A folder that the build makes, relative to where it is built, and that the next compile of the wheel on the builder \
         starts with: for what no compiler cache can answer, where the build itself knows what is out of date, as ninja does. \
         It is dropped when anything but the source has changed.",
        "keep-build = \"build\"",
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
        "wheels.*.job-memory",
        BYTES,
        "\"5GB\", and \"1GB\" for cargo",
        "The memory that one compiler takes at most, from which `jobs = \"auto\"` works out how many fit. With \
         `NVCC_THREADS` in `env` a job counts that many times. It is no part of a key.",
        "job-memory = \"2GB\"",
    ),
    key(
        "wheels.*.network",
        Kind::Boolean,
        "false",
        "Lets the build command use the network.",
        "network = true",
    ),
    key(
        "wheels.*.description",
        Kind::Text,
        "",
        "One line for people, which `docker buildx build --call targets` shows. It is no part of a key.",
        "description = \"row maxima on the GPU\"",
    ),
    required(
        "images",
        Kind::Named,
        "The images, one table for each; `--target NAME` builds one, and `--target cache-NAME` all that it is made of and no image. \
         The name `wheel-store` is taken: that target is all compiled wheels.",
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
        "images.*.imports",
        MODULES,
        "[]",
        "Modules that are imported in the image as those of `wheels.NAME.imports` are: of packages of the lockfile, or of \
         wheels. Projects of the workspace and what `copy` brings are not there yet.",
        "imports = [\"bitsandbytes\"]",
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
    literal(key(
        "images.*.entrypoint",
        TEXTS,
        "the tier's",
        "The program that the image runs, one word an item.",
        "entrypoint = [\"python\", \"-m\", \"serve\"]",
    )),
    literal(key(
        "images.*.cmd",
        TEXTS,
        "the tier's",
        "Arguments that `docker run` may replace, one word an item.",
        "cmd = [\"--port\", \"8000\"]",
    )),
    key(
        "images.*.description",
        Kind::Text,
        "",
        "One line for people, which `docker buildx build --call targets` shows. It is no part of the image.",
        "description = \"the HTTP service, for production\"",
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
        "[\"**/bin/nvcc\", \"/usr/local/cuda/include\"] on tiers base and runtime ([\"**/bin/hipcc\", \"/opt/rocm/include\", \
         \"/opt/rocm/llvm/bin\"] for AMD's GPUs), [] on devel",
        "Absolute paths, or patterns with `*`, `?` and `**` over the whole path.",
        "paths = [\"**/bin/nvcc\", \"/usr/local/cuda/include\"]",
    ),
];
