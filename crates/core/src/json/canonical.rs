//! The canonical serializer. It writes to one buffer: members are written in the given order and sorted at
//! the end of their object. Most objects are already in order and need no move.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// Every integer up to this one is exact as a double.
const EXACT_MAX: u64 = 1 << 53;

pub(super) fn spell<T: Serialize>(value: &T) -> Result<Vec<u8>, serde_json::Error> {
    let out = RefCell::new(Vec::with_capacity(256));
    let formatter = Ordered {
        out: &out,
        objects: Vec::new(),
        members: Vec::new(),
    };
    value.serialize(&mut Serializer::with_formatter(Out(&out), formatter))?;
    Ok(out.into_inner())
}

/// Writes to the buffer that the formatter shares.
struct Out<'a>(&'a RefCell<Vec<u8>>);

impl io::Write for Out<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The position of a member in the buffer, from its name to the end of its value.
#[derive(Debug, Clone, Copy)]
struct Member {
    begins: usize,
    name_ends: usize,
    ends: usize,
}

/// A formatter that sorts members and writes numbers as doubles.
struct Ordered<'a> {
    out: &'a RefCell<Vec<u8>>,
    /// For each open object, the index of its first member.
    objects: Vec<usize>,
    members: Vec<Member>,
}

impl Ordered<'_> {
    fn here(&self) -> usize {
        self.out.borrow().len()
    }

    /// Sorts the members of the innermost object. Duplicate names are an error.
    fn put_in_order(&mut self) -> io::Result<()> {
        let first = self.objects.pop().unwrap_or_default();
        let members = self.members.get_mut(first..).unwrap_or_default();
        let mut out = self.out.borrow_mut();
        let in_order = |pair: &[Member]| matches!(pair, [a, b] if compare(&out, a, b) == Ordering::Less);
        if let Some(begins) = members.first().map(|member| member.begins)
            && !members.windows(2).all(in_order)
        {
            members.sort_by(|a, b| compare(&out, a, b));
            if !members.windows(2).all(in_order) {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "two members have the same name",
                ));
            }
            let mut ordered: Vec<u8> = Vec::with_capacity(out.len().saturating_sub(begins));
            for member in &*members {
                if !ordered.is_empty() {
                    ordered.push(b',');
                }
                ordered.extend(out.get(member.begins..member.ends).unwrap_or_default());
            }
            out.truncate(begins);
            out.append(&mut ordered);
        }
        self.members.truncate(first);
        Ok(())
    }
}

/// Compares names by their UTF-16 code units, as RFC 8785 requires.
fn compare(out: &[u8], a: &Member, b: &Member) -> Ordering {
    let name = |member: &Member| out.get(member.begins..member.name_ends).unwrap_or_default();
    let (a, b) = (name(a), name(b));
    let is_plain = |name: &[u8]| name.iter().all(|byte| byte.is_ascii() && *byte != b'\\');
    if is_plain(a) && is_plain(b) {
        // Without the quotes: the closing quote is greater than some characters.
        return unquoted(a).cmp(unquoted(b));
    }
    let units = |name: &[u8]| -> Vec<u16> {
        let name: String = serde_json::from_slice(name).unwrap_or_default();
        name.encode_utf16().collect()
    };
    units(a).cmp(&units(b))
}

fn unquoted(name: &[u8]) -> &[u8] {
    name.get(1..name.len().saturating_sub(1)).unwrap_or_default()
}

