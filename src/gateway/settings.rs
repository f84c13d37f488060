//! Options that set up processes and files: network, limits, times.

use super::options::{Options, wrong};
use super::values::{comma_separated, is_cpu_set, ulimit};
use crate::diagnostic::Diagnostic;
use crate::llb::{ExtraHost, Network, ProxyEnv, Resources, Ulimit};

impl Options {
    /// The proxy variables among the build arguments, in whatever case they are written.
    pub fn proxy(&self) -> Option<ProxyEnv> {
        let mut proxy = ProxyEnv::default();
        let mut found = false;
        for (name, value) in self.build_args() {
            let field = match name.to_ascii_lowercase().as_str() {
                "http_proxy" => &mut proxy.http,
                "https_proxy" => &mut proxy.https,
                "ftp_proxy" => &mut proxy.ftp,
                "no_proxy" => &mut proxy.no,
                "all_proxy" => &mut proxy.all,
                _ => continue,
            };
            value.clone_into(field);
            found = true;
        }
        found.then_some(proxy)
    }

    /// The network of processes that ask for none in particular.
    pub fn network(&self) -> Result<Network, Diagnostic> {
        let key = "force-network-mode";
        match self.get(key) {
            None | Some("" | "sandbox") => Ok(Network::Sandbox),
            Some("host") => Ok(Network::Host),
            Some("none") => Ok(Network::None),
            Some(other) => Err(wrong(key, format!("`{other}` is none of sandbox, host and none"))),
        }
    }

    /// Further lines of `/etc/hosts`.
    pub fn extra_hosts(&self) -> Result<Vec<ExtraHost>, Diagnostic> {
        let key = "add-hosts";
        let fields = comma_separated(self.get(key).unwrap_or_default());
        let hosts = fields.into_iter().map(|field| {
            let field = field.to_ascii_lowercase();
            let (host, ip) = field
                .split_once('=')
                .ok_or_else(|| wrong(key, format!("`{field}` has no `=`")))?;
            let ip: std::net::IpAddr = ip
                .parse()
                .map_err(|_| wrong(key, format!("`{ip}` is no IP address")))?;
            Ok(ExtraHost {
                host: host.to_owned(),
                ip: ip.to_string(),
            })
        });
        hosts.collect()
    }

    /// Resource limits of processes.
    pub fn ulimits(&self) -> Result<Vec<Ulimit>, Diagnostic> {
        let key = "ulimit";
        let fields = comma_separated(self.get(key).unwrap_or_default());
        fields
            .iter()
            .map(|field| {
                ulimit(field).ok_or_else(|| {
                    wrong(
                        key,
                        format!("`{field}` is not of the form name=soft[:hard], with soft below hard"),
                    )
                })
            })
            .collect()
    }

    /// Bytes of `/dev/shm`.
    pub fn shm_size(&self) -> Result<Option<u64>, Diagnostic> {
        let size = self
            .not_empty("shm-size")
            .map(|text| text.parse().map_err(|error| wrong("shm-size", error)));
        // 0 is how clients say that nobody said anything.
        Ok(size.transpose()?.filter(|size| *size != 0))
    }

    /// The cgroup above those of processes.
    pub fn cgroup_parent(&self) -> Option<&str> {
        self.not_empty("cgroup-parent")
    }

    /// The host name of processes.
    pub fn hostname(&self) -> Option<&str> {
        self.not_empty("build-arg:BUILDKIT_SANDBOX_HOSTNAME")
            .or_else(|| self.not_empty("hostname"))
    }

    /// What a step may use of the machine; `None` when nothing is said (`parseLinuxResources` of BuildKit's
    /// `frontend/dockerui/attr.go`).
    pub fn resources(&self) -> Result<Option<Resources>, Diagnostic> {
        let resources = Resources {
            memory: self.positive("memory")?,
            memory_swap: match self.not_empty("memswap") {
                Some("-1") => Some(-1),
                _ => self.positive("memswap")?,
            },
            cpu_shares: self.positive("cpushares")?,
            cpu_period: self.positive("cpuperiod")?,
            cpu_quota: self.positive("cpuquota")?,
            cpus: self.cpu_set("cpusetcpus")?,
            memory_nodes: self.cpu_set("cpusetmems")?,
        };
        Ok((resources != Resources::default()).then_some(resources))
    }

