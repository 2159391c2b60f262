//! HTTP endpoints for the journal.

use wakeful_api::{
    CreateCategory, CreateNote, CreateTask, GetTask, JournalCategoryList, ListCategories, ListNotes,
    ListSagas, ListTasks, NoteList, ResolveSaga, SagaList, Task, TaskList, Text, UpdateTask, WriteReceipt,
};
use wakeful_core::id::TurnId;
use wakeful_core::journal::{Mutation, WriteError};
use wakeful_ports::journal::TaskFilter;

use crate::app::App;
use crate::error::ApiError;
use crate::route::{Call, Routes};
use crate::view;

pub(crate) fn routes() -> Routes {
    Routes::default()
        .add(tasks)
        .add(task)
        .add(create_task)
        .add(update_task)
        .add(notes)
        .add(create_note)
        .add(categories)
        .add(create_category)
        .add(async |call: Call, _: ListSagas| sagas(&call).await)
        .add(resolve)
}

async fn tasks(call: Call, asked: ListTasks) -> Result<TaskList, ApiError> {
    let filter = TaskFilter {
        status: asked.status,
        id_prefix: asked.prefix.map(|prefix| prefix.as_str().to_owned()),
        limit: asked.limit.0,
    };
    let tasks = call.open()?.journal.tasks(filter).await?;
    let tasks = tasks.iter().map(view::task).collect();
    Ok(TaskList { tasks })
}

async fn task(call: Call, asked: GetTask) -> Result<Task, ApiError> {
    let id = asked.task_id.to_string();
    let filter = TaskFilter {
        id_prefix: Some(id.clone()),
        limit: 1,
        ..TaskFilter::default()
    };
    let tasks = call.open()?.journal.tasks(filter).await?;
    Ok(tasks.first().map(view::task).ok_or(WriteError::UnknownTask(id))?)
}

async fn create_task(call: Call, asked: CreateTask) -> Result<WriteReceipt, ApiError> {
    let mutation = Mutation::CreateTask {
        title: asked.title,
        details: asked.details.unwrap_or_default(),
        category: asked.category_id.map(|id| id.0),
    };
    write(&call, mutation, asked.key).await
}

async fn update_task(call: Call, asked: UpdateTask) -> Result<WriteReceipt, ApiError> {
    let mutation = Mutation::UpdateTask {
        task: asked.task_id.0,
        title: asked.title,
        details: asked.details,
        status: asked.status,
        category: asked.category_id.map(|id| id.0),
    };
    write(&call, mutation, asked.key).await
}

async fn notes(call: Call, asked: ListNotes) -> Result<NoteList, ApiError> {
    let task = asked.task_id.map(|id| id.0);
    let notes = call.open()?.journal.notes(task, asked.limit.0).await?;
    let notes = notes.iter().map(view::note).collect();
    Ok(NoteList { notes })
}

async fn create_note(call: Call, asked: CreateNote) -> Result<WriteReceipt, ApiError> {
    let mutation = Mutation::CreateNote {
        text: asked.text,
        task: asked.task_id.map(|id| id.0),
    };
    write(&call, mutation, asked.key).await
}

async fn categories(call: Call, _: ListCategories) -> Result<JournalCategoryList, ApiError> {
    let categories = call.open()?.journal.categories().await?;
    let categories = categories.iter().map(view::journal_category).collect();
    Ok(JournalCategoryList { categories })
}

async fn create_category(call: Call, asked: CreateCategory) -> Result<WriteReceipt, ApiError> {
    write(&call, Mutation::CreateCategory { name: asked.name }, asked.key).await
}

async fn sagas(app: &App) -> Result<SagaList, ApiError> {
    let rows = app.open()?.journal.sagas().await?;
    let sagas = rows.iter().map(view::saga).collect();
    Ok(SagaList { sagas })
}

async fn resolve(call: Call, asked: ResolveSaga) -> Result<SagaList, ApiError> {
    if call
        .open()?
        .journal
        .resolve_saga(asked.operation_id.0)
        .await?
        .is_none()
    {
        let message = format!("no stuck saga has the operation id {}", asked.operation_id);
        let hint = "list stuck sagas with `wakeful saga list`";
        return Err(ApiError::unknown("saga_unknown", message, hint));
    }
    sagas(&call).await
}

pub(crate) async fn write(
    app: &App,
    mutation: Mutation,
    key: Option<Text<TurnId>>,
) -> Result<WriteReceipt, ApiError> {
    let key = key.map(|key| key.to_string());
    Ok(view::written(&app.open()?.journal.write(mutation, key).await?))
}
