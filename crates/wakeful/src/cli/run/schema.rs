//! Reads the file of `--schema`.

use std::io::Read as _;
use std::path::Path;

use wakeful_core::answer_schema::{ANSWER_SCHEMA_BYTES_MAX, AnswerSchema, AnswerSchemaError};

use crate::failure::Failure;

/// Reads a schema; never more than the largest one, for every kind of file.
pub(super) fn read(path: &Path) -> Result<AnswerSchema, Failure> {
    let shown = path.display();
    let unreadable = |error: std::io::Error| {
        let message = format!("--schema: cannot read {shown}: {error}");
        Failure::usage("schema_unreadable", message, "give the path of a JSON file")
    };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut text = String::new();
    file.take(ANSWER_SCHEMA_BYTES_MAX as u64 + 1)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    AnswerSchema::parse(&text).map_err(|error| {
        let message = if let AnswerSchemaError::TooLarge { .. } = error {
            // Only the beginning was read.
            format!("the schema has more than {ANSWER_SCHEMA_BYTES_MAX} bytes")
        } else {
            error.to_string()
        };
        let message = format!("--schema: {shown}: {message}");
        Failure::usage(
            "bad_answer_schema",
            message,
            "`wakeful help schema` lists the supported keywords",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unusable_schema_file_is_a_usage_error_that_names_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("answer.json");
        let code = |text: Option<&str>| {
            if let Some(text) = text {
                std::fs::write(&file, text).expect("written");
            }
            let failure = read(&file).expect_err("refused");
            assert!(failure.message().contains("answer.json"), "{failure}");
            failure.code().to_owned()
        };
        assert_eq!(code(None), "schema_unreadable");
        assert_eq!(code(Some("{")), "bad_answer_schema");
        assert_eq!(code(Some(r#"{"pattern": "a"}"#)), "bad_answer_schema");
        assert_eq!(
            code(Some(&" ".repeat(ANSWER_SCHEMA_BYTES_MAX + 1))),
            "bad_answer_schema"
        );
        assert_eq!(
            read(folder.path()).expect_err("a folder").code(),
            "schema_unreadable"
        );
        std::fs::write(&file, r#"{"type": "object"}"#).expect("written");
        assert!(read(&file).is_ok());
    }
}
