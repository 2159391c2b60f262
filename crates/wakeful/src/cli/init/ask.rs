//! The prompts of `wakeful init`: one line each; Enter accepts the default.

use std::io::{BufRead, Write};

use super::{AnswerSource, InitPrompt, Question};
use crate::config::Setting;
use crate::failure::Failure;

/// Maximum number of attempts per question, so that scripted input cannot loop forever.
const TRIES_MAX: usize = 5;

/// Maximum length of an answer.
const ANSWER_BYTES_MAX: u64 = 4_096;

/// A dialogue with the user.
pub(super) struct Dialogue<'a> {
    input: &'a mut dyn BufRead,
    output: &'a mut dyn Write,
}

impl<'a> Dialogue<'a> {
    pub(super) fn new(input: &'a mut dyn BufRead, output: &'a mut dyn Write) -> Self {
        Self { input, output }
    }

    /// Asks every question that no flag answers.
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
        let message = format!("no valid answer to `{words}`");
        Err(Failure::usage(
            "init_aborted",
            message,
            "nothing was written; use flags, see `wakeful init --help`",
        ))
    }

    fn say(&mut self, text: &str) {
        // Control characters are replaced, because a folder name may contain terminal escape sequences.
        let text = text.replace(|c: char| c.is_control() && c != '\n', "\u{FFFD}");
        // If the question cannot be written, reading the answer fails too and reports the error.
        let _ = self
            .output
            .write_all(text.as_bytes())
            .and_then(|()| self.output.flush());
    }

    fn line(&mut self) -> Result<String, Failure> {
        let stopped = |why: &str| {
            Failure::usage(
                "init_aborted",
                format!("input ended early: {why}"),
                "nothing was written; run it again, or use --yes",
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

/// What an empty default means.
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

    /// Returns the answers in order, and the output.
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
    fn enter_accepts_the_default() {
        let (answers, shown) = told(AnswerSource::Open, "\n\n\n\n\n");
        assert_eq!(answers.expect("answers"), some(["", "", "/tmp", "main", "5"]));
        assert_eq!(shown.matches(']').count(), 5, "{shown}");
    }

    #[test]
    fn an_invalid_answer_is_explained_and_asked_again() {
        let (answers, shown) = told(AnswerSource::Open, "acme\n\n\nNo Good\nhelper\n-1\n7.5\n");
        assert_eq!(
            answers.expect("answers"),
            some(["acme", "", "/tmp", "helper", "7.5"])
        );
        assert_eq!(shown.matches("bad_value").count(), 2, "{shown}");
    }

    #[test]
    fn a_question_that_a_flag_answers_is_skipped() {
        let (answers, shown) = told(AnswerSource::ByFlag, "");
        assert_eq!(
            (answers.expect("answers"), shown.as_str()),
            (some(["", "", "/tmp", "main", "5"]), "")
        );
    }

    #[test]
    fn input_that_ends_early_or_never_fits_is_an_error() {
        let (stopped, _) = told(AnswerSource::Open, "acme\n");
        assert_eq!(stopped.expect_err("stopped").code(), "init_aborted");
        let (stopped, shown) = told(AnswerSource::Open, &"No Good\n".repeat(9));
        assert_eq!(stopped.expect_err("stopped").code(), "init_aborted");
        assert_eq!(shown.matches("bad_value").count(), TRIES_MAX);
    }
}
