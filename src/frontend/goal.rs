//! What `--target` names.
//!
//! An image or a compiled wheel, by its name in the spec; `wheel-store`, which is all compiled wheels; and each of these with
//! `cache-` before it, which makes all that it is made of and leaves an empty filesystem. A spec cannot call anything
//! `wheel-store`, since a group of that name is in every bake file too. It may call an image `cache-serve`: that is a name
//! that people give, and then the image is meant.

use std::collections::BTreeSet;
use std::fmt;

use crate::diagnostic::{Diagnostic, Location, nearest};
use crate::llb::{Emitted, Surroundings, emit, emit_wheel, emit_wheels};
use crate::plan::{self, Plan, StageId};
use crate::spec::{Spec, Tier, WHEEL_STORE};

/// Stands before the name of a target that only fills caches.
const CACHE: &str = "cache-";

/// What is made, by its name in the spec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Product {
    /// An image.
    Image(String),
    /// A compiled wheel: an image of its files, for a wheel store.
    Wheel(String),
    /// All compiled wheels.
    WheelStore,
}

/// A target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Goal {
    /// What is made.
    pub(super) product: Product,
    /// Whether it is made for caches alone, and nothing is left of it.
    pub(super) only_cache: bool,
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cache = if self.only_cache { CACHE } else { "" };
        match &self.product {
            Product::Image(name) | Product::Wheel(name) => write!(f, "{cache}{name}"),
            Product::WheelStore => write!(f, "{cache}{WHEEL_STORE}"),
        }
    }
}

impl Goal {
    /// What the target is: that of the build, the spec's default image, or the only one there is.
    pub(super) fn choose(spec: &Spec, target: Option<&str>) -> Result<Self, Diagnostic> {
        let names: Vec<&str> = spec.images.keys().map(String::as_str).collect();
        let wanted = match (target, &spec.default, names.as_slice()) {
            (Some(target), _, _) => target,
            (None, Some(default), _) => default.get_ref(),
            (None, None, [only]) => only,
            (None, None, []) => return Err(Diagnostic::error(format!("{} has no images", spec.file.name))),
            (None, None, _) => {
                return Err(
                    Diagnostic::error(format!("{} has {} images", spec.file.name, names.len())).help(
                        format!(
                            "name one with --target ({}), or write default = \"{}\" at the top of the file",
                            names.join(", "),
                            names[0]
                        ),
                    ),
                );
            }
        };
        let all = Self::all(spec);
        let targets: Vec<String> = all.iter().map(Self::to_string).collect();
        if let Some(goal) = all.into_iter().find(|goal| goal.to_string() == wanted) {
            return Ok(goal);
        }
        let help = match nearest(wanted, targets.iter().map(String::as_str)) {
            Some(near) => format!("did you mean --target {near}?"),
            None if wanted == WHEEL_STORE => {
                "it is all wheels that are compiled: those of [wheels] with a source".to_owned()
            }
            None => format!("the images of {} are: {}", spec.file.name, names.join(", ")),
        };
        Err(Diagnostic::error(format!("there is no target `{wanted}`")).help(help))
    }

    /// All targets of a spec, each name once: images and compiled wheels, both in the order of the file; all wheels together;
    /// and the same for caches, as far as the spec has nothing of that name.
    pub(super) fn all(spec: &Spec) -> Vec<Self> {
        let mut images: Vec<_> = spec.images.values().collect();
        images.sort_by_key(|image| image.name.span().start);
        let images = images
            .into_iter()
            .map(|image| Product::Image(image.name.get_ref().clone()));
        let mut wheels: Vec<_> = spec
            .wheels
            .iter()
            .filter(|(_, wheel)| wheel.is_compiled())
            .collect();
        wheels.sort_by_key(|(_, wheel)| wheel.name.span().start);
        let store = (!wheels.is_empty()).then_some(Product::WheelStore);
        // An image and a wheel may have one name: the target is the image.
        let wheels = wheels
            .into_iter()
            .filter(|(name, _)| !spec.images.contains_key(*name))
            .map(|(name, _)| Product::Wheel(name.clone()));
        let products: Vec<Product> = images.chain(wheels).chain(store).collect();
        let goals = |only_cache| {
            products.iter().map(move |product| Self {
                product: product.clone(),
                only_cache,
            })
        };
        let mut names = BTreeSet::new();
        let mut all: Vec<Self> = goals(false).chain(goals(true)).collect();
        all.retain(|goal| names.insert(goal.to_string()));
        all
    }

