//! Audit entries: written with their event, read in pages, and removed only with a consent that is spent once.

use wakeful_core::audit::{AuditDecision, AuditEntry, AuditPosition, ConsentRecord};
use wakeful_core::decision::Channel;
use wakeful_core::id::AgentId;
use wakeful_core::policy::{DenialCategory, GateStage, PolicyEffect};
use wakeful_core::report::payload::{ErasedTarget, PolicyDecided};
use wakeful_core::report::{EventDraft, SealedEvent};
use wakeful_core::step::StepStatus;
use wakeful_core::time::Millis;
use wakeful_store::{AuditScope, Store, StoreError, Tx};

use crate::fixture::{everywhere, sample};

/// Statements that a program with access to the database may try. None of them may change anything.
pub(crate) const ATTEMPTS: [&str; 13] = [
    "UPDATE audit_entry SET decision = 'permit', category = NULL",
    "UPDATE audit_entry SET seq = seq + 1000",
    "UPDATE audit_entry SET reason = reason",
    "DELETE FROM audit_entry",
    "DELETE FROM audit_entry WHERE seq = 1",
    // A consent that was never given: spent from the beginning.
    "INSERT INTO consent (consent_id, agent_id, purpose, run_key, first_seq, last_seq, channel, at_ms, used_seq)
        SELECT chain_hash, agent_id, 'forged', NULL, 1, 9, 'cli', 1, next_seq FROM agent_head WHERE agent_id = 'main'",
    // A consent that is spent on another event than the next one.
    "INSERT INTO consent (consent_id, agent_id, purpose, run_key, first_seq, last_seq, channel, at_ms, used_seq)
        SELECT chain_hash, agent_id, 'forged', NULL, 1, 9, 'cli', 1, NULL FROM agent_head WHERE agent_id = 'main';
     UPDATE consent SET used_seq = 1 WHERE purpose = 'forged'",
    // A consent that nothing spends.
    "INSERT INTO consent (consent_id, agent_id, purpose, run_key, first_seq, last_seq, channel, at_ms, used_seq)
        SELECT chain_hash, agent_id, 'forged', NULL, 1, 9, 'cli', 1, NULL FROM agent_head WHERE agent_id = 'main';
     DELETE FROM audit_entry",
    // The consent of an earlier erasure, replayed.
    "DELETE FROM audit_entry WHERE run_key = (SELECT run_key FROM consent WHERE run_key IS NOT NULL)",
    "UPDATE consent SET used_seq = (SELECT next_seq FROM agent_head WHERE agent_id = 'main')",
    "UPDATE consent SET used_seq = NULL",
    "UPDATE consent SET run_key = NULL, first_seq = 1, last_seq = 9",
    "DELETE FROM consent",
];

fn decided(tool: &str, denied: Option<DenialCategory>) -> EventDraft {
    EventDraft::new(PolicyDecided {
        operation_id: sample::operation(tool),
        tool: tool.to_owned(),
        input: String::new(),
        effect: match denied {
            Some(_) => PolicyEffect::Deny,
            None => PolicyEffect::Permit,
        },
        rule: "a_rule".to_owned(),
        reason: "a reason".to_owned(),
        targets: Vec::new(),
        steps: Vec::new(),
        status: denied.map(|_| StepStatus::Denied),
        code: None,
        stage: denied.map(|_| GateStage::Scope),
        category: denied,
    })
}

fn append(
    tx: &mut Tx<'_>,
    agent: &AgentId,
    run: &str,
    at: i64,
    draft: EventDraft,
) -> Result<u64, StoreError> {
    let mut head = tx.lock_head_to_announce(agent)?.expect("a head");
    let run = Some(sample::run_key(run));
    let event = head.chain(
        agent,
        SealedEvent::new(draft, Millis(at), run, [9; 32]).expect("canonical"),
    );
    tx.append_event(agent, &event)?;
    tx.put_head(agent, &head)?;
    Ok(event.seq)
}

/// Two agents with decisions in two runs, of which one was erased and decided once more.
pub(crate) async fn decisions(store: &Store) {
    let written = store.write(|tx| {
        for name in ["main", "other"] {
            tx.create_agent(&sample::agent(name))?;
        }
        let (main, other) = (sample::agent_id("main"), sample::agent_id("other"));
        append(tx, &main, "kept", 10, decided("ReadFile", None))?;
        append(tx, &main, "gone", 20, decided("WriteFile", None))?;
        append(
            tx,
            &main,
            "kept",
            30,
            decided("ExecCommand", Some(DenialCategory::OutOfScope)),
        )?;
        append(tx, &other, "else", 20, decided("ReadFile", None))?;
        erase(tx, "gone")?;
        append(tx, &main, "gone", 50, decided("WebFetch", None)).map(drop)
    });
    written.await.expect("written");
}

