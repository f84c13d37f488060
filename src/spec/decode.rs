//! From text to [`Spec`]: the order in which the sections are read, and nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;

use toml::Spanned;
use toml::de::DeTable;

use super::args::Arguments;
use super::findings::Findings;
use super::model::{Layers, Spec, System, Tier, Uv, Wheel};
use super::section::Section;
use super::{compiler_cache, gpu, images, matrix, names, python, shape, urls, wheel_store, wheels};
use crate::diagnostic::{Diagnostic, SourceFile};

/// The image that uv is taken from when the file says nothing.
pub const DEFAULT_UV_IMAGE: &str = "ghcr.io/astral-sh/uv:0.13.9";

/// `python.lock` when the file says nothing.
pub const DEFAULT_LOCK: &str = "uv.lock";

/// `layers.threshold` when the file says nothing, in bytes.
pub const DEFAULT_THRESHOLD: u64 = 5_000_000;

/// `layers.buckets` when the file says nothing.
pub const DEFAULT_BUCKETS: u32 = 4;

/// `layers.max` when the file says nothing: together with a tier's own layers far below the 127 of overlay file
/// systems.
pub const DEFAULT_MAX_LAYERS: u32 = 40;

/// `layers.max-size` when the file says nothing, in bytes: about 2 GB on disk, which is pulled and unpacked as one piece.
pub const DEFAULT_MAX_LAYER_SIZE: u64 = 500_000_000;

impl Spec {
    /// Reads a `wheelbase.toml`.
    ///
    /// Gives the spec with warnings, or all errors at once in the order of the file. With errors of TOML's syntax it
    /// gives those alone, since what follows from them would be guesswork. In all that comes out, credentials of URLs
    /// in the file are masked: [`Spec::file`] is then a copy of the file with `*` in their place, byte for byte.
    pub fn parse(file: &Arc<SourceFile>) -> Result<(Self, Vec<Diagnostic>), Vec<Diagnostic>> {
        Self::parse_with(file, &BTreeMap::new())
    }

    /// The same for a build with arguments: `given` has what `--build-arg` says, without the names that are
    /// [predefined](super::is_predefined). Mistakes in arguments are told alone, too: what is wrong elsewhere may come from
    /// them. An argument that the file does not declare is a warning.
    pub fn parse_with(
        file: &Arc<SourceFile>,
        given: &BTreeMap<String, String>,
    ) -> Result<(Self, Vec<Diagnostic>), Vec<Diagnostic>> {
        let mut findings = Findings::new(file);
        let (tree, syntax) = DeTable::parse_recoverable(&file.text);
        findings.syntax(&syntax);
        if findings.failed() {
            return Err(findings.finish().err().unwrap_or_default());
        }
        shape::check_table(tree.get_ref(), "args", &mut findings);
        if findings.failed() {
            return Err(findings.finish().err().unwrap_or_default());
        }
        let arguments = Arguments::decode(&Section::root(tree.get_ref()), given, &mut findings);
        let tree = arguments.put_into(tree.into_inner(), &mut findings);
        if findings.failed() {
            return Err(findings.finish().err().unwrap_or_default());
        }
        shape::check(&tree, &mut findings);
        let spec = decode(file, &Section::root(&tree), &mut findings);
        let matrix = matrix::decode(&Section::root(&tree), arguments.all(), &mut findings);
        let failed = findings.failed();
        let (file, warnings) = findings.finish()?;
        match spec {
            Some(spec) if !failed => {
                let args = arguments.all().clone();
                let spec = Self {
                    file,
                    args,
                    matrix,
                    ..spec
                };
                Ok((spec, warnings))
            }
            // Nothing is absent without an error that says so; should that ever break, say it rather than panic.
            _ => Err(vec![
                Diagnostic::error("this file cannot be read").help("please report it with the file"),
            ]),
        }
    }
}

