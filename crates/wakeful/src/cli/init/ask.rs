//! The prompts of `wakeful init`: one line each; Enter accepts the default.

use std::io::{BufRead, Write};

use wakeful_core::suggestion;

use super::{AnswerSource, InitPrompt, Question};
use crate::config::Setting;
use crate::failure::Failure;

/// Maximum number of attempts per question, so that scripted input cannot loop forever.
pub(super) const TRIES_MAX: usize = 5;

/// Maximum length of an answer.
const ANSWER_BYTES_MAX: u64 = 4_096;

/// Reads a line without showing it, after a prompt.
pub(super) type HiddenReader = fn(&str) -> Result<String, Failure>;

/// A dialogue with the user.
pub(super) struct Dialogue<'a> {
    pub(super) input: &'a mut dyn BufRead,
    pub(super) output: &'a mut dyn Write,
    pub(super) hidden: HiddenReader,
}

/// A numbered list to choose from.
pub(super) struct Choices {
    pub(super) title: String,
    /// Each name and a remark about it.
    pub(super) rows: Vec<(String, String)>,
    /// The position of the default.
    pub(super) default: usize,
}

impl Choices {
    fn names(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().map(|(name, _)| name.as_str())
    }

    fn find(&self, answer: &str) -> Option<&str> {
        let number = answer.parse::<usize>().ok();
        let at = if answer.is_empty() {
            Some(self.default)
        } else {
            number.and_then(|number| number.checked_sub(1))
        };
        let by_number = at.and_then(|at| self.names().nth(at));
        by_number.or_else(|| self.names().find(|name| name.eq_ignore_ascii_case(answer)))
    }
}

impl Dialogue<'_> {
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
        let proposed = opening.proposed.clone().unwrap_or_else(|| "none".to_owned());
        for _ in 0..TRIES_MAX {
            let line = self.line(&format!("{words} [{proposed}]: "))?;
            if line.is_empty() {
                return Ok(opening.proposed);
            }
            match Setting::known(opening.question.key())?.typed(&line) {
                Ok(_) => return Ok(Some(line)),
                Err(_) if opening.question == Question::Agent => {
                    self.say("a name has only a-z, 0-9, - and _, and begins with a letter or a digit\n");
                }
                Err(failure) => self.say(&format!("{failure}\n")),
            }
        }
        Err(no_answer(words))
    }

    /// Lets the user choose by number or name. Any other answer goes to `other`, which explains why it does
    /// not fit.
    pub(super) fn choose(
        &mut self,
        choices: &Choices,
        other: impl Fn(&str) -> Result<String, Failure>,
    ) -> Result<String, Failure> {
        self.say(&format!("{}:\n", choices.title));
        let width = choices.names().map(str::len).max().unwrap_or_default();
        for (at, (name, remark)) in choices.rows.iter().enumerate() {
            let line = format!("{:>4}  {name:<width$}  {remark}", at + 1);
            self.say(&format!("{}\n", line.trim_end()));
        }
        for _ in 0..TRIES_MAX {
            let prompt = match choices.rows.is_empty() {
                true => "Name: ".to_owned(),
                false => format!("Number or name [{}]: ", choices.default + 1),
            };
            let line = self.line(&prompt)?;
            if let Some(name) = choices.find(&line) {
                return Ok(name.to_owned());
            }
            match other(&line) {
                Ok(name) => return Ok(name),
                Err(failure) => self.say(&format!("{failure}\n")),
            }
        }
        Err(no_answer(&choices.title))
    }

    /// Asks a question that `y` or `yes` affirms.
    pub(super) fn confirm(&mut self, question: &str) -> Result<bool, Failure> {
        let line = self.line(&format!("{question} [y/N]: "))?;
        Ok(matches!(line.to_ascii_lowercase().as_str(), "y" | "yes"))
    }

    pub(super) fn say(&mut self, text: &str) {
        // Control characters are replaced, because a folder name may contain terminal escape sequences.
        let text = text.replace(|c: char| c.is_control() && c != '\n', "\u{FFFD}");
        // If the question cannot be written, reading the answer fails too and reports the error.
        let _ = self
            .output
            .write_all(text.as_bytes())
            .and_then(|()| self.output.flush());
    }

    /// Reads one line without the white space around it.
    fn line(&mut self, prompt: &str) -> Result<String, Failure> {
        self.say(prompt);
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
            Ok(_) => String::from_utf8(bytes)
                .map(|line| line.trim().to_owned())
                .map_err(|_| stopped("an answer is not UTF-8")),
            Err(error) => Err(stopped(&error.to_string())),
        }
    }
}

