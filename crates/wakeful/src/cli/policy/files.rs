//! Policy files on disk: checking, editing and importing them.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_json::json;
use wakeful_core::id::AgentId;
use wakeful_policy::document::FILE_BYTES_MAX;
use wakeful_policy::import::{Import, ImportPaths, PermissionLists, import as import_lists};
use wakeful_policy::{PolicyFolders, PolicyParser, PolicyProblem};

use super::ImportArgs;
use crate::backend::refuse_tool_process;
use crate::failure::{FAILED, Failure};
use crate::global_args::GlobalArgs;
use crate::home::Home;
use crate::open_home::tool_names;
use crate::policy::failure;
use crate::show::Out;
use crate::system::replace_file;

/// The file that `wakeful policy edit` opens.
const MAIN: &str = "main.cedar";

/// The file of imported policies.
const IMPORTED: &str = "imported.cedar";

/// Maximum size of a settings file of another program.
const SETTINGS_BYTES_MAX: usize = 1024 * 1024;

/// What a new policy file begins with.
const NEW_FILE: &str = "\
// Permission policies in Cedar. `wakeful help policies` explains them; `wakeful policy check` checks this file.
//
// permit (principal, action == Action::\"ReadFile\", resource is Path)
// when { resource.path like \"/home/me/notes/*\" };
";

/// Checks the given files, or all policy files of the home.
pub(super) fn check(files: &[PathBuf], shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let mut problems: Vec<PolicyProblem> = Vec::new();
    let mut count = 0;
    if files.is_empty() {
        let home = Home::open(&shared.home()?)?;
        let folders = PolicyFolders::new(home.root().to_owned(), tool_names());
        let agents = agents_with_folders(home.root());
        for agent in std::iter::once(None).chain(agents.iter().map(Some)) {
            let folder = folders.folder(agent);
            count += folder.policies.len();
            let named = folder.problems.iter().map(|problem| PolicyProblem {
                file: agent.map_or_else(
                    || problem.file.clone(),
                    |agent| format!("agents/{agent}: {}", problem.file),
                ),
                ..problem.clone()
            });
            problems.extend(named);
        }
    } else {
        let parser = PolicyParser::new(&tool_names()).map_err(|problem| failure(&problem))?;
        for file in files {
            let text = read_text(file, FILE_BYTES_MAX)?;
            match parser.parse(&file.display().to_string(), &text) {
                Ok(policies) => count += policies.len(),
                Err(problem) => problems.push(problem),
            }
        }
    }
    let shown: Vec<_> = problems.iter().map(crate::policy::view::problem).collect();
    let mut lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.push(match problems.len() {
        0 if count == 1 => "1 policy is valid".to_owned(),
        0 => format!("{count} policies are valid"),
        1 => "1 file has a problem".to_owned(),
        more => format!("{more} files have problems"),
    });
    out.answer(&json!({"policies": count, "problems": shown}), &lines.join("\n"));
    Ok(if problems.is_empty() { 0 } else { FAILED })
}

pub(in crate::cli) fn agents_with_folders(home: &Path) -> Vec<AgentId> {
    let entries = std::fs::read_dir(home.join("agents")).into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut agents: Vec<AgentId> = names.filter_map(|name| AgentId::parse(&name).ok()).collect();
    agents.sort();
    agents
}

fn counted(policies: usize) -> String {
    format!("{policies} {}", if policies == 1 { "policy" } else { "policies" })
}

/// Opens a copy of the file in an editor, and replaces the file if the copy is valid.
pub(super) fn edit(agent: Option<&str>, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    refuse_tool_process()?;
    let agent = agent.map(AgentId::parse).transpose()?;
    let folder = folder(agent.as_ref(), shared)?;
    let file = folder.join(MAIN);
    let before = match std::fs::metadata(&file) {
        Ok(_) => read_text(&file, FILE_BYTES_MAX)?,
        Err(_) => NEW_FILE.to_owned(),
    };
    let draft = folder.join(".main.cedar.draft");
    // A draft that was invalid is continued.
    if std::fs::metadata(&draft).is_err() {
        replace_file(&draft, &before).map_err(|error| unwritable(&draft, &error))?;
    }
    open_editor(&draft)?;
    let text = read_text(&draft, FILE_BYTES_MAX)?;
    let parser = PolicyParser::new(&tool_names()).map_err(|problem| failure(&problem))?;
    let policies = parser.parse(MAIN, &text).map_err(|problem| {
        let hint = "nothing changed; run the command again to continue with your draft";
        Failure::new("policy_invalid", problem.to_string(), hint)
    })?;
    replace_file(&file, &text).map_err(|error| unwritable(&file, &error))?;
    let _unneeded = std::fs::remove_file(&draft);
    let words = format!(
        "{} has {}; {} to the next call",
        file.display(),
        counted(policies.len()),
        if policies.len() == 1 {
            "it applies"
        } else {
            "they apply"
        }
    );
    out.answer(
        &json!({"file": file.display().to_string(), "policies": policies.len()}),
        &words,
    );
    Ok(0)
}

fn open_editor(file: &Path) -> Result<(), Failure> {
    let named = |name| {
        let value = std::env::var_os(name).and_then(|value| value.into_string().ok());
        value.filter(|value| !value.trim().is_empty())
    };
    let editor = named("VISUAL")
        .or_else(|| named("EDITOR"))
        .unwrap_or_else(|| "vi".to_owned());
    // The variable may contain options, as for other programs.
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let hint = "set EDITOR to the name of an editor";
    let status = Command::new(program).args(words).arg(file).status();
    let status = status
        .map_err(|error| Failure::io("editor_failed", &format!("cannot start {program}"), &error, hint))?;
    if !status.success() {
        let message = format!("{program} ended with {status}; nothing changed");
        return Err(Failure::new("editor_failed", message, hint));
    }
    Ok(())
}

