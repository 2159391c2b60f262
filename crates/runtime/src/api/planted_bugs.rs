//! Planted bugs of the API: empty in the shipped program, see [`wakeful_ports::planted`].

use wakeful_core::id::TurnId;
use wakeful_core::key::RunKey;
use wakeful_core::time::Millis;
use wakeful_ports::planted_bugs;

use super::{IncomingMessage, MessageReceipt};

/// Returns the message unchanged, unless a test enables a planted bug.
pub(super) fn planted_message(mut post: IncomingMessage, now: Millis) -> IncomingMessage {
    if planted_bugs::is_planted("text_cut") {
        post.text.pop();
    }
    if planted_bugs::is_planted("key_forgotten")
        && let Ok(fresh) = TurnId::parse(&format!("{}-{}", post.turn, now.0))
    {
        post.turn = fresh;
    }
    post
}

/// Sometimes acknowledges a message that is not stored, if a test enables this bug.
pub(super) fn maybe_drop(run_key: RunKey, now: Millis) -> Option<MessageReceipt> {
    let is_new = true;
    (planted_bugs::is_planted("message_dropped") && now.0 % 4 == 0)
        .then_some(MessageReceipt { run_key, is_new })
}
