use proptest::prelude::*;

use super::*;

fn some_sources() -> impl Strategy<Value = Sources> {
    proptest::collection::vec((0..SourceKind::ALL.len(), "[a-d]{0,2}"), 0..20).prop_map(|refs| {
        let mut sources = Sources::none();
        for (kind, name) in refs {
            sources.join(&Sources::of(SourceKind::ALL[kind], &name));
        }
        sources
    })
}

proptest! {
    /// For all sources, joining is a union whose order does not matter, and no join makes them trusted.
    #[test]
    fn joining_is_a_bounded_union(a in some_sources(), b in some_sources(), c in some_sources()) {
        let ab = a.clone().joined(&b);
        prop_assert_eq!(&ab, &b.clone().joined(&a));
        prop_assert_eq!(ab.clone().joined(&c), a.clone().joined(&b.clone().joined(&c)));
        prop_assert_eq!(&a.clone().joined(&a), &a);
        prop_assert!(ab.iter().count() <= SOURCES_MAX && ab.covers(&a) && ab.covers(&b));
        prop_assert_eq!(a.covers(&b), ab == a);
        prop_assert_eq!(ab.is_empty(), a.is_empty() && b.is_empty());
        prop_assert_eq!(Sources::parse(&ab.to_text()), Some(ab.clone()));
        prop_assert_eq!(ab.erased().is_empty(), ab.is_empty());
    }
}

#[test]
fn more_sources_than_are_named_stay_untrusted() {
    let mut sources = Sources::none();
    for number in 0..=SOURCES_MAX {
        assert!(!sources.has_more());
        sources.join(&Sources::of(
            SourceKind::Web,
            &format!("https://{number:02}.example"),
        ));
    }
    assert!(sources.has_more() && sources.iter().count() == SOURCES_MAX);
    assert!(!sources.attachments().has_more());
}
