//! Retention: what may be pruned, in which order, what is always kept, and which blobs are referenced.

use wakeful_core::blob::{Blob, BlobHash};
use wakeful_core::key::Digest;
use wakeful_core::proof::chain::{ChainPosition, ChainVerifier, ChainedEvent, IncarnationStart, VerifyError};
use wakeful_core::report::payload::DataPruned;
use wakeful_core::report::{EventDraft, LogHead, SealedEvent};
use wakeful_core::retention::{DataClass, EVENTS_KEPT_MIN, RUNS_KEPT_MIN};
use wakeful_core::run::RunStatus;
use wakeful_core::time::Millis;
use wakeful_store::rows::{BlobRefCursor, PruneCandidate, PruneTarget, RunRow};
use wakeful_store::{Store, StoreError, Tx};

use crate::contract::blob::keep;
use crate::fixture::{everywhere, sample};

/// Creates an agent with this many events, one per second, of which the first belong to these runs.
async fn with_events(store: &Store, agent: &'static str, count: u64, runs: &'static [&'static str]) {
    let written = store.write(move |tx| {
        tx.create_agent(&sample::agent(agent))?;
        let mut head = LogHead {
            next_seq: 1,
            chain_hash: Digest::ZERO,
            incarnation: tx.incarnation()?,
        };
        for seq in 1..=count {
            let draft = sample::draft(seq);
            let run = usize::try_from(seq - 1)
                .ok()
                .and_then(|n| runs.get(n))
                .map(|run| sample::run_key(run));
            let at = Millis(i64::try_from(seq).expect("small") * 1_000);
            let sealed = SealedEvent::new(draft, at, run, [7; 32]).expect("canonical");
            let event = head.chain(&sample::agent_id(agent), sealed);
            tx.append_event(&sample::agent_id(agent), &event)?;
        }
        tx.put_head(&sample::agent_id(agent), &head)
    });
    written.await.expect("written");
}

fn ended(run: &str, started: i64) -> RunRow {
    RunRow {
        status: RunStatus::Completed,
        started_at: Millis(started),
        ended_at: Some(Millis(started + 10)),
        ..sample::run(run)
    }
}

fn places(aged: &[PruneCandidate]) -> Vec<(String, u64)> {
    let place = |aged: &PruneCandidate| match aged.what {
        PruneTarget::Event { seq } => (aged.agent_id.to_string(), seq),
        PruneTarget::Trace { .. } | PruneTarget::Lines { .. } => panic!("no event: {aged:?}"),
    };
    aged.iter().map(place).collect()
}

async fn oldest(store: &Store, class: DataClass, before: Option<Millis>) -> Vec<PruneCandidate> {
    store
        .read(move |view| view.prune_candidates(class, before, 100))
        .await
        .expect("read")
}

// Conformance: L-173
#[test]
fn events_are_pruned_by_time_agent_and_number_and_the_newest_stay() {
    everywhere(async |store| {
        let kept = u64::from(EVENTS_KEPT_MIN);
        with_events(&store, "b", kept + 2, &[]).await;
        with_events(&store, "a", kept + 3, &[]).await;
        let all = oldest(&store, DataClass::Events, None).await;
        let expected = [("a", 1), ("b", 1), ("a", 2), ("b", 2), ("a", 3)];
        assert_eq!(places(&all), expected.map(|(agent, seq)| (agent.to_owned(), seq)));
        let young = oldest(&store, DataClass::Events, Some(Millis(2_000))).await;
        assert_eq!(
            places(&young).len(),
            2,
            "what happened at the moment is not before it"
        );
        let held = store
            .read(|view| view.data_size(DataClass::Events))
            .await
            .expect("read");
        let first = all[0].clone();
        let taken = store
            .write(move |tx| tx.prune(&first.agent_id, &first.what, 1))
            .await
            .expect("pruned");
        assert_eq!((taken.size.rows, taken.is_all), (1, true));
        let now = store
            .read(|view| view.data_size(DataClass::Events))
            .await
            .expect("read");
        assert_eq!(
            (held.rows - now.rows, held.bytes - now.bytes),
            (1, taken.size.bytes)
        );
        let events = store
            .read(|view| view.events(&sample::agent_id("a"), 0, 2))
            .await
            .expect("read");
        assert_eq!(
            (events[0].seq, &events[0].payload, events[1].payload.is_some()),
            (1, &None, true)
        );
        let first = all[0].clone();
        let again = store
            .write(move |tx| tx.prune(&first.agent_id, &first.what, 1))
            .await
            .expect("pruned");
        assert_eq!(again.size.rows, 0, "what is gone counts as nothing");
    });
}

#[test]
fn events_of_open_runs_and_queued_messages_stay() {
    everywhere(async |store| {
        with_events(
            &store,
            "main",
            u64::from(EVENTS_KEPT_MIN) + 4,
            &["open", "waits", "ended"],
        )
        .await;
        let made = store.write(|tx| {
            tx.create_run(&sample::run("open"))?;
            tx.create_run(&ended("ended", 1))?;
            let waiting = wakeful_core::message::Message {
                run_key: sample::run_key("waits"),
                ..sample::message("turn", "body")
            };
            tx.admit_message(&waiting)?;
            tx.enqueue(&waiting, 2, None)
        });
        made.await.expect("made");
        let found = places(&oldest(&store, DataClass::Events, None).await);
        assert_eq!(found.iter().map(|(_, seq)| *seq).collect::<Vec<_>>(), [3, 4]);
    });
}

/// Creates many ended runs with a run log and two lines each, and an open run that is older than all.
async fn with_runs(store: &Store, count: u32) {
    let written = store.write(move |tx| {
        tx.create_agent(&sample::agent("main"))?;
        tx.create_run(&RunRow {
            started_at: Millis(0),
            ..sample::run("open")
        })?;
        append(tx, "open")?;
        for number in 0..count {
            let name = format!("run{number:03}");
            tx.create_run(&ended(&name, i64::from(number) * 100 + 100))?;
            append(tx, &name)?;
        }
        Ok(())
    });
    written.await.expect("written");
}

fn append(tx: &mut Tx<'_>, run: &str) -> Result<(), StoreError> {
    for ordinal in 1..=3 {
        tx.append_run_log(&sample::input(run, ordinal))?;
    }
    tx.append_entry(&sample::thread(), &sample::entry(run, &format!("{run}, first")))?;
    tx.append_entry(&sample::thread(), &sample::entry(run, &format!("{run}, second")))
}

// Conformance: L-173
#[test]
fn traces_and_lines_of_ended_runs_are_pruned_in_parts() {
    everywhere(async |store| {
        with_runs(&store, RUNS_KEPT_MIN + 2).await;
        let traces = oldest(&store, DataClass::Traces, None).await;
        let keys: Vec<&PruneTarget> = traces.iter().map(|aged| &aged.what).collect();
        let of = |run: &str| PruneTarget::Trace {
            run_key: sample::run_key(run),
        };
        assert_eq!(
            keys,
            [&of("run000"), &of("run001")],
            "the newest stay, and so does what is open"
        );
        assert_eq!(traces[0].size.rows, 3);
        let agent = sample::agent_id("main");
        for (at_most, rows, is_all) in [(2, 2, false), (2, 1, true), (2, 0, true)] {
            let (agent, what) = (agent.clone(), traces[0].what.clone());
            let taken = store
                .write(move |tx| tx.prune(&agent, &what, at_most))
                .await
                .expect("pruned");
            assert_eq!((taken.size.rows, taken.is_all), (rows, is_all));
        }
        let left = store
            .read(|view| view.run_log(&sample::run_key("run000"), 0, 9))
            .await
            .expect("read");
        assert_eq!(left, []);
        assert_eq!(oldest(&store, DataClass::Traces, None).await.len(), 1);
        let lines = oldest(&store, DataClass::Blobs, None).await;
        assert_eq!(lines.len(), 2, "lines stay when a trace goes");
        for (at_most, rows, is_all) in [(1, 1, false), (1, 1, false), (1, 0, true)] {
            let (agent, what) = (agent.clone(), lines[0].what.clone());
            let taken = store
                .write(move |tx| tx.prune(&agent, &what, at_most))
                .await
                .expect("pruned");
            assert_eq!((taken.size.rows, taken.is_all), (rows, is_all));
        }
        assert_eq!(oldest(&store, DataClass::Blobs, None).await.len(), 1);
        let entries = store
            .read(|view| view.entries(&sample::thread(), 9_999))
            .await
            .expect("read");
        assert!(
            entries
                .iter()
                .all(|entry| entry.run_key != sample::run_key("run000"))
        );
        assert_eq!(
            entries.len(),
            2 * (RUNS_KEPT_MIN as usize + 2),
            "no other run lost a line"
        );
    });
}

#[test]
fn a_quarantined_or_open_run_loses_nothing() {
    everywhere(async |store| {
        with_runs(&store, RUNS_KEPT_MIN).await;
        let aside = store.write(|tx| {
            tx.create_run(&RunRow {
                status: RunStatus::Quarantined,
                ..ended("aside", 1)
            })?;
            append(tx, "aside")
        });
        aside.await.expect("written");
        assert_eq!(
            oldest(&store, DataClass::Traces, None).await,
            [],
            "a quarantined run may be resumed"
        );
        assert_eq!(oldest(&store, DataClass::Blobs, None).await, []);
        for run in ["aside", "open"] {
            let what = PruneTarget::Trace {
                run_key: sample::run_key(run),
            };
            let taken = store
                .write(move |tx| tx.prune(&sample::agent_id("main"), &what, 9))
                .await;
            let taken = taken.expect("pruned");
            assert_eq!((taken.size.rows, taken.is_all), (0, true), "{run}");
            let key = sample::run_key(run);
            let left = store
                .read(move |view| view.run_log(&key, 0, 9))
                .await
                .expect("read");
            assert_eq!(left.len(), 3, "{run}");
        }
    });
}

async fn all_names(store: &Store) -> Vec<BlobHash> {
    let (mut all, mut from) = (Vec::new(), Some(BlobRefCursor::START));
    while let Some(place) = from {
        // Small pages, so that every table needs several.
        let names = store
            .read(move |view| view.blob_refs(&place, 2))
            .await
            .expect("read");
        all.extend(names.found);
        from = names.next;
    }
    all
}

#[test]
fn every_blob_reference_is_found_until_its_run_is_pruned() {
    everywhere(async |store| {
        with_runs(&store, RUNS_KEPT_MIN).await;
        let hash = |text: &str| BlobHash(sample::digest(text));
        let written = store.write(move |tx| {
            let state = format!(r#"{{"reply":"{}"}}"#, sample::digest("in a state"));
            tx.create_run(&RunRow {
                state,
                ..ended("named", 1)
            })?;
            append(tx, "named")?;
            let message = wakeful_core::message::Message {
                run_key: sample::run_key("named"),
                ..sample::message("turn", "a body")
            };
            tx.admit_message(&message)?;
            let named = wakeful_store::rows::RunLogRow {
                body: format!(r#"[{{"content":"{}"}}]"#, sample::digest("in a journal")).into_bytes(),
                ..sample::input("named", 4)
            };
            tx.append_run_log(&named)
        });
        written.await.expect("written");
        let named = [
            "a body",
            "in a journal",
            "in a state",
            "named, first",
            "open, second",
            "run049, second",
        ];
        let found = all_names(&store).await;
        for text in named {
            assert!(found.contains(&hash(text)), "{text}");
        }
        let lines = oldest(&store, DataClass::Blobs, None).await;
        let taken = store.write(move |tx| {
            let trace = PruneTarget::Trace {
                run_key: sample::run_key("named"),
            };
            tx.prune(&sample::agent_id("main"), &trace, 99)?;
            tx.prune(&sample::agent_id("main"), &lines[0].what, 99)
        });
        assert!(taken.await.expect("pruned").is_all);
        let found = all_names(&store).await;
        for (text, stays) in named.into_iter().zip([false, false, false, false, true, true]) {
            assert_eq!(found.contains(&hash(text)), stays, "{text}");
        }
    });
}

#[test]
fn a_blob_that_is_stored_again_survives_an_earlier_sweep() {
    everywhere(async |store| {
        let [stays, goes] = [
            keep(&store, b"stays".to_vec()).await,
            keep(&store, b"goes".to_vec()).await,
        ];
        let next = store.write(|tx| {
            let care = tx.retention_state()?;
            let next = wakeful_store::rows::RetentionStateRow {
                generation: care.generation + 1,
                ..care
            };
            assert!(
                !tx.put_retention_state(&next, care.generation + 7)?,
                "another generation than expected"
            );
            assert!(tx.put_retention_state(&next, care.generation)?);
            Ok(next.generation)
        });
        let next = next.await.expect("noted");
        let below = store
            .read(move |view| view.blobs(Some(next), None, 9))
            .await
            .expect("read");
        let mut both = vec![stays.hash, goes.hash];
        both.sort();
        assert_eq!(below, both);
        let again = keep(&store, b"stays".to_vec()).await;
        assert_eq!(again, stays);
        let swept = store
            .write(move |tx| tx.sweep_blobs(&both, next))
            .await
            .expect("swept");
        assert_eq!((swept.rows, swept.bytes), (1, 4));
        let read = |hash| store.read(move |view| Ok((view.blob(&hash)?, view.has_blob(&hash)?)));
        assert_eq!(
            read(stays.hash).await.expect("read"),
            (Some(b"stays".to_vec()), true)
        );
        assert_eq!(read(goes.hash).await.expect("read"), (None, false));
        let back = keep(&store, b"goes".to_vec()).await;
        assert_eq!(back.hash, Blob::new(b"goes".to_vec()).hash());
        assert_eq!(read(goes.hash).await.expect("read").0, Some(b"goes".to_vec()));
    });
}

#[test]
fn a_new_incarnation_has_its_own_name_and_no_claims() {
    everywhere(async |store| {
        let fence = crate::contract::head::held(&store).await;
        let before = store.read(|view| view.incarnation()).await.expect("read");
        let life = store
            .write(|tx| tx.begin_incarnation(77, Millis(1)))
            .await
            .expect("begun");
        assert_eq!(life.as_str(), "host.77");
        assert_ne!(life, before);
        let lost = store
            .write(move |tx| tx.lock_head(&sample::agent_id("main"), fence))
            .await;
        assert!(matches!(lost, Err(StoreError::FenceLost(_))), "{lost:?}");
        assert_eq!(store.read(|view| view.runners()).await.expect("read"), []);
        let older = store.write(|tx| tx.begin_incarnation(77, Millis(1))).await;
        assert!(
            matches!(older, Err(StoreError::Malformed("host.incarnation"))),
            "{older:?}"
        );
    });
}

/// Appends an event that records removed payloads.
fn record(tx: &mut Tx<'_>, draft: EventDraft, at: i64) -> Result<u64, StoreError> {
    let agent = sample::agent_id("main");
    let mut head = tx.lock_head_to_announce(&agent)?.expect("a head");
    let sealed = SealedEvent::new(draft, Millis(at), None, [9; 32]).expect("canonical");
    let event = head.chain(&agent, sealed);
    tx.append_event(&agent, &event)?;
    tx.put_head(&agent, &head)?;
    Ok(event.seq)
}

/// Verifies the log from its first event on, and returns how many payloads are missing.
async fn proved(store: &Store) -> Result<u64, VerifyError> {
    let walked = store.read(|view| {
        let agent = sample::agent_id("main");
        let lives = vec![IncarnationStart {
            first_seq: 1,
            incarnation: view.incarnation()?,
        }];
        let mut walk = ChainVerifier::new(agent.clone(), lives, ChainPosition::BEGINNING);
        for row in view.events(&agent, 0, 9_999)? {
            let payload = row.payload.as_ref().map(|(bytes, salt)| (bytes.as_slice(), salt));
            let link = ChainedEvent {
                seq: row.seq,
                run_key: row.run_key,
                kind: &row.kind,
                at: row.at,
                hash: row.hash,
                payload_hash: row.payload_hash,
                policy_version: &row.policy_version,
                payload,
            };
            if let Err(flaw) = walk.link(&link) {
                return Ok(Err(flaw));
            }
        }
        let (seq, hash) = (walk.seen().last_seq, walk.seen().last_hash);
        Ok(walk.end(ChainPosition { seq, hash }).map(|()| walk.seen().erased))
    });
    walked.await.expect("read")
}

/// Runs one round of retention, like the retention worker.
async fn prune_events(store: &Store, at: i64) -> u64 {
    let old = store.read(|view| view.prune_candidates(DataClass::Events, None, 9_999));
    let old = old.await.expect("read");
    let count = old.len();
    let pruned = store.write(move |tx| {
        for aged in &old {
            tx.prune(&aged.agent_id, &aged.what, 1)?;
        }
        let pruned = DataPruned {
            class: DataClass::Events,
            rows: old.len() as u64,
            bytes: 0,
            until: String::new(),
        };
        record(tx, EventDraft::new(pruned), at)
    });
    pruned.await.expect("pruned");
    count as u64
}

#[test]
fn records_of_pruning_are_never_pruned_and_the_log_stays_verifiable() {
    everywhere(async |store| {
        let more = |count: u64, from: i64| {
            store.write(move |tx| {
                for number in 0..count {
                    let at = from + i64::try_from(number).expect("small");
                    record(tx, sample::draft(number), at)?;
                }
                Ok(())
            })
        };
        with_events(&store, "main", u64::from(EVENTS_KEPT_MIN), &[]).await;
        let erased = store.write(|tx| {
            assert_eq!(tx.erase_events(&sample::agent_id("main"), 1, 5, None)?, 5);
            record(tx, sample::erased(5), 2_000_000)
        });
        let erased = erased.await.expect("erased");
        more(40, 2_000_001).await.expect("written");
        assert_eq!(
            prune_events(&store, 3_000_000).await,
            36,
            "forty-one more, less five"
        );
        assert_eq!(proved(&store).await, Ok(41));
        // Both records are now older than the newest events that are always kept.
        more(u64::from(EVENTS_KEPT_MIN), 3_000_001)
            .await
            .expect("written");
        let pruned = prune_events(&store, 4_000_000).await;
        assert_eq!(proved(&store).await, Ok(41 + pruned));
        let record = store.read(move |view| view.events(&sample::agent_id("main"), erased - 1, 1));
        assert!(record.await.expect("read")[0].payload.is_some());
    });
}
