//! Small phrases that many outputs share: counts, short keys and times as people say them.

use wakeful_core::time::Millis;

/// Digits of a key in the output for people: enough to name one of thousands of runs. Every command accepts a
/// unique prefix, so the short form can be copied.
const KEY_DIGITS: usize = 12;

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Times that are further away are shown as a date.
const RELATIVE_MAX: u64 = 14 * DAY;

/// The first digits of a key.
pub(crate) fn short(key: &str) -> &str {
    key.get(..KEY_DIGITS).unwrap_or(key)
}

/// A word of a command that a person copies into a shell: quoted if the shell would split or expand it.
pub(crate) fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:@%+=,".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// A count with its noun: `1 message`, `2 messages`.
pub(crate) fn count(count: impl TryInto<u64>, noun: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    let plural = match noun.strip_suffix('y') {
        _ if count == 1 => noun.to_owned(),
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        Some(_) | None if noun.ends_with(['s', 'x']) || noun.ends_with("ch") => format!("{noun}es"),
        Some(_) | None => format!("{noun}s"),
    };
    format!("{count} {plural}")
}

/// A time relative to now: `3 min ago`, `in 2 h`; far away the date.
pub(crate) fn relative(at: Millis, now: Millis) -> String {
    let (past, future) = (now.since(at), at.since(now));
    let distance = past.max(future);
    if distance >= RELATIVE_MAX {
        return at.rfc3339().chars().take(10).collect();
    }
    if distance < SECOND {
        return "now".to_owned();
    }
    let words = match distance {
        ms if ms < MINUTE => format!("{} s", ms / SECOND),
        ms if ms < HOUR => format!("{} min", ms / MINUTE),
        ms if ms < 2 * DAY => format!("{} h", ms / HOUR),
        ms => count(ms / DAY, "day"),
    };
    if past > 0 {
        format!("{words} ago")
    } else {
        format!("in {words}")
    }
}

/// A duration: `340 ms`, `12.5 s`, `3 min 20 s`.
pub(crate) fn duration(ms: u64) -> String {
    match ms {
        ms if ms < SECOND => format!("{ms} ms"),
        ms if ms < MINUTE => format!("{}.{} s", ms / SECOND, ms % SECOND / 100),
        ms if ms < HOUR => format!("{} min {} s", ms / MINUTE, ms % MINUTE / SECOND),
        ms => format!("{} h {} min", ms / HOUR, ms % HOUR / MINUTE),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_word_with_spaces_or_quotes_is_quoted_for_a_shell() {
        let words = ["main", "/a/b.zip", "", "/my files/it's", "$HOME"];
        assert_eq!(
            words.map(shell_word),
            ["main", "/a/b.zip", "''", r"'/my files/it'\''s'", "'$HOME'"]
        );
    }

    #[test]
    fn one_is_singular_and_everything_else_plural() {
        let counted = [0_u64, 1, 2].map(|number| count(number, "message"));
        assert_eq!(counted, ["0 messages", "1 message", "2 messages"]);
        assert_eq!(
            [count(2_u32, "reply"), count(2_u32, "day"), count(2_u32, "match")],
            ["2 replies", "2 days", "2 matches"]
        );
    }

    #[test]
    fn a_time_is_told_from_now_and_far_away_as_a_date() {
        let now = Millis::parse("2026-03-10T12:00:00Z").expect("a time");
        let told = |text: &str| relative(Millis::parse(text).expect("a time"), now);
        for (at, words) in [
            ("2026-03-10T12:00:00.400Z", "now"),
            ("2026-03-10T11:59:21Z", "39 s ago"),
            ("2026-03-10T11:57:00Z", "3 min ago"),
            ("2026-03-10T14:00:00Z", "in 2 h"),
            ("2026-03-09T09:00:00Z", "27 h ago"),
            ("2026-03-07T12:00:00Z", "3 days ago"),
            ("2026-03-13T12:00:00Z", "in 3 days"),
            ("2026-02-01T12:00:00Z", "2026-02-01"),
            ("2027-02-01T12:00:00Z", "2027-02-01"),
        ] {
            assert_eq!(told(at), words, "{at}");
        }
    }

    #[test]
    fn a_duration_has_at_most_two_units() {
        let told = [340, 12_540, 200_000, 7_380_000].map(duration);
        assert_eq!(told, ["340 ms", "12.5 s", "3 min 20 s", "2 h 3 min"]);
    }

    proptest! {
        #[test]
        fn every_pair_of_times_has_a_short_phrase(at in any::<i64>(), now in any::<i64>()) {
            let phrase = relative(Millis(at), Millis(now));
            prop_assert!((1..=12).contains(&phrase.len()), "{phrase}");
        }
    }
}
