//! `wakeful events` and `wakeful tail`: show past events from the log, and follow new ones.

use clap::Args;
use wakeful_api::client::{Client, Stream};
use wakeful_api::{
    Delta, Event, GetAgentStatus, LIMIT_MAX, Limit, ListAgentEvents, ListAgents, ListEvents, Text,
};
use wakeful_core::id::AgentId;
use wakeful_core::report::payload::Payload;
use wakeful_core::report::present::{DisplayMode, present};

use super::GlobalArgs;
use crate::backend::{Backend, read};
use crate::discover::{HomeHolder, ReconnectTimer, daemon_gone, home_holder};
use crate::failure::Failure;
use crate::show::Out;
use crate::signals::Signals;

/// Events shown by default.
const EVENTS_DEFAULT: u32 = 100;

/// Newest events that `tail` starts with by default.
const TAIL_DEFAULT: u32 = 20;

/// Maximum number of events per request.
const PAGE_MAX: i64 = 500;

#[derive(Debug, Args)]
pub(crate) struct EventsArgs {
    /// Agent name
    agent: String,
    /// Show only events after this sequence number
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    after_seq: u64,
    /// Maximum number of events to show
    #[arg(long, value_name = "N", default_value_t = EVENTS_DEFAULT, value_parser = clap::value_parser!(u32).range(1..=PAGE_MAX))]
    limit: u32,
    /// Level of detail: info, verbose or debug
    #[arg(long, value_name = "MODE", default_value = "debug")]
    display: String,
}

#[derive(Debug, Args)]
pub(crate) struct TailArgs {
    /// Agent name [default: all agents]
    agent: Option<String>,
    /// Number of past events to start with
    #[arg(short = 'n', long, value_name = "N", default_value_t = TAIL_DEFAULT, value_parser = clap::value_parser!(u32).range(1..=PAGE_MAX))]
    limit: u32,
    /// Show past events and exit
    #[arg(long)]
    no_follow: bool,
    /// Level of detail: info, verbose or debug
    #[arg(long, value_name = "MODE", default_value = "verbose")]
    display: String,
}

pub(crate) async fn events(args: &EventsArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let (agent, display) = (AgentId::parse(&args.agent)?, mode(&args.display)?);
    let asked = events_after(agent, Some(args.after_seq), args.limit);
    let page = read(shared, async |backend| backend.call(asked).await).await?;
    page.events.iter().for_each(|event| show(event, display, out));
    if page.has_more {
        out.note(&format!(
            "more events are available: --after-seq {}",
            page.next_after_seq
        ));
    }
    Ok(0)
}

pub(crate) async fn tail(args: &TailArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let agent = args.agent.as_deref().map(AgentId::parse).transpose()?;
    let display = mode(&args.display)?;
    let place = read(shared, async |backend| {
        let (events, place) = newest(backend, agent.as_ref(), args.limit).await?;
        events.iter().for_each(|event| show(event, display, out));
        Ok(place)
    });
    let place = place.await?;
    if args.no_follow {
        return Ok(0);
    }
    let who = home_holder(shared).await?;
    if let Some(absence) = who.absence_message() {
        out.note(&format!("{absence}, so there are no new events to follow"));
    }
    match who {
        HomeHolder::Daemon(client) => {
            let tail = Tail { shared, display, out };
            tail.follow(client, place).await
        }
        HomeHolder::None | HomeHolder::Other(_) => Ok(0),
    }
}

/// The position of a stream, from which it can be resumed.
struct StreamPosition {
    /// `None` means all agents.
    agent: Option<AgentId>,
    after: String,
}

pub(super) fn events_after(agent: AgentId, after_seq: Option<u64>, limit: u32) -> ListAgentEvents {
    ListAgentEvents {
        agent_id: Text(agent),
        after_seq,
        before_seq: None,
        ticket: None,
        limit: Limit(limit),
    }
}

