//! The ports of a simulated process. A fault may be injected before or after each call takes effect.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Value, json};
use wakeful_core::budget::{MicroUsd, Price, PriceBasis};
use wakeful_core::conversation::{Role, ToolSpec};
use wakeful_core::failure::ModelFailure;
use wakeful_core::id::AgentId;
use wakeful_core::inference::{DataBoundary, ModelProfile};
use wakeful_core::json::digest;
use wakeful_core::key::OperationId;
use wakeful_core::prompt::ModelRequest;
use wakeful_core::report::Event;
use wakeful_core::retry::RetryPolicy;
use wakeful_core::run::runtime_failure;
use wakeful_core::step::{EffectClass, OUTCOME_UNKNOWN, RetryAfter, ToolError};
use wakeful_core::time::Millis;
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_ports::model::{DeltaSink, Model, ModelResponse};
use wakeful_ports::tool::{StopSignal, ToolHost, ToolOutcome, ToolRequest};
use wakeful_runtime::Observer;

use crate::faulty_store::Process as _;
use crate::invariant::open_calls;
use crate::ledger::{Deed, Site};
use crate::process::SimProcess;
use crate::script::{ModelScript, Script, ToolBehaviour, check, class, retry, specs};

/// The clocks of a process: virtual time, and a wall clock with an offset.
pub(crate) struct VirtualClock(pub(crate) SimProcess);

impl Clock for VirtualClock {
    fn now(&self) -> Millis {
        self.0.world.wall(self.0.number)
    }

    fn monotonic_ms(&self) -> u64 {
        self.0.world.time.now_ms()
    }

    fn sleep(&self, ms: u64) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.0.sleep(ms))
    }
}

/// Salts derived from the seed.
pub(crate) struct Salts(pub(crate) SimProcess);

impl Entropy for Salts {
    fn random_bytes(&self) -> [u8; 32] {
        self.0.world.salt()
    }
}

/// Records the events that are shown to a person.
pub(crate) struct Screen(pub(crate) SimProcess);

impl Observer for Screen {
    fn on_spend_settled(&self) {}

    fn on_events(&self, _: &AgentId, events: &[Event]) {
        let hashes = events.iter().map(|event| event.sealed.payload_hash);
        self.0.world.note(|ledger| ledger.shown.extend(hashes));
    }
}

/// A model that responds by the script.
#[derive(Clone)]
pub(crate) struct SimModel {
    life: SimProcess,
    script: Arc<Script>,
}

impl SimModel {
    pub(crate) fn new(life: SimProcess, script: &Arc<Script>) -> Self {
        let script = Arc::clone(script);
        Self { life, script }
    }

    fn look_at(&self, ask: u32, request: &ModelRequest) {
        if !self.life.world.has_reservation() {
            let what = format!("request {} of ask {ask} has no reservation", request.request);
            self.life.world.complain(what);
        }
        if let Err(what) = is_whole(request) {
            self.life
                .world
                .complain(format!("request {} of ask {ask}: {what}", request.request));
        }
        if let Ok(hash) = digest(request) {
            let key = (ask, request.request);
            self.life.world.note(|ledger| {
                ledger.requests.entry(key).or_default().insert(hash);
            });
        }
    }
}

impl Model for SimModel {
    fn profile(&self, _model_ref: &str) -> ModelProfile {
        // A price above zero, so that every fault exercises reservations and settlement.
        let price = Price {
            input: MicroUsd(1_000),
            output: MicroUsd(1_000),
            cached_read: MicroUsd(1_000),
            cached_write: MicroUsd(1_000),
        };
        ModelProfile {
            boundary: DataBoundary::Machine,
            price: Some((price, PriceBasis::Configured)),
            output_tokens_max: 100,
            ..ModelProfile::here("sim")
        }
    }

    async fn call(&self, request: ModelRequest, _: &dyn DeltaSink) -> Result<ModelResponse, ModelFailure> {
        self.life.pass(Site::BeforeAsk).await;
        let named = request.model_ref.strip_prefix("sim:");
        let Some(ask) = named.and_then(|index| index.parse::<u32>().ok()) else {
            self.life
                .world
                .complain(format!("unexpected model {}", request.model_ref));
            return Err(runtime_failure("unknown_model", "unknown model"));
        };
        self.life.world.send(self.life.number);
        if !self.life.world.has_slept(self.life.number) {
            self.look_at(ask, &request);
        }
        let mut line = Line {
            life: &self.life,
            model_ref: &request.model_ref,
            is_answered: false,
        };
        let (delay_ms, answer) = match self.script.said(ask, request.request) {
            ModelScript::Answer(delay_ms, answer) => (delay_ms, Ok(answer)),
            ModelScript::Failure(delay_ms, failure) => (delay_ms, Err(failure)),
            ModelScript::Silence => std::future::pending().await,
        };
        if delay_ms > 0 {
            self.life.sleep(delay_ms).await;
        }
        self.life.pass(Site::AfterAnswer).await;
        line.is_answered = true;
        answer
    }
}

/// A request in progress. Dropping it records that it was given up.
struct Line<'a> {
    life: &'a SimProcess,
    model_ref: &'a str,
    is_answered: bool,
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        if !self.is_answered {
            let (model, now_ms) = (self.model_ref.to_owned(), self.life.world.time.now_ms());
            self.life.world.note(|ledger| {
                ledger.hung_up.insert(model, now_ms);
            });
        }
    }
}

