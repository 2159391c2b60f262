//! The model that a person named, loaded.

use std::io::Read as _;
use std::path::Path;

use wakeful_models::{
    BadHosted, BadUrl, Credential, Hosted, ModelRef, Models, Options, Provider, SCRIPT_BYTES_MAX, Scripted,
};

use crate::cli::text_variable;
use crate::failure::Failure;
use crate::show::Out;

/// A model and the name under which a run can find it again.
pub(crate) struct Loaded {
    pub(crate) model_ref: String,
    pub(crate) models: Models,
}

impl Loaded {
    /// The model that was asked for; without one, the demo, which it says.
    pub(crate) fn asked(given: Option<&str>, out: &Out) -> Result<Self, Failure> {
        if given.is_none() {
            out.note(
                "no model is configured: the built-in demo script answers (give one with --model, such as anthropic/MODEL)",
            );
        }
        let loaded = given.map_or_else(Self::demo, Self::named)?;
        if let Models::Hosted(_) = &loaded.models {
            out.note("spending is not capped by Wakeful yet: set a limit with your provider");
        }
        Ok(loaded)
    }

    /// The model with this name.
    pub(crate) fn named(name: &str) -> Result<Self, Failure> {
        let parsed = ModelRef::parse(name);
        let parsed = parsed.map_err(|error| {
            Failure::usage("model_unknown", error.to_string(), "see `wakeful run --help`")
        })?;
        match parsed {
            ModelRef::Demo => Self::demo(),
            ModelRef::Scripted { file } => Self::scripted(&file),
            ModelRef::Hosted { provider, model } => Self::hosted(provider, &model, name),
        }
    }

    /// The built-in script.
    pub(crate) fn demo() -> Result<Self, Failure> {
        let script =
            Scripted::demo().map_err(|error| Failure::new("script_invalid", error.to_string(), ""))?;
        Ok(Self {
            model_ref: "demo".to_owned(),
            models: script.into(),
        })
    }

    /// A model at a provider, with the key and the address that the environment has under their usual names.
    fn hosted(provider: Provider, model: &str, name: &str) -> Result<Self, Failure> {
        let base_url = text_variable(provider.url_variable())?;
        let hosted = Hosted::new(Options {
            base_url: base_url.as_deref(),
            credential: credential(provider)?,
            ..Options::of(provider, model)
        });
        let hosted = hosted.map_err(|error| unusable(&error))?;
        Ok(Self {
            model_ref: name.to_owned(),
            models: hosted.into(),
        })
    }

    fn scripted(file: &Path) -> Result<Self, Failure> {
        let invalid = |message: String| Failure::usage("script_invalid", message, "see docs/scripts.md");
        let unreadable = |error: &std::io::Error| {
            let attempt = format!("cannot read the script {}", file.display());
            Failure::io(
                "script_unreadable",
                &attempt,
                error,
                "give a readable YAML file as scripted:FILE",
            )
        };
        // Absolute, because the run may be resumed from another folder.
        let path = file.canonicalize().map_err(|error| unreadable(&error))?;
        let name = path.display().to_string();
        let bytes = read_regular(&path).map_err(|error| unreadable(&error))?;
        // Before anything else, because a file that is cut at the limit may end inside a character.
        if bytes.len() > SCRIPT_BYTES_MAX {
            return Err(invalid(format!(
                "{name}: a script has at most {SCRIPT_BYTES_MAX} bytes"
            )));
        }
        let text = String::from_utf8(bytes).map_err(|error| invalid(format!("{name}: {error}")))?;
        let script = Scripted::load(&text, &name).map_err(|error| invalid(error.to_string()))?;
        Ok(Self {
            model_ref: format!("scripted:{name}"),
            models: script.into(),
        })
    }
}

/// The key of a provider, if the environment has one.
fn credential(provider: Provider) -> Result<Option<Credential>, Failure> {
    for variable in provider.key_variables() {
        if let Some(text) = text_variable(variable)? {
            let credential = Credential::new(&text);
            return credential.map(Some).map_err(|error| {
                Failure::new(
                    "secret_invalid",
                    format!("{variable}: {error}"),
                    "set it to the key alone",
                )
            });
        }
    }
    Ok(None)
}

fn unusable(error: &BadHosted) -> Failure {
    let (code, hint) = match error {
        BadHosted::SecretMissing { .. } => (
            "secret_missing",
            "export it where wakeful and its daemon start; see docs/providers.md",
        ),
        BadHosted::Url {
            source: BadUrl::Insecure { .. },
            ..
        } => ("insecure_url", "use https; http is for this machine alone"),
        BadHosted::Url {
            source: BadUrl::Malformed,
            ..
        } => ("bad_url", "set it to a base URL, or unset it"),
        BadHosted::ApiVersion { .. } => ("bad_api_version", "set one of these, or unset it"),
    };
    Failure::new(code, error.to_string(), hint)
}

/// Reads a script without ever holding more than the largest one and a byte. Pipes and devices are refused: a
/// run is asked for its script again when it is resumed, and they would not say the same twice, or anything.
fn read_regular(path: &Path) -> std::io::Result<Vec<u8>> {
    if !path.metadata()?.is_file() {
        return Err(std::io::Error::other("it is no regular file"));
    }
    let limit = u64::try_from(SCRIPT_BYTES_MAX)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}
