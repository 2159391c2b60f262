//! What holds an agent right now: what waits for it does not begin, or would not even be taken in.

use super::{Control, Lifecycle, Mode, Refusal, Standing};
use crate::key::RunKey;
use crate::time::Millis;

/// One thing that holds an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// The stable word for programs.
    pub code: &'static str,
    /// What it is, in one sentence without its full stop.
    pub words: String,
    /// Until when by itself; none where it stays until somebody acts.
    pub until: Option<Millis>,
    /// What would have to change.
    pub way_out: Option<&'static str>,
}

impl From<Refusal> for Hold {
    fn from(refusal: Refusal) -> Self {
        Self {
            code: refusal.code(),
            words: refusal.to_string(),
            until: None,
            way_out: refusal.way_out(),
        }
    }
}

/// Everything that holds an agent at a moment, the most lasting first.
#[must_use]
pub fn holds(standing: &Standing, is_braked: bool, open_run: Option<RunKey>, now: Millis) -> Vec<Hold> {
    let lifecycle = match standing.lifecycle {
        Lifecycle::Created => Some(Refusal::NotActive),
        Lifecycle::Active => None,
        Lifecycle::Dormant => Some(Refusal::Dormant),
        Lifecycle::Destroyed => Some(Refusal::Destroyed),
    };
    let control = match standing.control {
        Control::Running => None,
        Control::Paused => Some(Refusal::Paused),
        Control::Stopped => Some(Refusal::Stopped),
    };
    let mode = (standing.mode == Mode::Interactive).then_some(Refusal::InteractiveOnly);
    let brake = is_braked.then_some(Refusal::Braked);
    let lasting = [lifecycle, control, mode, brake].into_iter().flatten();
    let mut holds: Vec<Hold> = lasting.map(Hold::from).collect();
    if let Some(until) = standing.sleep_until.filter(|until| *until > now) {
        holds.push(Hold {
            code: "asleep",
            words: format!(
                "the agent sleeps until {}: only a person wakes it",
                until.rfc3339()
            ),
            until: Some(until),
            way_out: Some("take the barrier away with `wakeful agent wake`"),
        });
    }
    holds.extend(open_run.map(|run| Hold::from(Refusal::RunOpen { run })));
    holds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::AgentId;
    use crate::key::Digest;

    fn standing() -> Standing {
        Standing {
            agent_id: AgentId::parse("coach").expect("id"),
            lifecycle: Lifecycle::Active,
            control: Control::Running,
            mode: Mode::Hybrid,
            sleep_until: None,
        }
    }

    fn codes(standing: &Standing, is_braked: bool, open: Option<RunKey>) -> Vec<&'static str> {
        let holds = holds(standing, is_braked, open, Millis(100));
        holds.into_iter().map(|hold| hold.code).collect()
    }

    #[test]
    fn an_agent_that_nothing_holds_is_free() {
        let rested = Standing {
            sleep_until: Some(Millis(100)),
            ..standing()
        };
        assert!(codes(&standing(), false, None).is_empty() && codes(&rested, false, None).is_empty());
    }

    #[test]
    fn everything_that_holds_an_agent_is_told_with_its_way_out() {
        let held = Standing {
            lifecycle: Lifecycle::Dormant,
            control: Control::Paused,
            mode: Mode::Interactive,
            sleep_until: Some(Millis(101)),
            ..standing()
        };
        let open = Some(RunKey(Digest::of(b"open")));
        let all = [
            "dormant",
            "paused",
            "interactive_only",
            "braked",
            "asleep",
            "run_open",
        ];
        assert_eq!(codes(&held, true, open), all);
        let told = holds(&held, true, open, Millis(100));
        assert!(told.iter().all(|hold| hold.way_out.is_some()), "{told:?}");
        assert_eq!(told[4].until, Some(Millis(101)));
    }

    #[test]
    fn a_kept_code_is_the_refusal_that_it_was() {
        for refusal in Refusal::PLAIN {
            assert_eq!(Refusal::of_code(refusal.code()), Some(refusal));
        }
        for other in ["run_open", "run", "queued", "", "cancelled"] {
            assert_eq!(Refusal::of_code(other), None, "{other}");
        }
    }
}
