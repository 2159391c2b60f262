//! Coming to a stop at the next safe point, without losing or repeating anything.

use tokio::sync::watch;

/// Told to everybody who drives runs.
#[derive(Debug, Clone)]
pub struct Halt(watch::Receiver<bool>);

/// The other end. Once thrown it stays thrown.
#[derive(Debug)]
pub struct HaltSwitch(watch::Sender<bool>);

impl Halt {
    /// A switch and what it tells.
    #[must_use]
    pub fn new() -> (HaltSwitch, Self) {
        let (sender, receiver) = watch::channel(false);
        (HaltSwitch(sender), Self(receiver))
    }

    /// For processes that drive one run and then end.
    #[must_use]
    pub fn never() -> Self {
        Self::new().1
    }

    /// Whether the stop was asked for.
    #[must_use]
    pub fn is_set(&self) -> bool {
        *self.0.borrow()
    }

    /// Resolves when the stop is asked for.
    pub async fn asked(&self) {
        let mut receiver = self.0.clone();
        // An error means that nobody is left who could ask.
        if receiver.wait_for(|set| *set).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl HaltSwitch {
    /// Asks everybody to stop.
    pub fn throw(&self) {
        self.0.send_replace(true);
    }
}
