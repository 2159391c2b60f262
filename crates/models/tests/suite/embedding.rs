//! Tests of embeddings from a local server and from generated word tables.

use std::path::Path;

use serde_json::{Value, json};
use wakeful_core::embedding::{TEXT_BYTES_MAX, TEXTS_MAX};
use wakeful_core::failure::ModelFailure;
use wakeful_core::failure::ModelFailureKind::{FailFast, Retryable};
use wakeful_core::inference::DataBoundary;
use wakeful_models::{
    AnyEmbedder, BadEmbeddingEndpoint, BadTable, EmbeddingEndpoint, Provider, TENSOR_BYTES_MAX, WordTable,
};
use wakeful_ports::embedding::{Embedder, EmbeddingResponse};

use super::fake_provider::{FakeProvider, FakeReply, KEY, hosted, response};

const JSON: (&str, &str) = ("content-type", "application/json");

fn endpoint(url: &str) -> AnyEmbedder {
    let endpoint = EmbeddingEndpoint::new(hosted(Provider::OpenAiChat, url), 2);
    endpoint.expect("an embedder").into()
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// Requests embeddings of two texts.
async fn ask(reply: FakeReply) -> Result<EmbeddingResponse, ModelFailure> {
    let fake = FakeProvider::new(reply).await;
    let asked = endpoint(&fake.url).embed(texts(&["one", "two"])).await;
    if let Err(failure) = &asked {
        let shown = format!("{failure:?} {}", serde_json::to_string(failure).expect("JSON"));
        assert!(!shown.contains(KEY), "{shown}");
        assert_eq!(failure.artifact.model_ref.as_deref(), Some("openai-chat/m-1"));
    }
    asked
}

async fn ask_whole(status: u16, body: &str) -> Result<EmbeddingResponse, ModelFailure> {
    ask(FakeReply::Bytes(response(status, &[JSON], body))).await
}

#[tokio::test]
async fn embeddings_are_normalized_and_in_the_order_of_their_texts() {
    let body = json!({"object": "list", "model": "m-1", "usage": {"prompt_tokens": 7, "total_tokens": 7}, "data": [
        {"object": "embedding", "index": 1, "embedding": [0.0, -2.0]},
        {"object": "embedding", "index": 0, "embedding": [3, 4.0]},
    ]});
    let fake = FakeProvider::whole(&body.to_string()).await;
    let embedder = endpoint(&fake.url);
    let answer = embedder.embed(texts(&["one", "two"])).await.expect("an answer");
    let numbers: Vec<&[f32]> = answer.embeddings.iter().map(|e| e.numbers()).collect();
    assert_eq!(numbers, [[0.6, 0.8], [0.0, -1.0]]);
    assert_eq!((answer.usage.input_tokens, answer.usage.output_tokens), (7, 0));
    let asked = &fake.asked()[0];
    assert!(
        asked.head.starts_with("POST /v1/embeddings HTTP/1.1"),
        "{}",
        asked.head
    );
    assert_eq!(asked.header("authorization"), Some(format!("Bearer {KEY}")));
    assert_eq!(asked.body, json!({"model": "m-1", "input": ["one", "two"]}));
}

#[tokio::test]
async fn a_response_that_does_not_match_the_request_is_invalid() {
    let item = |index: i32, embedding: Value| json!({"index": index, "embedding": embedding});
    let good = || item(0, json!([1, 2]));
    let bodies = [
        json!({"data": [good()]}).to_string(),
        json!({"data": [good(), good()]}).to_string(),
        json!({"data": [good(), item(1, json!([1, 2])), item(2, json!([1, 2]))]}).to_string(),
        json!({"data": [good(), item(2, json!([1, 2]))]}).to_string(),
        json!({"data": [good(), item(-1, json!([1, 2]))]}).to_string(),
        json!({"data": [good(), item(1, json!([1]))]}).to_string(),
        json!({"data": [good(), item(1, json!([1, 2, 3]))]}).to_string(),
        json!({"data": [good(), item(1, json!([1, null]))]}).to_string(),
        json!({"data": [good(), item(1, json!([1, 1e39]))]}).to_string(),
        r#"{"data": [{"index": 0, "embedding": [1, NaN]}, {"index": 1, "embedding": [1, 2]}]}"#.to_owned(),
        r#"{"data": [{"index": 0, "embedding": "AACAPwAAAEA="}]}"#.to_owned(),
        "{}".to_owned(),
        String::new(),
    ];
    for body in bodies {
        let failure = ask_whole(200, &body).await.expect_err(&body);
        let told = (failure.kind, failure.artifact.kind.as_str());
        assert_eq!(told, (FailFast, "invalid_response"), "{body}");
    }
    let stream = response(200, &[("content-type", "text/event-stream")], "data: {}\n\n");
    let failure = ask(FakeReply::Bytes(stream)).await.expect_err("a stream");
    assert_eq!(failure.artifact.kind, "invalid_response");
}

#[tokio::test]
async fn an_error_of_the_server_is_reported_like_those_of_models() {
    let body = json!({"error": {"message": format!("no, {KEY}"), "type": "x"}}).to_string();
    for (status, kind) in [
        (429, Retryable),
        (503, Retryable),
        (401, FailFast),
        (404, FailFast),
    ] {
        let failure = ask_whole(status, &body).await.expect_err("no");
        assert_eq!((failure.kind, failure.artifact.status), (kind, Some(status)));
        assert!(failure.artifact.summary.contains("no, [hidden]"), "{failure:?}");
    }
    let failure = ask_whole(200, &body)
        .await
        .expect_err("an error with a status of success");
    assert_eq!((failure.kind, failure.artifact.status), (Retryable, Some(500)));
}

#[tokio::test]
async fn an_endless_response_is_refused_at_its_limit() {
    let head = response(200, &[JSON], r#"{"data": ["#);
    let failure = ask(FakeReply::Forever(head, vec![b' '; 1 << 20]))
        .await
        .expect_err("no end");
    assert_eq!(failure.artifact.kind, "invalid_response");
    let silent = FakeReply::Silence(response(200, &[JSON], r#"{"data": ["#));
    let failure = ask(silent).await.expect_err("nothing");
    assert_eq!(
        (failure.kind, failure.artifact.kind.as_str()),
        (Retryable, "timeout")
    );
}

#[tokio::test]
async fn texts_over_the_limits_are_refused_before_sending() {
    let folder = table();
    let tables = WordTable::open(folder.path()).expect("a table").into();
    // No server listens at this address, so any request would fail differently.
    for embedder in [endpoint("http://127.0.0.1:9"), tables] {
        let long = "x".repeat(TEXT_BYTES_MAX + 1);
        for bad in [
            vec![],
            texts(&["a", ""]),
            vec![long],
            vec!["a".to_owned(); TEXTS_MAX + 1],
        ] {
            let failure = embedder.embed(bad).await.expect_err("bad texts");
            assert_eq!(
                (failure.kind, failure.artifact.kind.as_str()),
                (FailFast, "bad_texts")
            );
        }
    }
}

#[test]
fn an_embedder_is_identified_by_model_dimensions_and_address() {
    let of = |url: &str, dimensions| EmbeddingEndpoint::new(hosted(Provider::OpenAiChat, url), dimensions);
    let here = of("http://127.0.0.1:1", 2).expect("an embedder");
    let again = of("http://127.0.0.1:1", 2).expect("an embedder");
    assert_eq!((here.identity(), here.dimensions()), (again.identity(), 2));
    assert!(
        here.identity().starts_with("endpoint/m-1/2/"),
        "{}",
        here.identity()
    );
    for other in [of("http://127.0.0.1:2", 2), of("http://127.0.0.1:1", 3)] {
        assert_ne!(here.identity(), other.expect("an embedder").identity());
    }
    assert!(matches!(
        of("http://127.0.0.1:1", 0),
        Err(BadEmbeddingEndpoint::Dimensions { given: 0 })
    ));
    for provider in [Provider::Anthropic, Provider::Gemini] {
        let refused = EmbeddingEndpoint::new(hosted(provider, "http://127.0.0.1:1"), 2);
        assert!(
            matches!(refused, Err(BadEmbeddingEndpoint::Provider { .. })),
            "{refused:?}"
        );
    }
    assert!(EmbeddingEndpoint::new(hosted(Provider::OpenAi, "http://127.0.0.1:1"), 2).is_ok());
}

const TOKENS: [&str; 6] = ["<unk>", "▁", "a", "b", "▁a", "▁b"];

fn tokenizer() -> Vec<u8> {
    let vocab: serde_json::Map<String, Value> = TOKENS
        .iter()
        .zip(0..)
        .map(|(t, id)| ((*t).to_owned(), json!(id)))
        .collect();
    let file = json!({
        "version": "1.0",
        "added_tokens": [{"id": 0, "content": "<unk>", "special": true}],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "▁"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        ]},
        "pre_tokenizer": null,
        "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true,
            "vocab": vocab, "merges": ["▁ a", "▁ b"]},
    });
    file.to_string().into_bytes()
}

/// A half-precision table with these rows.
fn tensor(rows: &[[u16; 2]]) -> Vec<u8> {
    let content: Vec<u8> = rows
        .iter()
        .flatten()
        .flat_map(|half| half.to_le_bytes())
        .collect();
    let header = json!({"embedding.weight":
        {"dtype": "F16", "shape": [rows.len(), 2], "data_offsets": [0, content.len()]}});
    let header = header.to_string();
    let length = u64::try_from(header.len()).expect("a length").to_le_bytes();
    [&length, header.as_bytes(), &content].concat()
}

/// `▁a` is (1, 0), `▁b` is (0, 1), all others are zero.
fn rows() -> [[u16; 2]; 6] {
    let one = 0x3c00;
    [[0, 0], [0, 0], [0, 0], [0, 0], [one, 0], [0, one]]
}

fn write(folder: &Path, tensor: &[u8], tokenizer: &[u8]) {
    std::fs::write(folder.join("words.safetensors"), tensor).expect("a file");
    std::fs::write(folder.join("tokenizer.json"), tokenizer).expect("a file");
}

fn table() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), &tensor(&rows()), &tokenizer());
    folder
}

