//! A bell that is rung after each commit, for whoever waits in this process.

use std::pin::Pin;

use tokio::sync::watch;
use wakeful_ports::journal::Heard;

/// Rung after each commit. Cloning it is cheap; all clones are one bell.
#[derive(Debug, Clone)]
pub struct Bell {
    rung: watch::Sender<u64>,
}

impl Default for Bell {
    fn default() -> Self {
        Self {
            rung: watch::Sender::new(0),
        }
    }
}

impl Bell {
    /// Tells everybody who listens.
    pub(super) fn ring(&self) {
        self.rung.send_modify(|times| *times = times.wrapping_add(1));
    }

    /// Listens from now on.
    #[must_use]
    pub fn heard(&self) -> Box<dyn Heard> {
        Box::new(Listener {
            // Keeps the bell, so that it cannot vanish while somebody waits.
            _bell: self.clone(),
            rung: self.rung.subscribe(),
        })
    }
}

struct Listener {
    _bell: Bell,
    rung: watch::Receiver<u64>,
}

impl Heard for Listener {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            // It ends only with the last bell, and this holds one.
            let _ = self.rung.changed().await;
        })
    }
}
