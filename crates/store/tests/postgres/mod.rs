//! Tests specific to a server: claims of several processes, leases, lost connections, invalid addresses.

use std::time::{Duration, Instant};

use wakeful_core::id::RunnerId;
use wakeful_store::rows::Claim;
use wakeful_store::{PostgresOptions, Store, StoreError};

use crate::contract::head::{claim, held};
use crate::fixture::{HOST, Server, block_on, fresh_number, sample};

mod audit_entry;
mod bound;
mod journal;
mod read_only;

/// Runs a check with two stores on one database, as two processes would have them.
fn with_two(check: impl AsyncFnOnce(&Server, Store, Store)) {
    let server = Server::fresh();
    block_on(async {
        let (one, two) = (server.open().await, server.open().await);
        check(&server, one.clone(), two.clone()).await;
        two.close().await.expect("closed");
        one.close().await.expect("closed");
    });
}

/// Runs statements without the stores, from inside a check.
async fn behind(server: &Server, sql: &'static str) {
    std::thread::scope(|scope| scope.spawn(|| server.behind(sql)).join().expect("a thread"));
}

async fn open_failed(url: &str) -> StoreError {
    let options = PostgresOptions {
        url: url.to_owned(),
        connections: 1,
    };
    match Store::open_postgres(&options, HOST).await {
        Ok(_) => panic!("it was opened"),
        Err(error) => error,
    }
}

/// Formats an error with all its sources.
fn whole(error: &StoreError) -> String {
    let mut text = format!("{error} {error:?}");
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(&format!(": {cause} {cause:?}"));
        source = cause.source();
    }
    text
}

// Conformance: A-216
#[test]
fn an_agent_claimed_by_a_live_runner_cannot_be_claimed() {
    with_two(async |_, one, two| {
        let fence = held(&one).await;
        two.write(|tx| tx.register_runner(&sample::runner("two")))
            .await
            .expect("registered");
        let claimed = two
            .write(|tx| tx.claim_head(&sample::agent_id("main"), &RunnerId::new("two")))
            .await;
        assert_eq!(
            claimed.expect("asked"),
            Claim::Held {
                by: RunnerId::new("one")
            }
        );
        one.write(move |tx| tx.lock_head(&sample::agent_id("main"), fence))
            .await
            .expect("still held");
    });
}

// Conformance: A-215, A-216, A-219
#[test]
fn an_agent_can_be_claimed_after_its_holders_lease_expired() {
    with_two(async |server, one, two| {
        let fence = held(&one).await;
        // A holder without heartbeats: first last seen some seconds ago, then longer ago than its lease.
        let seen_10_s_ago = "
            INSERT INTO runner (runner_id, machine, pid, pid_start_time, heartbeat_at_ms)
            VALUES ('ghost', 'machine', 1, 1, CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) - 10000);
            UPDATE agent_head SET runner_id = 'ghost'";
        behind(server, seen_10_s_ago).await;
        assert_eq!(claim(&two, "two").await, None, "it may still be alive");
        behind(
            server,
            "UPDATE runner SET heartbeat_at_ms = heartbeat_at_ms - 5001 WHERE runner_id = 'ghost'",
        )
        .await;
        assert!(claim(&two, "two").await.is_some(), "it is dead by now");
        let listed = two.read(|view| view.runners()).await.expect("runners");
        let ghosts = listed
            .iter()
            .filter(|runner| runner.runner_id.as_str() == "ghost")
            .count();
        assert_eq!(
            ghosts, 0,
            "a sleeper whose agent was taken must find that its lease is gone"
        );
        let late = one
            .write(move |tx| tx.lock_head(&sample::agent_id("main"), fence))
            .await;
        assert!(matches!(late, Err(StoreError::FenceLost(_))), "{late:?}");
    });
}

#[test]
fn an_agent_can_be_claimed_when_its_holder_is_not_registered() {
    with_two(async |server, one, two| {
        held(&one).await;
        behind(server, "DELETE FROM runner WHERE runner_id = 'one'").await;
        assert!(claim(&two, "two").await.is_some());
    });
}