#[tokio::test]
async fn the_embedding_of_a_text_is_the_average_of_its_words() {
    let folder = table();
    let table = WordTable::open(folder.path()).expect("a table");
    let asked = texts(&["a", "b", "a b", "a a a b", "zzz", "<unk>"]);
    let answer = table.embed(asked).await.expect("an answer");
    let near = |i: usize, j: usize| {
        answer.embeddings[i]
            .cosine(&answer.embeddings[j])
            .expect("as many")
    };
    let close = |a: f32, b: f32| assert!((a - b).abs() < 1e-6, "{a} {b}");
    close(near(0, 1), 0.0);
    close(near(0, 2), 0.5_f32.sqrt());
    close(near(0, 3), 3.0 / 10_f32.sqrt());
    // Unknown texts have a zero vector, which is similar to nothing.
    close(near(4, 4), 0.0);
    close(near(5, 0), 0.0);
    // `▁`, and one token for all three unknown characters.
    assert_eq!(answer.usage.input_tokens, 1 + 1 + 2 + 4 + 2 + 1);
    assert_eq!(table.dimensions(), 2);
    assert_eq!(table.profile().boundary, DataBoundary::Process);
}

#[test]
fn a_table_is_identified_by_its_content_in_both_layouts() {
    let flat = table();
    let one = WordTable::open(flat.path()).expect("a table");
    let nested = tempfile::tempdir().expect("a folder");
    for (folder, name, bytes) in [
        ("weights", "x_2.safetensors", tensor(&rows())),
        ("tokenizers", "x_tokenizer_config.json", tokenizer()),
    ] {
        let folder = nested.path().join(folder);
        std::fs::create_dir(&folder).expect("a folder");
        std::fs::write(folder.join(name), bytes).expect("a file");
    }
    let two = WordTable::open(nested.path()).expect("a table");
    assert_eq!(one.identity(), two.identity());
    let mut others = rows();
    others[5] = [0x3c00, 0x3c00];
    write(flat.path(), &tensor(&others), &tokenizer());
    let other = WordTable::open(flat.path()).expect("a table");
    assert_ne!(one.identity(), other.identity());
}

