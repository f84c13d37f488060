//! Times as RFC 3339 writes them: those of image configs, of annotations, and of `SOURCE_DATE_EPOCH`.

const DAY: i64 = 86_400;
/// Days from 1 March of the year 0 to 1970.
const DAYS_TO_1970: i64 = 719_468;
/// Days of 400 years, after which the calendar repeats.
const ERA: i64 = 146_097;

/// Seconds since 1970, of a year up to 9999, as RFC 3339 writes them. The days are counted from 1 March of the year 0, so
/// that a leap day is the last of its year.
pub fn rfc3339(seconds: i64) -> String {
    let (days, second) = (seconds.div_euclid(DAY) + DAYS_TO_1970, seconds.rem_euclid(DAY));
    let (era, day) = (days.div_euclid(ERA), days.rem_euclid(ERA));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The seconds since 1970 of a time in RFC 3339, section 5.6; parts of a second are dropped. `None` when it is no such time.
pub fn seconds(text: &str) -> Option<i64> {
    let (date, rest) = text.split_at_checked(10)?;
    let (clock, rest) = rest.strip_prefix(['T', 't'])?.split_at_checked(8)?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = numbers(clock, ':', [2, 2, 2])?;
    let zone = match rest.strip_prefix('.') {
        Some(fraction) => {
            let zone = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
            (zone.len() < fraction.len()).then_some(zone)?
        }
        None => rest,
    };
    let zone = match zone.split_at_checked(1)? {
        ("Z" | "z", "") => 0,
        (sign @ ("+" | "-"), zone) => {
            let [hours, minutes] = numbers(zone, ':', [2, 2])?;
            if hours > 23 || minutes > 59 {
                return None;
            }
            (hours * 3_600 + minutes * 60) * if sign == "+" { 1 } else { -1 }
        }
        _ => return None,
    };
    if !(1..=12).contains(&month) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let days = days(year, month, day);
    // A day that its month does not have comes out as one of the next month.
    let is_date = day > 0 && rfc3339(days * DAY).starts_with(date);
    is_date.then_some(days * DAY + hour * 3_600 + minute * 60 + second - zone)
}

/// Days from 1970 to a day.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    let day = (153 * month + 2) / 5 + day - 1;
    era * ERA + year * 365 + year / 4 - year / 100 + day - DAYS_TO_1970
}

/// Numbers of so many digits each, with a sign between them.
fn numbers<const N: usize>(text: &str, between: char, digits: [usize; N]) -> Option<[i64; N]> {
    let mut parts = text.split(between);
    let mut numbers = [0; N];
    for (number, digits) in numbers.iter_mut().zip(digits) {
        let part = parts.next()?;
        let is_number = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
        *number = is_number.then(|| part.parse().ok())??;
    }
    parts.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, date) in [
            (0, "1970-01-01T00:00:00Z"),
            (315_532_800, "1980-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_700_000_000, "2023-11-14T22:13:20Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(rfc3339(seconds), date);
            assert_eq!(super::seconds(date), Some(seconds), "{date}");
        }
    }

    #[test]
    fn times_as_registries_have_them() {
        let noon = Some(1_700_049_600);
        for text in [
            "2023-11-15T12:00:00Z",
            "2023-11-15T12:00:00.377130948Z",
            "2023-11-15T13:30:00+01:30",
            "2023-11-15T04:00:00.5-08:00",
            "2023-11-15t12:00:00z",
        ] {
            assert_eq!(seconds(text), noon, "{text}");
        }
        // Go's zero time stands where nobody set one.
        assert_eq!(seconds("0001-01-01T00:00:00Z"), Some(-62_135_596_800));
        for text in [
            "",
            "2023-11-15",
            "2023-11-15T12:00:00",
            "2023-11-15 12:00:00Z",
            "2023-02-29T12:00:00Z",
            "2023-13-01T12:00:00Z",
            "2023-11-00T12:00:00Z",
            "2023-11-15T24:00:00Z",
            "2023-11-15T12:00:00.Z",
            "2023-11-15T12:00:00+1:00",
            "2023-11-15T12:00:00Zulu",
            "+023-11-15T12:00:00Z",
            "2023-11-1\u{e9}T12:00:00Z",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(seconds in -62_135_596_800_i64..253_402_300_800) {
            prop_assert_eq!(super::seconds(&rfc3339(seconds)), Some(seconds));
        }
    }
}
