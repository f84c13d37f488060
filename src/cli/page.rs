//! The histories of images as one page that needs no other file and no script.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::tally::{Span, changed, untouched};
use crate::plan::show::bytes;
use crate::plan::{Point, Policy, Replay};

/// The plot in its own units: the whole, and the rectangle of the axes.
const WIDTH: u32 = 800;
const HEIGHT: u32 = 300;
const LEFT: u32 = 72;
const RIGHT: u32 = 640;
const TOP: u32 = 16;
const BOTTOM: u32 = 260;

/// Least distance of two words at the ends of lines.
const LINE_HEIGHT: u32 = 16;

/// More points than this are drawn without words of their own.
const MOST_POINTS: usize = 400;

/// The bytes of one line of the plot.
type Bytes = fn(&Point) -> u64;

const STYLE: &str = "
:root { color-scheme: light dark; --text: #1b1f24; --quiet: #59636e; --rule: #d1d9e0; --page: #ffffff;
  --file: #b3400a; --subset: #0a58a8; --layers: #0a7a4b; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e9ed; --quiet: #9aa4af; --rule: #3a424c; --page: #14181d;
  --file: #f0883e; --subset: #6cb0f5; --layers: #4ac78f; } }
body { margin: 2rem auto; max-width: 50rem; padding: 0 1rem; background: var(--page); color: var(--text);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.15rem; margin-top: 2.5rem; }
p { max-width: 44rem; } .quiet { color: var(--quiet); }
svg { width: 100%; height: auto; font: 12px system-ui, sans-serif; }
svg text { fill: var(--quiet); } .axis { stroke: var(--rule); stroke-width: 1; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; } .hit { fill: transparent; }
.file { stroke: var(--file); } .subset { stroke: var(--subset); stroke-dasharray: 7 3; }
.layers { stroke: var(--layers); stroke-width: 3; }
svg text.file-word { fill: var(--file); } svg text.subset-word { fill: var(--subset); }
svg text.layers-word { fill: var(--layers); }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .75rem .25rem 0; text-align: right; border-bottom: 1px solid var(--rule); }
th:first-child, td:first-child { text-align: left; }
";

/// The page.
pub(super) fn html(span: &Span, images: &BTreeMap<String, Replay>) -> String {
    let mut out = String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    let title = escape(&span.title);
    let _ = writeln!(out, "<title>Replay of {title}</title>\n<style>{STYLE}</style>");
    let _ = writeln!(out, "</head>\n<body>\n<h1>Replay of {title}</h1>");
    let _ = writeln!(
        out,
        "<p>{} versions, {}. Each edit of the lock is compared with the version before it. Bytes are those of the \
         wheels in the layers that the edit makes anew, as the lock gives them.</p>",
        span.versions,
        escape(&span.ends)
    );
    for (name, image) in images {
        section(&mut out, name, image);
    }
    out.push_str("</body>\n</html>\n");
    out
}

fn section(out: &mut String, name: &str, image: &Replay) {
    let _ = writeln!(
        out,
        "<section>\n<h2>{}</h2>\n<p>{}.</p>",
        escape(name),
        escape(&untouched(image))
    );
    if image.points.is_empty() {
        out.push_str("<p class=\"quiet\">There is no edit to show.</p>\n");
    } else {
        plot(out, name, &image.points);
    }
    out.push_str("<div class=\"wide\"><table>\n<thead><tr><th>keyed by</th><th>edits that rebuild</th>");
    out.push_str("<th>keys changed</th><th>shipped</th></tr></thead>\n<tbody>\n");
    for (words, policy) in [
        ("the whole file", &image.whole_file),
        ("the subset", &image.subset),
        ("each layer", &image.layers),
    ] {
        let Policy {
            edits,
            keys,
            bytes: shipped,
        } = policy;
        let _ = writeln!(
            out,
            "<tr><td>{words}</td><td>{edits}</td><td>{keys}</td><td>{}</td></tr>",
            bytes(*shipped)
        );
    }
    out.push_str("</tbody></table></div>\n");
    let changed = changed(image);
    if !changed.is_empty() {
        let _ = writeln!(
            out,
            "<details><summary>{} layers changed</summary>",
            changed.len()
        );
        out.push_str("<div class=\"wide\"><table>\n<thead><tr><th>layer</th><th>versions</th>");
        out.push_str("<th>edits that changed it</th><th>shipped</th></tr></thead>\n<tbody>\n");
        for (layer, history) in changed {
            let _ = writeln!(
                out,
                "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                escape(layer),
                history.versions,
                history.changes,
                bytes(history.bytes)
            );
        }
        out.push_str("</tbody></table></div></details>\n");
    }
    if !image.unknown.is_empty() {
        let names: Vec<&str> = image.unknown.iter().map(String::as_str).collect();
        let _ = writeln!(
            out,
            "<p class=\"quiet\">Not in the bytes, since the lock has no size or it is built: {}.</p>",
            escape(&names.join(", "))
        );
    }
    if !image.unplanned.is_empty() {
        let _ = writeln!(
            out,
            "<details><summary>{} versions cannot be planned</summary><ul>",
            image.unplanned.len()
        );
        for unplanned in &image.unplanned {
            let _ = writeln!(
                out,
                "<li>{}: {}</li>",
                escape(&unplanned.version),
                escape(&unplanned.why)
            );
        }
        out.push_str("</ul></details>\n");
    }
    out.push_str("</section>\n");
}

