use super::*;

/// A tokenizer file with the 256 byte tokens followed by these tokens.
fn file(tokens: &[&str], merges: &[&str]) -> Value {
    let bytes = (0..=u8::MAX).map(|byte| format!("<0x{byte:02X}>"));
    let tokens = bytes.chain(tokens.iter().map(|token| (*token).to_owned()));
    let vocab: serde_json::Map<String, Value> =
        tokens.zip(0..).map(|(token, id)| (token, json!(id))).collect();
    json!({
        "added_tokens": [{"id": 2, "content": "<s>"}, {"id": 3, "content": "<s>>"}],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "▁"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        ]},
        "pre_tokenizer": null,
        "model": {"type": "BPE", "byte_fallback": true, "vocab": vocab, "merges": merges},
    })
}

fn parse(file: &Value) -> Result<Bpe, BadTokenizer> {
    Bpe::parse(file.to_string().as_bytes())
}

#[test]
fn merges_are_applied_in_their_order() {
    let file = file(
        &["▁", "a", "b", "c", "bc", "ab", "▁ab", "abc"],
        &["b c", "a b", "▁ ab", "a bc"],
    );
    let bpe = parse(&file).expect("a tokenizer");
    let [space, a, b, bc, space_ab, abc] = [256, 257, 258, 260, 262, 263];
    assert_eq!(bpe.tokens("ab"), [space_ab]);
    // `b c` is merged first, so `a b` no longer applies.
    assert_eq!(bpe.tokens("abc"), [space, abc]);
    assert_eq!(bpe.tokens("a bbc"), [space, a, space, b, bc]);
    assert_eq!(bpe.tokens(""), [0_u32; 0]);
    // Characters that are not in the vocabulary become their bytes.
    assert_eq!(bpe.tokens("é\n"), [space, 0xc3, 0xa9, 0x0a]);
    // Added tokens are matched literally, longest first, and each piece between them is tokenized
    // separately.
    assert_eq!(
        bpe.tokens("<s>ab<s>>ab<s"),
        [2, space_ab, 3, space_ab, u32::from(b'<'), u32::from(b's')]
    );
    assert_eq!(bpe.largest(), abc);
}

#[test]
fn without_byte_tokens_unknown_characters_become_one_token_or_several() {
    let mut file = file(&["▁", "a", "<unk>"], &[]);
    file["model"]["byte_fallback"] = json!(false);
    assert_eq!(parse(&file).expect("a tokenizer").tokens("aéé"), [256, 257]);
    file["model"]["unk_token"] = json!("<unk>");
    assert_eq!(
        parse(&file).expect("a tokenizer").tokens("aééa"),
        [256, 257, 258, 258, 257]
    );
    file["model"]["fuse_unk"] = json!(true);
    assert_eq!(
        parse(&file).expect("a tokenizer").tokens("aééaé"),
        [256, 257, 258, 257, 258]
    );
}

#[test]
fn an_unsupported_tokenizer_is_refused_by_the_field_that_differs() {
    let cases = [
        ("/model/type", json!("WordPiece"), "model"),
        ("/model/dropout", json!(0.5), "model.dropout"),
        ("/model/ignore_merges", json!(true), "model.ignore_merges"),
        (
            "/model/end_of_word_suffix",
            json!("</w>"),
            "model.end_of_word_suffix",
        ),
        (
            "/model/continuing_subword_prefix",
            json!("##"),
            "model.continuing_subword_prefix",
        ),
        ("/normalizer", json!(null), "normalizer"),
        ("/pre_tokenizer", json!({"type": "ByteLevel"}), "pre_tokenizer"),
        (
            "/added_tokens",
            json!([{"id": 1, "content": "x", "lstrip": true}]),
            "added_tokens",
        ),
        ("/added_tokens", json!([{"id": 1, "content": ""}]), "added_tokens"),
        (
            "/added_tokens",
            json!(vec![json!({"id": 1, "content": "x"}); ADDED_TOKENS_MAX + 1]),
            "added_tokens",
        ),
    ];
    for (path, value, field) in cases {
        let mut file = file(&["▁"], &[]);
        let (parent, name) = path.rsplit_once('/').expect("a path");
        file.pointer_mut(parent).expect("a parent")[name] = value;
        let refused = parse(&file).map(|_| ()).expect_err(path);
        assert_eq!(refused, BadTokenizer::Unsupported { field });
        assert!(refused.to_string().contains(field));
    }
    let missing = parse(&file(&["▁", "a"], &["▁ a"]))
        .map(|_| ())
        .expect_err("no whole");
    assert_eq!(
        missing,
        BadTokenizer::TokenMissing {
            token: "▁a".to_owned()
        }
    );
    for merge in ["a", "a b c"] {
        let refused = parse(&file(&["a"], &[merge])).map(|_| ());
        assert!(matches!(refused, Err(BadTokenizer::Malformed(_))), "{refused:?}");
    }
}

#[test]
fn both_notations_of_a_merge_are_read() {
    let mut file = file(&["▁", "a", "▁a"], &["▁ a"]);
    let older = parse(&file).expect("a tokenizer").tokens("a");
    file["model"]["merges"] = json!([["▁", "a"]]);
    assert_eq!(parse(&file).expect("a tokenizer").tokens("a"), older);
    assert_eq!(older, [258]);
}

/// A slow reference implementation: apply the earliest merge, leftmost first, until none applies.
fn plainly(bpe: &Bpe, mut symbols: Vec<u32>) -> Vec<u32> {
    loop {
        let pairs = symbols.windows(2).enumerate();
        let merges = pairs.filter_map(|(at, pair)| Some((*bpe.merges.get(&(pair[0], pair[1]))?, at)));
        let Some(((_, whole), at)) = merges.min_by_key(|((rank, _), at)| (*rank, *at)) else {
            return symbols;
        };
        symbols.splice(at..at + 2, [whole]);
    }
}

#[test]
fn the_fast_merge_matches_the_reference_implementation() {
    let tokens = [
        "▁", "a", "b", "ab", "ba", "aa", "aba", "abab", "▁a", "▁ab", "bb", "aab",
    ];
    let merges = [
        "a a", "b a", "a b", "▁ a", "ab a", "a ba", "b b", "ab ab", "▁ ab", "aa b", "a ab", "▁a b",
    ];
    let bpe = parse(&file(&tokens, &merges)).expect("a tokenizer");
    // All texts of up to eight letters from an alphabet of three.
    for length in 0..=8_u32 {
        for number in 0..3_usize.pow(length) {
            let letter = |place: u32| [' ', 'a', 'b'][number / 3_usize.pow(place) % 3];
            let text: String = (0..length).map(letter).collect();
            let spaced = format!(" {text}").replace(' ', "▁");
            let plain = match text.is_empty() {
                true => Vec::new(),
                false => plainly(&bpe, bpe.symbols(spaced.chars())),
            };
            assert_eq!(bpe.tokens(&text), plain, "{text:?}");
        }
    }
}
