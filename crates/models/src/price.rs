//! List prices of well-known models.
//!
//! The table reflects the providers' price lists on one day and does not predict a bill: discounts,
//! batches, long prompts and taxes are not included, and lists change. A configured price takes precedence.

use wakeful_core::budget::{MicroUsd, Price, PriceBasis};

/// When the price lists were checked.
pub const AS_OF: &str = "2026-05-22";

/// A model's name in its provider's notation, and its price.
struct ListedPrice {
    model: &'static str,
    price: Price,
}

/// The price of the provider's cache, in thousandths of the input price.
#[derive(Clone, Copy)]
struct CachePrice {
    read: u64,
    write: u64,
}

const TENTH: CachePrice = CachePrice {
    read: 100,
    write: 1_000,
};
const QUARTER: CachePrice = CachePrice {
    read: 250,
    write: 1_000,
};
const HALF: CachePrice = CachePrice {
    read: 500,
    write: 1_000,
};

/// Anthropic: reading from the cache costs a tenth of the input price, writing to it a quarter more than
/// the input price.
const fn anthropic(model: &'static str, input_cents: u64, output_cents: u64) -> ListedPrice {
    let cache = CachePrice {
        read: 100,
        write: 1_250,
    };
    listed(model, input_cents, output_cents, cache)
}

/// OpenAI: reading from the cache costs a tenth of the input price, writing to it as much as the input.
const fn openai(model: &'static str, input_cents: u64, output_cents: u64) -> ListedPrice {
    listed(model, input_cents, output_cents, TENTH)
}

/// Gemini: reading from the cache costs at most a quarter of the input price.
const fn gemini(model: &'static str, input_cents: u64, output_cents: u64) -> ListedPrice {
    listed(model, input_cents, output_cents, QUARTER)
}

/// Prices are in cents per million tokens.
const fn listed(model: &'static str, input_cents: u64, output_cents: u64, cache: CachePrice) -> ListedPrice {
    let input = input_cents * 10_000;
    ListedPrice {
        model,
        price: Price {
            input: MicroUsd(input),
            output: MicroUsd(output_cents * 10_000),
            cached_read: MicroUsd(input * cache.read / 1_000),
            cached_write: MicroUsd(input * cache.write / 1_000),
        },
    }
}

/// The price table. Dots in names are written as hyphens, because gateways use both.
const TABLE: [ListedPrice; 34] = [
    anthropic("claude-opus-4-7", 500, 2_500),
    anthropic("claude-opus-4-6", 500, 2_500),
    anthropic("claude-opus-4-5", 500, 2_500),
    anthropic("claude-opus-4-1", 1_500, 7_500),
    anthropic("claude-opus-4", 1_500, 7_500),
    anthropic("claude-sonnet-4-6", 300, 1_500),
    anthropic("claude-sonnet-4-5", 300, 1_500),
    anthropic("claude-sonnet-4", 300, 1_500),
    anthropic("claude-3-7-sonnet", 300, 1_500),
    anthropic("claude-haiku-4-5", 100, 500),
    anthropic("claude-3-5-haiku", 80, 400),
    openai("gpt-5-5", 500, 3_000),
    openai("gpt-5-4", 250, 1_500),
    openai("gpt-5-4-mini", 75, 450),
    openai("gpt-5-4-nano", 20, 125),
    openai("gpt-5-3-codex", 175, 1_400),
    openai("gpt-5-2", 175, 1_400),
    openai("gpt-5-1", 125, 1_000),
    openai("gpt-5", 125, 1_000),
    openai("gpt-5-mini", 25, 200),
    openai("gpt-5-nano", 5, 40),
    // Models older than gpt-5 have more expensive caches.
    listed("gpt-4-1", 200, 800, QUARTER),
    listed("gpt-4-1-mini", 40, 160, QUARTER),
    listed("gpt-4-1-nano", 10, 40, QUARTER),
    listed("gpt-4o", 250, 1_000, HALF),
    listed("gpt-4o-mini", 15, 60, HALF),
    listed("o3", 200, 800, QUARTER),
    listed("o4-mini", 110, 440, QUARTER),
    gemini("gemini-3-1-pro", 200, 1_200),
    gemini("gemini-3-pro", 200, 1_200),
    gemini("gemini-3-flash", 50, 300),
    gemini("gemini-2-5-pro", 125, 1_000),
    gemini("gemini-2-5-flash", 30, 250),
    gemini("gemini-2-5-flash-lite", 10, 40),
];

