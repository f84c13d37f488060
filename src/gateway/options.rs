//! What the client asked for.
//!
//! Options come as environment variables `BUILDKIT_FRONTEND_OPT_<n>=key=value`; no request returns them
//! (`frontend/gateway/gateway.go` of BuildKit). Their meaning is that of `docker buildx build` and BuildKit's
//! `frontend/dockerui`. Unknown options are ignored, wrong values are diagnostics.

use std::collections::BTreeMap;

use super::client::CacheImport;
use super::values::{WireCacheImport, go_bool, workers};
use crate::diagnostic::Diagnostic;
use crate::llb::ResolveMode;
use crate::platform::Platform;

const OPTION: &str = "BUILDKIT_FRONTEND_OPT_";
const BUILD_ARG: &str = "build-arg:";

/// A machine that executes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// The daemon's id of it.
    pub id: String,
    /// What is said about it.
    pub labels: BTreeMap<String, String>,
    /// What it can run, its own platform first.
    pub platforms: Vec<Platform>,
}

/// Which images are built without known results, `--no-cache` and `--no-cache-filter`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoCache {
    /// None.
    Nothing,
    /// All.
    Everything,
    /// Those with these names, in any case.
    Stages(Vec<String>),
}

impl NoCache {
    /// Whether known results are ignored for `stage`.
    pub fn applies_to(&self, stage: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::Everything => true,
            Self::Stages(stages) => stages.iter().any(|name| name.eq_ignore_ascii_case(stage)),
        }
    }
}

/// The options of a build, and who asked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    by_key: BTreeMap<String, String>,
    session: String,
    workers: Vec<Worker>,
    product: String,
}

impl Options {
    /// Reads an environment; other variables than BuildKit's are passed over.
    pub fn from_env(env: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut read = Self::default();
        for (name, value) in env {
            if name.starts_with(OPTION) {
                let (key, value) = value.split_once('=').unwrap_or((&value, ""));
                read.by_key.insert(key.to_owned(), value.to_owned());
            } else {
                match name.as_str() {
                    "BUILDKIT_SESSION_ID" => read.session = value,
                    "BUILDKIT_WORKERS" => read.workers = workers(&value),
                    "BUILDKIT_EXPORTEDPRODUCT" => read.product = value,
                    _ => {}
                }
            }
        }
        read
    }

    /// Options by key, for tests.
    #[cfg(test)]
    pub(crate) fn of(pairs: &[(&str, &str)]) -> Self {
        let env = pairs
            .iter()
            .enumerate()
            .map(|(index, (key, value))| (format!("{OPTION}{index}"), format!("{key}={value}")));
        Self::from_env(env)
    }

