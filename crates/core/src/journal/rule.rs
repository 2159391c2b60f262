//! What a write leads to, and how it is undone. Pure: the store reads, asks, and commits the answer.

use super::{
    CATEGORY_CHARS_MAX, Category, DETAILS_BYTES_MAX, Kind, Mutation, NOTE_BYTES_MAX, Note, Record, RecordId,
    Refusal, TITLE_CHARS_MAX, Task, TaskStatus,
};
use crate::key::OperationId;
use crate::time::Millis;

/// What was read before a mutation is decided: what [`Mutation::task`] and its siblings asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reads {
    /// The task it names.
    pub task: Option<Task>,
    /// The category it names.
    pub category: Option<Category>,
    /// The category that has the name it wants.
    pub namesake: Option<Category>,
}

/// What a mutation leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The record as it is from now on.
    pub after: Record,
    /// The record as it was; none when it is new.
    pub before: Option<Record>,
}

/// Whether the words of a mutation can be kept, as far as one can tell without reading anything.
pub fn check(mutation: &Mutation) -> Result<(), Refusal> {
    match mutation {
        Mutation::CreateCategory { name } => line("name", name, CATEGORY_CHARS_MAX),
        Mutation::CreateTask { title, details, .. } => {
            line("title", title, TITLE_CHARS_MAX)?;
            text("details", details, DETAILS_BYTES_MAX)
        }
        Mutation::UpdateTask {
            title,
            details,
            status,
            category,
            ..
        } => {
            if title.is_none() && details.is_none() && status.is_none() && category.is_none() {
                return Err(Refusal::NothingToChange);
            }
            title
                .iter()
                .try_for_each(|title| line("title", title, TITLE_CHARS_MAX))?;
            details
                .iter()
                .try_for_each(|details| text("details", details, DETAILS_BYTES_MAX))
        }
        Mutation::CreateNote { text: said, .. } => {
            if said.trim().is_empty() {
                return Err(Refusal::Empty { field: "text" });
            }
            text("text", said, NOTE_BYTES_MAX)
        }
    }
}

/// Decides a mutation.
pub fn apply(
    mutation: &Mutation,
    reads: &Reads,
    operation: &OperationId,
    at: Millis,
) -> Result<Written, Refusal> {
    check(mutation)?;
    if let Some(wanted) = mutation.category() {
        present_category(reads.category.as_ref(), wanted)?;
    }
    let (after, before) = match mutation {
        Mutation::CreateCategory { name } => (new_category(name, reads, operation, at)?, None),
        Mutation::CreateTask {
            title,
            details,
            category,
        } => {
            let task = Task {
                id: RecordId::derived(Kind::Task, operation),
                category: category.clone(),
                title: title.trim().to_owned(),
                details: details.clone(),
                status: TaskStatus::Open,
                created_at: at,
                updated_at: at,
                version: 1,
                removed_at: None,
            };
            (Record::Task(task), None)
        }
        Mutation::UpdateTask {
            task,
            title,
            details,
            status,
            category,
        } => {
            let before = present_task(reads.task.as_ref(), task)?;
            let after = Task {
                category: category.clone().or_else(|| before.category.clone()),
                title: title
                    .as_ref()
                    .map_or_else(|| before.title.clone(), |title| title.trim().to_owned()),
                details: details.clone().unwrap_or_else(|| before.details.clone()),
                status: status.unwrap_or(before.status),
                updated_at: at,
                version: before.version.saturating_add(1),
                ..before.clone()
            };
            (Record::Task(after), Some(Record::Task(before.clone())))
        }
        Mutation::CreateNote { text, task } => {
            if let Some(task) = task {
                present_task(reads.task.as_ref(), task)?;
            }
            let note = Note {
                id: RecordId::derived(Kind::Note, operation),
                task: task.clone(),
                text: text.clone(),
                created_at: at,
                version: 1,
                removed_at: None,
            };
            (Record::Note(note), None)
        }
    };
    Ok(Written { after, before })
}

fn new_category(name: &str, reads: &Reads, operation: &OperationId, at: Millis) -> Result<Record, Refusal> {
    if reads.namesake.is_some() {
        return Err(Refusal::CategoryExists(name.to_owned()));
    }
    Ok(Record::Category(Category {
        id: RecordId::derived(Kind::Category, operation),
        name: name.trim().to_owned(),
        created_at: at,
        version: 1,
        removed_at: None,
    }))
}

