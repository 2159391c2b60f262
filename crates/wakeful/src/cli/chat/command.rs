//! The commands of `chat`: lines that begin with a slash.

/// The names of the commands with their arguments and meanings.
const COMMANDS: [(&str, &str, &str); 12] = [
    ("help", "", "show this list"),
    (
        "model",
        "[REF]",
        "show the model, or use another one for the next messages",
    ),
    ("agent", "[NAME]", "list the agents, or talk to another one"),
    ("thread", "[NAME]", "list the conversations, or change to one"),
    ("new", "", "begin a new conversation"),
    ("cost", "", "show what the last run and this day cost"),
    ("stop", "", "stop the run at a safe point, as Ctrl-C does"),
    (
        "why",
        "",
        "explain what started the run, or why a decision is asked",
    ),
    (
        "attach",
        "PATH",
        "attach a file to the next message; @PATH in a message does the same",
    ),
    (
        "paste",
        "",
        "attach the image, or insert the text, of the clipboard",
    ),
    ("retry", "", "send the last message again"),
    ("quit", "", "leave; the run continues in the daemon"),
];

/// What a line of input means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Message(&'a str),
    Command(Command<'a>),
    /// The command does not exist; the nearest one, if it may have been meant.
    Unknown(&'a str, Option<&'static str>),
    /// The command needs an argument.
    Incomplete(&'static str),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Command<'a> {
    Help,
    Model(Option<&'a str>),
    Agent(Option<&'a str>),
    Thread(Option<&'a str>),
    New,
    Cost,
    Stop,
    Why,
    Attach(&'a str),
    Paste,
    Retry,
    Quit,
}

impl<'a> Line<'a> {
    pub(super) fn parse(line: &'a str) -> Self {
        let Some(rest) = line.trim().strip_prefix('/') else {
            return Self::Message(line);
        };
        if rest.is_empty() {
            return Self::Incomplete("/ alone is no command; /help lists the commands");
        }
        let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        // A path is not a command.
        if name.is_empty() || name.contains('/') {
            return Self::Message(line);
        }
        let argument = Some(argument.trim()).filter(|argument| !argument.is_empty());
        Self::Command(match (name, argument) {
            ("help", _) => Command::Help,
            ("model", name) => Command::Model(name),
            ("agent", name) => Command::Agent(name),
            ("thread", name) => Command::Thread(name),
            ("new", _) => Command::New,
            ("cost", _) => Command::Cost,
            ("stop", _) => Command::Stop,
            ("why", _) => Command::Why,
            ("attach", Some(path)) => Command::Attach(path),
            ("attach", None) => return Self::Incomplete("/attach needs a path: /attach PATH"),
            ("paste", _) => Command::Paste,
            ("retry", _) => Command::Retry,
            ("quit" | "exit", _) => Command::Quit,
            _ => return Self::Unknown(name, nearest(name)),
        })
    }
}

fn nearest(name: &str) -> Option<&'static str> {
    wakeful_core::suggestion::nearest(name, COMMANDS.iter().map(|(known, ..)| *known))
}

/// The list of commands and keys.
pub(super) fn help() -> Vec<String> {
    let commands = COMMANDS.iter().map(|(name, argument, meaning)| {
        let usage = format!("/{name} {argument}");
        format!("{usage:<16} {meaning}")
    });
    let keys = [
        "Enter sends; Alt-Enter, Ctrl-J or a \\ at the end of a line begin a new line",
        "a message sent during a run joins it; Ctrl-D leaves and the run continues",
    ];
    commands.chain(keys.map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_message_a_command_or_a_typing_error() {
        assert_eq!(Line::parse("hello /help"), Line::Message("hello /help"));
        assert_eq!(
            Line::parse("/etc/hosts is odd"),
            Line::Message("/etc/hosts is odd")
        );
        assert_eq!(Line::parse(" /help "), Line::Command(Command::Help));
        assert_eq!(
            Line::parse("/model a/b"),
            Line::Command(Command::Model(Some("a/b")))
        );
        assert_eq!(Line::parse("/thread"), Line::Command(Command::Thread(None)));
        assert_eq!(Line::parse("/modle x"), Line::Unknown("modle", Some("model")));
        assert_eq!(Line::parse("/frobnicate"), Line::Unknown("frobnicate", None));
        assert!(matches!(Line::parse("/attach"), Line::Incomplete(_)));
        assert!(matches!(Line::parse(" / "), Line::Incomplete(_)));
    }
}