/// Reads the newest events and the position after them.
async fn newest(
    backend: &Backend,
    agent: Option<&AgentId>,
    limit: u32,
) -> Result<(Vec<Event>, StreamPosition), Failure> {
    if let Some(agent) = agent {
        let agent_id = Text(agent.clone());
        let last = backend.call(GetAgentStatus { agent_id }).await?.last_seq;
        let after = last.saturating_sub(u64::from(limit));
        let events = backend
            .call(events_after(agent.clone(), Some(after), limit))
            .await?
            .events;
        let after = events.last().map_or(last, |event| event.seq).to_string();
        let agent = Some(agent.clone());
        return Ok((events, StreamPosition { agent, after }));
    }
    let agent = None;
    if backend.is_daemon() {
        let newest = ListEvents {
            limit: Limit(limit),
            ..ListEvents::default()
        };
        let feed = backend.call(newest).await?;
        let after = feed.cursor;
        return Ok((feed.events, StreamPosition { agent, after }));
    }
    let mut events = Vec::new();
    for agent in backend
        .call(ListAgents {
            include_private: false,
        })
        .await?
        .agents
    {
        let after = agent.last_seq.saturating_sub(u64::from(limit));
        let asked = events_after(AgentId::parse(&agent.agent_id)?, Some(after), limit);
        events.extend(backend.call(asked).await?.events);
    }
    events.sort_by(|one, other| {
        (&one.at, &one.agent_id, one.seq).cmp(&(&other.at, &other.agent_id, other.seq))
    });
    let surplus = events
        .len()
        .saturating_sub(usize::try_from(limit).unwrap_or(usize::MAX));
    events.drain(..surplus);
    let after = String::new();
    Ok((events, StreamPosition { agent, after }))
}

/// How events are followed and shown.
struct Tail<'a> {
    shared: &'a GlobalArgs,
    display: DisplayMode,
    out: &'a Out,
}

impl Tail<'_> {
    /// Shows events until the user interrupts.
    async fn follow(&self, client: Client, place: StreamPosition) -> Result<u8, Failure> {
        let mut signals = Signals::listen()?;
        let halt = signals.halt();
        let done = signals.during(
            async {
                tokio::select! {
                    biased;
                    () = halt.wait_until_set() => Ok(0),
                    failed = self.through_restarts(client, place) => failed,
                }
            },
            self.out,
        );
        done.await
    }

    /// Follows events without end. A broken stream is resumed at its position, from the new daemon if the
    /// first one was restarted.
    async fn through_restarts(&self, client: Client, place: StreamPosition) -> Result<u8, Failure> {
        let (mut client, mut place) = (client, place);
        let mut patience = ReconnectTimer::new(self.shared, self.out);
        loop {
            let listened = self.listen(&client, &mut place, &mut patience).await;
            let Some(back) = patience.wait(listened.err()).await? else {
                let hint = "run `wakeful daemon start`, then `wakeful tail` again".to_owned();
                return Err(daemon_gone("no further events will arrive", hint));
            };
            client = back;
        }
    }

    /// Shows one stream until it ends.
    async fn listen(
        &self,
        client: &Client,
        place: &mut StreamPosition,
        patience: &mut ReconnectTimer<'_>,
    ) -> Result<(), Failure> {
        let after = Some(place.after.as_str());
        let mut stream = match &place.agent {
            Some(agent) => {
                client
                    .follow(&events_after(agent.clone(), None, LIMIT_MAX), after)
                    .await?
            }
            None => client.follow(&ListEvents::default(), after).await?,
        };
        patience.reset();
        while let Some(after) = next(&mut stream, self.display, self.out).await? {
            if let Some(after) = after {
                place.after = after;
            }
        }
        Ok(())
    }
}

/// Shows the next frame. Returns the position after it, if the frame has one; `None` at the end of the
/// stream.
async fn next(
    stream: &mut Stream,
    display: DisplayMode,
    out: &Out,
) -> Result<Option<Option<String>>, Failure> {
    let Some(frame) = stream.next().await? else {
        return Ok(None);
    };
    match frame.event.as_str() {
        "event" => {
            if let Ok(event) = serde_json::from_str::<Event>(frame.text()) {
                show(&event, display, out);
            }
        }
        "delta" if display == DisplayMode::Debug => {
            if let Ok(delta) = serde_json::from_str::<Delta>(frame.text()) {
                out.answer(
                    &delta,
                    &format!("{:<16}  … {}", delta.agent_id, delta.text.trim_end()),
                );
            }
        }
        _ => {}
    }
    Ok(Some(frame.id))
}

fn show(event: &Event, display: DisplayMode, out: &Out) {
    if !display.shows(&present(
        &event.kind,
        Payload::read(&event.kind, &event.payload).as_ref(),
    )) {
        return;
    }
    // Only the time of day is shown, to keep the line short; the JSON output has the date.
    let time = event.at.get(11..19).unwrap_or(&event.at);
    let words = format!(
        "{time}  {:<16}  #{:<6} {}",
        event.agent_id, event.seq, event.presentation.summary
    );
    out.answer(event, &words);
}

fn mode(text: &str) -> Result<DisplayMode, Failure> {
    DisplayMode::parse(text).ok_or_else(|| {
        let message = format!("--display: invalid level of detail {text:?}");
        Failure::usage("bad_display", message, "use info, verbose or debug (or 3, 4, 5)")
    })
}