/// Cumulative bytes by edit, as steps: between two edits nothing is shipped.
fn plot(out: &mut String, name: &str, points: &[Point]) {
    let most = points
        .iter()
        .map(|point| point.whole_file.max(point.layers))
        .max();
    let top = round_up(most.unwrap_or_default().max(1));
    let edits = u32::try_from(points.len()).unwrap_or(u32::MAX);
    let x = |edit: u32| LEFT + scale(u64::from(edit), u64::from(edits), RIGHT - LEFT);
    let y = |value: u64| BOTTOM - scale(value, top, BOTTOM - TOP);
    let _ = writeln!(
        out,
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"Bytes shipped for {} over {edits} edits\">",
        escape(name)
    );
    for quarter in 0..=4 {
        let value = top / 4 * quarter;
        let _ = writeln!(
            out,
            "<line class=\"axis\" x1=\"{LEFT}\" y1=\"{0}\" x2=\"{RIGHT}\" y2=\"{0}\"/>\
             <text x=\"{1}\" y=\"{2}\" text-anchor=\"end\">{3}</text>",
            y(value),
            LEFT - 8,
            y(value) + 4,
            bytes(value)
        );
    }
    let ends = [(LEFT, "start", points.first()), (RIGHT, "end", points.last())];
    for (at, anchor, point) in ends {
        let word = point.map_or("", |point| {
            if point.date.is_empty() {
                &point.version
            } else {
                &point.date
            }
        });
        let _ = writeln!(
            out,
            "<text x=\"{at}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>",
            BOTTOM + 20,
            escape(word)
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{edits} edits of the lock</text>",
        u32::midpoint(LEFT, RIGHT),
        BOTTOM + 20
    );
    let lines: [(&str, &str, Bytes); 3] = [
        ("file", "whole file", |point| point.whole_file),
        ("subset", "subset", |point| point.subset),
        ("layers", "layers", |point| point.layers),
    ];
    // Lines that end close to each other would have their words on top of each other.
    let mut lowest = TOP;
    for (class, word, value) in lines {
        let mut path = format!("{LEFT},{BOTTOM}");
        let mut height = BOTTOM;
        for (edit, point) in (1..).zip(points) {
            let _ = write!(path, " {},{height}", x(edit));
            height = y(value(point));
            let _ = write!(path, " {},{height}", x(edit));
        }
        let _ = writeln!(out, "<polyline class=\"line {class}\" points=\"{path}\"/>");
        let at = height.max(lowest);
        lowest = at + LINE_HEIGHT;
        let _ = writeln!(
            out,
            "<text class=\"{class}-word\" x=\"{}\" y=\"{}\">{word} {}</text>",
            RIGHT + 6,
            at + 4,
            points.last().map(|point| bytes(value(point))).unwrap_or_default()
        );
    }
    if points.len() <= MOST_POINTS {
        for (edit, point) in (1..).zip(points) {
            let (from, to) = (x(edit - 1), x(edit));
            let words = format!("{} {} {}", point.version, point.date, point.subject);
            let _ = writeln!(
                out,
                "<rect class=\"hit\" x=\"{from}\" y=\"{TOP}\" width=\"{}\" height=\"{}\"><title>{}\n\
                 whole file {}, subset {}, layers {}</title></rect>",
                to - from,
                BOTTOM - TOP,
                escape(words.trim_end()),
                bytes(point.whole_file),
                bytes(point.subset),
                bytes(point.layers)
            );
        }
    }
    out.push_str("</svg>\n");
}

/// `value` of `most` as a part of `length`.
fn scale(value: u64, most: u64, length: u32) -> u32 {
    let part = u128::from(value) * u128::from(length) / u128::from(most.max(1));
    u32::try_from(part).unwrap_or(length).min(length)
}

/// The next number that divides well into four: one digit of 1, 2, 4 or 8 and zeros.
fn round_up(value: u64) -> u64 {
    let mut unit: u64 = 1;
    while let Some(next) = unit.checked_mul(10).filter(|next| *next < value) {
        unit = next;
    }
    [1, 2, 4, 8, 10]
        .into_iter()
        .map(|digit| unit.saturating_mul(digit))
        .find(|rounded| *rounded >= value)
        .unwrap_or(u64::MAX)
        .max(4)
}

/// Text in HTML, attributes included.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers() {
        for (value, expected) in [
            (0, 4),
            (1, 4),
            (7, 8),
            (9, 10),
            (10, 10),
            (11, 20),
            (301, 400),
            (81_000, 100_000),
            (u64::MAX, u64::MAX),
        ] {
            assert_eq!(round_up(value), expected, "{value}");
        }
    }

    #[test]
    fn scales_stay_inside() {
        assert_eq!(scale(5, 10, 200), 100);
        assert_eq!(scale(u64::MAX, u64::MAX, 200), 200);
        assert_eq!(scale(5, 0, 200), 200);
    }

    #[test]
    fn text_cannot_become_markup() {
        assert_eq!(escape("<a b=\"c\">&'"), "&lt;a b=&quot;c&quot;&gt;&amp;&#39;");
    }
}
