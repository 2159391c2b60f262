//! What people wrote down for agents, asked for in one place, so that tests and simulations can go without.

use std::future::Future;
use std::pin::Pin;

use wakeful_core::id::AgentId;
use wakeful_core::prompt::Guidance;

/// Someone who knows where guidance is.
pub trait GuidanceSource: Send + Sync + 'static {
    /// What guides an agent in a workspace. Asked once for every time a run is taken up, so that a run's prompt keeps
    /// its beginning. What cannot be read is left out and noted: guidance never stops a run.
    fn guidance<'a>(
        &'a self,
        agent: &'a AgentId,
        workspace: &'a str,
    ) -> Pin<Box<dyn Future<Output = Guidance> + Send + 'a>>;
}

/// Nobody wrote anything down.
#[derive(Debug, Clone, Copy)]
pub struct NoGuidance;

impl GuidanceSource for NoGuidance {
    fn guidance<'a>(
        &'a self,
        _agent: &'a AgentId,
        _workspace: &'a str,
    ) -> Pin<Box<dyn Future<Output = Guidance> + Send + 'a>> {
        Box::pin(std::future::ready(Guidance::default()))
    }
}
