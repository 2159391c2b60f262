//! Measures the processor cost of a request and of a streamed token, compared with the official SDKs on the
//! same fake provider.
//!
//! Both sides are separate processes that send the same body, one request after another on a kept
//! connection, and count their own processor time after a warm-up. Only the cost of requests is counted:
//! neither start nor import.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use super::client::{self, Used};
use super::fake::Fake;
use crate::measure::{Measure, Target, median};
use crate::{Effort, Setting, say};

pub(crate) const OPENAI: &str = "model_request_cpu_us";
pub(crate) const OPENAI_TOKEN: &str = "model_token_cpu_us";
pub(crate) const ANTHROPIC: &str = "model_request_cpu_us_anthropic";
pub(crate) const ANTHROPIC_TOKEN: &str = "model_token_cpu_us_anthropic";
pub(crate) const OPENAI_COUNTED: &str = "model_request_kilo_instructions";
pub(crate) const ANTHROPIC_COUNTED: &str = "model_request_kilo_instructions_anthropic";

/// The loop around the SDKs.
const SDK: &str = include_str!("../../sdk.py");

/// The reference of the comparison.
const SDK_IS: &str = "the official Python SDK on the same fake";

/// Tokens of a streamed response.
const TOKENS: usize = 500;

/// A twentieth of what the SDKs use.
const WANTED: Target = Target::RatioAtMost(0.05);

/// Numbers of requests under callgrind: the difference is the cost of the requests alone.
const COUNTED: [usize; 2] = [20, 120];

/// The same for the SDKs, which are much slower.
const COUNTED_SDK: [usize; 2] = [5, 25];

pub(crate) fn take_openai(setting: &Setting) -> Result<Vec<Measure>> {
    take(setting, "openai", [OPENAI, OPENAI_TOKEN])
}

pub(crate) fn take_anthropic(setting: &Setting) -> Result<Vec<Measure>> {
    take(setting, "anthropic", [ANTHROPIC, ANTHROPIC_TOKEN])
}

/// One side of the comparison.
#[derive(Clone, Copy)]
enum Side<'a> {
    Ours,
    Sdk(&'a Path),
}

/// How a response arrives.
#[derive(Clone, Copy)]
enum Manner {
    Whole,
    Stream,
}

/// The task of both sides.
struct Task {
    provider: &'static str,
    fake: Fake,
    body: PathBuf,
}

/// The samples of one side, per request and per token.
#[derive(Default)]
struct Taken {
    request_us: Vec<f64>,
    request_wall_us: Vec<f64>,
    token_us: Vec<f64>,
    token_wall_us: Vec<f64>,
}

/// Instructions as counted by callgrind. They do not depend on the load of the machine.
pub(crate) fn take_counted(setting: &Setting) -> Result<Vec<Measure>> {
    let there = Command::new("valgrind").arg("--version").output();
    if setting.effort == Effort::Quick || there.is_err() {
        say("  instructions are not counted: this requires valgrind and takes minutes");
        return Ok(Vec::new());
    }
    let mut measures = Vec::new();
    for (provider, name) in [("openai", OPENAI_COUNTED), ("anthropic", ANTHROPIC_COUNTED)] {
        let task = Task::new(setting, provider)?;
        let ours = task.counted(Side::Ours, COUNTED)?;
        let measure = Measure::median(name, "thousands", &[ours], WANTED);
        measures.push(match &setting.python {
            Some(python) => measure.beside(SDK_IS, &[task.counted(Side::Sdk(python), COUNTED_SDK)?]),
            None => measure,
        });
    }
    Ok(measures)
}

