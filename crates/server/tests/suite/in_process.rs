//! The router as a command without a daemon calls it.

use wakeful_api::client::{Client, ClientError};
use wakeful_api::{AgentList, BrakeList, Channel, SetBrake};

use super::world::in_process;

#[tokio::test]
async fn a_call_of_the_own_process_needs_no_token_and_comes_by_cli() {
    let client: Client = in_process();
    let agents: AgentList = client.get("/api/agents").await.expect("agents");
    assert_eq!(agents.agents.len(), 1);
    let set = SetBrake {
        agent_id: None,
        reason: None,
    };
    let list: BrakeList = client.post("/api/brake", &set).await.expect("a brake");
    let channels: Vec<Channel> = list.brakes.iter().map(|brake| brake.channel).collect();
    assert_eq!(channels, [Channel::Cli]);
}

#[tokio::test]
async fn a_call_of_the_own_process_is_refused_with_the_codes_of_the_api() {
    let refused = in_process().get::<AgentList>("/api/agents/nobody/status").await;
    match refused {
        Err(ClientError::Refused { status, problem }) => {
            assert_eq!((status, problem.code.as_str()), (404, "agent_unknown"));
        }
        other => panic!("{other:?}"),
    }
}
