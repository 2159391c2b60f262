//! Graceful shutdown: drivers stop at the next safe point, without losing or repeating effects.

use tokio::sync::watch;

/// The receiving end of a shutdown request, held by every driver.
#[derive(Debug, Clone)]
pub struct Halt(watch::Receiver<bool>);

/// The sending end. A shutdown request cannot be withdrawn.
#[derive(Debug)]
pub struct HaltSwitch(watch::Sender<bool>);

impl Halt {
    /// Creates a switch and its receiving end.
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

    /// Whether shutdown was requested.
    #[must_use]
    pub fn is_set(&self) -> bool {
        *self.0.borrow()
    }

    /// Resolves when shutdown is requested.
    pub async fn wait_until_set(&self) {
        let mut receiver = self.0.clone();
        // An error means that every switch was dropped, so no request can arrive.
        if receiver.wait_for(|set| *set).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl HaltSwitch {
    /// Requests shutdown.
    pub fn set(&self) {
        self.0.send_replace(true);
    }
}
