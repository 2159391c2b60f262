//! The questions of `wakeful init`: one line each, Enter takes what is proposed.

use std::io::{BufRead, Write};

use super::{AnswerSource, InitPrompt, Question};
use crate::config::Setting;
use crate::failure::Failure;

/// How often a question is asked before we give up: whoever errs that often is no person.
const TRIES_MAX: usize = 5;

/// Longest answer that is read.
const ANSWER_BYTES_MAX: u64 = 4_096;

/// Somebody who is asked and answers.
pub(super) struct Dialogue<'a> {
    input: &'a mut dyn BufRead,
    output: &'a mut dyn Write,
}

impl<'a> Dialogue<'a> {
    pub(super) fn new(input: &'a mut dyn BufRead, output: &'a mut dyn Write) -> Self {
        Self { input, output }
    }

    /// Asks for everything that no flag has said.
    pub(super) fn settle(
        &mut self,
        openings: Vec<InitPrompt>,
    ) -> Result<Vec<(Question, Option<String>)>, Failure> {
        let mut settled = Vec::new();
        for opening in openings {
            let question = opening.question;
            let answer = match opening.given {
                AnswerSource::ByFlag => opening.proposed,
                AnswerSource::Open => self.ask(opening)?,
            };
            settled.push((question, answer));
        }
        Ok(settled)
    }

    fn ask(&mut self, opening: InitPrompt) -> Result<Option<String>, Failure> {
        let words = words(opening.question);
        let proposed = opening
            .proposed
            .clone()
            .unwrap_or_else(|| nothing(opening.question).to_owned());
        for _ in 0..TRIES_MAX {
            self.say(&format!("{words} [{proposed}]: "));
            let line = self.line()?;
            let line = line.trim();
            if line.is_empty() {
                return Ok(opening.proposed);
            }
            match Setting::known(opening.question.key())?.typed(line) {
                Ok(_) => return Ok(Some(line.to_owned())),
                Err(failure) => self.say(&format!("{failure}\n")),
            }
        }
        let message = format!("no answer to `{words}` was right");
        Err(Failure::usage(
            "init_aborted",
            message,
            "nothing was written; use flags, see `wakeful init --help`",
        ))
    }

    fn say(&mut self, text: &str) {
        // A terminal obeys what it is shown, and the name of a folder may hold anything.
        let text = text.replace(|c: char| c.is_control() && c != '\n', "\u{FFFD}");
        // Whoever does not hear the question does not answer it either.
        let _ = self
            .output
            .write_all(text.as_bytes())
            .and_then(|()| self.output.flush());
    }

    fn line(&mut self) -> Result<String, Failure> {
        let stopped = |why: &str| {
            Failure::usage(
                "init_aborted",
                format!("the answers ended early: {why}"),
                "nothing was written; run it again, or with --yes",
            )
        };
        let mut bytes = Vec::new();
        let read = std::io::Read::take(&mut *self.input, ANSWER_BYTES_MAX).read_until(b'\n', &mut bytes);
        match read {
            Ok(0) => Err(stopped("end of input")),
            Ok(_) => String::from_utf8(bytes).map_err(|_| stopped("an answer is not UTF-8")),
            Err(error) => Err(stopped(&error.to_string())),
        }
    }
}

const fn words(question: Question) -> &'static str {
    match question {
        Question::Provider => "Model provider",
        Question::Model => "Model, as PROVIDER/MODEL, scripted:FILE or demo",
        Question::Workspace => "Folder for the agent's work",
        Question::Agent => "Name of the first agent",
        Question::Cap => "Daily spending cap in US dollars, all agents together",
    }
}

/// What it means to leave a question open.
const fn nothing(question: Question) -> &'static str {
    match question {
        Question::Model => "the built-in demo script",
        Question::Provider | Question::Workspace | Question::Agent | Question::Cap => "none",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn openings(given: AnswerSource) -> Vec<InitPrompt> {
        let proposed = [None, None, Some("/tmp"), Some("main"), Some("5")];
        let opening = |(question, proposed): (Question, Option<&str>)| InitPrompt {
            question,
            proposed: proposed.map(str::to_owned),
            given,
        };
        Question::ALL.into_iter().zip(proposed).map(opening).collect()
    }

    /// The answers in order, and what was shown.
    fn told(given: AnswerSource, lines: &str) -> (Result<Vec<Option<String>>, Failure>, String) {
        let (mut input, mut output) = (lines.as_bytes(), Vec::new());
        let settled = Dialogue::new(&mut input, &mut output).settle(openings(given));
        let answers = settled.map(|settled| settled.into_iter().map(|(_, answer)| answer).collect());
        (answers, String::from_utf8(output).expect("text"))
    }

    fn some(answers: [&str; 5]) -> Vec<Option<String>> {
        let answer = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        answers.map(answer).into()
    }

    #[test]
    fn enter_takes_what_is_proposed() {
        let (answers, shown) = told(AnswerSource::Open, "\n\n\n\n\n");
        assert_eq!(answers.expect("answers"), some(["", "", "/tmp", "main", "5"]));
        assert_eq!(shown.matches(']').count(), 5, "{shown}");
    }

    #[test]
    fn an_answer_that_cannot_be_is_explained_and_asked_for_again() {
        let (answers, shown) = told(AnswerSource::Open, "acme\n\n\nNo Good\nhelper\n-1\n7.5\n");
        assert_eq!(
            answers.expect("answers"),
            some(["acme", "", "/tmp", "helper", "7.5"])
        );
        assert_eq!(shown.matches("bad_value").count(), 2, "{shown}");
    }

    #[test]
    fn what_a_flag_has_said_is_not_asked() {
        let (answers, shown) = told(AnswerSource::ByFlag, "");
        assert_eq!(
            (answers.expect("answers"), shown.as_str()),
            (some(["", "", "/tmp", "main", "5"]), "")
        );
    }

    #[test]
    fn answers_that_end_early_or_never_fit_stop_it() {
        let (stopped, _) = told(AnswerSource::Open, "acme\n");
        assert_eq!(stopped.expect_err("stopped").code(), "init_aborted");
        let (stopped, shown) = told(AnswerSource::Open, &"No Good\n".repeat(9));
        assert_eq!(stopped.expect_err("stopped").code(), "init_aborted");
        assert_eq!(shown.matches("bad_value").count(), TRIES_MAX);
    }
}
