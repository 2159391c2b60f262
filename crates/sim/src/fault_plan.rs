//! The input of a simulation: a seed and a list of faults.
//!
//! Its text form is one line, `0x2a crash+12 sleep+3`. A failure prints it, `seeds.txt` stores it, and the
//! simulator replays it.

use std::fmt;
use std::str::FromStr;

use crate::rng::Rng;

/// Maximum number of faults of a drawn plan. A crash during crash recovery needs two; six cover longer
/// chains.
const MISHAPS_MAX: u32 = 6;

/// Maximum number of asks of a seed.
pub const ASKS_MAX: u32 = 2;

/// The word for a plan without faults.
const CALM: &str = "calm";

/// The word for a daemon scenario.
const ALERT: &str = "alert";

/// The word for a scenario with fewer asks and actions.
const SMALL: &str = "small";

/// One seed in this many is a daemon scenario, where the kind is not given.
const ALERT_ONE_IN: u32 = 3;

/// One of the others in this many has full size: many small scenarios find more in the same time.
const LARGE_ONE_IN: u32 = 5;

/// The kind of scenario that a seed makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Processes that answer asks, one run after another.
    Run,
    /// A daemon that is woken by changes, schedules, external triggers, people and other agents.
    Alert,
}

/// A seed and its faults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultPlan {
    pub kind: Kind,
    /// Determines everything but the faults.
    pub seed: u64,
    /// The faults, in order.
    pub mishaps: Vec<Fault>,
    /// Upper bound on the asks, where the seed has more.
    pub asks: u32,
    /// Whether the scenario has fewer asks and actions than its seed.
    pub is_small: bool,
    /// The numbers of the script actions that are played, if not all are.
    pub moves: Option<Vec<u32>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    pub what: FaultKind,
    /// Number of port calls between the previous fault and this one.
    pub after: u32,
}

/// The kinds of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// The process dies, and nothing of it runs again.
    Crash,
    /// The process is suspended while another takes over, and then continues unaware of it.
    Sleep,
    /// The store fails before or after a call took effect, once or for a while.
    StoreFails,
    /// The process is asked to stop, as by a service manager.
    Halt,
    /// A person cancels the run.
    Cancel,
    /// A person answers a question, validly or not; if none is open, as soon as one is.
    Answer,
    /// A person sets a brake.
    Brake,
    /// A person releases all brakes.
    Release,
    /// The stored state of the run is corrupted.
    Poison,
    /// Every process dies soon after it claimed the run, until the run is quarantined.
    Loop,
    /// The wall clock is set forward or back, by up to ten years. Daemon scenarios only.
    Jump,
}

impl FaultKind {
    pub const ALL: [Self; 11] = [
        Self::Crash,
        Self::Sleep,
        Self::StoreFails,
        Self::Halt,
        Self::Cancel,
        Self::Answer,
        Self::Brake,
        Self::Release,
        Self::Poison,
        Self::Loop,
        Self::Jump,
    ];

    /// The word of this fault in the text form.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Crash => "crash",
            Self::Sleep => "sleep",
            Self::StoreFails => "store",
            Self::Halt => "halt",
            Self::Cancel => "cancel",
            Self::Answer => "answer",
            Self::Brake => "brake",
            Self::Release => "release",
            Self::Poison => "poison",
            Self::Loop => "loop",
            Self::Jump => "jump",
        }
    }
}

/// A line that is not a fault plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadSchedule(String);

impl fmt::Display for BadSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is neither a seed nor a fault; use a line like `0x2a crash+12 sleep+3`",
            self.0
        )
    }
}

impl std::error::Error for BadSchedule {}

impl FaultPlan {
    /// The plan of a seed, with faults drawn from it.
    #[must_use]
    pub fn drawn(seed: u64) -> Self {
        let mut chance = Rng::at(seed, "mishaps");
        let count = chance.below(MISHAPS_MAX + 1);
        let mishaps = (0..count).map(|_| {
            let what = match chance.below(40) {
                0..18 => FaultKind::Crash,
                18..21 => FaultKind::Sleep,
                21..23 => FaultKind::StoreFails,
                23 => FaultKind::Halt,
                24..26 => FaultKind::Cancel,
                26..32 => FaultKind::Answer,
                32..36 => FaultKind::Brake,
                36..38 => FaultKind::Release,
                38 => FaultKind::Poison,
                _ if chance.one_in(4) => FaultKind::Loop,
                _ => FaultKind::Crash,
            };
            let after = gap(&mut chance);
            Fault { what, after }
        });
        Self {
            mishaps: mishaps.collect(),
            ..Self::calm(seed)
        }
    }

    /// The plan of a seed as a daemon scenario.
    #[must_use]
    pub fn drawn_alert(seed: u64) -> Self {
        let mut chance = Rng::at(seed, "alert mishaps");
        let count = chance.below(MISHAPS_MAX + 1);
        let mishaps = (0..count).map(|_| {
            let what = match chance.below(12) {
                0..8 => FaultKind::Crash,
                8..10 => FaultKind::StoreFails,
                10 => FaultKind::Halt,
                _ => FaultKind::Jump,
            };
            let after = gap(&mut chance);
            Fault { what, after }
        });
        Self {
            kind: Kind::Alert,
            mishaps: mishaps.collect(),
            ..Self::calm(seed)
        }
    }

