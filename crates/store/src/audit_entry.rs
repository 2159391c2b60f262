//! Audit entries and the consents that permit removing them. The database itself refuses every other change.

use wakeful_core::audit::{AuditContent, AuditDecision, AuditEntry, AuditPosition, ConsentRecord};
use wakeful_core::decision::Channel;
use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::policy::{DenialCategory, GateStage};
use wakeful_core::report::payload::ErasedTarget;

use crate::erasure::thoroughly;
use crate::sql::{Dialect, Param, Row, Sql, at_most_one, exactly_one, limit, records};
use crate::{Result, StoreError, Tx, View, row_binding, schema};

const INSERT: &str = "
    INSERT INTO audit_entry (agent_id, seq, run_key, operation_id, tool, decision, stage, rule, reason, category,
        policy_version, at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";

/// Writes the entry of an event, in the transaction that writes the event.
pub(crate) fn insert(sql: &mut dyn Sql, entry: &AuditEntry) -> Result<()> {
    let content = &entry.content;
    let params = [
        (&entry.agent_id).into(),
        entry.seq.into(),
        entry.run_key.as_ref().into(),
        content.operation_id.as_ref().into(),
        content.tool.as_str().into(),
        content.decision.as_str().into(),
        content.stage.as_str().into(),
        content.rule.as_str().into(),
        content.reason.as_str().into(),
        content.category.map(DenialCategory::as_str).into(),
        entry
            .policy_version
            .as_ref()
            .map_or("", PolicyVersion::as_str)
            .into(),
        entry.at.into(),
    ];
    sql.run_once(INSERT, &params)
}

const ALL: &str = "
    SELECT agent_id, seq, run_key, operation_id, tool, decision, stage, rule, reason, category, policy_version, at_ms
    FROM audit_entry WHERE (at_ms, agent_id, seq) < (?1, ?2, ?3)
    ORDER BY at_ms DESC, agent_id DESC, seq DESC LIMIT ?4";

const OF_AGENT: &str = "
    SELECT agent_id, seq, run_key, operation_id, tool, decision, stage, rule, reason, category, policy_version, at_ms
    FROM audit_entry WHERE agent_id = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3";

const OF_RUN: &str = "
    SELECT agent_id, seq, run_key, operation_id, tool, decision, stage, rule, reason, category, policy_version, at_ms
    FROM audit_entry WHERE agent_id = ?1 AND seq < ?2 AND run_key = ?4 ORDER BY seq DESC LIMIT ?3";

/// Which entries a query returns.
#[derive(Debug, Clone, Copy)]
pub enum AuditScope<'a> {
    /// Those of all agents, newest first.
    All,
    /// Those of one agent, in the reverse order of its log.
    Agent(&'a AgentId),
    /// Those of one run of an agent, in the reverse order of its log.
    Run(&'a AgentId, &'a RunKey),
}

impl View<'_> {
    /// Returns the entries before a position.
    pub fn audit_entries(
        &mut self,
        scope: AuditScope<'_>,
        before: &AuditPosition,
        at_most: u32,
    ) -> Result<Vec<AuditEntry>> {
        let (seq, rows) = (before.seq.into(), limit(at_most));
        let rows = match scope {
            AuditScope::All => {
                let params = [before.at.into(), before.agent.as_str().into(), seq, rows];
                self.sql.query(ALL, &params)?
            }
            AuditScope::Agent(agent) => self.sql.query(OF_AGENT, &[agent.into(), seq, rows])?,
            AuditScope::Run(agent, run) => self.sql.query(OF_RUN, &[agent.into(), seq, rows, run.into()])?,
        };
        records(rows, read)
    }
}

const BETWEEN: &str = "
    SELECT agent_id, seq, run_key, operation_id, tool, decision, stage, rule, reason, category, policy_version, at_ms
    FROM audit_entry WHERE agent_id = ?1 AND seq > ?2 AND seq <= ?3 ORDER BY seq LIMIT ?4";

impl View<'_> {
    /// Returns the entries of an agent's events in `after + 1..=last`, oldest first.
    pub fn audit_entries_between(
        &mut self,
        agent: &AgentId,
        after: u64,
        last: u64,
        at_most: u32,
    ) -> Result<Vec<AuditEntry>> {
        let params = [agent.into(), after.into(), last.into(), limit(at_most)];
        records(self.sql.query(BETWEEN, &params)?, read)
    }
}

