//! The time since this machine was started, which goes on while the machine is suspended.
//!
//! The standard library's clock stands still then. A process that slept for an hour would take a lease for fresh
//! that others have long seen run out.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// A reading of the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BootTime(Duration);

impl BootTime {
    /// Reads the clock.
    pub(crate) fn now() -> Self {
        // It begins at zero, so there is nothing that could not be converted.
        Self(clock_gettime(ClockId::Boottime).try_into().unwrap_or_default())
    }

    /// How long after an earlier reading this one was made; nothing if it was the other way round.
    pub(crate) const fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// The reading that would be made this much later.
    #[cfg(test)]
    pub(crate) fn plus_ms(self, ms: u64) -> Self {
        Self(self.0 + Duration::from_millis(ms))
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_time_between_two_readings_is_never_negative() {
        let (earlier, later) = (
            BootTime(Duration::from_millis(5)),
            BootTime(Duration::from_millis(7)),
        );
        assert_eq!(later.since(earlier), Duration::from_millis(2));
        assert_eq!(earlier.since(later), Duration::ZERO);
    }

    /// Nobody can suspend the machine for a test. But a process can be given a time of its own in which it was:
    /// this clock is an hour ahead there, and the one that stands still is not.
    #[test]
    fn an_hour_of_suspension_counts() {
        let before = BootTime::now();
        let output = Command::new("unshare")
            .args(["--map-root-user", "--time", "--boottime", "3600", "--fork"])
            .arg(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "--ignored",
                "--nocapture",
                "postgres::boot_time::tests::say_the_reading",
            ])
            .output()
            .unwrap();
        let after = BootTime::now();
        let said = String::from_utf8_lossy(&output.stdout);
        let reading = said
            .split(['<', '>'])
            .nth(1)
            .unwrap_or_else(|| panic!("{output:?}"));
        let reading = BootTime(Duration::from_millis(reading.parse().unwrap()));
        let hour = Duration::from_hours(1);
        // The reading has whole milliseconds only.
        assert!(
            reading.since(before) + Duration::from_millis(1) >= hour,
            "{before:?} {reading:?}"
        );
        assert!(reading.since(after) <= hour, "{after:?} {reading:?}");
    }

    #[test]
    #[ignore = "only its caller wants to know"]
    fn say_the_reading() {
        println!("<{}>", BootTime::now().0.as_millis());
    }
}
