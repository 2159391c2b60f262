//! Collects what the engine wrote, transition by transition, so that the bare limit can write the same
//! rows.
//!
//! The rows are read back from the database. Replaying the run log shows which of them belong together: for
//! each input the machine gives the number of steps, entries and events, and the next state.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use rusqlite::Connection;
use rusqlite::types::Value;
use wakeful_core::blob::BlobHash;
use wakeful_core::id::AgentId;
use wakeful_core::json::digest;
use wakeful_core::run::{InputReads, RunInput, RunMachine, StepWrite, Transition};

use super::table::{Queues, Table, bytes};
use crate::plain;

/// The agent, the message and the wake of a run are recorded by three events outside the machine.
const EVENTS_OF_ADMISSION: usize = 3;

/// The first statements; the insertions follow, one for each table.
const UPDATES: [&str; 3] = [
    "UPDATE run SET version = ?2, state = ?3, status = ?4, ended_at_ms = ?5 WHERE run_key = ?1",
    "UPDATE agent_head SET next_seq = ?2, chain_hash = ?3 WHERE agent_id = ?1",
    "UPDATE agent SET input_tokens = input_tokens + ?2, output_tokens = output_tokens + ?3,
        model_rounds = model_rounds + 1 WHERE agent_id = ?1",
];
const PUT_STATE: usize = 0;
const PUT_HEAD: usize = 1;
const ADD_USAGE: usize = 2;

/// Index among the tables that a run starts with.
const AGENT: usize = 0;
const HEAD: usize = 1;

pub(crate) struct Rows {
    /// The statements that create the tables.
    pub(crate) schema: String,
    /// Statements with parameters `?1`, `?2` …
    pub(crate) statements: Vec<String>,
    /// In the order of their commits.
    pub(crate) transitions: Vec<TransitionRows>,
}

/// The rows of one transition.
pub(crate) struct TransitionRows {
    pub(crate) agent: Value,
    pub(crate) writes: Vec<Write>,
}

/// One row that is inserted or updated.
pub(crate) struct Write {
    /// Index of its statement.
    pub(crate) statement: usize,
    pub(crate) values: Vec<Value>,
}

impl Rows {
    /// Reads a database that the engine has closed.
    pub(crate) fn read(database: &Path) -> Result<Self> {
        let connection = plain::open_to_read(database)?;
        let schema = plain::schema(&connection)?;
        let mut reader = Reader::new(&connection)?;
        let journal = std::mem::take(&mut reader.journal.rows);
        let transitions = journal.into_iter().map(|row| reader.transition(row));
        let transitions = transitions.collect::<Result<Vec<_>>>()?;
        reader.all_were_used()?;
        Ok(Self {
            schema,
            statements: reader.statements,
            transitions,
        })
    }

    /// Average number of statements that the bare limit needs per transition.
    pub(crate) fn statements_per_transition(&self) -> f64 {
        let writes = self.transitions.iter().map(|transition| transition.writes.len());
        writes.sum::<usize>() as f64 / self.transitions.len() as f64
    }
}

/// A run during the replay of its run log.
struct Open {
    turn: RunMachine,
    agent: Value,
    thread: Value,
}

/// Assigns rows to transitions.
struct Reader {
    statements: Vec<String>,
    open: BTreeMap<Vec<u8>, Open>,
    journal: Table,
    insert_journal: usize,
    /// The rows that a run starts with: its agent and the agent's head, its message and its wake.
    beginnings: [Queues; 4],
    runs: Queues,
    steps: Queues,
    entries: Queues,
    events: Queues,
    blobs: Queues,
}

impl Reader {
    fn new(connection: &Connection) -> Result<Self> {
        let mut statements: Vec<String> = UPDATES.map(str::to_owned).into();
        let journal = Table::load(connection, "run_log", "rowid")?;
        statements.push(journal.insert());
        let insert_journal = statements.len() - 1;
        let mut load = |name, key, order| Queues::load(connection, name, (key, order), &mut statements);
        Ok(Self {
            open: BTreeMap::new(),
            beginnings: [
                load("agent", "agent_id", "agent_id")?,
                load("agent_head", "agent_id", "agent_id")?,
                load("message", "run_key", "run_key")?,
                load("wake", "run_key", "run_key")?,
            ],
            runs: load("run", "run_key", "run_key")?,
            steps: load("step", "run_key", "run_key, ordinal")?,
            entries: load("transcript_entry", "thread_id", "thread_id, position")?,
            events: load("event", "agent_id", "agent_id, seq")?,
            blobs: load("blob", "hash", "hash")?,
            journal,
            insert_journal,
            statements,
        })
    }

