//! `wakeful serve`: runs the daemon in the foreground.

use std::path::PathBuf;

use clap::Args;

use super::{GlobalArgs, text_variable};
use crate::config::{self, LiveSettings, LoadedConfig, Overrides};
use crate::daemon::lifecycle::{DaemonOptions, run_daemon};
use crate::failure::Failure;
use crate::model::ModelRegistry;
use crate::open_home::SandboxRequirement;
use crate::show::Out;

/// Options of the daemon: addresses, token, model, log and sandbox.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ServeArgs {
    /// IP address to listen on [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS", conflicts_with = "listen")]
    host: Option<String>,
    /// Port to listen on; 0 chooses a free one [default: 7717]
    #[arg(long, value_name = "PORT", conflicts_with = "listen")]
    port: Option<u16>,
    /// Address and port together, such as 127.0.0.1:7717
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<std::net::SocketAddr>,
    /// Base URL under which clients reach the daemon, if it differs from its address and port
    #[arg(long, value_name = "URL")]
    advertise: Option<String>,
    /// File with the API token [default: the home's own, which is created if necessary]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// API token; prefer --token-file, which keeps it out of process lists [env: WAKEFUL_TOKEN]
    #[arg(long, value_name = "TOKEN", conflicts_with = "token_file")]
    token: Option<String>,
    /// Default model: `PROVIDER/MODEL`, `scripted:FILE`, or `demo` for the built-in script
    #[arg(long, value_name = "REF")]
    model: Option<String>,
    /// Minimum log level: `error`, `warn`, `info`, `debug` or `trace` [default: info]
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,
    /// Log format: `text` or `json` [default: text]
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<String>,
    /// Run commands even if this kernel cannot sandbox them
    #[arg(long)]
    allow_unsandboxed: bool,
}

impl ServeArgs {
    /// The options that a daemon starts with.
    pub(super) fn start<'a>(&self, shared: &'a GlobalArgs) -> Result<DaemonOptions<'a>, Failure> {
        let settings = self.settings(shared)?;
        let live = LiveSettings::following(shared.home()?, self.flags()?, &settings);
        Ok(DaemonOptions {
            shared,
            models: ModelRegistry::following(live.clone()),
            live,
            settings,
            token: self.token()?,
            sandboxing: if self.allow_unsandboxed {
                SandboxRequirement::Optional
            } else {
                SandboxRequirement::Required
            },
        })
    }

    /// Loads the settings, so that all argument errors are reported before a process starts or a socket is
    /// bound.
    pub(super) fn settings(&self, shared: &GlobalArgs) -> Result<LoadedConfig, Failure> {
        let loaded = config::load(&shared.home()?, &self.flags()?)?;
        if let Some(token) = self.token()? {
            crate::daemon::token::check(&token)?;
        }
        if loaded.config.model.default.is_some() {
            let models = ModelRegistry::new(&loaded.config);
            let chain = models.chain(None, None)?;
            models.route(&chain.model_ref, &chain.fallbacks)?;
        }
        Ok(loaded)
    }

    /// The flags that override settings.
    fn flags(&self) -> Result<Overrides, Failure> {
        let token_file = self.token_file.as_ref().map(std::path::absolute).transpose();
        let token_file = token_file.map_err(|error| {
            Failure::io(
                "token_unreadable",
                "cannot resolve --token-file",
                &error,
                "choose another path",
            )
        })?;
        let token_file = token_file.map(|file| file.display().to_string());
        let address = self
            .host
            .clone()
            .or(self.listen.map(|listen| listen.ip().to_string()));
        let model = self.model.as_deref().map(crate::model::canonical).transpose()?;
        Ok(Overrides::default()
            .flag("server.address", "--host", address)
            .flag(
                "server.port",
                "--port",
                self.port.or(self.listen.map(|listen| listen.port())),
            )
            .flag("server.advertise", "--advertise", self.advertise.clone())
            .flag("server.token_file", "--token-file", token_file)
            .flag("model.default", "--model", model)
            .flag("log.level", "--log-level", self.log_level.as_ref())
            .flag("log.format", "--log-format", self.log_format.as_ref()))
    }

    fn token(&self) -> Result<Option<String>, Failure> {
        self.token
            .clone()
            .map_or_else(|| text_variable("WAKEFUL_TOKEN"), |token| Ok(Some(token)))
    }

    /// The same options as arguments for another process. The token is passed in the environment, where
    /// `ps` does not show it.
    pub(super) fn again(&self) -> (Vec<String>, Option<String>) {
        let mut words = Vec::new();
        let mut add =
            |flag: &str, value: Option<String>| words.extend(value.map(|value| [flag.to_owned(), value]));
        add("--host", self.host.clone());
        add("--port", self.port.map(|port| port.to_string()));
        add("--listen", self.listen.map(|listen| listen.to_string()));
        add("--advertise", self.advertise.clone());
        let absolute = |file: &PathBuf| std::path::absolute(file).unwrap_or_else(|_| file.clone());
        let token_file = self
            .token_file
            .as_ref()
            .map(|file| absolute(file).display().to_string());
        add("--token-file", token_file);
        add("--model", self.model.clone());
        add("--log-level", self.log_level.clone());
        add("--log-format", self.log_format.clone());
        let mut words: Vec<String> = words.into_iter().flatten().collect();
        if self.allow_unsandboxed {
            words.push("--allow-unsandboxed".to_owned());
        }
        (words, self.token.clone())
    }
}

pub(crate) async fn serve(args: &ServeArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    run_daemon(args.start(shared)?, out).await
}
