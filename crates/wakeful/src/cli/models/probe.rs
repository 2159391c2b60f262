//! What a model can do, found out by asking it. Nothing is guessed: what was not seen is not told.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use wakeful_core::budget::{self, Caps, Day, MicroUsd};
use wakeful_core::conversation::{Attachment, Block, Entry, Role, ToolSpec, Usage, calls_of, text_of};
use wakeful_core::failure::ModelFailure;
use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::inference::Terms;
use wakeful_core::key::{RunKey, h};
use wakeful_core::prompt::{PromptCache, Request};
use wakeful_core::run::BUDGET_EXCEEDED;
use wakeful_core::step::model_operation;
use wakeful_models::{Candidate, Models, Told};
use wakeful_ports::clock::Clock as _;
use wakeful_ports::model::{Answer, Audience, Model as _};
use wakeful_ports::records::Reservation;
use wakeful_ports::store::Store as _;

use super::ProbeArgs;
use crate::cli::Shared;
use crate::failure::{FAILED, Failure, OUT_OF_MONEY};
use crate::home::Home;
use crate::model::{ModelHouse, canonical};
use crate::place::Place;
use crate::show::Out;
use crate::world::{RealClock, fresh_id};

/// Whose spending it is. No agent's: but it counts for the day.
const SPENDER: &str = "probe";

/// The rule by which a probe is let through: a person asked for it, and it shows nothing of anybody's work.
const RULE: &str = "operator_probe";

/// A picture of eight by eight red points.
const PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR42mP4z8CAFTEMLQkAKP8/wc53yE8AAAAASUVORK5CYII=";

/// What was found of one thing.
enum Finding {
    Yes,
    No(String),
    /// It was not asked for.
    Unasked,
}

