//! What a simulation is made from: a seed, and a list of mishaps.
//!
//! Written as one line, `0x2a crash+12 sleep+3`, which is what a failure prints, what `seeds.txt` keeps and what
//! can be given back to replay it.

use std::fmt;
use std::str::FromStr;

use crate::rng::Rng;

/// Most mishaps of a schedule that is drawn. Deaths during the recovery from a death need two; six make a bad day.
const MISHAPS_MAX: u32 = 6;

/// Most things that any seed asks for.
pub const ASKS_MAX: u32 = 2;

/// The word for no mishap at all.
const CALM: &str = "calm";

/// The word for the world that is woken.
const ALERT: &str = "alert";

/// The word for a world in which less is asked and done.
const SMALL: &str = "small";

/// One seed in so many is played as a world that is woken, where nobody says which.
const ALERT_ONE_IN: u32 = 3;

/// One of the others in so many is as large as worlds are: many small ones find more in the same time.
const LARGE_ONE_IN: u32 = 5;

/// Which world a seed makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Processes that answer what people ask, one run after another.
    Run,
    /// A daemon that is woken by changes, moments, calls from outside, people and other agents.
    Alert,
}

/// A seed and its mishaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultPlan {
    /// Which world it makes.
    pub kind: Kind,
    /// Fixes everything but the mishaps.
    pub seed: u64,
    /// What goes wrong, in order.
    pub mishaps: Vec<Fault>,
    /// Most things that are asked for, where the seed has more.
    pub asks: u32,
    /// Whether less is asked and done than the seed has.
    pub is_small: bool,
    /// The moves of the seed that are played, where not all of them are.
    pub moves: Option<Vec<u32>>,
}

/// One thing that goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// What it is.
    pub what: FaultKind,
    /// How many passages through ports lie between the mishap before it and this one.
    pub after: u32,
}

/// What may go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// The process dies: nothing of it runs again.
    Crash,
    /// The process sleeps while another takes over, and then goes on as if nothing had happened.
    Sleep,
    /// The store fails, before or after a call took effect, once or for a while.
    StoreFails,
    /// The process is asked to come to a stop, as by a service manager.
    Halt,
    /// Somebody asks for the end of the run.
    Cancel,
    /// Somebody answers a question, well or badly; where none is open, as soon as one is.
    Answer,
    /// Somebody sets a brake.
    Brake,
    /// Somebody releases all brakes.
    Release,
    /// The stored state of the run rots.
    Poison,
    /// Every process dies soon after it took up the run, until somebody moves it aside.
    Loop,
    /// The wall clock is set, forward or back, up to ten years. In a world that is woken.
    Jump,
}

impl FaultKind {
    /// All of them.
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

    /// The word in a line.
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

/// A line that is no schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadSchedule(String);

impl fmt::Display for BadSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is no seed and no mishap; a line reads `0x2a crash+12 sleep+3`",
            self.0
        )
    }
}

impl std::error::Error for BadSchedule {}

impl FaultPlan {
    /// The schedule that belongs to a seed: its mishaps are drawn from it as well.
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

    /// The schedule that belongs to a seed in a world that is woken.
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

    /// The schedule that belongs to a seed where nobody says in which world.
    #[must_use]
    pub fn any(seed: u64) -> Self {
        match Rng::at(seed, "kind").one_in(ALERT_ONE_IN) {
            true => Self::drawn_alert(seed),
            false => Self::drawn_of_any_size(seed),
        }
    }

    /// The schedule that belongs to a seed, in a world that is mostly small.
    #[must_use]
    pub fn drawn_of_any_size(seed: u64) -> Self {
        Self {
            is_small: !Rng::at(seed, "size").one_in(LARGE_ONE_IN),
            ..Self::drawn(seed)
        }
    }

    /// Whether a move of the seed is played.
    #[must_use]
    pub fn has_move(&self, number: u32) -> bool {
        self.moves.as_ref().is_none_or(|kept| kept.contains(&number))
    }

    /// A seed without mishaps.
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

    /// The same seed with only its crashes.
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

/// Small gaps hit the recovery from the mishap before; large ones the rest of the run.
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
    fn a_schedule_is_read_back_as_it_was_written() {
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
    fn a_line_that_says_something_else_is_refused_by_its_word() {
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
