//! `wakeful login`: manages browser logins.

use clap::{Args, Subcommand};
use serde_json::json;
use wakeful_api::{Hex, ListLogins, Login, RevokeAllLogins, RevokeLogin};

use super::GlobalArgs;
use super::open::client_of_home;
use crate::backend::IdKind;
use crate::failure::Failure;
use crate::show::Out;
use crate::show::table::{Column, Table};

#[derive(Debug, Subcommand)]
pub(crate) enum LoginVerb {
    /// List logged-in browsers, newest first
    List,
    /// Revoke a login; its requests are refused immediately, and after restarts
    Revoke(RevokeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RevokeArgs {
    /// Login id or a unique prefix of it, from `wakeful login list`
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    id: Option<String>,
    /// Revoke all logins
    #[arg(long)]
    all: bool,
}

pub(crate) async fn login(verb: &LoginVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    match verb {
        LoginVerb::List => {
            let list = client_of_home(shared)?.call(&ListLogins {}).await?;
            out.list(
                &list,
                &table(&list.logins, out),
                "no browser is logged in; `wakeful open` logs one in",
            );
        }
        LoginVerb::Revoke(RevokeArgs { id: Some(id), .. }) => {
            let given: Hex<1, 8> = checked(id)?;
            let client = client_of_home(shared)?;
            let logins = client.call(&ListLogins {}).await?.logins;
            let ids: Vec<String> = logins.into_iter().map(|login| login.id).collect();
            let id = LOGIN.pick(given.as_str(), &ids)?;
            let login_id: Hex<8, 8> = checked(&id)?;
            client.call(&RevokeLogin { login_id }).await?;
            out.answer(&json!({"revoked": id}), &format!("revoked login {id}"));
        }
        LoginVerb::Revoke(RevokeArgs { id: None, .. }) => {
            client_of_home(shared)?.call(&RevokeAllLogins {}).await?;
            out.answer(&json!({"revoked": "all"}), "revoked all logins");
        }
    }
    Ok(0)
}

/// Checks the id before a daemon is contacted.
fn checked<const MIN: usize>(id: &str) -> Result<Hex<MIN, 8>, Failure> {
    Hex::try_from(id.to_ascii_lowercase()).map_err(|why| {
        let message = format!("{id:?} is not a login id: it {why}");
        Failure::usage("bad_id", message, "`wakeful login list` shows the ids")
    })
}

const LOGIN: IdKind = IdKind {
    noun: "login",
    list: "wakeful login list",
};

const LOGINS: [Column; 5] = [
    Column::key("LOGIN"),
    Column::text("BROWSER", 0),
    Column::whole("LAST USED", 1),
    Column::whole("EXPIRES", 2),
    Column::whole("CREATED", 3),
];

fn table(logins: &[Login], out: &Out) -> Table<5> {
    let row = |login: &Login| {
        [
            login.id.clone(),
            login.name.clone(),
            out.at(&login.last_used_at),
            out.at(&login.expires_at),
            out.at(&login.created_at),
        ]
    };
    Table::new(LOGINS, logins.iter().map(row))
}
