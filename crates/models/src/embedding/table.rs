//! Embeddings from a local word table, in the file layout of the Python package `wordllama`.
//!
//! The embedding of a text is the average of the rows of its tokens, regardless of word order. It is fast,
//! needs no server, and is good enough to find candidates.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wakeful_core::conversation::Usage;
use wakeful_core::embedding::Embedding;
use wakeful_core::failure::ModelFailure;
use wakeful_core::inference::ModelProfile;
use wakeful_core::key::Digest;
use wakeful_ports::embedding::{Embedder, EmbeddingResponse};

use super::bpe::{BadTokenizer, Bpe, TOKENIZER_BYTES_MAX};
use super::safetensors::{BadTensor, TENSOR_BYTES_MAX, Tensor};

/// Maximum number of folder entries that are examined.
pub const FOLDER_ENTRIES_MAX: usize = 1_024;

/// A word table. Cheap to clone.
#[derive(Debug, Clone)]
pub struct WordTable {
    parts: Arc<TableParts>,
}

#[derive(Debug)]
struct TableParts {
    identity: String,
    tokenizer: Bpe,
    tensor: Tensor,
}

/// Why a folder cannot be used as a word table.
#[derive(Debug, thiserror::Error)]
pub enum BadTable {
    /// A file or folder cannot be read.
    #[error("{path}: {source}", path = path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// A required file is missing or exists more than once.
    #[error("{folder} contains {given} {wanted}; a word table has exactly one", folder = folder.display())]
    Parts {
        /// The folder that was searched.
        folder: PathBuf,
        /// The kind of file that was searched for.
        wanted: &'static str,
        /// The number of files found.
        given: usize,
    },
    /// A file is too large.
    #[error("{path} has more than {bytes_max} bytes", path = path.display())]
    Large { path: PathBuf, bytes_max: usize },
    /// The `.safetensors` file cannot be used.
    #[error("{path}: {source}", path = path.display())]
    Tensor { path: PathBuf, source: BadTensor },
    /// The tokenizer file cannot be used.
    #[error("{path}: {source}", path = path.display())]
    Tokenizer { path: PathBuf, source: BadTokenizer },
    /// The tokenizer does not belong to the table.
    #[error(
        "the tokenizer has the token {token}, but the table has only {rows} rows; use the tokenizer of this table"
    )]
    Mismatch {
        /// The largest token.
        token: u32,
        rows: usize,
    },
}

impl WordTable {
    /// Opens a folder that contains one `.safetensors` file, directly or in `weights`, and a
    /// `tokenizer.json` or one `.json` file in `tokenizers`. Blocks while reading.
    pub fn open(folder: &Path) -> Result<Self, BadTable> {
        let tensor_path = tensor_path(folder)?;
        let tokenizer_path = tokenizer_path(folder)?;
        let tokenizer_file = read(&tokenizer_path, TOKENIZER_BYTES_MAX)?;
        let tokenizer = Bpe::parse(&tokenizer_file).map_err(|source| BadTable::Tokenizer {
            path: tokenizer_path,
            source,
        })?;
        let tensor_file = read(&tensor_path, TENSOR_BYTES_MAX)?;
        let content = [Digest::of(&tensor_file), Digest::of(&tokenizer_file)];
        let tensor = Tensor::parse(tensor_file).map_err(|source| BadTable::Tensor {
            path: tensor_path,
            source,
        })?;
        let (token, rows) = (tokenizer.largest(), tensor.rows());
        if usize::try_from(token).is_ok_and(|token| token < rows) {
            // The identity is a hash of the contents and not the name, so that a replaced table has a new
            // identity.
            let content = Digest::of(&content.map(|part| *part.as_bytes()).concat());
            let identity = format!("table/{}/{content}", tensor.columns());
            let parts = Arc::new(TableParts {
                identity,
                tokenizer,
                tensor,
            });
            return Ok(Self { parts });
        }
        Err(BadTable::Mismatch { token, rows })
    }
}

