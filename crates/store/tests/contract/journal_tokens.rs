//! What the journal provides to subscribers: tokens, fields for predicates, and commit notifications.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::task::Poll;

use serde_json::json;
use wakeful_core::journal::{LinkKind, Mutation, RatingTarget, RecordId, RecordKind, TaskStatus};
use wakeful_ports::journal::{CommitListener, Journal as _};

use super::journal::{changes, create, refused, wrote};
use super::journal_records::order;
use crate::fixture::{every_journal, sample};

fn in_gym(category: &RecordId) -> Mutation {
    Mutation::CreateTask {
        title: "Squats".into(),
        details: String::new(),
        category: Some(category.clone()),
    }
}

#[test]
fn a_change_contains_tokens_of_its_owners_and_of_its_fields() {
    every_journal(async |journal| {
        let gym = wrote(
            &journal,
            order("gym", Mutation::CreateCategory { name: "gym".into() }),
        )
        .await
        .record_id;
        let task = wrote(&journal, order("t", in_gym(&gym))).await;
        let told: BTreeSet<&str> = task.tokens.iter().map(String::as_str).collect();
        for token in [
            "semanticKey|-|TASK",
            &format!("entityId|-|{}", task.record_id),
            &format!("entityId|-|{gym}"),
            "subtypeToken|task.category|gym",
            "subtypeToken|task.status|open",
            "subtypeToken|task.change|created",
        ] {
            assert!(told.contains(token), "{token}: {told:?}");
        }
        let list = Mutation::CreateChecklist {
            task: task.record_id.clone(),
            title: "warm up".into(),
            items: vec!["row".into()],
        };
        wrote(&journal, order("l", list)).await;
        let all = changes(&journal).await;
        let item = all
            .iter()
            .find(|change| change.unit.payload_type == RecordKind::ChecklistItem.into())
            .expect("an item");
        for token in [
            "semanticKey|-|CHECKLIST",
            &format!("entityId|-|{}", task.record_id),
            &format!("entityId|-|{gym}"),
            "subtypeToken|checklist.item|unchecked",
            "subtypeToken|checklist.category|gym",
        ] {
            assert!(
                item.tokens.iter().any(|told| told == token),
                "{token}: {:?}",
                item.tokens
            );
        }
    });
}

#[test]
fn ratings_links_and_removals_have_tokens() {
    every_journal(async |journal| {
        let gym = wrote(
            &journal,
            order("gym", Mutation::CreateCategory { name: "gym".into() }),
        )
        .await
        .record_id;
        let task = wrote(&journal, order("t", in_gym(&gym))).await;
        let rate = Mutation::Rate {
            target: RatingTarget::Record(task.record_id.clone()),
            scale: "effort".into(),
            value: 7,
            most: 10,
            note: String::new(),
        };
        let rated = wrote(&journal, order("r", rate)).await.tokens;
        assert!(
            rated.contains(&"subtypeToken|rating.scale|effort".to_owned()),
            "{rated:?}"
        );
        let link = Mutation::CreateLink {
            from: task.record_id.clone(),
            to: gym,
            link: LinkKind::RelatesTo,
        };
        let linked = wrote(&journal, order("k", link)).await.tokens;
        assert!(
            linked.contains(&"subtypeToken|link.kind|relates_to".to_owned()),
            "{linked:?}"
        );
        let gone = Mutation::Remove {
            record: task.record_id,
            move_to: None,
        };
        let gone = wrote(&journal, order("g", gone)).await.tokens;
        assert!(
            gone.contains(&"subtypeToken|task.change|removed".to_owned()),
            "{gone:?}"
        );
    });
}

#[test]
fn fields_of_records_of_any_kind_are_read_together() {
    every_journal(async |journal| {
        let gym = wrote(
            &journal,
            order("gym", Mutation::CreateCategory { name: "gym".into() }),
        )
        .await
        .record_id;
        let task = wrote(&journal, order("t", in_gym(&gym))).await.record_id;
        let note = Mutation::CreateNote {
            text: "heavy".into(),
            task: Some(task.clone()),
        };
        let note = wrote(&journal, order("n", note)).await.record_id;
        let done = Mutation::UpdateTask {
            task: task.clone(),
            title: None,
            details: None,
            status: Some(TaskStatus::Done),
            category: None,
        };
        wrote(&journal, order("d", done)).await;
        let nobody = RecordId::derived(RecordKind::Task, &sample::operation("nobody"));
        let ids = vec![task.clone(), note.clone(), gym.clone(), nobody];
        let found = journal.entities(ids).await.expect("read");
        assert_eq!(found.len(), 3);
        assert_eq!(
            found[&task],
            json!({
                "kind": "task", "id": task, "version": 2, "removed": false, "title": "Squats", "details": "",
                "status": "done", "category": "gym", "category_id": gym, "task_id": task, "task_title": "Squats",
                "task_status": "done", "created_at": "1970-01-01T00:00:01.000Z", "updated_at": "1970-01-01T00:00:01.000Z"
            })
        );
        assert_eq!(
            (&found[&note]["category"], &found[&note]["task_status"]),
            (&json!("gym"), &json!("done"))
        );
        assert_eq!(found[&gym]["name"], "gym");
        let gone = Mutation::Remove {
            record: note.clone(),
            move_to: None,
        };
        wrote(&journal, order("g", gone)).await;
        assert_eq!(
            journal.entities(vec![note.clone()]).await.expect("read")[&note]["removed"],
            true
        );
        assert!(journal.entities(Vec::new()).await.expect("read").is_empty());
    });
}

/// Whether a new notification has arrived.
async fn has_heard(heard: &mut Box<dyn CommitListener>) -> bool {
    let mut next = heard.next();
    poll_fn(|context| Poll::Ready(next.as_mut().poll(context).is_ready())).await
}

// Conformance: L-046, L-130
#[test]
fn listeners_are_notified_of_commits_only() {
    every_journal(async |journal| {
        let mut heard = journal.subscribe_commits();
        assert_eq!(journal.last_seq().await.expect("read"), 0);
        assert!(!has_heard(&mut heard).await);
        refused(&journal, create("a", " ")).await;
        assert!(!has_heard(&mut heard).await, "what was refused was not committed");
        wrote(&journal, create("b", "one")).await;
        wrote(&journal, create("c", "two")).await;
        assert_eq!(
            journal.last_seq().await.expect("read"),
            2,
            "listeners are notified after the commit"
        );
        assert!(has_heard(&mut heard).await);
        assert!(!has_heard(&mut heard).await, "two commits may be heard as one");
        let mut late = journal.clone().subscribe_commits();
        assert!(!has_heard(&mut late).await, "from now on");
        journal
            .undo(sample::operation("b"), wakeful_core::time::Millis(3))
            .await
            .expect("undone");
        assert!(has_heard(&mut heard).await && has_heard(&mut late).await);
    });
}

#[test]
fn a_commit_is_notified_although_its_caller_was_dropped() {
    every_journal(async |journal| {
        let mut heard = journal.subscribe_commits();
        let mut asking = journal.write(create("a", "Buy milk"));
        let _ = poll_fn(|context| Poll::Ready(asking.as_mut().poll(context).is_ready())).await;
        // The future is not polled again. On a server, a job that has not started when its caller is
        // dropped never starts.
        while journal.last_seq().await.expect("read") == 0 {}
        drop(asking);
        heard.next().await;
        assert_eq!(journal.last_seq().await.expect("read"), 1);
    });
}
