//! Tests the features of a model by sending requests. Only observed features are reported.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;
use wakeful_core::budget::{self, Caps, MicroUsd, Price, UtcDay};
use wakeful_core::conversation::{
    Attachment, Block, Role, ToolSpec, TranscriptEntry, Usage, calls_of, text_of,
};
use wakeful_core::failure::ModelFailure;
use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::inference::ModelProfile;
use wakeful_core::key::{RunKey, derived_hash};
use wakeful_core::prompt::{ModelRequest, PromptCache};
use wakeful_core::run::BUDGET_EXCEEDED;
use wakeful_core::step::model_operation;
use wakeful_models::{ModelMetadata, Models, RouteModel};
use wakeful_ports::clock::Clock as _;
use wakeful_ports::model::{DeltaSink, Model as _, ModelResponse};
use wakeful_store::rows::Reservation;

use super::ProbeArgs;
use crate::failure::{FAILED, Failure, OUT_OF_MONEY};
use crate::global_args::GlobalArgs;
use crate::home::Home;
use crate::model::{ModelRegistry, canonical};
use crate::open_home::OpenHome;
use crate::show::Out;
use crate::system::{RealClock, fresh_id};

/// The name under which probe costs are recorded. It is not an agent, but the costs count toward the daily
/// cap.
const SPENDER: &str = "probe";

/// The policy rule that permits a probe: the operator requested it, and it contains no agent's work.
const RULE: &str = "operator_probe";

/// Timeout of one request, even if its response keeps arriving slowly. It allows for a model that has to be
/// loaded first.
const QUESTION_TIME_MAX: Duration = Duration::from_secs(120);

/// A red image of 8 by 8 pixels.
const PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR42mP4z8CAFTEMLQkAKP8/wc53yE8AAAAASUVORK5CYII=";

/// The result for one feature.
enum ProbeFinding {
    Yes,
    No(String),
    /// The test was not requested.
    Unasked,
}

impl ProbeFinding {
    fn words(&self) -> String {
        match self {
            Self::Yes => "yes".to_owned(),
            Self::No(why) => format!("no: {why}"),
            Self::Unasked => "not tested".to_owned(),
        }
    }

    fn json(&self) -> Value {
        match self {
            Self::Yes => json!({"found": true}),
            Self::No(why) => json!({"found": false, "why": why}),
            Self::Unasked => json!({"found": null}),
        }
    }
}

/// Counts the received deltas.
#[derive(Default)]
struct DeltaCounter(AtomicU32);

impl DeltaSink for DeltaCounter {
    fn on_text(&self, _text: &str) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The cost of a probe so far.
#[derive(Default)]
struct ProbeCost {
    usage: Usage,
    cost: MicroUsd,
    /// Number of requests without usage counts, which are included at their reserved amount.
    uncounted: u32,
}

impl ProbeCost {
    /// Adds one request and returns its cost. Returns `None` if the provider reported no usage but may
    /// bill: then the whole reservation counts.
    fn add(
        &mut self,
        aside: ProbeReservation,
        usage: Option<Usage>,
        may_be_billed: bool,
    ) -> Option<MicroUsd> {
        self.usage = self.usage.plus(usage.unwrap_or_default());
        let cost = match (usage, may_be_billed) {
            (Some(usage), _) => Some(aside.price.cost(usage)),
            (None, true) => None,
            (None, false) => Some(MicroUsd(0)),
        };
        self.cost = self.cost.plus(cost.unwrap_or(aside.amount));
        self.uncounted += u32::from(cost.is_none());
        cost
    }
}

/// The amount reserved for one request.
#[derive(Clone, Copy)]
struct ProbeReservation {
    price: Price,
    amount: MicroUsd,
}

struct Probe<'a> {
    place: &'a OpenHome,
    models: Models,
    model_ref: String,
    terms: ModelProfile,
    run: RunKey,
    requests: u32,
    bill: ProbeCost,
}

pub(super) async fn probe(
    args: &ProbeArgs,
    registry: &ModelRegistry,
    shared: &GlobalArgs,
    out: &Out,
) -> Result<u8, Failure> {
    let model_ref = canonical(&args.model)?;
    let models = registry.route(&model_ref, &[])?;
    let told = match models.candidates().next() {
        Some((_, RouteModel::Hosted(model))) => model.fetch_metadata().await,
        Some((_, RouteModel::Scripted(_) | RouteModel::Unusable(_))) | None => ModelMetadata::default(),
    };
    let terms = models.profile(&model_ref);
    open(shared)
        .await?
        .with_settings(&registry.config())
        .run_and_close(out, async |place| {
            let run = RunKey(derived_hash("run.probe", &[&fresh_id()]));
            let mut probe = Probe {
                place,
                models,
                model_ref,
                terms,
                run,
                requests: 0,
                bill: ProbeCost::default(),
            };
            let ear = DeltaCounter::default();
            let plain = probe.ask(&["Answer with the one word: pong"], None, &ear).await?;
            let streaming = match (&plain, ear.0.load(Ordering::Relaxed)) {
                (Err(failure), _) => ProbeFinding::No(reason(failure)),
                (Ok(_), 0) => ProbeFinding::No("the response arrived all at once".to_owned()),
                (Ok(_), _) => ProbeFinding::Yes,
            };
            let tools = match plain.is_ok() {
                true => probe.tools().await?,
                false => ProbeFinding::Unasked,
            };
            let vision = match plain.is_ok() && args.vision {
                true => probe.vision().await?,
                false => ProbeFinding::Unasked,
            };
            probe.tell([&streaming, &tools, &vision], &told, out);
            Ok(if plain.is_ok() { 0 } else { FAILED })
        })
        .await
}

