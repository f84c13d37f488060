//! Any text is a lock or a list of findings; a lock answers for each of its members.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wheelbase::diagnostic::SourceFile;
use wheelbase::lock::{Lock, PythonVersion, Root, Roots, Target};
use wheelbase::platform::Platform;

fuzz_target!(|text: &str| {
    let Ok((lock, _)) = Lock::parse(&SourceFile::new("uv.lock", text)) else { return };
    let target =
        Target { platform: Platform::linux_amd64(), python: PythonVersion::new(3, 12), glibc: (2, 35) };
    for package in lock.packages().iter().take(4) {
        let roots = Roots { packages: vec![Root::new(package.name().clone())], ..Roots::default() };
        if let Ok(subset) = lock.subset(&roots, &target) {
            assert!(subset.key_lines().is_sorted());
        }
    }
});
