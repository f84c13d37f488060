//! `docker buildx build --progress rawjson`: one `client.SolveStatus` of BuildKit a line.

use std::collections::BTreeMap;

use base64::Engine as _;
use serde_json::Value;

/// What a build did.
#[derive(Debug, Default, Clone)]
pub(crate) struct Progress {
    /// In the order in which they were first seen.
    pub(crate) vertices: Vec<Vertex>,
    /// Text of warnings.
    pub(crate) warnings: Vec<String>,
}

/// One vertex of the graph, or an event of the client that has none (exporting, loading the frontend).
#[derive(Debug, Default, Clone)]
pub(crate) struct Vertex {
    pub(crate) digest: String,
    pub(crate) name: String,
    /// Why it failed; empty when it did not.
    pub(crate) error: String,
    /// What it wrote.
    pub(crate) log: String,
    /// The progress group that it belongs to.
    pub(crate) group: Option<String>,
    inputs: usize,
    /// Runs by their start: start and end in seconds, and whether the result was there already.
    runs: BTreeMap<String, Run>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Run {
    start: f64,
    end: Option<f64>,
    cached: bool,
}

impl Vertex {
    /// Whether a process, a copy or a merge was really carried out. What has no inputs is a source, or an event
    /// that is no operation: images and files that are fetched, the build context, exporting.
    pub(crate) fn executed(&self) -> bool {
        self.inputs > 0 && self.interval().is_some()
    }

    /// Whether it was carried out with no result known. One that a cache elsewhere has is known first, and takes a time when
    /// its files are fetched.
    pub(crate) fn made(&self) -> bool {
        self.executed() && !self.runs.values().any(|run| run.cached)
    }

    /// Whether its process ran: a result that is fetched from a cache elsewhere takes its time too, and says nothing.
    pub(crate) fn spoke(&self) -> bool {
        !self.log.trim().is_empty()
    }

    /// Whether its result was taken from the cache and never made.
    pub(crate) fn cached(&self) -> bool {
        self.interval().is_none() && self.runs.values().any(|run| run.cached)
    }

    /// Start and end of the time in which it was carried out.
    pub(crate) fn interval(&self) -> Option<(f64, f64)> {
        self.runs
            .values()
            .filter(|run| !run.cached)
            .filter_map(|run| Some((run.start, run.end?)))
            .max_by(|left, right| (left.1 - left.0).total_cmp(&(right.1 - right.0)))
    }

    /// Whether it only puts layers together and starts no process.
    pub(crate) fn assembles(&self) -> bool {
        self.group
            .as_deref()
            .is_some_and(|group| group.starts_with("wheelbase-assemble"))
            // Daemons before BuildKit 0.10 know no groups.
            || ["] merge layers", "] take ", "] lay "]
                .iter()
                .any(|words| self.name.contains(words))
    }
}

impl Progress {
    /// Reads the lines that are JSON; returns the others beside.
    pub(crate) fn parse(output: &str) -> (Self, String) {
        let mut progress = Self::default();
        let mut text = String::new();
        for line in output.lines() {
            if let Ok(status @ Value::Object(_)) = serde_json::from_str::<Value>(line) {
                progress.take(&status);
            } else {
                text.push_str(line);
                text.push('\n');
            }
        }
        (progress, text)
    }

    fn take(&mut self, status: &Value) {
        for event in status["vertexes"].as_array().into_iter().flatten() {
            let vertex = self.vertex_mut(event["digest"].as_str().unwrap_or_default());
            if let Some(name) = event["name"].as_str() {
                name.clone_into(&mut vertex.name);
            }
            if let Some(error) = event["error"].as_str() {
                error.clone_into(&mut vertex.error);
            }
            if let Some(group) = event["progressGroup"]["id"].as_str() {
                vertex.group = Some(group.to_owned());
            }
            vertex.inputs = vertex.inputs.max(event["inputs"].as_array().map_or(0, Vec::len));
            if let Some(started) = event["started"].as_str() {
                let run = vertex.runs.entry(started.to_owned()).or_default();
                run.start = seconds(started);
                run.end = event["completed"].as_str().map(seconds).or(run.end);
                run.cached |= event["cached"].as_bool().unwrap_or(false);
            }
        }
        for log in status["logs"].as_array().into_iter().flatten() {
            let data = log["data"].as_str().unwrap_or_default();
            let bytes = base64::engine::general_purpose::STANDARD
                .decode(data)
                .unwrap_or_default();
            let vertex = self.vertex_mut(log["vertex"].as_str().unwrap_or_default());
            vertex.log.push_str(&String::from_utf8_lossy(&bytes));
        }
        for warning in status["warnings"].as_array().into_iter().flatten() {
            let short = warning["short"].as_str().unwrap_or_default();
            let bytes = base64::engine::general_purpose::STANDARD
                .decode(short)
                .unwrap_or_default();
            self.warnings.push(String::from_utf8_lossy(&bytes).into_owned());
        }
    }

