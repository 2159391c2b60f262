//! Schedules.

use wakeful_api::{
    AddSchedule, EditSchedule, EventCame, EventFirings, Schedule, ScheduleHistory, ScheduleList,
    ScheduledExecution, TriggerSchedule,
};
use wakeful_core::id::{AgentId, EventName, RuleId, TurnId};
use wakeful_core::timer::Status;

use super::Backend;
use crate::failure::Failure;
use crate::world::fresh_id;

/// Schedules that are listed at once.
const LISTED_MAX: u32 = 500;

impl Backend {
    /// Makes a schedule under a name that was given or made up.
    pub(crate) async fn add_schedule(&self, told: AddSchedule) -> Result<Schedule, Failure> {
        Ok(self.client.post("/api/schedules", &told).await?)
    }

    /// Schedules by name.
    pub(crate) async fn schedules(&self, agent: Option<AgentId>) -> Result<ScheduleList, Failure> {
        let of = agent
            .map(|agent| format!("&agent_id={agent}"))
            .unwrap_or_default();
        Ok(self
            .client
            .get(&format!("/api/schedules?limit={LISTED_MAX}{of}"))
            .await?)
    }

    /// Changes what a schedule is meant to do.
    pub(crate) async fn edit_schedule(&self, id: &str, told: EditSchedule) -> Result<Schedule, Failure> {
        let id = RuleId::parse(id)?;
        Ok(self.client.post(&format!("/api/schedules/{id}"), &told).await?)
    }

    /// Pauses, resumes or disables a schedule.
    pub(crate) async fn set_schedule_status(&self, id: &str, status: Status) -> Result<Schedule, Failure> {
        let id = RuleId::parse(id)?;
        let verb = match status {
            Status::Active => "resume",
            Status::Paused => "pause",
            Status::Disabled | Status::Expired => "disable",
        };
        Ok(self
            .client
            .post(&format!("/api/schedules/{id}/{verb}"), &())
            .await?)
    }

    /// Lets a schedule fire now.
    pub(crate) async fn trigger_schedule(&self, id: &str) -> Result<ScheduledExecution, Failure> {
        let id = RuleId::parse(id)?;
        let told = TriggerSchedule {
            key: Some(fresh_id()),
        };
        Ok(self
            .client
            .post(&format!("/api/schedules/{id}/trigger"), &told)
            .await?)
    }

    /// Says that something happened.
    pub(crate) async fn event_came(&self, name: &str, key: Option<&str>) -> Result<EventFirings, Failure> {
        let event = EventName::parse(name)?;
        let key = TurnId::parse(key.unwrap_or(&fresh_id()))?.to_string();
        let told = EventCame { key: Some(key) };
        Ok(self.client.post(&format!("/api/events/{event}"), &told).await?)
    }

    /// A schedule and what became of its firings, newest first.
    pub(crate) async fn schedule_history(&self, id: &str, limit: u32) -> Result<ScheduleHistory, Failure> {
        let id = RuleId::parse(id)?;
        Ok(self
            .client
            .get(&format!("/api/schedules/{id}/executions?limit={limit}"))
            .await?)
    }
}