    /// The image that is made.
    pub(super) fn image(&self) -> Option<&str> {
        match &self.product {
            Product::Image(image) => Some(image),
            Product::Wheel(_) | Product::WheelStore => None,
        }
    }

    /// The images that are planned for it: a wheel is compiled as the images that use it need it.
    pub(super) fn images(&self, spec: &Spec) -> BTreeSet<String> {
        match &self.product {
            Product::Image(image) => BTreeSet::from([image.clone()]),
            Product::Wheel(_) | Product::WheelStore => spec.images.keys().cloned().collect(),
        }
    }

    /// The images and wheels of the spec that it is.
    pub(super) fn names<'a>(&'a self, spec: &'a Spec) -> Vec<&'a str> {
        match &self.product {
            Product::Image(name) | Product::Wheel(name) => vec![name],
            Product::WheelStore => {
                let used = spec.used_wheels(spec.images.keys().map(String::as_str));
                let wheels = spec.wheels.iter().filter(|(_, wheel)| wheel.is_compiled());
                let wheels = wheels.map(|(name, _)| name.as_str());
                wheels.filter(|name| used.contains(name)).collect()
            }
        }
    }

    /// What the spec says of it.
    pub(super) fn described<'a>(&self, spec: &'a Spec) -> Option<&'a str> {
        match &self.product {
            Product::Image(name) => spec.images.get(name)?.description.as_deref(),
            Product::Wheel(name) => spec.wheels.get(name)?.description.as_deref(),
            Product::WheelStore => None,
        }
    }

    /// One line for people.
    pub(super) fn description(&self, spec: &Spec) -> String {
        if self.only_cache {
            let product = Self {
                only_cache: false,
                ..self.clone()
            };
            return format!("{product} for caches, with nothing left of it");
        }
        let described = self.described(spec).map(str::to_owned);
        described.unwrap_or_else(|| match &self.product {
            Product::Image(name) => {
                let tier = spec.images.get(name).map(|image| image.tier.get_ref().as_str());
                format!("image on tier {}", tier.unwrap_or_default())
            }
            Product::Wheel(_) => "compiled wheel".to_owned(),
            Product::WheelStore => "all compiled wheels in one folder".to_owned(),
        })
    }

    /// The tier below it.
    pub(super) fn base(&self, spec: &Spec) -> Option<String> {
        let tier = match &self.product {
            Product::Image(name) => *spec.images.get(name)?.tier.get_ref(),
            Product::Wheel(_) | Product::WheelStore => Tier::Devel,
        };
        Some(spec.gpu.tiers.get(&tier)?.get_ref().clone())
    }

    /// Its place in the spec; all wheels have none.
    pub(super) fn location(&self, spec: &Spec) -> Option<Location> {
        match &self.product {
            Product::Image(name) => Some(spec.locate(&spec.images.get(name)?.name)),
            Product::Wheel(name) => Some(spec.locate(&spec.wheels.get(name)?.name)),
            Product::WheelStore => None,
        }
    }

    /// The stages that compile its wheels, of a plan that has taken nothing from a store yet; none for an image. A wheel that
    /// images need in different resolutions of the lock is the first image's.
    pub(super) fn stages(&self, spec: &Spec, plan: &Plan) -> Result<Vec<StageId>, Diagnostic> {
        match &self.product {
            Product::Image(_) => Ok(Vec::new()),
            Product::Wheel(name) => Ok(vec![stage(spec, plan, name)?]),
            Product::WheelStore => {
                let wheels = spec.wheels.keys();
                let stages: Vec<StageId> = wheels.filter_map(|name| plan::compile_of(plan, name)).collect();
                if stages.is_empty() {
                    return Err(Diagnostic::error("no image has a wheel that is compiled").help(
                        "name some in `wheels` of an image: what they are compiled against is decided there",
                    ));
                }
                Ok(stages)
            }
        }
    }

    /// The graph, with the [`stages`](Self::stages) that compile its wheels.
    pub(super) fn emit(&self, plan: &Plan, stages: &[StageId], surroundings: &Surroundings) -> Emitted {
        let mut emitted = match (&self.product, stages) {
            (Product::Image(image), _) => emit(plan, image, surroundings),
            (Product::Wheel(_), [stage]) => emit_wheel(plan, *stage, surroundings),
            (_, stages) => emit_wheels(plan, stages, surroundings),
        };
        if self.only_cache {
            emitted.leave_nothing(&self.to_string(), surroundings);
        }
        emitted
    }
}