impl Finding {
    fn words(&self) -> String {
        match self {
            Self::Yes => "yes".to_owned(),
            Self::No(why) => format!("no: {why}"),
            Self::Unasked => "not asked".to_owned(),
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

/// Counts what is heard.
#[derive(Default)]
struct Ear(AtomicU32);

impl Audience for Ear {
    fn hear(&self, _text: &str) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// One probe on its way.
struct Probe<'a> {
    place: &'a Place,
    models: Models,
    model_ref: String,
    terms: Terms,
    run: RunKey,
    requests: u32,
    usage: Usage,
    cost: MicroUsd,
}

pub(super) async fn probe(
    args: &ProbeArgs,
    house: &ModelHouse,
    shared: &Shared,
    out: &Out,
) -> Result<u8, Failure> {
    let model_ref = canonical(&args.model)?;
    let models = house.route(&model_ref, &[])?;
    let told = match models.candidates().next() {
        Some((_, Candidate::Hosted(model))) => model.told().await,
        Some((_, Candidate::Scripted(_) | Candidate::Unusable(_))) | None => Told::default(),
    };
    let terms = models.terms(&model_ref);
    open(shared)
        .await?
        .under(house.config())
        .work(out, async |place| {
            let run = RunKey(h("run.probe", &[&fresh_id()]));
            let mut probe = Probe {
                place,
                models,
                model_ref,
                terms,
                run,
                requests: 0,
                usage: Usage::default(),
                cost: MicroUsd(0),
            };
            let ear = Ear::default();
            let plain = probe.ask(&["Answer with the one word: pong"], None, &ear).await?;
            let streaming = match (&plain, ear.0.load(Ordering::Relaxed)) {
                (Err(failure), _) => Finding::No(reason(failure)),
                (Ok(_), 0) => Finding::No("the answer came all at once".to_owned()),
                (Ok(_), _) => Finding::Yes,
            };
            let tools = match plain.is_ok() {
                true => probe.tools().await?,
                false => Finding::Unasked,
            };
            let vision = match plain.is_ok() && args.vision {
                true => probe.vision().await?,
                false => Finding::Unasked,
            };
            probe.tell([&streaming, &tools, &vision], &told, out);
            Ok(if plain.is_ok() { 0 } else { FAILED })
        })
        .await
}

impl Probe<'_> {
    async fn tools(&mut self) -> Result<Finding, Failure> {
        let words = ["Call the tool `probe_echo` once, with the word pong. Say nothing else."];
        Ok(match self.ask(&words, None, &Ear::default()).await? {
            Err(failure) => Finding::No(reason(&failure)),
            Ok(answer)
                if calls_of(&answer.blocks)
                    .iter()
                    .any(|call| call.name == "probe_echo") =>
            {
                Finding::Yes
            }
            Ok(_) => Finding::No("it was offered a tool and did not call it".to_owned()),
        })
    }

    async fn vision(&mut self) -> Result<Finding, Failure> {
        let picture = Attachment {
            name: "probe.png".to_owned(),
            media_type: "image/png".to_owned(),
            data: PICTURE.to_owned(),
        };
        let words = ["Which colour has this picture? Answer with one word."];
        Ok(match self.ask(&words, Some(picture), &Ear::default()).await? {
            Err(failure) => Finding::No(reason(&failure)),
            Ok(answer) if text_of(&answer.blocks).to_lowercase().contains("red") => Finding::Yes,
            Ok(answer) => Finding::No(format!("a red picture is to it {:?}", text_of(&answer.blocks))),
        })
    }

    /// Asks once, within the caps of the day.
    async fn ask(
        &mut self,
        words: &[&str],
        picture: Option<Attachment>,
        ear: &Ear,
    ) -> Result<Result<Answer, ModelFailure>, Failure> {
        let agent = AgentId::parse(SPENDER)?;
        let mut blocks: Vec<Block> = words
            .iter()
            .map(|text| Block::Text {
                text: (*text).to_owned(),
            })
            .collect();
        blocks.extend(picture.map(Block::Attachment));
        let request = Request {
            model_ref: self.model_ref.clone(),
            request: self.requests,
            system: Vec::new(),
            entries: vec![Entry {
                role: Role::User,
                blocks,
            }],
            tools: vec![ToolSpec {
                name: "probe_echo".to_owned(),
                description: "Says a word back.".to_owned(),
                input_schema: json!({"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"],
                    "additionalProperties": false}),
            }],
            cache: PromptCache::none(agent.clone()),
        };
        self.reserve(&agent, &request).await?;
        let answer = self.models.ask(request, ear).await;
        let (usage, is_billed) = match &answer {
            Ok(answer) => (
                Some(answer.usage).filter(|usage| *usage != Usage::default()),
                true,
            ),
            Err(failure) => (None, failure.may_be_billed),
        };
        self.settle(usage, is_billed).await?;
        self.usage = self.usage.plus(usage.unwrap_or_default());
        self.requests += 1;
        Ok(answer)
    }

    async fn reserve(&self, agent: &AgentId, request: &Request) -> Result<(), Failure> {
        let Some((price, _)) = self.terms.price else {
            return Ok(());
        };
        let day = Day::of(RealClock::new().now());
        let default = self.place.governance().daily_cap;
        let reservation = Reservation {
            operation_id: model_operation(&self.run, self.requests),
            run_key: self.run,
            agent_id: agent.clone(),
            day,
            model_ref: self.model_ref.clone(),
            rule: RULE.to_owned(),
            policy_version: PolicyVersion::new(RULE),
            amount: price.most(request.estimated_tokens(), self.terms.output_tokens_max),
        };
        let decided = self.place.store.write(move |tx| {
            tx.lock_spending(day)?;
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
            let message = format!(
                "asking could cost up to {} USD, and of the {} USD of this day {} are spent or put aside",
                exceeded.needed, exceeded.cap, exceeded.spent
            );
            Failure::new(BUDGET_EXCEEDED, message, "`wakeful budget set` raises the cap")
                .exiting(OUT_OF_MONEY)
        })
    }

    async fn settle(&mut self, usage: Option<Usage>, is_billed: bool) -> Result<(), Failure> {
        let Some((price, _)) = self.terms.price else {
            return Ok(());
        };
        // Who does not count has not said what it takes: then all that was put aside is spent.
        let cost = match (usage, is_billed) {
            (Some(usage), _) => Some(price.cost(usage)),
            (None, true) => None,
            (None, false) => Some(MicroUsd(0)),
        };
        self.cost = self.cost.plus(cost.unwrap_or_default());
        let operation = model_operation(&self.run, self.requests);
        Ok(self
            .place
            .store
            .write(move |tx| tx.settle_spend(&operation, cost))
            .await?)
    }

    fn tell(&self, [streaming, tools, vision]: [&Finding; 3], told: &Told, out: &Out) {
        let object = json!({
            "model_ref": self.model_ref, "provider": self.terms.provider, "streaming": streaming.json(),
            "tools": tools.json(), "vision": vision.json(), "context_tokens": told.context_tokens,
            "context_source": told.source, "requests": self.requests, "token_usage": self.usage,
            "cost_usd": self.cost.to_string(),
        });
        let context = match (&told.context_tokens, &told.source) {
            (Some(tokens), Some(source)) => format!("{tokens} tokens (told by {source})"),
            (Some(_) | None, _) => "not told".to_owned(),
        };
        let cost = match self.terms.price {
            Some(_) => format!("{} USD", self.cost),
            None => "nothing".to_owned(),
        };
        let words = format!(
            "{}\nstreaming  {}\ntools      {}\nvision     {}\ncontext    {context}\nused       {} tokens in, {} out, in {} requests; cost {cost}",
            self.model_ref,
            streaming.words(),
            tools.words(),
            vision.words(),
            self.usage.input_tokens,
            self.usage.output_tokens,
            self.requests,
        );
        out.answer(&object, &words);
    }
}

/// Beside whoever works in the home, if there is one.
async fn open(shared: &Shared) -> Result<Place, Failure> {
    if Home::is_there(&shared.home()?) {
        Place::open_beside(shared).await
    } else {
        Place::open_for_writing(shared).await
    }
}

fn reason(failure: &ModelFailure) -> String {
    format!("{} ({})", failure.artifact.summary, failure.artifact.kind)
}
