//! Clients: they send messages with keys until each is acknowledged, poll their runs, and record the
//! responses.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};

use crate::history::{History, digest, told};
use crate::http::{Answer, Api};
use crate::rng::Rng;
use crate::script::{ScriptRequest, ScriptStyle, Weight};
use crate::test_dir::TestDir;

/// Pause after a refusal or a missing response.
pub(crate) const PAUSE: Duration = Duration::from_millis(4);

/// The state that all clients of an episode share.
pub(crate) struct Load<'a> {
    pub(crate) place: &'a TestDir,
    pub(crate) apis: Vec<Api>,
    pub(crate) agents: Vec<String>,
    pub(crate) history: &'a History,
    pub(crate) weight: Weight,
    /// What happens beside messages.
    pub(crate) sides: Sides,
    /// The shared task, once it exists.
    pub(crate) shared: OnceLock<String>,
    /// Questions that were seen, each with its message and action.
    pub(crate) questions: Mutex<BTreeMap<String, (String, u64)>>,
    /// When the schedule was created, in milliseconds.
    pub(crate) clock_from: OnceLock<u64>,
    /// Number of files put into the watched folder.
    pub(crate) files: AtomicU64,
    /// Set when all work has ended and no more answers are needed.
    pub(crate) done: AtomicBool,
    /// Maximum number of open messages per client.
    pub(crate) window: usize,
    /// At the end: the maximum time without progress, and the current deadline.
    pub(crate) ending: Mutex<Option<(Duration, Instant)>>,
    /// Whether the disk fails now.
    pub(crate) faulty: AtomicBool,
    pub(crate) counts: Counts,
}

/// What happens in an episode beside messages and their lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sides {
    /// Messages request tasks in the journal.
    pub(crate) tasks: bool,
    /// Messages change the shared task, and a person cancels runs during such writes.
    pub(crate) changes: bool,
    /// Percentage of messages whose actions need an approval.
    pub(crate) asks: u64,
    /// A person sets and releases brakes.
    pub(crate) brakes: bool,
    /// Files appear in a watched folder.
    pub(crate) files: bool,
    /// A schedule wakes an agent.
    pub(crate) clock: bool,
}

impl Sides {
    /// Everything enabled.
    pub(crate) const ALL: Self = Self {
        tasks: true,
        changes: true,
        asks: 25,
        brakes: true,
        files: true,
        clock: true,
    };
}

/// The counters of the clients.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Requests to a program on a faulty disk.
    pub(crate) under_faults: AtomicU64,
    /// Those of them that sent a message.
    pub(crate) sent_under_faults: AtomicU64,
    /// Runs that were quarantined and resumed.
    pub(crate) retried: AtomicU64,
    /// Responses of such a program that were refusals.
    pub(crate) refused: AtomicU64,
}

/// A message that was acknowledged.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) message: String,
    pub(crate) run: String,
}

