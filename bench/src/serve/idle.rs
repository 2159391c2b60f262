//! A daemon to which nothing happens: how much memory it holds, and that it sleeps.

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

/// Rest after the last work: threads that were lent to it go home after ten seconds, which is a wake-up each.
const SETTLE_S: usize = 13;

pub(crate) fn take(setting: &Setting) -> Result<Vec<Measure>> {
    let site = furnished(setting, "idle")?;
    let daemon = Daemon::start(setting, &site)?;
    daemon.make_agent(&site, AGENT)?;
    let mut events = daemon.follow(AGENT)?;
    daemon.line()?.ask(&daemon.message(AGENT, 0))?;
    events.times_of(r#""kind":"run_ended""#, 1)?;
    // An open stream says now and then that it is there, and a kept connection is given up after a while.
    drop(events);
    let (sleeping, memory_mb) = watch(setting, &daemon, WAKEUPS)?;
    daemon.end()?;
    let floor = peak_mb(&mut setting.program.version())?;
    let memory = Measure::most(MEMORY, "MB", &[memory_mb], Target::AtMost(25.0));
    Ok(vec![memory.beside("`wakeful --version`", &[floor]), sleeping])
}

/// Lets a daemon settle and then watches it do nothing: how often it woke, and the memory it has afterwards.
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

/// How often threads woke between two looks. One that came or went in between has woken at least once.
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
    fn whoever_sleeps_counts_nothing_and_whoever_comes_or_goes_counts_once() {
        let before = BTreeMap::from([(1, 10), (2, 20), (3, 30)]);
        assert_eq!(wakeups(&before, &before), 0);
        let after = BTreeMap::from([(1, 10), (2, 22), (4, 0)]);
        assert_eq!(wakeups(&before, &after), 4);
    }
}
