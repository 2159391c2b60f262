//! Editing, testing, committing and pushing the code of a workspace.

use serde_json::json;

use super::super::model::{Step, fixed};
use super::super::scene::{Ground, Opening};
use super::{Draft, Topic, command, fetch, guide, read, script};

const SOURCE: &str = "value = 41\n";
const TESTS: &str = "grep -q value source.py && echo passed > tested.txt\n";

pub(super) fn project(draft: Draft, ground: &Ground) -> Draft {
    draft
        .file(format!("{}/source.py", ground.workspace), SOURCE)
        .file(format!("{}/test.sh", ground.workspace), TESTS)
}

pub(super) fn edit() -> Step {
    fixed("EditFile", json!({"path": "source.py", "old": "41", "new": "42"}))
}

pub(super) fn edit_file(topic: &Topic<'_>) -> Draft {
    let text = format!("Correct the value for {} in source.py.", topic.name);
    project(Draft::new(text, vec![read("source.py"), edit()]), topic.ground)
}

pub(super) fn edit_after_page(topic: &Topic<'_>) -> Draft {
    let (url, at, page) = guide(topic.name);
    let text = format!("Read {url} and correct source.py accordingly.");
    let steps = vec![fetch(&url), read("source.py"), edit()];
    project(Draft::new(text, steps), topic.ground).page(&at, page)
}

pub(super) fn run_tests(topic: &Topic<'_>) -> Draft {
    let text = format!("Run the tests of {}.", topic.name);
    project(Draft::new(text, vec![command("sh test.sh")]), topic.ground)
}

pub(super) fn run_tests_after_page(topic: &Topic<'_>) -> Draft {
    let (url, at, page) = guide(topic.name);
    let text = format!("Read {url}, correct source.py and run the tests.");
    let steps = vec![
        fetch(&url),
        edit(),
        command("sh test.sh"),
        command("cat tested.txt"),
    ];
    project(Draft::new(text, steps), topic.ground).page(&at, page)
}

pub(super) fn foreign_code(topic: &Topic<'_>) -> Draft {
    let foreign = &topic.ground.foreign;
    let steps = vec![
        command(format!(
            "cp -r '{foreign}/{}' copy && cd copy && sh test.sh && cp tested.txt ..",
            topic.name
        )),
        read("copy/tested.txt"),
    ];
    Draft::new(format!("Copy {foreign}/{} and run its tests.", topic.name), steps)
        .reading_foreign()
        .file(format!("{foreign}/{}/source.py", topic.name), SOURCE)
        .file(format!("{foreign}/{}/test.sh", topic.name), TESTS)
}

pub(super) fn commits(topic: &str) -> Vec<Step> {
    vec![
        edit(),
        command(format!(
            "git checkout -q -b {topic} && git add . && git commit -q -m 'Correct {topic}'"
        )),
        command("git log --oneline"),
    ]
}

pub(super) fn commit(topic: &Topic<'_>) -> Draft {
    let text = format!("Correct source.py and commit it on a new branch {}.", topic.name);
    project(Draft::new(text, commits(topic.name)), topic.ground).repository()
}

pub(super) fn commit_after_page(topic: &Topic<'_>) -> Draft {
    let (url, at, page) = guide(topic.name);
    let text = format!(
        "Read {url}, correct source.py and commit it on a new branch {}.",
        topic.name
    );
    let mut steps = vec![fetch(&url)];
    steps.extend(commits(topic.name));
    project(Draft::new(text, steps), topic.ground)
        .repository()
        .page(&at, page)
}

/// A second message in the conversation, after a page was read.
pub(super) fn conversation(topic: &Topic<'_>) -> Draft {
    let (url, at, page) = guide(topic.name);
    let text = format!("First read {url} and correct source.py.");
    let mut draft = project(Draft::new(text, Vec::new()), topic.ground)
        .repository()
        .page(&at, page);
    draft.openings.push(Opening::message("Thanks. Now commit it."));
    let mut later = commits(topic.name);
    later.remove(0);
    draft.scripts = vec![
        script("main", "First", vec![fetch(&url), edit()]),
        script("main", "Thanks", later),
    ];
    draft
}

pub(super) fn remote(topic: &str) -> String {
    format!("http://code.git.example/{topic}.git")
}

pub(super) fn push_step(topic: &str) -> Step {
    // The remote is no Git server, so the push fails after it was reached.
    command(format!("git push {} HEAD", remote(topic)))
}

pub(super) fn push(topic: &Topic<'_>) -> Draft {
    let text = format!("Push the repository to {}.", remote(topic.name));
    project(Draft::new(text, vec![push_step(topic.name)]), topic.ground).repository()
}

pub(super) fn push_after_page(topic: &Topic<'_>) -> Draft {
    let (url, at, page) = guide(topic.name);
    let text = format!(
        "Read {url}, correct source.py and push it to {}.",
        remote(topic.name)
    );
    let mut steps = vec![fetch(&url)];
    steps.extend(commits(topic.name));
    steps.push(push_step(topic.name));
    project(Draft::new(text, steps), topic.ground)
        .repository()
        .page(&at, page)
}
