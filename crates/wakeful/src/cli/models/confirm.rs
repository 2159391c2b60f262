//! That a person agrees to show a provider their agents' work.

use serde_json::json;
use wakeful_ports::clock::Clock as _;
use wakeful_ports::records::ReceiptRow;
use wakeful_ports::store::Store as _;

use crate::cli::Shared;
use crate::failure::Failure;
use crate::home::Home;
use crate::model::ModelHouse;
use crate::place::Place;
use crate::show::Out;
use crate::world::RealClock;

/// How they said so.
const CHANNEL: &str = "models_confirm";

pub(super) async fn confirm(
    provider: &str,
    house: &ModelHouse,
    shared: &Shared,
    out: &Out,
) -> Result<u8, Failure> {
    // A name that was misspelt must not look confirmed.
    house.provision(provider)?;
    let versions = house.config().policy_versions();
    let count = versions.len();
    let name = provider.to_owned();
    let at = RealClock::new().now();
    open(shared)
        .await?
        .work(out, async |place| {
            let written = place.store.write(move |tx| {
                versions.iter().try_for_each(|version| {
                    tx.put_receipt(&ReceiptRow {
                        provider: name.clone(),
                        policy_version: version.clone(),
                        channel: CHANNEL.to_owned(),
                        at,
                    })
                })
            });
            Ok(written.await?)
        })
        .await?;
    let words = format!(
        "{provider} may be shown your agents' work, as far as the rules that hold now allow it; other rules ask again"
    );
    out.answer(
        &json!({"provider": provider, "confirmed": true, "policy_versions": count}),
        &words,
    );
    Ok(0)
}

/// Beside whoever works in the home, if there is one.
pub(super) async fn open(shared: &Shared) -> Result<Place, Failure> {
    if Home::is_there(&shared.home()?) || shared.database().is_some() {
        Place::open_beside(shared).await
    } else {
        Place::open_for_writing(shared).await
    }
}