#[test]
fn a_folder_without_a_table_is_refused_with_the_missing_part() {
    let opened = |folder: &Path| WordTable::open(folder).map(|_| ()).expect_err("no table");
    let folder = table();
    let path = folder.path();
    write(path, &tensor(&rows()[..5]), &tokenizer());
    assert!(matches!(opened(path), BadTable::Mismatch { token: 5, rows: 5 }));
    let mut not_finite = rows();
    not_finite[3] = [0, 0x7c01];
    write(path, &tensor(&not_finite), &tokenizer());
    assert!(opened(path).to_string().contains("row 3"), "{}", opened(path));
    std::fs::write(path.join("more.safetensors"), "").expect("a file");
    assert!(matches!(opened(path), BadTable::Parts { given: 2, .. }));
    std::fs::remove_file(path.join("more.safetensors")).expect("gone");
    let large = std::fs::File::create(path.join("words.safetensors")).expect("a file");
    let bytes = u64::try_from(TENSOR_BYTES_MAX + 1).expect("a length");
    large.set_len(bytes).expect("a hole");
    assert!(matches!(opened(path), BadTable::Large { .. }));
    std::fs::remove_file(path.join("words.safetensors")).expect("gone");
    std::fs::create_dir(path.join("words.safetensors")).expect("a folder");
    assert!(matches!(opened(path), BadTable::Unreadable { .. }));
    assert!(matches!(
        opened(&path.join("nowhere")),
        BadTable::Unreadable { .. }
    ));
}

#[tokio::test]
async fn a_damaged_file_is_refused_without_a_panic() {
    let mut opened = 0_u32;
    // Flips every bit of the numbers, and every seventh bit of the tokenizer file.
    for (name, whole, step) in [
        ("words.safetensors", tensor(&rows()), 1),
        ("tokenizer.json", tokenizer(), 7),
    ] {
        let folder = table();
        let cut = (0..whole.len()).map(|end| whole[..end].to_vec());
        let flipped = (0..whole.len() * 8).step_by(step).map(|bit| {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            bytes
        });
        for (index, damaged) in cut.chain(flipped).enumerate() {
            std::fs::write(folder.path().join(name), damaged).expect("a file");
            match WordTable::open(folder.path()) {
                Ok(table) => {
                    opened += 1;
                    assert!(index >= whole.len(), "a file cut at {index} was taken");
                    let answer = table.embed(texts(&["a b", "é<unk>"])).await.expect("an answer");
                    assert_eq!(answer.embeddings.len(), 2);
                }
                Err(bad) => assert!(bad.to_string().chars().count() < 600, "{bad}"),
            }
        }
    }
    // A flipped bit in a number or a word may give another valid table.
    assert!(opened > 0);
}
