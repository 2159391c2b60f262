//! An interjection that is withdrawn at the moment it joins a run.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use wakeful_core::cause::Priority;
use wakeful_core::id::{AgentId, TurnId};
use wakeful_core::message::RunOptions;
use wakeful_core::step::StepStatus;
use wakeful_runtime::api::IncomingMessage;

use super::{Daemon, First};

#[tokio::test]
async fn withdrawing_an_interjection_while_it_joins_keeps_the_tool_result() {
    let daemon = Daemon::begin(First::WantsTool).await;
    let post = IncomingMessage {
        thread: None,
        agent: AgentId::parse("main").expect("a name"),
        turn: TurnId::parse("turn-2").expect("a turn"),
        text: "never mind".into(),
        attachments: Vec::new(),
        run_options: RunOptions::default(),
        priority: Priority::Interject,
    };
    let said = daemon.api.messages.send(post).await.expect("posted").run_key;
    let taken = daemon.faults.taken_back.lock().map(|mut place| {
        *place = Some((said, Arc::clone(&daemon.mailer)));
    });
    taken.expect("a place");
    daemon.approve(daemon.run).await;
    assert!(
        daemon.faults.taken_back.lock().expect("a place").is_none(),
        "it was taken back"
    );
    let run = daemon.api.runs.get(daemon.run).await.expect("a run");
    assert_eq!(run.row.status.as_str(), "completed");
    let calls: Vec<StepStatus> = run.tool_calls().map(|step| step.status).collect();
    assert_eq!(
        (calls, daemon.mailer.0.load(Ordering::Relaxed)),
        (vec![StepStatus::Ok], 1)
    );
}
