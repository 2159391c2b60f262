//! Agents and their counters.

use wakeful_core::agent_settings::AgentSettings;
use wakeful_core::conversation::Usage;
use wakeful_core::id::AgentId;
use wakeful_core::time::Millis;
use wakeful_core::wake::{AgentControl, InteractionMode, Lifecycle};

use crate::rows::{Agent, Visibility};
use crate::sql::{Param, Row, Sql, at_most_one, limit, records};
use crate::{ROWS_MAX, Result, StoreError, Tx, View, head, row_binding};

const CREATE: &str = "
    INSERT INTO agent (agent_id, visibility, lifecycle, control, workspace, created_at_ms,
        input_tokens, output_tokens, model_rounds, model_ref, mode, sleep_until_ms, settings)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
    ON CONFLICT (agent_id) DO NOTHING";

impl Tx<'_> {
    /// Creates an agent with an empty log. Returns false if the name is taken.
    pub fn create_agent(&mut self, agent: &Agent) -> Result<bool> {
        let settings = text(&agent.settings)?;
        let params = [
            (&agent.agent_id).into(),
            agent.visibility.as_str().into(),
            agent.lifecycle.as_str().into(),
            agent.control.as_str().into(),
            agent.workspace.as_str().into(),
            agent.created_at.into(),
            agent.usage.input_tokens.into(),
            agent.usage.output_tokens.into(),
            agent.model_rounds.into(),
            agent.model_ref.as_deref().into(),
            agent.mode.as_str().into(),
            agent.sleep_until.into(),
            settings.as_str().into(),
        ];
        let is_new = self.sql.execute(CREATE, &params)? == 1;
        if is_new {
            self.sql.touch(
                &row_binding::AGENT,
                &[(&agent.agent_id).into()],
                Some(agent.created_at),
            );
            head::create(&mut self.sql, &agent.agent_id)?;
        }
        Ok(is_new)
    }
}

const ONE: &str = "
    SELECT agent_id, visibility, lifecycle, control, workspace, created_at_ms, input_tokens, output_tokens,
        model_rounds, model_ref, mode, sleep_until_ms, settings
    FROM agent WHERE agent_id = ?1";

impl View<'_> {
    pub fn agent(&mut self, agent: &AgentId) -> Result<Option<Agent>> {
        let rows = self.sql.query(ONE, &[agent.into()])?;
        at_most_one(rows).map(read).transpose()
    }
}

const ALL: &str = "
    SELECT agent_id, visibility, lifecycle, control, workspace, created_at_ms, input_tokens, output_tokens,
        model_rounds, model_ref, mode, sleep_until_ms, settings
    FROM agent ORDER BY agent_id LIMIT ?1";

const PUBLIC: &str = "
    SELECT agent_id, visibility, lifecycle, control, workspace, created_at_ms, input_tokens, output_tokens,
        model_rounds, model_ref, mode, sleep_until_ms, settings
    FROM agent WHERE visibility = 'public' ORDER BY agent_id LIMIT ?1";

impl View<'_> {
    /// Lists all agents by name, at most [`ROWS_MAX`]; private ones only if `with_private` is set.
    pub fn agents(&mut self, with_private: bool) -> Result<Vec<Agent>> {
        let query = if with_private { ALL } else { PUBLIC };
        records(self.sql.query(query, &[limit(ROWS_MAX)])?, read)
    }
}

fn read(mut row: Row) -> Result<Agent> {
    Ok(Agent {
        agent_id: row.agent_id("agent.agent_id")?,
        visibility: row.word("agent.visibility", Visibility::parse)?,
        lifecycle: row.word("agent.lifecycle", Lifecycle::parse)?,
        control: row.word("agent.control", AgentControl::parse)?,
        workspace: row.text("agent.workspace")?,
        created_at: row.millis("agent.created_at_ms")?,
        usage: Usage::of(
            row.count("agent.input_tokens")?,
            row.count("agent.output_tokens")?,
        ),
        model_rounds: row.count("agent.model_rounds")?,
        model_ref: row.optional_text("agent.model_ref")?,
        mode: row.word("agent.mode", InteractionMode::parse)?,
        sleep_until: row.optional_millis("agent.sleep_until_ms")?,
        settings: settings(&row.text(SETTINGS_COLUMN)?)?,
    })
}

/// Updates one column of an agent. Returns false if the agent does not exist.
pub(crate) fn set(
    sql: &mut dyn Sql,
    update: &'static str,
    agent: &AgentId,
    value: Param<'_>,
) -> Result<bool> {
    let is_there = sql.execute(update, &[agent.into(), value])? == 1;
    if is_there {
        sql.touch(&row_binding::AGENT, &[agent.into()], None);
    }
    Ok(is_there)
}

