//! HTTP handlers for schedules.

use wakeful_api::{
    AddSchedule, DisableSchedule, EditSchedule, EventFirings, GetSchedule, ListScheduledExecutions,
    ListSchedules, PauseSchedule, RaiseEvent, ResumeSchedule, Schedule, ScheduleHistory, ScheduleList,
    ScheduledExecution, Text, TriggerSchedule,
};
use wakeful_core::id::RuleId;
use wakeful_core::key::Digest;
use wakeful_core::schedule::{ScheduleError, ScheduleStatus};
use wakeful_runtime::rows::ScheduleFilter;
use wakeful_runtime::{EngineError, ScheduleRefusal};

use crate::app::App;
use crate::error::ApiError;
use crate::message::key;
use crate::route::{Call, Routes};
use crate::view;

/// Digits of a generated schedule id; enough to exclude collisions.
const NAME_DIGITS: usize = 16;

pub(crate) fn routes() -> Routes {
    Routes::default()
        .add(list)
        .add(add)
        .add(show)
        .add(edit)
        .add(async |call: Call, asked: PauseSchedule| {
            set(&call, asked.schedule_id, ScheduleStatus::Paused).await
        })
        .add(async |call: Call, asked: ResumeSchedule| {
            set(&call, asked.schedule_id, ScheduleStatus::Active).await
        })
        .add(async |call: Call, asked: DisableSchedule| {
            set(&call, asked.schedule_id, ScheduleStatus::Disabled).await
        })
        .add(trigger)
        .add(history)
        .add(raise)
}

async fn list(call: Call, asked: ListSchedules) -> Result<ScheduleList, ApiError> {
    let filter = ScheduleFilter {
        agent_id: asked.agent_id.map(|agent| agent.0),
        after: asked.after.map(|after| after.0),
        limit: asked.limit.0,
    };
    Ok(view::schedules(
        &call.open()?.runtime.schedules.list(filter).await?,
    ))
}

async fn add(call: Call, mut asked: AddSchedule) -> Result<Schedule, ApiError> {
    let schedule_id = match asked.schedule_id.take() {
        Some(given) => given.0,
        None => new_id(&call)?,
    };
    let runtime = call.runtime()?;
    let draft = view::draft(
        asked,
        schedule_id,
        runtime.schedules.catches_up_by_default(),
        call.clock.now(),
    );
    Ok(view::schedule(&runtime.schedules.add(draft.map_err(bad)?).await?))
}

async fn show(call: Call, asked: GetSchedule) -> Result<Schedule, ApiError> {
    Ok(view::schedule(
        &call.open()?.runtime.schedules.get(asked.schedule_id.0).await?,
    ))
}

async fn edit(call: Call, asked: EditSchedule) -> Result<Schedule, ApiError> {
    let schedule_id = asked.schedule_id.0.clone();
    let edit = view::edit(asked, call.clock.now()).map_err(bad)?;
    Ok(view::schedule(
        &call.open()?.runtime.schedules.edit(schedule_id, edit).await?,
    ))
}

async fn trigger(call: Call, asked: TriggerSchedule) -> Result<ScheduledExecution, ApiError> {
    let request = key(&call, asked.key.as_ref().map(|key| &key.0))?.to_string();
    let fired = call
        .open()?
        .runtime
        .schedules
        .trigger_now(asked.schedule_id.0, request)
        .await?;
    Ok(view::execution_row(&fired))
}

async fn raise(call: Call, asked: RaiseEvent) -> Result<EventFirings, ApiError> {
    let key = key(&call, asked.key.as_ref().map(|key| &key.0))?.to_string();
    let fired = call
        .open()?
        .runtime
        .schedules
        .raise_event(asked.event.0.clone(), key.clone())
        .await?;
    Ok(EventFirings {
        event: asked.event.to_string(),
        key,
        executions: fired.iter().map(view::execution_row).collect(),
    })
}

async fn history(call: Call, asked: ListScheduledExecutions) -> Result<ScheduleHistory, ApiError> {
    let found = call
        .open()?
        .runtime
        .schedules
        .executions(asked.schedule_id.0, asked.limit.0)
        .await;
    let (timer, executions) = found?;
    Ok(ScheduleHistory {
        schedule: view::schedule(&timer),
        executions: executions.iter().map(view::execution).collect(),
    })
}

async fn set(app: &App, schedule: Text<RuleId>, status: ScheduleStatus) -> Result<Schedule, ApiError> {
    Ok(view::schedule(
        &app.open()?
            .runtime
            .schedules
            .set_status(schedule.0, status)
            .await?,
    ))
}

fn bad(error: ScheduleError) -> ApiError {
    EngineError::from(ScheduleRefusal::from(error)).into()
}

fn new_id(app: &App) -> Result<RuleId, ApiError> {
    let digits = Digest::from_bytes(app.entropy.random_bytes()).to_string();
    Ok(RuleId::parse(digits.get(..NAME_DIGITS).unwrap_or(&digits))?)
}
