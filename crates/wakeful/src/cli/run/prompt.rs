//! Reads the prompt from the command line or from standard input.

use std::io::Read as _;

use wakeful_core::message::PROMPT_BYTES_MAX;

use crate::failure::Failure;

/// Returns the prompt; `-` reads it from standard input.
pub(in crate::cli) fn read(given: &str) -> Result<String, Failure> {
    let text = if given == "-" {
        from_stdin()?
    } else {
        given.to_owned()
    };
    if text.len() > PROMPT_BYTES_MAX {
        return Err(too_large());
    }
    if text.trim().is_empty() {
        return Err(Failure::usage(
            "bad_prompt",
            "the prompt is empty",
            "describe what the agent should do",
        ));
    }
    Ok(text)
}

fn from_stdin() -> Result<String, Failure> {
    // Reads one byte more than allowed, to detect input over the limit without reading all of it.
    let limit = u64::try_from(PROMPT_BYTES_MAX)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    let mut bytes = Vec::new();
    let read = std::io::stdin().take(limit).read_to_end(&mut bytes);
    read.map_err(|error| Failure::io("bad_prompt", "cannot read the prompt", &error, "give UTF-8 text"))?;
    // Checked first, because truncated input may end inside a character.
    if bytes.len() > PROMPT_BYTES_MAX {
        return Err(too_large());
    }
    String::from_utf8(bytes).map_err(|error| {
        Failure::usage(
            "bad_prompt",
            format!("invalid prompt: {error}"),
            "give UTF-8 text",
        )
    })
}

fn too_large() -> Failure {
    let message = format!("the prompt has more than {PROMPT_BYTES_MAX} bytes");
    Failure::usage(
        "prompt_too_large",
        message,
        "put the text in a file in the workspace and mention the file in the prompt",
    )
}
