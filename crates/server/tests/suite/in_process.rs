//! The router as used by a command without a daemon.

use wakeful_api::client::{Client, ClientError};
use wakeful_api::{Channel, GetAgentStatus, ListAgents, SetBrake, Text};
use wakeful_core::id::AgentId;

use super::test_server::in_process;

#[tokio::test]
async fn an_in_process_call_needs_no_token_and_uses_the_cli_channel() {
    let client: Client = in_process();
    let list = ListAgents {
        include_private: false,
    };
    let agents = client.call(&list).await.expect("agents");
    assert_eq!(agents.agents.len(), 1);
    let set = SetBrake {
        agent_id: None,
        reason: None,
    };
    let list = client.call(&set).await.expect("a brake");
    let channels: Vec<Channel> = list.brakes.iter().map(|brake| brake.channel).collect();
    assert_eq!(channels, [Channel::Cli]);
}

#[tokio::test]
async fn an_in_process_call_is_refused_with_the_api_codes() {
    let agent_id = Text(AgentId::parse("nobody").expect("a name"));
    let refused = in_process().call(&GetAgentStatus { agent_id }).await;
    match refused {
        Err(ClientError::Refused { status, problem }) => {
            assert_eq!((status, problem.code.as_ref()), (404, "agent_unknown"));
        }
        other => panic!("{other:?}"),
    }
}
