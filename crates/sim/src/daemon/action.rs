//! Performs the script actions of people and external systems against the running daemon.

use wakeful_core::decision::Channel;
use wakeful_core::external_trigger::TriggerStatus;
use wakeful_core::id::{AgentId, RuleId, TurnId};
use wakeful_core::journal::{Author, Mutation, TaskStatus, person_operation_id};
use wakeful_core::key::{RunKey, RunKeySource, RunKeySourceKind};
use wakeful_core::message::RunOptions;
use wakeful_core::time::Millis;
use wakeful_ports::journal::{Journal as _, TaskFilter, WriteRequest};
use wakeful_runtime::EngineError;
use wakeful_runtime::api::subscription::NewSubscription;
use wakeful_runtime::api::{AgentChange, IncomingMessage, TriggerDelivery};
use wakeful_store::rows::ExternalTriggerRow;

use super::host::{DaemonEnd, SimDaemon};
use super::script::{Called, ScriptAction, Wrote};

/// A trigger id that does not exist.
const INVENTED: &str = "trigger-invented";

impl SimDaemon {
    /// Performs one script action; `number` makes its keys unique.
    pub(crate) async fn perform(&self, number: u32, what: ScriptAction) -> Result<(), DaemonEnd> {
        let world = &self.being.world;
        world.note(|ledger| ledger.moves.push(word(&what)));
        match what {
            ScriptAction::Say(agent, turn) => self.say(agent, turn).await,
            ScriptAction::Write(writes) => self.write(number, &writes).await,
            ScriptAction::Subscribe(agent_id, name, terms) => {
                let new = NewSubscription {
                    subscription_id: Some(name),
                    agent_id,
                    spec: *terms,
                };
                self.ask(self.alert.add(new)).await.map(drop)
            }
            ScriptAction::Unsubscribe(name) => {
                world.note(|ledger| ledger.dropped.extend([name.clone()]));
                self.ask(self.alert.remove(name)).await.map(drop)
            }
            ScriptAction::Deliver(agent, called) => self.deliver(number, agent, called).await,
            ScriptAction::RotateTrigger(agent) => self.ask(self.api.triggers.rotate(agent)).await.map(drop),
            ScriptAction::RevokeTrigger(agent) => self.ask(self.api.triggers.revoke(agent)).await.map(drop),
            ScriptAction::Plan(draft) => self.ask(self.api.schedules.add(*draft)).await.map(drop),
            ScriptAction::Stand(name, status) => {
                world.note(|ledger| ledger.touched.extend([name.clone()]));
                self.ask(self.api.schedules.set_status(name, status))
                    .await
                    .map(drop)
            }
            ScriptAction::TriggerNow(name, request) => {
                let request = format!("wish-{request}");
                self.ask(self.api.schedules.trigger_now(name, request))
                    .await
                    .map(drop)
            }
            ScriptAction::Pass(ms) => self.pass(ms).await,
            ScriptAction::SetClock(mut chance) => {
                world.set_clock(&mut chance);
                Ok(())
            }
            ScriptAction::Control(agent, control) => self
                .ask(self.api.agents.set_control(agent, control))
                .await
                .map(drop),
            ScriptAction::Mode(agent, mode) => self.tend(agent, AgentChange::Mode(mode)).await,
            ScriptAction::Life(agent, life) => self.tend(agent, AgentChange::Life(life)).await,
            ScriptAction::Sleep(agent, ms) => {
                let until = Millis(world.wall.now().0.saturating_add(ms));
                self.tend(agent, AgentChange::Sleep(until)).await
            }
            ScriptAction::Wake(agent) => self.tend(agent, AgentChange::Wake).await,
            ScriptAction::Brake(agent) => {
                let braked = self.api.brakes.set(agent, "stop".to_owned(), Channel::Page);
                self.ask(braked).await.map(drop)
            }
            ScriptAction::Release(agent) => self
                .ask(self.api.brakes.release(agent, Channel::Page))
                .await
                .map(drop),
            ScriptAction::Cancel(agent) => self.cancel(agent).await,
            ScriptAction::Restart => {
                self.being.halt();
                Ok(())
            }
        }
    }

