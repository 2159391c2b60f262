use proptest::prelude::*;

use super::*;
use crate::key::Digest;

const SONNET: Price = Price {
    input: MicroUsd(3_000_000),
    output: MicroUsd(15_000_000),
    cached_read: MicroUsd(300_000),
    cached_write: MicroUsd(3_750_000),
};

#[test]
fn a_million_tokens_cost_what_the_table_says() {
    assert_eq!(SONNET.cost(Usage::of(1_000_000, 0)), MicroUsd(3_000_000));
    assert_eq!(SONNET.cost(Usage::of(0, 1_000_000)), MicroUsd(15_000_000));
    let cached = Usage {
        cached_read_tokens: 900_000,
        cached_write_tokens: 100_000,
        ..Usage::of(1_000_000, 0)
    };
    assert_eq!(SONNET.cost(cached), MicroUsd(270_000 + 375_000));
    assert_eq!(SONNET.cost(Usage::of(1, 0)), MicroUsd(3), "rounded up");
    assert_eq!(SONNET.cost(Usage::of(u64::MAX, u64::MAX)), REQUEST_MAX);
}

#[test]
fn missing_or_impossible_token_counts_are_settled_at_the_reservation() {
    let counts = |usage| SONNET.settled(usage, MicroUsd(77));
    assert_eq!(counts(Usage::of(1_000, 1_000)), MicroUsd(18_000));
    for odd in [
        Usage::of(0, 0),
        Usage::of(5, 0),
        Usage::of(0, 5),
        Usage::of(TOKENS_MAX, 1),
    ] {
        assert_eq!(counts(odd), MicroUsd(77), "{odd:?}");
    }
}

#[test]
fn money_is_shown_in_dollars() {
    let shown = [0, 5_000_000, 123, 1_500_000, 10_000].map(|micro| MicroUsd(micro).to_string());
    assert_eq!(shown, ["0.00", "5.00", "0.000123", "1.50", "0.01"]);
}

#[test]
fn dollars_are_parsed_as_they_are_formatted() {
    for micro in [0, 1, 10, 5_000_000, 1_234_567] {
        assert_eq!(
            MicroUsd::parse(&MicroUsd(micro).to_string()),
            Some(MicroUsd(micro))
        );
    }
    assert_eq!(MicroUsd::parse("7"), Some(MicroUsd(7_000_000)));
    for odd in [
        "",
        ".5",
        "-1",
        "1e3",
        "1.0000001",
        "5 ",
        "5,00",
        "99999999999999999999",
        "∞",
    ] {
        assert_eq!(MicroUsd::parse(odd), None, "{odd}");
    }
}

#[test]
fn a_day_ends_at_midnight_of_utc() {
    let midnight = UtcDay(20_000).begins();
    assert_eq!(UtcDay::of(midnight), UtcDay(20_000));
    assert_eq!(UtcDay::of(Millis(midnight.0 - 1)), UtcDay(19_999));
    assert_eq!(UtcDay::of(Millis(-1)), UtcDay(-1));
}

#[test]
fn the_agents_cap_is_reported_before_the_cap_of_all() {
    let caps = Caps {
        agent: Some(MicroUsd(10)),
        all: MicroUsd(10),
    };
    let nine = SpendTotal {
        settled: MicroUsd(5),
        reserved: MicroUsd(4),
    };
    let spent = DaySpend {
        agent: nine,
        all: nine,
    };
    assert_eq!(decide(UtcDay(1), caps, spent, MicroUsd(1)), Ok(()));
    let exceeded = decide(UtcDay(1), caps, spent, MicroUsd(2)).expect_err("a cap");
    assert_eq!((exceeded.scope, exceeded.needed), (BudgetScope::Agent, 2));
    assert_eq!((exceeded.used, exceeded.reserved), (9, 4));
    let lowered = Caps {
        agent: None,
        all: MicroUsd(1),
    };
    assert_eq!(
        decide(UtcDay(1), lowered, spent, MicroUsd(0)),
        Ok(()),
        "what costs nothing"
    );
    let caps = Caps { agent: None, ..caps };
    let exceeded = decide(UtcDay(1), caps, spent, MicroUsd(2)).expect_err("a cap");
    assert_eq!(exceeded.scope, BudgetScope::All);
}

