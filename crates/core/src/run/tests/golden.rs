//! States as earlier versions of the machine wrote them. A program that carries such a version must read them for
//! ever; when one of these tests fails, the machine needs a new version and not a new file.

use super::world::body;
use crate::failure::{Category, FailureArtifact, ModelFailure, ModelFailureKind};
use crate::run::{Bill, Input, MACHINE_VERSION, MACHINE_VERSION_OLDEST, Outcome, Phase, Reads, Turn};
use crate::step::Fate;

const NOT_BEGUN: &str = include_str!("../golden/turn_v1_not_begun.json");
const MODELLING: &str = include_str!("../golden/turn_v1_modelling.json");
const ACTING: &str = include_str!("../golden/turn_v1_acting.json");
const ENDED: &str = include_str!("../golden/turn_v1_ended.json");
const FAILED: &str = include_str!("../golden/turn_v1_failed.json");
const UNPAID: &str = include_str!("../golden/turn_v4_unpaid.json");

fn decode(text: &str) -> Turn {
    serde_json::from_str(text).expect("a state of version 1")
}

#[test]
fn states_of_version_one_are_read_and_written_as_they_were() {
    const {
        assert!(
            MACHINE_VERSION_OLDEST == 1,
            "states that are no longer read need no test"
        )
    };
    for text in [NOT_BEGUN, MODELLING, ACTING, ENDED, FAILED] {
        let stored: serde_json::Value = serde_json::from_str(text).expect("json");
        assert_eq!(serde_json::to_value(decode(text)).expect("json"), stored);
    }
}

#[test]
fn a_stored_state_of_each_phase_goes_on_from_where_it_stood() {
    let apply = |text, input| decode(text).apply(&Reads::default(), input).expect("fits").turn;
    assert_eq!(
        apply(NOT_BEGUN, Input::Admitted { body: body() }).pending().len(),
        1
    );
    let retried = Phase::Modelling {
        attempt: 2,
        delay_ms: 250,
        missed: vec![],
    };
    assert_eq!(decode(MODELLING).phase, retried);
    assert_eq!(
        apply(MODELLING, Input::Cancelled).outcome(),
        Some(&Outcome::Cancelled)
    );
    let acting = decode(ACTING);
    let Phase::Acting { actions, .. } = &acting.phase else {
        panic!("does not act")
    };
    assert!(matches!(actions[0].fate, Fate::Settled(_)));
    assert_eq!(
        (&actions[1].fate, &actions[2].fate),
        (&Fate::Intended, &Fate::Waiting)
    );
    assert_eq!(acting.pending().len(), 1);
    assert_eq!(
        apply(ACTING, Input::Cancelled).outcome(),
        Some(&Outcome::Cancelled)
    );
    assert_eq!(decode(ENDED).outcome(), Some(&Outcome::Completed));
    assert!(matches!(decode(FAILED).outcome(), Some(Outcome::Failed(_))));
}

/// What version 4 wrote is read for as long as it is carried.
#[test]
fn a_stored_state_that_passed_over_a_model_goes_back_to_it_when_the_other_fails() {
    const {
        assert!(
            MACHINE_VERSION == 4,
            "a new version needs a golden state of its own"
        )
    };
    let turn = decode(UNPAID);
    let stored: serde_json::Value = serde_json::from_str(UNPAID).expect("json");
    assert_eq!(serde_json::to_value(&turn).expect("json"), stored);
    assert_eq!(turn.active_model(), "scripted:fallback1");
    let artifact = FailureArtifact::new(Category::Transport, "away", "the model is away");
    let failed = Input::AttemptFailed {
        failure: ModelFailure::new(ModelFailureKind::FailFast, artifact),
        duration_ms: 1,
        bill: Bill::default(),
    };
    let waits = turn.apply(&Reads::default(), failed).expect("fits").turn;
    assert!(matches!(waits.phase, Phase::Parked { .. }), "{:?}", waits.phase);
    assert_eq!(waits.active_model(), "scripted:demo");
}