/// The failure for an answer that is not in a list.
pub(super) fn not_listed(answer: &str, choices: &Choices) -> Failure {
    let hint = suggestion::hint(answer, choices.names());
    Failure::usage("bad_value", format!("{answer:?} is not in the list"), hint)
}

pub(super) fn no_answer(question: &str) -> Failure {
    Failure::usage(
        "init_aborted",
        format!("no valid answer to `{question}`"),
        "nothing was written; use flags, see `wakeful init --help`",
    )
}

const fn words(question: Question) -> &'static str {
    match question {
        Question::Workspace => "Folder for the agent's work",
        Question::Agent => "Name of the first agent",
        Question::Cap => "Daily spending cap in US dollars, all agents together",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn openings(given: AnswerSource) -> Vec<InitPrompt> {
        let opening = |(question, proposed): (Question, &str)| InitPrompt {
            question,
            proposed: Some(proposed.to_owned()),
            given,
        };
        let proposed = ["/tmp", "main", "5"];
        Question::ALL.into_iter().zip(proposed).map(opening).collect()
    }

    fn with<T>(lines: &str, talk: impl FnOnce(&mut Dialogue<'_>) -> T) -> (T, String) {
        let (mut input, mut output) = (lines.as_bytes(), Vec::new());
        let answer = talk(&mut Dialogue {
            input: &mut input,
            output: &mut output,
            hidden: |_| Ok(String::new()),
        });
        (answer, String::from_utf8(output).expect("text"))
    }

    /// Returns the answers in order, and the output.
    fn told(given: AnswerSource, lines: &str) -> (Result<Vec<String>, Failure>, String) {
        let (settled, shown) = with(lines, |dialogue| dialogue.settle(openings(given)));
        let answers = settled.map(|settled| settled.into_iter().filter_map(|(_, answer)| answer).collect());
        (answers, shown)
    }

    #[test]
    fn enter_accepts_the_default() {
        let (answers, shown) = told(AnswerSource::Open, "\n\n\n");
        assert_eq!(answers.expect("answers"), ["/tmp", "main", "5"]);
        assert_eq!(shown.matches(']').count(), 3, "{shown}");
    }

    #[test]
    fn an_invalid_answer_is_explained_and_asked_again() {
        let (answers, shown) = told(AnswerSource::Open, "\nNo Good\nhelper\n-1\n7.5\n");
        assert_eq!(answers.expect("answers"), ["/tmp", "helper", "7.5"]);
        assert_eq!(shown.matches("bad_value").count(), 1, "{shown}");
        assert_eq!(shown.matches("a name has only a-z").count(), 1, "{shown}");
    }

    #[test]
    fn a_question_that_a_flag_answers_is_skipped() {
        let (answers, shown) = told(AnswerSource::ByFlag, "");
        assert_eq!(answers.expect("answers"), ["/tmp", "main", "5"]);
        assert_eq!(shown, "");
    }

    #[test]
    fn input_that_ends_early_or_never_fits_is_an_error() {
        let (stopped, _) = told(AnswerSource::Open, "\n");
        assert_eq!(stopped.expect_err("stopped").code(), "init_aborted");
        let (stopped, shown) = told(AnswerSource::Open, &format!("\n{}", "No Good\n".repeat(9)));
        assert_eq!(stopped.expect_err("stopped").code(), "init_aborted");
        assert_eq!(shown.matches("a name has only a-z").count(), TRIES_MAX);
    }

    #[test]
    fn a_choice_is_a_number_or_a_name_and_a_slip_is_explained() {
        let choices = Choices {
            title: "Model provider".to_owned(),
            rows: ["anthropic", "openai"]
                .map(|name| (name.to_owned(), String::new()))
                .into(),
            default: 1,
        };
        let choose = |lines: &str| {
            let choose = |dialogue: &mut Dialogue<'_>| {
                dialogue.choose(&choices, |text| Err(not_listed(text, &choices)))
            };
            with(lines, choose)
        };
        for (typed, expected) in [("\n", "openai"), ("1\n", "anthropic"), ("OpenAI\n", "openai")] {
            assert_eq!(choose(typed).0.expect("an answer"), expected, "{typed:?}");
        }
        let (chosen, shown) = choose("antropic\n0\n3\nanthropic\n");
        assert_eq!(chosen.expect("an answer"), "anthropic");
        assert!(shown.contains("did you mean anthropic?"), "{shown}");
        assert_eq!(shown.matches("not in the list").count(), 3, "{shown}");
    }
}
