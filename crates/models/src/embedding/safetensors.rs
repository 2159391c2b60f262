//! One table of numbers in a `.safetensors` file.
//!
//! The format is a length of eight bytes, a JSON header of that length and the bare numbers. Only what a word table
//! needs is read: one tensor of two dimensions, in halves or singles.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use wakeful_core::embedding::DIMENSIONS_MAX;
use wakeful_core::failure::truncate_chars;

use super::{CAUSE_CHARS_MAX, GIVEN_CHARS_MAX};

/// Largest file in bytes. The usual table has 16 MiB; 128,256 rows of 1,024 halves have 263 MB.
pub const TENSOR_BYTES_MAX: usize = 512 * 1024 * 1024;

/// Longest header in bytes. One tensor takes about a hundred.
pub const HEADER_BYTES_MAX: usize = 64 * 1024;

/// Most rows. The largest vocabularies have a quarter of that.
pub const ROWS_MAX: usize = 1 << 20;

/// Bytes before the header, which say how long it is.
const LENGTH_BYTES: usize = 8;

/// A file that holds no word table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTensor {
    /// It ends too early, or its header is too long.
    #[error("its header does not fit into it, or has more than {HEADER_BYTES_MAX} bytes")]
    HeaderLength,
    /// The header cannot be read.
    #[error("its header is not what the format allows: {0}")]
    Header(String),
    /// Not one tensor.
    #[error("it holds {given} tensors, and a word table is one")]
    Tensors {
        /// How many it holds.
        given: usize,
    },
    /// Numbers of another kind.
    #[error("its numbers are {given}; F16, BF16 and F32 are read")]
    Kind {
        /// What the header says.
        given: String,
    },
    /// Not a table, or one of another size than can be used.
    #[error(
        "its shape is {given}, and a word table has 1 to {ROWS_MAX} rows of 1 to {DIMENSIONS_MAX} numbers"
    )]
    Shape {
        /// What the header says.
        given: String,
    },
    /// Header and content do not agree.
    #[error("its content has {given} bytes, and its header wants {wanted}")]
    Content {
        /// How many there are.
        given: usize,
        /// How many there should be.
        wanted: usize,
    },
    /// A number that is none.
    #[error("row {row} holds something that is not a finite number")]
    NotFinite {
        /// Which, from 0.
        row: usize,
    },
}

#[derive(Debug, Deserialize)]
struct Header {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

/// How a number is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    F16,
    BF16,
    F32,
}

impl Kind {
    const fn bytes(self) -> usize {
        match self {
            Self::F16 | Self::BF16 => 2,
            Self::F32 => 4,
        }
    }

    /// The number in these bytes, of which there are as many as [`Self::bytes`] says.
    fn number(self, bytes: &[u8]) -> f32 {
        match (self, bytes) {
            (Self::F16, [a, b]) => of_half(u16::from_le_bytes([*a, *b])),
            (Self::BF16, [a, b]) => f32::from_le_bytes([0, 0, *a, *b]),
            (Self::F32, [a, b, c, d]) => f32::from_le_bytes([*a, *b, *c, *d]),
            (Self::F16 | Self::BF16 | Self::F32, _) => f32::NAN,
        }
    }
}

/// A half as a single, which holds every half exactly.
fn of_half(half: u16) -> f32 {
    /// The smallest half above zero, 2⁻²⁴.
    const SMALLEST: f32 = 1.0 / 16_777_216.0;
    let (exponent, fraction) = (u32::from(half >> 10 & 0x1f), u32::from(half & 0x3ff));
    let size = match exponent {
        0 => f32::from(half & 0x3ff) * SMALLEST,
        0x1f => f32::from_bits(0x7f80_0000 | fraction << 13),
        // The bias of a half is 15 and that of a single 127.
        _ => f32::from_bits((exponent + 112) << 23 | fraction << 13),
    };
    if half >> 15 == 1 { -size } else { size }
}

/// Rows of numbers, kept as they are in the file: half the memory, and a text touches few of them.
#[derive(Debug)]
pub(super) struct Tensor {
    file: Vec<u8>,
    begin: usize,
    kind: Kind,
    rows: usize,
    columns: usize,
}

