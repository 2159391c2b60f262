//! JSON that means the same to every reader.
//!
//! Parsers differ over duplicate keys, lone surrogates, deep nesting and numbers that a double cannot hold. What one
//! program would read so and another otherwise is refused here, before anything is hashed or compared.

use serde_json::{Map, Number, Value};

/// Objects and arrays inside one another that are followed, the outermost included.
pub const NESTING_MAX: usize = 127;

/// Digits of the longest integer that a double holds. A longer literal overflows it.
const INTEGER_DIGITS_MAX: usize = 309;

/// Integers of so few digits are always exact.
const EXACT_DIGITS: usize = 15;

/// Why a text is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadJson {
    /// It does not follow the grammar.
    #[error("no JSON: something else was expected at byte {at}")]
    Malformed {
        /// Where, counted in bytes from 0.
        at: usize,
    },
    /// It is not UTF-8.
    #[error("no JSON: byte {at} is not UTF-8")]
    NotUtf8 {
        /// Where, counted in bytes from 0.
        at: usize,
    },
    /// An object has a key twice; readers differ over which counts.
    #[error("the object that goes on at byte {at} has a key twice")]
    DuplicateKey {
        /// The end of the second key's value.
        at: usize,
    },
    /// Half of a pair of surrogates stands alone; no string of Unicode can hold it.
    #[error("a surrogate at byte {at} stands alone")]
    LoneSurrogate {
        /// Where, counted in bytes from 0.
        at: usize,
    },
    /// Too many objects and arrays inside one another.
    #[error("nested deeper than {NESTING_MAX}, at byte {at}")]
    TooDeep {
        /// Where, counted in bytes from 0.
        at: usize,
    },
    /// A double would hold another integer.
    #[error("the integer that ends at byte {at} cannot be held exactly by a double; give it as a string")]
    InexactInteger {
        /// The end of the number.
        at: usize,
    },
    /// A double cannot hold a number so large.
    #[error("the number that ends at byte {at} is too large for a double")]
    Overflow {
        /// The end of the number.
        at: usize,
    },
}

