use proptest::prelude::*;

use super::*;

const DAY_MS: i64 = 86_400_000;

fn pool(resource: BudgetResource, max: u64) -> BudgetPool {
    BudgetPool {
        limit: LimitId(Digest::ZERO),
        scope: BudgetScope::Agent,
        resource,
        period: BudgetPeriod::Lifetime,
        max,
        settled: 0,
        reserved: 0,
        index: 0,
    }
}

fn at(text: &str) -> Millis {
    Millis::parse_rfc3339(text).expect("a time")
}

// Conformance: A-21, A-180
#[test]
fn each_period_ends_at_its_boundary_in_utc() {
    let cases = [
        (
            BudgetPeriod::Daily,
            "2026-02-28T23:59:59.999Z",
            Some("2026-03-01T00:00:00Z"),
        ),
        (
            BudgetPeriod::Daily,
            "2026-03-01T00:00:00Z",
            Some("2026-03-02T00:00:00Z"),
        ),
        (
            BudgetPeriod::Monthly,
            "2024-02-29T23:59:59.999Z",
            Some("2024-03-01T00:00:00Z"),
        ),
        (
            BudgetPeriod::Monthly,
            "2026-12-31T12:00:00Z",
            Some("2027-01-01T00:00:00Z"),
        ),
        (
            BudgetPeriod::Yearly,
            "2026-12-31T23:59:59.999Z",
            Some("2027-01-01T00:00:00Z"),
        ),
        (
            BudgetPeriod::Yearly,
            "1969-07-01T00:00:00Z",
            Some("1970-01-01T00:00:00Z"),
        ),
        (BudgetPeriod::Lifetime, "2026-01-01T00:00:00Z", None),
    ];
    for (period, now, end) in cases {
        let index = period.index(at(now));
        assert_eq!(period.ends(index), end.map(at), "{period} {now}");
        assert!(period.begins(index).is_none_or(|begin| begin <= at(now)));
    }
}

// Conformance: A-21
#[test]
fn a_period_is_one_of_four_words() {
    let words = ["daily", "monthly", "yearly", "lifetime"];
    assert_eq!(BudgetPeriod::WORDS, words);
    for word in words {
        let period: BudgetPeriod = serde_json::from_value(word.into()).expect("a period");
        assert_eq!(serde_json::to_value(period).expect("json"), word);
    }
    assert!(serde_json::from_value::<BudgetPeriod>("weekly".into()).is_err());
}

// Conformance: A-182
#[test]
fn an_invalid_limit_names_its_field() {
    let field = |scope, subject, period| {
        let key = LimitKey::new(scope, subject, BudgetResource::Tokens, period);
        key.map_err(InvalidLimit::field).map(|key| key.period)
    };
    use {BudgetPeriod as Period, BudgetScope as Scope};
    assert_eq!(field(Scope::Agent, "a", None), Ok(Period::Daily));
    assert_eq!(field(Scope::Agent, "a", Some(Period::Yearly)), Ok(Period::Yearly));
    assert_eq!(field(Scope::Run, "r", None), Ok(Period::Lifetime));
    assert_eq!(field(Scope::Run, "r", Some(Period::Daily)), Err("period"));
    assert_eq!(field(Scope::Session, "s", Some(Period::Monthly)), Err("period"));
    assert_eq!(field(Scope::All, "a", None), Err("scope"));
    assert_eq!(field(Scope::Tree, "", None), Err("scope"));
}

// Conformance: A-182
#[test]
fn only_amounts_within_the_bounds_are_parsed() {
    use BudgetResource::{Money, RunTime, Tokens, ToolCalls, WrittenBytes};
    for (resource, text, amount) in [
        (Money, "2.50", 2_500_000),
        (Tokens, "0", 0),
        (ToolCalls, "1000000000000", COUNT_MAX),
        (RunTime, "90s", 90_000),
        (RunTime, "15m", 900_000),
        (RunTime, "7", 7_000),
        (RunTime, "1500ms", 1_500),
        (WrittenBytes, "2GiB", 2 << 30),
        (WrittenBytes, "17", 17),
    ] {
        assert_eq!(resource.parse_amount(text), Some(amount), "{resource} {text}");
        assert_eq!(resource.parse_amount(&resource.amount(amount)), Some(amount));
    }
    for (resource, text) in [
        (Money, "-1"),
        (Tokens, "-1"),
        (Tokens, "1.5"),
        (Tokens, "1000000000001"),
        (Tokens, "99999999999999999999999"),
        (RunTime, "h"),
        (RunTime, "9999999999d"),
        (WrittenBytes, "2 GiB"),
        (WrittenBytes, ""),
        (Money, "1000000.000001"),
    ] {
        assert_eq!(resource.parse_amount(text), None, "{resource} {text}");
    }
}

