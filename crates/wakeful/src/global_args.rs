//! The options that every command accepts: the home, the database and the output format.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use crate::failure::Failure;

/// The heading of these options in help texts, apart from those of the command.
const HEADING: &str = "Global options";

/// Options that every command accepts.
#[derive(Debug, Clone, Args)]
pub(crate) struct GlobalArgs {
    /// Home folder, which holds all data [default: ~/.wakeful] [env: WAKEFUL_HOME]
    #[arg(long, global = true, value_name = "DIR", help_heading = HEADING)]
    home: Option<PathBuf>,
    /// PostgreSQL database to use instead of the home's own (URL or key=value pairs) [env:
    /// WAKEFUL_DATABASE]
    #[arg(long, global = true, value_name = "URL", help_heading = HEADING)]
    database: Option<String>,
    /// Print the result as JSON on standard output
    #[arg(long, global = true, help_heading = HEADING)]
    pub(crate) json: bool,
    /// Print times as dates instead of "3 min ago"
    #[arg(long, global = true, help_heading = HEADING)]
    pub(crate) absolute: bool,
}

impl GlobalArgs {
    /// Fills in missing options from the environment.
    pub(crate) fn or_environment(self) -> Result<Self, Failure> {
        Ok(Self {
            home: self.home.or_else(|| variable("WAKEFUL_HOME").map(PathBuf::from)),
            database: self
                .database
                .map_or_else(|| text_variable("WAKEFUL_DATABASE"), |given| Ok(Some(given)))?,
            json: self.json,
            absolute: self.absolute,
        })
    }

    /// The home that was given, or the default home.
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
                    "cannot determine your home folder to create .wakeful in",
                    "choose a folder with --home",
                )
            })
    }

    pub(crate) fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }
}

/// An environment variable. An empty one counts as unset, as it usually does in shells.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// An environment variable that must be UTF-8.
pub(crate) fn text_variable(name: &str) -> Result<Option<String>, Failure> {
    let text = variable(name).map(OsString::into_string).transpose();
    text.map_err(|_| {
        let message = format!("the environment variable {name} is not UTF-8");
        Failure::usage("bad_environment", message, "set it to UTF-8 text, or unset it")
    })
}
