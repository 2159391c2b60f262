//! Guidance for agents behind a trait, so that tests and simulations can omit it.

use std::future::Future;
use std::pin::Pin;

use wakeful_core::id::AgentId;
use wakeful_core::prompt::Guidance;

/// Finds the guidance of an agent.
pub trait GuidanceSource: Send + Sync + 'static {
    /// Returns the guidance of an agent in a workspace. Called once each time a driver starts or resumes a
    /// run, so that the beginning of the run's prompt stays the same. Unreadable guidance is omitted and
    /// noted; it never stops a run.
    fn guidance<'a>(
        &'a self,
        agent: &'a AgentId,
        workspace: &'a str,
    ) -> Pin<Box<dyn Future<Output = Guidance> + Send + 'a>>;
}

/// A source without guidance.
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