    async fn tend(&self, agent: AgentId, change: AgentChange) -> Result<(), DaemonEnd> {
        self.ask(self.api.agents.change(agent, change)).await.map(drop)
    }

    async fn say(&self, agent: AgentId, turn: TurnId) -> Result<(), DaemonEnd> {
        let post = IncomingMessage {
            thread: None,
            agent: agent.clone(),
            text: format!("hello, this is {turn}"),
            turn,
            attachments: Vec::new(),
            run_options: RunOptions::default(),
            priority: wakeful_core::cause::Priority::default(),
        };
        if let Some(posted) = self.ask(self.api.messages.send(post)).await? {
            self.being
                .world
                .note(|ledger| drop(ledger.posted.insert(posted.run_key, agent)));
        }
        Ok(())
    }

    /// Writes to the journal without the daemon, as another program would.
    async fn write(&self, number: u32, writes: &[Wrote]) -> Result<(), DaemonEnd> {
        let world = &self.being.world;
        for (place, wrote) in writes.iter().enumerate() {
            let mutation = match wrote {
                Wrote::Task => Mutation::CreateTask {
                    title: format!("task {}", place % 3),
                    details: String::new(),
                    category: None,
                },
                Wrote::Note => Mutation::CreateNote {
                    text: format!("note {place}"),
                    task: None,
                },
                Wrote::Category => Mutation::CreateCategory {
                    name: format!("category {number} {place}"),
                },
                Wrote::Done => {
                    let newest = TaskFilter {
                        status: Some(TaskStatus::Open),
                        limit: 1,
                        ..TaskFilter::default()
                    };
                    let tasks = world.journal.tasks(newest).await.map_err(unwritable)?;
                    let Some(task) = tasks.into_iter().next() else {
                        continue;
                    };
                    Mutation::UpdateTask {
                        task: task.id,
                        title: None,
                        details: None,
                        status: Some(TaskStatus::Done),
                        category: None,
                    }
                }
            };
            let order = WriteRequest {
                operation_id: person_operation_id(&format!("{number}/{place}")),
                author: Author::Person,
                mutation,
                at: world.wall.now(),
            };
            world.journal.write(order).await.map_err(unwritable)?;
        }
        Ok(())
    }

    /// Delivers a request of an external system to the trigger's URL.
    async fn deliver(&self, number: u32, agent: AgentId, called: Called) -> Result<(), DaemonEnd> {
        let Some(capability) = self.ask(self.api.triggers.get(agent.clone())).await? else {
            return Ok(());
        };
        let row = capability.row;
        let unique = format!("forged-{number}");
        let (row, name, body, is_forged) = match called {
            Called::Named(name) if row.status == TriggerStatus::Active => {
                (row, Some(format!("delivery-{name}")), name, false)
            }
            Called::Unnamed(body) if row.status == TriggerStatus::Active => (row, None, body, false),
            // The trigger was revoked.
            Called::Named(body) | Called::Unnamed(body) => (row, Some(unique), body, true),
            Called::Outdated(body) => {
                let generation = match row.generation {
                    1 => 2,
                    newer => newer - 1,
                };
                (ExternalTriggerRow { generation, ..row }, Some(unique), body, true)
            }
            Called::Invented(body) => {
                let trigger_id = RuleId::parse(INVENTED).map_err(|error| wrong(&error))?;
                (ExternalTriggerRow { trigger_id, ..row }, Some(unique), body, true)
            }
        };
        let key = name.as_ref().map(|name| run_of(&agent, name));
        let delivery = TriggerDelivery {
            name: name
                .map(|name| TurnId::parse(&name))
                .transpose()
                .map_err(|error| wrong(&error))?,
            content_type: None,
            correlation: None,
            causation: None,
            body: format!("something happened: {body}").into_bytes(),
        };
        self.hand_in((row, delivery), key, is_forged).await
    }

