//! Where a command works: the home, the database, and the form of its answer.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use crate::failure::Failure;

/// Arguments that every command takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct GlobalArgs {
    /// The folder everything lives in [default: ~/.wakeful] [env: WAKEFUL_HOME]
    #[arg(long, global = true, value_name = "DIR")]
    home: Option<PathBuf>,
    /// A PostgreSQL database to use instead of the home's own (a URL, or key=value words) [env: WAKEFUL_DATABASE]
    #[arg(long, global = true, value_name = "URL")]
    database: Option<String>,
    /// Answer with JSON on standard output
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

impl GlobalArgs {
    /// Fills in what the environment says, once.
    pub(crate) fn or_environment(self) -> Result<Self, Failure> {
        Ok(Self {
            home: self.home.or_else(|| variable("WAKEFUL_HOME").map(PathBuf::from)),
            database: self
                .database
                .map_or_else(|| text_variable("WAKEFUL_DATABASE"), |given| Ok(Some(given)))?,
            json: self.json,
        })
    }

    /// The home as given, or the default one.
    pub(crate) fn home(&self) -> Result<PathBuf, Failure> {
        if let Some(home) = &self.home {
            return Ok(home.clone());
        }
        std::env::home_dir()
            .filter(|home| home.is_absolute())
            .map(|home| home.join(".wakeful"))
            .ok_or_else(|| {
                Failure::usage(
                    "home_missing",
                    "there is no home folder of yours to put .wakeful in",
                    "give one with --home",
                )
            })
    }

    pub(crate) fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }
}

/// A variable of the environment. An empty one counts as unset, as it does for every shell.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// A variable that must be text.
pub(crate) fn text_variable(name: &str) -> Result<Option<String>, Failure> {
    let text = variable(name).map(OsString::into_string).transpose();
    text.map_err(|_| {
        let message = format!("the environment variable {name} is not UTF-8");
        Failure::usage("bad_environment", message, "set it to UTF-8 text, or unset it")
    })
}
