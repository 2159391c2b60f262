//! Many agents and few slots: an agent that cannot work does not block the others.

use serde_json::{Value, json};
use wakeful_api::{CreateAgent, PauseAgent, ResumeAgent, SendMessage};

use super::api::{block_on, client, input};
use super::daemon::RunningDaemon;
use super::home_fixture::{SILENT, TestHome, wait_until};

/// More agents than are driven at once.
const CROWD: usize = 70;

fn status(world: &TestHome) -> Value {
    world.wakeful(&["status", "--json"]).json()
}

#[test]
fn many_stuck_agents_delay_no_other_and_use_no_processor() {
    let world = TestHome::new();
    let model = world.script_named("quick.yaml", "rounds: [{text: quick}]\n");
    let gone = world.script_named("gone.yaml", "rounds: [{text: never}]\n");
    let daemon = RunningDaemon::serve(&world, &["--model", &model]);
    let workspace = world.workspace();
    let folder = workspace.to_str().expect("text");
    block_on(async {
        let client = client(&daemon);
        for number in 0..CROWD {
            let agent = format!("m{number:02}");
            let made = input::<CreateAgent>(json!({"agent_id": agent, "workspace": folder}));
            client.call(&made).await.expect("an agent");
            let pause = input::<PauseAgent>(json!({"agent_id": agent}));
            client.call(&pause).await.expect("paused");
            let message = json!({"agent_id": agent, "text": "do it", "model": gone});
            client.call(&input::<SendMessage>(message)).await.expect("sent");
        }
        std::fs::remove_file(world.path().join("gone.yaml")).expect("removed");
        for number in 0..CROWD {
            let resume = input::<ResumeAgent>(json!({"agent_id": format!("m{number:02}")}));
            client.call(&resume).await.expect("resumed");
        }
        let made = input::<CreateAgent>(json!({"agent_id": "zz", "workspace": folder}));
        client.call(&made).await.expect("an agent");
        let message = input::<SendMessage>(json!({"agent_id": "zz", "text": "do it"}));
        client.call(&message).await.expect("sent");
    });
    wait_until(|| {
        world.wakeful(&["agent", "show", "zz", "--json"]).json()["last_run"]["status"] == "completed"
    });
    let stuck = |status: &Value| status["daemon"]["stuck"].as_array().map_or(0, Vec::len);
    wait_until(|| stuck(&status(&world)) == 50);
    // Once every agent has been tried, nothing is due until a backoff ends.
    let spent = || daemon.processor_ticks();
    let before = spent();
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(
        spent() - before < 10,
        "{} ticks in half a second",
        spent() - before
    );
}

#[test]
fn a_run_whose_script_is_missing_can_be_ended_through_the_daemon() {
    let world = TestHome::new();
    world.wakeful(&["agent", "create", "main"]);
    let key = world.orphan("gone.yaml", &["--agent", "main"]);
    std::fs::remove_file(world.path().join("gone.yaml")).expect("removed");
    let _daemon = RunningDaemon::serve(&world, &[]);
    wait_until(|| status(&world)["daemon"]["stuck"][0]["agent_id"] == "main");
    let ended = world.wakeful(&["runs", "cancel", &key, "--json"]);
    assert_eq!(ended.json()["outcome"], "cancelled", "{ended:?}");
    wait_until(|| status(&world)["daemon"]["stuck"] == json!([]));
}

#[test]
fn an_agent_is_not_stuck_after_its_message_is_cancelled() {
    let world = TestHome::new();
    let gone = world.script_named("gone.yaml", SILENT);
    let daemon = RunningDaemon::serve(&world, &[]);
    world.wakeful(&["agent", "create", "main"]);
    world.wakeful(&["agent", "pause", "main"]);
    let sent = block_on(async {
        let message = json!({"agent_id": "main", "text": "do it", "model": gone});
        client(&daemon)
            .call(&input::<SendMessage>(message))
            .await
            .expect("sent")
    });
    std::fs::remove_file(world.path().join("gone.yaml")).expect("removed");
    world.wakeful(&["agent", "resume", "main"]);
    wait_until(|| status(&world)["daemon"]["stuck"][0]["agent_id"] == "main");
    world.wakeful(&["runs", "cancel", &sent.run_key]);
    wait_until(|| status(&world)["daemon"]["stuck"] == json!([]));
    assert_eq!(status(&world)["agents"][0]["activity"], "asleep");
}