#[test]
fn the_reason_names_the_request_and_only_spent_money_as_spent() {
    let exceeded = |spent: u64, reserved: u64, needed: u64| {
        let sum = SpendTotal {
            settled: MicroUsd(spent - reserved),
            reserved: MicroUsd(reserved),
        };
        BudgetExceeded::of_cap(BudgetScope::All, MicroUsd(5_000_000), sum, MicroUsd(needed)).on(UtcDay(100))
    };
    let large = exceeded(0, 0, 6_770_000);
    assert_eq!(
        large.words(),
        "this request may cost up to 6.77 USD; 0.00 of today's 5.00 USD cap is spent"
    );
    assert!(
        !large.hint().contains("wait") && large.hint().contains("cheaper model"),
        "it never fits"
    );
    let busy = BudgetExceeded {
        scope: BudgetScope::Agent,
        ..exceeded(4_500_000, 1_500_000, 1_000_000)
    };
    assert_eq!(
        busy.words(),
        "this request may cost up to 1.00 USD; 3.00 of the agent's 5.00 USD cap is spent, and 1.50 USD is \
         reserved for requests in progress"
    );
    assert!(busy.hint().contains("wait for the next day"));
}

/// Admits requests that cost 1 to 5, each at a clock reading, and returns the admitted sum per day.
fn admitted(clock: &[(i64, u64)], cap: u64) -> std::collections::BTreeMap<UtcDay, u64> {
    let caps = Caps {
        agent: None,
        all: MicroUsd(cap),
    };
    let mut sums = std::collections::BTreeMap::new();
    for (day, needed) in clock {
        let latest = sums.last_key_value().map(|(day, _)| *day);
        let day = UtcDay(*day).not_before(latest);
        let sum: &mut u64 = sums.entry(day).or_default();
        let settled = MicroUsd(*sum);
        let all = SpendTotal {
            settled,
            reserved: MicroUsd(0),
        };
        let spent = DaySpend {
            agent: SpendTotal::default(),
            all,
        };
        if decide(day, caps, spent, MicroUsd(*needed)).is_ok() {
            *sum += needed;
        }
    }
    sums
}

fn any_sum() -> impl Strategy<Value = SpendTotal> {
    (0_u64..20, 0_u64..20).prop_map(|(settled, reserved)| SpendTotal {
        settled: MicroUsd(settled),
        reserved: MicroUsd(reserved),
    })
}

