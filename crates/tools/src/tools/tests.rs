//! Tests the permits that commands share.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

use tokio::sync::watch;
use wakeful_core::id::AgentId;
use wakeful_core::key::Digest;
use wakeful_core::time::Millis;
use wakeful_ports::tool::{NOT_BEGUN, OutputSink};

use super::*;
use crate::arguments::TOOL;
use crate::options::DisabledFeatures;
use crate::options::UnsandboxedPolicy;

/// Stop signals of a test: whether starting is forbidden, and whether it is allowed. A running command is
/// never stopped.
struct TestStop {
    bar: watch::Receiver<bool>,
    clear: watch::Receiver<bool>,
}

async fn is_set(flag: &watch::Receiver<bool>) {
    let mut flag = flag.clone();
    let _gone = flag.wait_for(|set| *set).await;
}

impl StopSignal for TestStop {
    async fn stopped(&self) {
        std::future::pending().await
    }

    async fn start_forbidden(&self) {
        is_set(&self.bar).await;
    }

    async fn start_allowed(&self) {
        is_set(&self.clear).await;
    }
}

/// The tools of one run, whose commands cannot start: the program does not exist.
pub(crate) fn tools(root: &std::path::Path) -> Tools {
    let folder = |name: &str| {
        let path = root.join(name);
        fs::create_dir_all(&path).expect("a folder");
        path
    };
    Tools::new(ToolsOptions {
        program: root.join("no-such-program"),
        program_args_prefix: Vec::new(),
        home: folder("home"),
        workspace: folder("workspace"),
        scratch: folder("home/scratch"),
        environment: BTreeMap::new(),
        secrets: std::sync::Arc::new(crate::secrets::NoSecrets),
        closed: crate::DeniedPaths::default(),
        own_addresses: crate::OwnAddresses::default(),
        limits: crate::CommandLimits::default(),
        output: crate::options::OutputLimits::default(),
        unsandboxed: UnsandboxedPolicy::Allow,
        pretend: DisabledFeatures::default(),
    })
    .expect("tools")
}

fn act() -> ToolRequest {
    ToolRequest {
        operation_id: OperationId(Digest::of(b"one")),
        tool: TOOL.to_owned(),
        input: serde_json::json!({"cmd": "true"}),
        agent_id: AgentId::parse("main").expect("a name"),
        at: Millis(0),
        grant: wakeful_ports::tool::CallGrant::default(),
        scope: wakeful_core::sandbox_scope::SandboxScope::default(),
        hosts: wakeful_ports::tool::HostPolicy::default(),
        paths: wakeful_ports::tool::PathPolicy::default(),
        access: wakeful_core::tool::AgentAccessScope::everything(),
        is_read_only: false,
        is_untrusted: false,
        run_key: None,
        output: OutputSink::default(),
        written: wakeful_ports::tool::WriteMeter::default(),
    }
}

/// Polls a future once; true if it has completed.
async fn has_ended<F: Future>(future: &mut Pin<&mut F>) -> bool {
    poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_ready())).await
}

#[tokio::test]
async fn runs_share_the_permits_and_waiters_start_only_if_allowed() {
    let root = tempfile::tempdir().expect("a folder");
    let most = u32::try_from(COMMANDS_MAX).expect("a few");
    let all = PLACES.acquire_many(most).await.expect("all places");
    let (set, bar) = watch::channel(false);
    let (let_in, clear) = watch::channel(false);
    let told = || TestStop {
        bar: bar.clone(),
        clear: clear.clone(),
    };
    let (one, another) = (tools(root.path()), tools(root.path()));
    let mut first = pin!(one.perform(act(), told()));
    let mut second = pin!(another.perform(act(), told()));
    assert!(
        !has_ended(&mut first).await && !has_ended(&mut second).await,
        "no permit is free"
    );
    drop(all);
    assert!(
        !has_ended(&mut first).await,
        "there is one, and it is not cleared"
    );
    assert_eq!(PLACES.available_permits(), COMMANDS_MAX - 2);
    let _ = let_in.send(true);
    assert_eq!(first.await.code.as_deref(), Some("spawn_failed"), "it began");
    assert_eq!(second.await.code.as_deref(), Some("spawn_failed"));
    assert_eq!(
        PLACES.available_permits(),
        COMMANDS_MAX,
        "every place is given back"
    );
    drop(set);
    // In the same test, because the permits belong to the whole process.
    one_waits_and_is_barred().await;
}

async fn one_waits_and_is_barred() {
    let root = tempfile::tempdir().expect("a folder");
    let most = u32::try_from(COMMANDS_MAX).expect("a few");
    let all = PLACES.acquire_many(most).await.expect("all places");
    let ((set, bar), (_let_in, clear)) = (watch::channel(false), watch::channel(false));
    let tools = tools(root.path());
    let mut waiting = pin!(tools.perform(act(), TestStop { bar, clear }));
    assert!(!has_ended(&mut waiting).await);
    // A brake is set, and a permit becomes free before the waiting command has noticed the brake.
    drop(all);
    assert!(!has_ended(&mut waiting).await);
    let _ = set.send(true);
    assert_eq!(waiting.await.code.as_deref(), Some(NOT_BEGUN));
    assert_eq!(PLACES.available_permits(), COMMANDS_MAX);
}
