use super::sample::{Row, run, run_without_money};
use crate::json::canonical;
use crate::key::Digest;
use crate::proof::replay::{LoggedEvent, Replay, ReplayMismatch};
use crate::report::EventDraft;
use crate::run::RunStatus;

fn replayed(rows: &[Row]) -> Result<Replay, ReplayMismatch> {
    let mut replay = Replay::new(run().1);
    rows.iter()
        .try_for_each(|row| replay.step(&row.recorded()).map(drop))
        .map(|()| replay)
}

fn told(drafts: &[EventDraft]) -> Vec<LoggedEvent> {
    let told = drafts.iter().map(|draft| {
        let payload = canonical(&draft.body).expect("canonical");
        (draft.kind().as_str().to_owned(), Some(Digest::of(&payload)))
    });
    told.collect()
}

// Conformance: L-163
#[test]
fn a_recorded_run_is_replayed_identically() {
    let (rows, turn, drafts) = run();
    let replay = replayed(&rows).expect("the same");
    let state = String::from_utf8(canonical(&turn).expect("canonical")).expect("text");
    replay.end(2, &state).expect("the same end");
    let plain = serde_json::to_string(&turn).expect("JSON");
    assert_ne!(plain, state);
    for other in [plain, format!("{state} ")] {
        assert!(replay.end(2, &other).is_err(), "another spelling: {other}");
    }
    assert_eq!(replay.outcome(), Some(RunStatus::Completed));
    let mut told = told(&drafts);
    assert!(replay.compare_events(&told).expect("the same story").hold());
    replay.check_no_extra_events(&told).expect("nothing else");
    // Other writers may add events in between.
    told.insert(1, ("message_admitted".to_owned(), None));
    assert!(replay.compare_events(&told).expect("the same story").hold());
    replay.check_no_extra_events(&told).expect("nothing of its own");
}

#[test]
fn erased_payloads_match_and_are_counted() {
    let (rows, _, drafts) = run();
    let replay = replayed(&rows).expect("the same");
    for erased in 0..drafts.len() {
        let mut told = told(&drafts);
        told[erased].1 = None;
        let ties = replay.compare_events(&told).expect("the remaining events match");
        assert_eq!((ties.erased, ties.hold()), (1, false));
    }
}

#[test]
fn a_missing_or_wrong_log_binding_is_found() {
    let (rows, _, drafts) = run();
    let replay = replayed(&rows).expect("the same");
    let mut without = drafts.clone();
    assert!(without[0].body.log_binding.take().is_some());
    let mut other = drafts;
    other[0].body.log_binding = Some(Digest::ZERO);
    for drafts in [without, other] {
        let found = replay.compare_events(&told(&drafts));
        assert!(
            matches!(found, Err(ReplayMismatch::Event { nth: 1, .. })),
            "{found:?}"
        );
    }
}

#[test]
fn additional_events_in_the_log_are_found() {
    let (rows, _, drafts) = run();
    let replay = replayed(&rows).expect("the same");
    let mut told = told(&drafts);
    told.push(("tool_executed".to_owned(), None));
    assert!(replay.compare_events(&told).is_ok());
    assert!(matches!(
        replay.check_no_extra_events(&told),
        Err(ReplayMismatch::EventMissing {
            kind: "tool_executed"
        })
    ));
}

#[test]
fn a_run_that_skipped_an_unaffordable_model_is_replayed_identically() {
    let (rows, turn, _) = run_without_money();
    assert!(turn.unpaid.is_some());
    let mut replay = Replay::new(turn);
    for row in &rows {
        replay.step(&row.recorded()).expect("the same");
    }
    assert_eq!(replay.outcome(), Some(RunStatus::Completed));
}

#[test]
fn a_replay_begins_without_the_results_of_the_run() {
    let (rows, mut turn, _) = run();
    (turn.has_open_hosts, turn.has_acted_untrusted, turn.answer_repairs) = (true, true, 1);
    let mut replay = Replay::new(turn);
    for row in &rows {
        replay.step(&row.recorded()).expect("the same");
    }
}

#[test]
fn every_stored_hash_is_compared() {
    let (rows, ..) = run();
    for (hash, name) in [(0, "read set"), (1, "state"), (2, "list of effects")] {
        let mut changed = rows.clone();
        changed[1].hashes[hash] = Digest::ZERO;
        let found = replayed(&changed).expect_err("another hash");
        let ReplayMismatch::Hash { ordinal: 2, what, .. } = found else {
            panic!("{found:?}")
        };
        assert_eq!(what, name);
    }
}

#[test]
fn a_changed_run_log_is_found() {
    let (rows, turn, drafts) = run();
    let state = serde_json::to_string(&turn).expect("JSON");
    let mut changed = rows.clone();
    let text = String::from_utf8(changed[1].body.clone()).expect("text");
    changed[1].body = text
        .replace("\"output_tokens\":2", "\"output_tokens\":9")
        .into_bytes();
    assert!(matches!(
        replayed(&changed),
        Err(ReplayMismatch::Hash { what: "state", .. })
    ));
    changed[1].body = b"{".to_vec();
    assert!(matches!(
        replayed(&changed),
        Err(ReplayMismatch::Unreadable { ordinal: 2, .. })
    ));
    changed[1].body.clear();
    assert!(matches!(replayed(&changed), Err(ReplayMismatch::Erased(2))));
    let short = replayed(&rows[..1]).expect("a beginning");
    assert!(matches!(
        short.end(2, &state),
        Err(ReplayMismatch::Length { rows: 1, version: 2 })
    ));
    assert!(matches!(short.end(1, &state), Err(ReplayMismatch::State)));
    let swapped = [rows[1].clone(), rows[0].clone()];
    assert!(matches!(
        replayed(&swapped),
        Err(ReplayMismatch::Misplaced {
            expected: 1,
            found: 2
        })
    ));
    let mut again = rows[0].clone();
    again.ordinal = 2;
    assert!(matches!(
        replayed(&[rows[0].clone(), again]),
        Err(ReplayMismatch::Refused { ordinal: 2, .. })
    ));
    let whole = replayed(&rows).expect("the same");
    let mut told = told(&drafts);
    told.pop();
    assert!(matches!(
        whole.compare_events(&told),
        Err(ReplayMismatch::Event {
            kind: "run_ended",
            ..
        })
    ));
}
