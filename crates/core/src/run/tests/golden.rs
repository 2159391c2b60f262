//! States as version 1 of the machine wrote them. A program that carries this version must read them for
//! ever; when one of these tests fails, the machine needs a new version and not a new file.

use super::world::body;
use crate::run::{Input, MACHINE_VERSION_OLDEST, Outcome, Phase, Reads, Turn};
use crate::step::Fate;

const NOT_BEGUN: &str = include_str!("../golden/turn_v1_not_begun.json");
const MODELLING: &str = include_str!("../golden/turn_v1_modelling.json");
const ACTING: &str = include_str!("../golden/turn_v1_acting.json");
const ENDED: &str = include_str!("../golden/turn_v1_ended.json");
const FAILED: &str = include_str!("../golden/turn_v1_failed.json");

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
