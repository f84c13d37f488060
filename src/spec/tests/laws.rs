//! What holds for every file.

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use super::*;

/// The full file as blocks (a header with its lines), to be put together in another order.
fn blocks() -> Vec<Vec<&'static str>> {
    let mut blocks: Vec<Vec<&str>> = vec![Vec::new()];
    for line in FULL
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        if line.starts_with('[') {
            blocks.push(Vec::new());
        }
        if let Some(block) = blocks.last_mut() {
            block.push(line);
        }
    }
    blocks
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_tables_and_keys_says_nothing(
        order in Just((1..blocks().len()).collect::<Vec<_>>()).prop_shuffle(),
        seeds in proptest::collection::vec(any::<prop::sample::Index>(), 64),
    ) {
        let mut blocks = blocks();
        for block in &mut blocks {
            let first = usize::from(block[0].starts_with('['));
            let keys = &mut block[first..];
            for (at, seed) in seeds.iter().enumerate().take(keys.len()) {
                keys.swap(at, seed.index(keys.len()));
            }
        }
        let shuffled: Vec<&str> = std::iter::once(0).chain(order).flat_map(|at| blocks[at].clone()).collect();
        let shuffled = shuffled.join("\n");
        let (spec, _) = parse(&shuffled).map_err(|errors| TestCaseError::fail(rendered(&errors)))?;
        prop_assert!(spec.same_meaning(&valid(FULL)), "{shuffled}");
    }

    #[test]
    fn no_text_makes_it_panic(text in ".{0,200}") {
        drop(parse(&text).map_err(|errors| rendered(&errors)));
    }

    #[test]
    fn no_damage_to_a_file_makes_it_panic(
        at in any::<prop::sample::Index>(),
        length in 0usize..30,
        put in prop_oneof![
            Just(String::new()), Just("é".to_owned()), Just("[]".to_owned()), Just("{}".to_owned()),
            Just("\"".to_owned()), Just("= 1\n".to_owned()), Just("-9223372036854775808".to_owned()), ".{0,6}",
        ],
    ) {
        let at = at.index(FULL.len());
        let end = (at + length).min(FULL.len());
        let text = format!("{}{put}{}", &FULL[..at], &FULL[end..]);
        if let Err(errors) = parse(&text) {
            prop_assert!(!errors.is_empty() && errors.iter().all(Diagnostic::is_error));
            prop_assert!(errors.iter().all(|error| !error.labels.is_empty() && error.help.is_some()), "{}", rendered(&errors));
            let starts: Vec<usize> = errors.iter().map(|error| error.labels[0].location.range.start).collect();
            prop_assert!(starts.is_sorted(), "{}", rendered(&errors));
        }
    }

    #[test]
    fn no_value_of_another_type_makes_it_panic(
        line in any::<prop::sample::Index>(),
        value in prop_oneof![
            Just("1"), Just("-1"), Just("1.5"), Just("true"), Just("\"\""), Just("\"x\""), Just("[]"), Just("[1]"), Just("[[]]"),
            Just("[{}]"), Just("{}"), Just("{ x = 1 }"), Just("1979-05-27"), Just("\"https://a:b@c/\""), Just("\"\\u0000\""),
        ],
    ) {
        let mut lines: Vec<String> = FULL.lines().map(str::to_owned).collect();
        let at = line.index(lines.len());
        if let Some((key, _)) = lines[at].clone().split_once(" = ") {
            lines[at] = format!("{key} = {value}");
        }
        if let Err(errors) = parse(&lines.join("\n")) {
            prop_assert!(errors.iter().all(|error| !error.labels.is_empty() && error.help.is_some()), "{}", rendered(&errors));
        }
    }
}