fn read(mut row: Row) -> Result<AuditEntry> {
    let policy_version = |text: String| (!text.is_empty()).then(|| PolicyVersion::new(text));
    Ok(AuditEntry {
        agent_id: row.log_id("audit_entry.agent_id")?,
        seq: row.count("audit_entry.seq")?,
        run_key: row.optional_digest("audit_entry.run_key")?.map(RunKey),
        content: AuditContent {
            operation_id: row.optional_digest("audit_entry.operation_id")?.map(OperationId),
            tool: row.text("audit_entry.tool")?,
            decision: row.word("audit_entry.decision", AuditDecision::parse)?,
            stage: row.word("audit_entry.stage", GateStage::parse)?,
            rule: row.text("audit_entry.rule")?,
            reason: row.text("audit_entry.reason")?,
            category: row.optional_word("audit_entry.category", DenialCategory::parse)?,
        },
        policy_version: policy_version(row.text("audit_entry.policy_version")?),
        at: row.millis("audit_entry.at_ms")?,
    })
}

const PUT_CONSENT: &str = "
    INSERT INTO consent (consent_id, agent_id, purpose, run_key, first_seq, last_seq, channel, at_ms, used_seq)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, NULL)";

const SPEND_CONSENT: &str = "UPDATE consent SET used_seq = ?2 WHERE consent_id = ?1";

const DELETE_OF_RUN: &str = "DELETE FROM audit_entry WHERE agent_id = ?1 AND run_key = ?2";

const DELETE_RANGE: &str = "DELETE FROM audit_entry WHERE agent_id = ?1 AND seq BETWEEN ?2 AND ?3";

impl Tx<'_> {
    /// Records a consent, spends it, and removes the audit entries that it covers. Returns how many there were.
    /// The event that records the erasure must be appended in the same transaction, as the next of its agent.
    pub fn erase_audit_entries(&mut self, consent: &ConsentRecord) -> Result<u64> {
        self.put_consent(consent)?;
        self.spend_consent(consent)?;
        self.delete_audit_entries(&consent.agent_id, consent.target)
    }

    /// Records a consent that is not used yet.
    pub fn put_consent(&mut self, consent: &ConsentRecord) -> Result<()> {
        let (run, first, last) = columns(&consent.target);
        let params = [
            (&consent.consent_id).into(),
            (&consent.agent_id).into(),
            consent.purpose.as_str().into(),
            run.into(),
            first.into(),
            last.into(),
            consent.channel.as_str().into(),
            consent.at.into(),
        ];
        exactly_one(self.sql.execute(PUT_CONSENT, &params)?)?;
        self.touch_consent(consent);
        Ok(())
    }

    /// Spends a consent on the erasure whose event is the next of the agent. The database refuses a consent that
    /// was spent before.
    pub fn spend_consent(&mut self, consent: &ConsentRecord) -> Result<()> {
        let params = [(&consent.consent_id).into(), consent.used_seq.into()];
        exactly_one(self.sql.execute(SPEND_CONSENT, &params)?)?;
        self.touch_consent(consent);
        Ok(())
    }

    fn touch_consent(&mut self, consent: &ConsentRecord) {
        let key = [(&consent.consent_id).into()];
        self.sql.touch(&row_binding::CONSENT, &key, Some(consent.at));
    }

    /// Removes the entries of a target. The database refuses entries that no consent covers which this
    /// transaction spends.
    pub fn delete_audit_entries(&mut self, agent: &AgentId, target: ErasedTarget) -> Result<u64> {
        thoroughly(self, |tx| match &target {
            ErasedTarget::Run { run_key } => tx.sql.execute(DELETE_OF_RUN, &[agent.into(), run_key.into()]),
            ErasedTarget::Events { first_seq, last_seq } => {
                let params = [agent.into(), (*first_seq).into(), (*last_seq).into()];
                tx.sql.execute(DELETE_RANGE, &params)
            }
        })
    }
}

/// The columns of a target: a run, or the first and the last event of a range.
fn columns(target: &ErasedTarget) -> (Option<&RunKey>, Option<u64>, Option<u64>) {
    match target {
        ErasedTarget::Run { run_key } => (Some(run_key), None, None),
        ErasedTarget::Events { first_seq, last_seq } => (None, Some(*first_seq), Some(*last_seq)),
    }
}

const COUNT_OF_RUN: &str = "SELECT COUNT(*) FROM audit_entry WHERE agent_id = ?1 AND run_key = ?2";

const COUNT_RANGE: &str = "SELECT COUNT(*) FROM audit_entry WHERE agent_id = ?1 AND seq BETWEEN ?2 AND ?3";

