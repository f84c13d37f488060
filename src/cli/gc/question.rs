//! The question before something is deleted, as `docker image prune` asks it.

use std::io::{self, BufRead, Write};

/// Asks whether to go on. Only `y` and `yes`, in either case, are a yes: an empty line and an input that has ended are none.
///
/// # Errors
///
/// When the question cannot be written, or the answer cannot be read.
pub(super) fn is_sure(input: &mut impl BufRead, output: &mut impl Write) -> io::Result<bool> {
    write!(output, "Are you sure? [y/N] ")?;
    output.flush()?;
    let mut answer = Vec::new();
    input.read_until(b'\n', &mut answer)?;
    if !answer.ends_with(b"\n") {
        // Nobody has pressed the key that ends the question's line.
        writeln!(output)?;
    }
    let answer = answer.trim_ascii().to_ascii_lowercase();
    Ok(matches!(answer.as_slice(), b"y" | b"yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(answer: &[u8]) -> (bool, String) {
        let mut written = Vec::new();
        let is_sure = is_sure(&mut &*answer, &mut written).unwrap();
        (is_sure, String::from_utf8(written).unwrap())
    }

    #[test]
    fn only_a_yes_is_one() {
        for yes in ["y\n", "Y\n", "yes\n", "YES\r\n", "  y  \n"] {
            assert!(asked(yes.as_bytes()).0, "{yes:?}");
        }
        for no in ["n\n", "no\n", "\n", "yep\n", "y y\n", "\u{fffd}\n", "n\ny\n"] {
            assert!(!asked(no.as_bytes()).0, "{no:?}");
        }
        assert!(!asked(b"\xff\n").0);
    }

    #[test]
    fn what_follows_stands_on_a_line_of_its_own() {
        let question = "Are you sure? [y/N] ";
        assert_eq!(asked(b"n\n").1, question);
        // An input that ends, as with Ctrl-D.
        assert_eq!(asked(b""), (false, format!("{question}\n")));
        assert_eq!(asked(b"y"), (true, format!("{question}\n")));
    }

    #[test]
    fn one_line_is_read() {
        let mut input = &b"yes\nand more"[..];
        assert!(is_sure(&mut input, &mut Vec::new()).unwrap());
        assert_eq!(input, b"and more");
    }

    #[test]
    fn what_cannot_be_asked_is_no_answer() {
        let mut full = [0_u8; 4];
        assert!(is_sure(&mut &b"y\n"[..], &mut &mut full[..]).is_err());
    }
}
