//! The terminal as a display: what it can show, and the screen that `run` and `chat` draw on.

pub(crate) mod editor;
pub(crate) mod key;
pub(crate) mod live;
pub(crate) mod raw_mode;
pub(crate) mod screen;

use std::io::IsTerminal as _;

use rustix::termios::tcgetwinsize;

use crate::global_args::variable;

/// The width of a terminal that does not report one.
const WIDTH_DEFAULT: usize = 80;

/// The narrowest width that text is wrapped to. A narrower terminal wraps by itself.
const WIDTH_MIN: usize = 20;

/// What a terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    /// Columns.
    pub(crate) width: usize,
    pub(crate) colour: Colour,
    pub(crate) charset: Charset,
    pub(crate) drawing: Drawing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colour {
    On,
    Off,
}

/// The characters that a terminal displays. On a terminal without UTF-8 the bytes of other characters could
/// be control sequences, so they are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charset {
    Utf8,
    Ascii,
}

/// Whether rows can be drawn again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drawing {
    /// The cursor can be moved: unfinished rows and the status are redrawn.
    Redraw,
    /// Text can only be appended; a status is not shown.
    Append,
}

impl Style {
    /// The style of the terminal at standard error; none if that is not a terminal.
    pub(crate) fn of_stderr() -> Option<Self> {
        std::io::stderr().is_terminal().then(|| {
            Self::from_variables(&|name| {
                let value = variable(name).unwrap_or_default();
                value.to_string_lossy().into_owned()
            })
        })
    }

    /// The style that the environment declares.
    fn from_variables(value: &dyn Fn(&str) -> String) -> Self {
        let is_dumb = matches!(value("TERM").as_str(), "" | "dumb");
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].map(value);
        let locale = locale.into_iter().find(|value| !value.is_empty());
        let locale = locale.unwrap_or_default().to_ascii_lowercase();
        let is_utf8 = locale.contains("utf-8") || locale.contains("utf8");
        Self {
            width: width(),
            colour: match is_dumb || !value("NO_COLOR").is_empty() {
                true => Colour::Off,
                false => Colour::On,
            },
            charset: if is_utf8 { Charset::Utf8 } else { Charset::Ascii },
            drawing: if is_dumb { Drawing::Append } else { Drawing::Redraw },
        }
    }
}

/// The present width of the terminal at standard error.
pub(crate) fn width() -> usize {
    let columns = tcgetwinsize(std::io::stderr()).map_or(0, |size| size.ws_col);
    match usize::from(columns) {
        0 => WIDTH_DEFAULT,
        columns => columns.max(WIDTH_MIN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn style(variables: &[(&str, &str)]) -> (Colour, Charset, Drawing) {
        let found = |name: &str| variables.iter().find(|(key, _)| *key == name);
        let style = Style::from_variables(&|name| found(name).map_or_else(String::new, |it| it.1.to_owned()));
        (style.colour, style.charset, style.drawing)
    }

    #[test]
    fn the_environment_decides_colour_charset_and_drawing() {
        let full = (Colour::On, Charset::Utf8, Drawing::Redraw);
        assert_eq!(style(&[("TERM", "xterm"), ("LANG", "de_DE.UTF-8")]), full);
        assert_eq!(
            style(&[("TERM", "xterm"), ("LANG", "C.utf8"), ("NO_COLOR", "1")]),
            (Colour::Off, Charset::Utf8, Drawing::Redraw)
        );
        // An empty NO_COLOR counts as absent, and LC_ALL overrides LANG.
        assert_eq!(
            style(&[
                ("TERM", "xterm"),
                ("LANG", "C.utf8"),
                ("LC_ALL", "C"),
                ("NO_COLOR", "")
            ]),
            (Colour::On, Charset::Ascii, Drawing::Redraw)
        );
        let dumb = (Colour::Off, Charset::Ascii, Drawing::Append);
        assert_eq!(style(&[("TERM", "dumb")]), dumb);
        assert_eq!(style(&[]), dumb);
    }
}
