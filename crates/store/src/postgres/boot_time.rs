//! The time since this machine was booted, including the time during which it was suspended.
//!
//! The standard library's clock stops during suspension. With that clock, a process suspended for an hour
//! would still trust a lease that other processes have long considered expired.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BootTime(Duration);

impl BootTime {
    pub(crate) fn now() -> Self {
        // The clock starts at zero, so the conversion cannot fail.
        Self(clock_gettime(ClockId::Boottime).try_into().unwrap_or_default())
    }

    /// Returns the time elapsed since an earlier reading; zero if `earlier` is later.
    pub(crate) const fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

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

    /// A test cannot suspend the machine. But a process can run in a time namespace as if it had been:
    /// there this clock is an hour ahead, and the one that stops during suspension is not.
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
        // The reading has millisecond resolution.
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