impl Formatter for Ordered<'_> {
    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.objects.push(self.members.len());
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.put_in_order()?;
        writer.write_all(b"}")
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        let begins = self.here();
        self.members.push(Member {
            begins,
            name_ends: begins,
            ends: begins,
        });
        Ok(())
    }

    fn end_object_key<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        let name_ends = self.here();
        if let Some(member) = self.members.last_mut() {
            member.name_ends = name_ends;
        }
        Ok(())
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        let ends = self.here();
        if let Some(member) = self.members.last_mut() {
            member.ends = ends;
        }
        Ok(())
    }

    fn write_i64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: i64) -> io::Result<()> {
        if value.unsigned_abs() <= EXACT_MAX {
            return write!(writer, "{value}");
        }
        self.write_f64(writer, value as f64)
    }

    fn write_u64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: u64) -> io::Result<()> {
        if value <= EXACT_MAX {
            return write!(writer, "{value}");
        }
        self.write_f64(writer, value as f64)
    }

    fn write_i128<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: i128) -> io::Result<()> {
        self.write_f64(writer, value as f64)
    }

    fn write_u128<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: u128) -> io::Result<()> {
        self.write_f64(writer, value as f64)
    }

    fn write_f32<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f32) -> io::Result<()> {
        self.write_f64(writer, f64::from(value))
    }

    fn write_raw_fragment<W: ?Sized + io::Write>(&mut self, _: &mut W, _: &str) -> io::Result<()> {
        // A raw fragment may not be canonical.
        Err(io::ErrorKind::Unsupported.into())
    }

    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        // The value is always finite.
        writer.write_all(ryu_js::Buffer::new().format_finite(value).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    use super::*;

    /// The output of the reference implementation.
    fn theirs<T: Serialize>(value: &T) -> Option<String> {
        String::from_utf8(serde_json_canonicalizer::to_vec(value).ok()?).ok()
    }

    fn ours<T: Serialize>(value: &T) -> Option<String> {
        String::from_utf8(spell(value).ok()?).ok()
    }

    #[derive(Serialize)]
    struct Outer {
        z: u8,
        inner: Inner,
        a: Option<i64>,
        list: Vec<Inner>,
    }

    #[derive(Serialize, Clone)]
    struct Inner {
        b: String,
        #[serde(flatten)]
        more: Map<String, Value>,
        a: u64,
    }

    fn name() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-c]{0,3}",
            "[a-c\"\\\\\u{0}-\u{1f}!]{0,3}",
            prop::collection::vec(any::<char>(), 0..3).prop_map(|chars| chars.into_iter().collect()),
        ]
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-20i64..20).prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            name().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 64, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((name(), inner), 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_value_is_serialized_like_the_reference(value in value()) {
            prop_assert_eq!(ours(&value), theirs(&value));
        }

        #[test]
        fn fields_in_any_order_are_serialized_like_the_reference(
            names in prop::collection::btree_map(name(), value(), 0..4),
            z in any::<u8>(), a in any::<Option<i64>>(), n in any::<u64>(), b in name(),
        ) {
            let inner = Inner { b, more: names.into_iter().collect(), a: n };
            let outer = Outer { z, inner: inner.clone(), a, list: vec![inner.clone(), inner] };
            prop_assert_eq!(ours(&outer), theirs(&outer));
        }
    }

    #[test]
    fn names_are_ordered_by_their_utf_16_code_units() {
        let value =
            json!({"\u{fb33}": 1, "\u{1f600}": 2, "\u{20ac}": 3, "1": 4, "\r": 5, "\u{80}": 6, "\u{f6}": 7});
        assert_eq!(ours(&value), theirs(&value));
        assert!(ours(&value).is_some_and(|text| text.starts_with("{\"\\r\":5,\"1\":4")));
    }

    #[test]
    fn a_name_precedes_longer_names_that_start_with_it() {
        assert_eq!(
            ours(&json!({"a!": 1, "a": 2})).as_deref(),
            Some(r#"{"a":2,"a!":1}"#)
        );
    }

    #[test]
    fn a_map_with_keys_other_than_strings_is_rejected() {
        let map: std::collections::BTreeMap<Vec<u8>, u8> = [(vec![1], 1)].into();
        assert!(spell(&map).is_err());
    }

    #[test]
    fn large_integers_become_doubles() {
        for number in [EXACT_MAX - 1, EXACT_MAX, EXACT_MAX + 1, EXACT_MAX + 2, u64::MAX] {
            assert_eq!(ours(&number), theirs(&number));
        }
        assert_eq!(ours(&i64::MIN), theirs(&i64::MIN));
        assert_eq!(ours(&(i128::MAX, u128::MAX)), theirs(&(i128::MAX, u128::MAX)));
        assert_eq!(ours(&1.5f32).as_deref(), Some("1.5"));
        assert_eq!(ours(&-0.0).as_deref(), Some("0"));
    }
}
