//! Measures the delay of streamed text through the daemon: from the provider's write to the read of a
//! client on the daemon's event stream.

use anyhow::Result;

use super::fake::{Fake, PACED_TOKENS};
use crate::Setting;
use crate::measure::{Measure, Target, median, ms, p95};
use crate::serve::daemon::{AGENT, Daemon, furnished};
use crate::serve::stream::ping_pong_ms;

pub(crate) const NAME: &str = "first_token_forwarded_p95_ms";

pub(crate) fn take(setting: &Setting) -> Result<Vec<Measure>> {
    let fake = Fake::start()?;
    let site = furnished(setting, "forward")?.asking("openai/m".to_owned(), variables(&fake, "paced"));
    let daemon = Daemon::start(setting, &site)?;
    daemon.make_agent(&site, AGENT)?;
    let mut events = daemon.follow(AGENT)?;
    let (mut first, mut later) = (Vec::new(), Vec::new());
    let messages = setting.effort.pick(20, 200);
    for number in 0..messages {
        daemon.line()?.ask(&daemon.message(AGENT, number))?;
        let seen = events.times_of("event: delta", PACED_TOKENS)?;
        let written = fake.seen().tokens;
        let late = seen.iter().zip(&written);
        let mut late = late.map(|(seen, written)| ms(seen.saturating_duration_since(*written)));
        first.extend(late.next());
        later.extend(late);
    }
    daemon.end()?;
    let bare = ping_pong_ms(messages)?;
    let measure = Measure::p95(NAME, "ms", &first, Target::AtMost(2.0));
    Ok(vec![
        measure
            .beside_p95("a byte there and back over loopback, at a slow pace", &bare)
            .with("first_token_median_ms", median(&first))
            .with("later_tokens_median_ms", median(&later))
            .with("later_tokens_p95_ms", p95(&later)),
    ])
}

/// The environment variables for using the fake provider under the name `openai`.
pub(super) fn variables(fake: &Fake, manner: &str) -> Vec<(&'static str, String)> {
    vec![
        ("OPENAI_API_KEY", "no-key-but-as-long-as-one".to_owned()),
        ("OPENAI_BASE_URL", fake.url(manner, "openai")),
    ]
}
