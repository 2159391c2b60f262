//! The result of a suite as a table for people and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

/// How an attack ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Its effect was observed outside.
    Acted,
    /// A person was asked, and declined.
    Asked,
    /// A call was refused without a question.
    Denied,
    /// The calls were performed, and had no effect outside.
    Confined,
    /// The model has not read the injected text, so nothing was tested.
    NotDelivered,
}

/// The result of one attack.
#[derive(Debug, Clone, Serialize)]
pub struct AttackResult {
    pub name: String,
    pub channel: &'static str,
    pub harm: &'static str,
    pub ending: Ending,
    /// Whether the same calls have their effect when the operator orders them.
    pub control_acted: bool,
    /// The tool and the rule of each question.
    pub asked: Vec<String>,
    /// All calls with their status.
    pub calls: Vec<String>,
}

/// The result of one honest task.
#[derive(Debug, Clone, Serialize)]
pub struct HonestResult {
    pub name: String,
    pub kind: &'static str,
    pub is_done: bool,
    pub asked: Vec<String>,
    pub denied: Vec<String>,
    pub calls: Vec<String>,
}

/// The result of a suite.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    pub attacks: Vec<AttackResult>,
    pub honest: Vec<HonestResult>,
}

/// The counts of some attacks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
struct Counts {
    attacks: usize,
    acted: usize,
    asked: usize,
    denied: usize,
    confined: usize,
    not_delivered: usize,
    controls_acted: usize,
}

impl Counts {
    fn add(&mut self, result: &AttackResult) {
        self.attacks += 1;
        self.controls_acted += usize::from(result.control_acted);
        *match result.ending {
            Ending::Acted => &mut self.acted,
            Ending::Asked => &mut self.asked,
            Ending::Denied => &mut self.denied,
            Ending::Confined => &mut self.confined,
            Ending::NotDelivered => &mut self.not_delivered,
        } += 1;
    }
}

impl Report {
    /// The attacks with this ending.
    pub fn ended(&self, ending: Ending) -> impl Iterator<Item = &AttackResult> {
        self.attacks.iter().filter(move |result| result.ending == ending)
    }

    /// The number of attacks whose calls have their effect when the operator orders them.
    #[must_use]
    pub fn controls_acted(&self) -> usize {
        self.attacks.iter().filter(|result| result.control_acted).count()
    }

    /// Decisions for each honest task.
    #[must_use]
    pub fn decisions_per_task(&self) -> f64 {
        let decisions: usize = self.honest.iter().map(|result| result.asked.len()).sum();
        #[expect(clippy::cast_precision_loss, reason = "a few hundred tasks")]
        let quotient = decisions as f64 / self.honest.len().max(1) as f64;
        quotient
    }

    /// A table of the attacks by channel, by effect and by both, and of the honest tasks by kind.
    #[must_use]
    pub fn table(&self) -> String {
        let mut text = String::new();
        let channel = |result: &AttackResult| result.channel.to_owned();
        let harm = |result: &AttackResult| result.harm.to_owned();
        let both = |result: &AttackResult| format!("{} × {}", result.channel, result.harm);
        self.section(&mut text, "channel", channel);
        self.section(&mut text, "effect", harm);
        self.section(&mut text, "channel × effect", both);
        self.section(&mut text, "all", |_| "attacks".to_owned());
        let mut kinds: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
        for result in &self.honest {
            let own = [
                1,
                result.asked.len(),
                result.denied.len(),
                usize::from(!result.is_done),
            ];
            for kind in [result.kind, "all"] {
                let sums = kinds.entry(kind).or_default();
                sums.iter_mut().zip(own).for_each(|(sum, count)| *sum += count);
            }
        }
        let _infallible = writeln!(
            text,
            "| honest tasks | tasks | decisions | denied | not done |\n|---|--:|--:|--:|--:|"
        );
        for (kind, [tasks, decisions, denied, undone]) in kinds {
            let _infallible = writeln!(text, "| {kind} | {tasks} | {decisions} | {denied} | {undone} |");
        }
        text
    }

    fn section(&self, text: &mut String, title: &str, group: impl Fn(&AttackResult) -> String) {
        let mut groups: BTreeMap<String, Counts> = BTreeMap::new();
        for result in &self.attacks {
            groups.entry(group(result)).or_default().add(result);
        }
        let _infallible = writeln!(
            text,
            "| {title} | attacks | acted | asked | denied | confined | not delivered | controls acted |\n\
             |---|--:|--:|--:|--:|--:|--:|--:|"
        );
        for (name, counts) in groups {
            let Counts {
                attacks,
                acted,
                asked,
                denied,
                confined,
                not_delivered,
                controls_acted,
            } = counts;
            let _infallible = writeln!(
                text,
                "| {name} | {attacks} | {acted} | {asked} | {denied} | {confined} | {not_delivered} | {controls_acted} |"
            );
        }
        text.push('\n');
    }
}
