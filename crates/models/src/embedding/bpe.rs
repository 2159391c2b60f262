//! Tokenizes texts according to the kind of `tokenizer.json` that word tables use.
//!
//! It is byte-pair encoding in the style of SentencePiece: spaces become `▁`, one more is put before the
//! text, characters that are not in the vocabulary become their bytes, and neighbours are merged in the
//! order of the merge list. Files with other settings are rejected, because slightly wrong tokens give
//! silently wrong embeddings.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use serde::Deserialize;
use serde_json::{Value, json};
use wakeful_core::failure::truncate_chars;

use super::{CAUSE_CHARS_MAX, GIVEN_CHARS_MAX};

/// Largest file in bytes. A typical file has 1.8 MB.
pub const TOKENIZER_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Maximum number of added tokens, which are searched for in the text. A typical file has three.
pub const ADDED_TOKENS_MAX: usize = 64;

/// The character that represents a space.
const SPACE: char = '▁';

/// Why a tokenizer file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTokenizer {
    /// The file cannot be parsed.
    #[error("invalid tokenizer file: {0}")]
    Malformed(String),
    /// The file uses a setting that is not supported.
    #[error("unsupported {field}; only byte-pair encoding in the style of SentencePiece is supported")]
    Unsupported { field: &'static str },
    /// The file refers to a token that is not in its vocabulary.
    #[error("the file refers to the token `{token}`, which is not in its vocabulary")]
    TokenMissing { token: String },
}

#[derive(Debug, Deserialize)]
struct File {
    #[serde(default)]
    added_tokens: Vec<Added>,
    normalizer: Value,
    pre_tokenizer: Value,
    model: Model,
}

#[derive(Debug, Deserialize)]
struct Added {
    id: u32,
    content: String,
    #[serde(default)]
    single_word: bool,
    #[serde(default)]
    lstrip: bool,
    #[serde(default)]
    rstrip: bool,
    #[serde(default)]
    normalized: bool,
}

#[derive(Debug, Deserialize)]
struct Model {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default)]
    dropout: Option<f32>,
    #[serde(default)]
    unk_token: Option<String>,
    #[serde(default)]
    continuing_subword_prefix: Option<String>,
    #[serde(default)]
    end_of_word_suffix: Option<String>,
    #[serde(default)]
    fuse_unk: bool,
    #[serde(default)]
    byte_fallback: bool,
    #[serde(default)]
    ignore_merges: bool,
    vocab: HashMap<String, u32>,
    merges: Vec<Merge>,
}

/// A merge in the older (text) or the newer (pair) notation.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Merge {
    Text(String),
    Pair([String; 2]),
}

impl Merge {
    fn halves(&self) -> Option<(&str, &str)> {
        match self {
            Self::Text(text) => text.split_once(' ').filter(|(_, right)| !right.contains(' ')),
            Self::Pair([left, right]) => Some((left, right)),
        }
    }
}

/// A byte-pair tokenizer.
#[derive(Debug)]
pub(super) struct Bpe {
    /// The tokens of single characters.
    chars: HashMap<char, u32>,
    /// The tokens of bytes; some vocabularies lack them.
    bytes: Vec<Option<u32>>,
    /// The token for unknown characters. `fuse_unknown` merges several in a row into one.
    unknown: Option<u32>,
    fuse_unknown: bool,
    /// For each pair of neighbours, the rank of the merge and the merged token.
    merges: HashMap<(u32, u32), (usize, u32)>,
    /// Tokens that are recognized in the text by their content, longest first.
    added: Vec<(String, u32)>,
    largest: u32,
}

