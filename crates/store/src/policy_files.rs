//! The version of the policy files under which the newest decision for an agent was recorded. With it, a change of
//! the files is recorded once in the agent's log, whichever process notices it.

use wakeful_core::id::AgentId;

use crate::sql::{Sql as _, at_most_one};
use crate::{Result, Tx, View};

pub(crate) const POLICY_FILES: &str = "SELECT policy_files FROM agent_head WHERE agent_id = ?1";

impl View<'_> {
    /// Returns the recorded version of an agent's policy files; empty without files.
    pub fn policy_files(&mut self, agent: &AgentId) -> Result<String> {
        let row = at_most_one(self.sql.query(POLICY_FILES, &[agent.into()])?);
        row.map_or(Ok(String::new()), |mut row| row.text("agent_head.policy_files"))
    }
}

pub(crate) const SET_POLICY_FILES: &str = "UPDATE agent_head SET policy_files = ?2 WHERE agent_id = ?1";

impl Tx<'_> {
    /// Records the version of an agent's policy files. The caller has locked the agent's head.
    pub fn set_policy_files(&mut self, agent: &AgentId, version: &str) -> Result<()> {
        self.sql
            .execute(SET_POLICY_FILES, &[agent.into(), version.into()])?;
        Ok(())
    }
}
