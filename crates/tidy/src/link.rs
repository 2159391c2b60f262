//! Checks that links between documents have existing targets.

use std::path::{Component, Path, PathBuf};

use crate::tree::File;

/// Returns relative links of one Markdown file whose target does not exist.
pub fn dead(file: &File, exists: impl Fn(&Path) -> bool) -> Vec<String> {
    let folder = Path::new(&file.path).parent().unwrap_or(Path::new(""));
    let mut found = Vec::new();
    for (line, target) in links(&file.text) {
        let path = target.split('#').next().unwrap_or("");
        let elsewhere = target.contains("://") || target.starts_with("mailto:");
        if path.is_empty() || elsewhere {
            continue;
        }
        if !tidied(&folder.join(path)).is_some_and(|path| exists(&path)) {
            found.push(format!(
                "{}:{line}: the link to `{target}` leads nowhere",
                file.path
            ));
        }
    }
    found
}

/// Normalizes `.` and `..`; none if the path leaves the repository.
fn tidied(path: &Path) -> Option<PathBuf> {
    let mut tidy = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if tidy.pop() => {}
            Component::Normal(name) => tidy.push(name),
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(tidy)
}

/// Returns the targets of `[text](target)` and `[name]: target` outside code.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut fenced = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
            let inline = prose
                .split("](")
                .skip(1)
                .filter_map(|rest| rest.split(')').next());
            let defined = prose
                .strip_prefix('[')
                .and_then(|rest| rest.split_once("]: "))
                .map(|(_, target)| target);
            let targets = inline
                .chain(defined)
                .filter_map(|target| target.split_whitespace().next());
            found.extend(targets.map(|target| (index + 1, target.to_owned())));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caught(text: &str) -> Vec<String> {
        let present = ["README.md", "docs/STYLE.md", "docs"];
        dead(&File::new("docs/A.md", text), |path| {
            present.iter().any(|known| Path::new(known) == path)
        })
    }

    #[test]
    fn a_relative_link_without_a_target_is_caught() {
        assert_eq!(
            caught("x\nsee [b](B.md)"),
            ["docs/A.md:2: the link to `B.md` leads nowhere"]
        );
        assert_eq!(caught("[b](../docs/B.md#part) and [c](/README.md)").len(), 2);
        assert_eq!(caught("[b]: B.md").len(), 1);
        assert_eq!(caught("[out](../../README.md)").len(), 1);
    }

    #[test]
    fn links_with_a_target_and_text_in_code_pass() {
        let fine = "[a](STYLE.md#files), [b](../README.md \"title\"), [c](#part), [d](https://example.org/x), [e](.)\n\
            `[f](B.md)`\n```\n[g](B.md)\n```\n";
        assert_eq!(caught(fine), Vec::<String>::new());
    }
}