    async fn hand_in(
        &self,
        (row, delivery): (ExternalTriggerRow, TriggerDelivery),
        key: Option<RunKey>,
        is_forged: bool,
    ) -> Result<(), DaemonEnd> {
        let world = &self.being.world;
        let before = world.ledger();
        let is_heard = |key: &RunKey| !before.unheard.contains(key);
        // The outcome is unknown until a call returns.
        world.note(|ledger| match is_forged {
            true => ledger.forged.extend(key),
            false => ledger.unheard.extend(key),
        });
        let answer = self.answer(self.api.triggers.deliver(row, delivery)).await?;
        if let Some(key) = key.filter(|key| is_heard(key) && !matches!(answer, Err(EngineError::Store(_)))) {
            world.note(|ledger| ledger.unheard.retain(|one| *one != key));
        }
        match answer {
            Ok(posted) if is_forged => world.complain(format!("a forged delivery was accepted: {posted:?}")),
            Ok(posted) => {
                let is_known =
                    before.delivered.contains_key(&posted.run_key) || key.is_none_or(|key| !is_heard(&key));
                if !posted.is_new && !is_known {
                    world.complain(format!(
                        "a first delivery was treated as a repeated one: {posted:?}"
                    ));
                }
                let times = u32::from(posted.is_new);
                world.note(|ledger| *ledger.delivered.entry(posted.run_key).or_default() += times);
            }
            Err(EngineError::Store(_)) => {}
            Err(_) => world.note(|ledger| ledger.refused.extend(key.filter(|_| !is_forged))),
        }
        Ok(())
    }

    /// Cancels the agent's open run, or else its next queued message.
    async fn cancel(&self, agent: AgentId) -> Result<(), DaemonEnd> {
        let Some(view) = self.ask(self.api.agents.get(agent.clone())).await? else {
            return Ok(());
        };
        let run = match view.overview.open_run {
            Some(run) => Some(run),
            None => {
                let waiting = self
                    .ask(self.api.messages.queue(agent, 1))
                    .await?
                    .unwrap_or_default();
                waiting.first().map(|waiting| waiting.row.message.run_key)
            }
        };
        match run {
            Some(run) => self.ask(self.api.runs.cancel(run)).await.map(drop),
            None => Ok(()),
        }
    }
}

/// The run that a named delivery leads to.
fn run_of(agent: &AgentId, source: &str) -> RunKey {
    let kind = RunKeySourceKind::Trigger;
    RunKey::of(agent.as_str(), &RunKeySource::Source { kind, source })
}

fn wrong(error: &dyn std::error::Error) -> DaemonEnd {
    DaemonEnd::Wrong("TheWorldWorks", error.to_string())
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the signature is the one that `map_err` expects"
)]
fn unwritable(error: wakeful_ports::journal::JournalError) -> DaemonEnd {
    wrong(&error)
}

/// The name of a script action in the coverage counters.
const fn word(what: &ScriptAction) -> &'static str {
    match what {
        ScriptAction::Say(..) => "say",
        ScriptAction::Write(_) => "write",
        ScriptAction::Subscribe(..) => "subscribe",
        ScriptAction::Unsubscribe(_) => "unsubscribe",
        ScriptAction::Deliver(_, Called::Named(_) | Called::Unnamed(_)) => "deliver",
        ScriptAction::Deliver(_, Called::Outdated(_) | Called::Invented(_)) => "forge",
        ScriptAction::RotateTrigger(_) => "rotate",
        ScriptAction::RevokeTrigger(_) => "revoke",
        ScriptAction::Plan(_) => "plan",
        ScriptAction::Stand(..) => "stand",
        ScriptAction::TriggerNow(..) => "trigger now",
        ScriptAction::Pass(_) => "pass",
        ScriptAction::SetClock(_) => "set clock",
        ScriptAction::Control(..) => "control",
        ScriptAction::Mode(..) => "mode",
        ScriptAction::Life(..) => "life",
        ScriptAction::Sleep(..) => "sleep",
        ScriptAction::Wake(_) => "wake",
        ScriptAction::Brake(_) => "brake",
        ScriptAction::Release(_) => "release",
        ScriptAction::Cancel(_) => "cancel",
        ScriptAction::Restart => "restart",
    }
}
