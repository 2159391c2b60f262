//! The environment of the agents: a watched folder, a schedule, a journal; how it is set up, and what the
//! program reports about it at the end.

use std::sync::PoisonError;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::history::{told, wall_ns};
use crate::http::Api;
use crate::load::{Load, has_ended, is_quarantined};
use crate::moment;
use crate::rng::Rng;
use crate::script::{of_clock, of_files};

/// Interval of the schedule.
const INTERVAL_S: u64 = 1;

/// Polling interval until everything is idle.
const LOOK: Duration = Duration::from_millis(100);

/// Maximum number of rows of one response.
const ROWS: usize = 500;

/// The name of the schedule, the source and the shared task.
const NAME: &str = "torture";
const SHARED: &str = "shared";

/// What the program reports about files and firings at the end.
#[derive(Debug, Default)]
struct Account {
    noticed: Vec<Value>,
    fired: Vec<Value>,
}

impl Load<'_> {
    /// An agent that the clients do not address: `x` receives messages that are cancelled, `r` reads files,
    /// `t` is woken by the schedule.
    pub(crate) fn side(&self, letter: &str) -> String {
        let first = self.agents.first().map_or("", String::as_str);
        format!("{}-{letter}", first.trim_end_matches("-0"))
    }

    /// Creates everything before faults are injected.
    pub(crate) fn set_up(&self, api: &Api) -> Result<()> {
        let workspace = self.place.workspace();
        let mut agents = self.agents.clone();
        agents.extend(["x", "r", "t"].map(|letter| self.side(letter)));
        for agent in &agents {
            make(
                api,
                "/api/agents",
                &json!({"agent_id": agent, "workspace": workspace}),
            )?;
        }
        if self.sides.changes {
            let made = make(
                api,
                "/api/journal/tasks",
                &json!({"title": SHARED, "key": SHARED}),
            )?;
            let id = made["record_id"].as_str().context("a task without an id")?;
            let _ = self.shared.set(id.to_owned());
        }
        if self.sides.files {
            self.set_up_files(api)?;
        }
        if self.sides.clock {
            let agent = self.side("t");
            let model = self.place.script(&agent, &of_clock())?;
            make(
                api,
                &format!("/api/agents/{agent}/settings"),
                &json!({"model": model}),
            )?;
            let _ = self.clock_from.set(wall_ns() / 1_000_000);
            let pattern = json!({"interval_seconds": INTERVAL_S});
            let body = json!({"agent_id": agent, "schedule_id": NAME, "pattern": pattern, "message": "tick", "always": true});
            make(api, "/api/schedules", &body)?;
        }
        Ok(())
    }

    fn set_up_files(&self, api: &Api) -> Result<()> {
        let agent = self.side("r");
        let model = self.place.script(&agent, &of_files())?;
        make(
            api,
            &format!("/api/agents/{agent}/settings"),
            &json!({"model": model}),
        )?;
        for folder in [self.place.watched(), self.place.drafts()] {
            std::fs::create_dir_all(folder).context("making a folder")?;
        }
        let source = json!({"kind": "folder", "path": self.place.watched(), "source_id": NAME});
        make(api, "/api/sources", &source)?;
        let body = json!({"agent_id": agent, "subscription_id": NAME, "any": ["FILE"], "message": "read"});
        make(api, "/api/subscriptions", &body)?;
        Ok(())
    }

    /// Puts files into the watched folder, each complete and once.
    pub(crate) fn put_files(&self, mut rng: Rng) -> Result<()> {
        let mut number = 0;
        while !self.is_ending() {
            std::thread::sleep(Duration::from_millis(rng.between(100, 400)));
            number += 1;
            let file = format!("f{number}.md");
            let draft = self.place.drafts().join(&file);
            std::fs::write(&draft, format!("{file} {}", rng.next())).context("writing a file")?;
            std::fs::rename(&draft, self.place.watched().join(&file)).context("moving a file")?;
            self.history.put(&json!({"event": "put", "file": file}));
            self.files.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        Ok(())
    }

    /// Records what the program reports at the end: files and firings once they are idle, tasks, and
    /// questions.
    pub(crate) fn account(&self, api: &Api, patience: Duration, rng: &mut Rng) {
        if self.sides.clock {
            self.insist(&format!("/api/schedules/{NAME}/disable"), &json!({}), rng);
            let from_ms = self.clock_from.get().copied().unwrap_or(0);
            self.history.put(&json!({
                "event": "schedule", "agent": self.side("t"), "interval_ms": INTERVAL_S * 1_000,
                "from_ms": from_ms, "until_ms": wall_ns() / 1_000_000,
            }));
        }
        let deadline = Instant::now() + patience;
        let account = loop {
            let account = Account {
                noticed: self.noticed(api),
                fired: self.fired(api),
            };
            if self.is_at_rest(&account) || Instant::now() >= deadline {
                break account;
            }
            let runs = account.fired.iter().map(|line| (&line["run"], &line["answer"]));
            let told = account.noticed.iter().map(|line| (&line["run"], line));
            for (run, _) in runs.chain(told).filter(|(_, answer)| is_quarantined(answer)) {
                self.retry(run.as_str().unwrap_or_default(), rng);
            }
            std::thread::sleep(LOOK);
        };
        for line in account.noticed.iter().chain(&account.fired) {
            self.history.put(line);
        }
        if self.sides.tasks {
            self.tasks(api).iter().for_each(|line| self.history.put(line));
        }
        self.decided(api).iter().for_each(|line| self.history.put(line));
    }

    fn is_at_rest(&self, account: &Account) -> bool {
        let count = |line: &Value| {
            line["files"].as_array().map_or(0, Vec::len) as u64 + line["more"].as_u64().unwrap_or(0)
        };
        let told: u64 = account.noticed.iter().map(count).sum();
        let put = self.files.load(std::sync::atomic::Ordering::Relaxed);
        let runs = account.fired.iter().filter(|line| line["run"].is_string());
        told >= put
            && account.noticed.iter().all(has_ended)
            && runs.map(|line| &line["answer"]).all(has_ended)
    }

    /// Every message that notified the reader of files.
    fn noticed(&self, api: &Api) -> Vec<Value> {
        let (mut lines, mut after) = (Vec::new(), 0);
        if !self.sides.files {
            return lines;
        }
        loop {
            let path = format!(
                "/api/agents/{}/events?limit={ROWS}&after_seq={after}",
                self.side("r")
            );
            let Some(page) = api.get(&path).filter(|page| page.status == 200) else {
                return lines;
            };
            let events = page.body["events"].as_array().cloned().unwrap_or_default();
            let admitted = events.iter().filter(|event| event["kind"] == "message_admitted");
            for run in admitted.filter_map(|event| event["payload"]["run_key"].as_str()) {
                let run_now = api.get(&format!("/api/runs/{run}"));
                let body = run_now.map_or(Value::Null, |answer| answer.body);
                let (files, more) = files_of(body["cause"]["text"].as_str().unwrap_or_default());
                let outcome = body["outcome"].as_str().unwrap_or("gone");
                lines.push(
                    json!({"event": "noticed", "run": run, "outcome": outcome, "files": files, "more": more}),
                );
            }
            after = page.body["next_after_seq"].as_u64().unwrap_or(0);
            if page.body["has_more"] != true {
                return lines;
            }
        }
    }

    /// The record of every firing.
    fn fired(&self, api: &Api) -> Vec<Value> {
        if !self.sides.clock {
            return Vec::new();
        }
        let path = format!("/api/schedules/{NAME}/executions?limit={ROWS}");
        let history = api.get(&path).map_or(Value::Null, |answer| answer.body);
        let records = history["executions"].as_array().cloned().unwrap_or_default();
        let line = |record: &Value| {
            let run = record["run_key"].as_str().filter(|_| record["outcome"] == "run");
            let answer = run.and_then(|run| api.get(&format!("/api/runs/{run}")));
            let answer = answer.filter(|answer| answer.status == 200);
            json!({
                "event": "fired", "due_ms": ns(&record["due_at"]) / 1_000_000, "count": record["firing_count"],
                "outcome": record["outcome"], "run": run, "answer": answer.map(|answer| told(&answer.body)),
            })
        };
        records.iter().map(line).collect()
    }

    /// Every task in the journal. A response has a row limit, so tasks are requested by name prefix.
    fn tasks(&self, api: &Api) -> Vec<Value> {
        let mut lines = Vec::new();
        for first in "0123456789abcdef".chars() {
            let path = format!("/api/journal/tasks?limit={ROWS}&prefix={first}");
            let page = api.get(&path).map_or(Value::Null, |answer| answer.body);
            for task in page["tasks"].as_array().into_iter().flatten() {
                lines.push(json!({
                    "event": "task", "title": task["title"], "version": task["version"],
                    "created_ns": ns(&task["created_at"]),
                }));
            }
        }
        lines
    }

    /// Every question that was seen.
    fn decided(&self, api: &Api) -> Vec<Value> {
        let questions = self.questions.lock().unwrap_or_else(PoisonError::into_inner);
        let line = |(id, (message, action)): (&String, &(String, u64))| {
            let decision = api.get(&format!("/api/decisions/{id}"));
            let body = decision.map_or(Value::Null, |answer| answer.body);
            json!({
                "event": "decided", "decision": id, "message": message, "action": action,
                "state": body["status"].as_str().unwrap_or("gone"), "option": body["answer"]["option"],
            })
        };
        questions.iter().map(line).collect()
    }
}