impl Tensor {
    /// Takes a file over. Everything is checked here, so that a row is there when it is asked for.
    pub(super) fn parse(file: Vec<u8>) -> Result<Self, BadTensor> {
        let (length, rest) = file
            .split_first_chunk::<LENGTH_BYTES>()
            .ok_or(BadTensor::HeaderLength)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| BadTensor::HeaderLength)?;
        if length > HEADER_BYTES_MAX {
            return Err(BadTensor::HeaderLength);
        }
        let header = rest.get(..length).ok_or(BadTensor::HeaderLength)?;
        let given = rest.len() - length;
        let header = header_of(header)?;
        let kind = match header.dtype.as_str() {
            "F16" => Kind::F16,
            "BF16" => Kind::BF16,
            "F32" => Kind::F32,
            other => {
                let given = truncate_chars(other, GIVEN_CHARS_MAX);
                return Err(BadTensor::Kind { given });
            }
        };
        let (rows, columns) = match header.shape.as_slice() {
            [rows @ 1..=ROWS_MAX, columns @ 1..=DIMENSIONS_MAX] => (*rows, *columns),
            other => {
                let given = truncate_chars(&format!("{other:?}"), GIVEN_CHARS_MAX);
                return Err(BadTensor::Shape { given });
            }
        };
        // Where so many bytes cannot be counted, no file has them either.
        let wanted = rows.saturating_mul(columns).saturating_mul(kind.bytes());
        if wanted != given || header.data_offsets != [0, wanted] {
            return Err(BadTensor::Content { given, wanted });
        }
        let tensor = Self {
            begin: LENGTH_BYTES + length,
            file,
            kind,
            rows,
            columns,
        };
        let bad = (0..rows).find(|row| tensor.row(*row).any(|number| !number.is_finite()));
        bad.map_or(Ok(tensor), |row| Err(BadTensor::NotFinite { row }))
    }

    /// How many rows there are.
    pub(super) const fn rows(&self) -> usize {
        self.rows
    }

    /// How many numbers a row has.
    pub(super) const fn columns(&self) -> usize {
        self.columns
    }

    /// The numbers of a row; none where there is no such row.
    pub(super) fn row(&self, row: usize) -> impl Iterator<Item = f32> {
        let bytes = self.columns * self.kind.bytes();
        let begin = row.saturating_mul(bytes).saturating_add(self.begin);
        let row = self
            .file
            .get(begin..begin.saturating_add(bytes))
            .unwrap_or_default();
        row.chunks_exact(self.kind.bytes())
            .map(|bytes| self.kind.number(bytes))
    }
}

fn header_of(bytes: &[u8]) -> Result<Header, BadTensor> {
    let unread =
        |error: serde_json::Error| BadTensor::Header(truncate_chars(&error.to_string(), CAUSE_CHARS_MAX));
    let mut entries: BTreeMap<String, Value> = serde_json::from_slice(bytes).map_err(unread)?;
    entries.remove("__metadata__");
    let given = entries.len();
    match (entries.pop_first(), given) {
        (Some((_, tensor)), 1) => serde_json::from_value(tensor).map_err(unread),
        _ => Err(BadTensor::Tensors { given }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_is_the_number_it_stands_for() {
        for half in 0..=u16::MAX {
            let (exponent, fraction) = (i32::from(half >> 10 & 0x1f), f64::from(half & 0x3ff));
            let sign = if half >= 0x8000 { -1.0 } else { 1.0 };
            let meant = match exponent {
                0 => sign * fraction / 1024.0 * 2_f64.powi(-14),
                31 if fraction == 0.0 => sign * f64::INFINITY,
                31 => f64::NAN,
                _ => sign * (1.0 + fraction / 1024.0) * 2_f64.powi(exponent - 15),
            };
            let read = f64::from(of_half(half));
            assert!(
                read == meant || (read.is_nan() && meant.is_nan()),
                "{half:#06x}: {read} {meant}"
            );
        }
    }

    #[test]
    fn every_kind_of_number_gives_the_same_rows() {
        let kinds: [(&str, Vec<u8>); 3] = [
            (
                "F16",
                [0x3c00_u16, 0xc000, 0x3800, 0]
                    .into_iter()
                    .flat_map(u16::to_le_bytes)
                    .collect(),
            ),
            (
                "BF16",
                [0x3f80_u16, 0xc000, 0x3f00, 0]
                    .into_iter()
                    .flat_map(u16::to_le_bytes)
                    .collect(),
            ),
            (
                "F32",
                [1.0_f32, -2.0, 0.5, 0.0]
                    .into_iter()
                    .flat_map(f32::to_le_bytes)
                    .collect(),
            ),
        ];
        for (kind, content) in kinds {
            let header = format!(
                r#"{{"__metadata__":{{"format":"pt"}},"w":{{"dtype":"{kind}","shape":[2,2],"data_offsets":[0,{}]}}}}"#,
                content.len()
            );
            let length = u64::try_from(header.len()).expect("a length").to_le_bytes();
            let file = [&length, header.as_bytes(), &content].concat();
            let tensor = Tensor::parse(file).expect(kind);
            assert_eq!((tensor.rows(), tensor.columns()), (2, 2));
            assert_eq!(tensor.row(0).collect::<Vec<_>>(), [1.0, -2.0]);
            assert_eq!(tensor.row(1).collect::<Vec<_>>(), [0.5, 0.0]);
            assert_eq!(tensor.row(2).count() + tensor.row(usize::MAX).count(), 0);
        }
    }
}
