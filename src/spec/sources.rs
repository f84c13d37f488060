//! `wheels.NAME.source`: where the source of a wheel is, or the wheel itself.

use toml::Spanned;

use super::findings::{Findings, Problem};
use super::model::WheelSource;
use super::section::{Section, unique};
use super::{names, paths, python, urls};

/// Archives that can be unpacked, by the ends of their names.
const ARCHIVES: &[&str] = &[
    ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst", ".tzst", ".tar", ".zip",
];

/// Reads a source. `wheel` is the wheel's name, normalised; `mirror` takes the place of an image's registry.
pub(super) fn decode(
    section: &Section<'_>,
    wheel: &str,
    mirror: Option<&str>,
    findings: &mut Findings,
) -> Option<WheelSource> {
    if section.has("image") {
        return image(section, mirror, findings);
    }
    if section.has("path") {
        return folder(section, findings);
    }
    if section.has("git") {
        return git(section, findings);
    }
    if section.has("wheel") {
        return ready(section, wheel, findings);
    }
    if section.has("url") {
        return archive(section, findings);
    }
    match section.boolean("lock") {
        Some(true) => Some(WheelSource::Lock {
            span: Spanned::new(section.key_span("lock"), ()),
        }),
        Some(false) => {
            findings.error(
                section.key_span("lock"),
                "`lock = false` says where the source is not",
                "",
                "write lock = true, or `path`, or `git` with `rev`",
            );
            None
        }
        None => None,
    }
}

fn folder(section: &Section<'_>, findings: &mut Findings) -> Option<WheelSource> {
    let path = section.string("path")?;
    let checked = findings.check(path.span(), paths::context(path.get_ref()));
    let patterns = |key, check: fn(&str) -> Result<String, Problem>, findings: &mut Findings| {
        let items = section.strings(key).unwrap_or_default();
        unique(findings, &format!("`{key}`"), items)
            .iter()
            .filter_map(|item| findings.check(item.span(), check(item.get_ref())))
            .collect::<Vec<String>>()
    };
    let include = patterns("include", paths::included, findings);
    let exclude = patterns("exclude", paths::excluded, findings);
    Some(WheelSource::Path {
        path: Spanned::new(path.span(), checked?),
        include,
        exclude,
    })
}

fn git(section: &Section<'_>, findings: &mut Findings) -> Option<WheelSource> {
    let url = section.string("git").and_then(|url| {
        findings
            .check(url.span(), urls::repository(url.get_ref()))
            .map(|()| url)
    });
    let address = url.as_ref().map(|url| url.get_ref().as_str());
    let rev = section.string("rev").and_then(|rev| {
        let commit = findings.check(rev.span(), urls::commit(rev.get_ref(), address))?;
        Some(Spanned::new(rev.span(), commit))
    });
    let subdir = subdir(section, "the repository", findings);
    let scheme = address.and_then(|address| Some(address.split_once("://")?.0));
    let token = section.string("token").and_then(|token| {
        if scheme.is_some_and(|scheme| scheme == "ssh" || scheme == "git") {
            findings.error(
                section.key_span("token"),
                "a token is for repositories over `https`",
                "",
                "remove it: over `ssh` the keys of the agent count, which `docker buildx build --ssh default` gives",
            );
        }
        let checked = names::secret(token.get_ref());
        if checked.is_err() {
            findings.conceal(token.span());
        }
        findings.check(token.span(), checked).map(|()| token.into_inner())
    });
    let known_hosts = section.string("known-hosts").and_then(|lines| {
        if scheme.is_some_and(|scheme| scheme != "ssh") {
            findings.error(
                section.key_span("known-hosts"),
                "host keys are for repositories over `ssh`",
                "",
                "remove it, or write the URL as \"ssh://git@host/path\"",
            );
        }
        findings
            .check(lines.span(), names::known_hosts(lines.get_ref()))
            .map(|()| lines.into_inner())
    });
    Some(WheelSource::Git {
        url: url?,
        rev: rev?,
        subdir: subdir?,
        submodules: section.boolean("submodules").unwrap_or(true),
        token,
        known_hosts,
    })
}

fn archive(section: &Section<'_>, findings: &mut Findings) -> Option<WheelSource> {
    let download = urls::download(findings, section);
    let subdir = subdir(section, "the archive", findings);
    let download = download?;
    let name = file_name(download.url.get_ref());
    if ARCHIVES.iter().any(|end| name.ends_with(end)) {
        return Some(WheelSource::Archive {
            archive: download,
            subdir: subdir?,
        });
    }
    let help = if has_wheel_suffix(name) {
        format!(
            "write `wheel` instead of `url`: {{ wheel = \"{}\", ... }}",
            download.url.get_ref()
        )
    } else {
        format!("give an archive whose name ends in {}", ARCHIVES.join(", "))
    };
    findings.error(
        download.url.span(),
        format!("`{name}` is not an archive of a source"),
        "",
        help,
    );
    None
}

