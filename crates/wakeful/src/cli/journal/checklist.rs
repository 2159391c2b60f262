//! `wakeful journal checklist`: manages the checklists of tasks.

use clap::Subcommand;
use serde_json::json;
use wakeful_api::{JournalRecord, JournalWrite, Limit, ListRecords, RecordListKind};

use super::{field, of_kind, short, write_record};
use crate::backend::read;
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::show::Out;
use crate::show::table::{Column, Table};

/// Maximum number of items shown; a checklist cannot have more.
const ITEMS_SHOWN: u32 = 200;

#[derive(Debug, Subcommand)]
pub(crate) enum ChecklistVerb {
    /// Add a checklist with its first items
    Add {
        /// Task id or a unique prefix of it
        task: String,
        /// Title (one line)
        title: String,
        /// Items, in order
        items: Vec<String>,
    },
    /// List checklists, newest first
    List {
        /// Show only checklists of this task
        #[arg(long, value_name = "ID")]
        task: Option<String>,
        /// Maximum number of checklists to show
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: u32,
    },
    /// Show a checklist with its items
    Show {
        /// Checklist id or a unique prefix of it
        id: String,
    },
    /// Add items to a checklist
    AddItem {
        /// Checklist id or a unique prefix of it
        id: String,
        /// Items, in order
        #[arg(required = true)]
        items: Vec<String>,
    },
    /// Check an item
    Check {
        /// Item id or a unique prefix of it
        item: String,
    },
    /// Uncheck an item
    Uncheck {
        /// Item id or a unique prefix of it
        item: String,
    },
    /// Reorder the items of a checklist
    Order {
        /// Checklist id or a unique prefix of it
        id: String,
        /// Ids of all items, or unique prefixes, in the new order
        #[arg(required = true)]
        items: Vec<String>,
    },
}

pub(super) async fn checklist(verb: &ChecklistVerb, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    match verb {
        ChecklistVerb::Add { task, title, items } => {
            let made = write_record(shared, out, async |backend| {
                Ok(JournalWrite::CreateChecklist {
                    task_id: backend.find_task(task).await?.task_id,
                    title: title.clone(),
                    items: items.clone(),
                })
            });
            made.await
        }
        ChecklistVerb::List { task, limit } => list(task.as_deref(), *limit, shared, out).await,
        ChecklistVerb::Show { id } => show(id, shared, out).await,
        ChecklistVerb::AddItem { id, items } => {
            let added = write_record(shared, out, async |backend| {
                Ok(JournalWrite::AddItems {
                    checklist_id: of_kind(backend.journal_record(id).await?, Some("checklist"))?.id,
                    items: items.clone(),
                })
            });
            added.await
        }
        ChecklistVerb::Check { item } => tick(item, true, shared, out).await,
        ChecklistVerb::Uncheck { item } => tick(item, false, shared, out).await,
        ChecklistVerb::Order { id, items } => {
            let ordered = write_record(shared, out, async |backend| {
                let checklist_id = of_kind(backend.journal_record(id).await?, Some("checklist"))?.id;
                let mut ids = Vec::with_capacity(items.len());
                for item in items {
                    ids.push(of_kind(backend.journal_record(item).await?, Some("checklist_item"))?.id);
                }
                Ok(JournalWrite::OrderItems {
                    checklist_id,
                    items: ids,
                })
            });
            ordered.await
        }
    }
}

async fn tick(item: &str, checked: bool, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let ticked = write_record(shared, out, async |backend| {
        Ok(JournalWrite::UpdateItem {
            item_id: of_kind(backend.journal_record(item).await?, Some("checklist_item"))?.id,
            text: None,
            checked: Some(checked),
        })
    });
    ticked.await
}

async fn list(task: Option<&str>, limit: u32, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let lists = read(shared, async |backend| {
        let of = match task {
            Some(task) => Some(backend.find_task(task).await?.task_id),
            None => None,
        };
        let wanted = ListRecords {
            related_id: of,
            ..ListRecords::all(RecordListKind::Checklist, Limit(limit))
        };
        backend.call(wanted).await
    });
    let lists = lists.await?.records;
    const CHECKLISTS: [Column; 3] = [
        Column::key("CHECKLIST"),
        Column::text("TITLE", 0),
        Column::text("TASK", 1),
    ];
    let row = |list: &JournalRecord| [short(&list.id), field(list, "title"), field(list, "task_title")];
    let table = Table::new(CHECKLISTS, lists.iter().map(row));
    out.list(&json!({"checklists": lists}), &table, "there are no checklists");
    Ok(())
}

async fn show(id: &str, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let (list, items) = read(shared, async |backend| {
        let list = of_kind(backend.journal_record(id).await?, Some("checklist"))?;
        let wanted = ListRecords {
            related_id: Some(list.id.clone()),
            ..ListRecords::all(RecordListKind::ChecklistItem, Limit(ITEMS_SHOWN))
        };
        let items = backend.call(wanted).await?.records;
        Ok((list, items))
    })
    .await?;
    let line = |item: &JournalRecord| {
        let ticked = if field(item, "checked") == "true" {
            "x"
        } else {
            " "
        };
        format!("[{ticked}] {}  {}", short(&item.id), field(item, "text"))
    };
    let mut lines = vec![format!("{}  {}", short(&list.id), field(&list, "title"))];
    lines.extend(items.iter().map(line));
    out.answer(&json!({"checklist": list, "items": items}), &lines.join("\n"));
    Ok(())
}