/// Checks what every provider requires of a conversation: it begins with a person, and each call has
/// exactly one result, in order, before the next message.
fn is_whole(request: &ModelRequest) -> Result<(), String> {
    if request.tools != specs() {
        return Err("it does not offer the tools".to_owned());
    }
    if request.entries.first().map(|entry| entry.role) != Some(Role::User) {
        return Err("it does not begin with a person".to_owned());
    }
    if request.entries.last().map(|entry| entry.role) == Some(Role::Assistant) {
        return Err("it ends with a message of the model".to_owned());
    }
    let entries = request
        .entries
        .iter()
        .map(|entry| (entry.role, entry.blocks.as_slice()));
    let open = open_calls(entries)?;
    if open.is_empty() {
        Ok(())
    } else {
        Err(format!("the calls {open:?} have no result"))
    }
}

/// Tools that record their effects in the ledger.
#[derive(Clone)]
pub(crate) struct SimTools {
    life: SimProcess,
    script: Arc<Script>,
}

impl SimTools {
    pub(crate) fn new(life: SimProcess, script: &Arc<Script>) -> Self {
        let script = Arc::clone(script);
        Self { life, script }
    }

    /// Waits, unless the action is stopped. Returns true if it was.
    async fn wait(&self, ms: u64, stop: &impl StopSignal) -> bool {
        if ms == 0 {
            return false;
        }
        tokio::select! {
            biased;
            () = stop.stopped() => true,
            () = self.life.sleep(ms) => false,
        }
    }

    /// Records what a tool host can detect as wrong by itself.
    fn look_at(&self, act: &ToolRequest, class: Option<EffectClass>) {
        let meaning = digest(&(&act.tool, &act.input));
        let words = (act.tool.clone(), act.input.to_string());
        self.life.world.note(|ledger| {
            ledger.words.insert(act.operation_id, words);
            if class.is_none() || check(&act.input).is_err() {
                ledger
                    .complaints
                    .push(format!("it was refused and is performed: {act:?}"));
            }
            if let Ok(meaning) = meaning {
                ledger
                    .meanings
                    .entry(act.operation_id)
                    .or_default()
                    .insert(meaning);
            }
        });
    }

    /// Whether a tool fails temporarily for an action, and the delay that it requests.
    fn mood(&self, operation_id: OperationId, conduct: &ToolBehaviour) -> Option<Option<u64>> {
        if conduct.moods == 0 {
            return None;
        }
        match self.life.world.failures_of(operation_id) {
            Ok(failures) => (failures < conduct.moods).then_some(conduct.again_ms),
            Err(error) => {
                self.life
                    .world
                    .complain(format!("the simulated environment failed: {error}"));
                None
            }
        }
    }

    async fn carry_out(&self, deed: Deed, tool: &str, stop: &impl StopSignal) -> ToolOutcome {
        let conduct = self.script.conduct(deed.operation_id);
        let (world, life) = (&self.life.world, self.life.number);
        // An idempotent receiver answers a second use of an operation id at once, with the same result.
        let is_second = deed.class == EffectClass::Idempotent && world.has_done(deed.operation_id);
        if !is_second && self.wait(conduct.before_ms, stop).await {
            return failed(tool, "cancelled");
        }
        let mood = self.mood(deed.operation_id, &conduct).filter(|_| !is_second);
        if let Some(after_ms) = mood {
            let again = Some(RetryAfter { after_ms });
            return ToolOutcome {
                retry_after: again,
                ..failed(tool, "not_now")
            };
        }
        let is_unsure = conduct.is_unsure && deed.class == EffectClass::Plain;
        if conduct.fails && !is_unsure {
            return failed(tool, "no_luck");
        }
        if !conduct.fails && !world.take_effect(life, deed) {
            return failed(tool, "killed");
        }
        self.life.pass(Site::AfterAct).await;
        self.wait(conduct.after_ms, stop).await;
        if is_unsure {
            world.note(|ledger| ledger.unsure.extend([deed.operation_id]));
            return failed(tool, OUTCOME_UNKNOWN);
        }
        ToolOutcome {
            content: json!({"ok": true, "tool": tool, "receipt": deed.operation_id}).to_string(),
            code: None,
            exit_status: None,
            sandbox: None,
            blobs: conduct.blobs,
            images: Vec::new(),
            changed: Vec::new(),
            retry_after: None,
        }
    }
}

fn failed(tool: &str, code: &str) -> ToolOutcome {
    ToolOutcome {
        content: ToolError::new(code, "it did not happen", "").receipt(tool),
        code: Some(code.to_owned()),
        sandbox: None,
        exit_status: None,
        blobs: Vec::new(),
        images: Vec::new(),
        changed: Vec::new(),
        retry_after: None,
    }
}

impl ToolHost for SimTools {
    fn specs(&self) -> Vec<ToolSpec> {
        specs()
    }

    fn class(&self, tool: &str) -> Option<EffectClass> {
        class(tool)
    }

    fn retry(&self, tool: &str) -> Option<RetryPolicy> {
        retry(tool)
    }

    fn check(&self, _: &str, input: &Value) -> Result<(), ToolError> {
        check(input)
    }

    async fn perform(&self, act: ToolRequest, stop: impl StopSignal) -> ToolOutcome {
        // Read before the process may be suspended: an action after that check is the remaining race
        // window.
        let standing = self.life.world.standing(self.life.number, act.operation_id);
        self.life.pass(Site::BeforeAct).await;
        let class = class(&act.tool);
        self.look_at(&act, class);
        let operation_id = act.operation_id;
        let deed = Deed {
            operation_id,
            class: class.unwrap_or(EffectClass::Plain),
            slept: false,
        };
        self.life.world.begin(self.life.number, operation_id, standing);
        let done = self.carry_out(deed, &act.tool, &stop).await;
        self.life.world.finish(self.life.number, operation_id);
        done
    }

    async fn clean_up(&self, operation_id: OperationId) {
        self.life.pass(Site::Clear).await;
        self.life.world.clear(operation_id);
    }
}
