//! Planted bugs of the API: empty in the shipped program, see [`wakeful_ports::planted`].

use wakeful_core::id::TurnId;
use wakeful_core::key::RunKey;
use wakeful_core::time::Millis;
use wakeful_ports::planted;

use super::{Post, Posted};

/// The post as it is, unless a test asks for an error.
pub(super) fn post(mut post: Post, now: Millis) -> Post {
    if planted::bug("text_cut") {
        post.text.pop();
    }
    if planted::bug("key_forgotten")
        && let Ok(fresh) = TurnId::parse(&format!("{}-{}", post.turn, now.0))
    {
        post.turn = fresh;
    }
    post
}

/// Sometimes an acknowledgement of a message that is not stored, if a test asks for it.
pub(super) fn dropped(run_key: RunKey, now: Millis) -> Option<Posted> {
    let is_new = true;
    (planted::bug("message_dropped") && now.0 % 4 == 0).then_some(Posted { run_key, is_new })
}
