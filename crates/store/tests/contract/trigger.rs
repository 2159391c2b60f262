//! External triggers, their secret, and stored deliveries.

use wakeful_core::external_trigger::TriggerStatus;
use wakeful_core::id::{AgentId, RuleId};
use wakeful_core::key::Digest;
use wakeful_core::time::Millis;
use wakeful_store::rows::ExternalTriggerRow;

use crate::fixture::everywhere;

fn row() -> ExternalTriggerRow {
    ExternalTriggerRow {
        trigger_id: RuleId::parse("trigger-1").expect("a name"),
        agent_id: AgentId::parse("main").expect("a name"),
        generation: 1,
        status: TriggerStatus::Active,
        delivered: 0,
        last_at: None,
        created_at: Millis(5),
    }
}

#[test]
fn a_trigger_and_the_first_secret_are_stored() {
    everywhere(async |store| {
        let turned = ExternalTriggerRow {
            generation: 2,
            status: TriggerStatus::Revoked,
            delivered: 7,
            last_at: Some(Millis(9)),
            ..row()
        };
        let next = turned.clone();
        let written = store.write(move |tx| {
            assert_eq!(tx.trigger_secret()?, None);
            tx.put_trigger_secret(&Digest::of(b"one"), Millis(1))?;
            tx.put_trigger_secret(&Digest::of(b"two"), Millis(1))?;
            tx.put_trigger(&row())?;
            assert_eq!(tx.trigger(&row().trigger_id)?, Some(row()));
            tx.put_trigger(&next)?;
            Ok((tx.trigger_secret()?, tx.trigger_of(&row().agent_id)?))
        });
        let (secret, kept) = written.await.expect("written");
        assert_eq!((secret, kept), (Some(Digest::of(b"one")), Some(turned)));
    });
}

#[test]
fn a_delivery_is_stored_until_it_is_old_or_others_replace_it() {
    everywhere(async |store| {
        let id = row().trigger_id;
        let known = store.write(move |tx| {
            for at in 1..=6 {
                tx.record_delivery(&id, &format!("d{at}"), Millis(at))?;
            }
            tx.record_delivery(&id, "d6", Millis(99))?;
            tx.delete_deliveries(&id, Millis(2), 10)?;
            let first = (1..=6).map(|at| Ok(tx.delivered_at(&id, &format!("d{at}"))?.is_some()));
            let first = first.collect::<Result<Vec<_>, _>>()?;
            tx.delete_deliveries(&id, Millis(0), 2)?;
            let then = (1..=6).map(|at| Ok(tx.delivered_at(&id, &format!("d{at}"))?.is_some()));
            Ok((first, then.collect::<Result<Vec<_>, _>>()?))
        });
        let (first, then) = known.await.expect("written");
        assert_eq!(first, [false, true, true, true, true, true]);
        assert_eq!(then, [false, false, false, false, true, true]);
    });
}
