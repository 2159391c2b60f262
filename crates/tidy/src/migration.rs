//! Checks that migrations are never edited.
//!
//! Existing homes have already run each merged migration. Editing one would give new homes different tables
//! than old ones, and no test on a new home could detect it; therefore the hash of each file is stored next
//! to it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use sha2::{Digest, Sha256};

use crate::tree::File;

/// The folder of the migrations, with one subfolder per dialect; the journal's migrations have a separate
/// subfolder.
pub const FOLDER: &str = "crates/store/migrations/";
const DATABASES: [[&str; 2]; 2] = [["sqlite", "postgres"], ["journal/sqlite", "journal/postgres"]];
const WAY_OUT: &str = "forward only: add a new migration";

/// Returns all violations in the migrations and in the file of their hashes.
pub fn violations(files: &[File]) -> Vec<String> {
    let inside = |file: &File| {
        file.path
            .strip_prefix(FOLDER)
            .map(|path| (path.to_owned(), file.text.clone()))
    };
    let all: BTreeMap<String, String> = files.iter().filter_map(inside).collect();
    let hashes = all.get("HASHES").map(String::as_str).unwrap_or_default();
    let migrations: BTreeMap<&str, &str> = all
        .iter()
        .filter(|(path, _)| path.ends_with(".sql"))
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let mut found = hashes_that_differ(&migrations, hashes);
    found.extend(names_that_differ(&migrations));
    let silent = migrations.iter().filter(|(_, text)| !text.starts_with("--"));
    found.extend(silent.map(|(path, _)| format!("{FOLDER}{path}: open with a `--` comment that says why")));
    found
}

fn hashes_that_differ(migrations: &BTreeMap<&str, &str>, hashes: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut kept: BTreeMap<&str, &str> = BTreeMap::new();
    for line in hashes.lines().filter(|line| !line.trim().is_empty()) {
        match line.split_once("  ") {
            Some((hash, path)) if kept.insert(path.trim(), hash).is_none() => {}
            Some((_, path)) => found.push(format!("{FOLDER}HASHES: {path} is listed twice")),
            None => found.push(format!("{FOLDER}HASHES: `{line}` is not `<sha256>  <path>`")),
        }
    }
    for (path, text) in migrations {
        let hash = sha256(text);
        match kept.get(path) {
            Some(known) if *known == hash => {}
            Some(_) => found.push(format!("{FOLDER}{path}: was edited; {WAY_OUT}")),
            None => found.push(format!(
                "{FOLDER}{path}: not in HASHES; if it is new, add the line `{hash}  {path}`"
            )),
        }
    }
    let gone = kept.keys().filter(|path| !migrations.contains_key(*path));
    found.extend(gone.map(|path| format!("{FOLDER}{path}: was removed; {WAY_OUT}")));
    found
}

fn names_that_differ(migrations: &BTreeMap<&str, &str>) -> Vec<String> {
    let folder_of = |path: &str| path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
    let is_known = |folder: Option<String>| {
        DATABASES
            .iter()
            .flatten()
            .any(|known| folder.as_deref() == Some(known))
    };
    let strange = migrations.keys().filter(|path| !is_known(folder_of(path)));
    let mut found: Vec<String> = strange
        .map(|path| format!("{FOLDER}{path}: belongs to no supported dialect"))
        .collect();
    let names = |folder: &str| -> BTreeSet<&str> {
        let inside = migrations.keys().filter_map(|path| path.rsplit_once('/'));
        inside
            .filter(|(place, _)| *place == folder)
            .map(|(_, name)| name)
            .collect()
    };
    for [one, two] in DATABASES {
        for (dialect, other) in [(one, two), (two, one)] {
            let (own, others) = (names(dialect), names(other));
            let lacking = own.difference(&others);
            found.extend(
                lacking
                    .map(|name| format!("{FOLDER}{dialect}/{name}: {other} has no migration of that name")),
            );
            for (index, name) in own.iter().enumerate() {
                let expected = format!("{:04}_", index + 1);
                if !name.starts_with(&expected) {
                    found.push(format!(
                        "{FOLDER}{dialect}/{name}: numbers go up by one; expected {expected}…"
                    ));
                }
            }
        }
    }
    found
}

fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes())
        .iter()
        .fold(String::new(), |mut hex, byte| {
            // Writing into a string cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SQL: &str = "-- One row per agent.\nCREATE TABLE agent_head (agent_id TEXT);\n";

    fn tree(hashes: &str, migrations: &[(&str, &str)]) -> Vec<File> {
        let mut files = vec![File::new(&format!("{FOLDER}HASHES"), hashes)];
        files.extend(
            migrations
                .iter()
                .map(|(path, text)| File::new(&format!("{FOLDER}{path}"), text)),
        );
        files
    }

    fn sound() -> (String, [(&'static str, &'static str); 2]) {
        let hash = sha256(SQL);
        let hashes = format!("{hash}  sqlite/0001_head.sql\n{hash}  postgres/0001_head.sql\n");
        (
            hashes,
            [("sqlite/0001_head.sql", SQL), ("postgres/0001_head.sql", SQL)],
        )
    }

    #[test]
    fn a_known_hash_is_computed() {
        assert_eq!(
            sha256("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn unchanged_migrations_and_an_empty_folder_pass() {
        let (hashes, migrations) = sound();
        assert_eq!(violations(&tree(&hashes, &migrations)), Vec::<String>::new());
        assert!(violations(&[]).is_empty());
    }

    #[test]
    fn an_edited_migration_is_caught_with_a_fix() {
        let (hashes, _) = sound();
        let edited = format!("{SQL}-- one more line\n");
        let found = violations(&tree(
            &hashes,
            &[("sqlite/0001_head.sql", &edited), ("postgres/0001_head.sql", SQL)],
        ));
        assert_eq!(
            found,
            [format!("{FOLDER}sqlite/0001_head.sql: was edited; {WAY_OUT}")]
        );
    }

    #[test]
    fn a_migration_or_a_hash_without_its_counterpart_is_caught() {
        let (hashes, migrations) = sound();
        assert_eq!(violations(&tree("", &migrations)).len(), 2);
        assert_eq!(violations(&tree(&hashes, &[])).len(), 2);
        assert_eq!(
            violations(&tree(&format!("{hashes}nonsense\n"), &migrations)).len(),
            1
        );
    }

    #[test]
    fn both_dialects_have_the_same_names() {
        let (hashes, [sqlite, _]) = sound();
        let first_line = hashes.lines().next().unwrap();
        let found = violations(&tree(first_line, &[sqlite]));
        assert_eq!(
            found,
            [format!(
                "{FOLDER}sqlite/0001_head.sql: postgres has no migration of that name"
            )]
        );
    }

    #[test]
    fn a_skipped_number_or_an_unknown_folder_is_caught() {
        let hash = sha256(SQL);
        let paths = [
            "sqlite/0002_head.sql",
            "postgres/0002_head.sql",
            "oracle/0001_head.sql",
        ];
        let hashes: String = paths.iter().map(|path| format!("{hash}  {path}\n")).collect();
        assert_eq!(
            violations(&tree(&hashes, &paths.map(|path| (path, SQL)))).len(),
            3
        );
    }

    #[test]
    fn the_journal_numbers_its_own_migrations() {
        let hash = sha256(SQL);
        let paths = [
            "sqlite/0001_head.sql",
            "postgres/0001_head.sql",
            "journal/sqlite/0001_journal.sql",
            "journal/postgres/0001_journal.sql",
        ];
        let hashes: String = paths.iter().map(|path| format!("{hash}  {path}\n")).collect();
        assert_eq!(
            violations(&tree(&hashes, &paths.map(|path| (path, SQL)))),
            Vec::<String>::new()
        );
        let found = violations(&tree(
            &hashes,
            &[paths[0], paths[1], paths[2]].map(|path| (path, SQL)),
        ));
        assert_eq!(found.len(), 2, "one is gone, and its twin is alone: {found:?}");
    }

    #[test]
    fn a_migration_without_an_explanation_is_caught() {
        let silent = "CREATE TABLE a (b TEXT);";
        let hash = sha256(silent);
        let paths = ["sqlite/0001_a.sql", "postgres/0001_a.sql"];
        let hashes: String = paths.iter().map(|path| format!("{hash}  {path}\n")).collect();
        assert_eq!(
            violations(&tree(&hashes, &paths.map(|path| (path, silent)))).len(),
            2
        );
    }
}
