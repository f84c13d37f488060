//! The keys themselves, in the order in which the reference page shows them.

use super::{Form, Key, Kind};

/// A key that may be left out.
const fn key(
    path: &'static str,
    kind: Kind,
    default: &'static str,
    doc: &'static str,
    example: &'static str,
) -> Key {
    Key {
        path,
        kind,
        required: false,
        default,
        doc,
        example,
    }
}

/// A key that its table must have.
const fn required(path: &'static str, kind: Kind, doc: &'static str, example: &'static str) -> Key {
    Key {
        path,
        kind,
        required: true,
        default: "",
        doc,
        example,
    }
}

const TEXTS: Kind = Kind::Array(&Kind::Text);
const IMAGE: Kind = Kind::Shaped("^[^\\s]+$");
const NAME: Kind = Kind::Shaped("^[A-Za-z0-9][A-Za-z0-9._-]*$");
const PATH: Kind = Kind::Shaped("^[^/].*$");
const ABSOLUTE: Kind = Kind::Shaped("^/");
const URL: Kind = Kind::Shaped("^https?://");
const SHA256: Kind = Kind::Shaped("^[0-9a-fA-F]{64}$");
const ARCHIVE: Kind = Kind::Forms(&[Form {
    needs: &["url", "sha256"],
    takes: &[],
}]);
const REQUIREMENTS: Kind = Kind::Array(&Kind::Shaped(
    "^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?\\s*(\\[[A-Za-z0-9._,\\s-]*\\])?$",
));

