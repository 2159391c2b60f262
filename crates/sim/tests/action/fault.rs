//! Faults of the store at every stage of a call: wherever one strikes, the call has one complete record and at most
//! one effect, and the process performs the next message.

use std::sync::atomic::AtomicUsize;

use wakeful_core::tool::invocation::ComplianceStatus;
use wakeful_store::{FaultFuture, FaultPoint, Faults, StoreError};

use super::*;

/// More permits than calls, so that actions end by themselves.
pub(super) const PERMITS: usize = 100;

/// More waits than a run with one fault has.
const WAITS_MAX: usize = 400;

/// More accesses to the store than a run with one call has.
const ACCESSES_MAX: usize = 400;

/// How an access fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FaultCase {
    /// The connection is lost before the access.
    Unreachable,
    /// The disk is full.
    Full,
    /// The disk fails.
    Device,
    /// Another transaction was first.
    Conflict,
    /// The commit is durable and its response is lost.
    LostReply,
}

const CASES: [FaultCase; 5] = [
    FaultCase::Unreachable,
    FaultCase::Full,
    FaultCase::Device,
    FaultCase::Conflict,
    FaultCase::LostReply,
];

impl FaultCase {
    fn error(self) -> StoreError {
        match self {
            Self::Unreachable | Self::LostReply => StoreError::Unreachable("the connection was lost".into()),
            Self::Full => StoreError::Full,
            Self::Device => StoreError::Device("input/output error".into()),
            Self::Conflict => StoreError::Conflict,
        }
    }

    const fn applies(self, point: FaultPoint) -> bool {
        match point {
            FaultPoint::Read => matches!(self, Self::Unreachable | Self::Device),
            FaultPoint::BeforeCommit | FaultPoint::Pack => !matches!(self, Self::LostReply),
            FaultPoint::AfterCommit => matches!(self, Self::LostReply),
        }
    }
}

/// One fault at one access after the model's first reply.
pub(super) struct StageFault {
    case: FaultCase,
    /// How many accesses precede it.
    at: usize,
    is_armed: AtomicBool,
    accesses: AtomicUsize,
    has_struck: AtomicBool,
}

impl StageFault {
    fn new(case: FaultCase, at: usize) -> Arc<Self> {
        Arc::new(Self {
            case,
            at,
            is_armed: AtomicBool::new(false),
            accesses: AtomicUsize::new(0),
            has_struck: AtomicBool::new(false),
        })
    }

    pub(super) fn arm(&self) {
        self.is_armed.store(true, Ordering::SeqCst);
    }

    /// Ends the faults. Returns whether one struck.
    fn disarm(&self) -> bool {
        self.is_armed.store(false, Ordering::SeqCst);
        self.has_struck.load(Ordering::SeqCst)
    }
}

impl Faults for StageFault {
    fn pass(&self, point: FaultPoint) -> FaultFuture<'_> {
        let is_counted = self.is_armed.load(Ordering::SeqCst) && self.case.applies(point);
        let strikes = is_counted && self.accesses.fetch_add(1, Ordering::SeqCst) == self.at;
        if strikes {
            self.has_struck.store(true, Ordering::SeqCst);
        }
        Box::pin(async move { if strikes { Err(self.case.error()) } else { Ok(()) } })
    }
}

impl Daemon {
    /// Waits until the run is neither queued nor open any more.
    async fn ended(&self) -> String {
        for _ in 0..WAITS_MAX {
            let (status, _) = self.outcome().await;
            if status != "open" && status != "queued" {
                return status;
            }
            self.ticks.advance();
            self.settle().await;
        }
        "not ended".to_owned()
    }
}

/// Runs one call with a fault, and checks everything. Returns whether the fault struck.
async fn survives(class: EffectClass, case: FaultCase, at: usize) -> bool {
    let fault = StageFault::new(case, at);
    let daemon = Daemon::begin(Setting {
        class,
        fault: Some(Arc::clone(&fault)),
        ..Setting::default()
    })
    .await;
    let has_struck = fault.disarm();
    let place = format!("{class:?}, {case:?} at access {at}");
    let status = daemon.ended().await;
    assert_eq!(status, "completed", "{place}");
    let run = daemon.api.runs.get(daemon.run).await.expect("a run");
    let [step] = run.tool_calls().collect::<Vec<_>>()[..] else {
        panic!("{place}: one call");
    };
    let record = run.invocation(step);
    let record = record.unwrap_or_else(|| panic!("{place}: no audit record"));
    let begun = daemon.begun().len();
    match (step.status, class) {
        (StepStatus::Ok, EffectClass::Plain) => assert_eq!(begun, 1, "{place}"),
        (StepStatus::Ok, _) => assert!(begun >= 1, "{place}"),
        // What the action did is not known, and it is never performed again.
        (StepStatus::OutcomeUnknown, EffectClass::Plain) => assert!(begun <= 1, "{place}"),
        (other, _) => panic!("{place}: {other:?} {}", step.reason),
    }
    assert_eq!(
        record.has_compliance_status,
        ComplianceStatus::Compliant,
        "{place}"
    );
    // The process is alive: it performs the next message.
    let next = daemon
        .api
        .messages
        .send(message("turn-2"))
        .await
        .expect("sent")
        .run_key;
    let daemon = Daemon { run: next, ..daemon };
    daemon.settle().await;
    assert_eq!(daemon.ended().await, "completed", "{place}: the next message");
    has_struck
}

// Conformance: L-160
#[tokio::test]
async fn a_storage_fault_at_any_stage_leaves_one_record_of_a_call() {
    for class in [EffectClass::Plain, EffectClass::Idempotent, EffectClass::Saga] {
        for case in CASES {
            let mut struck = 0;
            while survives(class, case, struck).await {
                struck += 1;
                assert!(struck < ACCESSES_MAX, "{class:?} {case:?}: the run never ends");
            }
            // At least the plan, the intent and the result are committed.
            assert!(struck >= 3, "{class:?} {case:?}: only {struck} accesses");
        }
    }
}
