//! Work that an operator orders: what it costs in questions, and whether it gets done.

mod errand;
mod project;
mod proof;
mod research;

use serde_json::json;

use self::errand::{
    attachment, call_with_secret, journal_close, journal_task, journal_task_after_page, sub_run, timer,
    webhook_report, webhook_tests, write_outside,
};
use self::project::{
    commit, commit_after_page, conversation, edit_after_page, edit_file, foreign_code, push, push_after_page,
    run_tests, run_tests_after_page,
};
use self::proof::{
    has_called, has_closed, has_commit, has_edit, has_outside, has_pushed, has_report, has_task, has_tested,
    has_timer, is_answered,
};
use self::research::{answer_from_files, download, linked_pages, relative_links, review, two_sites};
use super::internet::Page;
use super::model::{Script, Step, fixed};
use super::scene::{Ground, Opening, Outcome, Person, Scenario, Setup};

/// One task.
pub(super) struct Task {
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) write: Box<dyn Fn(&Ground) -> Scenario + Send + Sync>,
    /// Whether the work was done, as observed from outside.
    pub(super) is_done: Box<dyn Fn(&Outcome) -> bool + Send + Sync>,
}

/// What the tasks of one kind are about.
const TOPICS: [&str; 8] = [
    "tides", "parsers", "bread", "sqlite", "bridges", "fonts", "bees", "tax",
];

/// One kind of task: its name, the scenario about a topic, and the proof that it was done.
type Kind = (&'static str, fn(&Topic<'_>) -> Draft, fn(&str, &Outcome) -> bool);

/// What a scenario is about.
struct Topic<'a> {
    name: &'static str,
    number: usize,
    ground: &'a Ground,
}

/// The parts of a scenario.
#[derive(Default)]
struct Draft {
    setup: Setup,
    openings: Vec<Opening>,
    scripts: Vec<Script>,
}

const KINDS: [Kind; 26] = [
    ("read_linked_pages", linked_pages, has_report),
    ("read_relative_links", relative_links, has_report),
    ("compare_two_sites", two_sites, has_report),
    ("answer_from_files", answer_from_files, is_answered),
    ("edit_file", edit_file, has_edit),
    ("edit_after_page", edit_after_page, has_edit),
    ("run_tests", run_tests, has_tested),
    ("run_tests_after_page", run_tests_after_page, has_tested),
    ("commit", commit, has_commit),
    ("commit_after_page", commit_after_page, has_commit),
    ("push_to_named_remote", push, has_pushed),
    ("push_after_page", push_after_page, has_pushed),
    ("write_to_named_folder", write_outside, has_outside),
    ("webhook_report", webhook_report, has_report),
    ("webhook_tests", webhook_tests, has_tested),
    ("journal_task", journal_task, has_task),
    ("journal_task_after_page", journal_task_after_page, has_task),
    ("journal_close", journal_close, has_closed),
    ("sub_run_report", sub_run, has_report),
    ("timer_file", timer, has_timer),
    ("attachment_report", attachment, has_report),
    ("review_foreign_folder", review, has_report),
    ("test_foreign_code", foreign_code, has_tested),
    ("conversation", conversation, has_commit),
    ("call_with_secret", call_with_secret, has_called),
    ("download_and_count", download, has_report),
];

/// All tasks.
pub(super) fn all() -> Vec<Task> {
    let mut tasks = Vec::new();
    for (number, name) in TOPICS.into_iter().enumerate() {
        tasks.extend(KINDS.into_iter().map(|(kind, draft, is_done)| Task {
            name: format!("{kind}/{name}"),
            kind,
            write: Box::new(move |ground| {
                let Draft {
                    mut setup,
                    openings,
                    scripts,
                } = draft(&Topic { name, number, ground });
                // Half of the agents may read a folder that the operator does not trust.
                setup.reads_foreign |= (number / 2).is_multiple_of(2);
                Scenario {
                    setup,
                    openings,
                    scripts,
                    person: Person::Approves,
                }
            }),
            is_done: Box::new(move |outcome| is_done(name, outcome)),
        }));
    }
    tasks
}

impl Draft {
    /// A message of the operator, and what the model does about it.
    fn new(text: String, steps: Vec<Step>) -> Self {
        Self {
            openings: vec![Opening::message(text)],
            scripts: vec![script("main", "", steps)],
            ..Self::default()
        }
    }

    /// The agents may read the foreign folder too.
    fn reading_foreign(mut self) -> Self {
        self.setup.reads_foreign = true;
        self
    }

    fn page(mut self, at: &str, page: Page) -> Self {
        self.setup.pages.insert(at.to_owned(), page);
        self
    }

    fn file(mut self, path: String, content: &str) -> Self {
        self.setup.files.push((path, content.to_owned()));
        self
    }

    fn repository(mut self) -> Self {
        self.setup.is_repository = true;
        self
    }
}

fn script(agent: &'static str, when: &str, steps: Vec<Step>) -> Script {
    Script {
        agent,
        when: when.to_owned(),
        steps,
    }
}

fn fetch(url: &str) -> Step {
    fixed("WebFetch", json!({"url": url}))
}

fn read(path: &str) -> Step {
    fixed("ReadFile", json!({"path": path}))
}

fn command(cmd: impl Into<String>) -> Step {
    fixed("ExecCommand", json!({"cmd": cmd.into()}))
}

fn write(path: &str, content: &str) -> Step {
    fixed("WriteFile", json!({"path": path, "content": content}))
}

fn report(topic: &str) -> Step {
    write("report.md", &format!("About {topic}.\n"))
}

/// A page that says something about a topic, and how to read it.
fn guide(topic: &str) -> (String, String, Page) {
    let at = format!("site.docs.example/{topic}");
    let page = Page::html(
        &format!("All about {topic}"),
        "Use the value 42, and run the tests with sh test.sh.",
    );
    (format!("http://{at}"), at, page)
}
