//! Measures an idle daemon: its memory, and that it sleeps.

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;

use super::daemon::{AGENT, Daemon, furnished};
use crate::Setting;
use crate::measure::{Measure, Target};
use crate::program::peak_mb;

pub(crate) const MEMORY: &str = "serve_idle_rss_mb";
pub(crate) const WAKEUPS: &str = "serve_idle_wakeups";

/// Seconds to settle after the last work: idle pool threads end after ten seconds, which is one wake-up
/// each.
const SETTLE_S: usize = 13;

pub(crate) fn take(setting: &Setting) -> Result<Vec<Measure>> {
    let site = furnished(setting, "idle")?;
    let daemon = Daemon::start(setting, &site)?;
    daemon.make_agent(&site, AGENT)?;
    let mut events = daemon.follow(AGENT)?;
    daemon.line()?.ask(&daemon.message(AGENT, 0))?;
    events.times_of(r#""kind":"run_ended""#, 1)?;
    // An open stream sends keep-alives, and an idle connection is closed after a while.
    drop(events);
    let (sleeping, memory_mb) = watch(setting, &daemon, WAKEUPS)?;
    daemon.end()?;
    let floor = peak_mb(&mut setting.program.version())?;
    let memory = Measure::most(MEMORY, "MB", &[memory_mb], Target::AtMost(25.0));
    Ok(vec![memory.beside("`wakeful --version`", &[floor]), sleeping])
}

/// Lets a daemon settle and then observes it while idle: its wake-ups, and its memory afterwards.
pub(super) fn watch(setting: &Setting, daemon: &Daemon, name: &'static str) -> Result<(Measure, f64)> {
    let begun = daemon.switches()?;
    sleep(seconds(SETTLE_S));
    let before = daemon.switches()?;
    let settled_ms = daemon.processor_ms()?;
    let idle_s = setting.effort.pick(10, 60);
    sleep(seconds(idle_s));
    let after = daemon.switches()?;
    let processor_ms = daemon.processor_ms()? - settled_ms;
    let woken = wakeups(&before, &after) as f64;
    let sleeping = Measure::most(name, "wake-ups", &[woken], Target::AtMost(0.0))
        .with("seconds", idle_s as f64)
        .with("processor_ms", processor_ms)
        .with("processor_ms_until_settled", settled_ms)
        .with("threads", after.len() as f64)
        .with("wakeups_while_settling", wakeups(&begun, &before) as f64)
        .with("settled_after_s", SETTLE_S as f64);
    Ok((sleeping, daemon.memory_mb()?))
}

/// Number of wake-ups between two readings. A thread that started or ended in between counts at least once.
fn wakeups(before: &BTreeMap<u32, u64>, after: &BTreeMap<u32, u64>) -> u64 {
    let woken = after.iter().map(|(thread, now)| match before.get(thread) {
        Some(then) => now.saturating_sub(*then),
        None => (*now).max(1),
    });
    let gone = before.keys().filter(|thread| !after.contains_key(thread)).count();
    woken.sum::<u64>() + gone as u64
}

fn seconds(count: usize) -> Duration {
    Duration::from_secs(count as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleeping_thread_counts_nothing_and_a_started_or_ended_one_once() {
        let before = BTreeMap::from([(1, 10), (2, 20), (3, 30)]);
        assert_eq!(wakeups(&before, &before), 0);
        let after = BTreeMap::from([(1, 10), (2, 22), (4, 0)]);
        assert_eq!(wakeups(&before, &after), 4);
    }
}
