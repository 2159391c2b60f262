//! The decisions of Wakeful, as pure functions.
//!
//! Nothing here reads a clock, draws a random number, touches a file or awaits: time, ids and contents
//! arrive inside inputs, so the same state and input give the same answer on every machine, for ever.
//! That is what makes replay, recovery and convergence safe.
//!
//! The flow, in the order of the modules that carry it:
//!
//! | module | decides |
//! |---|---|
//! | [`message`] | what enters an agent's queue, and with whose authority |
//! | [`cause`] | what a message came from, and where it stands in line |
//! | [`wake`] | whether a cause becomes a message and a message a run, and why |
//! | [`mod@line`] | who is driven next, when more have work than there are places |
//! | [`run`] | the turn machine: one input in, new state and effects out |
//! | [`step`] | what one action is called, how it may be repeated, how it ended |
//! | [`stop`] | which brakes and cancellations hold before the database has them, and how they are kept |
//! | [`subrun`] | whether a run may start another, and what it is told of its end |
//! | [`decision`] | what a person is asked, and what may become of the question |
//! | [`policy`] | whether an action may be taken, and by which rule |
//! | [`inference`] | whether a model may be asked, and what it may be shown |
//! | [`budget`] | what a model costs, and whether there is money for it |
//! | [`attempt`] | what is kept of every attempt at a model round |
//! | [`embedding`] | what may be asked of an embedder, and how near two texts are |
//! | [`prompt`] | what a model request contains, within named bounds |
//! | [`retry`] | how often something is tried again, and when |
//! | [`report`] | the events everybody sees, chained by hash |
//! | [`proof`] | whether a log, a run or a bundle is what it says it is |
//! | [`retention`] | how long data is kept, and what has to go |
//! | [`journal`] | what people wrote: records, what may be written, and how a write is undone |
//! | [`causal`] | what an agent durably is on several devices at once, and how they come to agree |
//! | [`schedule`] | when something is due, in a zone and across changes of its clocks |
//! | [`timer`] | schedules as records, and what a tick makes of them |
//! | [`change`] | what a committed write is called, and what it says to the outside |
//! | [`outside`] | what changed in watched folders and repositories, and what that says |
//! | [`external_trigger`] | whether systems outside may wake an agent by its address |
//! | [`notice`] | what a notice says to an agent, in words |
//! | [`subscription`] | what an agent wants to be woken for, and whom a notice concerns |
//! | [`kernel`] | all of this as a service: a line of JSON in, a line of JSON out |
//! | [`saga`] | where a write stands that touches both databases |
//!
//! Below them: [`key`] (derived names), [`id`], [`time`], [`json`], [`blob`], [`conversation`] (the block
//! model), [`schema`] (how a tool's arguments are described), [`attachment`], [`failure`] and [`problem`].
#![forbid(unsafe_code)]

#[macro_use]
mod string_enum;

pub mod attachment;
pub mod attempt;
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
pub mod id;
pub mod inference;
pub mod journal;
pub mod json;
pub mod kernel;
pub mod key;
pub mod message;
pub mod notice;
pub mod policy;
pub mod problem;
pub mod prompt;
pub mod proof;
pub mod recurrence;
pub mod report;
pub mod retention;
pub mod retry;
pub mod run;
pub mod saga;
pub mod schedule;
pub mod schema;
pub mod sse;
pub mod step;
pub mod stop;
pub mod sub_run;
pub mod subscription;
pub mod time;
pub mod wake;
pub mod watch;
