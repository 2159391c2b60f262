//! A schedule for each day at 07:00 local time.

use wakeful_core::schedule::FiringTime;

use super::run;
use super::scheduled_daemon::{MINUTE_MS, Says, ScheduledDaemon};

/// From 07:00 in Berlin, when these tests start, to 06:59 of the next day.
const TO_A_MINUTE_BEFORE_MS: u64 = 24 * 60 * MINUTE_MS - MINUTE_MS;

// Conformance: L-058
#[tokio::test]
async fn a_daily_schedule_fires_at_seven_and_not_a_minute_before() {
    let house = ScheduledDaemon::fresh(Says::Done).await;
    let daily = FiringTime::Cron {
        cron: "0 7 * * *".to_owned(),
        time_zone: "Europe/Berlin".to_owned(),
    };
    house.add("daily", daily, |_| {}).await;
    house.ground.pass(TO_A_MINUTE_BEFORE_MS).await;
    assert_eq!(house.outcomes("daily").await, run(0), "06:59");
    house.ground.pass(MINUTE_MS).await;
    assert_eq!(house.outcomes("daily").await, run(1), "07:00");
    assert_eq!(house.runs().await, 1);
}