fn take(setting: &Setting, provider: &'static str, names: [&'static str; 2]) -> Result<Vec<Measure>> {
    let task = Task::new(setting, provider)?;
    let (mut ours, mut sdk) = (Taken::default(), Taken::default());
    for _ in 0..setting.effort.pick(1, 5) {
        ours.pass(&task, Side::Ours, setting.effort.pick(500, 2_000))?;
        if let Some(python) = &setting.python {
            sdk.pass(&task, Side::Sdk(python), setting.effort.pick(50, 200))?;
        }
    }
    let [request, token] = names;
    let mut request = Measure::median(request, "us", &ours.request_us, WANTED)
        .with("wall_us", median(&ours.request_wall_us))
        .with("body_bytes", fs::metadata(&task.body)?.len() as f64);
    let mut token = Measure::median(token, "us", &ours.token_us, Target::Informs)
        .with("wall_us", median(&ours.token_wall_us));
    if setting.python.is_some() {
        request = request
            .beside(SDK_IS, &sdk.request_us)
            .with("sdk_wall_us", median(&sdk.request_wall_us));
        token = token
            .beside(SDK_IS, &sdk.token_us)
            .with("sdk_wall_us", median(&sdk.token_wall_us));
    } else {
        say("  no --python, so there is nothing to compare with; run `scripts/need sdks`");
    }
    Ok(vec![request, token])
}

impl Taken {
    fn pass(&mut self, task: &Task, side: Side<'_>, count: usize) -> Result<()> {
        let whole = task.used(side, Manner::Whole, count)?;
        let each = |all: f64, parts: usize| all / parts as f64;
        self.request_us.push(each(whole.processor_us, count));
        self.request_wall_us.push(each(whole.wall_us, count));
        // A stream has many tokens, so a few streams are enough.
        let streams = count.div_ceil(10);
        let stream = task.used(side, Manner::Stream, streams)?;
        let beyond =
            |all: f64, request: f64| (each(all, streams) - each(request, count)).max(0.0) / TOKENS as f64;
        self.token_us
            .push(beyond(stream.processor_us, whole.processor_us));
        self.token_wall_us.push(beyond(stream.wall_us, whole.wall_us));
        Ok(())
    }
}

impl Task {
    fn new(setting: &Setting, provider: &'static str) -> Result<Self> {
        let fake = Fake::start()?;
        let body = setting.folder.join(format!("{provider}.json"));
        let ours = client::hosted(provider, &fake.url("whole", provider))?;
        fs::write(&body, ours.body(&client::request()?)?)?;
        Ok(Self { provider, fake, body })
    }

    fn used(&self, side: Side<'_>, manner: Manner, count: usize) -> Result<Used> {
        let words = self.command(side, manner, count)?;
        let (program, arguments) = words.split_first().context("no command")?;
        let mut command = Command::new(program);
        let ended = command.args(arguments).stderr(Stdio::inherit()).output()?;
        ensure!(ended.status.success(), "{program:?} ended with {}", ended.status);
        Ok(serde_json::from_slice(&ended.stdout)?)
    }

    /// The command of one side, word by word.
    fn command(&self, side: Side<'_>, manner: Manner, count: usize) -> Result<Vec<OsString>> {
        let (path, word) = match manner {
            Manner::Whole => ("whole".to_owned(), "whole"),
            Manner::Stream => (format!("stream-{TOKENS}"), "stream"),
        };
        let url = self.fake.url(&path, self.provider);
        let (provider, count) = (self.provider, count.to_string());
        Ok(match side {
            Side::Ours => {
                let mut words = vec![std::env::current_exe()?.into_os_string()];
                let rest = ["client", "--provider", provider, "--url", &url, "--count", &count];
                words.extend(rest.map(OsString::from));
                words
            }
            Side::Sdk(python) => {
                let mut words = vec![python.as_os_str().to_owned()];
                words.extend(["-c", SDK, provider, &url].map(OsString::from));
                words.push(self.body.clone().into_os_string());
                words.extend([&*count, word].map(OsString::from));
                words
            }
        })
    }

    /// Instructions per request, in thousands.
    fn counted(&self, side: Side<'_>, [few, many]: [usize; 2]) -> Result<f64> {
        let count = |requests| -> Result<f64> {
            let mut command = Command::new("valgrind");
            command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
            let ended = command
                .args(self.command(side, Manner::Whole, requests)?)
                .output()?;
            let said = String::from_utf8_lossy(&ended.stderr).into_owned();
            ensure!(ended.status.success(), "it failed under callgrind: {said}");
            let number = said.lines().find_map(|line| line.split_once("Collected :"));
            let number = number.with_context(|| format!("callgrind counted nothing: {said}"))?;
            Ok(number.1.trim().parse()?)
        };
        Ok((count(many)? - count(few)?) / (many - few) as f64 / 1e3)
    }
}
