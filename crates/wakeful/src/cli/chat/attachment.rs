//! Files that a message mentions, and the clipboard.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use wakeful_core::conversation::{ATTACHMENT_BYTES_MAX, Attachment};

/// The file endings of images.
const IMAGES: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];

/// The programs that print the clipboard: of Wayland, then of X11. Each for an image and for text.
const CLIPBOARDS: [(&str, &[&str], &[&str]); 2] = [
    (
        "wl-paste",
        &["--no-newline", "--type", "image/png"],
        &["--no-newline", "--type", "text/plain"],
    ),
    (
        "xclip",
        &["-selection", "clipboard", "-t", "image/png", "-o"],
        &["-selection", "clipboard", "-o"],
    ),
];

/// The contents of the clipboard.
#[derive(Debug)]
pub(super) enum Clipboard {
    Image(Attachment),
    Text(String),
    /// It is empty, or no program can read it.
    Nothing(String),
}

/// The files that a message mentions as `@PATH`, and the image that is the whole message.
pub(super) fn mentioned(text: &str, folder: &Path) -> Vec<PathBuf> {
    let alone = text.trim().trim_matches(['\'', '"']);
    let images = spellings(alone).into_iter().filter(|path| is_image(path));
    if let Some(image) = images.map(|path| folder.join(path)).find(|path| path.is_file()) {
        return vec![image];
    }
    let mut found: Vec<PathBuf> = Vec::new();
    for path in marked(text).into_iter().filter_map(|word| file_of(word, folder)) {
        if !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

/// The words after an `@` that look like paths but name no file. Other words may be names of people.
pub(super) fn missing(text: &str, folder: &Path) -> Vec<String> {
    let words = marked(text).into_iter();
    let paths = words.filter(|word| word.trim_end_matches('.').contains(['.', '/']));
    let missing = paths.filter(|word| file_of(word, folder).is_none());
    missing.map(str::to_owned).collect()
}

/// The words of a text that begin with an `@`, without it and without the punctuation after them.
fn marked(text: &str) -> Vec<&str> {
    let words = words(text).into_iter();
    let words = words.filter_map(|word| word.strip_prefix('@'));
    words
        .map(|word| word.trim_end_matches([',', ';', ':', '?', '!', ')']))
        .collect()
}

fn file_of(word: &str, folder: &Path) -> Option<PathBuf> {
    let mut paths = spellings(word).into_iter().map(|path| folder.join(path));
    paths.find(|path| path.is_file())
}

fn is_image(path: &str) -> bool {
    let ending = Path::new(path).extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| IMAGES.contains(&ending.to_ascii_lowercase().as_str()))
}

/// The paths that a pasted text may mean: as it is, without the backslashes with which terminals escape a dropped
/// path, and the path of a URL.
fn spellings(text: &str) -> Vec<String> {
    if text.contains('\n') {
        return Vec::new();
    }
    match text.strip_prefix("file://") {
        Some(path) => vec![path.to_owned(), percent_decoded(path)],
        None => vec![text.to_owned(), unescaped(text)],
    }
}

/// The words of a text. A space after a backslash belongs to a word.
fn words(text: &str) -> Vec<&str> {
    let mut is_escaped = false;
    let ends = move |c: char| {
        let ends = c.is_whitespace() && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    };
    text.split(ends).collect()
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        plain.extend(if c == '\\' { rest.next() } else { Some(c) });
    }
    plain
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).filter(|_| *first == b'%');
        let byte = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = match byte {
            Some(_) => after.get(2..).unwrap_or_default(),
            None => after,
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads the clipboard with the first program that can.
pub(super) fn clipboard() -> Clipboard {
    for (program, image, text) in CLIPBOARDS {
        let Some(bytes) = output_of(program, image) else {
            continue;
        };
        if !bytes.is_empty() {
            return match Attachment::of_bytes("clipboard.png", &bytes) {
                Ok(attachment) => Clipboard::Image(attachment),
                Err(error) => Clipboard::Nothing(format!("the image in the clipboard: {error}")),
            };
        }
        let bytes = output_of(program, text).unwrap_or_default();
        return match String::from_utf8(bytes) {
            Ok(text) if !text.is_empty() => Clipboard::Text(text),
            Ok(_) | Err(_) => Clipboard::Nothing("the clipboard has no image and no text".to_owned()),
        };
    }
    Clipboard::Nothing("the clipboard needs wl-paste (Wayland) or xclip (X11); use /attach PATH".to_owned())
}

/// The output of a program, empty if it fails; none if it does not exist.
fn output_of(program: &str, args: &[&str]) -> Option<Vec<u8>> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok()?;
    let is_usable = output.status.success() && output.stdout.len() <= ATTACHMENT_BYTES_MAX;
    Some(if is_usable { output.stdout } else { Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mentioned_path_without_a_file_is_reported() {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(dir.path().join("a.txt"), "x").expect("a file");
        let missing = |text: &str| missing(text, dir.path());
        assert_eq!(
            missing("read @nofile.txt, @a.txt and @src/b"),
            ["nofile.txt", "src/b"]
        );
        assert_eq!(missing("ask @anna. or me@example.org"), Vec::<String>::new());
    }

    #[test]
    fn mentioned_files_exist_and_come_once() {
        let dir = tempfile::tempdir().expect("a folder");
        let here = dir.path();
        for name in ["a.txt", "b.png"] {
            std::fs::write(here.join(name), "x").expect("a file");
        }
        let found = |text: &str| mentioned(text, here);
        assert_eq!(
            found("compare @a.txt, @b.png and @a.txt"),
            [here.join("a.txt"), here.join("b.png")]
        );
        assert_eq!(
            found("write to me@example.org or @nowhere"),
            Vec::<PathBuf>::new()
        );
        assert_eq!(found("'b.png'\n"), [here.join("b.png")]);
        assert_eq!(found("a.txt"), Vec::<PathBuf>::new());
        // As terminals paste a dropped file.
        let spaced = here.join("my photo (1).png");
        std::fs::write(&spaced, "x").expect("a file");
        for text in [
            r"my\ photo\ \(1\).png",
            "'my photo (1).png'",
            "my photo (1).png",
            r"what is on @my\ photo\ \(1\).png ?",
        ] {
            assert_eq!(found(text), std::slice::from_ref(&spaced), "{text}");
        }
        let url = format!("file://{}", spaced.display().to_string().replace(' ', "%20"));
        assert_eq!(found(&url), [spaced]);
        assert_eq!(found("what is b.png"), Vec::<PathBuf>::new());
    }
}
