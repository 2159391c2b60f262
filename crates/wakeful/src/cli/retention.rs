//! `wakeful retention`: shows how much data exists and what exceeds its limits, and deletes it now. A
//! daemon does this by itself; the command also works while one runs.

use std::path::Path;
use std::sync::Arc;

use clap::Subcommand;
use serde_json::json;
use wakeful_core::id::AgentId;
use wakeful_core::report::Event;
use wakeful_core::retention::{Retention, RetentionLimit};
use wakeful_core::time::Millis;
use wakeful_runtime::Observer;
use wakeful_runtime::retention::{ClassUsage, GcMode, RetentionRound, RetentionWorker};
use wakeful_store::Store;
use wakeful_store::rows::{DataSize, RetentionStateRow};

use super::GlobalArgs;
use crate::config::{self, Overrides};
use crate::failure::Failure;
use crate::open_home::{OpenHome, with_read_only};
use crate::show::Out;
use crate::show::retention::{amount, removed_text};
use crate::signals::Signals;
use crate::system::{RealClock, RealEntropy};
use crate::workspace::snapshots;

#[derive(Debug, Subcommand)]
pub(crate) enum RetentionVerb {
    /// Show the amount of data, the limits, and what is due for deletion
    Show,
    /// Delete data over its limits now, and collect unreferenced blobs
    Run {
        /// Show what would be deleted, without changing anything
        #[arg(long)]
        dry_run: bool,
    },
}

/// An observer that ignores events, because the command line has no event stream.
struct NoObserver;

impl Observer for NoObserver {
    fn on_events(&self, _agent: &AgentId, _events: &[Event]) {}

    fn on_spend_settled(&self) {}
}

pub(crate) async fn retention(verb: &RetentionVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let home = shared.home()?;
    let rule = config::load(&home, &Overrides::default())?
        .config
        .retention
        .rule();
    match verb {
        RetentionVerb::Show | RetentionVerb::Run { dry_run: true } => {
            let (standing, care) = with_read_only(shared, async |store| {
                Ok(retention_worker(store, &home, rule).usage().await?)
            })
            .await?;
            show(&rule, &standing, &care, out);
        }
        RetentionVerb::Run { dry_run: false } => {
            let place = OpenHome::open_unlocked(shared).await?;
            let mut signals = Signals::listen()?;
            let halt = signals.halt();
            let work = place.run_and_close(out, async |place| {
                Ok(retention_worker(&place.store, &home, rule)
                    .run_round(GcMode::Always, &halt)
                    .await?)
            });
            let cared = signals.during(work, out).await?;
            tell(&cared, out);
        }
    }
    Ok(0)
}

fn retention_worker(store: &Store, home: &Path, retention: Retention) -> RetentionWorker {
    RetentionWorker {
        store: store.clone(),
        retention,
        clock: Arc::new(RealClock::new()),
        entropy: Arc::new(RealEntropy),
        observer: Arc::new(NoObserver),
        snapshots: Arc::new(snapshots(home)),
    }
}

fn show(rule: &Retention, standing: &[ClassUsage], care: &RetentionStateRow, out: &Out) {
    let last = care.pruned_at.map(Millis::rfc3339);
    let classes: Vec<serde_json::Value> = standing
        .iter()
        .map(|one| {
            let RetentionLimit { days, mib } = rule.of(one.class);
            json!({
                "class": one.class, "rows": one.size.rows, "bytes": one.size.bytes, "days": days, "mib": mib,
                "due_rows": one.due.rows, "due_bytes": one.due.bytes, "more_is_due": one.is_more,
            })
        })
        .collect();
    let mut lines: Vec<String> = standing.iter().map(|one| line(one, rule.of(one.class))).collect();
    lines.push(match &last {
        Some(at) => format!("last       {at}"),
        None => "last       never; the daemon deletes old data once a day".to_owned(),
    });
    out.answer(&json!({"classes": classes, "last_at": last}), &lines.join("\n"));
}

fn line(one: &ClassUsage, bounds: RetentionLimit) -> String {
    let limit = |number: u32, unit: &str| match number {
        0 => format!("any {unit}"),
        number => format!("{number} {unit}"),
    };
    let due = match (one.due.rows, one.is_more) {
        (0, _) => "nothing is due".to_owned(),
        (_, false) => format!("{} are due for deletion", amount(one.due)),
        (_, true) => format!("{} or more are due for deletion", amount(one.due)),
    };
    format!(
        "{:<10} {} of {} for {}: {due}",
        one.class.as_str(),
        amount(one.size),
        limit(bounds.mib, "MiB"),
        limit(bounds.days, "days")
    )
}

fn tell(cared: &RetentionRound, out: &Out) {
    let held = |held: &DataSize| json!({"rows": held.rows, "bytes": held.bytes});
    let pruned: serde_json::Map<String, serde_json::Value> = cared
        .pruned
        .iter()
        .map(|(class, taken)| (class.as_str().to_owned(), held(taken)))
        .collect();
    let object = json!({
        "pruned": pruned, "swept": held(&cared.swept), "files": held(&cared.files.removed),
        "files_left": !cared.files.is_all, "snapshots": cared.snapshots, "done": cared.is_done,
    });
    out.answer(&object, &removed_text(cared));
}