impl TableParts {
    fn embed(&self, texts: &[String]) -> Result<EmbeddingResponse, ModelFailure> {
        let mut input_tokens = 0_u64;
        let mut embeddings = Vec::with_capacity(texts.len());
        for text in texts {
            let tokens = self.tokenizer.tokens(text);
            input_tokens = input_tokens.saturating_add(u64::try_from(tokens.len()).unwrap_or(u64::MAX));
            let embedding = Embedding::new(self.average(&tokens));
            embeddings
                .push(embedding.map_err(|bad| super::refused("embedding_table_invalid", &bad.to_string()))?);
        }
        Ok(EmbeddingResponse {
            embeddings,
            usage: Usage::of(input_tokens, 0),
        })
    }

    /// Returns the average of the tokens' rows. Only its direction matters; dividing keeps large sums in
    /// range.
    fn average(&self, tokens: &[u32]) -> Vec<f32> {
        let mut average = vec![0.0_f32; self.tensor.columns()];
        let count: f32 = tokens.iter().map(|_| 1.0_f32).sum();
        for token in tokens {
            let row = self.tensor.row(usize::try_from(*token).unwrap_or(usize::MAX));
            for (mean, number) in average.iter_mut().zip(row) {
                *mean += number / count;
            }
        }
        average
    }
}

impl Embedder for WordTable {
    fn identity(&self) -> &str {
        &self.parts.identity
    }

    fn dimensions(&self) -> usize {
        self.parts.tensor.columns()
    }

    fn profile(&self) -> ModelProfile {
        ModelProfile::here("table")
    }

    async fn embed(&self, texts: Vec<String>) -> Result<EmbeddingResponse, ModelFailure> {
        let texts = super::checked(texts)?;
        let parts = Arc::clone(&self.parts);
        // Long texts take a while and must not block other tasks of this thread.
        let done = tokio::task::spawn_blocking(move || parts.embed(&texts)).await;
        done.unwrap_or_else(|error| Err(super::refused("embedding_table_failed", &error.to_string())))
    }
}

fn tensor_path(folder: &Path) -> Result<PathBuf, BadTable> {
    let wanted = ".safetensors";
    match only(folder, wanted)? {
        Ok(path) => Ok(path),
        Err(0) => one_of(&folder.join("weights"), wanted),
        Err(given) => Err(parts(folder, wanted, given)),
    }
}

fn tokenizer_path(folder: &Path) -> Result<PathBuf, BadTable> {
    let flat = folder.join("tokenizer.json");
    match flat.is_file() {
        true => Ok(flat),
        false => one_of(&folder.join("tokenizers"), ".json"),
    }
}

fn one_of(folder: &Path, ending: &'static str) -> Result<PathBuf, BadTable> {
    only(folder, ending)?.map_err(|given| parts(folder, ending, given))
}

fn parts(folder: &Path, wanted: &'static str, given: usize) -> BadTable {
    let folder = folder.to_owned();
    BadTable::Parts {
        folder,
        wanted,
        given,
    }
}

/// Returns the only file with this extension, or the number of such files.
fn only(folder: &Path, ending: &str) -> Result<Result<PathBuf, usize>, BadTable> {
    let unreadable = |source| BadTable::Unreadable {
        path: folder.to_owned(),
        source,
    };
    let mut found = Vec::new();
    for entry in folder.read_dir().map_err(unreadable)?.take(FOLDER_ENTRIES_MAX) {
        let entry = entry.map_err(unreadable)?;
        if entry.file_name().as_encoded_bytes().ends_with(ending.as_bytes()) {
            found.push(entry.path());
        }
    }
    let given = found.len();
    Ok(found.pop().filter(|_| given == 1).ok_or(given))
}

/// Reads a whole file up to a size limit.
fn read(path: &Path, bytes_max: usize) -> Result<Vec<u8>, BadTable> {
    let unreadable = |source| BadTable::Unreadable {
        path: path.to_owned(),
        source,
    };
    let large = || BadTable::Large {
        path: path.to_owned(),
        bytes_max,
    };
    let metadata = path.metadata().map_err(unreadable)?;
    // Reading a pipe could block, and a device has no end.
    if !metadata.is_file() {
        return Err(unreadable(io::Error::other("not a regular file")));
    }
    let bound = u64::try_from(bytes_max).unwrap_or(u64::MAX);
    if metadata.len() > bound {
        return Err(large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
    let file = File::open(path).map_err(unreadable)?;
    // The file may have grown since its size was read.
    file.take(bound.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    match bytes.len() > bytes_max {
        true => Err(large()),
        false => Ok(bytes),
    }
}