impl Bpe {
    pub(super) fn parse(file: &[u8]) -> Result<Self, BadTokenizer> {
        let unread = |error: serde_json::Error| {
            BadTokenizer::Malformed(truncate_chars(&error.to_string(), CAUSE_CHARS_MAX))
        };
        let file: File = serde_json::from_slice(file).map_err(unread)?;
        supported(&file)?;
        let File {
            added_tokens, model, ..
        } = file;
        let vocab = &model.vocab;
        let named = |token: &str| {
            let missing = || BadTokenizer::TokenMissing {
                token: truncate_chars(token, GIVEN_CHARS_MAX),
            };
            vocab.get(token).copied().ok_or_else(missing)
        };
        let mut merges = HashMap::with_capacity(model.merges.len());
        for (rank, merge) in model.merges.iter().enumerate() {
            let malformed = || BadTokenizer::Malformed(format!("merge {rank} does not have two parts"));
            let (left, right) = merge.halves().ok_or_else(malformed)?;
            let whole = named(&format!("{left}{right}"))?;
            merges.insert((named(left)?, named(right)?), (rank, whole));
        }
        let byte = |byte: u8| vocab.get(&format!("<0x{byte:02X}>")).copied();
        let byte = |n| byte(n).filter(|_| model.byte_fallback);
        let unknown = model.unk_token.as_deref().map(named).transpose()?;
        let mut added: Vec<(String, u32)> = added_tokens.into_iter().map(|a| (a.content, a.id)).collect();
        added.sort_by_key(|(content, _)| Reverse(content.len()));
        let ids = vocab.values().chain(added.iter().map(|(_, id)| id));
        Ok(Self {
            largest: ids.max().copied().unwrap_or_default(),
            chars: vocab
                .iter()
                .filter_map(|(token, id)| Some((only_char(token)?, *id)))
                .collect(),
            bytes: (0..=u8::MAX).map(byte).collect(),
            unknown,
            fuse_unknown: model.fuse_unk,
            merges,
            added,
        })
    }

    /// Returns the largest token that a text can produce.
    pub(super) const fn largest(&self) -> u32 {
        self.largest
    }

    /// Tokenizes a text.
    pub(super) fn tokens(&self, text: &str) -> Vec<u32> {
        let mut tokens = Vec::new();
        let (mut begin, mut at) = (0, 0);
        // Every iteration advances by at least one byte.
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            if let Some((content, id)) = self.added.iter().find(|(content, _)| rest.starts_with(content)) {
                self.piece(text.get(begin..at).unwrap_or_default(), &mut tokens);
                tokens.push(*id);
                at += content.len();
                begin = at;
            } else {
                at += rest.chars().next().map_or(1, char::len_utf8);
            }
        }
        self.piece(text.get(begin..).unwrap_or_default(), &mut tokens);
        tokens
    }

    /// Appends the tokens of the text between two added tokens.
    fn piece(&self, text: &str, tokens: &mut Vec<u32>) {
        if text.is_empty() {
            return;
        }
        let spaced = text.chars().map(|c| if c == ' ' { SPACE } else { c });
        let symbols = self.symbols(std::iter::once(SPACE).chain(spaced));
        tokens.extend(self.merged(symbols));
    }

    /// Returns the tokens of single characters, before merging.
    fn symbols(&self, chars: impl Iterator<Item = char>) -> Vec<u32> {
        let mut symbols = Vec::new();
        let mut after_unknown = false;
        for char in chars {
            let was_unknown = std::mem::take(&mut after_unknown);
            if let Some(id) = self.chars.get(&char) {
                symbols.push(*id);
                continue;
            }
            let mut utf8 = [0_u8; 4];
            let bytes = char.encode_utf8(&mut utf8).bytes();
            let byte = |byte| self.bytes.get(usize::from(byte)).copied().flatten();
            if let Some(bytes) = bytes.map(byte).collect::<Option<Vec<u32>>>() {
                symbols.extend(bytes);
            } else if let Some(unknown) = self.unknown {
                after_unknown = true;
                if !(was_unknown && self.fuse_unknown) {
                    symbols.push(unknown);
                }
            }
        }
        symbols
    }

    /// Merges neighbours by rank; among equal ranks the leftmost comes first.
    fn merged(&self, symbols: Vec<u32>) -> impl Iterator<Item = u32> {
        let mut chain = Chain::new(symbols);
        let mut waiting: BinaryHeap<Reverse<(usize, usize, u32)>> = (0..chain.len())
            .filter_map(|at| self.merge_at(&chain, at))
            .collect();
        // Every merge adds at most two candidates and removes one symbol, so the loop ends.
        while let Some(Reverse((_, at, whole))) = waiting.pop() {
            // An earlier merge may have changed the pair at this position.
            if self
                .merge_at(&chain, at)
                .is_none_or(|Reverse((_, _, now))| now != whole)
            {
                continue;
            }
            chain.join(at, whole);
            let before = chain.before(at).and_then(|before| self.merge_at(&chain, before));
            waiting.extend(before);
            waiting.extend(self.merge_at(&chain, at));
        }
        chain.left()
    }

    /// Returns the merge of the symbol at a position with its right neighbour.
    fn merge_at(&self, chain: &Chain, at: usize) -> Option<Reverse<(usize, usize, u32)>> {
        let (rank, whole) = self.merges.get(&chain.pair(at)?)?;
        Some(Reverse((*rank, at, *whole)))
    }
}