impl Probe<'_> {
    async fn tools(&mut self) -> Result<ProbeFinding, Failure> {
        let words = ["Call the tool `probe_echo` once, with the word pong. Say nothing else."];
        Ok(match self.ask(&words, None, &DeltaCounter::default()).await? {
            Err(failure) => ProbeFinding::No(reason(&failure)),
            Ok(answer)
                if calls_of(&answer.blocks)
                    .iter()
                    .any(|call| call.name == "probe_echo") =>
            {
                ProbeFinding::Yes
            }
            Ok(_) => ProbeFinding::No("the model did not call the offered tool".to_owned()),
        })
    }

    async fn vision(&mut self) -> Result<ProbeFinding, Failure> {
        let picture = Attachment {
            name: "probe.png".to_owned(),
            media_type: "image/png".to_owned(),
            data: PICTURE.to_owned(),
        };
        let words = ["Which colour has this picture? Answer with one word."];
        Ok(
            match self.ask(&words, Some(picture), &DeltaCounter::default()).await? {
                Err(failure) => ProbeFinding::No(reason(&failure)),
                Ok(answer) if text_of(&answer.blocks).to_lowercase().contains("red") => ProbeFinding::Yes,
                Ok(answer) => ProbeFinding::No(format!(
                    "the model described a red image as {:?}",
                    text_of(&answer.blocks)
                )),
            },
        )
    }

    /// Sends one request within the daily caps.
    async fn ask(
        &mut self,
        words: &[&str],
        picture: Option<Attachment>,
        ear: &DeltaCounter,
    ) -> Result<Result<ModelResponse, ModelFailure>, Failure> {
        let agent = AgentId::parse(SPENDER)?;
        let mut blocks: Vec<Block> = words
            .iter()
            .map(|text| Block::Text {
                text: (*text).to_owned(),
            })
            .collect();
        blocks.extend(picture.map(Block::Attachment));
        let request = ModelRequest {
            model_ref: self.model_ref.clone(),
            request: self.requests,
            system: Vec::new(),
            entries: vec![TranscriptEntry {
                role: Role::User,
                blocks,
            }],
            tools: vec![ToolSpec {
                name: "probe_echo".to_owned(),
                description: "Repeats a word.".to_owned(),
                input_schema: json!({"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"],
                    "additionalProperties": false}),
                freeform: None,
            }],
            answer_schema: None,
            cache: PromptCache::none(agent.clone()),
        };
        let aside = self.reserve(&agent, &request).await?;
        let answer = in_time(QUESTION_TIME_MAX, self.models.call(request, ear)).await;
        let (usage, may_be_billed) = match &answer {
            Ok(answer) => (
                Some(answer.usage).filter(|usage| *usage != Usage::default()),
                true,
            ),
            Err(failure) => (None, failure.may_be_billed),
        };
        match aside {
            Some(aside) => {
                let cost = self.bill.add(aside, usage, may_be_billed);
                let operation = model_operation(&self.run, self.requests);
                let settled = self
                    .place
                    .store
                    .write(move |tx| tx.settle_spend(&operation, cost));
                settled.await?;
            }
            None => self.bill.usage = self.bill.usage.plus(usage.unwrap_or_default()),
        }
        self.requests += 1;
        Ok(answer)
    }

    /// Reserves the maximum cost of a request; `None` if it is free.
    async fn reserve(
        &self,
        agent: &AgentId,
        request: &ModelRequest,
    ) -> Result<Option<ProbeReservation>, Failure> {
        let Some((price, _)) = self.terms.price else {
            return Ok(None);
        };
        let day = UtcDay::of(RealClock::new().now());
        let default = self.place.governance().daily_cap;
        let amount = price.most(Usage::of(
            request.estimated_tokens(),
            self.terms.output_tokens_max,
        ));
        let reservation = Reservation {
            operation_id: model_operation(&self.run, self.requests),
            run_key: self.run,
            agent_id: agent.clone(),
            day,
            model_ref: self.model_ref.clone(),
            rule: RULE.to_owned(),
            policy_version: PolicyVersion::new(RULE),
            amount,
        };
        let decided = self.place.store.write(move |tx| {
            let day = tx.lock_spending(day)?;
            let reservation = Reservation {
                day,
                ..reservation.clone()
            };
            let caps = Caps {
                agent: tx.cap(Some(&reservation.agent_id))?,
                all: tx.cap(None)?.unwrap_or(default),
            };
            let spent = tx.spent(day, &reservation.agent_id)?;
            let decided = budget::decide(day, caps, spent, reservation.amount);
            if decided.is_ok() {
                tx.reserve(&reservation)?;
            }
            Ok(decided)
        });
        decided.await?.map_err(|exceeded| {
            Failure::new(BUDGET_EXCEEDED, exceeded.words(), exceeded.hint()).with_exit(OUT_OF_MONEY)
        })?;
        Ok(Some(ProbeReservation { price, amount }))
    }

    fn tell(&self, [streaming, tools, vision]: [&ProbeFinding; 3], told: &ModelMetadata, out: &Out) {
        let object = json!({
            "model_ref": self.model_ref, "provider": self.terms.provider, "streaming": streaming.json(),
            "tools": tools.json(), "vision": vision.json(), "context_tokens": told.context_tokens,
            "context_source": told.source, "requests": self.requests,
            "token_usage": self.bill.usage, "cost_usd": self.bill.cost.to_string(),
            "uncounted_requests": self.bill.uncounted,
        });
        let context = match (&told.context_tokens, &told.source) {
            (Some(tokens), Some(source)) => format!("{tokens} tokens (according to {source})"),
            (Some(_) | None, _) => "unknown".to_owned(),
        };
        let cost = match (self.terms.price, self.bill.uncounted) {
            (None, _) => "nothing".to_owned(),
            (Some(_), 0) => format!("{} USD", self.bill.cost),
            (Some(_), uncounted) => format!(
                "at most {} USD (includes {uncounted} requests without usage counts, at their reserved amount)",
                self.bill.cost
            ),
        };
        let words = format!(
            "{}\nstreaming  {}\ntools      {}\nvision     {}\ncontext    {context}\nused       {} tokens in, {} out, in {} requests; cost {cost}",
            self.model_ref,
            streaming.words(),
            tools.words(),
            vision.words(),
            self.bill.usage.input_tokens,
            self.bill.usage.output_tokens,
            self.requests,
        );
        out.answer(&object, &words);
    }
}