/// What is known of a write that is to be taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Before {
    /// The version that it made.
    pub version: u64,
    /// The record before it; none when it made the record.
    pub record: Option<Record>,
    /// Whether somebody has written notes about the record.
    pub has_notes: bool,
}

/// The record that takes a write back, from what is there now. When somebody has written since, a person must decide:
/// undoing would take their words away, or what their words are about.
pub fn undo(before: Before, now: Record, at: Millis) -> Result<Record, Refusal> {
    let Before {
        version,
        record: before,
        has_notes,
    } = before;
    if now.version() != version || (before.is_none() && has_notes) {
        return Err(Refusal::ChangedSince {
            kind: now.kind().as_str(),
            id: now.id().to_string(),
        });
    }
    let next = version.saturating_add(1);
    Ok(match before {
        Some(Record::Task(task)) => Record::Task(Task {
            version: next,
            updated_at: at,
            ..task
        }),
        Some(Record::Category(category)) => Record::Category(Category {
            version: next,
            ..category
        }),
        Some(Record::Note(note)) => Record::Note(Note {
            version: next,
            ..note
        }),
        // What was made is taken away; a tombstone stays, because others may have heard of it.
        None => removed(now, next, at),
    })
}

fn removed(record: Record, version: u64, at: Millis) -> Record {
    let removed_at = Some(at);
    match record {
        Record::Task(task) => Record::Task(Task {
            version,
            updated_at: at,
            removed_at,
            ..task
        }),
        Record::Category(category) => Record::Category(Category {
            version,
            removed_at,
            ..category
        }),
        Record::Note(note) => Record::Note(Note {
            version,
            removed_at,
            ..note
        }),
    }
}

fn present_task<'a>(found: Option<&'a Task>, wanted: &RecordId) -> Result<&'a Task, Refusal> {
    found
        .filter(|task| task.id == *wanted && task.removed_at.is_none())
        .ok_or_else(|| Refusal::UnknownTask(wanted.to_string()))
}

fn present_category(found: Option<&Category>, wanted: &RecordId) -> Result<(), Refusal> {
    found
        .filter(|category| category.id == *wanted && category.removed_at.is_none())
        .map(drop)
        .ok_or_else(|| Refusal::UnknownCategory(wanted.to_string()))
}

/// A text that is shown on one line.
fn line(field: &'static str, given: &str, most: usize) -> Result<(), Refusal> {
    let found = given.trim().chars().count();
    if found == 0 {
        return Err(Refusal::Empty { field });
    }
    if found > most {
        let unit = "characters";
        return Err(Refusal::TooLong {
            field,
            found,
            most,
            unit,
        });
    }
    if given.trim().chars().any(char::is_control) {
        return Err(Refusal::Control { field });
    }
    Ok(())
}

