//! Bounded capture of a command's output, and the preview that the model reads.

use std::collections::VecDeque;

/// Bytes kept of one stream: half from its beginning and half from its end, because the requested output
/// usually comes first and errors come last.
pub(crate) const KEPT_BYTES_MAX: usize = 1024 * 1024;

const HALF_BYTES: usize = KEPT_BYTES_MAX / 2;

/// Characters per token of ordinary text. A rule of thumb for both prose and code.
pub(crate) const TOKEN_CHARS: usize = 4;

/// Characters of the budget that the mark for omitted output may use.
const MARK_CHARS: usize = 80;

/// One output stream of a command, stored within a bound.
#[derive(Debug, Default)]
pub(crate) struct BoundedOutput {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total_bytes: u64,
}

impl BoundedOutput {
    /// Appends the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total_bytes = self.total_bytes.saturating_add(bytes.len() as u64);
        let room = HALF_BYTES.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        let rest = rest
            .get(rest.len().saturating_sub(HALF_BYTES)..)
            .unwrap_or_default();
        let over = (self.tail.len() + rest.len()).saturating_sub(HALF_BYTES);
        self.tail.drain(..over.min(self.tail.len()));
        self.tail.extend(rest);
    }

    /// How many bytes were printed, including those that were dropped.
    pub(crate) const fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// The stored bytes, with a mark where bytes were dropped.
    pub(crate) fn into_bytes(mut self) -> Vec<u8> {
        let kept_bytes = (self.head.len() + self.tail.len()) as u64;
        let missing_bytes = self.total_bytes.saturating_sub(kept_bytes);
        if missing_bytes > 0 {
            self.head
                .extend_from_slice(format!("\n[{missing_bytes} bytes were not kept]\n").as_bytes());
        }
        self.head.extend(self.tail);
        self.head
    }
}

/// The part of one stream that the model reads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Preview {
    pub(crate) text: String,
    /// Whether something was omitted.
    pub(crate) cut: bool,
    /// Whether some bytes were not UTF-8 and were replaced.
    pub(crate) lossy: bool,
}

/// Shares a budget between two streams: each may use what the other leaves.
pub(crate) fn previews(streams: [(&[u8], u64); 2], tokens: u32) -> [Preview; 2] {
    let budget = (tokens as usize).saturating_mul(TOKEN_CHARS);
    let texts = streams.map(|(bytes, _)| String::from_utf8_lossy(bytes));
    let [first, second] = texts
        .each_ref()
        .map(|text| text.chars().map(json_cost).sum::<usize>());
    let half = budget / 2;
    let budgets = [
        half.max(budget.saturating_sub(second)),
        half.max(budget.saturating_sub(first)),
    ];
    let mut all = texts
        .into_iter()
        .zip(streams)
        .zip(budgets)
        .map(|((text, (_, total_bytes)), budget)| {
            let lossy = matches!(text, std::borrow::Cow::Owned(_));
            let (text, cut) = cut_middle(&text, budget, total_bytes);
            Preview { text, cut, lossy }
        });
    let mut next = || {
        all.next().unwrap_or(Preview {
            text: String::new(),
            cut: false,
            lossy: false,
        })
    };
    [next(), next()]
}

/// The size of a character in the JSON that is sent to the model, so that binary output cannot exceed the
/// limit.
pub(crate) const fn json_cost(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        _ => 1,
    }
}

fn cut_middle(text: &str, budget: usize, total_bytes: u64) -> (String, bool) {
    if text.chars().map(json_cost).sum::<usize>() <= budget {
        return (text.to_owned(), false);
    }
    let half = budget.saturating_sub(MARK_CHARS) / 2;
    let head_bytes = bytes_within(text.chars(), half);
    let tail_bytes = bytes_within(text.chars().rev(), half);
    let head = text.get(..head_bytes).unwrap_or_default();
    let tail = text
        .get(text.len().saturating_sub(tail_bytes)..)
        .unwrap_or_default();
    (
        format!("{head}\n[… the middle of {total_bytes} bytes is left out …]\n{tail}"),
        true,
    )
}

/// How many bytes of the characters fit into the budget.
fn bytes_within(chars: impl Iterator<Item = char>, budget: usize) -> usize {
    let mut spent = 0;
    let fitting = chars.take_while(|c| {
        spent += json_cost(*c);
        spent <= budget
    });
    fitting.map(char::len_utf8).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_within_the_bound_is_kept_whole() {
        let mut kept = BoundedOutput::default();
        let bytes: Vec<u8> = (b'a'..=b'z').cycle().take(KEPT_BYTES_MAX).collect();
        bytes.chunks(70_000).for_each(|chunk| kept.push(chunk));
        assert_eq!(kept.total_bytes(), KEPT_BYTES_MAX as u64);
        assert_eq!(kept.into_bytes(), bytes);
    }

    #[test]
    fn a_stream_beyond_the_bound_keeps_its_beginning_and_its_end() {
        for chunk_bytes in [1_000, 65_536, 3 * KEPT_BYTES_MAX] {
            let mut kept = BoundedOutput::default();
            let bytes: Vec<u8> = (0..251).cycle().take(5 * KEPT_BYTES_MAX).collect();
            bytes.chunks(chunk_bytes).for_each(|chunk| kept.push(chunk));
            assert!(kept.head.len() + kept.tail.len() <= KEPT_BYTES_MAX);
            assert!(kept.tail.capacity() <= 2 * KEPT_BYTES_MAX);
            let whole = kept.into_bytes();
            let mark = format!("\n[{} bytes were not kept]\n", 4 * KEPT_BYTES_MAX);
            assert_eq!(whole[..HALF_BYTES], bytes[..HALF_BYTES]);
            assert_eq!(whole[HALF_BYTES..HALF_BYTES + mark.len()], *mark.as_bytes());
            assert_eq!(
                whole[HALF_BYTES + mark.len()..],
                bytes[bytes.len() - HALF_BYTES..]
            );
        }
    }

    #[test]
    fn one_stream_may_use_what_the_other_leaves() {
        let long = vec![b'x'; 1_000];
        let [out, err] = previews([(&long, 1_000), (b"", 0)], 300);
        assert_eq!((out.text.len(), out.cut), (1_000, false));
        assert_eq!(err.text, "");
        let [out, err] = previews([(&long, 1_000), (&long, 1_000)], 300);
        assert!(out.cut && err.cut);
        assert!(out.text.chars().count() <= 600 && err.text.chars().count() <= 600);
    }

    #[test]
    fn a_cut_preview_has_beginning_mark_and_end() {
        let text = format!("begin{}end", "é".repeat(5_000));
        let [out, _] = previews([(text.as_bytes(), 77_777), (b"", 0)], 100);
        assert!(
            out.text.starts_with("beginé") && out.text.ends_with("éend"),
            "{}",
            out.text
        );
        assert!(out.text.contains("77777 bytes"));
        assert!(out.text.chars().count() <= 400);
    }

    #[test]
    fn binary_output_is_marked_and_counted_as_json_escapes() {
        let [out, _] = previews([(&[0xff, b'a', 0], 3), (b"", 0)], 100);
        assert_eq!(
            out,
            Preview {
                text: "\u{fffd}a\0".into(),
                cut: false,
                lossy: true
            }
        );
        let zeros = vec![0; 4_000];
        let [out, _] = previews([(&zeros, 4_000), (b"", 0)], 1_000);
        assert!(serde_json::to_string(&out.text).expect("json").len() <= 4_000);
    }
}
