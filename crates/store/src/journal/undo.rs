//! Undoing a write: its records return to what they were, unless they were changed since.

use super::*;

/// Undoes an operation in one transaction.
pub(super) fn take_back(
    sql: &mut dyn Sql,
    operation: &OperationId,
    at: Millis,
) -> Result<Result<UndoOutcome, WriteError>> {
    let place = outbox::lock(sql)?;
    let Some(known) = outbox::operation(sql, operation)? else {
        // The process that was about to perform the operation may be slow rather than dead; it will find
        // the operation void.
        let void = OperationRow {
            state: OperationState::Void,
            mutation: None,
            receipt: None,
            previous: Vec::new(),
            author: None,
        };
        outbox::put_operation(sql, operation, &void, at)?;
        return Ok(Ok(UndoOutcome::Void));
    };
    let OperationRow {
        state,
        receipt,
        previous,
        author,
        ..
    } = known;
    let author = match (state, receipt, author) {
        (OperationState::Written, Some(_), Some(author)) => author,
        (OperationState::Undone, ..) => return undone_before(sql, operation),
        (OperationState::Void | OperationState::Written, ..) => return Ok(Ok(UndoOutcome::Void)),
    };
    if previous.is_empty() {
        // The inverse of an operation cannot be undone.
        return Ok(Err(WriteError::OperationUndone));
    }
    let before = befores(sql, previous)?;
    let written = match rule::undo(before, at) {
        Ok(written) => written,
        Err(refusal) => return Ok(Err(refusal)),
    };
    if let Err(refusal) = check_unique_constraints(sql, &written)? {
        return Ok(Err(refusal));
    }
    let name = compensation_id(operation);
    let telling = ChangeWriter {
        place: &place,
        author: &author,
        operation_id: &name,
        at,
    };
    let receipt = telling.write(sql, &written, RelatedRecordMap::new())?;
    let inverse = OperationRow {
        state: OperationState::Written,
        mutation: None,
        receipt: Some(receipt.clone()),
        previous: Vec::new(),
        author: Some(author),
    };
    outbox::put_operation(sql, &name, &inverse, at)?;
    outbox::mark_undone(sql, operation)?;
    Ok(Ok(UndoOutcome::Inverted(receipt)))
}

/// Reads what undoing each record requires.
fn befores(sql: &mut dyn Sql, previous: Vec<PreviousRecord>) -> Result<Vec<UndoRecord>> {
    // One more than the operation itself wrote reveals that another operation added a dependent.
    let at_most = previous.len().saturating_add(1);
    let mut befores = Vec::with_capacity(previous.len());
    for PreviousRecord {
        kind,
        id,
        version,
        record,
    } in previous
    {
        let dependents = match record {
            Some(_) => Vec::new(),
            None => table::dependents(sql, &id, at_most)?,
        };
        let now = table::record(sql, kind, &id)?;
        befores.push(UndoRecord {
            version,
            record,
            now: now.ok_or(StoreError::Malformed("operation.previous_records"))?,
            dependents,
        });
    }
    Ok(befores)
}

/// Undoing an operation again returns the same result as the first time.
fn undone_before(sql: &mut dyn Sql, operation: &OperationId) -> Result<Result<UndoOutcome, WriteError>> {
    let inverse = outbox::operation(sql, &compensation_id(operation))?;
    let receipt = inverse.and_then(|inverse| inverse.receipt);
    let receipt = receipt.ok_or(StoreError::Malformed("operation.receipt"))?;
    Ok(Ok(UndoOutcome::Inverted(receipt)))
}
