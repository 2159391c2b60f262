//! Selection of the transcript entries in a request.

use crate::conversation::{Block, Role, TranscriptEntry, calls_of};
use crate::json::bytes_of;

/// Maximum number of transcript entries in a request.
pub const WINDOW_ENTRIES_MAX: usize = 200;

/// Maximum size of transcript text in a request, in bytes: about 130,000 tokens, which common context
/// windows hold.
pub const WINDOW_BYTES_MAX: usize = 512 * 1024;

/// Size of a tool result's image as it counts against the window: the data itself is not text, and providers count it as at
/// most 4,000 tokens.
const IMAGE_BYTES: usize = 16 * 1024;

/// Maximum size of the images of tool results in a request, in bytes of base64. With the attachments of a message
/// it fits into a request of 32 MB.
const RESULT_IMAGES_BYTES_MAX: usize = 12 * 1024 * 1024;

/// The newest entries that fit, preceded by the entry that started the run. Some providers require that a
/// person's entry comes first, so remaining entries of an earlier run before it are dropped.
pub(super) fn window(opening: &TranscriptEntry, entries: &[TranscriptEntry]) -> Vec<TranscriptEntry> {
    let kept = entries.iter().skip(window_start(entries));
    let mut window = if kept.clone().any(|entry| entry == opening) {
        add_missing_results(kept.skip_while(|entry| entry.role != Role::User))
    } else {
        add_missing_results(std::iter::once(opening).chain(kept))
    };
    leave_out_old_images(&mut window);
    window
}

/// Keeps the newest images of tool results that fit, and replaces older ones with a note.
fn leave_out_old_images(entries: &mut [TranscriptEntry]) {
    let results = entries.iter_mut().rev().filter(|entry| entry.role == Role::Tool);
    let mut bytes = 0_usize;
    for block in results.flat_map(|entry| entry.blocks.iter_mut().rev()) {
        let Block::Attachment(image) = &*block else {
            continue;
        };
        bytes = bytes.saturating_add(image.data.len());
        if bytes > RESULT_IMAGES_BYTES_MAX {
            let text = format!(
                "[attachment {}: omitted, newer images fill the request; read the file again]",
                image.name
            );
            *block = Block::Text { text };
        }
    }
}

/// The result of a call whose run was abandoned before it had one.
const NO_RESULT: &str =
    r#"{"ok":false,"kind":"no_result","message":"the run was given up before this had a result"}"#;

/// Adds a result for every call without one. An abandoned run leaves such calls, and providers reject every
/// later conversation that contains one.
fn add_missing_results<'a>(entries: impl Iterator<Item = &'a TranscriptEntry>) -> Vec<TranscriptEntry> {
    let mut mended: Vec<TranscriptEntry> = Vec::new();
    let mut open: Vec<String> = Vec::new();
    for entry in entries {
        if entry.role == Role::Tool {
            let answers = |call_id: &String| entry.blocks.iter().any(|block| is_result_of(block, call_id));
            // A run that resumed after other messages leaves results whose calls were already completed.
            if entry.blocks.iter().any(is_result) && !open.iter().any(answers) {
                continue;
            }
            open.retain(|call_id| !answers(call_id));
        } else {
            mended.extend(open.drain(..).map(no_result));
            open = calls_of(&entry.blocks)
                .into_iter()
                .map(|call| call.call_id.clone())
                .collect();
        }
        mended.push(entry.clone());
    }
    mended.extend(open.into_iter().map(no_result));
    mended
}

const fn is_result(block: &Block) -> bool {
    matches!(block, Block::ToolResult { .. })
}

fn is_result_of(block: &Block, id: &str) -> bool {
    match block {
        Block::ToolResult { call_id, .. } => call_id == id,
        Block::Text { .. }
        | Block::ToolUse(_)
        | Block::Thinking { .. }
        | Block::WebSearch(_)
        | Block::Attachment(_) => false,
    }
}