    /// Reads the environment of this process. Variables that are not UTF-8 are not BuildKit's.
    pub fn from_process_env() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self::from_env(std::env::vars_os().filter_map(text))
    }

    /// Whether BuildKit started this process: nobody else sets a session or an option.
    pub fn is_frontend(&self) -> bool {
        !self.session.is_empty() || !self.by_key.is_empty()
    }

    /// An option as it came.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.by_key.get(key).map(String::as_str)
    }

    /// All options whose keys start with `prefix`, by the rest of their keys.
    pub fn with_prefix(&self, prefix: &str) -> BTreeMap<&str, &str> {
        let options = self.by_key.iter();
        options
            .filter_map(|(key, value)| Some((key.strip_prefix(prefix)?, value.as_str())))
            .collect()
    }

    /// All options as they came, to hand them on to another frontend.
    pub fn all(&self) -> &BTreeMap<String, String> {
        &self.by_key
    }

    /// An option that is there and says something.
    pub(crate) fn not_empty(&self, key: &str) -> Option<&str> {
        self.get(key).filter(|value| !value.is_empty())
    }

    /// The client's session.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// The session that has the directory `local`; `docker buildx bake` shares directories between sessions.
    pub fn session_of(&self, local: &str) -> &str {
        self.get(&format!("local-sessionid:{local}"))
            .unwrap_or(&self.session)
    }

    /// What the client adds to the shared key hint of the directory `local`.
    pub fn shared_key_of(&self, local: &str) -> Option<&str> {
        self.not_empty(&format!("sharedkey:localdir:{local}"))
    }

    /// Workers; the first platform of the first is the one that builds by default.
    pub fn workers(&self) -> &[Worker] {
        &self.workers
    }

    /// What the user calls the daemon, for hints to update it; may be empty.
    pub fn product(&self) -> &str {
        &self.product
    }

    /// The build file, relative to its directory.
    pub fn filename(&self) -> Option<&str> {
        self.not_empty("filename")
    }

    /// The image to build.
    pub fn target(&self) -> Option<&str> {
        self.not_empty("target")
    }

    /// The platforms to build for, each once; none when the user named none.
    pub fn platforms(&self) -> Result<Vec<Platform>, Diagnostic> {
        let mut platforms: Vec<Platform> = Vec::new();
        for text in self
            .not_empty("platform")
            .into_iter()
            .flat_map(|list| list.split(','))
        {
            let platform = text.trim().parse().map_err(|error| wrong("platform", error))?;
            if !platforms.contains(&platform) {
                platforms.push(platform);
            }
        }
        Ok(platforms)
    }

    /// Whether the result is one by platform: when the user says so, and with several platforms.
    pub fn multi_platform(&self) -> Result<bool, Diagnostic> {
        let several = self.platforms()?.len() > 1;
        let key = "multi-platform";
        let said = self
            .not_empty("build-arg:BUILDKIT_MULTI_PLATFORM")
            .or_else(|| self.not_empty(key));
        match said.map(|text| go_bool(text).ok_or_else(|| wrong(key, format!("`{text}` is no boolean")))) {
            None => Ok(several),
            Some(Ok(false)) if several => Err(wrong(key, "it is false, but there are several platforms")),
            Some(said) => said,
        }
    }

    /// Build arguments by name.
    pub fn build_args(&self) -> BTreeMap<&str, &str> {
        self.with_prefix(BUILD_ARG)
    }

    /// `BUILDKIT_DOCKERFILE_CHECK`: what takes the place of the `check` directive in the file.
    pub fn check(&self) -> Option<&str> {
        self.get("build-arg:BUILDKIT_DOCKERFILE_CHECK")
    }

    /// Labels of the image.
    pub fn labels(&self) -> BTreeMap<&str, &str> {
        self.with_prefix("label:")
    }

    /// Which images are built without known results.
    pub fn no_cache(&self) -> NoCache {
        match self.get("no-cache") {
            None => NoCache::Nothing,
            Some("") => NoCache::Everything,
            Some(stages) => NoCache::Stages(stages.split(',').map(|stage| stage.trim().to_owned()).collect()),
        }
    }

    /// Where known results are taken from, by both of the forms that clients use.
    pub fn cache_imports(&self) -> Result<Vec<CacheImport>, Diagnostic> {
        let key = "cache-imports";
        let mut imports = match self.not_empty(key) {
            Some(json) => {
                serde_json::from_str::<Vec<WireCacheImport>>(json).map_err(|error| wrong(key, error))?
            }
            None => Vec::new(),
        };
        for reference in self
            .not_empty("cache-from")
            .into_iter()
            .flat_map(|list| list.split(','))
        {
            let attrs = BTreeMap::from([("ref".to_owned(), reference.to_owned())]);
            imports.push(WireCacheImport {
                kind: "registry".to_owned(),
                attrs: Some(attrs),
            });
        }
        let mut unique: Vec<CacheImport> = Vec::new();
        for import in imports {
            let import = CacheImport {
                kind: import.kind,
                attrs: import.attrs.unwrap_or_default(),
            };
            if !unique.contains(&import) {
                unique.push(import);
            }
        }
        Ok(unique)
    }

    /// Where images are looked for.
    pub fn resolve_mode(&self) -> Result<ResolveMode, Diagnostic> {
        let key = "image-resolve-mode";
        match self.get(key) {
            None | Some("" | "default") => Ok(ResolveMode::Default),
            Some("pull") => Ok(ResolveMode::Pull),
            Some("local") => Ok(ResolveMode::Local),
            Some(other) => Err(wrong(
                key,
                format!("`{other}` is none of default, pull and local"),
            )),
        }
    }

    /// The URL of the build context, when it is not a directory of the client. `contextkey` says under which
    /// option it stands.
    pub fn context(&self) -> Option<&str> {
        self.not_empty(self.not_empty("contextkey").unwrap_or("context"))
    }

    /// The directory of the client that has the build file, when it is there although the context is elsewhere.
    pub fn build_file_local(&self) -> Option<&str> {
        self.not_empty("dockerfilekey")
    }

    /// The directory inside the context that counts as the context.
    pub fn context_subdir(&self) -> Option<&str> {
        self.not_empty("contextsubdir")
    }

    /// Whether repositories that are contexts keep their `.git`.
    pub fn keeps_git_dir(&self) -> bool {
        self.not_empty("build-arg:BUILDKIT_CONTEXT_KEEP_GIT_DIR")
            .and_then(go_bool)
            .unwrap_or(false)
    }

    /// The question to answer instead of building.
    pub fn request_id(&self) -> Option<&str> {
        self.not_empty("requestid")
    }

    /// Capabilities that the client asks of the frontend, without the `+suffix` that is meant for the frontend in
    /// front of it.
    pub fn frontend_caps(&self) -> Vec<&str> {
        let caps = self
            .not_empty("frontend.caps")
            .into_iter()
            .flat_map(|list| list.split(','));
        caps.map(|cap| cap.split('+').next().unwrap_or(cap).trim())
            .filter(|cap| !cap.is_empty())
            .collect()
    }

    /// The reference under which this frontend was started.
    pub fn source(&self) -> Option<&str> {
        self.not_empty("source")
    }

    /// The text after `# syntax=`: the reference, and arguments if there are any. It is there only when another
    /// frontend has read that line.
    pub fn cmdline(&self) -> Option<&str> {
        self.not_empty("cmdline")
    }
}