fn image(section: &Section<'_>, mirror: Option<&str>, findings: &mut Findings) -> Option<WheelSource> {
    // Beside keys of a folder, which are an error already, nobody knows which of the two `path` is meant for.
    let mixed = section.has("include") || section.has("exclude");
    let reference = section
        .string("image")
        .and_then(|text| python::image_reference(&text, mirror, findings));
    let path = section.string("path").filter(|_| !mixed);
    let path = path.and_then(|path| findings.check(path.span(), paths::absolute(path.get_ref())));
    Some(WheelSource::Image {
        reference: reference?,
        path: path?,
    })
}

fn ready(section: &Section<'_>, wheel: &str, findings: &mut Findings) -> Option<WheelSource> {
    let place = section.string("wheel")?;
    let is_url = place.get_ref().contains("://");
    let named = findings.check(place.span(), is_wheel_of(file_name(place.get_ref()), wheel));
    if !is_url {
        if section.has("sha256") {
            findings.error(
                section.key_span("sha256"),
                "a wheel of the build context needs no `sha256`",
                "",
                "remove it: the file counts by its content",
            );
        }
        let path = findings.check(place.span(), paths::context(place.get_ref()))?;
        named?;
        return Some(WheelSource::ReadyInContext(Spanned::new(place.span(), path)));
    }
    let url = findings.check(place.span(), urls::file(place.get_ref()));
    if !section.has("sha256") {
        findings.error(
            section.key_span("wheel"),
            "a wheel from a URL needs its `sha256`",
            "what is there can change",
            "add sha256 = \"<64 hex digits>\", as `sha256sum` prints them",
        );
    }
    let hash = section
        .string("sha256")
        .and_then(|hash| findings.check(hash.span(), urls::sha256(hash.get_ref())));
    url.and(named)?;
    Some(WheelSource::Ready(super::model::Download {
        url: place,
        sha256: hash?,
    }))
}

/// `subdir`; the empty path when there is none.
fn subdir(section: &Section<'_>, tree: &str, findings: &mut Findings) -> Option<String> {
    match section.string("subdir") {
        Some(path) => findings.check(path.span(), paths::inside(path.get_ref(), tree)),
        None => Some(String::new()),
    }
}

/// The last part of a URL or path, without query and fragment.
fn file_name(place: &str) -> &str {
    let path = if place.contains("://") {
        place.split(['?', '#']).next().unwrap_or(place)
    } else {
        place
    };
    path.rsplit('/').next().unwrap_or(path)
}

fn has_wheel_suffix(name: &str) -> bool {
    name.strip_suffix(".whl").is_some_and(|stem| !stem.is_empty())
}

/// Whether a file name is that of a wheel (PEP 427) of a package.
fn is_wheel_of(file: &str, package: &str) -> Result<(), Problem> {
    let parts = file.strip_suffix(".whl").map(|stem| stem.split('-').count());
    if !parts.is_some_and(|parts| parts == 5 || parts == 6) {
        return Err(Problem::new(
            format!("`{file}` is not the file name of a wheel"),
            "give the name that the build gave it: NAME-VERSION-PYTHON-ABI-PLATFORM.whl",
        ));
    }
    let name = file.split('-').next().unwrap_or_default();
    match names::package(name) {
        Ok(name) if name == package => Ok(()),
        Ok(name) => Err(Problem::new(
            format!("`{file}` is a wheel of `{name}`, not of `{package}`"),
            format!("name the table [wheels.{name}]"),
        )),
        Err(problem) => Err(problem),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wheels_have_names() {
        assert!(is_wheel_of("flash_attn-2.8.3-cp312-cp312-linux_x86_64.whl", "flash-attn").is_ok());
        assert!(is_wheel_of("fast-1-1b-py3-none-any.whl", "fast").is_ok());
        let problem = is_wheel_of("fast-1-py3-none-any.whl", "other").unwrap_err();
        assert_eq!(problem.help, "name the table [wheels.fast]");
        for name in [
            "fast.whl",
            "fast-1.tar.gz",
            "fast-1-py3-none.whl",
            "-1-py3-none-any.whl",
        ] {
            assert!(is_wheel_of(name, "fast").is_err(), "{name}");
        }
    }

    #[test]
    fn file_names_end_urls() {
        assert_eq!(file_name("https://files.example/a/b.tar.gz?x=/y#z"), "b.tar.gz");
        assert_eq!(file_name("wheels/a#b.whl"), "a#b.whl");
    }
}
