//! Any text is a spec or a list of findings, each of which can be drawn.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wheelbase::diagnostic::SourceFile;
use wheelbase::spec::Spec;

fuzz_target!(|text: &str| {
    if let Err(findings) = Spec::parse(&SourceFile::new("wheelbase.toml", text)) {
        assert!(!findings.is_empty());
        for finding in findings {
            finding.render(false);
        }
    }
});