#[test]
fn a_runner_without_heartbeat_for_a_day_is_deleted() {
    with_two(async |server, one, two| {
        let fence = held(&one).await;
        let silent = "
            INSERT INTO runner (runner_id, machine, pid, pid_start_time, heartbeat_at_ms)
            SELECT name, 'machine/1', 4194304, 123456789,
                CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) - silent_ms
            FROM (VALUES ('long', 86400001), ('short', 86300000)) AS ghost (name, silent_ms);
            UPDATE agent_head SET runner_id = 'long'";
        behind(server, silent).await;
        two.write(|tx| tx.register_runner(&sample::runner("two")))
            .await
            .expect("registered");
        let runners = two.read(|view| view.runners()).await.expect("read");
        assert_eq!(runners, ["one", "short", "two"].map(sample::runner));
        let late = one
            .write(move |tx| tx.lock_head(&sample::agent_id("main"), fence))
            .await;
        assert!(matches!(late, Err(StoreError::FenceLost(_))), "{late:?}");
    });
}

#[test]
fn a_runner_that_registers_again_after_a_day_is_kept() {
    with_two(async |server, one, two| {
        let silent = "INSERT INTO runner (runner_id, machine, pid, pid_start_time, heartbeat_at_ms)
            VALUES ('two', 'elsewhere', 1, 1, 0)";
        behind(server, silent).await;
        two.write(|tx| tx.register_runner(&sample::runner("two")))
            .await
            .expect("registered");
        let runners = one.read(|view| view.runners()).await.expect("read");
        assert_eq!(runners, [sample::runner("two")]);
    });
}

#[test]
fn the_table_of_runners_shrinks_with_each_registration() {
    with_two(async |server, one, _| {
        let silent = "INSERT INTO runner (runner_id, machine, pid, pid_start_time, heartbeat_at_ms)
            SELECT 'ghost' || n, 'machine', 1, 1, 0 FROM generate_series(1, 100) AS n";
        behind(server, silent).await;
        let mut left = vec![100];
        while left[left.len() - 1] > 1 {
            one.write(|tx| tx.register_runner(&sample::runner("one")))
                .await
                .expect("registered");
            left.push(one.read(|view| view.runners()).await.expect("read").len());
            assert!(left.is_sorted_by(|before, after| before > after), "{left:?}");
        }
    });
}

#[test]
fn closing_a_store_lets_the_next_process_claim_at_once() {
    with_two(async |_, one, two| {
        held(&one).await;
        one.close().await.expect("closed");
        let runners = two.read(|view| view.runners()).await.expect("read");
        assert_eq!(runners, []);
        assert!(claim(&two, "two").await.is_some());
    });
}

