//! The file that passes a login link to a browser. The browser is started with the file's path, so the link
//! never appears in the arguments of a process, which every user of the machine can read.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::LoginHost;

/// A file with a login link in it. Dropping it deletes the file.
pub(crate) struct LoginPageFile {
    host: Arc<dyn LoginHost>,
    path: PathBuf,
}

impl LoginPageFile {
    pub(crate) fn write(host: &Arc<dyn LoginHost>, name: &str, url: &str) -> io::Result<Self> {
        Ok(Self {
            path: host.write_page(name, &html(url))?,
            host: Arc::clone(host),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for LoginPageFile {
    fn drop(&mut self) {
        self.host.remove_page(&self.path);
    }
}

/// A page that redirects to the link immediately. It needs no script, and the browser's history keeps only
/// the target page.
fn html(url: &str) -> String {
    let url = escape(url);
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
         <title>Wakeful</title><meta http-equiv=\"refresh\" content=\"0; url={url}\">\
         <p><a href=\"{url}\">Open Wakeful</a>. This link works once, within a minute.</p></html>\n"
    )
}

fn escape(text: &str) -> String {
    let escaped = text.chars().map(|c| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        '\'' => "&#39;".to_owned(),
        other => other.to_string(),
    });
    escaped.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_cannot_add_markup_to_the_page() {
        let page = html("https://a.example/\"><script>'&");
        assert!(
            !page.contains("<script>")
                && page.contains("https://a.example/&quot;&gt;&lt;script&gt;&#39;&amp;")
        );
    }
}
