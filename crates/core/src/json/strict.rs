//! A JSON parser that accepts only unambiguous documents.
//!
//! Parsers differ over duplicate keys, lone surrogates, deep nesting and numbers that a double cannot
//! represent. Such documents are rejected before anything is hashed or compared.

#[cfg(test)]
mod tests;

use serde_json::{Map, Number, Value};

/// Maximum nesting depth of objects and arrays, including the outermost.
pub const NESTING_MAX: usize = 127;

/// Number of digits of the greatest integer that a double can represent. A longer literal overflows.
const INTEGER_DIGITS_MAX: usize = 309;

/// Integers with at most this many digits are always exact.
const EXACT_DIGITS: usize = 15;

/// Why a document is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadJson {
    /// A syntax error.
    #[error("no JSON: something else was expected at byte {at}")]
    Malformed {
        /// The byte offset, from 0.
        at: usize,
    },
    #[error("no JSON: byte {at} is not UTF-8")]
    NotUtf8 {
        /// The byte offset, from 0.
        at: usize,
    },
    /// An object has a duplicate key; parsers differ over which value counts.
    #[error("the object that continues at byte {at} has a key twice")]
    DuplicateKey {
        /// The end of the second key's value.
        at: usize,
    },
    /// A lone surrogate; no Unicode string can contain it.
    #[error("a surrogate at byte {at} stands alone")]
    LoneSurrogate {
        /// The byte offset, from 0.
        at: usize,
    },
    /// The nesting is too deep.
    #[error("nested deeper than {NESTING_MAX}, at byte {at}")]
    TooDeep {
        /// The byte offset, from 0.
        at: usize,
    },
    /// A double cannot represent the integer exactly.
    #[error("the integer that ends at byte {at} cannot be held exactly by a double; give it as a string")]
    InexactInteger {
        /// The end of the number.
        at: usize,
    },
    /// The number is too large for a double.
    #[error("the number that ends at byte {at} is too large for a double")]
    Overflow {
        /// The end of the number.
        at: usize,
    },
}

/// Parses one complete JSON document.
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

    /// Consumes this byte if it is next.
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

    /// Skips decimal digits and returns their number.
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

    /// Parses an escape after its backslash.
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

    /// Parses one UTF-16 code unit in hex, or a surrogate pair.
    fn escaped_unit(&mut self) -> Result<char, BadJson> {
        let lone = BadJson::LoneSurrogate { at: self.at };
        let first = self.unit()?;
        if let Some(character) = char::from_u32(first) {
            return Ok(character);
        }
        // Combining it with the second unit shows whether it is a valid first half.
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

    /// Parses an integer. The double's decimal expansion must equal the literal.
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
        // Few digits always fit; `-0` becomes `0`, the only zero in canonical JSON.
        literal
            .parse::<i64>()
            .map(Number::from)
            .map_err(|_| self.malformed())
    }
}