/// A text of several lines. PostgreSQL keeps no zero character, so nobody does.
fn text(field: &'static str, given: &str, most: usize) -> Result<(), Refusal> {
    if given.len() > most {
        let (found, unit) = (given.len(), "bytes");
        return Err(Refusal::TooLong {
            field,
            found,
            most,
            unit,
        });
    }
    if given.contains('\0') {
        return Err(Refusal::Control { field });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::RECORD_ID_DIGITS;
    use super::*;
    use crate::key::Digest;

    fn operation(name: &str) -> OperationId {
        OperationId(Digest::of(name.as_bytes()))
    }

    fn create(title: &str) -> Mutation {
        Mutation::CreateTask {
            title: title.into(),
            details: String::new(),
            category: None,
        }
    }

    fn task_of(written: &Written) -> Task {
        let Record::Task(task) = &written.after else {
            panic!("no task")
        };
        task.clone()
    }

    fn done(task: &Task) -> (Mutation, Reads) {
        let mutation = Mutation::UpdateTask {
            task: task.id.clone(),
            title: None,
            details: None,
            status: Some(TaskStatus::Done),
            category: None,
        };
        let reads = Reads {
            task: Some(task.clone()),
            ..Reads::default()
        };
        (mutation, reads)
    }

    #[test]
    fn the_same_operation_makes_the_same_record() {
        let make = |name: &str| {
            apply(
                &create(" Buy milk "),
                &Reads::default(),
                &operation(name),
                Millis(5),
            )
        };
        let (one, again, other) = (make("a").unwrap(), make("a").unwrap(), make("b").unwrap());
        assert_eq!(one, again);
        assert_ne!(one.after.id(), other.after.id());
        assert_eq!(task_of(&one).title, "Buy milk");
        assert_eq!(one.after.id().as_str().len(), RECORD_ID_DIGITS);
    }

    #[test]
    fn bounds_are_told_with_field_and_way_out() {
        let refused = |mutation: &Mutation| {
            let refusal = apply(mutation, &Reads::default(), &operation("a"), Millis(1)).unwrap_err();
            (refusal.code(), refusal.field())
        };
        assert_eq!(refused(&create("  ")), ("invalid_record", Some("title")));
        assert_eq!(
            refused(&create(&"x".repeat(201))),
            ("invalid_record", Some("title"))
        );
        assert_eq!(refused(&create("a\nb")), ("invalid_record", Some("title")));
        let note = |text: String| Mutation::CreateNote { text, task: None };
        assert_eq!(
            refused(&note("x".repeat(NOTE_BYTES_MAX + 1))),
            ("invalid_record", Some("text"))
        );
        assert_eq!(refused(&note("a\0b".into())), ("invalid_record", Some("text")));
        apply(
            &note("x".repeat(NOTE_BYTES_MAX)),
            &Reads::default(),
            &operation("a"),
            Millis(1),
        )
        .expect("as long as may be");
        let (mut nothing, _) = done(&task_of(
            &apply(&create("t"), &Reads::default(), &operation("a"), Millis(1)).unwrap(),
        ));
        if let Mutation::UpdateTask { status, .. } = &mut nothing {
            *status = None;
        }
        assert_eq!(refused(&nothing), ("invalid_record", None));
    }

    #[test]
    fn an_update_keeps_what_it_does_not_name_and_a_missing_task_is_refused() {
        let task = task_of(&apply(&create("t"), &Reads::default(), &operation("a"), Millis(1)).unwrap());
        let (mutation, reads) = done(&task);
        let after = task_of(&apply(&mutation, &reads, &operation("b"), Millis(9)).unwrap());
        assert_eq!(
            after,
            Task {
                status: TaskStatus::Done,
                updated_at: Millis(9),
                version: 2,
                ..task.clone()
            }
        );
        let gone = Reads {
            task: Some(Task {
                removed_at: Some(Millis(2)),
                ..task
            }),
            ..Reads::default()
        };
        for reads in [Reads::default(), gone] {
            let refusal = apply(&mutation, &reads, &operation("b"), Millis(9)).unwrap_err();
            assert_eq!(refusal.code(), "task_unknown");
        }
    }

    #[test]
    fn undoing_gives_back_what_was_there_and_never_takes_away_what_came_later() {
        let made = apply(&create("t"), &Reads::default(), &operation("a"), Millis(1)).unwrap();
        let task = task_of(&made);
        let (mutation, reads) = done(&task);
        let updated = apply(&mutation, &reads, &operation("b"), Millis(9)).unwrap();
        let before = |version, record| Before {
            version,
            record,
            has_notes: false,
        };
        let back = undo(
            before(2, updated.before.clone()),
            updated.after.clone(),
            Millis(11),
        )
        .unwrap();
        let Record::Task(back) = back else {
            panic!("no task")
        };
        assert_eq!((back.status, back.version), (TaskStatus::Open, 3));
        let noted = Before {
            has_notes: true,
            ..before(1, None)
        };
        assert_eq!(
            undo(noted, made.after.clone(), Millis(11)).unwrap_err().code(),
            "changed_since"
        );
        let gone = undo(before(1, None), made.after.clone(), Millis(11)).unwrap();
        let Record::Task(gone) = gone else {
            panic!("no task")
        };
        assert_eq!((gone.removed_at, gone.version), (Some(Millis(11)), 2));
        let late = undo(before(1, None), updated.after, Millis(11)).unwrap_err();
        assert_eq!(late.code(), "changed_since");
    }
}
