//! Every command that a message tells people to type exists and has these flags.

use std::path::{Path, PathBuf};

use clap::error::ErrorKind;

use super::*;

/// Crates whose messages people see.
const CRATES: [&str; 9] = [
    "api", "core", "models", "policy", "ports", "runtime", "server", "tools", "wakeful",
];

#[test]
fn every_hint_names_a_command_that_exists() {
    let hints: Vec<String> = CRATES.iter().flat_map(|name| hints_of(name)).collect();
    assert!(hints.len() > 150, "{}", hints.len());
    let wrong = hints.iter().filter_map(|hint| Some((hint, problem(hint)?)));
    let wrong: Vec<_> = wrong.collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The commands between backticks in the source files of a crate.
fn hints_of(name: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(name)
        .join("src");
    let mut files = Vec::new();
    add_files(&folder, &mut files);
    let texts = files
        .iter()
        .map(|file| std::fs::read_to_string(file).expect("a source file"));
    let lines: Vec<String> = texts
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect();
    let between = lines.iter().flat_map(|line| line.split('`').skip(1).step_by(2));
    between
        .filter(|text| text.starts_with("wakeful "))
        .map(str::to_owned)
        .collect()
}

fn add_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            add_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// What is wrong with a hint. A hint may leave out arguments, and name them in capitals.
fn problem(hint: &str) -> Option<ErrorKind> {
    // A text that continues on the next line ends with a backslash.
    let words = hint.split_whitespace().filter(|word| *word != "\\");
    let words = words.map(|word| match word {
        // A flag with its value, from a list that has a test of its own.
        "{flag}" => "--help",
        "COMMAND" => "run",
        _ => word.trim_matches(['\\', '"']),
    });
    let last = hint.split(' ').next_back();
    let error = Cli::try_parse_from(words).err()?;
    let is_incomplete = [
        ErrorKind::MissingRequiredArgument,
        ErrorKind::MissingSubcommand,
        ErrorKind::DisplayHelp,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand,
    ]
    .contains(&error.kind());
    let is_placeholder = error.kind() == ErrorKind::InvalidValue
        && last.is_some_and(|word| word == "MODE" || word.starts_with("--"));
    (!is_incomplete && !is_placeholder).then(|| error.kind())
}