/// The settings of other programs, as far as they concern permissions.
#[derive(Debug, Default, Deserialize)]
struct OtherSettings {
    #[serde(default)]
    permissions: OtherPermissions,
}

#[derive(Debug, Default, Deserialize)]
struct OtherPermissions {
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    ask: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
    /// Settings that are not imported.
    #[serde(flatten)]
    others: BTreeMap<String, serde_json::Value>,
}

/// What to do about a setting that is not imported.
fn not_imported(setting: &str) -> &'static str {
    match setting {
        "defaultMode" => "set the mode with `wakeful agent set AGENT --permission-mode MODE`",
        "additionalDirectories" => {
            "allow folders with `wakeful agent set AGENT --allow-read PATH` or `--allow-write PATH`"
        }
        _ => "there is no setting for the same purpose",
    }
}

/// Settings of the file that are named as not imported, at most.
const OTHERS_NAMED_MAX: usize = 20;

pub(super) fn import(args: &ImportArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    refuse_tool_process()?;
    let agent = args.agent.as_deref().map(AgentId::parse).transpose()?;
    let done = imported(args)?;
    let parser = PolicyParser::new(&tool_names()).map_err(|problem| failure(&problem))?;
    parser
        .parse(IMPORTED, &done.text)
        .map_err(|problem| failure(&problem))?;
    let mut lines: Vec<String> = Vec::new();
    let mut saved = None;
    if args.dry_run {
        lines.push(done.text.trim_end().to_owned());
    } else if done.count > 0 {
        let file = folder(agent.as_ref(), shared)?.join(IMPORTED);
        if std::fs::metadata(&file).is_ok() {
            let message = format!("{} exists already", file.display());
            let hint = "compare it with `--dry-run`, then move or delete it";
            return Err(Failure::new("already_imported", message, hint));
        }
        replace_file(&file, &done.text).map_err(|error| unwritable(&file, &error))?;
        lines.push(format!("{} in {}", counted(done.count), file.display()));
        saved = Some(file.display().to_string());
    } else {
        lines.push("nothing to import".to_owned());
    }
    for (entry, reason) in &done.refused {
        lines.push(format!("not imported: {}: {reason}", entry.escape_debug()));
    }
    lines.extend(done.notes.iter().map(|note| format!("note: {note}")));
    let refused: Vec<_> = done
        .refused
        .iter()
        .map(|(entry, reason)| json!({"entry": entry, "reason": reason}))
        .collect();
    let object = json!({"file": saved, "policies": done.count, "refused": refused, "notes": done.notes, "text": done.text});
    out.answer(&object, &lines.join("\n"));
    Ok(if done.refused.is_empty() { 0 } else { FAILED })
}

fn imported(args: &ImportArgs) -> Result<Import, Failure> {
    let text = read_text(&args.file, SETTINGS_BYTES_MAX)?;
    let settings: OtherSettings = serde_json::from_str(&text).map_err(|error| {
        let message = format!("{}: {error}", args.file.display());
        let hint = "give a JSON file with permissions.allow, permissions.ask or permissions.deny";
        Failure::usage("bad_settings_file", message, hint)
    })?;
    let project = args.project.clone().unwrap_or_else(|| PathBuf::from("."));
    let project = project.canonicalize().map_err(|error| {
        let attempt = format!("--project: cannot open {}", project.display());
        Failure::io("bad_path", &attempt, &error, "give an existing folder").into_usage()
    })?;
    let paths = ImportPaths {
        user_home: std::env::home_dir().unwrap_or_default().display().to_string(),
        project: project.display().to_string(),
        file: args
            .file
            .file_name()
            .map(|name| {
                name.to_string_lossy()
                    .chars()
                    .filter(|c| !c.is_control())
                    .take(80)
                    .collect()
            })
            .unwrap_or_default(),
    };
    let OtherPermissions {
        allow,
        ask,
        deny,
        others,
    } = settings.permissions;
    let lists = PermissionLists { allow, ask, deny };
    let mut done = import_lists(&lists, &paths, &tool_names()).map_err(|problem| failure(&problem))?;
    let others = others.into_keys().take(OTHERS_NAMED_MAX);
    done.refused.extend(others.map(|name| {
        let reason = not_imported(&name).to_owned();
        (name, reason)
    }));
    Ok(done)
}

/// The folder of the policies for all agents, or for one. It is created if it does not exist.
fn folder(agent: Option<&AgentId>, shared: &GlobalArgs) -> Result<PathBuf, Failure> {
    use std::os::unix::fs::DirBuilderExt as _;
    let home = Home::open_or_create(&shared.home()?)?;
    let path = PolicyFolders::new(home.root().to_owned(), tool_names()).path(agent);
    let made = std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&path);
    made.map_err(|error| unwritable(&path, &error))?;
    Ok(path)
}

/// Reads a text file within a bound.
pub(in crate::cli) fn read_text(path: &Path, bytes_max: usize) -> Result<String, Failure> {
    let failed = |error: &std::io::Error| {
        let attempt = format!("cannot read {}", path.display());
        Failure::io("file_unreadable", &attempt, error, "give a text file").into_usage()
    };
    let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(|error| failed(&error))?;
    file.take(limit)
        .read_to_string(&mut text)
        .map_err(|error| failed(&error))?;
    if text.len() > bytes_max {
        let message = format!("{} has more than {bytes_max} bytes", path.display());
        return Err(Failure::usage("file_too_large", message, "give a smaller file"));
    }
    Ok(text)
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    let attempt = format!("cannot write {}", path.display());
    Failure::io(
        "policy_unwritable",
        &attempt,
        error,
        "check the rights of the folder",
    )
}
