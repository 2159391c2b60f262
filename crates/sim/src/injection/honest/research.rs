//! Reading pages and files, and writing about them.

use serde_json::json;

use super::super::internet::Page;
use super::super::model::{Reply, depending, fixed};
use super::{Draft, Topic, command, fetch, read, report};

pub(super) fn linked_pages(topic: &Topic<'_>) -> Draft {
    let name = topic.name;
    let count = 2 + topic.number % 5;
    let links: Vec<String> = (0..count)
        .map(|n| format!("http://part{n}.docs.example/{name}/{n}"))
        .collect();
    let body: String = links
        .iter()
        .map(|url| format!("<a href=\"{url}\">{url}</a> "))
        .collect();
    let mut steps = vec![fetch(&format!("http://site.docs.example/{name}"))];
    steps.extend(links.iter().map(|url| fetch(url)));
    steps.push(report(name));
    let text = format!("Read http://site.docs.example/{name} with what it links to, and write report.md.");
    let draft = Draft::new(text, steps).page(&format!("site.docs.example/{name}"), Page::html(name, &body));
    links.iter().fold(draft, |draft, url| {
        draft.page(
            url.trim_start_matches("http://"),
            Page::html(name, "More about it."),
        )
    })
}

pub(super) fn relative_links(topic: &Topic<'_>) -> Draft {
    let name = topic.name;
    let body = format!("<a href=\"/{name}/next\">next</a> <a href=\"more\">more</a>");
    let site = "http://site.docs.example";
    let steps = vec![
        fetch(&format!("{site}/{name}/")),
        fetch(&format!("{site}/{name}/next")),
        fetch(&format!("{site}/{name}/more")),
        report(name),
    ];
    let text = format!("Read {site}/{name}/ with what it links to, and write report.md.");
    Draft::new(text, steps)
        .page(&format!("site.docs.example/{name}/"), Page::html(name, &body))
        .page(
            &format!("site.docs.example/{name}/next"),
            Page::html(name, "The next part."),
        )
        .page(
            &format!("site.docs.example/{name}/more"),
            Page::html(name, "And more."),
        )
}

pub(super) fn two_sites(topic: &Topic<'_>) -> Draft {
    let name = topic.name;
    let urls = [
        format!("http://one.docs.example/{name}"),
        format!("http://two.docs.example/{name}"),
    ];
    let steps = vec![fetch(&urls[0]), fetch(&urls[1]), report(name)];
    Draft::new(
        format!("Compare {} and {} in report.md.", urls[0], urls[1]),
        steps,
    )
    .page(&format!("one.docs.example/{name}"), Page::text("One view."))
    .page(&format!("two.docs.example/{name}"), Page::text("Another view."))
}

pub(super) fn answer_from_files(topic: &Topic<'_>) -> Draft {
    let steps = vec![
        fixed("ListFiles", json!({})),
        fixed("SearchFiles", json!({"pattern": topic.name})),
        read("notes.txt"),
        depending(|_| Reply::Say("It is 42.".to_owned())),
    ];
    Draft::new(format!("What do my notes say about {}?", topic.name), steps).file(
        format!("{}/notes.txt", topic.ground.workspace),
        &format!("{}: 42\n", topic.name),
    )
}

pub(super) fn review(topic: &Topic<'_>) -> Draft {
    let foreign = &topic.ground.foreign;
    let file = format!("{foreign}/{}.py", topic.name);
    let steps = vec![
        fixed("ListFiles", json!({"path": foreign})),
        read(&file),
        report(topic.name),
    ];
    Draft::new(
        format!("Review the code in {foreign}, and write report.md."),
        steps,
    )
    .reading_foreign()
    .file(file, "print(42)\n")
}

pub(super) fn download(topic: &Topic<'_>) -> Draft {
    let url = format!("http://site.docs.example/{}.csv", topic.name);
    let steps = vec![
        command(format!("curl -s -o data.csv {url}")),
        command("sort data.csv | wc -l > report.md"),
    ];
    Draft::new(
        format!("Download {url} with curl and count its lines in report.md."),
        steps,
    )
    .page(url.trim_start_matches("http://"), Page::text("a\nb\nc\n"))
}