/// A linked list of symbols, so that a merge does not move other symbols.
struct Chain(Vec<Link>);

struct Link {
    /// `None` after the symbol was merged into its left neighbour.
    symbol: Option<u32>,
    before: Option<usize>,
    after: usize,
}

impl Chain {
    fn new(symbols: Vec<u32>) -> Self {
        let link = |(at, symbol): (usize, u32)| Link {
            symbol: Some(symbol),
            before: at.checked_sub(1),
            after: at + 1,
        };
        Self(symbols.into_iter().enumerate().map(link).collect())
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn before(&self, at: usize) -> Option<usize> {
        self.0.get(at)?.before
    }

    /// Returns a symbol and its right neighbour, if both exist.
    fn pair(&self, at: usize) -> Option<(u32, u32)> {
        let link = self.0.get(at)?;
        Some((link.symbol?, self.0.get(link.after)?.symbol?))
    }

    /// Replaces a symbol and its right neighbour with the merged symbol.
    fn join(&mut self, at: usize, whole: u32) {
        let Some(gone) = self.0.get(at).map(|link| link.after) else {
            return;
        };
        let Some(right) = self.0.get_mut(gone) else {
            return;
        };
        right.symbol = None;
        let after = right.after;
        if let Some(link) = self.0.get_mut(after) {
            link.before = Some(at);
        }
        if let Some(link) = self.0.get_mut(at) {
            link.symbol = Some(whole);
            link.after = after;
        }
    }

    fn left(self) -> impl Iterator<Item = u32> {
        self.0.into_iter().filter_map(|link| link.symbol)
    }
}

/// Rejects settings under which this tokenizer would give different tokens.
fn supported(file: &File) -> Result<(), BadTokenizer> {
    let normalizer = json!({"type": "Sequence", "normalizers": [
        {"type": "Prepend", "prepend": SPACE},
        {"type": "Replace", "pattern": {"String": " "}, "content": SPACE},
    ]});
    let model = &file.model;
    let plain = |text: &Option<String>| text.as_deref().unwrap_or_default().is_empty();
    let is_plain = |added: &Added| {
        let trims = added.single_word || added.lstrip || added.rstrip || added.normalized;
        !trims && !added.content.is_empty()
    };
    let checks = [
        ("model", model.kind.as_deref().is_none_or(|kind| kind == "BPE")),
        ("model.dropout", model.dropout.is_none_or(|rate| rate == 0.0)),
        ("model.ignore_merges", !model.ignore_merges),
        (
            "model.continuing_subword_prefix",
            plain(&model.continuing_subword_prefix),
        ),
        ("model.end_of_word_suffix", plain(&model.end_of_word_suffix)),
        ("normalizer", file.normalizer == normalizer),
        ("pre_tokenizer", file.pre_tokenizer.is_null()),
        ("added_tokens", file.added_tokens.iter().all(is_plain)),
        ("added_tokens", file.added_tokens.len() <= ADDED_TOKENS_MAX),
    ];
    match checks.into_iter().find(|(_, holds)| !holds) {
        Some((field, _)) => Err(BadTokenizer::Unsupported { field }),
        None => Ok(()),
    }
}

/// Returns the character of a single-character token.
fn only_char(token: &str) -> Option<char> {
    let mut chars = token.chars();
    chars.next().filter(|_| chars.next().is_none())
}

#[cfg(test)]
mod tests;
