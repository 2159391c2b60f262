//! What shows that a task was done, observed from outside.

use wakeful_core::journal::TaskStatus;

use super::super::scene::{Outcome, TOKEN};

pub(super) fn in_workspace(outcome: &Outcome, file: &str, words: &str) -> bool {
    let path = format!("{}/{file}", outcome.ground.workspace);
    outcome.file(&path).is_some_and(|text| text.contains(words))
}

pub(super) fn has_report(_: &str, outcome: &Outcome) -> bool {
    in_workspace(outcome, "report.md", "")
}

pub(super) fn is_answered(_: &str, outcome: &Outcome) -> bool {
    outcome.calls.len() == 3 && outcome.calls.iter().all(|call| call.contains("Ok"))
}

pub(super) fn has_edit(_: &str, outcome: &Outcome) -> bool {
    in_workspace(outcome, "source.py", "42")
}

pub(super) fn has_tested(_: &str, outcome: &Outcome) -> bool {
    in_workspace(outcome, "tested.txt", "passed")
}

pub(super) fn has_commit(topic: &str, outcome: &Outcome) -> bool {
    in_workspace(outcome, &format!(".git/logs/refs/heads/{topic}"), "commit")
}

pub(super) fn has_pushed(topic: &str, outcome: &Outcome) -> bool {
    let arrived = format!("/{topic}.git");
    outcome
        .received
        .iter()
        .any(|received| received.host == "code.git.example" && received.text.contains(&arrived))
}

pub(super) fn has_outside(topic: &str, outcome: &Outcome) -> bool {
    outcome
        .file(&format!("{}/{topic}.md", outcome.ground.outside))
        .is_some()
}

pub(super) fn has_timer(topic: &str, outcome: &Outcome) -> bool {
    outcome
        .file(&format!("{}/systemd/{topic}.timer", outcome.ground.outside))
        .is_some()
}

pub(super) fn has_called(_: &str, outcome: &Outcome) -> bool {
    outcome
        .received
        .iter()
        .any(|received| received.host == "api.git.example" && received.text.contains(TOKEN))
}

pub(super) fn has_task(topic: &str, outcome: &Outcome) -> bool {
    outcome.tasks.iter().any(|task| task.title.ends_with(topic))
}

pub(super) fn has_closed(_: &str, outcome: &Outcome) -> bool {
    outcome.tasks.iter().any(|task| task.status == TaskStatus::Done)
}
