//! Any file list and pattern: found paths are paths of the list.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wheelbase::plan::forbid::Tree;

fuzz_target!(|input: (&str, &str)| {
    let (list, pattern) = input;
    if pattern.matches("**").count() > 4 || list.len() > 4096 {
        return;
    }
    let mut tree = Tree::default();
    let _ = tree.lay(list);
    let _ = tree.matches(pattern);
});
