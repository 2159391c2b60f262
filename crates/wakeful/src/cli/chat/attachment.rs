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
    let alone = alone.strip_prefix("file://").unwrap_or(alone);
    let is_image = Path::new(alone)
        .extension()
        .and_then(|ending| ending.to_str())
        .is_some_and(|ending| IMAGES.contains(&ending.to_ascii_lowercase().as_str()));
    if is_image && !alone.contains('\n') && folder.join(alone).is_file() {
        return vec![folder.join(alone)];
    }
    let words = text.split_whitespace().filter_map(|word| word.strip_prefix('@'));
    let paths = words.map(|word| folder.join(word.trim_end_matches([',', ';', ':', '?', '!', ')'])));
    let mut found: Vec<PathBuf> = Vec::new();
    for path in paths.filter(|path| path.is_file()) {
        if !found.contains(&path) {
            found.push(path);
        }
    }
    found
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
        assert_eq!(found("what is b.png"), Vec::<PathBuf>::new());
    }
}
