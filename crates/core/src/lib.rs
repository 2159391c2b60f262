//! The decisions of Wakeful, as pure functions.
//!
//! No function reads a clock, generates random numbers, performs I/O or awaits: time, ids and contents
//! arrive in inputs, so the same state and input give the same result on every machine. Replay, recovery
//! and convergence depend on this.
//!
//! The modules, in the order of the flow:
//!
//! | module | decides |
//! |---|---|
//! | [`message`] | what enters an agent's queue, and with whose authority |
//! | [`cause`] | the origin of a message, and its position in the queue |
//! | [`wake`] | whether a cause becomes a message and a message a run, and why |
//! | [`dispatcher`] | which agent is driven next if there are more than slots |
//! | [`run`] | the run machine: one input in, new state and effects out |
//! | [`step`] | the identity of an action, whether it may be retried, and its result |
//! | [`stop`] | which brakes and cancellations apply before the database has them, and how they are stored |
//! | [`sub_run`] | whether a run may start another, and what it receives at the end |
//! | [`decision`] | the questions to people and their outcomes |
//! | [`agent_settings`] | the settings in an agent's record, and how they apply to an open run |
//! | [`network_scope`] | which hosts and addresses an agent may reach |
//! | [`sandbox_scope`] | what an agent's sandbox allows beyond its workspace |
//! | [`policy`] | whether an action may be performed, and by which rule |
//! | [`protected_path`] | the files of a workspace that programs outside the sandbox execute or obey |
//! | [`tool`] | the risk of a tool, and the reasons of a run for which it may be used |
//! | [`need_to_know`] | which fields may leave for models, webhooks, notifications and tools |
//! | [`inference`] | whether a model may be used, and which data it may receive |
//! | [`budget`] | the cost of a model request, and whether it fits the budget |
//! | [`audit`] | what is recorded permanently about each decision on a call |
//! | [`attention`] | what a person has to look at, in plain words |
//! | [`attempt`] | the record of every attempt at a model round |
//! | [`embedding`] | the limits of embedding calls, and the similarity of texts |
//! | [`prompt`] | the contents of a model request, within named bounds |
//! | [`retry`] | how often something is retried, and when |
//! | [`report`] | the events that people see, chained by hash |
//! | [`provenance`] | which untrusted sources a text came from, and what a run that has read it may do |
//! | [`proof`] | whether a log, a run or a bundle is authentic |
//! | [`retention`] | how long data is kept, and what is pruned |
//! | [`backup`] | when a daily backup is due, and which are removed |
//! | [`journal`] | the person's records: types, valid writes and undo |
//! | [`causal`] | the durable state of an agent on several devices, and how they converge |
//! | [`recurrence`] | when something is due, in a time zone and across clock changes |
//! | [`snapshot`] | which actions need a snapshot of the workspace, and what undoing a run restores |
//! | [`schedule`] | schedules as records, and the result of a tick |
//! | [`change`] | the keys of a committed write, and its notice |
//! | [`watch`] | the changes in watched folders and repositories, and their notices |
//! | [`external_trigger`] | whether external systems may wake an agent through its URL |
//! | [`notice`] | the text of a notice for an agent |
//! | [`subscription`] | what wakes an agent, and which subscriptions match a notice |
//! | [`kernel`] | all of this as a service: a line of JSON in, a line of JSON out |
//! | [`saga`] | the progress of a write that touches both databases |
//!
//! Shared by all of them: [`key`] (derived keys), [`id`], [`time`], [`json`], [`blob`], [`conversation`]
//! (the block model), [`schema`] (descriptions of tool arguments), [`suggestion`] (the word that was
//! probably meant), [`attachment`], [`failure`] and [`problem`].
#![forbid(unsafe_code)]

#[macro_use]
mod string_enum;

pub mod agent_settings;
pub mod answer_schema;
pub mod attachment;
pub mod attempt;
pub mod attention;
pub mod audit;
pub mod backup;
pub mod blob;
pub mod budget;
pub mod causal;
pub mod cause;
pub mod change;
pub mod conversation;
pub mod decision;
pub mod dispatcher;
pub mod embedding;
pub mod external_trigger;
pub mod failure;
pub mod guardrail;
pub mod hook;
pub mod id;
pub mod inference;
pub mod journal;
pub mod json;
pub mod kernel;
pub mod key;
pub mod message;
pub mod need_to_know;
pub mod network_scope;
pub mod notice;
pub mod policy;
pub mod problem;
pub mod prompt;
pub mod proof;
pub mod protected_path;
pub mod provenance;
pub mod rate;
pub mod recurrence;
pub mod redact;
pub mod report;
pub mod retention;
pub mod retry;
pub mod run;
pub mod saga;
pub mod sandbox_policy;
pub mod sandbox_scope;
pub mod schedule;
pub mod schema;
pub mod secret;
pub mod snapshot;
pub mod sse;
pub mod step;
pub mod stop;
pub mod sub_run;
pub mod subscription;
pub mod suggestion;
pub mod time;
pub mod tool;
pub mod wake;
pub mod watch;
