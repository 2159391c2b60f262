//! Clients: they send messages with keys until each is acknowledged, ask after them, and put down what they were told.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};

use crate::history::{History, digest, told};
use crate::http::{Answer, Api};
use crate::place::Place;
use crate::rng::Rng;
use crate::script::{Weight, Wish};

/// After a refusal or a silence.
const PAUSE: Duration = Duration::from_millis(4);

/// What all clients of a world share.
pub(crate) struct Load<'a> {
    pub(crate) place: &'a Place,
    pub(crate) apis: Vec<Api>,
    pub(crate) agents: Vec<String>,
    pub(crate) history: &'a History,
    pub(crate) weight: Weight,
    /// Messages of one client that are under way at once.
    pub(crate) window: usize,
    /// Once nothing new is begun: how long what was begun may stand still, and until when it may just now.
    pub(crate) ending: Mutex<Option<(Duration, Instant)>>,
    /// Whether files fail just now.
    pub(crate) faulty: AtomicBool,
    pub(crate) counts: Counts,
}

/// What clients did, in numbers.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Requests that were sent to a program whose disk failed.
    pub(crate) under_faults: AtomicU64,
    /// Those of them that brought a message.
    pub(crate) sent_under_faults: AtomicU64,
    /// Answers of such a program that were refusals.
    pub(crate) refused: AtomicU64,
}

/// A message that was acknowledged.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) message: String,
    pub(crate) run: String,
}

impl Load<'_> {
    /// No new messages from now on; what was begun may stand still for so long.
    pub(crate) fn wind_down(&self, patience: Duration) {
        *self.ending() = Some((patience, Instant::now() + patience));
    }

    fn ending(&self) -> MutexGuard<'_, Option<(Duration, Instant)>> {
        self.ending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_ending(&self) -> bool {
        self.ending().is_some()
    }

    fn is_late(&self) -> bool {
        self.ending()
            .is_some_and(|(_, deadline)| deadline < Instant::now())
    }

    /// Something came to its end, so nothing stands still.
    fn moved_on(&self) {
        if let Some((patience, deadline)) = self.ending().as_mut()
            && *deadline >= Instant::now()
        {
            *deadline = Instant::now() + *patience;
        }
    }

    /// One client from beginning to end: everything that it sent and that was acknowledged.
    pub(crate) fn client(&self, name: &str, mut rng: Rng) -> Result<Vec<Sent>> {
        let (mut all, mut open): (Vec<Sent>, Vec<Sent>) = (Vec::new(), Vec::new());
        let mut number = 0;
        while !self.is_ending() {
            number += 1;
            let wish = Wish::new(format!("{name}-{number}"), self.weight, &mut rng);
            let Some(sent) = self.send(&wish, &mut rng)? else {
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

    /// Sends a message until it is acknowledged, and now and then once more. None when time is up before that.
    fn send(&self, wish: &Wish, rng: &mut Rng) -> Result<Option<Sent>> {
        let model = self.place.script(&wish.name, &wish.yaml)?;
        let agent = rng.pick(&self.agents).cloned().unwrap_or_default();
        let body = json!({"text": wish.text, "key": wish.name, "model": model});
        let (message, text) = (&wish.name, digest(&wish.text));
        self.history.put(&json!({
            "event": "sent", "at": self.history.now(), "message": message, "agent": agent,
            "actions": wish.actions, "text": text,
        }));
        let mut acknowledged = None;
        let mut again = u64::from(rng.percent(25));
        while !self.is_late() {
            if let Some(run) = self.post(&agent, message, &body, rng) {
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

    /// Asks after one of the open messages, the oldest first, and lets it go when it has ended.
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

    /// Asks after a run and puts down what is said. True when it has ended.
    fn look(&self, sent: &Sent, rng: &mut Rng) -> bool {
        let path = format!("/api/runs/{}", sent.run);
        let Some(answer) = self.asked(rng, |api| api.get(&path)) else {
            return false;
        };
        if answer.status != 200 {
            let (status, code) = (answer.status, &answer.body["error"]["code"]);
            self.history
                .note(&json!({"unseen": sent.message, "status": status, "code": code}));
            return false;
        }
        let answer = told(&answer.body);
        let has_ended = !matches!(answer["outcome"].as_str(), Some("open" | "queued"));
        self.history
            .put(&json!({"event": "told", "run": sent.run, "answer": answer}));
        has_ended
    }

    /// Whether an answer comes from a program whose disk fails just now. One that is still starting has not tried its
    /// disk for anybody.
    fn is_hit(&self, answer: &Answer) -> bool {
        self.faulty.load(Ordering::Relaxed) && answer.body["error"]["code"] != "recovering"
    }

    /// Asks one of the programs, and counts.
    fn asked(&self, rng: &mut Rng, ask: impl Fn(&Api) -> Option<Answer>) -> Option<Answer> {
        let answer = ask(rng.pick(&self.apis)?)?;
        if self.is_hit(&answer) {
            self.counts.under_faults.fetch_add(1, Ordering::Relaxed);
            let refused = u64::from(answer.status >= 500);
            self.counts.refused.fetch_add(refused, Ordering::Relaxed);
        }
        Some(answer)
    }
}
