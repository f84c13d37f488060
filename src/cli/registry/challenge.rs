//! What a registry asks for in its header fields, and where its lists go on.

use std::collections::BTreeMap;

/// How a registry wants to be told who asks (`WWW-Authenticate`, RFC 9110 section 11.6.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Challenge {
    /// Name and password with each request.
    Basic,
    /// A token, from somewhere else (distribution's `docs/content/spec/auth/token.md`).
    Bearer {
        /// The URL that gives tokens.
        realm: String,
        /// What the token is for, in that server's words.
        service: Option<String>,
        /// What may be done with it: `repository:NAME:pull`, several with spaces between them.
        scope: Option<String>,
    },
}

impl Challenge {
    /// The challenges of a header field that can be answered, in their order.
    pub(super) fn read(field: &str) -> Vec<Self> {
        let mut schemes: Vec<(String, BTreeMap<String, String>)> = Vec::new();
        let mut rest = field;
        loop {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            let end = rest.find([' ', '\t', ',', '=']).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            if after.is_empty() && word.is_empty() {
                break;
            }
            rest = if let Some(after) = after.trim_start().strip_prefix('=') {
                let (value, after) = value(after.trim_start());
                if let Some((_, parameters)) = schemes.last_mut() {
                    parameters.insert(word.to_ascii_lowercase(), value);
                }
                after
            } else {
                schemes.push((word.to_ascii_lowercase(), BTreeMap::new()));
                after
            };
        }
        let answerable = schemes
            .into_iter()
            .filter_map(|(scheme, mut parameters)| match &*scheme {
                "basic" => Some(Self::Basic),
                "bearer" => Some(Self::Bearer {
                    realm: parameters.remove("realm")?,
                    service: parameters.remove("service"),
                    scope: parameters.remove("scope"),
                }),
                _ => None,
            });
        answerable.collect()
    }
}

/// The value of a parameter, in quotes or without, and what follows it.
fn value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([' ', '\t', ',']).unwrap_or(text.len());
        let (value, rest) = text.split_at(end);
        return (value.to_owned(), rest);
    };
    let (mut value, mut is_escaped) = (String::new(), false);
    for (at, letter) in quoted.char_indices() {
        match letter {
            '\\' if !is_escaped => is_escaped = true,
            '"' if !is_escaped => return (value, &quoted[at + 1..]),
            _ => {
                value.push(letter);
                is_escaped = false;
            }
        }
    }
    (value, "")
}

/// Where a list goes on: the link with the relation `next` of a `Link` field (RFC 8288).
pub(super) fn next_link(field: &str) -> Option<&str> {
    // A URL has no angle brackets.
    field.split('<').skip(1).find_map(|link| {
        let (url, parameters) = link.split_once('>')?;
        let is_next = parameters.split([';', ',']).any(|parameter| {
            let relation = parameter.split_once('=');
            relation.is_some_and(|(name, value)| {
                name.trim().eq_ignore_ascii_case("rel")
                    && value
                        .trim()
                        .trim_matches('"')
                        .split(' ')
                        .any(|relation| relation.eq_ignore_ascii_case("next"))
            })
        });
        is_next.then_some(url)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bearer(realm: &str, service: Option<&str>, scope: Option<&str>) -> Challenge {
        Challenge::Bearer {
            realm: realm.to_owned(),
            service: service.map(str::to_owned),
            scope: scope.map(str::to_owned),
        }
    }

    #[test]
    fn challenges_of_registries() {
        let token = "https://auth.example/token";
        let scope = "repository:team/wheels:pull,delete";
        for (field, expected) in [
            (r#"Basic realm="Registry Realm""#, vec![Challenge::Basic]),
            ("basic", vec![Challenge::Basic]),
            (
                r#"Bearer realm="https://auth.example/token",service="registry.example",scope="repository:team/wheels:pull,delete""#,
                vec![bearer(token, Some("registry.example"), Some(scope))],
            ),
            (
                r#"bearer Realm = "https://auth.example/token" , error="insufficient_scope""#,
                vec![bearer(token, None, None)],
            ),
            // Without quotes, and with some of them in the value.
            (
                r#"Bearer realm=https://auth.example/token,service="a \"b\" \\c""#,
                vec![bearer(token, Some(r#"a "b" \c"#), None)],
            ),
            (
                r#"Negotiate YWJj==, Basic realm="x, Bearer realm=y", Bearer realm="https://auth.example/token""#,
                vec![Challenge::Basic, bearer(token, None, None)],
            ),
            // A token without a place to get it is none.
            (r#"Bearer service="registry.example""#, vec![]),
            (r#"Digest realm="x", nonce="y""#, vec![]),
            (
                r#"Bearer realm="https://auth.example/token"#,
                vec![bearer(token, None, None)],
            ),
            ("", vec![]),
            (", ,", vec![]),
            ("=", vec![]),
        ] {
            assert_eq!(Challenge::read(field), expected, "{field}");
        }
    }

    #[test]
    fn links_to_the_next_page() {
        let next = "/v2/team/wheels/tags/list?last=a&n=100";
        for (field, expected) in [
            (format!(r#"<{next}>; rel="next""#), Some(next)),
            (format!("<{next}>;rel=next"), Some(next)),
            (format!(r#"<{next}>; title="x"; REL="start NEXT""#), Some(next)),
            (
                format!(r#"</v2/a>; rel="prev", <{next}>; rel="next""#),
                Some(next),
            ),
            (format!(r#"<{next}>; rel="prev""#), None),
            (format!(r#"<{next}>; rev="next""#), None),
            (format!("<{next}"), None),
            (String::new(), None),
        ] {
            assert_eq!(next_link(&field), expected, "{field}");
        }
    }

    proptest::proptest! {
        #[test]
        fn whatever_comes_is_read_to_its_end(field in ".{0,80}") {
            let _ = (Challenge::read(&field), next_link(&field));
        }
    }
}
