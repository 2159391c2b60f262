//! What people ask, what the model responds and how tools behave, each a function of the seed.
//!
//! Nothing here has state: a response depends on the seed, the ask and the number of the request, and the
//! behaviour of an action on its operation id. So an interrupted simulation continues unchanged.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use wakeful_core::blob::Blob;
use wakeful_core::conversation::{Block, CALLS_PER_ROUND_MAX, ToolCall, ToolSpec, Usage};
use wakeful_core::failure::{FailureArtifact, FailureCategory, ModelFailure, ModelFailureKind};
use wakeful_core::id::{AgentId, BadId, SessionId, ThreadId, TurnId};
use wakeful_core::key::{DecisionId, OperationId};
use wakeful_core::retry::{RETRY_AFTER_MS_MAX, RetryPolicy};
use wakeful_core::step::{EffectClass, ToolError};
use wakeful_ports::model::ModelResponse;
use wakeful_runtime::wake::ResolvedOptions;

use crate::rng::Rng;

/// The registered tools. Half of them are plain, because that class has the weakest recovery.
pub(crate) const TOOLS: [(&str, EffectClass); 5] = [
    ("Shell", EffectClass::Plain),
    ("Mail", EffectClass::Plain),
    ("Format", EffectClass::Plain),
    ("Read", EffectClass::Idempotent),
    ("Book", EffectClass::Idempotent),
];

/// A tool that policy denies to every run.
const DENIED: &str = "Format";

/// A tool that is not registered.
const INVENTED: &str = "Teleport";

/// Maximum number of tool rounds before a model answers.
const ROUNDS_WANTED_MAX: u32 = 6;

/// The same in a small scenario.
const SMALL_ROUNDS_MAX: u32 = 2;

/// Maximum number of calls of a reply.
const CALLS_MAX: u32 = 4;

/// The same in a small scenario.
const SMALL_CALLS_MAX: u32 = 2;

/// Number of distinct arguments: few, so that equal actions are common.
const ARGUMENTS: u32 = 3;

/// One scenario in this many is watched closely.
const WATCHED: u64 = 16;

/// A request of a person.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) agent: AgentId,
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
    pub(crate) prompt: String,
    pub(crate) limits: ResolvedOptions,
}

/// The result of one model request.
#[derive(Debug, Clone)]
pub(crate) enum ModelScript {
    /// A response after some milliseconds.
    Answer(u64, ModelResponse),
    /// A failure after some milliseconds.
    Failure(u64, ModelFailure),
    /// No response ever comes.
    Silence,
}

/// The behaviour of one action.
#[derive(Debug, Clone)]
pub(crate) struct ToolBehaviour {
    /// Time until it takes effect.
    pub(crate) before_ms: u64,
    /// Time from the effect to its end.
    pub(crate) after_ms: u64,
    /// Whether it fails instead of taking effect.
    pub(crate) fails: bool,
    /// Whether its tool cannot determine the outcome afterwards. Only plain actions have such tools: others
    /// can be repeated.
    pub(crate) is_unsure: bool,
    /// How often it fails temporarily before it succeeds.
    pub(crate) moods: u32,
    /// The retry delay that its tool then requests.
    pub(crate) again_ms: Option<u64>,
    /// Blobs to store with its result.
    pub(crate) blobs: Vec<Blob>,
}

/// How a person reacts to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PersonBehaviour {
    pub(crate) opinion: Opinion,
    /// Whether it is answered before the run waits for it.
    pub(crate) is_eager: bool,
    /// Whether no process resumes the run until the approval has expired.
    pub(crate) is_forgotten: bool,
}

/// What a person answers, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opinion {
    Yes,
    No,
    /// Only after the question was escalated.
    YesButLate,
    /// No answer ever.
    None,
}

/// Everything that a seed determines about people, models and tools.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    seed: u64,
    asks_max: u32,
    is_small: bool,
    is_timeless: bool,
    pub(crate) agent: AgentId,
    session: SessionId,
}

impl Script {
    /// The script of a seed, with a maximum number of asks.
    pub(crate) fn new(seed: u64, asks_max: u32) -> Result<Self, BadId> {
        Ok(Self {
            seed,
            asks_max,
            is_small: false,
            is_timeless: false,
            agent: AgentId::parse("main")?,
            session: SessionId::new("cli"),
        })
    }

    /// The same script with one ask and fewer model rounds if it is small.
    pub(crate) fn of_size(self, is_small: bool) -> Self {
        Self { is_small, ..self }
    }

    /// The same script without dependence on durations: no question has a deadline, no person answers
    /// before the run waits, and no approval expires unused.
    pub(crate) fn timeless(self) -> Self {
        Self {
            is_timeless: true,
            ..self
        }
    }

    /// Whether the expensive invariants, which read the whole log, are checked after every process. At the
    /// end they are checked for every scenario.
    pub(crate) fn is_watched(&self) -> bool {
        self.seed.is_multiple_of(WATCHED)
    }

