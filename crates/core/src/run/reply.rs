//! Validates a model reply before it becomes an input of the run machine.

use std::collections::BTreeSet;

use super::{AttemptCost, ModelReply, ReplyCall, preview};
use crate::answer_schema::AnswerSchema;
use crate::blob::Blob;
use crate::conversation::{
    Block, CALLS_PER_REPLY_MAX, REPLY_BYTES_MAX, Usage, calls_of, searches_of, text_of,
};
use crate::failure::{FailureArtifact, FailureCategory, ModelFailure, ModelFailureKind};
use crate::step::{CALL_ID_BYTES_MAX, action_parts};

/// Returns how a reply violates the schema of the run's answer. A reply with tool calls is not an answer.
#[must_use]
pub fn violations(blocks: &[Block], schema: &AnswerSchema) -> Vec<String> {
    match calls_of(blocks).is_empty() {
        true => schema.check(&text_of(blocks)).err().unwrap_or_default(),
        false => Vec::new(),
    }
}

/// Converts a reply into an input and the blob that it references. A reply that the machine cannot use is a
/// permanent failure: sending the same request again would only cost the same again.
pub fn read(
    blocks: &[Block],
    usage: Usage,
    scope: &serde_json::Value,
) -> Result<(ModelReply, Blob), ModelFailure> {
    let calls = calls_of(blocks);
    if calls.len() > CALLS_PER_REPLY_MAX {
        return Err(invalid(&format!(
            "the reply asks for {} tools, at most {CALLS_PER_REPLY_MAX} are taken",
            calls.len()
        )));
    }
    let mut ids = BTreeSet::new();
    for call in &calls {
        let id = &call.call_id;
        let fits = !id.is_empty() && id.len() <= CALL_ID_BYTES_MAX && !id.chars().any(char::is_control);
        if !fits || !ids.insert(id) {
            return Err(invalid(
                "a tool call has no id, a repeated one, one over 128 bytes or one that cannot be printed",
            ));
        }
    }
    // Plain JSON instead of the canonical form, which rounds integers above 2^53: an action must have the
    // same arguments when its reply is read back after a crash.
    let bytes = serde_json::to_vec(blocks).map_err(|_| invalid("the reply has no JSON form"))?;
    if bytes.len() > REPLY_BYTES_MAX {
        return Err(invalid(&format!(
            "the reply has {} bytes, at most {REPLY_BYTES_MAX} are taken",
            bytes.len()
        )));
    }
    let parts = calls.iter().map(|call| {
        let parts = action_parts(&call.name, &call.input, scope)?;
        Ok(ReplyCall {
            call_id: call.call_id.clone(),
            parts,
            preview: preview(&call.input.to_string()),
            original_input: None,
        })
    });
    let calls = parts.collect::<Result<Vec<ReplyCall>, crate::json::NotCanonical>>();
    let calls = calls.map_err(|_| invalid("a tool call's arguments have no canonical JSON form"))?;
    let blob = Blob::new(bytes);
    let reply = ModelReply {
        content: blob.hash(),
        preview: preview(&text_of(blocks)),
        usage: usage.countable(),
        duration_ms: 0,
        bill: AttemptCost::default(),
        calls,
        web_searches: queries_of(blocks),
        violations: Vec::new(),
    };
    Ok((reply, blob))
}

/// Maximum number of queries that are recorded of one reply; above what any provider is asked for.
const QUERIES_MAX: usize = 32;

/// Stands for queries that the provider did not report.
const NO_QUERY: &str = "(the provider did not report the query)";

/// The queries of a reply. A reply with anything that was found has at least one.
fn queries_of(blocks: &[Block]) -> Vec<String> {
    let queries = searches_of(blocks).map(|search| &search.query);
    let queries: Vec<String> = queries
        .filter(|query| !query.is_empty())
        .take(QUERIES_MAX)
        .map(|query| preview(query))
        .collect();
    match queries.is_empty() && searches_of(blocks).next().is_some() {
        true => vec![NO_QUERY.to_owned()],
        false => queries,
    }
}