    /// The plan of a seed, which also selects the kind of scenario.
    #[must_use]
    pub fn any(seed: u64) -> Self {
        match Rng::at(seed, "kind").one_in(ALERT_ONE_IN) {
            true => Self::drawn_alert(seed),
            false => Self::drawn_of_any_size(seed),
        }
    }

    /// The plan of a seed, mostly in a small scenario.
    #[must_use]
    pub fn drawn_of_any_size(seed: u64) -> Self {
        Self {
            is_small: !Rng::at(seed, "size").one_in(LARGE_ONE_IN),
            ..Self::drawn(seed)
        }
    }

    /// Whether a script action of the seed is played.
    #[must_use]
    pub fn has_move(&self, number: u32) -> bool {
        self.moves.as_ref().is_none_or(|kept| kept.contains(&number))
    }

    /// A seed without faults.
    #[must_use]
    pub const fn calm(seed: u64) -> Self {
        Self {
            kind: Kind::Run,
            seed,
            mishaps: Vec::new(),
            asks: ASKS_MAX,
            is_small: false,
            moves: None,
        }
    }

    /// The same plan with only its crashes.
    #[must_use]
    pub fn only_crashes(mut self) -> Self {
        self.mishaps.retain(|mishap| mishap.what == FaultKind::Crash);
        self
    }
}

impl fmt::Display for FaultPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.seed)?;
        match self.kind {
            Kind::Run => {}
            Kind::Alert => write!(f, " {ALERT}")?,
        }
        if self.is_small {
            write!(f, " {SMALL}")?;
        }
        if self.mishaps.is_empty() {
            write!(f, " {CALM}")?;
        }
        for mishap in &self.mishaps {
            write!(f, " {}+{}", mishap.what.word(), mishap.after)?;
        }
        if self.asks < ASKS_MAX {
            write!(f, " asks={}", self.asks)?;
        }
        if let Some(moves) = &self.moves {
            let moves: Vec<String> = moves.iter().map(u32::to_string).collect();
            write!(f, " moves={}", moves.join(","))?;
        }
        Ok(())
    }
}

impl FromStr for FaultPlan {
    type Err = BadSchedule;

    fn from_str(line: &str) -> Result<Self, BadSchedule> {
        let mut words = line.split_whitespace();
        let seed = words.next().unwrap_or_default();
        let seed = parse_seed(seed).ok_or_else(|| BadSchedule(seed.to_owned()))?;
        let mut schedule = Self::calm(seed);
        for word in words.filter(|word| *word != CALM) {
            let bad = || BadSchedule(word.to_owned());
            match word.split_once('=') {
                Some(("asks", asks)) => schedule.asks = asks.parse().map_err(|_| bad())?,
                Some(("moves", moves)) => schedule.moves = Some(parse_moves(moves).ok_or_else(bad)?),
                None if word == ALERT => schedule.kind = Kind::Alert,
                None if word == SMALL => schedule.is_small = true,
                Some(_) | None => schedule.mishaps.push(parse_mishap(word).ok_or_else(bad)?),
            }
        }
        Ok(schedule)
    }
}

fn parse_seed(word: &str) -> Option<u64> {
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}

/// Small gaps hit the recovery from the previous fault; large ones hit the rest of the run.
fn gap(chance: &mut Rng) -> u32 {
    if chance.one_in(2) {
        chance.below(10)
    } else {
        chance.below(90)
    }
}

fn parse_moves(list: &str) -> Option<Vec<u32>> {
    let numbers = list.split(',').filter(|number| !number.is_empty());
    numbers.map(|number| number.parse().ok()).collect()
}

fn parse_mishap(word: &str) -> Option<Fault> {
    let (name, after) = word.split_once('+')?;
    let what = FaultKind::ALL.into_iter().find(|what| what.word() == name)?;
    Some(Fault {
        what,
        after: after.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_round_trips_through_its_text_form() {
        for seed in 0..200 {
            let schedule = FaultPlan::drawn(seed);
            assert_eq!(schedule.to_string().parse(), Ok(schedule.clone()));
            let smaller = FaultPlan {
                asks: 1,
                is_small: true,
                ..schedule
            };
            assert_eq!(smaller.to_string().parse(), Ok(smaller));
            let woken = FaultPlan::drawn_alert(seed);
            assert_eq!(woken.to_string().parse(), Ok(woken.clone()));
            for moves in [vec![], vec![0, 3, 11]] {
                let smaller = FaultPlan {
                    moves: Some(moves),
                    ..woken.clone()
                };
                assert_eq!(smaller.to_string().parse(), Ok(smaller));
            }
        }
    }

    #[test]
    fn an_invalid_line_is_refused_naming_the_bad_word() {
        for (line, word) in [
            ("", ""),
            ("zero", "zero"),
            ("1 crash", "crash"),
            ("1 flood+3", "flood+3"),
            ("1 asks=some", "asks=some"),
            ("1 alert moves=1,two", "moves=1,two"),
        ] {
            assert_eq!(
                line.parse::<FaultPlan>(),
                Err(BadSchedule(word.to_owned())),
                "{line}"
            );
        }
    }
}