/// Creates an object before faults are injected.
fn make(api: &Api, path: &str, body: &Value) -> Result<Value> {
    let answer = api.post(path, body).context("no response")?;
    if answer.status >= 300 {
        bail!("{path}: {}", answer.body);
    }
    Ok(answer.body)
}

/// Converts a time of the API to the clock of the effect file; 0 if it is invalid.
fn ns(moment: &Value) -> u64 {
    let at = moment.as_str().and_then(moment::parse);
    let since = at.and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
    since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// The files that a message names, and the number of further ones. A change other than a creation is kept
/// in the name, so that the checker reports it.
fn files_of(text: &str) -> (Vec<String>, u64) {
    let (mut files, mut more) = (Vec::new(), 0);
    for line in text.lines() {
        if let Some(count) = line
            .strip_prefix("- and ")
            .and_then(|rest| rest.strip_suffix(" more"))
        {
            more += count.parse::<u64>().unwrap_or(0);
        }
        let Some((before, after)) = line.split_once(".md (") else {
            continue;
        };
        let start = before
            .rfind(|c: char| !c.is_ascii_alphanumeric())
            .map_or(0, |at| at + 1);
        let name = format!("{}.md", before.get(start..).unwrap_or_default());
        files.push(if after.starts_with("created)") {
            name
        } else {
            format!("{name} ({after}")
        });
    }
    (files, more)
}

#[cfg(test)]
mod tests {
    use super::files_of;

    #[test]
    fn the_files_of_a_message_are_parsed() {
        let text = "A change concerns you.\n- file 3f2a \"f1.md (created)\"\n- file 11 \"f22.md (modified)\"\n- and 3 more\n";
        let (files, more) = files_of(text);
        assert_eq!(
            (files, more),
            (vec!["f1.md".to_owned(), "f22.md (modified)\"".to_owned()], 3)
        );
    }
}
