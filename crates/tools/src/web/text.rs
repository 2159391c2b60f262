//! From the body of a response to text for a model.

use std::sync::mpsc;
use std::time::Duration;

use tokio::sync::Semaphore;
use url::Url;

/// Columns of text that is made of HTML.
const WIDTH: usize = 120;

/// How long the conversion of HTML may take. Its input is bounded, and hostile pages can be slow nevertheless.
pub(super) const CONVERSION_MAX: Duration = Duration::from_secs(5);

/// Characters per token, roughly.
const TOKEN_CHARS: usize = 4;

/// What a content type means here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyKind {
    Html,
    Text,
    /// Images, archives, programs.
    Binary,
}

impl BodyKind {
    pub(super) fn of(content_type: &str) -> Self {
        let essence = content_type.split(';').next().unwrap_or_default().trim();
        let essence = essence.to_ascii_lowercase();
        let is_textual = |name: &str| {
            [
                "json",
                "xml",
                "javascript",
                "yaml",
                "toml",
                "x-sh",
                "csv",
                "x-ndjson",
            ]
            .iter()
            .any(|word| name == *word || name.ends_with(&format!("+{word}")) || name == format!("x-{word}"))
        };
        match essence.split_once('/') {
            Some(("text", "html")) | Some(("application", "xhtml+xml")) => Self::Html,
            Some(("text", _)) => Self::Text,
            Some(("application", name)) if is_textual(name) => Self::Text,
            _ => Self::Binary,
        }
    }
}

/// Decodes a body. Latin 1 is the only other encoding that old servers send often.
pub(super) fn decoded(bytes: &[u8], content_type: &str) -> String {
    let lower = content_type.to_ascii_lowercase();
    if lower.contains("charset=iso-8859-1") || lower.contains("charset=windows-1252") {
        return bytes.iter().copied().map(char::from).collect();
    }
    String::from_utf8_lossy(bytes).into_owned()
}

/// Most conversions of this process at the same time, including those whose result came too late.
const CONVERSIONS_MAX: usize = 4;
static CONVERSIONS: Semaphore = Semaphore::const_new(CONVERSIONS_MAX);

/// Converts a page to text; none if that fails, takes too long, or too many others are running. It blocks.
pub(super) fn of_html(html: String) -> Option<String> {
    let place = CONVERSIONS.try_acquire().ok()?;
    let (answer, answered) = mpsc::channel();
    // A thread of its own, because a conversion cannot be interrupted; deep pages need more than a usual
    // stack. It ends with its bounded input.
    let work = move || {
        let text = html2text::config::plain()
            .link_footnotes(true)
            .allow_width_overflow()
            .string_from_read(html.as_bytes(), WIDTH);
        drop(place);
        let _late = answer.send(text.ok());
    };
    std::thread::Builder::new()
        .name("html".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(work)
        .ok()?;
    answered.recv_timeout(CONVERSION_MAX).ok().flatten()
}

/// Replaces relative addresses in the list of links below a page. A model can then name a page as it stands in
/// the text.
pub(super) fn with_absolute_links(text: &str, page: &Url) -> String {
    let absolute = |line: &str| {
        let (mark, address) = line.split_once("]: ")?;
        let number = mark.trim_start().strip_prefix('[')?;
        let is_link = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let link = page.join(address.trim()).ok().filter(|_| is_link)?;
        Some(format!("{mark}]: {link}"))
    };
    let lines = text.split('\n');
    let lines = lines.map(|line| absolute(line).unwrap_or_else(|| line.to_owned()));
    lines.collect::<Vec<_>>().join("\n")
}

/// Stack of the conversion. Only touched pages of it use memory.
const STACK_BYTES: usize = 64 << 20;

/// The start of a text, and whether something was cut.
pub(super) fn cut(text: &str, tokens: u32) -> (&str, bool) {
    let most = usize::try_from(tokens)
        .unwrap_or(usize::MAX)
        .saturating_mul(TOKEN_CHARS);
    match text.char_indices().nth(most) {
        Some((at, _)) => (text.get(..at).unwrap_or_default(), true),
        None => (text, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_below_a_page_become_absolute() {
        let page = Url::parse("https://docs.example/guide/start").expect("a URL");
        let text =
            "See [the next page][1].\n\n[1]: next?a=b\n[2]: /top\n[3]: https://other.example/x\n[a]: /no";
        let expected = "See [the next page][1].\n\n[1]: https://docs.example/guide/next?a=b\n\
                        [2]: https://docs.example/top\n[3]: https://other.example/x\n[a]: /no";
        assert_eq!(with_absolute_links(text, &page), expected);
    }

    #[test]
    fn a_content_type_is_read_without_its_parameters() {
        for (content_type, kind) in [
            ("text/html; charset=utf-8", BodyKind::Html),
            ("Application/XHTML+xml", BodyKind::Html),
            ("text/plain", BodyKind::Text),
            ("application/json", BodyKind::Text),
            ("application/ld+json", BodyKind::Text),
            ("application/x-yaml", BodyKind::Text),
            ("image/png", BodyKind::Binary),
            ("image/svg+xml", BodyKind::Binary),
            ("application/octet-stream", BodyKind::Binary),
            ("", BodyKind::Binary),
        ] {
            assert_eq!(BodyKind::of(content_type), kind, "{content_type}");
        }
    }

    #[test]
    fn html_becomes_text_without_scripts() {
        let html = "<h1>Title</h1><script>alert(1)</script><style>p{}</style><p>One <a href='https://a.example/x'>link</a></p>";
        let text = of_html(html.to_owned()).expect("text");
        assert!(
            text.contains("Title") && text.contains("https://a.example/x"),
            "{text}"
        );
        assert!(!text.contains("alert") && !text.contains("p{}"), "{text}");
    }

    #[test]
    fn a_hostile_page_ends_within_its_bounds() {
        for piece in ["<div>", "<b>"] {
            // Text or none, but neither a crash nor a hang.
            let _converted = of_html(piece.repeat(super::super::fetch::BYTES_MAX / piece.len()));
        }
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(cut("ääääää", 1), ("ääää", true));
        assert_eq!(cut("ää", 1), ("ää", false));
    }
}