impl Load<'_> {
    /// Stops new messages; open work may make no progress for at most this long.
    pub(crate) fn wind_down(&self, patience: Duration) {
        *self.ending() = Some((patience, Instant::now() + patience));
    }

    fn ending(&self) -> MutexGuard<'_, Option<(Duration, Instant)>> {
        self.ending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.ending().is_some()
    }

    pub(crate) fn is_late(&self) -> bool {
        self.ending()
            .is_some_and(|(_, deadline)| deadline < Instant::now())
    }

    /// Records progress and extends the deadline.
    pub(crate) fn moved_on(&self) {
        if let Some((patience, deadline)) = self.ending().as_mut()
            && *deadline >= Instant::now()
        {
            *deadline = Instant::now() + *patience;
        }
    }

    /// Runs one client. Returns all its acknowledged messages.
    pub(crate) fn client(&self, name: &str, mut rng: Rng) -> Result<Vec<Sent>> {
        let (mut all, mut open): (Vec<Sent>, Vec<Sent>) = (Vec::new(), Vec::new());
        let mut number = 0;
        while !self.is_ending() {
            number += 1;
            let wish = ScriptRequest::new(format!("{name}-{number}"), self.taste(), &mut rng);
            let agent = rng.pick(&self.agents).cloned().unwrap_or_default();
            let Some(sent) = self.send(&agent, &wish, &mut rng)? else {
                break;
            };
            all.push(sent.clone());
            open.push(sent);
            if rng.percent(30)
                && let Some(any) = rng.pick(&all).cloned()
            {
                self.look(&any, &mut rng);
            }
            while open.len() >= self.window && !self.is_ending() {
                self.await_one(&mut open, &mut rng);
            }
        }
        while !open.is_empty() && !self.is_late() {
            self.await_one(&mut open, &mut rng);
        }
        Ok(all)
    }

    fn taste(&self) -> ScriptStyle<'_> {
        let Sides { tasks, asks, .. } = self.sides;
        ScriptStyle {
            weight: self.weight,
            tasks,
            shared: self.shared.get().map(String::as_str),
            asks,
        }
    }

    /// Sends a message until it is acknowledged, and sometimes once more. `None` if the deadline passes
    /// before.
    pub(crate) fn send(&self, agent: &str, wish: &ScriptRequest, rng: &mut Rng) -> Result<Option<Sent>> {
        let model = self.place.script(&wish.name, &wish.yaml)?;
        let mut body = json!({"text": wish.text, "key": wish.name, "model": model});
        if wish.asks {
            body["ask_tools"] = json!(["ExecCommand"]);
        }
        let (message, text) = (&wish.name, digest(&wish.text));
        self.history.put(&json!({
            "event": "sent", "at": self.history.now(), "message": message, "agent": agent,
            "actions": wish.actions, "text": text, "asks": wish.asks, "cancels": wish.cancels,
        }));
        let mut acknowledged = None;
        let mut again = u64::from(rng.percent(25));
        while !self.is_late() {
            if let Some(run) = self.post(agent, message, &body, rng) {
                acknowledged = Some(run);
                if again == 0 {
                    break;
                }
                again -= 1;
            } else {
                std::thread::sleep(PAUSE);
            }
        }
        let message = message.clone();
        Ok(acknowledged.map(|run| Sent { message, run }))
    }

    fn post(&self, agent: &str, message: &str, body: &Value, rng: &mut Rng) -> Option<String> {
        let answer = self.asked(rng, |api| {
            api.post(&format!("/api/agents/{agent}/messages"), body)
        })?;
        if self.is_hit(&answer) {
            self.counts.sent_under_faults.fetch_add(1, Ordering::Relaxed);
        }
        if answer.status >= 300 {
            let (status, code) = (answer.status, &answer.body["error"]["code"]);
            self.history
                .note(&json!({"refused": message, "status": status, "code": code}));
            return None;
        }
        let run = answer.body["run_key"].as_str()?.to_owned();
        let admission = &answer.body["admission"];
        self.history.put(&json!({
            "event": "acknowledged", "at": self.history.now(), "message": message, "run": run,
            "admission": admission,
        }));
        Some(run)
    }

    /// Polls one of the open messages, the oldest first, and removes it when it has ended.
    fn await_one(&self, open: &mut Vec<Sent>, rng: &mut Rng) {
        let Some(oldest) = open.first().cloned() else {
            return;
        };
        if self.look(&oldest, rng) {
            open.remove(0);
            self.moved_on();
        } else {
            std::thread::sleep(PAUSE);
        }
    }

    /// Polls a run and records the response. Returns true if it has ended.
    fn look(&self, sent: &Sent, rng: &mut Rng) -> bool {
        self.told(sent, rng).is_some_and(|answer| has_ended(&answer))
    }

    /// The same, but returns the response if there is one.
    pub(crate) fn told(&self, sent: &Sent, rng: &mut Rng) -> Option<Value> {
        let path = format!("/api/runs/{}", sent.run);
        let answer = self.asked(rng, |api| api.get(&path))?;
        if answer.status != 200 {
            let (status, code) = (answer.status, &answer.body["error"]["code"]);
            self.history
                .note(&json!({"unseen": sent.message, "status": status, "code": code}));
            return None;
        }
        let answer = told(&answer.body);
        if is_quarantined(&answer) {
            self.retry(&sent.run, rng);
        }
        self.history
            .put(&json!({"event": "told", "run": sent.run, "answer": answer}));
        Some(answer)
    }

    /// Resumes a run that was quarantined after ten claims by killed programs. It is recorded before the
    /// request, because a program that is killed before it responds may have resumed the run.
    pub(crate) fn retry(&self, run: &str, rng: &mut Rng) {
        self.history.put(&json!({"event": "retried", "run": run}));
        let answer = self.asked(rng, |api| {
            api.post(&format!("/api/runs/{run}/resume"), &json!({}))
        });
        if answer.is_some_and(|answer| answer.status == 200) {
            self.counts.retried.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether a response comes from a program whose disk fails now. A program that is still starting has
    /// not used its disk for a request.
    fn is_hit(&self, answer: &Answer) -> bool {
        self.faulty.load(Ordering::Relaxed) && answer.body["error"]["code"] != "recovering"
    }

    /// Sends a request to one of the programs, and counts it.
    pub(crate) fn asked(&self, rng: &mut Rng, ask: impl Fn(&Api) -> Option<Answer>) -> Option<Answer> {
        let answer = ask(rng.pick(&self.apis)?)?;
        if self.is_hit(&answer) {
            self.counts.under_faults.fetch_add(1, Ordering::Relaxed);
            let refused = u64::from(answer.status >= 500);
            self.counts.refused.fetch_add(refused, Ordering::Relaxed);
        }
        Some(answer)
    }
}

/// Whether a response about a run means that it has ended.
pub(crate) fn has_ended(answer: &Value) -> bool {
    !matches!(answer["outcome"].as_str(), Some("open" | "queued")) && !is_quarantined(answer)
}

/// Whether it means that the run is quarantined.
pub(crate) fn is_quarantined(answer: &Value) -> bool {
    answer["outcome"] == "quarantined"
}
