//! `wakeful secret`: stores, lists and removes the secrets that commands of agents receive by name.

use std::path::PathBuf;

use clap::Subcommand;
use wakeful_api::{
    ChangeAgentSettings, GetAgentSettings, ListSecrets, RemoveSecret, Secret, SetSecret, Text,
};
use wakeful_core::agent_settings::{Change, SettingsChange};
use wakeful_core::id::AgentId;
use wakeful_core::secret::{SecretName, check_name, check_value};

use super::key_input::read_key;
use crate::backend::{Backend, read, write, write_existing};
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::show::Out;
use crate::show::table::{Column, Table};

#[derive(Debug, Subcommand)]
pub(crate) enum SecretVerb {
    /// Store a secret in the system's keyring or in a private file
    ///
    /// The value is read from the terminal without echo, or from standard input. A command receives it as an
    /// environment variable if its agent may use it and the command names it. It is removed from everything
    /// that is stored or shown.
    Set {
        /// Name of the environment variable, such as `DEPLOY_TOKEN`
        name: String,
        /// Read the value from this file; `-` is standard input
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
        /// Agent whose commands may receive it; repeatable
        #[arg(long, value_name = "NAME")]
        agent: Vec<String>,
    },
    /// List the stored secrets, their places, and the agents that may use them
    List,
    /// Remove a secret
    Remove {
        /// Name of the secret
        name: String,
    },
}

pub(super) async fn secret(verb: &SecretVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    match verb {
        SecretVerb::Set { name, file, agent } => {
            check_name(name).map_err(usage)?;
            let name = SecretName::parse(name).map_err(usage)?;
            let agents = agent.iter().map(|agent| Ok(AgentId::parse(agent)?));
            let agents = agents.collect::<Result<Vec<_>, Failure>>()?;
            let value = read_key(file.as_deref(), &format!("Value of {name}: "))?;
            check_value(&value).map_err(usage)?;
            let stored = write(shared, out, async |backend| {
                // An unknown agent is found before anything is stored.
                for agent in &agents {
                    backend.call(settings_of(agent)).await?;
                }
                let asked = SetSecret {
                    name: Text(name.clone()),
                    value,
                };
                let stored = backend.call(asked).await?;
                for agent in &agents {
                    allow(backend, agent, &name).await?;
                }
                Ok(Secret {
                    agents: [
                        stored.agents.clone(),
                        agents.iter().map(ToString::to_string).collect(),
                    ]
                    .concat(),
                    ..stored
                })
            });
            let mut stored = stored.await?;
            stored.agents.sort();
            stored.agents.dedup();
            out.answer(&stored, &stored_words(&stored));
        }
        SecretVerb::List => {
            let secrets = read(shared, async |backend| backend.call(ListSecrets {}).await).await?;
            let none = "no secrets are stored; store one: wakeful secret set DEPLOY_TOKEN --agent main";
            out.list(&secrets, &table(&secrets), none);
        }
        SecretVerb::Remove { name } => {
            let asked = RemoveSecret {
                name: Text(SecretName::parse(name).map_err(usage)?),
            };
            let removed = write_existing(shared, out, async |backend| backend.call(asked).await).await?;
            out.answer(&removed, &removed_words(&removed));
        }
    }
    Ok(0)
}

fn usage(problem: wakeful_core::problem::Problem) -> Failure {
    Failure::from(problem).into_usage()
}

fn settings_of(agent: &AgentId) -> GetAgentSettings {
    GetAgentSettings {
        agent_id: Text(agent.clone()),
    }
}

/// Adds a secret to the list of an agent.
async fn allow(backend: &Backend, agent: &AgentId, name: &SecretName) -> Result<(), Failure> {
    let mut sandbox = backend.call(settings_of(agent)).await?.sandbox;
    sandbox.allowed_secrets.insert(name.to_string());
    let change = SettingsChange {
        sandbox: Change::Set(sandbox),
        ..SettingsChange::default()
    };
    let asked = ChangeAgentSettings::new(Text(agent.clone()), change);
    backend.call(asked).await?;
    Ok(())
}

fn stored_words(stored: &Secret) -> String {
    let place = format!("{} is stored: {}", stored.name, stored.key_handle);
    if stored.agents.is_empty() {
        let next = format!("wakeful agent set NAME --allow-secret {}", stored.name);
        return format!("{place}\nno agent may use it yet: {next}");
    }
    format!("{place}\nmay be used by {}", stored.agents.join(", "))
}

fn removed_words(removed: &Secret) -> String {
    let agents = match removed.agents.as_slice() {
        [] => String::new(),
        agents => format!(", and from the lists of {}", agents.join(", ")),
    };
    format!("the secret {} is removed{agents}", removed.name)
}

const SECRETS: [Column; 4] = [
    Column::key("SECRET"),
    Column::text("PLACE", 1),
    Column::text("AGENTS", 0),
    Column::text("PROBLEM", 2),
];

fn table(secrets: &[Secret]) -> Table<4> {
    let row = |secret: &Secret| {
        let agents = match secret.agents.as_slice() {
            [] => "none".to_owned(),
            agents => agents.join(", "),
        };
        let problem = secret.problem.clone().unwrap_or_default();
        [secret.name.clone(), secret.key_handle.clone(), agents, problem]
    };
    Table::new(SECRETS, secrets.iter().map(row))
}