fn consent(tx: &mut Tx<'_>, run: &str) -> Result<ConsentRecord, StoreError> {
    let agent_id = sample::agent_id("main");
    let head = tx.lock_head_to_announce(&agent_id)?.expect("a head");
    Ok(ConsentRecord {
        consent_id: ConsentRecord::id_of(&agent_id, head.next_seq),
        agent_id,
        purpose: "a reason".to_owned(),
        target: ErasedTarget::Run {
            run_key: sample::run_key(run),
        },
        channel: Channel::Cli,
        at: Millis(40),
        used_seq: head.next_seq,
    })
}

fn erase(tx: &mut Tx<'_>, run: &str) -> Result<u64, StoreError> {
    let given = consent(tx, run)?;
    let removed = tx.erase_audit_entries(&given)?;
    append(tx, &given.agent_id, run, 40, sample::erased(1))?;
    Ok(removed)
}

async fn list(store: &Store) -> Vec<AuditEntry> {
    let read = store.read(|view| {
        let all = AuditPosition::newest(None);
        view.audit_entries(AuditScope::All, &all, 100)
    });
    read.await.expect("read")
}

#[test]
fn an_entry_is_written_with_its_event_and_read_in_pages() {
    everywhere(async |store| {
        decisions(&store).await;
        let found = list(&store).await;
        let short: Vec<_> = found
            .iter()
            .map(|entry| (entry.agent_id.as_str(), entry.seq, entry.content.tool.as_str()))
            .collect();
        let expected = [
            ("main", 5, "WebFetch"),
            ("main", 3, "ExecCommand"),
            ("other", 1, "ReadFile"),
            ("main", 1, "ReadFile"),
        ];
        assert_eq!(short, expected);
        let denied = &found[1];
        assert_eq!(
            (
                denied.content.decision,
                denied.content.stage,
                denied.content.category
            ),
            (
                AuditDecision::Deny,
                GateStage::Scope,
                Some(DenialCategory::OutOfScope)
            )
        );
        assert_eq!(denied.run_key, Some(sample::run_key("kept")));
        let page = async |scope: fn(&'static AgentId) -> AuditScope<'static>, before: &AuditEntry| {
            let before = AuditPosition::after(before);
            let agent: &'static AgentId = Box::leak(Box::new(sample::agent_id("main")));
            let read = store.read(move |view| view.audit_entries(scope(agent), &before, 1));
            read.await.expect("read")
        };
        assert_eq!(page(|_| AuditScope::All, &found[1]).await, found[2..3]);
        assert_eq!(page(AuditScope::Agent, &found[1]).await, found[3..4]);
        assert_eq!(page(|_| AuditScope::All, &found[3]).await, []);
        let triggers = store.read(|view| view.altered_triggers()).await.expect("read");
        assert_eq!(triggers, Vec::<String>::new());
    });
}

// Conformance: A-175
#[test]
fn a_consent_removes_the_entries_of_its_target_once() {
    everywhere(async |store| {
        decisions(&store).await;
        let before = list(&store).await;
        let refused = async |change: fn(&mut Tx<'_>) -> Result<(), StoreError>| {
            let changed = store.write(change).await;
            assert!(changed.is_err(), "{changed:?}");
            assert_eq!(list(&store).await, before);
        };
        // Without consent.
        refused(|tx| {
            let target = ErasedTarget::Events {
                first_seq: 1,
                last_seq: 9,
            };
            tx.delete_audit_entries(&sample::agent_id("main"), target)
                .map(drop)
        })
        .await;
        // With the consent to another erasure.
        refused(|tx| {
            let given = consent(tx, "another")?;
            tx.put_consent(&given)?;
            tx.spend_consent(&given)?;
            let target = ErasedTarget::Run {
                run_key: sample::run_key("kept"),
            };
            tx.delete_audit_entries(&given.agent_id, target).map(drop)
        })
        .await;
        // With a consent that was spent before.
        refused(|tx| {
            let given = consent(tx, "kept")?;
            tx.put_consent(&given)?;
            tx.spend_consent(&given)?;
            tx.spend_consent(&given)
        })
        .await;
        refused(|tx| {
            let spent = tx
                .consent_used_by(&sample::agent_id("main"), 4)?
                .expect("a consent");
            tx.erase_audit_entries(&spent).map(drop)
        })
        .await;
        let erased = store.write(|tx| erase(tx, "kept")).await;
        assert_eq!(erased.expect("erased"), 2);
        let rest = list(&store).await;
        assert_eq!(rest.len(), 2, "{rest:?}");
        let is_covered = store.read(|view| {
            let (agent, run) = (sample::agent_id("main"), sample::run_key("kept"));
            view.is_erased_with_consent(&agent, Some(&run), 1)
        });
        assert!(is_covered.await.expect("read"));
    });
}