/// Reads one JSON text, all of it.
pub fn parse(bytes: &[u8]) -> Result<Value, BadJson> {
    let text = std::str::from_utf8(bytes).map_err(|error| BadJson::NotUtf8 {
        at: error.valid_up_to(),
    })?;
    let mut reader = Reader {
        text,
        at: 0,
        depth: 0,
    };
    let value = reader.value()?;
    reader.skip_blanks();
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err(reader.malformed()),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    const fn malformed(&self) -> BadJson {
        BadJson::Malformed { at: self.at }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Takes this byte if it is the next one.
    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, byte: u8) -> Result<(), BadJson> {
        if self.take(byte) {
            Ok(())
        } else {
            Err(self.malformed())
        }
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// How many decimal digits follow; they are passed over.
    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    fn value(&mut self) -> Result<Value, BadJson> {
        self.skip_blanks();
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number().map(Value::Number),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(_) | None => Err(self.malformed()),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, BadJson> {
        if !self.rest().starts_with(word) {
            return Err(self.malformed());
        }
        self.at += word.len();
        Ok(value)
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Result<Value, BadJson>) -> Result<Value, BadJson> {
        if self.depth == NESTING_MAX {
            return Err(BadJson::TooDeep { at: self.at });
        }
        self.depth += 1;
        self.at += 1;
        self.skip_blanks();
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<Value, BadJson> {
        let mut members = Map::new();
        if self.take(b'}') {
            return Ok(Value::Object(members));
        }
        loop {
            self.skip_blanks();
            let key = self.string()?;
            self.skip_blanks();
            self.expect(b':')?;
            let value = self.value()?;
            if members.insert(key, value).is_some() {
                return Err(BadJson::DuplicateKey { at: self.at });
            }
            self.skip_blanks();
            if self.take(b'}') {
                return Ok(Value::Object(members));
            }
            self.expect(b',')?;
        }
    }

    fn array(&mut self) -> Result<Value, BadJson> {
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value()?);
            self.skip_blanks();
            if self.take(b']') {
                return Ok(Value::Array(items));
            }
            self.expect(b',')?;
        }
    }

    fn string(&mut self) -> Result<String, BadJson> {
        self.expect(b'"')?;
        let mut string = String::new();
        loop {
            let start = self.at;
            while self
                .peek()
                .is_some_and(|byte| byte >= b' ' && !matches!(byte, b'"' | b'\\'))
            {
                self.at += 1;
            }
            string.push_str(self.text.get(start..self.at).unwrap_or_default());
            if self.take(b'"') {
                return Ok(string);
            }
            self.expect(b'\\')?;
            string.push(self.escaped()?);
        }
    }

    /// The character that an escape stands for; its backslash is behind us.
    fn escaped(&mut self) -> Result<char, BadJson> {
        let character = match self.peek() {
            Some(plain @ (b'"' | b'\\' | b'/')) => char::from(plain),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.escaped_unit();
            }
            Some(_) | None => return Err(self.malformed()),
        };
        self.at += 1;
        Ok(character)
    }

    /// The character of one UTF-16 unit in hex, or of two that belong together.
    fn escaped_unit(&mut self) -> Result<char, BadJson> {
        let lone = BadJson::LoneSurrogate { at: self.at };
        let first = self.unit()?;
        if let Some(character) = char::from_u32(first) {
            return Ok(character);
        }
        // Whether it is the first half at all is told by what it makes with a second one.
        if first >= 0xDC00 || !self.rest().starts_with("\\u") {
            return Err(lone);
        }
        self.at += "\\u".len();
        match self.unit()? {
            second @ 0xDC00..=0xDFFF => {
                char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00)).ok_or(lone)
            }
            _ => Err(lone),
        }
    }

    fn unit(&mut self) -> Result<u32, BadJson> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            unit = unit * 16 + digit.ok_or(self.malformed())?;
            self.at += 1;
        }
        Ok(unit)
    }

    fn number(&mut self) -> Result<Number, BadJson> {
        let start = self.at;
        let is_negative = self.take(b'-');
        let leads_with_zero = self.peek() == Some(b'0');
        let digits = self.digits();
        if digits == 0 || (leads_with_zero && digits > 1) {
            return Err(self.malformed());
        }
        let mut is_integer = true;
        if self.take(b'.') {
            is_integer = false;
            if self.digits() == 0 {
                return Err(self.malformed());
            }
        }
        if self.take(b'e') || self.take(b'E') {
            is_integer = false;
            let _ = self.take(b'+') || self.take(b'-');
            if self.digits() == 0 {
                return Err(self.malformed());
            }
        }
        let literal = self.text.get(start..self.at).unwrap_or_default();
        if is_integer {
            self.integer(literal, digits, is_negative)
        } else {
            let double = literal.parse::<f64>().map_err(|_| self.malformed())?;
            Number::from_f64(double).ok_or(BadJson::Overflow { at: self.at })
        }
    }

    /// An integer. That of a double is written out in all its digits, so the literal must be the same.
    fn integer(&self, literal: &str, digits: usize, is_negative: bool) -> Result<Number, BadJson> {
        if digits > EXACT_DIGITS {
            let overflow = BadJson::Overflow { at: self.at };
            if digits > INTEGER_DIGITS_MAX {
                return Err(overflow);
            }
            let double = literal.parse::<f64>().map_err(|_| self.malformed())?;
            if double.is_infinite() {
                return Err(overflow);
            }
            if format!("{double:.0}") != literal {
                return Err(BadJson::InexactInteger { at: self.at });
            }
            if !is_negative && let Ok(large) = literal.parse::<u64>() {
                return Ok(Number::from(large));
            }
            return match literal.parse::<i64>() {
                Ok(large) => Ok(Number::from(large)),
                Err(_) => Number::from_f64(double).ok_or(overflow),
            };
        }
        // Few digits always fit; `-0` becomes the one zero that canonical JSON knows.
        literal
            .parse::<i64>()
            .map(Number::from)
            .map_err(|_| self.malformed())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Result<Value, BadJson> {
        parse(text.as_bytes())
    }

    #[test]
    fn plain_json_is_read_as_everybody_reads_it() {
        let text = r#" { "a" : [ 1 , -2.5e1 , true , false , null , "x\n\u00e9\ud83d\ude00\/" ] , "" : { } , "b":[ ] } "#;
        let value = json!({"a": [1, -25.0, true, false, null, "x\n\u{e9}\u{1f600}/"], "": {}, "b": []});
        assert_eq!(read(text), Ok(value));
    }

    #[test]
    fn what_the_grammar_does_not_have_is_refused() {
        for bad in [
            "",
            " ",
            "{",
            "}",
            "[1,]",
            "[,1]",
            "{\"a\":1,}",
            "{\"a\"}",
            "{a:1}",
            "{'a':1}",
            "1 2",
            "{}{}",
            "nul",
            "nulll",
            "True",
            "NaN",
            "Infinity",
            "-Infinity",
            "+1",
            "01",
            "-01",
            "1.",
            ".5",
            "-",
            "1e",
            "1e+",
            "0x1",
            "1_0",
            "\"\t\"",
            "\"a",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u12g4\"",
            "\"\\",
            "[1 2]",
            "\u{feff}{}",
            "// x\n{}",
            "{\"a\":1 \"b\":2}",
            "\0",
            "[\u{a0}1]",
        ] {
            assert!(
                matches!(read(bad), Err(BadJson::Malformed { .. })),
                "{bad:?}: {:?}",
                read(bad)
            );
        }
        assert_eq!(parse(b"\"\xff\""), Err(BadJson::NotUtf8 { at: 1 }));
        assert_eq!(
            parse(b"\"\xed\xa0\x80\""),
            Err(BadJson::NotUtf8 { at: 1 }),
            "an encoded surrogate"
        );
    }

    #[test]
    fn a_key_that_is_spelled_in_two_ways_is_still_one_key() {
        assert!(matches!(
            read(r#"{"a":1,"\u0061":1}"#),
            Err(BadJson::DuplicateKey { .. })
        ));
        assert!(matches!(
            read(r#"[{"x":{"a":1,"a":1}}]"#),
            Err(BadJson::DuplicateKey { .. })
        ));
        assert!(read(r#"[{"a":1},{"a":1}]"#).is_ok());
    }

    #[test]
    fn half_a_pair_of_surrogates_is_no_character() {
        for bad in [
            r#""\ud800""#,
            r#""\udc00""#,
            r#""\ud800x""#,
            r#""\ud800\n""#,
            r#""\ud800\ud800""#,
            r#""\udc00\ud800""#,
        ] {
            assert!(matches!(read(bad), Err(BadJson::LoneSurrogate { .. })), "{bad}");
        }
        assert_eq!(read(r#""\uD834\uDD1E""#), Ok(json!("\u{1d11e}")));
        assert_eq!(
            read(r#""\ud7ff\ue000\uffff\u0000""#),
            Ok(json!("\u{d7ff}\u{e000}\u{ffff}\0"))
        );
        assert!(matches!(
            read(r#"{"\ud800":1}"#),
            Err(BadJson::LoneSurrogate { .. })
        ));
    }

    #[test]
    fn nesting_ends_at_its_bound() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(read(&nested(NESTING_MAX)).is_ok());
        assert_eq!(
            read(&nested(NESTING_MAX + 1)),
            Err(BadJson::TooDeep { at: NESTING_MAX })
        );
        assert!(matches!(
            read(&"[".repeat(1_000_000)),
            Err(BadJson::TooDeep { .. })
        ));
        let beside = format!("[{}]", vec![nested(NESTING_MAX - 1); 3].join(","));
        assert!(read(&beside).is_ok(), "what is closed does not count");
    }

    #[test]
    fn an_integer_is_taken_only_if_a_double_holds_it() {
        for good in [
            "9007199254740992",
            "-9007199254740992",
            "9007199254740994",
            "18446744073709551616",
            "9223372036854775808",
        ] {
            let double = good.parse::<f64>().expect("a number");
            assert_eq!(read(good).map(|value| value.as_f64()), Ok(Some(double)), "{good}");
        }
        let large = format!("1{}", "0".repeat(22));
        assert!(read(&large).is_ok(), "10^22 is exact");
        for bad in [
            "9007199254740993",
            "-9007199254740993",
            "18446744073709551615",
            "9223372036854775807",
        ] {
            assert!(matches!(read(bad), Err(BadJson::InexactInteger { .. })), "{bad}");
        }
        assert!(matches!(
            read(&format!("1{}", "0".repeat(23))),
            Err(BadJson::InexactInteger { .. })
        ));
        assert_eq!(read("-0"), Ok(json!(0)));
        assert_eq!(
            read("9007199254740993.0"),
            Ok(json!(9_007_199_254_740_992.0)),
            "no integer literal"
        );
    }

    #[test]
    fn a_number_that_overflows_a_double_is_refused() {
        for bad in [
            "1e309",
            "-1e309",
            "1.7976931348623159e308",
            "1e999999999999999999999",
            &"9".repeat(400),
            &"9".repeat(309),
        ] {
            assert!(matches!(read(bad), Err(BadJson::Overflow { .. })), "{bad}");
        }
        assert_eq!(read("1.7976931348623157e308"), Ok(json!(f64::MAX)));
        assert_eq!(read("1e-400"), Ok(json!(0.0)));
        assert_eq!(read("0e999999999999999999999"), Ok(json!(0.0)));
        assert_eq!(read("5e-324"), Ok(json!(5e-324)));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-(1_i64 << 53)..=(1_i64 << 53)).prop_map(Value::from),
            any::<f64>()
                .prop_filter("finite", |double| double.is_finite())
                .prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::btree_map(".{0,4}", inner, 0..5)
                    .prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    /// Whether serde_json reads the same. Canonically, because it knows a zero with a sign.
    fn is_as_theirs(value: &Value, bytes: &[u8]) -> bool {
        let canonical = |value: &Value| crate::json::canonical(value).expect("canonical");
        let theirs = serde_json::from_slice::<Value>(bytes).map(|value| canonical(&value));
        theirs.is_ok_and(|theirs| theirs == canonical(value))
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(value in any_json()) {
            prop_assert_eq!(read(&value.to_string()), Ok(value.clone()));
            prop_assert_eq!(read(&format!("{value:#}")), Ok(value));
        }

        /// Whatever arrives, the answer is one of ours; and what is taken, serde_json takes as well.
        #[test]
        fn no_bytes_make_it_fall_over(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(value) = parse(&bytes) {
                prop_assert!(is_as_theirs(&value, &bytes));
            }
        }

        #[test]
        fn no_text_of_its_own_words_makes_it_fall_over(text in r#"[\[\]{}:,"\\u0d8eE.+\-1 tfn]{0,40}"#) {
            if let Ok(value) = read(&text) {
                prop_assert!(is_as_theirs(&value, text.as_bytes()));
            }
        }
    }
}
