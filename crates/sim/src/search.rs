//! Examines many fault plans, and shrinks one that fails.

use crate::coverage::Coverage;
use crate::daemon::MOVES_MAX;
use crate::fault_plan::{Fault, FaultKind, FaultPlan, Kind};
use crate::invariant::Violation;
use crate::simulate::{crashing_equals_not_crashing, is_same_again, played};

/// Maximum number of plans that are tried while shrinking.
const TRIES_MAX: u32 = 2_000;

/// Plays a plan. For some seeds it also checks that replaying it gives the same result, and that crashes
/// change only times. That takes one or two more plays, so not every plan is checked this way.
pub fn examine(schedule: &FaultPlan) -> Result<Coverage, Violation> {
    let (tally, hash) = played(schedule)?;
    match (schedule.seed % 16, schedule.kind) {
        (0, Kind::Run | Kind::Alert) => is_same_again(schedule, hash)?,
        (1 | 2, Kind::Run) => crashing_equals_not_crashing(schedule)?,
        _ => {}
    }
    Ok(tally)
}

/// The smallest plan found that still fails in the same way as the given one.
pub fn shrink(
    schedule: &FaultPlan,
    violation: &Violation,
    fails: impl Fn(&FaultPlan) -> Result<Coverage, Violation>,
) -> (FaultPlan, Violation) {
    let mut best = (schedule.clone(), violation.clone());
    let mut tries = 0;
    'smaller: loop {
        for candidate in smaller(&best.0) {
            tries += 1;
            if tries > TRIES_MAX {
                return best;
            }
            match fails(&candidate) {
                Err(violation) if violation.invariant == best.1.invariant => {
                    best = (candidate, violation);
                    continue 'smaller;
                }
                Ok(_) | Err(_) => {}
            }
        }
        return best;
    }
}

/// Slightly smaller plans: one ask, script action or fault less, a fault that comes sooner, or one replaced
/// by a crash.
fn smaller(schedule: &FaultPlan) -> Vec<FaultPlan> {
    let mut found = fewer_moves(schedule);
    if schedule.asks > 1 && schedule.kind == Kind::Run {
        let asks = schedule.asks - 1;
        found.push(FaultPlan {
            asks,
            ..schedule.clone()
        });
    }
    if !schedule.is_small && schedule.kind == Kind::Run {
        found.push(FaultPlan {
            is_small: true,
            ..schedule.clone()
        });
    }
    for index in 0..schedule.mishaps.len() {
        let mut fewer = schedule.clone();
        fewer.mishaps.remove(index);
        found.push(fewer);
    }
    for (index, mishap) in schedule.mishaps.iter().enumerate() {
        let sooner = [0, mishap.after / 2, mishap.after.saturating_sub(1)];
        let sooner = sooner.into_iter().filter(|after| *after < mishap.after);
        let sooner = sooner.map(|after| Fault { after, ..*mishap });
        let plainer = matches!(
            mishap.what,
            FaultKind::Sleep | FaultKind::StoreFails | FaultKind::Loop
        );
        let plainer = plainer.then_some(Fault {
            what: FaultKind::Crash,
            ..*mishap
        });
        for changed in sooner.chain(plainer) {
            let mut other = schedule.clone();
            other.mishaps.splice(index..=index, [changed]);
            found.push(other);
        }
    }
    found
}

/// The same plan without the second half of its script actions, without the first half, and without each of
/// them.
fn fewer_moves(schedule: &FaultPlan) -> Vec<FaultPlan> {
    if schedule.kind == Kind::Run {
        return Vec::new();
    }
    let moves: Vec<u32> = (0..MOVES_MAX)
        .filter(|number| schedule.has_move(*number))
        .collect();
    let (first, second) = moves.split_at(moves.len() / 2);
    let halves = [first, second]
        .into_iter()
        .filter(|half| half.len() < moves.len());
    let without = |index: usize| {
        let (before, after) = moves.split_at(index);
        before.iter().chain(after.iter().skip(1)).copied().collect()
    };
    let singles = (0..moves.len()).map(without);
    let kept = halves.map(<[u32]>::to_vec).chain(singles);
    let fewer = kept.map(|moves| FaultPlan {
        moves: Some(moves),
        ..schedule.clone()
    });
    fewer.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails_with_two_crashes_late_enough(schedule: &FaultPlan) -> Result<Coverage, Violation> {
        let late = schedule.mishaps.iter().filter(|mishap| mishap.after >= 3);
        if late.count() < 2 {
            return Ok(Coverage::default());
        }
        Err(Violation {
            invariant: "TooLate",
            what: String::new(),
            story: Vec::new(),
        })
    }

    #[test]
    fn a_failing_plan_is_shrunk_to_its_minimum() {
        let large: FaultPlan = "0x5 crash+40 sleep+17 cancel+1 store+9"
            .parse()
            .expect("a schedule");
        let violation = fails_with_two_crashes_late_enough(&large).expect_err("fails");
        let (small, _) = shrink(&large, &violation, fails_with_two_crashes_late_enough);
        assert_eq!(small.to_string(), "0x5 small crash+3 crash+3 asks=1");
    }

    #[test]
    fn unneeded_script_actions_are_removed() {
        let fails = |schedule: &FaultPlan| match schedule.has_move(3) && schedule.has_move(9) {
            true => fails_with_two_crashes_late_enough(&"0x5 crash+3 crash+3".parse().expect("a schedule")),
            false => Ok(Coverage::default()),
        };
        let large: FaultPlan = "0x5 alert crash+40".parse().expect("a schedule");
        let violation = fails(&large).expect_err("fails");
        let (small, _) = shrink(&large, &violation, fails);
        assert_eq!(small.to_string(), "0x5 alert calm moves=3,9");
    }
}