/// The stage that compiles a wheel.
fn stage(spec: &Spec, plan: &Plan, name: &str) -> Result<StageId, Diagnostic> {
    plan::compile_of(plan, name).ok_or_else(|| {
        let error = Diagnostic::error(format!("no image has the wheel `{name}`"))
            .help("name it in `wheels` of an image: what it is compiled against is decided there");
        match spec.wheels.get(name) {
            Some(wheel) => error.at(spec.locate(&wheel.name), "declared here"),
            None => error,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::SourceFile;

    const HEAD: &str = "name = \"a\"\ndefault = \"serve\"\n[gpu]\ncuda = \"12.8.1\"\nos = \"ubuntu22.04\"\narchs = [\"9.0\"]\n\
                        [python]\nversion = \"3.10\"\n";
    const WHEELS: &str = "[wheels.zed]\nsource = { lock = true }\n[wheels.add]\nsource = { lock = true }\n\
                          [wheels.ready]\nsource = { wheel = \"w/ready-1-py3-none-any.whl\" }\n";
    const IMAGES: &str = "[images.train]\nwheels = [\"zed\", \"add\"]\n[images.serve]\npackages = [\"s\"]\n";

    fn spec(text: &str) -> Spec {
        Spec::parse(&SourceFile::new("wheelbase.toml", text)).unwrap().0
    }

    fn goal(product: Product, only_cache: bool) -> Goal {
        Goal { product, only_cache }
    }

    #[test]
    fn targets_are_what_the_spec_has_and_what_is_made_of_it() {
        let spec = spec(&format!("{HEAD}{WHEELS}{IMAGES}"));
        let names: Vec<String> = Goal::all(&spec).iter().map(Goal::to_string).collect();
        assert_eq!(
            names,
            [
                "train",
                "serve",
                "zed",
                "add",
                "wheel-store",
                "cache-train",
                "cache-serve",
                "cache-zed",
                "cache-add",
                "cache-wheel-store",
            ]
        );
        let choose = |target| Goal::choose(&spec, target);
        assert_eq!(choose(None), Ok(goal(Product::Image("serve".into()), false)));
        assert_eq!(choose(Some("zed")), Ok(goal(Product::Wheel("zed".into()), false)));
        assert_eq!(choose(Some("wheel-store")), Ok(goal(Product::WheelStore, false)));
        assert_eq!(
            choose(Some("cache-train")),
            Ok(goal(Product::Image("train".into()), true))
        );
        for goal in Goal::all(&spec) {
            assert_eq!(Goal::choose(&spec, Some(&goal.to_string())), Ok(goal));
        }
        let store = choose(Some("wheel-store")).unwrap();
        assert_eq!(store.names(&spec), ["add", "zed"]);
        assert_eq!(store.images(&spec).len(), 2);
        assert_eq!(choose(Some("cache-serve")).unwrap().images(&spec).len(), 1);
    }

    #[test]
    fn a_target_that_is_not_there_is_met_with_one_that_is() {
        let spec = spec(&format!("{HEAD}{WHEELS}{IMAGES}"));
        let help = |target| {
            Goal::choose(&spec, Some(target))
                .unwrap_err()
                .help
                .unwrap_or_default()
        };
        assert_eq!(help("srve"), "did you mean --target serve?");
        assert_eq!(help("cache-srve"), "did you mean --target cache-serve?");
        assert_eq!(help("wheelstore"), "did you mean --target wheel-store?");
        assert_eq!(help("nothing"), "the images of wheelbase.toml are: serve, train");
    }

    #[test]
    fn without_compiled_wheels_there_is_no_store_of_them() {
        let spec = spec(&format!("{HEAD}[images.serve]\npackages = [\"s\"]\n"));
        let error = Goal::choose(&spec, Some("wheel-store")).unwrap_err();
        assert_eq!(error.message, "there is no target `wheel-store`");
        assert!(
            error
                .help
                .unwrap_or_default()
                .starts_with("it is all wheels that are compiled")
        );
    }

    #[test]
    fn an_image_of_the_name_is_meant() {
        let spec = spec(&format!(
            "{HEAD}[images.serve]\npackages = [\"s\"]\n[images.cache-serve]\npackages = [\"s\"]\n"
        ));
        assert_eq!(
            Goal::choose(&spec, Some("cache-serve")),
            Ok(goal(Product::Image("cache-serve".into()), false))
        );
        let names: Vec<String> = Goal::all(&spec).iter().map(Goal::to_string).collect();
        assert_eq!(names, ["serve", "cache-serve", "cache-cache-serve"]);
    }
}