    fn transition(&mut self, row: Vec<Value>) -> Result<TransitionRows> {
        let run = self.journal.value(&row, "run_key")?.clone();
        let body = bytes(self.journal.value(&row, "input")?)?;
        let (input, reads): (RunInput, InputReads) = serde_json::from_slice(body)?;
        let mut writes = Vec::new();
        let begins = matches!(input, RunInput::Admitted { .. });
        if begins {
            self.begin(&run, &mut writes)?;
        }
        let open = self
            .open
            .remove(bytes(&run)?)
            .context("a run that has not started")?;
        let moved = open.turn.apply(&reads, input.clone())?;
        let recorded = bytes(self.journal.value(&row, "state_hash")?)?;
        ensure!(
            digest(&moved.turn)?.as_bytes() == recorded,
            "the run log leads to another state"
        );
        for hash in contents(&input, &moved) {
            self.blobs
                .take_if_left(&Value::Blob(hash.0.as_bytes().to_vec()), &mut writes)?;
        }
        let put = |step: &&StepWrite| matches!(step, StepWrite::Put { .. });
        self.steps
            .take(&run, moved.steps.iter().filter(put).count(), &mut writes)?;
        self.entries
            .take(&open.thread, moved.entries.len(), &mut writes)?;
        let announced = if begins { EVENTS_OF_ADMISSION } else { 0 };
        self.events
            .take(&open.agent, moved.events.len() + announced, &mut writes)?;
        if !begins {
            self.put_state(&row, &moved, &mut writes)?;
        }
        let puts_head_in = |write: &Write| write.statement == self.beginnings[HEAD].statement;
        if !writes.iter().any(puts_head_in) {
            self.put_head(&open.agent, &mut writes)?;
        }
        if let RunInput::Replied(reply) = &input {
            let (input, output) = (reply.usage.input_tokens, reply.usage.output_tokens);
            let values = vec![open.agent.clone(), integer(input)?, integer(output)?];
            writes.push(Write {
                statement: ADD_USAGE,
                values,
            });
        }
        writes.push(Write {
            statement: self.insert_journal,
            values: row,
        });
        let agent = open.agent.clone();
        let open = Open {
            turn: moved.turn,
            ..open
        };
        self.open.insert(bytes(&run)?.to_vec(), open);
        Ok(TransitionRows { agent, writes })
    }

    /// The rows that create a run, and the machine before its first input.
    fn begin(&mut self, run: &Value, writes: &mut Vec<Write>) -> Result<()> {
        let row = self.runs.take_one(run)?;
        let last: RunMachine = serde_json::from_slice(bytes(self.runs.table.value(&row, "state")?)?)?;
        let turn = RunMachine::new(last.run_key, last.model_ref, last.max_rounds)
            .with_workspace(last.workspace)
            .with_denied_tools(last.deny_tools);
        let agent = self.runs.table.value(&row, "agent_id")?.clone();
        let thread = self.runs.table.value(&row, "thread_id")?.clone();
        // The agent and its head already exist when it runs a second time.
        for (queues, key) in self.beginnings.iter_mut().zip([&agent, &agent, run, run]) {
            queues.take_if_left(key, writes)?;
        }
        let puts_agent_in = |write: &Write| write.statement == self.beginnings[AGENT].statement;
        if writes.iter().any(puts_agent_in) {
            self.bind_agent(writes)?;
        }
        writes.push(Write {
            statement: self.runs.statement,
            values: row,
        });
        let open = Open { turn, agent, thread };
        self.open.insert(bytes(run)?.to_vec(), open);
        Ok(())
    }

    /// The row of a new agent is bound to the home's own log: one event there, and the head after it.
    fn bind_agent(&mut self, writes: &mut Vec<Write>) -> Result<()> {
        let home = Value::Text(AgentId::home_log().to_string());
        self.events.take(&home, 1, writes)?;
        match self.beginnings[HEAD].take_if_left(&home, writes)? {
            true => Ok(()),
            false => self.put_head(&home, writes),
        }
    }

    /// Updates the state of a run.
    fn put_state(&self, row: &[Value], moved: &Transition, writes: &mut Vec<Write>) -> Result<()> {
        let of_journal = |column| self.journal.value(row, column).cloned();
        let outcome = moved.turn.outcome();
        let status = outcome.map_or("open", |outcome| outcome.status().as_str());
        let ended_at = if outcome.is_some() {
            of_journal("at_ms")?
        } else {
            Value::Null
        };
        let state = vec![
            of_journal("run_key")?,
            of_journal("ordinal")?,
            Value::Text(serde_json::to_string(&moved.turn)?),
            Value::Text(status.to_owned()),
            ended_at,
        ];
        writes.push(Write {
            statement: PUT_STATE,
            values: state,
        });
        Ok(())
    }

    /// Updates the head of an agent to its newest event.
    fn put_head(&self, agent: &Value, writes: &mut Vec<Write>) -> Result<()> {
        let mut events = writes
            .iter()
            .rev()
            .filter(|write| write.statement == self.events.statement);
        let last = &events.next().context("a transition without an event")?.values;
        let Value::Integer(seq) = self.events.table.value(last, "seq")? else {
            anyhow::bail!("an event without a sequence number");
        };
        let hash = self.events.table.value(last, "hash")?.clone();
        writes.push(Write {
            statement: PUT_HEAD,
            values: vec![agent.clone(), Value::Integer(seq + 1), hash],
        });
        Ok(())
    }

    /// Checks that every row of the engine is assigned to a transition; otherwise the bare limit would
    /// write less.
    fn all_were_used(&self) -> Result<()> {
        let others = [&self.runs, &self.steps, &self.entries, &self.events, &self.blobs];
        for queues in self.beginnings.iter().chain(others) {
            ensure!(
                queues.is_empty(),
                "rows of {} belong to no transition",
                queues.table.name
            );
        }
        Ok(())
    }
}

/// The blobs that a transition stores.
fn contents(input: &RunInput, moved: &Transition) -> Vec<BlobHash> {
    let mut hashes = match input {
        RunInput::Admitted { body, history, .. } => {
            let earlier = history.iter().map(|entry| entry.content);
            std::iter::once(*body).chain(earlier).collect()
        }
        RunInput::Replied(reply) => vec![reply.content],
        RunInput::Settled { results } => results.iter().map(|result| result.content).collect(),
        RunInput::AttemptFailed { .. }
        | RunInput::Parked { .. }
        | RunInput::Resumed
        | RunInput::Postponed
        | RunInput::Started { .. }
        | RunInput::Decided { .. }
        | RunInput::ApprovalExpired { .. }
        | RunInput::Cancelled => Vec::new(),
    };
    hashes.extend(moved.blobs.iter().map(wakeful_core::blob::Blob::hash));
    hashes
}

fn integer(count: u64) -> Result<Value> {
    Ok(Value::Integer(i64::try_from(count)?))
}
