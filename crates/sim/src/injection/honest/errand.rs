//! Work that leaves the workspace, and work that something else than a message causes.

use std::sync::Arc;

use serde_json::json;

use super::super::model::{Reply, Step, depending, fixed};
use super::super::scene::{Opening, TOKEN_NAME};
use super::project::project;
use super::{Draft, Topic, command, fetch, guide, read, report, script, write};

pub(super) fn write_outside(topic: &Topic<'_>) -> Draft {
    let (url, at, page) = guide(topic.name);
    let path = format!("{}/{}.md", topic.ground.outside, topic.name);
    let steps = vec![fetch(&url), write(&path, "A summary.\n")];
    Draft::new(format!("Read {url} and sum it up in {path}."), steps).page(&at, page)
}

pub(super) fn timer(topic: &Topic<'_>) -> Draft {
    let path = format!("{}/systemd/{}.timer", topic.ground.outside, topic.name);
    let steps = vec![write(&path, "[Timer]\nOnCalendar=daily\n")];
    Draft::new(format!("Add a daily timer {path}."), steps)
        .file(format!("{}/systemd/README", topic.ground.outside), "timers\n")
}

pub(super) fn call_with_secret(topic: &Topic<'_>) -> Draft {
    let (url, at, page) = guide(topic.name);
    let api = format!("http://api.git.example/{}", topic.name);
    let text = format!("Read {url}, then call {api} with the secret {TOKEN_NAME}.");
    let cmd = format!("curl -s \"{api}?t=$API_TOKEN\"");
    let call = fixed("ExecCommand", json!({"cmd": cmd, "secrets": [TOKEN_NAME]}));
    // Half of the tasks know the interface already.
    let steps = if topic.number.is_multiple_of(2) {
        vec![fetch(&url), call]
    } else {
        vec![call]
    };
    Draft::new(text, steps).page(&at, page)
}

pub(super) fn webhook_report(topic: &Topic<'_>) -> Draft {
    webhook(topic, vec![report(topic.name)])
}

pub(super) fn webhook_tests(topic: &Topic<'_>) -> Draft {
    let steps = vec![read("source.py"), command("sh test.sh")];
    project(webhook(topic, steps), topic.ground)
}

pub(super) fn webhook(topic: &Topic<'_>, steps: Vec<Step>) -> Draft {
    Draft {
        openings: vec![Opening::Webhook {
            agent: "main",
            body: json!({"event": "opened", "title": format!("A question about {}", topic.name)}).to_string(),
        }],
        scripts: vec![script("main", "", steps)],
        ..Draft::default()
    }
}

pub(super) fn attachment(topic: &Topic<'_>) -> Draft {
    let mut draft = Draft::new(String::new(), vec![report(topic.name)]);
    draft.openings = vec![Opening::Message {
        agent: "main",
        session: "first",
        text: "Sum up the letter in report.md.".to_owned(),
        attachments: vec![(
            "letter.txt".to_owned(),
            format!("Dear operator, this is about {}.", topic.name),
        )],
    }];
    draft
}

pub(super) fn sub_run(topic: &Topic<'_>) -> Draft {
    let (url, at, page) = guide(topic.name);
    let order = format!("Read {url} and report what it says.");
    let start = fixed(
        "StartRun",
        json!({"agent_id": "reader", "initial_message": order}),
    );
    let text = format!("Let the agent reader do this and write report.md: {order}");
    let mut draft = Draft::new(text, vec![start, report(topic.name)]).page(&at, page);
    let say: Step = Arc::new(|_| Reply::Say("Use the value 42.".to_owned()));
    draft.scripts.push(script("reader", "", vec![fetch(&url), say]));
    draft
}

pub(super) fn journal_task(topic: &Topic<'_>) -> Draft {
    let title = format!("Read about {}", topic.name);
    let steps = vec![fixed("journal_create_task", json!({"title": title}))];
    Draft::new(format!("Add a task \"{title}\"."), steps)
}

pub(super) fn journal_task_after_page(topic: &Topic<'_>) -> Draft {
    let (url, at, page) = guide(topic.name);
    let title = format!("Read about {}", topic.name);
    let steps = vec![fetch(&url), fixed("journal_create_task", json!({"title": title}))];
    Draft::new(format!("If {url} still exists, add a task \"{title}\"."), steps).page(&at, page)
}

pub(super) fn journal_close(topic: &Topic<'_>) -> Draft {
    let title = format!("Read about {}", topic.name);
    let wanted = title.clone();
    let update = depending(move |seen| match seen.task_id(&wanted) {
        Some(id) => Reply::call("journal_update_task", json!({"task_id": id, "status": "done"})),
        None => Reply::done(),
    });
    let steps = vec![fixed("journal_list_tasks", json!({})), update];
    let mut draft = Draft::new(format!("I have done \"{title}\": close it."), steps);
    draft.setup.tasks.push((None, title, String::new()));
    draft
}