const SETTINGS_COLUMN: &str = "agent.settings";

fn settings(text: &str) -> Result<AgentSettings> {
    serde_json::from_str(text).map_err(|_| StoreError::Malformed(SETTINGS_COLUMN))
}

/// Text and numbers always have a JSON form; an error would be a bug.
fn text(settings: &AgentSettings) -> Result<String> {
    serde_json::to_string(settings).map_err(|_| StoreError::Malformed(SETTINGS_COLUMN))
}

const SETTINGS: &str = "SELECT settings FROM agent WHERE agent_id = ?1";

impl View<'_> {
    /// Returns the settings in an agent's record.
    pub fn agent_settings(&mut self, agent: &AgentId) -> Result<Option<AgentSettings>> {
        let row = at_most_one(self.sql.query(SETTINGS, &[agent.into()])?);
        row.map(|mut row| settings(&row.text(SETTINGS_COLUMN)?))
            .transpose()
    }
}

const SET_SETTINGS: &str = "
    UPDATE agent SET settings = ?2, model_ref = ?3, workspace = ?4 WHERE agent_id = ?1";

impl Tx<'_> {
    /// Sets the settings, the model and the workspace of an agent. Returns false if it does not exist.
    pub fn set_agent_settings(&mut self, agent: &Agent) -> Result<bool> {
        let settings = text(&agent.settings)?;
        let params = [
            (&agent.agent_id).into(),
            settings.as_str().into(),
            agent.model_ref.as_deref().into(),
            agent.workspace.as_str().into(),
        ];
        let is_there = self.sql.execute(SET_SETTINGS, &params)? == 1;
        if is_there {
            self.sql
                .touch(&row_binding::AGENT, &[(&agent.agent_id).into()], None);
        }
        Ok(is_there)
    }
}

const SET_LIFECYCLE: &str = "UPDATE agent SET lifecycle = ?2 WHERE agent_id = ?1";

impl Tx<'_> {
    /// Returns false if the agent does not exist.
    pub fn set_lifecycle(&mut self, agent: &AgentId, lifecycle: Lifecycle) -> Result<bool> {
        set(&mut self.sql, SET_LIFECYCLE, agent, lifecycle.as_str().into())
    }
}

const SET_MODE: &str = "UPDATE agent SET mode = ?2 WHERE agent_id = ?1";

impl Tx<'_> {
    /// Sets which causes may wake an agent. Returns false if the agent does not exist.
    pub fn set_mode(&mut self, agent: &AgentId, mode: InteractionMode) -> Result<bool> {
        set(&mut self.sql, SET_MODE, agent, mode.as_str().into())
    }
}

const SET_SLEEP: &str = "UPDATE agent SET sleep_until_ms = ?2 WHERE agent_id = ?1";

impl Tx<'_> {
    /// Sets or clears the time until which an agent sleeps. Returns false if the agent does not exist.
    pub fn set_sleep(&mut self, agent: &AgentId, until: Option<Millis>) -> Result<bool> {
        set(&mut self.sql, SET_SLEEP, agent, until.into())
    }
}

/// The sums saturate at the end of the integer range. Neither database wraps around: both would reject the
/// statement, and a run of an agent with an absurd count could never be stored again.
const ADD_USAGE: &str = "
    UPDATE agent SET
        input_tokens = CASE WHEN input_tokens > 9223372036854775807 - ?2
            THEN 9223372036854775807 ELSE input_tokens + ?2 END,
        output_tokens = CASE WHEN output_tokens > 9223372036854775807 - ?3
            THEN 9223372036854775807 ELSE output_tokens + ?3 END,
        model_rounds = CASE WHEN model_rounds > 9223372036854775807 - ?4
            THEN 9223372036854775807 ELSE model_rounds + ?4 END
    WHERE agent_id = ?1";

impl Tx<'_> {
    /// Adds to an agent's counters.
    pub fn add_usage(&mut self, agent: &AgentId, usage: Usage, model_rounds: u64) -> Result<()> {
        let params = [
            agent.into(),
            usage.input_tokens.into(),
            usage.output_tokens.into(),
            model_rounds.into(),
        ];
        match self.sql.execute(ADD_USAGE, &params)? {
            1 => Ok(()),
            // Not a conflict: a retry would not find the row either.
            _ => Err(StoreError::Malformed("agent.agent_id")),
        }
    }
}
