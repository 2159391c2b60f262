//! Tables of day plans, their blocks, ratings and links.

use wakeful_core::journal::{
    CalendarDay, DayPlan, DayPlanBlock, Link, LinkKind, Rating, RatingTarget, RecordId,
};

use super::{ById, by_id, id, life, optional_id};
use crate::sql::{Row, Sql, limit, records};
use crate::{Result, StoreError};

const PUT_PLAN: &str = "
    INSERT INTO day_plan (plan_id, day, note, created_at_ms, version, removed_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (plan_id) DO UPDATE SET day = excluded.day, note = excluded.note, version =
    excluded.version, removed_at_ms = excluded.removed_at_ms";

pub(super) fn put_plan(sql: &mut dyn Sql, plan: &DayPlan) -> Result<()> {
    let day = plan.day.to_string();
    let params = [
        plan.id.as_str().into(),
        day.as_str().into(),
        plan.note.as_str().into(),
        plan.life.created_at.into(),
        plan.life.version.into(),
        plan.life.removed_at.into(),
    ];
    sql.execute(PUT_PLAN, &params).map(drop)
}

pub(super) const PLAN: ById = by_id!(
    "day_plan",
    "plan_id",
    "plan_id, day, note, created_at_ms, version, removed_at_ms"
);

pub(super) fn read_plan(mut row: Row) -> Result<DayPlan> {
    Ok(DayPlan {
        id: id(&row.text("day_plan.plan_id")?, "day_plan.plan_id")?,
        day: row.word("day_plan.day", |day| CalendarDay::parse(day).ok())?,
        note: row.text("day_plan.note")?,
        life: life(&mut row)?,
    })
}

const PLANS: &str = "
    SELECT plan_id, day, note, created_at_ms, version, removed_at_ms
    FROM day_plan WHERE removed_at_ms IS NULL ORDER BY day DESC LIMIT ?1";

const PLAN_OF_DAY: &str = "
    SELECT plan_id, day, note, created_at_ms, version, removed_at_ms
    FROM day_plan WHERE removed_at_ms IS NULL AND day = ?2 ORDER BY day DESC LIMIT ?1";

/// Returns day plans, latest day first.
pub(super) fn plans(sql: &mut dyn Sql, day: Option<&CalendarDay>, at_most: u32) -> Result<Vec<DayPlan>> {
    let rows = match day.map(CalendarDay::to_string) {
        Some(day) => sql.query(PLAN_OF_DAY, &[limit(at_most), day.as_str().into()])?,
        None => sql.query(PLANS, &[limit(at_most)])?,
    };
    records(rows, read_plan)
}

const PUT_BLOCK: &str = "
    INSERT INTO day_plan_block (block_id, plan_id, starts_at_ms, ends_at_ms, task_id, category_id,
    note, created_at_ms, version, removed_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
    ON CONFLICT (block_id) DO UPDATE SET plan_id = excluded.plan_id, starts_at_ms =
    excluded.starts_at_ms, ends_at_ms = excluded.ends_at_ms, task_id = excluded.task_id, category_id =
    excluded.category_id, note = excluded.note, version = excluded.version, removed_at_ms =
    excluded.removed_at_ms";

pub(super) fn put_block(sql: &mut dyn Sql, block: &DayPlanBlock) -> Result<()> {
    let params = [
        block.id.as_str().into(),
        block.plan.as_str().into(),
        block.starts_at.into(),
        block.ends_at.into(),
        block.task.as_ref().map(RecordId::as_str).into(),
        block.category.as_ref().map(RecordId::as_str).into(),
        block.note.as_str().into(),
        block.life.created_at.into(),
        block.life.version.into(),
        block.life.removed_at.into(),
    ];
    sql.execute(PUT_BLOCK, &params).map(drop)
}

pub(super) const BLOCK: ById = by_id!(
    "day_plan_block",
    "block_id",
    "block_id, plan_id, starts_at_ms, ends_at_ms, task_id, category_id, note, created_at_ms, version, removed_at_ms"
);

pub(super) fn read_block(mut row: Row) -> Result<DayPlanBlock> {
    Ok(DayPlanBlock {
        id: id(&row.text("day_plan_block.block_id")?, "day_plan_block.block_id")?,
        plan: id(&row.text("day_plan_block.plan_id")?, "day_plan_block.plan_id")?,
        starts_at: row.millis("day_plan_block.starts_at_ms")?,
        ends_at: row.millis("day_plan_block.ends_at_ms")?,
        task: optional_id(
            row.optional_text("day_plan_block.task_id")?,
            "day_plan_block.task_id",
        )?,
        category: optional_id(
            row.optional_text("day_plan_block.category_id")?,
            "day_plan_block.category_id",
        )?,
        note: row.text("day_plan_block.note")?,
        life: life(&mut row)?,
    })
}

const BLOCKS: &str = "
    SELECT block_id, plan_id, starts_at_ms, ends_at_ms, task_id, category_id, note, created_at_ms, version, removed_at_ms
    FROM day_plan_block WHERE removed_at_ms IS NULL AND plan_id = ?2 ORDER BY starts_at_ms, block_id LIMIT ?1";

const BLOCKS_IN_CATEGORY: &str = "
    SELECT block_id, plan_id, starts_at_ms, ends_at_ms, task_id, category_id, note, created_at_ms, version, removed_at_ms
    FROM day_plan_block WHERE removed_at_ms IS NULL AND category_id = ?2 ORDER BY block_id LIMIT ?1";

/// Returns the blocks of a day plan, in order.
pub(super) fn blocks(sql: &mut dyn Sql, plan: &RecordId, at_most: u32) -> Result<Vec<DayPlanBlock>> {
    records(
        sql.query(BLOCKS, &[limit(at_most), plan.as_str().into()])?,
        read_block,
    )
}

/// Returns the blocks that are assigned to a category.
pub(super) fn blocks_in(sql: &mut dyn Sql, category: &RecordId, at_most: u32) -> Result<Vec<DayPlanBlock>> {
    let params = [limit(at_most), category.as_str().into()];
    records(sql.query(BLOCKS_IN_CATEGORY, &params)?, read_block)
}

const PUT_RATING: &str = "
    INSERT INTO rating (rating_id, target_id, target_day, scale, value, scale_max, note, created_at_ms,
    version, removed_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
    ON CONFLICT (rating_id) DO UPDATE SET target_id = excluded.target_id, target_day =
    excluded.target_day, scale = excluded.scale, value = excluded.value, scale_max = excluded.scale_max, note =
    excluded.note, version = excluded.version, removed_at_ms = excluded.removed_at_ms";

pub(super) fn put_rating(sql: &mut dyn Sql, rating: &Rating) -> Result<()> {
    let (target_id, target_day) = match &rating.target {
        RatingTarget::Record(id) => (Some(id.as_str()), None),
        RatingTarget::Day(day) => (None, Some(day.to_string())),
    };
    let params = [
        rating.id.as_str().into(),
        target_id.into(),
        target_day.as_deref().into(),
        rating.scale.as_str().into(),
        rating.value.into(),
        rating.most.into(),
        rating.note.as_str().into(),
        rating.life.created_at.into(),
        rating.life.version.into(),
        rating.life.removed_at.into(),
    ];
    sql.execute(PUT_RATING, &params).map(drop)
}

pub(super) const RATING: ById = by_id!(
    "rating",
    "rating_id",
    "rating_id, target_id, target_day, scale, value, scale_max, note, created_at_ms, version, removed_at_ms"
);

pub(super) fn read_rating(mut row: Row) -> Result<Rating> {
    let rating_id = id(&row.text("rating.rating_id")?, "rating.rating_id")?;
    let record = optional_id(row.optional_text("rating.target_id")?, "rating.target_id")?;
    let day = row.optional_text("rating.target_day")?;
    let day = day.and_then(|day| CalendarDay::parse(&day).ok());
    let target = record
        .map(RatingTarget::Record)
        .or_else(|| day.map(RatingTarget::Day));
    Ok(Rating {
        id: rating_id,
        target: target.ok_or(StoreError::Malformed("rating.target_day"))?,
        scale: row.text("rating.scale")?,
        value: row.small_count("rating.value")?,
        most: row.small_count("rating.scale_max")?,
        note: row.text("rating.note")?,
        life: life(&mut row)?,
    })
}

const RATINGS: &str = "
    SELECT rating_id, target_id, target_day, scale, value, scale_max, note, created_at_ms, version, removed_at_ms
    FROM rating WHERE removed_at_ms IS NULL ORDER BY created_at_ms DESC, rating_id DESC LIMIT ?1";

const RATINGS_OF_RECORD: &str = "
    SELECT rating_id, target_id, target_day, scale, value, scale_max, note, created_at_ms, version, removed_at_ms
    FROM rating WHERE removed_at_ms IS NULL AND target_id = ?2 ORDER BY created_at_ms DESC, rating_id DESC LIMIT ?1";

const RATINGS_OF_DAY: &str = "
    SELECT rating_id, target_id, target_day, scale, value, scale_max, note, created_at_ms, version, removed_at_ms
    FROM rating WHERE removed_at_ms IS NULL AND target_day = ?2 ORDER BY created_at_ms DESC, rating_id DESC LIMIT ?1";

/// Returns ratings, newest first.
pub(super) fn ratings(sql: &mut dyn Sql, target: Option<&RatingTarget>, at_most: u32) -> Result<Vec<Rating>> {
    let at_most = limit(at_most);
    let rows = match target {
        None => sql.query(RATINGS, &[at_most])?,
        Some(RatingTarget::Record(id)) => sql.query(RATINGS_OF_RECORD, &[at_most, id.as_str().into()])?,
        Some(RatingTarget::Day(day)) => {
            sql.query(RATINGS_OF_DAY, &[at_most, day.to_string().as_str().into()])?
        }
    };
    records(rows, read_rating)
}

const PUT_LINK: &str = "
    INSERT INTO link (link_id, from_id, to_id, kind, created_at_ms, version, removed_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    ON CONFLICT (link_id) DO UPDATE SET from_id = excluded.from_id, to_id = excluded.to_id, kind =
    excluded.kind, version = excluded.version, removed_at_ms = excluded.removed_at_ms";

pub(super) fn put_link(sql: &mut dyn Sql, link: &Link) -> Result<()> {
    let params = [
        link.id.as_str().into(),
        link.from.as_str().into(),
        link.to.as_str().into(),
        link.kind.as_str().into(),
        link.life.created_at.into(),
        link.life.version.into(),
        link.life.removed_at.into(),
    ];
    sql.execute(PUT_LINK, &params).map(drop)
}

pub(super) const LINK: ById = by_id!(
    "link",
    "link_id",
    "link_id, from_id, to_id, kind, created_at_ms, version, removed_at_ms"
);

pub(super) fn read_link(mut row: Row) -> Result<Link> {
    Ok(Link {
        id: id(&row.text("link.link_id")?, "link.link_id")?,
        from: id(&row.text("link.from_id")?, "link.from_id")?,
        to: id(&row.text("link.to_id")?, "link.to_id")?,
        kind: row.word("link.kind", |kind| LinkKind::parse(kind).ok())?,
        life: life(&mut row)?,
    })
}

const LINKS: &str = "
    SELECT link_id, from_id, to_id, kind, created_at_ms, version, removed_at_ms
    FROM link WHERE removed_at_ms IS NULL ORDER BY created_at_ms DESC, link_id DESC LIMIT ?1";

const LINKS_OF: &str = "
    SELECT link_id, from_id, to_id, kind, created_at_ms, version, removed_at_ms
    FROM link WHERE removed_at_ms IS NULL AND (from_id = ?2 OR to_id = ?2) ORDER BY created_at_ms DESC, link_id DESC LIMIT ?1";

/// Returns links, newest first.
pub(super) fn links(sql: &mut dyn Sql, of: Option<&RecordId>, at_most: u32) -> Result<Vec<Link>> {
    let rows = match of {
        Some(id) => sql.query(LINKS_OF, &[limit(at_most), id.as_str().into()])?,
        None => sql.query(LINKS, &[limit(at_most)])?,
    };
    records(rows, read_link)
}