    /// A number above 0.
    fn positive<N>(&self, key: &str) -> Result<Option<N>, Diagnostic>
    where
        N: std::str::FromStr + PartialOrd + Default,
    {
        let Some(text) = self.not_empty(key) else {
            return Ok(None);
        };
        match text.parse() {
            Ok(number) if number > N::default() => Ok(Some(number)),
            _ => Err(wrong(key, format!("`{text}` is no number above 0"))),
        }
    }

    /// Numbers and ranges of processors or memory nodes; empty when nothing is said.
    fn cpu_set(&self, key: &str) -> Result<String, Diagnostic> {
        match self.not_empty(key) {
            None => Ok(String::new()),
            Some(text) if is_cpu_set(text) => Ok(text.to_owned()),
            Some(text) => Err(wrong(key, format!("`{text}` is not of the form 0-3,7"))),
        }
    }

    /// Seconds since 1970 that the image gets as its time. BuildKit's own frontend also takes the name of a git or http
    /// source, whose time it asks for; a build context that is one is refused anyway.
    pub fn source_date_epoch(&self) -> Result<Option<i64>, Diagnostic> {
        // The last second of the year 9999: dates of images (RFC 3339) end there.
        const LAST: i64 = 253_402_300_799;
        let key = "build-arg:SOURCE_DATE_EPOCH";
        match self.not_empty(key).map(|text| (text, text.parse())) {
            None => Ok(None),
            Some((_, Ok(seconds))) if (0..=LAST).contains(&seconds) => Ok(Some(seconds)),
            Some((text, Ok(_))) => Err(wrong(key, format!("{text} is not in the years 1970 to 9999"))),
            Some((text, Err(_))) => Err(wrong(key, format!("`{text}` is no number of seconds since 1970"))),
        }
    }