proptest! {
    /// Waiting runs are preselected with `room` and admitted with `decide`, so both must agree.
    #[test]
    fn a_request_fits_exactly_when_there_is_room_for_it(
        agent in proptest::option::of(0_u64..40), all in 0_u64..40, by_agent in any_sum(), by_all in any_sum(), needed in 1_u64..50,
    ) {
        let caps = Caps { agent: agent.map(MicroUsd), all: MicroUsd(all) };
        let spent = DaySpend { agent: by_agent, all: by_all };
        let fits = decide(UtcDay(1), caps, spent, MicroUsd(needed)).is_ok();
        prop_assert_eq!(fits, MicroUsd(needed) <= room(caps, spent));
    }

    /// For any clock readings, no day exceeds its cap, and setting the clock back never admits more than
    /// leaving it alone.
    #[test]
    fn setting_the_clock_back_never_gives_more_money(
        clock in proptest::collection::vec((0_i64..6, 1_u64..6), 0..60), cap in 0_u64..20,
    ) {
        let sums = admitted(&clock, cap);
        prop_assert!(sums.values().all(|sum| *sum <= cap));
        let mut latest = i64::MIN;
        let forward: Vec<(i64, u64)> = clock.iter().map(|(day, needed)| {
            latest = latest.max(*day);
            (latest, *needed)
        }).collect();
        prop_assert_eq!(sums, admitted(&forward, cap));
    }

    /// A reservation that is too small would let a day exceed its cap.
    #[test]
    fn no_reply_within_its_bound_costs_more_than_was_reserved(
        most in 0_u64..10_000_000, input in 0_u64..4_000_000, read in 0_u64..4_000_000, write in 0_u64..4_000_000,
        output in 0_u64..100_000, room in 0_u64..100_000, web_searches in 0_u64..9, spare in 0_u64..9,
    ) {
        let input = input.min(most);
        let read = read.min(input);
        let write = write.min(input - read);
        let usage = Usage {
            cached_read_tokens: read, cached_write_tokens: write, web_searches, ..Usage::of(input, output.min(room))
        };
        let searches_max = web_searches + spare;
        let usage_max = Usage { web_searches: searches_max, ..Usage::of(most, room) };
        prop_assert!(SONNET.cost(usage) <= SONNET.most(usage_max));
    }

    /// The admitted requests stay under both caps for any sequence of requests.
    #[test]
    fn admitted_requests_never_exceed_a_cap(
        asks in proptest::collection::vec(0_u64..500, 0..50), agent in 0_u64..2_000, all in 0_u64..2_000,
    ) {
        let caps = Caps { agent: Some(MicroUsd(agent)), all: MicroUsd(all) };
        let mut spent = DaySpend::default();
        for needed in asks.into_iter().map(MicroUsd) {
            if decide(UtcDay(0), caps, spent, needed).is_ok() {
                let sum = SpendTotal { settled: spent.all.settled, reserved: spent.all.reserved.plus(needed) };
                spent = DaySpend { agent: sum, all: sum };
            }
        }
        prop_assert!(spent.agent.total().0 <= agent && spent.all.total().0 <= all);
    }
}

#[test]
fn a_search_costs_its_price_beside_the_tokens() {
    let usage = Usage::of(1_000_000, 0);
    let searched = Usage {
        web_searches: 2,
        ..usage
    };
    assert_eq!(
        SONNET.cost(searched).0,
        SONNET.cost(usage).0 + 2 * WEB_SEARCH_PRICE.0
    );
}

// Conformance: A-212
#[test]
fn a_budget_is_spent_when_no_request_can_be_sent() {
    let pool = |resource, max, settled| {
        let key = LimitKey::new(BudgetScope::Agent, "main", resource, None).expect("a limit");
        BudgetPool {
            limit: key.id(),
            scope: key.scope,
            resource,
            period: key.period,
            max,
            settled,
            reserved: 0,
            index: 0,
        }
    };
    let is_spent = |pool: BudgetPool, has_cost, waits_for| {
        let pools = [pool];
        AgentBudget {
            pools: &pools,
            has_cost,
            waits_for,
        }
        .is_spent()
    };
    for resource in [BudgetResource::Tokens, BudgetResource::RunTime] {
        assert!(is_spent(pool(resource, 10, 10), false, None), "{resource}");
        assert!(!is_spent(pool(resource, 10, 9), false, None), "{resource}");
    }
    let money = pool(BudgetResource::Money, 10, 10);
    assert!(is_spent(money, true, None));
    assert!(!is_spent(money, false, None), "a free model needs no money");
    let calls = pool(BudgetResource::ToolCalls, 0, 0);
    assert!(!is_spent(calls, true, None), "it may still answer");
    assert!(
        is_spent(calls, true, Some((Some(calls.limit), 1))),
        "its run waits for a call"
    );
    let other = LimitId(Digest::of(b"the limit of a run"));
    assert!(!is_spent(calls, true, Some((Some(other), 1))));
    let nearly = pool(BudgetResource::Money, 10, 7);
    assert!(
        is_spent(nearly, true, Some((None, 4))),
        "the next request costs four"
    );
    assert!(!is_spent(nearly, true, Some((None, 3))), "it was raised");
}
