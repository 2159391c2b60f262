//! `wakeful journal category`: manages the categories of tasks.

use clap::Subcommand;
use serde_json::json;
use wakeful_api::{CreateCategory, JournalWrite, ListCategories, Text};
use wakeful_core::journal::RecordId;

use super::{short, tell, write_record};
use crate::backend::{Backend, read, write};
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::show::Out;
use crate::show::table::{Column, Table};

#[derive(Debug, Subcommand)]
pub(crate) enum CategoryVerb {
    /// Add a category
    Add {
        /// Category name
        name: String,
    },
    /// List categories by name
    List,
    /// Rename a category
    Rename {
        /// Category name or id
        category: String,
        /// New name
        name: String,
    },
    /// Delete a category
    Delete {
        /// Category name or id
        category: String,
        /// Move its records to this category (name or id)
        #[arg(long, value_name = "NAME")]
        move_to: Option<String>,
    },
}

pub(super) async fn category(verb: &CategoryVerb, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    match verb {
        CategoryVerb::Add { name } => {
            let new = CreateCategory {
                name: name.clone(),
                key: None,
            };
            let add = write(shared, out, async |backend| backend.call(new).await);
            tell(&add.await?, out);
        }
        CategoryVerb::List => {
            let list = read(shared, async |backend| backend.call(ListCategories {}).await).await?;
            let categories = list.categories;
            const CATEGORIES: [Column; 2] = [Column::key("CATEGORY"), Column::text("NAME", 0)];
            let rows = categories
                .iter()
                .map(|category| [short(&category.category_id), category.name.clone()]);
            let table = Table::new(CATEGORIES, rows);
            out.list(
                &json!({"categories": categories}),
                &table,
                "there are no categories",
            );
        }
        CategoryVerb::Rename { category, name } => {
            write_record(shared, out, async |backend| {
                let category_id = category_of(backend, category).await?;
                let name = name.clone();
                Ok(JournalWrite::RenameCategory { category_id, name })
            })
            .await?;
        }
        CategoryVerb::Delete { category, move_to } => {
            write_record(shared, out, async |backend| {
                let record_id = category_of(backend, category).await?;
                let move_to = match move_to {
                    Some(heir) => Some(category_of(backend, heir).await?),
                    None => None,
                };
                Ok(JournalWrite::Remove { record_id, move_to })
            })
            .await?;
        }
    }
    Ok(())
}

/// Resolves a category name or id.
pub(super) async fn category_of(backend: &Backend, given: &str) -> Result<Text<RecordId>, Failure> {
    let categories = backend.call(ListCategories {}).await?.categories;
    let found = categories
        .into_iter()
        .find(|category| category.name == given || category.category_id.to_string() == given);
    found.map(|category| category.category_id).ok_or_else(|| {
        let message = format!("there is no category {given:?}");
        Failure::new(
            "category_unknown",
            message,
            "add it with `wakeful journal category add`",
        )
    })
}
