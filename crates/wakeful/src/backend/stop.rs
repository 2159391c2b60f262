//! Stop requests from the command line. A request is sent to the daemon or the database; if neither accepts
//! it in time, it is stored in the home's stop slot, which every process that drives runs in the home
//! checks.

use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

use wakeful_api::{BrakeList, PendingCancel, SetBrake, Text};
use wakeful_core::decision::Channel;
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::stop::{StopRequest, StopTarget};
use wakeful_ports::clock::{Clock as _, Entropy as _};
use wakeful_server::view;
use wakeful_store::rows::BrakeRow;
use wakeful_store::{PendingStop, drop_from_slot, keep_in_slot, read_slot};

use super::Backend;
use crate::discover::daemon_now;
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::home::Home;
use crate::open_home::OpenHome;
use crate::show::Out;
use crate::system::{RealClock, RealEntropy};

/// How long the daemon or the database has to accept a stop request.
const STOP_REQUEST_TIMEOUT: Duration = Duration::from_secs(3);

/// Error codes that are unrelated to the request itself, so the request may be stored in the slot instead.
const FALLBACK_CODES: [&str; 12] = [
    "daemon_unreachable",
    "daemon_protocol_error",
    "recovering",
    "stopping",
    "response_timeout",
    "disk_full",
    "database_unreachable",
    DATABASE_SLOW,
    "home_unwritable",
    "wal_missing",
    "storage_failed",
    "store_closed",
];

const DATABASE_SLOW: &str = "database_slow";

/// How a stop request was delivered.
pub(crate) enum StopDelivery<T> {
    /// The daemon or the database accepted it.
    Taken(T),
    /// Only the slot holds it.
    Kept(PendingStop),
}

/// Creates a stop request from this command line.
pub(crate) fn request(target: StopTarget, reason: String) -> StopRequest {
    let bytes = RealEntropy.random_bytes();
    StopRequest {
        id: bytes.first_chunk().map_or(1, |bytes| u64::from_le_bytes(*bytes)),
        target,
        reason,
        channel: Channel::Cli,
        at: RealClock::new().now(),
    }
}

/// The response to a cancellation that is not yet in the database.
pub(crate) fn pending_cancel(run: RunKey, pending: &PendingStop) -> PendingCancel {
    PendingCancel {
        run_key: run.to_string(),
        not_durable: view::not_durable(pending),
    }
}

/// Sets a brake on one agent or on all agents.
pub(crate) async fn brake(
    shared: &GlobalArgs,
    out: &Out,
    agent: Option<AgentId>,
    reason: Option<String>,
) -> Result<BrakeList, Failure> {
    let target = StopTarget::brake(agent.as_ref());
    let request = request(target, reason.clone().unwrap_or_default());
    let set = SetBrake {
        agent_id: agent.map(Text),
        reason,
    };
    let home = home_of(shared)?;
    let told = match daemon_now(shared)? {
        Some(client) => {
            let backend = Backend { client };
            deliver(&home, request, backend.call(set)).await?
        }
        None => {
            // The slot is written before the database is opened, so processes that drive runs here stop at
            // once.
            let _ = keep_in_slot(&home.brake_slot(), &request);
            let beside = async {
                let place = OpenHome::open_unlocked(shared).await?;
                place
                    .run_and_close(out, async |place| Backend::of_open_home(place)?.call(set).await)
                    .await
            };
            deliver(&home, request, beside).await?
        }
    };
    Ok(match told {
        StopDelivery::Taken(brakes) => brakes,
        StopDelivery::Kept(pending) => brakes_of(&[pending]),
    })
}

/// Lists the brakes in the slot, for when neither the daemon nor the database is available.
pub(crate) fn brakes_in_slot(shared: &GlobalArgs, failure: Failure) -> Result<BrakeList, Failure> {
    if !allows_slot_fallback(&failure) {
        return Err(failure);
    }
    let home = Home::open(&shared.home()?)?;
    let kept = read_slot(&home.brake_slot()).into_iter();
    let kept: Vec<PendingStop> = kept.map(|request| pending(request, failure.code())).collect();
    let brakes = brakes_of(&kept);
    if brakes.brakes.is_empty() {
        return Err(failure);
    }
    Ok(brakes)
}

/// Waits until a request is accepted, and stores it in the slot if an unrelated failure prevents that.
pub(crate) async fn deliver<T>(
    home: &Home,
    request: StopRequest,
    telling: impl Future<Output = Result<T, Failure>>,
) -> Result<StopDelivery<T>, Failure> {
    let failure = match tokio::time::timeout(STOP_REQUEST_TIMEOUT, telling).await {
        Ok(Ok(taken)) => return Ok(StopDelivery::Taken(taken)),
        Ok(Err(failure)) => failure,
        Err(_) => Failure::new(
            DATABASE_SLOW,
            format!("no response within {} s", STOP_REQUEST_TIMEOUT.as_secs()),
            "check `wakeful daemon status`",
        ),
    };
    let slot = home.brake_slot();
    if !allows_slot_fallback(&failure) {
        let _ = drop_from_slot(&slot, request.id);
        return Err(failure);
    }
    match keep_in_slot(&slot, &request) {
        Ok(()) => Ok(StopDelivery::Kept(pending(request, failure.code()))),
        // Neither the database nor the slot has the request, so the original failure is returned.
        Err(_) => Err(failure),
    }
}

fn allows_slot_fallback(failure: &Failure) -> bool {
    FALLBACK_CODES.contains(&failure.code())
}

/// The home that a request concerns. With an external database the home is created if necessary, as for
/// every command that writes.
pub(crate) fn home_of(shared: &GlobalArgs) -> Result<Home, Failure> {
    let path = shared.home()?;
    if shared.database().is_some() {
        return Home::open_or_create(&path);
    }
    let home = Home::open(&path)?;
    // Homes created by an older version have no slot.
    home.make_slot();
    Ok(home)
}

fn pending(request: StopRequest, code: &str) -> PendingStop {
    PendingStop {
        ids: BTreeSet::from([request.id]),
        request,
        is_kept: true,
        code: code.to_owned(),
    }
}

fn brakes_of(pending: &[PendingStop]) -> BrakeList {
    let rows = pending.iter().filter_map(|pending| {
        let request = &pending.request;
        Some(BrakeRow {
            agent_id: request.target.scope()?.cloned(),
            reason: request.reason.clone(),
            channel: request.channel,
            at: request.at,
        })
    });
    view::brakes(&rows.collect::<Vec<_>>(), pending)
}