    /// What stands in front of the ids of cache mounts.
    pub fn cache_mount_namespace(&self) -> Option<&str> {
        self.not_empty("build-arg:BUILDKIT_CACHE_MOUNT_NS")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message<T: std::fmt::Debug>(result: Result<T, Diagnostic>) -> String {
        result.unwrap_err().message
    }

    #[test]
    fn nothing_is_set_by_default() {
        let none = Options::default();
        assert_eq!(none.network(), Ok(Network::Sandbox));
        assert_eq!(
            (none.extra_hosts(), none.ulimits()),
            (Ok(Vec::new()), Ok(Vec::new()))
        );
        assert_eq!((none.shm_size(), none.source_date_epoch()), (Ok(None), Ok(None)));
        assert_eq!(Options::of(&[("shm-size", "0")]).shm_size(), Ok(None));
        assert_eq!(
            (none.cgroup_parent(), none.hostname(), none.proxy()),
            (None, None, None)
        );
        assert_eq!(none.resources(), Ok(None));
        assert_eq!(
            Options::of(&[("memory", ""), ("cpusetcpus", "")]).resources(),
            Ok(None)
        );
    }

    #[test]
    fn settings_of_processes() {
        let given = Options::of(&[
            ("force-network-mode", "none"),
            ("add-hosts", "Index.example=10.0.0.1,v6.example=::1"),
            ("ulimit", "nofile=1024:2048,core=0"),
            ("shm-size", "1048576"),
            ("cgroup-parent", "cg"),
            ("hostname", "plain"),
            ("build-arg:BUILDKIT_SANDBOX_HOSTNAME", "sandbox"),
            ("build-arg:HTTP_PROXY", "http://proxy.example"),
            ("build-arg:no_proxy", "localhost"),
            ("build-arg:SOURCE_DATE_EPOCH", "1700000000"),
            ("build-arg:BUILDKIT_CACHE_MOUNT_NS", "ns"),
        ]);
        assert_eq!(given.network(), Ok(Network::None));
        let hosts = given.extra_hosts().unwrap();
        assert_eq!(
            (hosts[0].host.as_str(), hosts[0].ip.as_str()),
            ("index.example", "10.0.0.1")
        );
        assert_eq!(
            (hosts[1].host.as_str(), hosts[1].ip.as_str()),
            ("v6.example", "::1")
        );
        let limits = given.ulimits().unwrap();
        assert_eq!((limits[0].soft, limits[0].hard, limits[1].hard), (1024, 2048, 0));
        assert_eq!(given.shm_size(), Ok(Some(1 << 20)));
        assert_eq!(
            (given.cgroup_parent(), given.hostname()),
            (Some("cg"), Some("sandbox"))
        );
        let proxy = given.proxy().unwrap();
        assert_eq!(
            (proxy.http.as_str(), proxy.no.as_str()),
            ("http://proxy.example", "localhost")
        );
        assert_eq!(given.source_date_epoch(), Ok(Some(1_700_000_000)));
        assert_eq!(given.cache_mount_namespace(), Some("ns"));
    }

    #[test]
    fn resources_of_steps() {
        let given = Options::of(&[
            ("memory", "1073741824"),
            ("memswap", "-1"),
            ("cpushares", "512"),
            ("cpuperiod", "100000"),
            ("cpuquota", "50000"),
            ("cpusetcpus", "0-3,7"),
            ("cpusetmems", "0"),
        ]);
        let expected = Resources {
            memory: Some(1 << 30),
            memory_swap: Some(-1),
            cpu_shares: Some(512),
            cpu_period: Some(100_000),
            cpu_quota: Some(50_000),
            cpus: "0-3,7".to_owned(),
            memory_nodes: "0".to_owned(),
        };
        assert_eq!(given.resources(), Ok(Some(expected)));
        let only = Options::of(&[("memory", "7")]).resources().unwrap().unwrap();
        assert_eq!((only.memory, only.cpu_quota), (Some(7), None));
        for (key, value) in [
            ("memory", "0"),
            ("memory", "-1"),
            ("memory", "1g"),
            ("memswap", "-2"),
            ("memswap", "0"),
            ("cpushares", "0"),
            ("cpuperiod", "-1"),
            ("cpuquota", "-1"),
            ("cpusetcpus", "0-"),
            ("cpusetmems", "all"),
        ] {
            let said = message(Options::of(&[(key, value)]).resources());
            assert!(
                said.starts_with(&format!("the option `{key}` is wrong: `{value}` is")),
                "{said}"
            );
        }
    }

    #[test]
    fn wrong_values_name_their_option() {
        let said = Options::of(&[
            ("force-network-mode", "bridge"),
            ("shm-size", "big"),
            ("build-arg:SOURCE_DATE_EPOCH", "context"),
        ]);
        assert!(message(said.network()).contains("`bridge` is none of"));
        assert!(message(said.shm_size()).contains("`shm-size`"));
        assert!(message(said.source_date_epoch()).contains("SOURCE_DATE_EPOCH"));
        for (seconds, reason) in [
            ("-1", "is not in the years 1970 to 9999"),
            ("253402300800", "is not in the years 1970 to 9999"),
            ("1.5", "is no number of seconds"),
        ] {
            let said = message(Options::of(&[("build-arg:SOURCE_DATE_EPOCH", seconds)]).source_date_epoch());
            assert!(said.contains(reason), "{said}");
        }
        for limit in ["nofile", "nofile=2:1", "nofile=x"] {
            assert!(message(Options::of(&[("ulimit", limit)]).ulimits()).contains("`ulimit`"));
        }
        for hosts in ["a", "a=b"] {
            assert!(message(Options::of(&[("add-hosts", hosts)]).extra_hosts()).contains("`add-hosts`"));
        }
    }
}
