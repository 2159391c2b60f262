//! POSIX tar headers: 512-byte blocks with the name and the size of a file.

use super::ArchiveError;

/// Size of a tar block; headers and file contents are padded to it.
pub(super) const BLOCK: usize = 512;

/// Byte ranges of the header fields.
const NAME: std::ops::Range<usize> = 0..100;
const SIZE: std::ops::Range<usize> = 124..136;
const CHECKSUM: std::ops::Range<usize> = 148..156;
const KIND: usize = 156;
const MAGIC: std::ops::Range<usize> = 257..265;

/// The largest size that fits into the octal digits. Larger sizes are written in binary, as GNU tar does.
const OCTAL_MAX: u64 = (1 << 33) - 1;

/// Name and size of one archive entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) size: u64,
}

impl Header {
    /// Encodes the header. Returns `None` if the name does not fit.
    pub(super) fn encode(&self, modified_s: u64) -> Option<[u8; BLOCK]> {
        let mut block = [0_u8; BLOCK];
        let name = self.name.as_bytes();
        if name.is_empty() || name.len() > NAME.len() {
            return None;
        }
        put(&mut block, NAME.start, name);
        put(&mut block, 100, b"0000600\0");
        put(&mut block, 108, b"0000000\0");
        put(&mut block, 116, b"0000000\0");
        if self.size <= OCTAL_MAX {
            put(&mut block, SIZE.start, format!("{:011o}\0", self.size).as_bytes());
        } else {
            put(&mut block, SIZE.start, &[0x80]);
            put(&mut block, SIZE.start + 4, &self.size.to_be_bytes());
        }
        put(
            &mut block,
            136,
            format!("{:011o}\0", modified_s.min(OCTAL_MAX)).as_bytes(),
        );
        put(&mut block, KIND, b"0");
        put(&mut block, MAGIC.start, b"ustar\x0000");
        let sum = format!("{:06o}\0 ", checksum(&block));
        put(&mut block, CHECKSUM.start, sum.as_bytes());
        Some(block)
    }

    /// Decodes a block written by [`Header::encode`]. Returns `None` at the end of the archive, which is a
    /// block of zeros.
    pub(super) fn decode(block: &[u8; BLOCK]) -> Result<Option<Self>, ArchiveError> {
        if block.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let damaged = |what: &str| ArchiveError::Damaged(what.to_owned());
        let part = |range: std::ops::Range<usize>| block.get(range).unwrap_or_default();
        if part(MAGIC) != b"ustar\x0000" {
            return Err(damaged("missing header"));
        }
        let sum = format!("{:06o}\0 ", checksum(block));
        if part(CHECKSUM) != sum.as_bytes() {
            return Err(damaged("header checksum mismatch"));
        }
        if block.get(KIND) != Some(&b'0') {
            return Err(damaged("entry is not a regular file"));
        }
        let name = part(NAME).split(|byte| *byte == 0).next().unwrap_or_default();
        let name = std::str::from_utf8(name).map_err(|_| damaged("entry name is not valid UTF-8"))?;
        let size = match part(SIZE) {
            [0x80, 0, 0, 0, rest @ ..] => rest.try_into().ok().map(u64::from_be_bytes),
            digits => octal(digits.get(..11).unwrap_or_default()),
        };
        let size = size.ok_or_else(|| damaged("entry size is not a number"))?;
        let name = name.to_owned();
        Ok(Some(Self { name, size }))
    }

    /// Number of padding bytes between the end of the file and the next header.
    pub(super) fn padding(&self) -> usize {
        let over = usize::try_from(self.size % BLOCK as u64).unwrap_or(0);
        (BLOCK - over) % BLOCK
    }
}

fn put(block: &mut [u8; BLOCK], at: usize, bytes: &[u8]) {
    block
        .iter_mut()
        .skip(at)
        .zip(bytes)
        .for_each(|(to, from)| *to = *from);
}

fn octal(digits: &[u8]) -> Option<u64> {
    // Only digits are accepted, because integer parsing would also accept a sign.
    let text = std::str::from_utf8(digits).ok()?;
    let is_plain = digits.iter().all(|digit| matches!(digit, b'0'..=b'7'));
    u64::from_str_radix(text, 8).ok().filter(|_| is_plain)
}

/// The sum of all bytes, with the checksum field itself counted as spaces.
fn checksum(block: &[u8; BLOCK]) -> u32 {
    let bytes = block.iter().enumerate();
    bytes
        .map(|(at, byte)| u32::from(if CHECKSUM.contains(&at) { b' ' } else { *byte }))
        .sum()
}
