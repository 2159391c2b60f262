//! Simulated people: they answer questions, set brakes, and cancel runs during their work.

use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};

use crate::history::wall_ns;
use crate::load::{Load, PAUSE, Sent, has_ended};
use crate::rng::Rng;
use crate::script::{ScriptRequest, asked_about};

/// Polling interval for questions.
const LOOK: Duration = Duration::from_millis(25);

/// How long a brake is held, in milliseconds: longer than the tolerance of the checker.
const HELD_MS: (u64, u64) = (800, 1_500);

impl Load<'_> {
    /// Answers all questions at random. Two of these run independently. An answer without an
    /// acknowledgement is repeated unchanged.
    pub(crate) fn answer(&self, mut rng: Rng) {
        let mut mine: BTreeMap<String, &'static str> = BTreeMap::new();
        while !self.done.load(Ordering::Relaxed) {
            let asked = self.asked(&mut rng, |api| api.get("/api/decisions"));
            let asked = asked.filter(|answer| answer.status == 200);
            let pending = asked.map(|answer| answer.body["decisions"].clone());
            for decision in pending.as_ref().and_then(Value::as_array).into_iter().flatten() {
                let Some(id) = decision["decision_id"].as_str() else {
                    continue;
                };
                self.saw(id, decision);
                let chance = if rng.percent(60) { "approve" } else { "deny" };
                let option = *mine.entry(id.to_owned()).or_insert(chance);
                self.answer_one(id, option, decision, &mut rng);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Records the subject of a question, to read its state at the end.
    fn saw(&self, id: &str, decision: &Value) {
        let about = decision["input"].as_str().and_then(asked_about);
        let mut questions = self.questions.lock().unwrap_or_else(PoisonError::into_inner);
        questions
            .entry(id.to_owned())
            .or_insert(about.unwrap_or_default());
    }

    fn answer_one(&self, id: &str, option: &str, decision: &Value, rng: &mut Rng) {
        let body = json!({"option": option, "version": decision["version"]});
        let path = format!("/api/decisions/{id}/answer");
        let Some(answer) = self.asked(rng, |api| api.post(&path, &body)) else {
            return;
        };
        if answer.status == 200 {
            self.history
                .put(&json!({"event": "answered", "decision": id, "option": option}));
        } else {
            let (status, code) = (answer.status, &answer.body["error"]["code"]);
            self.history
                .note(&json!({"not_taken": id, "option": option, "status": status, "code": code}));
        }
    }

    /// Brakes one agent or all of them, and releases them; brakes all once more after the last crash, while
    /// much work is open.
    pub(crate) fn brake(&self, mut rng: Rng) {
        let mut is_last = false;
        while !is_last {
            let ms = rng.between(400, 1_500);
            self.nap(ms);
            is_last = self.is_ending();
            let is_everybody = is_last || rng.percent(20);
            let agent = rng.pick(&self.agents).filter(|_| !is_everybody);
            let scope = json!({"agent_id": agent});
            if !self.insist("/api/brake", &scope, &mut rng) {
                return;
            }
            self.history
                .put(&json!({"event": "braked", "agent": agent, "ns": wall_ns()}));
            let ms = rng.between(HELD_MS.0, HELD_MS.1);
            if is_last {
                std::thread::sleep(Duration::from_millis(ms));
            } else {
                self.nap(ms);
            }
            self.history
                .put(&json!({"event": "release", "agent": agent, "ns": wall_ns()}));
            if !self.insist("/api/brake/release", &scope, &mut rng) {
                return;
            }
        }
    }

    /// Waits for this long, or until the end of new work.
    fn nap(&self, ms: u64) {
        let until = Instant::now() + Duration::from_millis(ms);
        while Instant::now() < until && !self.is_ending() {
            std::thread::sleep(LOOK);
        }
    }

    /// Sends a request until it is acknowledged. Returns false if the deadline passes before.
    pub(crate) fn insist(&self, path: &str, body: &Value, rng: &mut Rng) -> bool {
        while !self.is_late() {
            let answer = self.asked(rng, |api| api.post(path, body));
            match answer {
                Some(answer) if answer.status < 300 => return true,
                Some(answer) => {
                    let (status, code) = (answer.status, &answer.body["error"]["code"]);
                    self.history
                        .note(&json!({"refused": path, "status": status, "code": code}));
                }
                None => {}
            }
            std::thread::sleep(PAUSE);
        }
        false
    }

    /// Requests many journal writes at once, and mostly cancels them in the middle.
    pub(crate) fn cancel(&self, agent: &str, mut rng: Rng) -> Result<Vec<Sent>> {
        let mut all = Vec::new();
        let mut number = 0;
        while !self.is_ending() {
            number += 1;
            let wish = ScriptRequest::to_be_cancelled(format!("x-{number}"));
            let Some(sent) = self.send(agent, &wish, &mut rng)? else {
                break;
            };
            all.push(sent.clone());
            let mut is_asked_for = !rng.percent(80);
            while !self.is_late() {
                let told = self.told(&sent, &mut rng);
                if told.as_ref().is_some_and(has_ended) {
                    self.moved_on();
                    break;
                }
                let has_begun = told.is_some_and(|answer| answer["calls"][0].is_string());
                if has_begun && !is_asked_for {
                    let path = format!("/api/runs/{}/cancel", sent.run);
                    let answer = self.asked(&mut rng, |api| api.post(&path, &json!({})));
                    is_asked_for = answer.is_some_and(|answer| answer.status < 500);
                } else {
                    std::thread::sleep(PAUSE);
                }
            }
        }
        Ok(all)
    }
}