// Conformance: A-181
#[test]
fn a_reservation_fits_every_pool_or_none() {
    let tree = pool(BudgetResource::Tokens, 100);
    let own = BudgetPool { max: 30, ..tree };
    let demand = |amount| [Demand::exactly(BudgetResource::Tokens, amount)];
    assert!(check(&[tree, own], &demand(30)).is_ok());
    let exceeded = check(&[tree, own], &demand(31)).expect_err("over its own cap");
    assert_eq!((exceeded.max, exceeded.needed), (30, 31));
    let used = BudgetPool { settled: 90, ..tree };
    let exceeded = check(&[used, own], &demand(11)).expect_err("over the tree's limit");
    assert_eq!(exceeded.max, 100);
}

#[test]
fn a_demand_that_can_be_reduced_gets_what_is_left() {
    let time = BudgetPool {
        settled: 55_000,
        ..pool(BudgetResource::RunTime, 60_000)
    };
    let demand = |least| Demand {
        resource: BudgetResource::RunTime,
        least,
        most: 900_000,
    };
    let [grant] = check(&[time], &[demand(1_000)]).expect("five seconds are left")[..] else {
        panic!("one grant");
    };
    assert_eq!((grant.amount, grant.limited_by.used), (5_000, 60_000));
    assert!(check(&[time], &[demand(5_001)]).is_err());
}

#[test]
fn a_limit_of_zero_admits_only_what_is_free() {
    let none = pool(BudgetResource::Money, 0);
    assert!(check(&[none], &[Demand::exactly(BudgetResource::Money, 0)]).is_ok());
    let lowered = BudgetPool { settled: 9, ..none };
    assert!(check(&[lowered], &[Demand::exactly(BudgetResource::Money, 0)]).is_ok());
    assert!(check(&[none], &[Demand::exactly(BudgetResource::Money, 1)]).is_err());
}

#[test]
fn the_reason_names_the_limit_its_use_and_the_command() {
    let exceeded = BudgetPool {
        period: BudgetPeriod::Monthly,
        settled: 9_000,
        reserved: 500,
        index: BudgetPeriod::Monthly.index(at("2026-11-19T00:00:00Z")),
        ..pool(BudgetResource::Tokens, 10_000)
    }
    .exceeded(4_500);
    assert_eq!(
        exceeded.words(),
        "the limit of 10000 tokens per month for the agent does not cover the next step: 9000 used, 500 reserved for \
         work in progress, 4500 needed"
    );
    assert_eq!(
        exceeded.hint(),
        "raise the limit with `wakeful budget set 20000 --limit 000000000000`, or wait until 2026-12-01T00:00:00.000Z"
    );
    let never = BudgetExceeded {
        until: None,
        ..exceeded
    };
    assert!(!never.hint().contains("wait"), "{}", never.hint());
}

#[test]
fn a_forecast_continues_the_average_rate() {
    let (begin, now) = (at("2026-11-01T00:00:00Z"), at("2026-11-11T00:00:00Z"));
    let month = BudgetPool {
        period: BudgetPeriod::Monthly,
        index: BudgetPeriod::Monthly.index(now),
        settled: 50,
        ..pool(BudgetResource::Tokens, 100)
    };
    assert_eq!(forecast(&month, begin, now), Some(at("2026-11-21T00:00:00Z")));
    let slow = BudgetPool { settled: 10, ..month };
    assert_eq!(forecast(&slow, begin, now), None, "the month ends before");
    assert_eq!(forecast(&BudgetPool { settled: 0, ..month }, begin, now), None);
    assert_eq!(
        forecast(
            &BudgetPool {
                settled: 100,
                ..month
            },
            begin,
            now
        ),
        Some(now)
    );
    let late = at("2026-11-10T00:00:00Z");
    assert_eq!(
        forecast(&month, late, now),
        Some(at("2026-11-12T00:00:00Z")),
        "counted for one day"
    );
}

