//! Schedules, at the daemon or in the database.

use wakeful_api::{
    AddSchedule, EditSchedule, EventCame, EventFirings, Schedule, ScheduleHistory, ScheduleList,
    ScheduledExecution, TriggerSchedule,
};
use wakeful_core::id::{AgentId, EventName, RuleId, TurnId};
use wakeful_core::timer::Status;
use wakeful_ports::clock::Clock as _;
use wakeful_ports::records::ScheduleFilter;
use wakeful_runtime::desk::Scheduling as _;
use wakeful_runtime::{EngineError, ScheduleFault};
use wakeful_server::view;

use super::Front;
use crate::failure::Failure;
use crate::world::{RealClock, fresh_id};

/// Schedules that are listed at once.
const LISTED_MAX: u32 = 500;

impl Front {
    /// Makes a schedule under a name that was given or made up.
    pub(crate) async fn add_schedule(&self, told: AddSchedule) -> Result<Schedule, Failure> {
        let agent = AgentId::parse(&told.agent_id)?;
        let given = told.schedule_id.as_deref().map(RuleId::parse).transpose()?;
        match self {
            Self::Daemon(client) => Ok(client.post("/api/schedules", &told).await?),
            Self::Here(clerk) => {
                let schedule = match given {
                    Some(given) => given,
                    None => RuleId::parse(&fresh_id())?,
                };
                let (names, missed) = ((schedule, agent), clerk.makes_up_for_missed());
                let draft = view::draft(told, names, missed, RealClock::new().now());
                let draft = draft.map_err(|error| EngineError::from(ScheduleFault::from(error)))?;
                Ok(view::schedule(&clerk.add_schedule(draft).await?))
            }
        }
    }

    /// Schedules by name.
    pub(crate) async fn schedules(&self, agent: Option<AgentId>) -> Result<ScheduleList, Failure> {
        match self {
            Self::Daemon(client) => {
                let of = agent
                    .map(|agent| format!("&agent_id={agent}"))
                    .unwrap_or_default();
                Ok(client
                    .get(&format!("/api/schedules?limit={LISTED_MAX}{of}"))
                    .await?)
            }
            Self::Here(clerk) => {
                let filter = ScheduleFilter {
                    agent_id: agent,
                    after: None,
                    limit: LISTED_MAX,
                };
                Ok(view::schedules(&clerk.schedules(filter).await?))
            }
        }
    }

    /// Changes what a schedule is meant to do.
    pub(crate) async fn edit_schedule(&self, id: &str, told: EditSchedule) -> Result<Schedule, Failure> {
        let id = RuleId::parse(id)?;
        match self {
            Self::Daemon(client) => Ok(client.post(&format!("/api/schedules/{id}"), &told).await?),
            Self::Here(clerk) => {
                let edit = view::edit(told, RealClock::new().now());
                let edit = edit.map_err(|error| EngineError::from(ScheduleFault::from(error)))?;
                Ok(view::schedule(&clerk.edit_schedule(id, edit).await?))
            }
        }
    }

    /// Lets a schedule rest, go on, or be over.
    pub(crate) async fn set_schedule_status(&self, id: &str, status: Status) -> Result<Schedule, Failure> {
        let id = RuleId::parse(id)?;
        match self {
            Self::Daemon(client) => {
                let verb = match status {
                    Status::Active => "resume",
                    Status::Paused => "pause",
                    Status::Disabled | Status::Expired => "disable",
                };
                Ok(client.post(&format!("/api/schedules/{id}/{verb}"), &()).await?)
            }
            Self::Here(clerk) => Ok(view::schedule(&clerk.set_schedule_status(id, status).await?)),
        }
    }

    /// Lets a schedule fire now.
    pub(crate) async fn trigger_schedule(&self, id: &str) -> Result<ScheduledExecution, Failure> {
        let id = RuleId::parse(id)?;
        match self {
            Self::Daemon(client) => {
                let told = TriggerSchedule {
                    key: Some(fresh_id()),
                };
                Ok(client
                    .post(&format!("/api/schedules/{id}/trigger"), &told)
                    .await?)
            }
            Self::Here(clerk) => Ok(view::execution_row(&clerk.trigger_now(id, fresh_id()).await?)),
        }
    }

    /// Says that something happened.
    pub(crate) async fn event_came(&self, name: &str, key: Option<&str>) -> Result<EventFirings, Failure> {
        let event = EventName::parse(name)?;
        let key = TurnId::parse(key.unwrap_or(&fresh_id()))?.to_string();
        match self {
            Self::Daemon(client) => {
                let told = EventCame { key: Some(key) };
                Ok(client.post(&format!("/api/events/{event}"), &told).await?)
            }
            Self::Here(clerk) => {
                let fired = clerk.happened(event.clone(), key.clone()).await?;
                Ok(EventFirings {
                    event: event.to_string(),
                    key,
                    executions: fired.iter().map(view::execution_row).collect(),
                })
            }
        }
    }

    /// A schedule and what became of its firings, newest first.
    pub(crate) async fn schedule_history(&self, id: &str, limit: u32) -> Result<ScheduleHistory, Failure> {
        let id = RuleId::parse(id)?;
        match self {
            Self::Daemon(client) => Ok(client
                .get(&format!("/api/schedules/{id}/executions?limit={limit}"))
                .await?),
            Self::Here(clerk) => {
                let (timer, executions) = clerk.executions(id, limit).await?;
                Ok(ScheduleHistory {
                    schedule: view::schedule(&timer),
                    executions: executions.iter().map(view::execution).collect(),
                })
            }
        }
    }
}