fn no_result(call_id: String) -> TranscriptEntry {
    let (is_error, content) = (true, NO_RESULT.to_owned());
    TranscriptEntry {
        role: Role::Tool,
        blocks: vec![Block::ToolResult {
            call_id,
            is_error,
            content,
        }],
    }
}

/// The index of the window's first entry.
///
/// The window starts at an entry of a person or the model and never at a tool result, because every
/// provider rejects a result without its call. The newest exchange is kept even if it alone is too large.
#[must_use]
pub fn window_start(entries: &[TranscriptEntry]) -> usize {
    let mut bytes = 0;
    let mut cut = None;
    for (index, entry) in entries.iter().enumerate().rev() {
        bytes += entry_bytes(entry);
        let fits = bytes <= WINDOW_BYTES_MAX && entries.len() - index <= WINDOW_ENTRIES_MAX;
        if entry.role != Role::Tool && (fits || cut.is_none()) {
            cut = Some(index);
        }
    }
    cut.unwrap_or(entries.len())
}

/// The size of an entry as it counts against the window.
fn entry_bytes(entry: &TranscriptEntry) -> usize {
    let bytes = entry.blocks.iter().map(|block| match (entry.role, block) {
        (Role::Tool, Block::Attachment(_)) => IMAGE_BYTES,
        (Role::Tool | Role::User | Role::Assistant, _) => block_bytes(block),
    });
    bytes.sum()
}