const CONSENT: &str = "
    SELECT consent_id, agent_id, purpose, run_key, first_seq, last_seq, channel, at_ms, used_seq
    FROM consent WHERE agent_id = ?1 AND used_seq = ?2 ORDER BY consent_id LIMIT 1";

const IS_COVERED: &str = "
    SELECT consent_id FROM consent
    WHERE agent_id = ?1 AND used_seq IS NOT NULL AND (run_key = ?2 OR ?3 BETWEEN first_seq AND last_seq) LIMIT 1";

impl View<'_> {
    /// Counts the entries of a target.
    pub fn audit_entry_count(&mut self, agent: &AgentId, target: ErasedTarget) -> Result<u64> {
        let rows = match &target {
            ErasedTarget::Run { run_key } => self.sql.query(COUNT_OF_RUN, &[agent.into(), run_key.into()])?,
            ErasedTarget::Events { first_seq, last_seq } => {
                let params = [agent.into(), (*first_seq).into(), (*last_seq).into()];
                self.sql.query(COUNT_RANGE, &params)?
            }
        };
        let mut row = at_most_one(rows).ok_or(StoreError::Malformed("count"))?;
        row.count("count")
    }

    /// Returns the consent that was spent on the erasure with this event.
    pub fn consent_used_by(&mut self, agent: &AgentId, seq: u64) -> Result<Option<ConsentRecord>> {
        let rows = self.sql.query(CONSENT, &[agent.into(), seq.into()])?;
        at_most_one(rows).map(read_consent).transpose()
    }

    /// Whether a consent was spent that covers the audit entry of an event.
    pub fn is_erased_with_consent(
        &mut self,
        agent: &AgentId,
        run: Option<&RunKey>,
        seq: u64,
    ) -> Result<bool> {
        let params = [agent.into(), run.into(), seq.into()];
        Ok(!self.sql.query(IS_COVERED, &params)?.is_empty())
    }
}

fn read_consent(mut row: Row) -> Result<ConsentRecord> {
    let consent_id = row.digest("consent.consent_id")?;
    let agent_id = row.agent_id("consent.agent_id")?;
    let purpose = row.text("consent.purpose")?;
    let run = row.optional_digest("consent.run_key")?.map(RunKey);
    let first = row.optional_count("consent.first_seq")?;
    let last = row.optional_count("consent.last_seq")?;
    Ok(ConsentRecord {
        consent_id,
        agent_id,
        purpose,
        target: match (run, first, last) {
            (Some(run_key), None, None) => ErasedTarget::Run { run_key },
            (None, Some(first_seq), Some(last_seq)) => ErasedTarget::Events { first_seq, last_seq },
            (Some(_) | None, _, _) => return Err(StoreError::Malformed("consent.run_key")),
        },
        channel: row.word("consent.channel", Channel::parse)?,
        at: row.millis("consent.at_ms")?,
        used_seq: row.count("consent.used_seq")?,
    })
}

const TRIGGERS_SQLITE: &str = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY name";

const TRIGGERS_POSTGRES: &str = "
    SELECT CAST(t.tgname AS TEXT),
        CAST(c.relname AS TEXT) || ' ' || CAST(t.tgtype AS TEXT) || ' ' || CAST(t.tgenabled AS TEXT) || ' '
            || CASE WHEN t.tgqual IS NULL THEN '' ELSE 'WHEN ' END || COALESCE(array_to_string(p.proconfig, ' '), '') || p.prosrc
    FROM pg_catalog.pg_trigger t
        JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
        JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
    WHERE NOT t.tgisinternal AND CAST(n.nspname AS TEXT) = ?1
    ORDER BY t.tgname";

impl View<'_> {
    /// Returns the names of the triggers that are missing, that were changed, or that do not belong here.
    pub fn altered_triggers(&mut self) -> Result<Vec<String>> {
        let (rows, expected) = match self.sql.dialect() {
            Dialect::Sqlite => (self.sql.query(TRIGGERS_SQLITE, &[])?, schema::triggers_sqlite()),
            Dialect::Postgres => {
                let namespace: [Param<'_>; 1] = [schema::AGENT.namespace.into()];
                (
                    self.sql.query(TRIGGERS_POSTGRES, &namespace)?,
                    schema::triggers_postgres(),
                )
            }
        };
        let found = records(rows, |mut row| {
            Ok((row.text("trigger.name")?, row.text("trigger.sql")?))
        })?;
        let lacking = expected.iter().filter(|one| !found.contains(one));
        let foreign = found
            .iter()
            .filter(|(name, _)| !expected.iter().any(|(known, _)| known == name));
        Ok(lacking.chain(foreign).map(|(name, _)| name.clone()).collect())
    }
}