/// Returns the listed price of a model. For an unknown model, returns the highest price of each kind,
/// marked as assumed.
#[must_use]
pub fn listed_or_assumed(model: &str) -> (Price, PriceBasis) {
    let row = TABLE.iter().find(|row| is_it(row.model, model));
    row.map_or((dearest(), PriceBasis::Assumed), |row| {
        (row.price, PriceBasis::Listed)
    })
}

/// Whether a model is the listed one. Its name may end with a date or an alias for the newest version; any
/// other suffix is a different model, which may cost ten times as much.
fn is_it(listed: &str, model: &str) -> bool {
    // A gateway puts the vendor before the name.
    let own = model.rsplit('/').next().unwrap_or(model).replace('.', "-");
    let Some(rest) = own.strip_prefix(listed) else {
        return false;
    };
    let Some(tail) = rest.strip_prefix('-') else {
        return rest.is_empty();
    };
    // `-4` after `claude-opus` would be another model: a date has at least six digits, not counting
    // hyphens.
    let digits = tail.chars().filter(char::is_ascii_digit).count();
    let is_date = digits >= 6 && tail.chars().all(|c| c.is_ascii_digit() || c == '-');
    is_date || ["latest", "preview"].contains(&tail)
}

fn dearest() -> Price {
    let most = |part: fn(&Price) -> MicroUsd| {
        let all = TABLE.iter().map(|row| part(&row.price));
        all.max().unwrap_or_default()
    };
    Price {
        input: most(|price| price.input),
        output: most(|price| price.output),
        cached_read: most(|price| price.cached_read),
        cached_write: most(|price| price.cached_write),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(model: &str) -> (u64, PriceBasis) {
        let (price, basis) = listed_or_assumed(model);
        (price.output.0, basis)
    }

    #[test]
    fn a_model_is_found_with_or_without_a_date_or_a_vendor() {
        let listed = |micro| (micro, PriceBasis::Listed);
        for name in [
            "claude-sonnet-4-5",
            "claude-sonnet-4-5-20250929",
            "anthropic/claude-sonnet-4.5",
            "claude-sonnet-4-20250514",
        ] {
            assert_eq!(of(name), listed(15_000_000), "{name}");
        }
        assert_eq!(of("gpt-5-2025-08-07"), listed(10_000_000));
        assert_eq!(of("gpt-4o-mini"), listed(600_000));
        assert_eq!(of("gemini-2.5-flash-lite"), listed(400_000));
        assert_eq!(of("gemini-3.1-pro-preview"), listed(12_000_000));
    }

    /// A model with a similar name may cost ten times as much as the listed one.
    #[test]
    fn an_unknown_model_is_assumed_to_cost_the_highest_price() {
        for name in [
            "gpt-5-pro",
            "gpt-5.9",
            "claude-opus-5",
            "o3-pro",
            "llama",
            "",
            "gpt-4o:free",
            "gpt-5-4-1",
        ] {
            assert_eq!(of(name), (75_000_000, PriceBasis::Assumed), "{name}");
        }
        let dearest = dearest();
        assert!(
            TABLE
                .iter()
                .all(|row| row.price.input <= dearest.input && row.price.output <= dearest.output)
        );
        assert!(TABLE.iter().all(|row| row.price.cached_read <= row.price.input));
    }

    #[test]
    fn no_row_shadows_another() {
        for (index, row) in TABLE.iter().enumerate() {
            let found = TABLE.iter().position(|other| is_it(other.model, row.model));
            assert_eq!(found, Some(index), "{}", row.model);
        }
    }
}
