//! Times in the API's format: `2026-02-17T16:00:00.000Z`.

use std::time::{Duration, SystemTime};

/// The time, or `None` if the text has another format.
pub(crate) fn parse(text: &str) -> Option<SystemTime> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second, ms) = (number(11, 13)?, number(14, 16)?, number(17, 19)?, number(20, 23)?);
    // Years that begin in March, so that the leap day is the last day.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let leap_days = year / 4 - year / 100 + year / 400;
    let days = year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1;
    let since_epoch = days.checked_sub(719_468)?;
    let seconds = ((since_epoch * 24 + hour) * 60 + minute) * 60 + second;
    Some(SystemTime::UNIX_EPOCH + Duration::from_millis(seconds * 1000 + ms))
}

#[cfg(test)]
mod tests {
    use super::parse;
    use std::time::{Duration, SystemTime};

    #[test]
    fn a_time_is_parsed() {
        let at = |seconds: u64| Some(SystemTime::UNIX_EPOCH + Duration::from_millis(seconds * 1000 + 7));
        assert_eq!(parse("1970-01-01T00:00:00.007Z"), at(0));
        assert_eq!(parse("2000-02-29T23:59:59.007Z"), at(951_868_799));
        assert_eq!(parse("2026-11-15T17:39:48.007Z"), at(1_794_764_388));
        assert_eq!(parse("yesterday"), None);
    }
}