fn block_bytes(block: &Block) -> usize {
    match block {
        Block::Text { text } => text.len(),
        Block::ToolUse(call) => call.name.len() + bytes_of(&call.input),
        Block::ToolResult { content, .. } => content.len(),
        Block::Thinking { text, opaque, .. } => text.len() + bytes_of(opaque),
        Block::WebSearch(search) => bytes_of(&search.opaque),
        Block::Attachment(attachment) => attachment.data.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(role: Role, text: &str) -> TranscriptEntry {
        TranscriptEntry {
            role,
            blocks: vec![Block::Text {
                text: text.to_owned(),
            }],
        }
    }

    fn turn_of(words: &str) -> Vec<TranscriptEntry> {
        vec![
            entry(Role::User, words),
            entry(Role::Assistant, words),
            entry(Role::Tool, words),
        ]
    }

    fn calls(ids: &[&str]) -> TranscriptEntry {
        let call = |id: &&str| {
            Block::ToolUse(crate::conversation::ToolCall {
                call_id: (*id).to_owned(),
                name: "T".into(),
                input: serde_json::json!({}),
            })
        };
        TranscriptEntry {
            role: Role::Assistant,
            blocks: ids.iter().map(call).collect(),
        }
    }

    #[test]
    fn a_call_of_an_abandoned_run_gets_a_result() {
        let (first, second) = (entry(Role::User, "one"), entry(Role::User, "two"));
        let result = |id: &str| TranscriptEntry {
            role: Role::Tool,
            blocks: vec![Block::ToolResult {
                call_id: id.to_owned(),
                is_error: false,
                content: "done".into(),
            }],
        };
        let whole = vec![first.clone(), calls(&["a"]), result("a"), second.clone()];
        assert_eq!(window(&first, &whole), whole, "nothing is missing");
        let cut = vec![first.clone(), calls(&["a", "b"]), result("a"), second.clone()];
        let mended = window(&first, &cut);
        assert_eq!(mended.len(), 5);
        assert_eq!(mended[3], no_result("b".into()));
        assert_eq!(mended[4], second);
        let late = vec![
            first.clone(),
            calls(&["a"]),
            second.clone(),
            result("a"),
            entry(Role::Assistant, "hm"),
        ];
        let mended = window(&first, &late);
        assert_eq!(mended.len(), 5, "{mended:?}");
        assert_eq!(mended[2], no_result("a".into()), "the late one is left out");
        let at_the_end = window(&first, &[first.clone(), calls(&["z"])]);
        assert_eq!(at_the_end.last(), Some(&no_result("z".into())));
    }

    #[test]
    fn a_long_thread_is_cut_before_a_message() {
        let entries: Vec<TranscriptEntry> = (0..200).flat_map(|n| turn_of(&n.to_string())).collect();
        let kept = window(&entry(Role::User, "199"), &entries);
        assert_ne!(kept.first().map(|entry| entry.role), Some(Role::Tool));
        assert!(
            kept.len() <= WINDOW_ENTRIES_MAX && kept.len() > WINDOW_ENTRIES_MAX - 3,
            "{} entries",
            kept.len()
        );
    }

    #[test]
    fn a_window_within_an_earlier_run_starts_at_a_persons_message() {
        let earlier = (0..150).flat_map(|n| turn_of(&n.to_string()).split_off(1));
        let entries: Vec<TranscriptEntry> = earlier.chain(turn_of("the question")).collect();
        let kept = window(&entry(Role::User, "the question"), &entries);
        assert_eq!(kept, turn_of("the question"));
    }

    #[test]
    fn a_long_run_keeps_its_first_entry_and_its_newest_rounds() {
        let opening = entry(Role::User, "the question");
        let rounds = (0..500).flat_map(|n| turn_of(&n.to_string()).split_off(1));
        let entries: Vec<TranscriptEntry> = [opening.clone()].into_iter().chain(rounds).collect();
        let kept = window(&opening, &entries);
        assert_eq!(kept[0], opening);
        assert_eq!(kept[1].role, Role::Assistant);
        assert!(kept.len() <= WINDOW_ENTRIES_MAX + 1, "{} entries", kept.len());
    }

    /// A round that reads an image with this many bytes of base64.
    fn image_round(id: &str, bytes: usize) -> [TranscriptEntry; 2] {
        let result = Block::ToolResult {
            call_id: id.to_owned(),
            is_error: false,
            content: "{}".into(),
        };
        let image = Block::Attachment(crate::conversation::Attachment {
            name: format!("{id}.png"),
            media_type: "image/png".into(),
            data: "A".repeat(bytes),
        });
        let blocks = vec![result, image];
        let role = Role::Tool;
        [calls(&[id]), TranscriptEntry { role, blocks }]
    }

    #[test]
    fn a_large_image_of_a_result_drops_no_earlier_text() {
        let opening = entry(Role::User, "look");
        let mut entries = turn_of("earlier");
        entries.push(opening.clone());
        entries.extend(image_round("a", 6 * 1024 * 1024));
        assert_eq!(window(&opening, &entries), entries);
    }

    #[test]
    fn many_small_images_of_results_leave_no_room_for_older_ones() {
        let opening = entry(Role::User, "look");
        let rounds = (0..40).flat_map(|n| image_round(&n.to_string(), 16));
        let entries: Vec<TranscriptEntry> = [opening.clone()].into_iter().chain(rounds).collect();
        let kept = window(&opening, &entries);
        // Each counts 16 KiB of 512 KiB, and the calls and results take some room too.
        assert_eq!(kept.len(), 1 + 2 * 31, "{} entries", kept.len());
    }

    #[test]
    fn images_of_results_that_do_not_fit_become_notes() {
        let opening = entry(Role::User, "look");
        let mut entries = vec![opening.clone()];
        for id in ["a", "b", "c"] {
            entries.extend(image_round(id, 5 * 1024 * 1024));
        }
        let kept = window(&opening, &entries);
        let note = "[attachment a.png: omitted, newer images fill the request; read the file again]";
        assert_eq!(kept[2].blocks[1], Block::Text { text: note.into() });
        assert_eq!((kept.len(), &kept[3..]), (entries.len(), &entries[3..]));
    }

    #[test]
    fn the_newest_exchange_is_kept_at_any_size() {
        let mut entries = turn_of("old");
        let large = turn_of(&"x".repeat(WINDOW_BYTES_MAX));
        entries.extend(large.clone());
        assert_eq!(window(&large[0], &entries), large);
    }
}