fn invalid(summary: &str) -> ModelFailure {
    let artifact = FailureArtifact::new(FailureCategory::Protocol, "invalid_response", summary);
    ModelFailure {
        may_be_billed: true,
        ..ModelFailure::new(ModelFailureKind::FailFast, artifact)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::conversation::{ToolCall, WebSearch};

    fn call(id: &str) -> Block {
        Block::ToolUse(ToolCall {
            call_id: id.into(),
            name: "T".into(),
            input: json!({}),
        })
    }

    #[test]
    fn a_reply_with_too_many_calls_is_an_invalid_response() {
        let many: Vec<Block> = (0..=CALLS_PER_REPLY_MAX).map(|n| call(&n.to_string())).collect();
        let failure = read(&many, Usage::default(), &json!({})).expect_err("took them all");
        assert_eq!(
            (failure.kind, failure.artifact.kind.as_str()),
            (ModelFailureKind::FailFast, "invalid_response")
        );
        let large = [Block::Text {
            text: "x".repeat(REPLY_BYTES_MAX),
        }];
        assert!(read(&large, Usage::default(), &json!({})).is_err());
    }

    #[test]
    fn calls_without_a_unique_id_are_an_invalid_response() {
        for blocks in [
            vec![call("")],
            vec![call("a"), call("a")],
            vec![call(&"a".repeat(129))],
            vec![call("a\u{7}")],
        ] {
            assert!(read(&blocks, Usage::default(), &json!({})).is_err(), "{blocks:?}");
        }
    }

    #[test]
    fn a_valid_reply_is_named_by_its_content() {
        let blocks = [Block::Text { text: "hi".into() }, call("a"), call("b")];
        let (reply, blob) = read(&blocks, Usage::default(), &json!({})).expect("good");
        assert_eq!(
            (reply.content, reply.preview.as_str(), reply.calls.len()),
            (blob.hash(), "hi", 2)
        );
        assert_eq!(reply.calls[0].parts, reply.calls[1].parts);
    }

    #[test]
    fn a_reply_names_the_queries_of_its_searches() {
        let search = |query: &str| {
            Block::WebSearch(WebSearch {
                provider: "p".into(),
                query: query.into(),
                sources: Vec::new(),
                opaque: json!({}),
            })
        };
        let queries = |blocks: &[Block]| {
            let (reply, _) = read(blocks, Usage::default(), &json!({})).expect("good");
            assert_eq!(reply.sources().is_empty(), reply.web_searches.is_empty());
            reply.web_searches
        };
        assert_eq!(
            queries(&[search("tides"), search(""), search("moon")]),
            ["tides", "moon"]
        );
        assert_eq!(
            queries(&[search("")]),
            [NO_QUERY],
            "what was found is from outside in any case"
        );
        assert_eq!(queries(&[call("a")]), Vec::<String>::new());
        let many: Vec<Block> = (0..99).map(|_| search("q")).collect();
        assert_eq!(queries(&many).len(), QUERIES_MAX);
    }

    #[test]
    fn large_integers_in_arguments_and_counts_survive_being_stored() {
        let input = json!({"n": 9_007_199_254_740_993_u64});
        let blocks = [Block::ToolUse(ToolCall {
            call_id: "a".into(),
            name: "T".into(),
            input,
        })];
        let usage = Usage::of(u64::MAX, 1);
        let (reply, blob) = read(&blocks, usage, &json!({})).expect("good");
        assert_eq!(
            serde_json::from_slice::<Vec<Block>>(blob.bytes()).expect("blocks"),
            blocks
        );
        let journal = crate::json::canonical(&reply).expect("canonical");
        assert_eq!(
            serde_json::from_slice::<ModelReply>(&journal).expect("a reply"),
            reply
        );
    }
}
