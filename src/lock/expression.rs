//! The value of a marker (PEP 508) in one environment.

use pep440_rs::{Version, VersionSpecifier};

use super::{PythonVersion, normalise};
use crate::platform::Platform;

/// The values of the marker variables on a target: `CPython` on Linux.
#[derive(Debug, Clone)]
pub(super) struct Environment {
    python_version: Version,
    python_full_version: Version,
    machine: String,
}

impl Environment {
    pub(super) fn new(platform: &Platform, python: PythonVersion) -> Self {
        let PythonVersion { major, minor, patch } = python;
        let (major, minor, patch) = (u64::from(major), u64::from(minor), u64::from(patch.unwrap_or(0)));
        Self {
            python_version: Version::new([major, minor]),
            python_full_version: Version::new([major, minor, patch]),
            machine: platform.machine().to_owned(),
        }
    }

    /// The Python with its patch level.
    pub(super) fn python(&self) -> &Version {
        &self.python_full_version
    }

    fn text(&self, variable: Text) -> &str {
        match variable {
            Text::ImplementationName => "cpython",
            Text::OsName => "posix",
            Text::PlatformMachine => &self.machine,
            Text::PlatformPythonImplementation => "CPython",
            Text::PlatformSystem => "Linux",
            Text::SysPlatform => "linux",
            // The kernel is the host's: nothing can be said of it when an image is planned.
            Text::PlatformRelease | Text::PlatformVersion => "",
        }
    }
}

/// A set that a marker can ask for a member (PEP 751).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Set {
    Extras,
    DependencyGroups,
}

impl Set {
    /// A member as the name of an extra, which an expression knows already. No extra has a `=` in its name.
    pub(super) fn member(self, name: &str) -> String {
        let set = match self {
            Self::Extras => "extras",
            Self::DependencyGroups => "dependency_groups",
        };
        let name = normalise(name).unwrap_or_else(|| name.to_owned());
        format!("{set}={name}")
    }
}

/// A string variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Text {
    ImplementationName,
    OsName,
    PlatformMachine,
    PlatformPythonImplementation,
    PlatformRelease,
    PlatformSystem,
    PlatformVersion,
    SysPlatform,
}

/// A version variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Release {
    Implementation,
    PythonFull,
    Python,
}

/// A comparison of strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// The variable is a part of the value.
    In,
    NotIn,
    /// The value is a part of the variable.
    Contains,
    NotContains,
}

/// A marker as a formula.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expression {
    All(Vec<Expression>),
    Any(Vec<Expression>),
    Text {
        variable: Text,
        comparison: Comparison,
        value: String,
    },
    Release {
        variable: Release,
        specifier: VersionSpecifier,
    },
    /// `in` and `not in` with a list of versions.
    OneOf {
        variable: Release,
        versions: Vec<Version>,
        negated: bool,
    },
    Extra {
        name: String,
        negated: bool,
    },
}

impl Expression {
    /// The value in an environment with some extras on; conflict items count as extras, in uv's encoding.
    pub(super) fn evaluate(&self, environment: &Environment, is_on: &impl Fn(&str) -> bool) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.evaluate(environment, is_on)),
            Self::Any(parts) => parts.iter().any(|part| part.evaluate(environment, is_on)),
            Self::Text {
                variable,
                comparison,
                value,
            } => {
                let actual = environment.text(*variable);
                let value = value.as_str();
                match comparison {
                    Comparison::Equal => actual == value,
                    Comparison::NotEqual => actual != value,
                    Comparison::Less => actual < value,
                    Comparison::LessOrEqual => actual <= value,
                    Comparison::Greater => actual > value,
                    Comparison::GreaterOrEqual => actual >= value,
                    Comparison::In => value.contains(actual),
                    Comparison::NotIn => !value.contains(actual),
                    Comparison::Contains => actual.contains(value),
                    Comparison::NotContains => !actual.contains(value),
                }
            }
            Self::Release { variable, specifier } => {
                specifier.contains(Self::release(environment, *variable))
            }
            Self::OneOf {
                variable,
                versions,
                negated,
            } => versions.contains(Self::release(environment, *variable)) != *negated,
            Self::Extra { name, negated } => is_on(name) != *negated,
        }
    }

    /// Whether it holds in an environment for some choice of extras, taken as free of each other.
    pub(super) fn is_possible(&self, environment: &Environment) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.is_possible(environment)),
            Self::Any(parts) => parts.iter().any(|part| part.is_possible(environment)),
            Self::Extra { .. } => true,
            Self::Text { .. } | Self::Release { .. } | Self::OneOf { .. } => {
                self.evaluate(environment, &|_| false)
            }
        }
    }

    /// Whether its value can depend on extras.
    pub(super) fn has_extra(&self) -> bool {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().any(Self::has_extra),
            Self::Extra { .. } => true,
            Self::Text { .. } | Self::Release { .. } | Self::OneOf { .. } => false,
        }
    }

    fn release(environment: &Environment, variable: Release) -> &Version {
        match variable {
            Release::Python => &environment.python_version,
            // CPython's implementation version is its own.
            Release::PythonFull | Release::Implementation => &environment.python_full_version,
        }
    }
}
