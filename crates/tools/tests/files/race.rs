//! Races of the file tools with a program that swaps folders and files of the workspace with links that lead out of
//! it. `WAKEFUL_RACE_ROUNDS` sets the number of rounds.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use super::call;
use crate::fixture::ToolFixture;

/// Rounds unless the variable sets another number: a few seconds.
const ROUNDS: usize = 1_000;

const SECRET: &str = "the secret outside";

/// The same line is inside and outside, so that a change that went outside would find it.
const LINE: &str = "a line";

/// Folders that are swapped. A search opens all of them, so a call of it counts as many rounds.
const FOLDERS: usize = 10;

#[expect(clippy::disallowed_methods, reason = "a setting of this test alone")]
fn rounds() -> usize {
    let set = std::env::var("WAKEFUL_RACE_ROUNDS").ok();
    set.and_then(|text| text.parse().ok()).unwrap_or(ROUNDS)
}

/// Folders `d0` to `d9` with a file each, and one folder outside.
fn fixture() -> ToolFixture {
    let fixture = ToolFixture::new();
    let outside = fixture.root.join("outside");
    fs::create_dir(&outside).expect("a folder");
    fs::write(outside.join("file"), format!("{LINE}\n{SECRET}\n")).expect("a file");
    for number in 0..FOLDERS {
        let at = |name: &str| fixture.workspace.join(format!("{name}{number}"));
        fs::create_dir(at("d")).expect("a folder");
        fs::write(at("d").join("file"), format!("{LINE}\n")).expect("a file");
        symlink(&outside, at("folder-link")).expect("a link");
        symlink(outside.join("file"), at("file-link")).expect("a link");
    }
    fixture
}

/// Ends the swaps when it is dropped.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Calls while every folder, and the file in it, is swapped with a link all the time.
fn race(fixture: &ToolFixture, rounds: usize, mut one: impl FnMut(usize)) {
    let ended = AtomicBool::new(false);
    let at = |name: String| fixture.workspace.join(name);
    // By handle, so that this thread itself never follows a link.
    let folders: Vec<fs::File> = (0..FOLDERS)
        .map(|number| fs::File::open(at(format!("d{number}"))).expect("a folder"))
        .collect();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                for (number, folder) in folders.iter().enumerate() {
                    let (own, link) = (at(format!("d{number}")), at(format!("folder-link{number}")));
                    renameat_with(CWD, own, CWD, link, RenameFlags::EXCHANGE).expect("a swap");
                    // The file is missing for a moment while a tool replaces it.
                    let link = at(format!("file-link{number}"));
                    let _missing = renameat_with(folder, "file", CWD, link, RenameFlags::EXCHANGE);
                }
            }
        });
        // Also if a round fails, because the scope waits for the thread.
        let _end = End(&ended);
        for round in 0..rounds {
            one(round);
        }
    });
    let outside = fixture.root.join("outside");
    let text = fs::read_to_string(outside.join("file")).expect("text");
    assert_eq!(text, format!("{LINE}\n{SECRET}\n"));
    assert_eq!(fs::read_dir(outside).expect("a folder").count(), 1);
}

/// Counts the successes of each tool, and refuses a result that contains something from outside.
fn note(successes: &mut BTreeMap<&str, usize>, tool: &'static str, result: &Value) {
    *successes.entry(tool).or_default() += usize::from(result["ok"] == true);
    assert!(!result.to_string().contains(SECRET), "{result}");
}

#[track_caller]
fn all_succeeded_sometimes(successes: &BTreeMap<&str, usize>, tools: &[&str]) {
    for tool in tools {
        assert!(
            successes.get(tool).is_some_and(|count| *count > 0),
            "no call of {tool} succeeded, so nothing was raced with: {successes:?}"
        );
    }
}

#[test]
fn a_race_with_links_never_leads_a_file_tool_outside() {
    let fixture = fixture();
    let mut successes = BTreeMap::new();
    race(&fixture, rounds(), |round| {
        let folder = round / 6 % FOLDERS;
        let (path, new) = (format!("d{folder}/file"), format!("d{folder}/n{}/m", round % 7));
        let patch = match round / 6 % 2 {
            0 => format!("*** Begin Patch\n*** Update File: {path}\n-{LINE}\n+{LINE}.\n*** End Patch"),
            _ => format!("*** Begin Patch\n*** Add File: {new}\n+inside\n*** End Patch"),
        };
        let (tool, input) = match round % 6 {
            0 | 4 => ("WriteFile", json!({"path": path, "content": format!("{LINE}\n")})),
            1 => ("ReadFile", json!({"path": path})),
            2 => (
                "EditFile",
                json!({"path": path, "old": LINE, "new": format!("{LINE}!")}),
            ),
            3 => ("WriteFile", json!({"path": new, "content": "inside"})),
            _ => ("ApplyPatch", json!({"patch": patch})),
        };
        note(&mut successes, tool, &call(&fixture, tool, input));
    });
    all_succeeded_sometimes(&successes, &["ReadFile", "WriteFile", "EditFile", "ApplyPatch"]);
}

#[test]
fn a_race_with_links_never_leads_a_search_outside() {
    let fixture = fixture();
    let mut successes = BTreeMap::new();
    race(&fixture, rounds() / FOLDERS / 4, |_| {
        let found = call(&fixture, "SearchFiles", json!({"pattern": "secret|line"}));
        note(&mut successes, "SearchFiles", &found);
        let found = call(&fixture, "ListFiles", json!({"depth": 3}));
        assert!(!found.to_string().contains("/outside"), "{found}");
        note(&mut successes, "ListFiles", &found);
    });
    all_succeeded_sometimes(&successes, &["SearchFiles", "ListFiles"]);
}
