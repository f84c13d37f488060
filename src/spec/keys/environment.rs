//! Keys of what everything is built on: tiers, interpreter, uv and packages of the operating system.
//!
//! Wheels and images share it, so it is said once for the whole file.

use super::{ABSOLUTE, Form, IMAGE, Key, Kind, PATH, SHA256, TEXTS, TOOL, URL, key, required};

const ARCHS: Kind = Kind::Array(&Kind::Shaped(
    "^([0-9]+\\.[0-9][af]?(\\+PTX)?|gfx[0-9a-f]+(-[0-9]+)?(-generic)?(:(sramecc|xnack)[+-])*)$",
));
const ARCHIVE: Kind = Kind::Forms(&[Form {
    needs: &["url", "sha256"],
    takes: &[],
}]);

/// The keys, in the order in which the reference page shows them.
pub(super) const KEYS: &[Key] = &[
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
        TOOL,
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
];