// Conformance: L-150, A-26, A-216
#[test]
fn of_many_concurrent_claims_exactly_one_wins() {
    with_two(async |_, one, two| {
        one.write(|tx| tx.create_agent(&sample::agent("main")))
            .await
            .expect("written");
        let names: [&'static str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];
        for store in [&one, &two] {
            let all = store.write(move |tx| {
                names
                    .iter()
                    .try_for_each(|n| tx.register_runner(&sample::runner(n)))
            });
            all.await.expect("registered");
        }
        let tasks = names.into_iter().enumerate().map(|(number, name)| {
            let store = if number % 2 == 0 { one.clone() } else { two.clone() };
            tokio::spawn(async move {
                let claimed = store.write(move |tx| {
                    let claim = tx.claim_head(&sample::agent_id("main"), &RunnerId::new(name))?;
                    // Time for the others to claim before this one commits.
                    std::thread::sleep(Duration::from_millis(30));
                    Ok(claim)
                });
                claimed.await
            })
        });
        let mut won = 0;
        for task in tasks.collect::<Vec<_>>() {
            won += usize::from(matches!(
                task.await.expect("a task").expect("asked"),
                Claim::Won(_)
            ));
        }
        assert_eq!(won, 1);
    });
}

#[test]
fn transitions_of_one_agent_are_serialized() {
    with_two(async |_, one, two| {
        let fence = held(&one).await;
        let tasks = (0..40).map(|number| {
            let store = if number % 2 == 0 { one.clone() } else { two.clone() };
            tokio::spawn(async move {
                let moved = store.write(move |tx| {
                    let main = sample::agent_id("main");
                    let mut head = tx.lock_head(&main, fence)?;
                    let event = sample::event(&mut head, "main", number);
                    tx.append_event(&main, &event)?;
                    tx.put_head(&main, &head)
                });
                moved.await.expect("moved on");
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.expect("a task");
        }
        let head = one
            .write(move |tx| tx.lock_head(&sample::agent_id("main"), fence))
            .await
            .expect("locked");
        assert_eq!(head.next_seq, 41);
        let events = one
            .read(|view| view.events(&sample::agent_id("main"), 0, 100))
            .await
            .expect("read");
        assert_eq!(events.len(), 40);
    });
}

#[test]
fn two_deadlocked_transactions_both_succeed() {
    with_two(async |_, one, two| {
        let made = one.write(|tx| {
            tx.create_agent(&sample::agent("a"))?;
            tx.create_agent(&sample::agent("b"))
        });
        made.await.expect("made");
        // Each adds to both agents in opposite order, and gives the other time to intervene.
        let cross = |store: &Store, order: [&'static str; 2]| {
            let store = store.clone();
            tokio::spawn(async move {
                let crossed = store.write(move |tx| {
                    let usage = wakeful_core::conversation::Usage::of(1, 0);
                    tx.add_usage(&sample::agent_id(order[0]), usage, 1)?;
                    std::thread::sleep(Duration::from_millis(100));
                    tx.add_usage(&sample::agent_id(order[1]), usage, 1)
                });
                crossed.await
            })
        };
        let tasks = [cross(&one, ["a", "b"]), cross(&two, ["b", "a"])];
        for task in tasks {
            task.await.expect("a task").expect("committed after all");
        }
        let agents = one.read(|view| view.agents(true)).await.expect("read");
        assert!(agents.iter().all(|agent| agent.model_rounds == 2), "{agents:?}");
    });
}

#[test]
fn a_process_holds_its_lease_from_its_registration_on() {
    with_two(async |_, one, two| {
        assert!(!one.holds_lease(), "no runner is registered");
        held(&one).await;
        assert!(one.holds_lease());
        assert!(!two.holds_lease(), "another process is not covered by it");
    });
}

#[test]
fn lost_connections_are_replaced() {
    with_two(async |server, one, _| {
        one.write(|tx| tx.create_agent(&sample::agent("main")))
            .await
            .expect("written");
        let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()";
        behind(server, kill).await;
        // The work had not started when the lost connection was detected, so the caller does not notice.
        for _ in 0..8 {
            assert_eq!(one.read(|view| view.agents(true)).await.expect("read").len(), 1);
        }
        assert!(
            one.write(|tx| tx.create_agent(&sample::agent("late")))
                .await
                .expect("written")
        );
    });
}

#[test]
fn a_connection_lost_during_a_transaction_fails_only_that_transaction() {
    with_two(async |server, one, _| {
        // The first statement after the loss receives the server's shutdown message, each later one
        // receives nothing.
        for statements in [1, 2] {
            let url = server.url.clone();
            let broken = one.write(move |tx| {
                tx.create_agent(&sample::agent("main"))?;
                let mut other = postgres::Client::connect(&url, postgres::NoTls).expect("a connection");
                let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE datname = current_database() AND pid <> pg_backend_pid()
                    AND state = 'idle in transaction'";
                other.batch_execute(kill).expect("killed");
                let tries = (0..statements).map(|_| tx.create_agent(&sample::agent("second")));
                tries.last().expect("at least one")
            });
            let broken = broken.await;
            assert!(matches!(broken, Err(StoreError::Unreachable(_))), "{broken:?}");
            assert_eq!(one.read(|view| view.agents(true)).await.expect("read"), []);
        }
        assert!(
            one.write(|tx| tx.create_agent(&sample::agent("main")))
                .await
                .expect("written")
        );
    });
}

#[test]
fn a_missing_server_is_reported_as_unreachable_soon() {
    block_on(async {
        let begun = Instant::now();
        for url in [
            "host=/nonexistent user=a",
            "postgres://a:sesame@127.0.0.1:1/b?connect_timeout=90",
        ] {
            let error = open_failed(url).await;
            assert!(matches!(error, StoreError::Unreachable(_)), "{error:?}");
            assert!(!whole(&error).contains("sesame"), "{}", whole(&error));
        }
        assert!(begun.elapsed() < Duration::from_secs(10));
    });
}

#[test]
fn an_invalid_address_is_reported_without_repeating_it() {
    block_on(async {
        for url in [
            "postgres://a:sesame@host:port/b",
            "host",
            "colour=sesame",
            "postgres://a:sesame@[::1/b",
        ] {
            let error = open_failed(url).await;
            assert!(matches!(error, StoreError::BadAddress(_)), "{url}: {error:?}");
            assert!(!whole(&error).contains("sesame"), "{}", whole(&error));
        }
    });
}

#[test]
fn concurrent_openers_of_a_new_database_create_one_schema() {
    let server = Server::fresh();
    block_on(async {
        let tasks = (0..8).map(|number| {
            let options = server.options();
            tokio::spawn(async move { Store::open_postgres(&options, &format!("host{number}")).await })
        });
        let mut hosts = Vec::new();
        for task in tasks.collect::<Vec<_>>() {
            let store = task.await.expect("a task").expect("opens");
            hosts.push(
                store
                    .read(|view| view.incarnation())
                    .await
                    .expect("read")
                    .to_string(),
            );
            store.close().await.expect("closed");
        }
        assert!(hosts.iter().all(|host| *host == hosts[0]), "{hosts:?}");
    });
}

#[test]
fn a_schema_of_another_program_is_left_unchanged() {
    let server = Server::fresh();
    server.behind("CREATE SCHEMA wakeful_agents; CREATE TABLE wakeful_agents.recipe (name TEXT)");
    assert!(matches!(block_on(open_failed(&server.url)), StoreError::Foreign));
}

#[test]
fn a_newer_schema_on_a_server_is_refused() {
    let server = Server::fresh();
    block_on(async { server.open().await.close().await.expect("closed") });
    server.behind("INSERT INTO schema_version (version) VALUES (99)");
    assert!(matches!(
        block_on(open_failed(&server.url)),
        StoreError::NewerSchema {
            found: 99,
            known: wakeful_store::SCHEMA
        }
    ));
}

#[test]
fn a_user_without_privileges_gets_a_read_only_error() {
    let server = Server::fresh();
    let user = format!("reader_{:016x}", fresh_number());
    server.behind(&format!("CREATE ROLE {user} LOGIN"));
    let error = block_on(open_failed(&format!("{} user={user}", server.url)));
    server.behind(&format!("DROP ROLE {user}"));
    assert!(matches!(error, StoreError::ReadOnly), "{error:?}");
}

#[test]
fn concurrent_reservations_are_serialized() {
    use wakeful_core::budget::{Caps, MicroUsd, UtcDay, decide};
    use wakeful_core::id::PolicyVersion;
    use wakeful_core::key::OperationId;
    use wakeful_store::rows::Reservation;

    with_two(async |_, one, two| {
        let ask = |store: &Store, number: usize| {
            let store = store.clone();
            tokio::spawn(async move {
                let reservation = Reservation {
                    operation_id: OperationId(sample::digest(&number.to_string())),
                    run_key: sample::run_key("run"),
                    agent_id: sample::agent_id("main"),
                    day: UtcDay(1),
                    model_ref: "m".into(),
                    rule: "r".into(),
                    policy_version: PolicyVersion::new("v"),
                    amount: MicroUsd(1),
                };
                let asked = store.write(move |tx| {
                    tx.lock_spending(UtcDay(1))?;
                    let caps = Caps {
                        agent: None,
                        all: MicroUsd(10),
                    };
                    let spent = tx.spent(UtcDay(1), &reservation.agent_id)?;
                    let fits = decide(UtcDay(1), caps, spent, reservation.amount).is_ok();
                    // A transaction that did not wait for the lock would read the same sums meanwhile.
                    std::thread::sleep(Duration::from_millis(2));
                    if fits {
                        tx.reserve(&reservation)?;
                    }
                    Ok(fits)
                });
                asked.await
            })
        };
        let tasks: Vec<_> = (0..40)
            .map(|number| ask(if number % 2 == 0 { &one } else { &two }, number))
            .collect();
        let mut granted = 0;
        for task in tasks {
            granted += u32::from(task.await.expect("a task").expect("asked"));
        }
        assert_eq!(granted, 10);
    });
}