/// Every key of the file; a table comes before its keys.
pub const KEYS: &[Key] = &[
    required(
        "name",
        NAME,
        "What is built; it labels the images and prefixes the names of caches.",
        "name = \"mai-job\"",
    ),
    key(
        "default",
        Kind::Text,
        "the image, when there is only one",
        "The image that is built when the build names no target.",
        "default = \"serve\"",
    ),
    key(
        "gpu",
        Kind::Table,
        "",
        "Where the base images (tiers) come from, and which GPUs are compiled for.",
        "[gpu]\ncuda = \"12.8.1\"\nos = \"ubuntu22.04\"",
    ),
    key(
        "gpu.cuda",
        Kind::Shaped("^[0-9]+\\.[0-9]+\\.[0-9]+$"),
        "",
        "The CUDA toolkit's version in three parts; together with `os` it names the `nvidia/cuda` images of all tiers.",
        "cuda = \"12.8.1\"",
    ),
    key(
        "gpu.os",
        Kind::Shaped("^[a-z0-9.]+$"),
        "",
        "The operating system of the tiers as image tags spell it; beside explicit `tiers` it says what those are.",
        "os = \"ubuntu22.04\"",
    ),
    key(
        "gpu.cudnn",
        Kind::Boolean,
        "false",
        "Takes the runtime and devel tiers that carry cuDNN.",
        "cudnn = true",
    ),
    key(
        "gpu.archs",
        Kind::Array(&Kind::Shaped("^[0-9]+\\.[0-9][af]?(\\+PTX)?$")),
        "",
        "The compute capabilities that wheels are compiled for; needed as soon as a wheel has GPU code.",
        "archs = [\"8.0\", \"9.0\", \"12.0+PTX\"]",
    ),
    key(
        "gpu.mirror",
        Kind::Shaped("^[A-Za-z0-9.:-]+$"),
        "",
        "Host (and port) of a pull-through registry; it takes the place of the registry's host in every image of this file.",
        "mirror = \"zot.example:5000\"",
    ),
    key(
        "gpu.tiers",
        Kind::Table,
        "",
        "Images that are taken as tiers outright; each wins over what `cuda` would give.",
        "tiers.devel = \"nvcr.io/nvidia/pytorch:25.03-py3\"",
    ),
    key(
        "gpu.tiers.base",
        IMAGE,
        "from `gpu.cuda`",
        "The image of tier `base`: the driver's interface only.",
        "tiers.base = \"ubuntu:24.04\"",
    ),
    key(
        "gpu.tiers.runtime",
        IMAGE,
        "from `gpu.cuda`",
        "The image of tier `runtime`: the toolkit's shared libraries.",
        "tiers.runtime = \"registry.example/cuda-runtime:12.8\"",
    ),
    key(
        "gpu.tiers.devel",
        IMAGE,
        "from `gpu.cuda`",
        "The image of tier `devel`: compiler and headers; wheels are compiled on it.",
        "tiers.devel = \"nvcr.io/nvidia/pytorch:25.03-py3\"",
    ),
    required(
        "python",
        Kind::Table,
        "The interpreter and the lockfile.",
        "[python]\nversion = \"3.12\"",
    ),
    required(
        "python.version",
        Kind::Shaped("^3\\.[0-9]+$"),
        "Python's major and minor version.",
        "version = \"3.12\"",
    ),
    key(
        "python.lock",
        PATH,
        "\"uv.lock\"",
        "Path of the lockfile, relative to the build context.",
        "lock = \"uv.lock\"",
    ),
    key(
        "python.provider",
        Kind::Any(&[
            Kind::Word(&["auto", "system"]),
            Kind::Forms(&[
                Form {
                    needs: &["url", "sha256"],
                    takes: &[],
                },
                Form {
                    needs: &[],
                    takes: &["amd64", "arm64"],
                },
                Form {
                    needs: &["image"],
                    takes: &["path"],
                },
            ]),
        ]),
        "\"auto\"",
        "Where the interpreter comes from: the operating system's own (`system`), an archive, an image, or the first \
         of operating system and managed build that has this version (`auto`).",
        "provider = \"system\"",
    ),
    key(
        "python.provider.url",
        URL,
        "",
        "An archive for amd64 in the shape of python-build-standalone's `install_only` builds.",
        "provider = { url = \"https://files.example/python.tar.gz\", sha256 = \"<64 hex digits>\" }",
    ),
    key(
        "python.provider.sha256",
        SHA256,
        "",
        "The archive's SHA-256 in hex.",
        "sha256 = \"<64 hex digits>\"",
    ),
    key(
        "python.provider.amd64",
        ARCHIVE,
        "",
        "The archive for amd64, when each architecture has its own.",
        "amd64 = { url = \"https://files.example/python-x86_64.tar.gz\", sha256 = \"<64 hex digits>\" }",
    ),
    key(
        "python.provider.amd64.url",
        URL,
        "",
        "Where the archive is.",
        "url = \"https://files.example/python-x86_64.tar.gz\"",
    ),
    key(
        "python.provider.amd64.sha256",
        SHA256,
        "",
        "Its SHA-256 in hex.",
        "sha256 = \"<64 hex digits>\"",
    ),
    key(
        "python.provider.arm64",
        ARCHIVE,
        "",
        "The archive for arm64.",
        "arm64 = { url = \"https://files.example/python-aarch64.tar.gz\", sha256 = \"<64 hex digits>\" }",
    ),
    key(
        "python.provider.arm64.url",
        URL,
        "",
        "Where the archive is.",
        "url = \"https://files.example/python-aarch64.tar.gz\"",
    ),
    key(
        "python.provider.arm64.sha256",
        SHA256,
        "",
        "Its SHA-256 in hex.",
        "sha256 = \"<64 hex digits>\"",
    ),
    key(
        "python.provider.image",
        IMAGE,
        "",
        "An image that holds the interpreter.",
        "provider = { image = \"registry.example/python:3.12\" }",
    ),
    key(
        "python.provider.path",
        ABSOLUTE,
        "\"/opt/python\"",
        "The folder of that image that holds `bin/python3.X`.",
        "path = \"/opt/python\"",
    ),
    key(
        "python.fetch",
        Kind::Word(&["auto", "file", "index"]),
        "\"auto\"",
        "How wheels reach the install steps: as checksummed files that BuildKit fetches (`file`), by uv from the index \
         (`index`), or by file wherever the lock allows it (`auto`).",
        "fetch = \"index\"",
    ),
    key(
        "uv",
        Kind::Forms(&[
            Form {
                needs: &["image"],
                takes: &[],
            },
            Form {
                needs: &["url", "sha256"],
                takes: &[],
            },
        ]),
        "",
        "Where the uv binary comes from that installs packages.",
        "[uv]\nimage = \"registry.example/uv:0.9.13\"",
    ),
    key(
        "uv.image",
        IMAGE,
        "an image that the release of Wheelbase fixes",
        "An image that holds `/uv`.",
        "image = \"registry.example/uv:0.9.13\"",
    ),
    key(
        "uv.url",
        URL,
        "",
        "A wheel of uv.",
        "url = \"https://index.example/uv-0.9.13-py3-none-manylinux_2_17_x86_64.whl\"",
    ),
    key(
        "uv.sha256",
        SHA256,
        "",
        "The wheel's SHA-256 in hex.",
        "sha256 = \"<64 hex digits>\"",
    ),
    key(
        "system",
        Kind::Table,
        "",
        "Packages of the operating system, installed with its own package manager.",
        "[system]\ndevel = [\"git\", \"cmake\"]\nruntime = [\"libgomp1\"]",
    ),
    key(
        "system.devel",
        TEXTS,
        "[]",
        "Packages of every stage that compiles a wheel.",
        "devel = [\"git\", \"cmake\", \"ninja-build\"]",
    ),
    key(
        "system.runtime",
        TEXTS,
        "[]",
        "Packages of every image.",
        "runtime = [\"libgomp1\"]",
    ),
    key(
        "compiler-cache",
        Kind::Table,
        "",
        "The compiler cache that wheel stages share.",
        "[compiler-cache]\ntool = \"ccache\"\nmax-size = \"20G\"",
    ),
    key(
        "compiler-cache.tool",
        Kind::Word(&["ccache", "none"]),
        "\"ccache\"",
        "Which compiler cache wraps the compilers.",
        "tool = \"none\"",
    ),
    key(
        "compiler-cache.scope",
        NAME,
        "the value of `name`",
        "Files with the same scope share one cache; it never enters a layer's key.",
        "scope = \"rocm-pytorch\"",
    ),
    key(
        "compiler-cache.max-size",
        Kind::Shaped("^[0-9]+(\\.[0-9]+)?[kKMGT]i?$"),
        "\"10G\"",
        "How large the cache may grow, in ccache's words.",
        "max-size = \"20G\"",
    ),
    key(
        "layers",
        Kind::Table,
        "",
        "How packages are spread over image layers.",
        "[layers]\nthreshold = \"50MB\"\nbuckets = 4",
    ),
    key(
        "layers.threshold",
        Kind::Any(&[
            Kind::Integer {
                least: 0,
                most: u64::MAX,
            },
            Kind::Shaped("^[0-9]+\\s*(B|[kKMGT]i?B)$"),
        ]),
        "\"20MB\"",
        "A package whose wheel has at least this many bytes gets a layer of its own.",
        "threshold = \"50MB\"",
    ),
    key(
        "layers.buckets",
        Kind::Integer { least: 1, most: 100 },
        "8",
        "How many layers share the packages below the threshold.",
        "buckets = 4",
    ),
    key(
        "layers.max",
        Kind::Integer { least: 1, most: 100 },
        "40",
        "The most package layers that an image may have; buckets count.",
        "max = 60",
    ),
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
        REQUIREMENTS,
        "[]",
        "Packages of the lockfile that the image is for; all that they need comes with them.",
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
