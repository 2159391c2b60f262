//! Writes of ratings and links.

use super::super::{Link, Mutation, Rating, RatingTarget, Record, RecordId, RecordMeta, WriteError};
use super::{ReadSet, RecordWrite, there};
use crate::time::Millis;

/// Writes the only rating per target and scale: it replaces an existing one, even a tombstone.
pub(super) fn rate(
    mutation: &Mutation,
    target: &RatingTarget,
    reads: &ReadSet,
    at: Millis,
) -> Result<RecordWrite, WriteError> {
    let Mutation::Rate {
        scale,
        value,
        most,
        note,
        ..
    } = mutation
    else {
        return Err(WriteError::NothingToChange);
    };
    if let RatingTarget::Record(id) = target {
        there(reads.any(id)?)?;
    }
    let id = RecordId::of_rating(target, scale);
    let before = reads.records.get(&id).cloned();
    let life = before
        .as_ref()
        .map_or(RecordMeta::begun(at), |before| before.life().next());
    let after = Record::Rating(Rating {
        id,
        target: target.clone(),
        scale: scale.clone(),
        value: *value,
        most: *most,
        note: note.clone(),
        life,
    });
    Ok(RecordWrite { after, before })
}

pub(super) fn link(mutation: &Mutation, reads: &ReadSet, at: Millis) -> Result<RecordWrite, WriteError> {
    let Mutation::CreateLink { from, to, link: kind } = mutation else {
        return Err(WriteError::NothingToChange);
    };
    there(reads.any(from)?)?;
    there(reads.any(to)?)?;
    let id = RecordId::of_link(kind, from, to);
    let before = reads.records.get(&id).cloned();
    if before.as_ref().is_some_and(|before| !before.is_removed()) {
        return Err(WriteError::LinkExists(id.to_string()));
    }
    let life = before
        .as_ref()
        .map_or(RecordMeta::begun(at), |before| before.life().next());
    let after = Record::Link(Link {
        id,
        from: from.clone(),
        to: to.clone(),
        kind: kind.clone(),
        life,
    });
    Ok(RecordWrite { after, before })
}
