//! A model's reply.

use std::future::Future;

use wakeful_core::conversation::{Block, Usage};
use wakeful_core::failure::ModelFailure;
use wakeful_core::prompt::Request;

/// What a model answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// What it said and asked for.
    pub blocks: Vec<Block>,
    /// Tokens, as far as the provider counted them.
    pub usage: Usage,
}

/// Someone who is told what a model says while it speaks. What was heard is worth nothing until the answer is there:
/// an attempt may fail half-way and begin again.
pub trait Audience: Send + Sync {
    /// The next words.
    fn hear(&self, text: &str);
}

/// Nobody listens.
#[derive(Debug, Clone, Copy)]
pub struct NoAudience;

impl Audience for NoAudience {
    fn hear(&self, _text: &str) {}
}

/// Something that answers requests. One call is one attempt; the machine decides on the next.
pub trait Model: Send + Sync + 'static {
    /// Sends one request and waits for the whole answer. Dropping the future gives the attempt up.
    fn ask(
        &self,
        request: Request,
        audience: &dyn Audience,
    ) -> impl Future<Output = Result<Answer, ModelFailure>> + Send;
}
