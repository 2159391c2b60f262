//! Ctrl-C and SIGTERM while a run is driven: the first signal requests a stop at a safe point, the second
//! exits at once.

use std::future::Future;
use std::sync::Arc;

use tokio::signal::unix::{Signal, SignalKind, signal};
use wakeful_runtime::{Halt, HaltSwitch};

use crate::failure::Failure;
use crate::show::Out;

/// The exit status of a process that a signal ended is this plus the signal number.
const SIGNALLED: u8 = 128;

const INTERRUPT: u8 = 2;
const TERMINATE: u8 = 15;

/// Listens from its creation; before that, a signal ends the process as usual.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    switch: Arc<HaltSwitch>,
    halt: Halt,
    /// The exit status of the first signal received.
    came: Option<u8>,
    /// Whether the run is driven by another process, so that a signal only ends the watching.
    is_watcher: bool,
}

impl Signals {
    pub(crate) fn listen() -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| {
                Failure::io(
                    "signal_setup_failed",
                    "cannot listen for signals",
                    &error,
                    "try again",
                )
            })
        };
        let (switch, halt) = Halt::new();
        let (interrupt, terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
        Ok(Self {
            interrupt,
            terminate,
            switch: Arc::new(switch),
            halt,
            came: None,
            is_watcher: false,
        })
    }

    /// For a command that only watches a run: its caller reports where the run continues.
    pub(crate) fn of_watcher(self) -> Self {
        Self {
            is_watcher: true,
            ..self
        }
    }

    /// The stop signal for the engine.
    pub(crate) fn halt(&self) -> Halt {
        self.halt.clone()
    }

    /// The switch with which other code requests a stop.
    pub(crate) fn switch(&self) -> Arc<HaltSwitch> {
        Arc::clone(&self.switch)
    }

    /// The exit status for a run that a signal has stopped.
    pub(crate) fn exit(&self) -> u8 {
        self.came.unwrap_or(SIGNALLED + INTERRUPT)
    }

    /// Runs a future while listening for signals.
    pub(crate) async fn during<T>(&mut self, work: impl Future<Output = T>, out: &Out) -> T {
        tokio::pin!(work);
        loop {
            let number = tokio::select! {
                biased;
                done = &mut work => return done,
                _ = self.interrupt.recv() => INTERRUPT,
                _ = self.terminate.recv() => TERMINATE,
            };
            let exit = SIGNALLED + number;
            if self.came.is_some() {
                // Running work is interrupted as by a crash, which every run survives.
                out.close_screen();
                std::process::exit(i32::from(exit));
            }
            self.came = Some(exit);
            self.switch.set();
            if !self.is_watcher {
                out.note("stopping at the next safe point; a second signal exits at once");
            }
        }
    }
}
