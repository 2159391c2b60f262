//! Reads the number table of a `.safetensors` file.
//!
//! The format is a length of eight bytes, a JSON header of that length, and the raw numbers. Only the part
//! that a word table needs is supported: one tensor of two dimensions with half or single precision.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use wakeful_core::embedding::DIMENSIONS_MAX;
use wakeful_core::failure::truncate_chars;

use super::{CAUSE_CHARS_MAX, GIVEN_CHARS_MAX};

/// Largest file in bytes. A typical table has 16 MiB; 128,256 rows of 1,024 half-precision numbers have 263
/// MB.
pub const TENSOR_BYTES_MAX: usize = 512 * 1024 * 1024;

/// Longest header in bytes. One tensor takes about a hundred.
pub const HEADER_BYTES_MAX: usize = 64 * 1024;

/// Maximum number of rows. The largest vocabularies have a quarter of that.
pub const ROWS_MAX: usize = 1 << 20;

/// Length of the prefix that contains the length of the header, in bytes.
const LENGTH_BYTES: usize = 8;

/// Why a file cannot be used as a word table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTensor {
    /// The file ends too early, or its header is too long.
    #[error("the header is truncated or has more than {HEADER_BYTES_MAX} bytes")]
    HeaderLength,
    /// The header cannot be parsed.
    #[error("invalid header: {0}")]
    Header(String),
    /// The file does not contain exactly one tensor.
    #[error("the file contains {given} tensors instead of one")]
    Tensors { given: usize },
    /// The number type is not supported.
    #[error("unsupported number type {given}; F16, BF16 and F32 are supported")]
    Kind { given: String },
    /// The tensor is not a table, or its size is out of range.
    #[error(
        "unsupported shape {given}; a word table has 1 to {ROWS_MAX} rows of 1 to {DIMENSIONS_MAX} numbers"
    )]
    Shape { given: String },
    /// The size of the content does not match the header.
    #[error("the content has {given} bytes instead of the {wanted} that the header declares")]
    Content { given: usize, wanted: usize },
    /// A number is infinite or NaN.
    #[error("row {row} contains a number that is not finite")]
    NotFinite {
        /// The row, starting at 0.
        row: usize,
    },
}

#[derive(Debug, Deserialize)]
struct Header {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

/// The type of the numbers.
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

    /// Decodes a number from exactly [`Self::bytes`] bytes.
    fn number(self, bytes: &[u8]) -> f32 {
        match (self, bytes) {
            (Self::F16, [a, b]) => of_half(u16::from_le_bytes([*a, *b])),
            (Self::BF16, [a, b]) => f32::from_le_bytes([0, 0, *a, *b]),
            (Self::F32, [a, b, c, d]) => f32::from_le_bytes([*a, *b, *c, *d]),
            (Self::F16 | Self::BF16 | Self::F32, _) => f32::NAN,
        }
    }
}

/// Converts half precision to single precision, which is always exact.
fn of_half(half: u16) -> f32 {
    /// The smallest positive half-precision number, 2⁻²⁴.
    const SMALLEST: f32 = 1.0 / 16_777_216.0;
    let (exponent, fraction) = (u32::from(half >> 10 & 0x1f), u32::from(half & 0x3ff));
    let size = match exponent {
        0 => f32::from(half & 0x3ff) * SMALLEST,
        0x1f => f32::from_bits(0x7f80_0000 | fraction << 13),
        // The exponent bias is 15 for half precision and 127 for single precision.
        _ => f32::from_bits((exponent + 112) << 23 | fraction << 13),
    };
    if half >> 15 == 1 { -size } else { size }
}

/// A table of numbers in the encoding of the file, which takes half the memory; a text reads only a few
/// rows.
#[derive(Debug)]
pub(super) struct Tensor {
    file: Vec<u8>,
    begin: usize,
    kind: Kind,
    rows: usize,
    columns: usize,
}

impl Tensor {
    /// Parses a file. All checks happen here, so that reading a row cannot fail.
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
        // If the size overflows, it cannot match any file.
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

    /// Returns the number of rows.
    pub(super) const fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    pub(super) const fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the numbers of a row; empty if the row does not exist.
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
    fn every_half_precision_number_is_converted_exactly() {
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
    fn all_number_types_give_the_same_rows() {
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
