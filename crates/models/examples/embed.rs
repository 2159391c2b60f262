//! Embeds texts with a local word table, to compare the results with other implementations
//! (`scripts/embeddings`).
//!
//! It reads one JSON string per line, writes one JSON array of numbers per text, and reports the elapsed
//! time on standard error.
#![forbid(unsafe_code)]

use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::time::Instant;

use wakeful_core::embedding::TEXTS_MAX;
use wakeful_models::WordTable;
use wakeful_ports::embedding::Embedder as _;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os()
        .nth(1)
        .ok_or("usage: embed FOLDER <TEXTS >EMBEDDINGS")?;
    let began = Instant::now();
    let table = WordTable::open(Path::new(&folder))?;
    let opened_ms = began.elapsed().as_millis();
    let lines = std::io::stdin().lock().lines().collect::<Result<Vec<_>, _>>()?;
    let texts = lines
        .iter()
        .map(|line| serde_json::from_str(line))
        .collect::<Result<Vec<String>, _>>()?;
    let mut out = std::io::stdout().lock();
    let began = Instant::now();
    let mut embeddings = Vec::new();
    for some in texts.chunks(TEXTS_MAX) {
        let answer = table
            .embed(some.to_vec())
            .await
            .map_err(|failure| failure.artifact.summary)?;
        embeddings.extend(answer.embeddings);
    }
    let embedded_us = began.elapsed().as_micros();
    for embedding in embeddings {
        writeln!(out, "{}", serde_json::to_string(embedding.numbers())?)?;
    }
    let mut err = std::io::stderr().lock();
    writeln!(err, "{} opened in {opened_ms} ms", table.identity())?;
    writeln!(err, "{} texts in {embedded_us} µs", texts.len())?;
    Ok(())
}