/// Opens the home without waiting for another process that uses it.
async fn open(shared: &GlobalArgs) -> Result<OpenHome, Failure> {
    if Home::is_there(&shared.home()?) {
        OpenHome::open_unlocked(shared).await
    } else {
        OpenHome::open_for_writing(shared).await
    }
}

/// Returns the response, or gives up after the timeout. A request that was already sent may be billed.
async fn in_time(
    limit: Duration,
    answer: impl Future<Output = Result<ModelResponse, ModelFailure>>,
) -> Result<ModelResponse, ModelFailure> {
    timeout(limit, answer)
        .await
        .unwrap_or_else(|_| Err(ModelFailure::timed_out()))
}

fn reason(failure: &ModelFailure) -> String {
    format!("{} ({})", failure.artifact.summary, failure.artifact.kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESERVATION: ProbeReservation = ProbeReservation {
        price: Price {
            input: MicroUsd(1_000_000),
            output: MicroUsd(2_000_000),
            cached_read: MicroUsd(0),
            cached_write: MicroUsd(0),
        },
        amount: MicroUsd(700),
    };

    #[test]
    fn a_request_without_counts_is_reported_at_its_reserved_amount() {
        let mut bill = ProbeCost::default();
        assert_eq!(
            bill.add(RESERVATION, Some(Usage::of(5, 1)), true),
            Some(MicroUsd(7))
        );
        assert_eq!((bill.cost, bill.uncounted), (MicroUsd(7), 0));
        assert_eq!(
            bill.add(RESERVATION, None, false),
            Some(MicroUsd(0)),
            "it was refused"
        );
        assert_eq!((bill.cost, bill.uncounted), (MicroUsd(7), 0));
        assert_eq!(
            bill.add(RESERVATION, None, true),
            None,
            "settled at the reserved amount"
        );
        assert_eq!((bill.cost, bill.uncounted), (MicroUsd(707), 1));
        assert_eq!(bill.usage, Usage::of(5, 1));
    }

    #[tokio::test]
    async fn an_endless_response_times_out_and_may_be_billed() {
        let failure = in_time(Duration::ZERO, std::future::pending()).await;
        let failure = failure.expect_err("no answer");
        assert_eq!(failure.artifact.kind, "timeout");
        assert!(failure.may_be_billed);
    }
}