    /// The thread of all conversations.
    pub(crate) fn thread(&self) -> ThreadId {
        ThreadId::of_session(&self.agent, &self.session)
    }

    /// The number of asks, one after another.
    pub(crate) fn ask_count(&self) -> u32 {
        let wanted = 1 + self.at("asks").below(10) / 7;
        let most = if self.is_small { 1 } else { self.asks_max };
        wanted.min(most)
    }

    pub(crate) fn ask(&self, index: u32) -> Result<Ask, BadId> {
        let mut chance = self.at(&format!("ask/{index}"));
        let limits = ResolvedOptions {
            model_ref: format!("sim:{index}"),
            fallbacks: Vec::new(),
            max_rounds: 1 + chance.below(ROUNDS_WANTED_MAX),
            workspace: "/somewhere".to_owned(),
            deny_tools: self.denied(index),
            ask_tools: self.asked(index),
        };
        Ok(Ask {
            agent: self.agent.clone(),
            session: self.session.clone(),
            turn: TurnId::parse(&format!("turn-{index}"))?,
            prompt: format!("do the work number {index}"),
            limits,
        })
    }

    /// Another ask that arrives at a bad time.
    pub(crate) fn stranger(&self, life: usize) -> Result<Ask, BadId> {
        let mut ask = self.ask(u32::MAX)?;
        ask.turn = TurnId::parse(&format!("stranger-{life}"))?;
        Ok(ask)
    }

    /// The tools that policy denies to the run of an ask.
    pub(crate) fn denied(&self, index: u32) -> BTreeSet<String> {
        let mail = self.at(&format!("denied/{index}")).one_in(4);
        let denied = [DENIED].into_iter().chain(mail.then_some("Mail"));
        denied.map(str::to_owned).collect()
    }

    /// The tools that the run of an ask may use only after an approval.
    pub(crate) fn asked(&self, index: u32) -> BTreeSet<String> {
        let mut chance = self.at(&format!("asked/{index}"));
        if !chance.one_in(3) {
            return BTreeSet::new();
        }
        let tools = TOOLS.into_iter().filter(|_| chance.one_in(3));
        tools.map(|(name, _)| name.to_owned()).collect()
    }

    /// Time until a question is escalated.
    pub(crate) fn patience_ms(&self) -> Option<u64> {
        let mut chance = self.at("patience");
        let is_endless = chance.one_in(6) || self.is_timeless;
        (!is_endless).then(|| u64::from(30_000 + chance.below(600_000)))
    }

    /// How a person answers a question without time pressure.
    pub(crate) fn mind(&self, question: DecisionId) -> PersonBehaviour {
        let mut chance = self.at(&format!("mind/{question}"));
        let opinion = match chance.below(10) {
            0..5 => Opinion::Yes,
            5..8 => Opinion::No,
            8 => Opinion::YesButLate,
            _ if self.patience_ms().is_none() => Opinion::No,
            _ => Opinion::None,
        };
        PersonBehaviour {
            opinion,
            is_eager: chance.one_in(2) && !self.is_timeless,
            is_forgotten: chance.one_in(12) && !self.is_timeless,
        }
    }

    /// The model's response to a request of an ask.
    pub(crate) fn said(&self, ask: u32, request: u32) -> ModelScript {
        let wanted = self.at(&format!("wanted/{ask}")).below(ROUNDS_WANTED_MAX + 1);
        let (wanted, calls_max) = match self.is_small {
            true => (wanted.min(SMALL_ROUNDS_MAX), SMALL_CALLS_MAX),
            false => (wanted, CALLS_MAX),
        };
        let mut chance = self.at(&format!("said/{ask}/{request}"));
        let delay_ms = chance.pause_ms(3_000);
        match chance.below(100) {
            0..8 => ModelScript::Failure(delay_ms, retryable(&mut chance)),
            8..10 => ModelScript::Failure(delay_ms, failure(ModelFailureKind::FailFast, None)),
            10 if chance.one_in(40) => ModelScript::Silence,
            11..13 => ModelScript::Answer(delay_ms, answer(request, vec![], twin_ids(request))),
            // Expensive and rarely useful, so only a few scenarios use it.
            13 if !self.is_small && chance.one_in(8) => {
                ModelScript::Answer(delay_ms, answer(request, too_many(), vec![]))
            }
            14..60 if !self.is_small && self.at("wordy").one_in(200) => {
                ModelScript::Answer(delay_ms, answer(request, too_many(), vec![]))
            }
            _ if request >= wanted => ModelScript::Answer(delay_ms, answer(request, vec![], vec![])),
            _ => {
                let count = 1 + chance.below(calls_max);
                let calls = (0..count).map(|_| call(&mut chance)).collect();
                ModelScript::Answer(delay_ms, answer(request, calls, vec![]))
            }
        }
    }