fn decode(file: &Arc<SourceFile>, root: &Section<'_>, findings: &mut Findings) -> Option<Spec> {
    let name = root.string("name").and_then(|name| {
        findings
            .check(name.span(), names::product(name.get_ref()))
            .map(|()| name)
    });
    let section = root.section("gpu");
    let mirror = gpu::mirror(&section, findings);
    let host = mirror.as_ref().map(|mirror| mirror.get_ref().clone());
    let wheels = wheels::decode(root, host.as_deref(), findings);
    let images = images::decode(root, &wheels, gpu::vendor(&section), findings);
    let default = images::default(root, &images, findings);

    let gpu = gpu::decode(&section, mirror, &wanted(&images, &wheels), findings);
    let section = root.section("python");
    let python = python::decode(
        &section,
        gpu.os.as_ref(),
        &gpu::systems(&gpu),
        host.as_deref(),
        findings,
    );
    let uv = uv(&root.section("uv"), host.as_deref(), findings);
    let section = root.section("system");
    let system = System {
        devel: images::system(&section, "devel", "`system.devel`", findings),
        runtime: images::system(&section, "runtime", "`system.runtime`", findings),
    };
    let compiler_cache = compiler_cache::decode(
        &root.section("compiler-cache"),
        name.as_ref(),
        host.as_deref(),
        findings,
    );
    let wheel_store = wheel_store::decode(&root.section("wheel-store"), findings);
    let build = root.section("build");
    let slots = build.integer("slots");
    let emulate = build.boolean("emulate").unwrap_or(false);
    let layers = layers(&root.section("layers"), findings);
    Some(Spec {
        file: Arc::clone(file),
        args: BTreeMap::new(),
        matrix: None,
        name: name?,
        default,
        gpu,
        python: python?,
        uv: uv?,
        system,
        compiler_cache: compiler_cache?,
        wheel_store,
        slots: slots.and_then(|slots| u32::try_from(slots).ok()),
        emulate,
        layers,
        wheels,
        images,
    })
}

/// Who uses which tier, and which wheels are compiled for GPUs.
fn wanted(images: &BTreeMap<String, super::Image>, wheels: &BTreeMap<String, Wheel>) -> gpu::Wanted {
    let mut tiers: BTreeMap<Tier, Vec<_>> = BTreeMap::new();
    for image in images.values() {
        let user = (image.tier.span(), format!("image `{}`", image.name.get_ref()));
        tiers.entry(*image.tier.get_ref()).or_default().push(user);
    }
    for wheel in wheels.values().filter(|wheel| wheel.is_compiled()) {
        let user = (wheel.name.span(), format!("wheel `{}`", wheel.name.get_ref()));
        tiers.entry(Tier::Devel).or_default().push(user);
    }
    for users in tiers.values_mut() {
        users.sort_by_key(|(span, _)| span.start);
    }
    let gpu_wheels = wheels
        .values()
        .filter(|wheel| !wheel.any_arch && wheel.is_compiled())
        .map(|wheel| wheel.name.clone())
        .collect();
    gpu::Wanted { tiers, gpu_wheels }
}

fn uv(section: &Section<'_>, mirror: Option<&str>, findings: &mut Findings) -> Option<Uv> {
    if section.has("url") || section.has("sha256") {
        return urls::download(findings, section).map(Uv::Wheel);
    }
    let image = if section.has("image") {
        section.string("image")?
    } else {
        Spanned::new(section.span.clone(), DEFAULT_UV_IMAGE.to_owned())
    };
    Some(Uv::Image {
        reference: python::image_reference(&image, mirror, findings)?,
    })
}

/// A number of bytes, with or without a unit.
pub(super) fn bytes(section: &Section<'_>, key: &str, findings: &mut Findings) -> Option<u64> {
    match section.string(key) {
        Some(size) => findings.check(size.span(), names::bytes(size.get_ref())),
        None => section.integer(key),
    }
}

fn layers(section: &Section<'_>, findings: &mut Findings) -> Layers {
    let threshold = bytes(section, "threshold", findings);
    let max_size = bytes(section, "max-size", findings);
    let number = |key, default| {
        section
            .integer(key)
            .and_then(|number| u32::try_from(number).ok())
            .unwrap_or(default)
    };
    let (buckets, max) = (
        number("buckets", DEFAULT_BUCKETS),
        number("max", DEFAULT_MAX_LAYERS),
    );
    if buckets > max {
        let key = if section.has("max") { "max" } else { "buckets" };
        let place = section
            .value(key)
            .map_or_else(|| section.span.clone(), Spanned::span);
        findings.error(
            place,
            format!("{buckets} buckets do not fit into {max} layers"),
            format!("`buckets` is {buckets}, `max` is {max}"),
            "write a larger `max`, or fewer `buckets`",
        );
    }
    Layers {
        threshold: threshold.unwrap_or(DEFAULT_THRESHOLD),
        buckets,
        max,
        max_size: max_size.unwrap_or(DEFAULT_MAX_LAYER_SIZE),
    }
}
