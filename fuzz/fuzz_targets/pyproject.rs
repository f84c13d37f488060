//! Any text is a project or a list of findings.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wheelbase::diagnostic::SourceFile;
use wheelbase::lock::Project;

fuzz_target!(|text: &str| {
    let _ = Project::parse(&SourceFile::new("pyproject.toml", text));
});