/// What may happen to a pool: the clock is read, and something is reserved or settled.
#[derive(Debug, Clone)]
enum Happening {
    Reserve(u64, u64),
    Settle(usize, Option<u64>),
    Crash(usize),
}

fn happening() -> impl Strategy<Value = (i64, Happening)> {
    let happening = prop_oneof![
        (0_u64..20, 0_u64..20).prop_map(|(least, more)| Happening::Reserve(least, least + more)),
        (any::<usize>(), 0_u64..20).prop_map(|(which, used)| Happening::Settle(which, Some(used))),
        any::<usize>().prop_map(Happening::Crash),
    ];
    (0_i64..5, happening)
}

proptest! {
    /// For any clock readings, reservations, settlements and crashes, no pool is ever overdrawn within a period,
    /// and what is reserved is the sum of the open reservations.
    #[test]
    fn no_pool_is_overdrawn_and_no_reservation_leaks(
        happenings in proptest::collection::vec(happening(), 0..80), wide in 0_u64..60, narrow in 0_u64..60,
    ) {
        let start = BudgetPool { period: BudgetPeriod::Daily, ..pool(BudgetResource::Tokens, wide) };
        let mut pools = [start, BudgetPool { max: narrow, period: BudgetPeriod::Lifetime, ..start }];
        let mut open: Vec<u64> = Vec::new();
        for (day, happening) in happenings {
            pools = pools.map(|pool| pool.at(Millis(day * DAY_MS)));
            match happening {
                Happening::Reserve(least, most) => {
                    let demand = Demand { resource: BudgetResource::Tokens, least, most };
                    if let Ok(grants) = check(&pools, &[demand]) {
                        reserve_all(&mut pools, &grants);
                        open.extend(grants.iter().map(|grant| grant.amount));
                    }
                }
                Happening::Settle(which, used) if !open.is_empty() => {
                    let reserved = open.swap_remove(which % open.len());
                    let used = used.map(|used| used.min(reserved));
                    pools.iter_mut().for_each(|pool| pool.settle(reserved, used));
                }
                Happening::Crash(which) if !open.is_empty() => {
                    let reserved = open.swap_remove(which % open.len());
                    pools.iter_mut().for_each(|pool| pool.settle(reserved, None));
                }
                Happening::Settle(..) | Happening::Crash(_) => {}
            }
            for pool in &pools {
                prop_assert!(pool.used() <= pool.max, "{pool:?}");
                prop_assert_eq!(pool.reserved, open.iter().sum::<u64>());
            }
        }
    }

    /// Setting the clock back never makes budget available: the pool stays in its latest period.
    #[test]
    fn setting_the_clock_back_never_gives_more_room(
        days in proptest::collection::vec(0_i64..800, 1..30), used in 1_u64..100, which in 0_usize..4,
    ) {
        let period = BudgetPeriod::ALL[which];
        let mut pool = BudgetPool { period, index: i64::MIN, ..pool(BudgetResource::Tokens, 100) };
        let mut latest = i64::MIN;
        for day in days {
            let index = period.index(Millis(day * DAY_MS));
            let before = pool;
            pool = pool.at(Millis(day * DAY_MS));
            if index <= latest {
                prop_assert_eq!(pool, before);
            }
            latest = latest.max(index);
            prop_assert_eq!(pool.index, latest);
            pool.settle(0, Some(used.min(pool.room())));
        }
    }

    /// Reserving one after another gives the same as reserving as long as it fits.
    #[test]
    fn checking_several_demands_stops_at_the_first_that_does_not_fit(
        wanted in proptest::collection::vec(0_u64..20, 0..12), max in 0_u64..60,
    ) {
        let mut pools = [pool(BudgetResource::ToolCalls, max)];
        let demands: Vec<Vec<Demand>> =
            wanted.iter().map(|amount| vec![Demand::exactly(BudgetResource::ToolCalls, *amount)]).collect();
        let (granted, exceeded) = check_each(&mut pools, &demands);
        let fitting = wanted.iter().scan(0, |sum, amount| {
            *sum += amount;
            (*amount == 0 || *sum <= max).then_some(())
        }).count();
        prop_assert_eq!(granted.len(), fitting);
        prop_assert_eq!(exceeded.is_some(), fitting < wanted.len());
        prop_assert_eq!(pools[0].reserved, wanted.iter().take(fitting).sum::<u64>());
    }
}
