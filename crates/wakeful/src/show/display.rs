//! The terminal at standard error while a run is shown on it.

use std::future::Future;
use std::io::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use wakeful_core::key::RunKey;

use crate::terminal::live::Live;
use crate::terminal::raw_mode::QuietInput;
use crate::terminal::screen::Ink;
use crate::terminal::{Style, width};

/// Time between two frames of the spinner. The timer runs only while a run is shown.
const TICK: Duration = Duration::from_millis(100);

/// The run on the terminal. Writes of the engine and of the command go through one lock, so that they do not
/// mix.
#[derive(Debug, Default)]
pub(super) struct Display {
    state: Mutex<DisplayState>,
    /// Held while a run is shown.
    quiet: Mutex<Option<QuietInput>>,
}

#[derive(Debug, Default)]
enum DisplayState {
    /// No run was shown, or standard error is not a terminal.
    #[default]
    Unused,
    Shown(Box<Live>),
    /// The run is not shown any more; its state tells what was shown.
    Closed(Box<Live>),
}

impl Display {
    /// Shows a run while the work continues.
    pub(super) async fn during<T>(&self, run: RunKey, work: impl Future<Output = T>) -> T {
        let Some(style) = Style::of_stderr() else {
            return work.await;
        };
        self.open(style, run);
        // Also closed when this future is dropped.
        let _shown = CloseOnDrop(self);
        *self.quiet.lock().unwrap_or_else(PoisonError::into_inner) = QuietInput::enter();
        let began = Instant::now();
        let mut ticks = tokio::time::interval(TICK);
        tokio::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                _ = ticks.tick() => {
                    self.update(|live| live.tick(began.elapsed()));
                }
            }
        }
    }

    /// Changes what is shown, and draws it. Returns false if no run is shown.
    pub(super) fn update(&self, change: impl FnOnce(&mut Live)) -> bool {
        let mut state = self.state();
        let DisplayState::Shown(live) = &mut *state else {
            return false;
        };
        live.set_width(width());
        change(live);
        write(&live.draw());
        true
    }

    /// Shows lines, whether or not a run is shown.
    pub(super) fn show(&self, lines: &[(String, Ink)]) {
        let note = |live: &mut Live| lines.iter().for_each(|(line, ink)| live.note(line, *ink));
        if !self.update(note)
            && let Some(style) = Style::of_stderr()
        {
            let mut live = Live::new(style);
            note(&mut live);
            write(&live.draw());
        }
    }

    /// Whether this text was shown completely as it was streamed.
    pub(super) fn has_shown(&self, text: &str) -> bool {
        match &*self.state() {
            DisplayState::Shown(live) | DisplayState::Closed(live) => live.has_shown(text),
            DisplayState::Unused => false,
        }
    }

    /// Shows a run. If it was shown before, it continues where it was.
    fn open(&self, style: Style, run: RunKey) {
        let mut state = self.state();
        let mut live = match std::mem::take(&mut *state) {
            DisplayState::Shown(live) | DisplayState::Closed(live) => live,
            DisplayState::Unused => Box::new(Live::new(style)),
        };
        live.follow(run);
        *state = DisplayState::Shown(live);
    }

    /// Shows runs from now on.
    pub(super) fn open_idle(&self) {
        if let Some(style) = Style::of_stderr() {
            *self.state() = DisplayState::Shown(Box::new(Live::new(style)));
        }
    }

    /// Stops showing a run and leaves the terminal in order.
    pub(super) fn close(&self) {
        drop(self.quiet.lock().unwrap_or_else(PoisonError::into_inner).take());
        self.update(Live::close);
        let mut state = self.state();
        *state = match std::mem::take(&mut *state) {
            DisplayState::Shown(live) | DisplayState::Closed(live) => DisplayState::Closed(live),
            DisplayState::Unused => DisplayState::Unused,
        };
    }

    fn state(&self) -> MutexGuard<'_, DisplayState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A terminal that cannot be written to is gone, and its run does not depend on it.
fn write(bytes: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(bytes.as_bytes());
}

struct CloseOnDrop<'a>(&'a Display);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}
