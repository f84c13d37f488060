//! Any text is a pylock.toml or a list of findings; it answers for all of itself and for each of its packages.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wheelbase::diagnostic::SourceFile;
use wheelbase::lock::{Lock, PythonVersion, Root, Roots, Target};
use wheelbase::platform::Platform;

fuzz_target!(|text: &str| {
    let lock = match Lock::parse(&SourceFile::new("pylock.toml", text)) {
        Ok((lock, _)) => lock,
        Err(findings) => {
            assert!(!findings.is_empty());
            for finding in findings {
                finding.render(false);
            }
            return;
        }
    };
    let target =
        Target { platform: Platform::linux_amd64(), python: PythonVersion::new(3, 12), glibc: (2, 35) };
    let packages = lock.packages().iter().take(4);
    let named = packages.map(|package| Roots {
        packages: vec![Root::new(package.name().clone())],
        ..Roots::default()
    });
    for roots in named.chain([Roots { everything: true, ..Roots::default() }]) {
        if let Ok(subset) = lock.subset(&roots, &target) {
            assert!(subset.key_lines().is_sorted());
        }
    }
});
