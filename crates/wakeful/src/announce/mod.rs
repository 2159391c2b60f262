//! Tells people that a decision waits for them: a queue that nobody sees is a hang.
//!
//! | module | does |
//! |---|---|
//! | [`note`] | what is said: who asks, how severe it is, how to answer; never what a tool would be given |
//! | [`way`] | by which ways: the desktop, a webhook, a command |
//! | [`watch`] | the daemon's loop: every way is told of every question, at least once, within bounds |

mod note;
mod watch;
mod way;

pub(crate) use self::note::Note;
pub(crate) use self::watch::watch;
pub(crate) use self::way::{Session, Way, ways};