    /// Takes what began before this time (seconds since 1970) for results that were there: while another build still
    /// holds a vertex, BuildKit reports that build's run of it.
    pub(crate) fn began(&mut self, time: f64) {
        for run in self
            .vertices
            .iter_mut()
            .flat_map(|vertex| vertex.runs.values_mut())
        {
            run.cached |= run.start < time;
        }
    }

    fn vertex_mut(&mut self, digest: &str) -> &mut Vertex {
        let known = self.vertices.iter().position(|vertex| vertex.digest == digest);
        let index = known.unwrap_or_else(|| {
            self.vertices.push(Vertex {
                digest: digest.to_owned(),
                ..Vertex::default()
            });
            self.vertices.len() - 1
        });
        &mut self.vertices[index]
    }

    /// Names of the operations that were carried out, without those that only put layers together.
    pub(crate) fn executed(&self) -> Vec<&str> {
        self.vertices
            .iter()
            .filter(|vertex| vertex.executed() && !vertex.assembles())
            .map(|vertex| vertex.name.as_str())
            .collect()
    }

    /// The same without those whose result was known and had to be fetched.
    pub(crate) fn made(&self) -> Vec<&str> {
        self.vertices
            .iter()
            .filter(|vertex| vertex.made() && !vertex.assembles())
            .map(|vertex| vertex.name.as_str())
            .collect()
    }

    /// Every run of every operation, for the message of a test that expected others.
    pub(crate) fn runs(&self) -> String {
        let operations = self.vertices.iter().filter(|vertex| vertex.inputs > 0);
        let starts = operations.clone().flat_map(|vertex| vertex.runs.values());
        let began = starts.map(|run| run.start).fold(f64::INFINITY, f64::min);
        let told = operations.flat_map(|vertex| {
            vertex.runs.values().map(move |run| {
                let what = if run.cached { "cached" } else { "executed" };
                let end = run.end.unwrap_or(f64::NAN) - began;
                format!("{:.3}-{end:.3} {what:8} {}", run.start - began, vertex.name)
            })
        });
        told.collect::<Vec<_>>().join("\n")
    }

    /// What failed steps have said, each with its error.
    pub(crate) fn failures(&self) -> String {
        let failed = self.vertices.iter().filter(|vertex| !vertex.error.is_empty());
        let said: Vec<String> = failed
            .map(|vertex| format!("{}: {}\n{}", vertex.name, vertex.error, vertex.log))
            .collect();
        said.join("\n")
    }

    /// The vertex of exactly this name.
    pub(crate) fn named(&self, name: &str) -> Option<&Vertex> {
        self.vertices.iter().find(|vertex| vertex.name == name)
    }

    /// Everything that the steps wrote.
    pub(crate) fn log(&self) -> String {
        self.vertices.iter().map(|vertex| vertex.log.as_str()).collect()
    }
}

/// RFC 3339 in seconds since 1970.
pub(crate) fn seconds(time: &str) -> f64 {
    let number = |range: std::ops::Range<usize>| {
        time.get(range)
            .and_then(|text| text.parse::<i32>().ok())
            .unwrap_or(0)
    };
    let (year, month, day) = (number(0..4), number(5..7), number(8..10));
    // Days since 1970 in the proleptic Gregorian calendar, with years that begin in March.
    let (shifted_year, shifted_month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days = 365 * shifted_year + shifted_year / 4 - shifted_year / 100
        + shifted_year / 400
        + (153 * shifted_month + 2) / 5
        + day
        - 1
        - 719_468;
    let rest = time.get(17..).unwrap_or_default();
    let zone = rest.find(['Z', '+', '-']).unwrap_or(rest.len());
    let second: f64 = rest[..zone].parse().unwrap_or(0.0);
    let offset = match rest.as_bytes().get(zone) {
        Some(sign @ (b'+' | b'-')) => {
            let part = |range: std::ops::Range<usize>| {
                rest.get(range)
                    .and_then(|text| text.parse::<i32>().ok())
                    .unwrap_or(0)
            };
            let minutes = part(zone + 1..zone + 3) * 60 + part(zone + 4..zone + 6);
            if *sign == b'+' { minutes } else { -minutes }
        }
        _ => 0,
    };
    f64::from(days) * 86_400.0 + f64::from(number(11..13) * 3600 + number(14..16) * 60 - offset * 60) + second
}
