//! `wakeful login`: manages browser logins.

use clap::{Args, Subcommand};
use serde_json::json;
use wakeful_api::{Hex, ListLogins, Login, RevokeAllLogins, RevokeLogin};

use super::GlobalArgs;
use super::open::client_of_home;
use crate::failure::Failure;
use crate::show::Out;

#[derive(Debug, Subcommand)]
pub(crate) enum LoginVerb {
    /// List logged-in browsers, newest first
    List,
    /// Revoke a login; its requests are refused immediately, and after restarts
    Revoke(RevokeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RevokeArgs {
    /// Login id, from `wakeful login list`
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
            out.answer(&list, &text(&list.logins));
        }
        LoginVerb::Revoke(RevokeArgs { id: Some(id), .. }) => {
            let login_id = checked(id)?;
            client_of_home(shared)?.call(&RevokeLogin { login_id }).await?;
            out.answer(&json!({"revoked": id}), &format!("revoked login {id}"));
        }
        LoginVerb::Revoke(RevokeArgs { id: None, .. }) => {
            client_of_home(shared)?.call(&RevokeAllLogins {}).await?;
            out.answer(&json!({"revoked": "all"}), "revoked all logins");
        }
    }
    Ok(0)
}

/// Checks the id before it becomes part of a request path.
fn checked(id: &str) -> Result<Hex<8, 8>, Failure> {
    Hex::try_from(id.to_ascii_lowercase()).map_err(|why| {
        let message = format!("{id:?} is not a login id: it {why}");
        Failure::usage("bad_login_id", message, "`wakeful login list` shows the ids")
    })
}

fn text(logins: &[Login]) -> String {
    if logins.is_empty() {
        return "no browser is logged in; `wakeful open` logs one in".to_owned();
    }
    let line = |login: &Login| {
        format!(
            "{}  {:<24}  created {}  last used {}  expires {}",
            login.id, login.name, login.created_at, login.last_used_at, login.expires_at
        )
    };
    logins.iter().map(line).collect::<Vec<_>>().join("\n")
}
