//! Keys of the head of a file: what it is called, which image is built unasked, and what differs from build to build.
//!
//! Arguments and their values come from here, and none is put in here: each key is literal.

use super::{ANY_INTEGER, Key, Kind, NAME, key, literal, required};

/// What an argument may be.
const VALUE: Kind = Kind::Any(&[Kind::Text, ANY_INTEGER, Kind::Boolean]);
const VALUES: Kind = Kind::Array(&VALUE);

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
];