    pub(crate) fn conduct(&self, operation: OperationId) -> ToolBehaviour {
        let mut chance = self.at(&format!("act/{operation}"));
        let blob = || Blob::new(format!("kept by {operation}").into_bytes());
        ToolBehaviour {
            before_ms: chance.pause_ms(5_000),
            after_ms: chance.pause_ms(800),
            fails: chance.one_in(7),
            is_unsure: chance.one_in(20),
            moods: if chance.one_in(6) { 1 + chance.below(6) } else { 0 },
            again_ms: match chance.below(8) {
                0..4 => None,
                4..6 => Some(u64::from(chance.below(2_000))),
                6 => Some(u64::from(2_000 + chance.below(6_000))),
                _ => Some(RETRY_AFTER_MS_MAX + u64::from(chance.below(2))),
            },
            blobs: chance.one_in(8).then(blob).into_iter().collect(),
        }
    }

    /// The stream of one place under this seed.
    pub(crate) fn at(&self, place: &str) -> Rng {
        Rng::at(self.seed, place)
    }
}

/// The tool descriptions that the model receives.
pub(crate) fn specs() -> Vec<ToolSpec> {
    let spec = |(name, _): (&str, EffectClass)| ToolSpec {
        name: name.to_owned(),
        description: format!("does what a {name} does"),
        input_schema: json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}),
        freeform: None,
    };
    TOOLS.into_iter().map(spec).collect()
}

/// The effect class of a registered tool.
pub(crate) fn class(tool: &str) -> Option<EffectClass> {
    TOOLS
        .into_iter()
        .find(|(name, _)| *name == tool)
        .map(|(_, class)| class)
}

/// The retry policy of a tool. The engine must ignore it for a plain tool.
pub(crate) fn retry(tool: &str) -> Option<RetryPolicy> {
    match tool {
        "Read" | "Shell" => Some(RetryPolicy::REPEATABLE),
        "Book" => Some(RetryPolicy {
            attempts: 3,
            first_ms: 1_500,
            longest_ms: 8_000,
        }),
        _ => None,
    }
}

/// Whether the arguments are valid.
pub(crate) fn check(input: &Value) -> Result<(), ToolError> {
    match input.get("n") {
        Some(Value::Number(_)) => Ok(()),
        Some(_) | None => Err(ToolError::new(INVALID, "n must be a number", "give n")),
    }
}

/// The error code for invalid arguments.
pub(crate) const INVALID: &str = "invalid_arguments";

fn call(chance: &mut Rng) -> (String, Value) {
    let tool = match chance.below(20) {
        0..6 => "Shell",
        6..10 => "Mail",
        10..15 => "Read",
        15..18 => "Book",
        18 => DENIED,
        _ => INVENTED,
    };
    let input = match chance.below(16) {
        0 => json!({}),
        1 => json!({"n": "three"}),
        _ => json!({"n": chance.below(ARGUMENTS)}),
    };
    (tool.to_owned(), input)
}

/// One call more than a round may have, so that the last one is refused.
fn too_many() -> Vec<(String, Value)> {
    (0..=CALLS_PER_ROUND_MAX)
        .map(|n| ("Read".to_owned(), json!({"n": n % 3})))
        .collect()
}

/// Two calls under one id, which is invalid.
fn twin_ids(request: u32) -> Vec<Block> {
    let twin = || tool_use(format!("c{request}-twin"), ("Shell".to_owned(), json!({"n": 0})));
    vec![twin(), twin()]
}

fn answer(request: u32, calls: Vec<(String, Value)>, further: Vec<Block>) -> ModelResponse {
    let text = format!("round {request}");
    let calls = calls.into_iter().enumerate();
    let calls = calls.map(|(position, call)| tool_use(format!("c{request}-{position}"), call));
    let blocks = std::iter::once(Block::Text { text }).chain(calls).chain(further);
    ModelResponse {
        blocks: blocks.collect(),
        usage: Usage::of(10 + u64::from(request), 3),
    }
}

fn tool_use(call_id: String, (name, input): (String, Value)) -> Block {
    Block::ToolUse(ToolCall { call_id, name, input })
}

fn retryable(chance: &mut Rng) -> ModelFailure {
    let wait = match chance.below(10) {
        0..5 => None,
        5..8 => Some(u64::from(chance.below(2_000))),
        8 => Some(u64::from(2_000 + chance.below(8_000))),
        _ if chance.one_in(10) => Some(RETRY_AFTER_MS_MAX),
        _ => Some(RETRY_AFTER_MS_MAX + 1),
    };
    failure(ModelFailureKind::Retryable, wait)
}

fn failure(kind: ModelFailureKind, retry_after_ms: Option<u64>) -> ModelFailure {
    let artifact = FailureArtifact::new(
        FailureCategory::Transport,
        "no_luck",
        "the provider is unavailable",
    );
    ModelFailure {
        retry_after_ms,
        ..ModelFailure::new(kind, artifact)
    }
}
