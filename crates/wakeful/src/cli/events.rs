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

/// Pages that are searched for events of the requested level of detail.
const PAGES_SEARCHED_MAX: usize = 20;

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
        let wanted = Newest {
            limit: usize::try_from(args.limit).unwrap_or(usize::MAX),
            display,
        };
        let (events, place) = wanted.read(backend, agent.as_ref()).await?;
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

/// The newest events of a level of detail.
#[derive(Debug, Clone, Copy)]
struct Newest {
    /// The number of shown events; events of other levels do not count.
    limit: usize,
    display: DisplayMode,
}

impl Newest {
    /// Reads the newest events and the position after them.
    async fn read(
        self,
        backend: &Backend,
        agent: Option<&AgentId>,
    ) -> Result<(Vec<Event>, StreamPosition), Failure> {
        if let Some(agent) = agent {
            let agent_id = Text(agent.clone());
            let last = backend.call(GetAgentStatus { agent_id }).await?.last_seq;
            let events = self.of_agent(backend, agent, last).await?;
            let (agent, after) = (Some(agent.clone()), last.to_string());
            return Ok((events, StreamPosition { agent, after }));
        }
        let agent = None;
        if backend.is_daemon() {
            // The feed has no earlier pages, so one page of the largest size is searched.
            let newest = ListEvents {
                limit: Limit(LIMIT_MAX),
                ..ListEvents::default()
            };
            let feed = backend.call(newest).await?;
            let after = feed.cursor;
            return Ok((self.last_of(feed.events), StreamPosition { agent, after }));
        }
        let listed = ListAgents {
            include_private: false,
        };
        let mut events = Vec::new();
        for agent in backend.call(listed).await?.agents {
            let id = AgentId::parse(&agent.agent_id)?;
            events.extend(self.of_agent(backend, &id, agent.last_seq).await?);
        }
        events.sort_by(|one, other| {
            (&one.at, &one.agent_id, one.seq).cmp(&(&other.at, &other.agent_id, other.seq))
        });
        let after = String::new();
        Ok((self.last_of(events), StreamPosition { agent, after }))
    }

    /// Reads pages of an agent's events backwards until enough of them are shown.
    async fn of_agent(self, backend: &Backend, agent: &AgentId, last: u64) -> Result<Vec<Event>, Failure> {
        let mut shown: Vec<Event> = Vec::new();
        let mut before = last.saturating_add(1);
        for _ in 0..PAGES_SEARCHED_MAX {
            let page = ListAgentEvents {
                before_seq: Some(before),
                ..events_after(agent.clone(), None, LIMIT_MAX)
            };
            let page = backend.call(page).await?.events;
            let Some(first) = page.first() else { break };
            before = first.seq;
            let earlier = page.into_iter().filter(|event| is_shown(event, self.display));
            shown.splice(..0, earlier);
            if shown.len() >= self.limit || before <= 1 {
                break;
            }
        }
        Ok(self.last_of(shown))
    }

    /// The last shown ones of these events.
    fn last_of(self, mut events: Vec<Event>) -> Vec<Event> {
        events.retain(|event| is_shown(event, self.display));
        let surplus = events.len().saturating_sub(self.limit);
        events.drain(..surplus);
        events
    }
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

fn is_shown(event: &Event, display: DisplayMode) -> bool {
    let payload = Payload::read(&event.kind, &event.payload);
    display.shows(&present(&event.kind, payload.as_ref()))
}

fn show(event: &Event, display: DisplayMode, out: &Out) {
    if !is_shown(event, display) {
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
