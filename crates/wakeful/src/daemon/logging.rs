//! The daemon's log: one line on standard error for every event of Wakeful's own crates. Prompts, secrets
//! and tool output are never logged, and events of other crates are excluded, because they may contain any
//! of them.

use tracing::Dispatch;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::SubscriberExt as _;
use wakeful_ports::clock::Clock as _;

use crate::config::{LogFormat, LogLevel, LogSettings};
use crate::system::RealClock;

/// The prefix of every tracing target of Wakeful's crates.
const TARGET: &str = "wakeful";

/// Starts writing events to standard error.
pub(super) fn start(settings: LogSettings) {
    // It is already set only if one process starts several daemons, which then share the first log.
    let _set_before = tracing::dispatcher::set_global_default(dispatch(settings, std::io::stderr));
}

fn dispatch(settings: LogSettings, writer: impl for<'a> MakeWriter<'a> + Send + Sync + 'static) -> Dispatch {
    let level = match settings.level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(writer)
        .with_timer(LogTime)
        .with_target(false)
        // A failure to write the log must not stop the daemon.
        .log_internal_errors(false);
    let lines = match settings.format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .with_span_list(false)
            .boxed(),
    };
    let filter = Targets::new().with_target(TARGET, level);
    Dispatch::new(tracing_subscriber::registry().with(lines.with_filter(filter)))
}

/// Formats the time of an event as in the rest of Wakeful.
struct LogTime;

impl FormatTime for LogTime {
    fn format_time(&self, writer: &mut Writer<'_>) -> std::fmt::Result {
        write!(writer, "{}", RealClock::new().now().rfc3339())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

    use super::*;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    struct Guarded<'a>(MutexGuard<'a, Vec<u8>>);

    impl Write for Guarded<'_> {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Written {
        type Writer = Guarded<'a>;

        fn make_writer(&'a self) -> Guarded<'a> {
            Guarded(self.0.lock().unwrap_or_else(PoisonError::into_inner))
        }
    }

    /// The log output of three events of different levels and one event of another crate.
    fn written(level: LogLevel, format: LogFormat) -> String {
        let written = Written::default();
        let dispatch = dispatch(LogSettings { level, format }, written.clone());
        tracing::dispatcher::with_default(&dispatch, || {
            tracing::warn!(run = %"ab12", "the run is late");
            tracing::info!("the daemon is ready");
            tracing::debug!("the daemon looked");
            tracing::error!(target: "hyper", "authorization: sk-very-secret");
        });
        let bytes = written.0.lock().expect("a lock").clone();
        String::from_utf8(bytes).expect("UTF-8")
    }

    #[test]
    fn the_log_has_messages_from_its_level_up_and_no_other_crates() {
        for (level, lines) in [
            (LogLevel::Error, 0),
            (LogLevel::Warn, 1),
            (LogLevel::Info, 2),
            (LogLevel::Debug, 3),
        ] {
            let text = written(level, LogFormat::Text);
            assert_eq!(text.lines().count(), lines, "{level:?}: {text}");
            assert!(!text.contains("very-secret"), "{text}");
        }
    }

    #[test]
    fn the_log_is_text_or_one_json_object_per_line() {
        let text = written(LogLevel::Warn, LogFormat::Text);
        assert!(text.contains(" WARN the run is late run=ab12"), "{text}");
        let json = written(LogLevel::Info, LogFormat::Json);
        let lines = json.lines().map(serde_json::from_str);
        let lines: Vec<serde_json::Value> = lines.collect::<Result<_, _>>().expect("JSON");
        assert_eq!(lines.len(), 2);
        assert_eq!(
            (&lines[0]["level"], &lines[0]["message"], &lines[0]["run"]),
            (&"WARN".into(), &"the run is late".into(), &"ab12".into())
        );
        assert!(lines[0]["timestamp"].is_string(), "{json}");
    }
}
