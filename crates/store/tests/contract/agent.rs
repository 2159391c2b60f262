//! Agents and their counters.

use wakeful_core::agent_settings::AgentSettings;
use wakeful_core::conversation::Usage;
use wakeful_core::id::Incarnation;
use wakeful_store::StoreError;
use wakeful_store::rows::{Agent, Visibility};

use crate::fixture::{everywhere, sample};

#[test]
fn an_agent_is_read_back_unchanged() {
    everywhere(async |store| {
        let made = Agent {
            visibility: Visibility::Private,
            usage: Usage::of(5, 6),
            model_rounds: 7,
            ..sample::agent("main")
        };
        let put = made.clone();
        assert!(
            store
                .write(move |tx| tx.create_agent(&put))
                .await
                .expect("written")
        );
        let read = store
            .read(|view| view.agent(&sample::agent_id("main")))
            .await
            .expect("read");
        assert_eq!(read, Some(made));
        let none = store
            .read(|view| view.agent(&sample::agent_id("other")))
            .await
            .expect("read");
        assert_eq!(none, None);
    });
}

#[test]
fn the_settings_of_an_agent_are_replaced_and_bound_to_the_log() {
    everywhere(async |store| {
        let made = sample::agent("main");
        let put = made.clone();
        let hash = async || {
            let rows = store.read(|view| view.bound_rows("agent", None, 10)).await;
            rows.expect("rows").remove(0).hash
        };
        store
            .write(move |tx| tx.create_agent(&put))
            .await
            .expect("written");
        let before = hash().await;
        let changed = Agent {
            settings: AgentSettings {
                ask_tools: ["ExecCommand".to_owned()].into(),
                ..AgentSettings::new(["a".to_owned()].into())
            },
            model_ref: Some("openai/x".into()),
            workspace: "/other".into(),
            ..made
        };
        let put = changed.clone();
        assert!(
            store
                .write(move |tx| tx.set_agent_settings(&put))
                .await
                .expect("set")
        );
        let main = sample::agent_id("main");
        let read = store.read(move |view| Ok((view.agent(&main)?, view.agent_settings(&main)?)));
        let settings = changed.settings.clone();
        assert_eq!(read.await.expect("read"), (Some(changed), Some(settings)));
        assert_ne!(hash().await, before, "the settings are part of the bound row");
        let other = sample::agent("other");
        assert!(
            !store
                .write(move |tx| tx.set_agent_settings(&other))
                .await
                .expect("looked")
        );
    });
}

#[test]
fn an_agent_name_is_unique() {
    everywhere(async |store| {
        assert!(
            store
                .write(|tx| tx.create_agent(&sample::agent("main")))
                .await
                .expect("written")
        );
        let other = Agent {
            workspace: "/elsewhere".into(),
            ..sample::agent("main")
        };
        assert!(
            !store
                .write(move |tx| tx.create_agent(&other))
                .await
                .expect("written")
        );
        let read = store
            .read(|view| view.agent(&sample::agent_id("main")))
            .await
            .expect("read");
        assert_eq!(read, Some(sample::agent("main")));
    });
}

#[test]
fn agents_are_listed_by_name_and_private_ones_only_on_request() {
    everywhere(async |store| {
        let listed = ["zoe", "a_b", "a-b", "ab", "0"].map(sample::agent);
        let hidden = Agent {
            visibility: Visibility::Private,
            ..sample::agent("temp")
        };
        store
            .write(move |tx| {
                listed
                    .iter()
                    .chain([&hidden])
                    .try_for_each(|agent| tx.create_agent(agent).map(drop))
            })
            .await
            .expect("written");
        let names = |agents: Vec<Agent>| agents.iter().map(|a| a.agent_id.to_string()).collect::<Vec<_>>();
        let public = store.read(|view| view.agents(false)).await.expect("read");
        // Ordered by bytes on every server, independent of its locale.
        assert_eq!(names(public), ["0", "a-b", "a_b", "ab", "zoe"]);
        let all = store.read(|view| view.agents(true)).await.expect("read");
        assert_eq!(names(all), ["0", "a-b", "a_b", "ab", "temp", "zoe"]);
    });
}

#[test]
fn counters_add_up_and_saturate() {
    everywhere(async |store| {
        let main = sample::agent_id("main");
        store
            .write(|tx| tx.create_agent(&sample::agent("main")))
            .await
            .expect("written");
        let add = async |input_tokens, output_tokens, rounds| {
            let (main, usage) = (main.clone(), Usage::of(input_tokens, output_tokens));
            store
                .write(move |tx| tx.add_usage(&main, usage, rounds))
                .await
                .expect("added");
            let agent = store
                .read(|view| view.agent(&sample::agent_id("main")))
                .await
                .expect("read");
            agent.map(|agent| {
                (
                    agent.usage.input_tokens,
                    agent.usage.output_tokens,
                    agent.model_rounds,
                )
            })
        };
        assert_eq!(add(10, 1, 1).await, Some((10, 1, 1)));
        assert_eq!(add(5, 0, 1).await, Some((15, 1, 2)));
        let most = i64::MAX.unsigned_abs();
        assert_eq!(add(u64::MAX, most, 0).await, Some((most, most, 2)));
        assert_eq!(add(1, 1, 1).await, Some((most, most, 3)));
    });
}

#[test]
fn counting_for_an_unknown_agent_is_an_error() {
    everywhere(async |store| {
        let added = store
            .write(|tx| tx.add_usage(&sample::agent_id("main"), Usage::default(), 1))
            .await;
        assert!(matches!(added, Err(StoreError::Malformed(_))), "{added:?}");
    });
}

#[test]
fn a_new_database_has_its_host_and_first_incarnation() {
    everywhere(async |store| {
        let incarnation = store.read(|view| view.incarnation()).await.expect("read");
        assert_eq!(incarnation, Incarnation::new("host.1"));
    });
}