/// A wrong value.
pub(crate) fn wrong(key: &str, reason: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::error(format!("the option `{key}` is wrong: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message<T: std::fmt::Debug>(result: Result<T, Diagnostic>) -> String {
        result.unwrap_err().message
    }

    #[test]
    fn reads_buildkits_variables_and_no_others() {
        let workers = r#"[{"id":"w","labels":{"a":"b"},"gcPolicy":null,
            "platforms":[{"architecture":"arm64","os":"linux","variant":"v8"},{"os":"linux","architecture":"386"}]}]"#;
        let env = [
            ("PATH", "/bin"),
            ("BUILDKIT_FRONTEND_OPT_0", "filename=wheelbase.toml"),
            ("BUILDKIT_FRONTEND_OPT_17", "build-arg:A=b=c\nd"),
            ("BUILDKIT_FRONTEND_OPT_3", "bare"),
            ("BUILDKIT_SESSION_ID", "s"),
            ("BUILDKIT_WORKERS", workers),
            ("BUILDKIT_EXPORTEDPRODUCT", "docker"),
        ];
        let options = Options::from_env(env.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(options.filename(), Some("wheelbase.toml"));
        assert_eq!(options.build_args(), BTreeMap::from([("A", "b=c\nd")]));
        assert_eq!(options.get("bare"), Some(""));
        assert_eq!(options.all().len(), 3);
        assert_eq!((options.session(), options.product()), ("s", "docker"));
        assert_eq!(options.workers()[0].labels["a"], "b");
        assert_eq!(options.workers()[0].platforms[0], Platform::linux_arm64());
        assert_eq!(options.workers()[0].platforms[1].to_string(), "linux/386");
        assert!(options.is_frontend());
        assert!(!Options::from_env([("PATH".to_owned(), "/bin".to_owned())]).is_frontend());
    }

    #[test]
    fn workers_that_cannot_be_read_are_unknown() {
        for json in ["", "null", "{}", "[1]"] {
            let options = Options::from_env([("BUILDKIT_WORKERS".to_owned(), json.to_owned())]);
            assert!(options.workers().is_empty(), "{json}");
        }
        let null = r#"[{"id":"w","labels":null,"platforms":null}]"#;
        let options = Options::from_env([("BUILDKIT_WORKERS".to_owned(), null.to_owned())]);
        assert_eq!(options.workers()[0].id, "w");
    }

    #[test]
    fn nothing_is_asked_by_default() {
        let none = Options::default();
        assert_eq!(
            (none.filename(), none.target(), none.context(), none.request_id()),
            (None, None, None, None)
        );
        assert_eq!(
            (
                none.source(),
                none.cmdline(),
                none.hostname(),
                none.cgroup_parent()
            ),
            (None, None, None, None)
        );
        assert_eq!((none.build_file_local(), none.context_subdir()), (None, None));
        assert_eq!(none.platforms(), Ok(Vec::new()));
        assert_eq!(none.multi_platform(), Ok(false));
        assert_eq!(none.no_cache(), NoCache::Nothing);
        assert_eq!(none.cache_imports(), Ok(Vec::new()));
        assert_eq!(none.resolve_mode(), Ok(ResolveMode::Default));
        assert!(none.frontend_caps().is_empty());
    }

    #[test]
    fn platforms_are_normalised_and_distinct() {
        let several = Options::of(&[("platform", "linux/amd64,linux/aarch64,linux/x86_64")]);
        assert_eq!(
            several.platforms(),
            Ok(vec![Platform::linux_amd64(), Platform::linux_arm64()])
        );
        assert_eq!(several.multi_platform(), Ok(true));
        assert!(
            message(Options::of(&[("platform", "linux")]).platforms())
                .starts_with("the option `platform` is wrong")
        );
    }

    #[test]
    fn multi_platform_is_what_the_user_says_if_it_can_be() {
        let with = |key: &str, value: &str, platforms: &str| {
            Options::of(&[("platform", platforms), (key, value)]).multi_platform()
        };
        assert_eq!(with("multi-platform", "true", "linux/amd64"), Ok(true));
        assert_eq!(with("multi-platform", "0", "linux/amd64"), Ok(false));
        assert_eq!(with("build-arg:BUILDKIT_MULTI_PLATFORM", "1", ""), Ok(true));
        assert!(
            message(with("multi-platform", "false", "linux/amd64,linux/arm64")).contains("several platforms")
        );
        assert!(message(with("multi-platform", "maybe", "")).contains("`maybe` is no boolean"));
    }

    #[test]
    fn caches_come_in_two_forms() {
        let json = r#"[{"Type":"registry","Attrs":{"ref":"a"}},{"Type":"gha","Attrs":null}]"#;
        let imports = Options::of(&[("cache-imports", json), ("cache-from", "a,b")])
            .cache_imports()
            .unwrap();
        let found: Vec<(&str, Option<&str>)> = imports
            .iter()
            .map(|one| (one.kind.as_str(), one.attrs.get("ref").map(String::as_str)))
            .collect();
        assert_eq!(
            found,
            [("registry", Some("a")), ("gha", None), ("registry", Some("b"))]
        );
        assert!(message(Options::of(&[("cache-imports", "{")]).cache_imports()).contains("`cache-imports`"));
    }

    #[test]
    fn no_cache_names_stages_in_any_case() {
        assert!(Options::of(&[("no-cache", "")]).no_cache().applies_to("any"));
        let some = Options::of(&[("no-cache", "train, Serve")]).no_cache();
        assert!(some.applies_to("TRAIN") && some.applies_to("serve") && !some.applies_to("dev"));
        assert!(!NoCache::Nothing.applies_to("train"));
    }

    #[test]
    fn the_context_has_its_key_and_its_session() {
        let options = Options::of(&[
            ("contextkey", "ctx"),
            ("ctx", "https://git.example/a.git"),
            ("context", "ignored"),
            ("dockerfilekey", "dockerfile"),
            ("contextsubdir", "sub"),
            ("local-sessionid:context", "other"),
            ("sharedkey:localdir:src", "key"),
        ]);
        assert_eq!(options.context(), Some("https://git.example/a.git"));
        assert_eq!(
            (options.build_file_local(), options.context_subdir()),
            (Some("dockerfile"), Some("sub"))
        );
        assert_eq!(
            (options.session_of("context"), options.session_of("dockerfile")),
            ("other", "")
        );
        assert_eq!(
            (options.shared_key_of("src"), options.shared_key_of("context")),
            (Some("key"), None)
        );
    }

    #[test]
    fn images_are_looked_for_as_the_user_says() {
        let mode = |mode: &str| Options::of(&[("image-resolve-mode", mode)]).resolve_mode();
        assert_eq!(mode("default"), Ok(ResolveMode::Default));
        assert_eq!(mode("pull"), Ok(ResolveMode::Pull));
        assert_eq!(mode("local"), Ok(ResolveMode::Local));
        assert!(message(mode("never")).contains("`never` is none of"));
    }

    #[test]
    fn capabilities_lose_their_suffix() {
        let caps = "moby.buildkit.frontend.contexts+forward,moby.buildkit.frontend.inputs,";
        let options = Options::of(&[("frontend.caps", caps), ("requestid", "frontend.targets")]);
        let expected = ["moby.buildkit.frontend.contexts", "moby.buildkit.frontend.inputs"];
        assert_eq!(options.frontend_caps(), expected);
        assert_eq!(options.request_id(), Some("frontend.targets"));
    }
}
