//! What a target is made of: the tables of the file that an image, or a wheel, reaches.
//!
//! A file has many targets and a build makes a few of them. Which wheels those need, and which findings are about them, is one
//! walk through `needs`, which rules, builds and reports have to take alike.

use std::collections::BTreeSet;

use super::model::{Spec, wheel_of};
use crate::diagnostic::Diagnostic;
use crate::rules::table_of;

impl Spec {
    /// The tables of wheels that these images have, and those that they need in turn.
    pub fn used_wheels<'a>(&'a self, images: impl Iterator<Item = &'a str>) -> BTreeSet<&'a str> {
        let mut open: Vec<&str> = images
            .filter_map(|name| self.images.get(name))
            .flat_map(|image| &image.wheels)
            .map(|name| name.get_ref().as_str())
            .collect();
        self.needed_wheels(&mut open)
    }

    /// The tables that a target is made of, as the spec writes them; a target is an image or a wheel.
    pub fn tables_of(&self, target: &str) -> BTreeSet<String> {
        let mut tables = BTreeSet::new();
        let mut open = Vec::new();
        if let Some(image) = self.images.get(target) {
            tables.insert(format!("images.{}", image.name.get_ref()));
            open.extend(image.wheels.iter().map(|name| name.get_ref().as_str()));
        } else {
            open.push(target);
        }
        for name in self.needed_wheels(&mut open) {
            tables.insert(format!("wheels.{}", self.wheels[name].name.get_ref()));
        }
        tables
    }

    /// What findings say of these targets, and of the file as a whole: not what stands in tables of others.
    pub fn about<'a>(
        &self,
        targets: impl IntoIterator<Item = &'a str>,
        mut findings: Vec<Diagnostic>,
    ) -> Vec<Diagnostic> {
        let tables: BTreeSet<String> = targets
            .into_iter()
            .flat_map(|target| self.tables_of(target))
            .collect();
        findings.retain(|finding| {
            let location = finding.labels.first().map(|label| &label.location);
            let location = location.filter(|location| location.file == self.file);
            let table = location.and_then(table_of).unwrap_or_default();
            let mut parts = table.splitn(3, '.');
            match (parts.next(), parts.next()) {
                (Some(kind @ ("images" | "wheels")), Some(name)) => {
                    tables.contains(&format!("{kind}.{}", name.trim_matches(['"', '\''])))
                }
                _ => true,
            }
        });
        findings
    }

    /// The tables that packages come from, and those that they need in turn.
    fn needed_wheels<'a>(&'a self, open: &mut Vec<&'a str>) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::new();
        while let Some(name) = open.pop() {
            if let Some(name) = wheel_of(&self.wheels, name)
                && let Some(wheel) = self.wheels.get(name)
                && found.insert(name)
            {
                open.extend(wheel.needs.iter().map(|need| need.get_ref().name.as_str()));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::SourceFile;

    #[test]
    fn tables_of_a_target() {
        let text = "# syntax=registry.example/wheelbase:1\nname = \"a\"\n[wheels.a]\narch = \"any\"\nsource = { path = \"a\" }\n\
                    needs = [\"B\"]\n[wheels.B]\narch = \"any\"\nsource = { path = \"b\" }\n[images.one]\nwheels = [\"a\"]\n\
                    [images.two]\npackages = [\"p\"]\n[gpu]\ncuda = \"12.8.1\"\nos = \"ubuntu22.04\"\n[python]\nversion = \"3.10\"\n";
        let (spec, _) = Spec::parse(&SourceFile::new("wheelbase.toml", text)).unwrap();
        let of = |target| spec.tables_of(target).into_iter().collect::<Vec<_>>();
        assert_eq!(of("one"), ["images.one", "wheels.B", "wheels.a"]);
        assert_eq!(of("two"), ["images.two"]);
        assert_eq!(of("b"), ["wheels.B"]);
        let warnings = |targets: &[&str]| spec.about(targets.iter().copied(), spec.lint()).len();
        assert_eq!(
            (warnings(&["one"]), warnings(&["one", "two"]), warnings(&["b"])),
            (1, 2, 0)
        );
    }
}
