//! Measures `SearchFiles` on 100,000 files, compared with `rg` on the same files.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use wakeful_tools::DisabledFeatures;

use crate::Setting;
use crate::engine_setup::runtime;
use crate::measure::{Measure, Target, ms};
use crate::tool_call::{call, tools};

pub(crate) const NAME: &str = "search_files_ms";

const FILES_PER_FOLDER: usize = 100;

/// In one of a thousand files.
const NEEDLE: &str = "needle_in_a_haystack";

pub(crate) fn take(setting: &Setting) -> Result<Vec<Measure>> {
    let folder = setting.folder.join("search");
    let tools = tools(setting, &folder, DisabledFeatures::default())?;
    let workspace = folder.join("workspace");
    let files = setting.effort.pick(10_000, 100_000);
    write_files(&workspace, files)?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    runtime()?.block_on(async {
        // The first round reads the files into memory.
        for round in 0..setting.effort.pick(3, 10) {
            let began = Instant::now();
            let input = json!({"pattern": NEEDLE, "files_only": true});
            let done = call(&tools, round, "SearchFiles", input).await?;
            let own = ms(began.elapsed());
            let matches = format!("\"files_with_matches\":{}", files / 1_000);
            ensure!(
                done.content.contains(&matches),
                "not all files were found: {}",
                done.content
            );
            let began = Instant::now();
            let found = rg(&workspace)?;
            let other = ms(began.elapsed());
            ensure!(found == files / 1_000, "rg found {found} files");
            if round > 0 {
                ours.push(own);
                theirs.push(other);
            }
        }
        anyhow::Ok(())
    })?;
    let measure = Measure::median(NAME, "ms", &ours, Target::RatioAtMost(1.3));
    Ok(vec![
        measure
            .beside("rg on the same files", &theirs)
            .with("files", files as f64),
    ])
}

fn write_files(workspace: &Path, files: usize) -> Result<()> {
    let text = "fn ordinary(line: usize) -> usize { line + 1 }\n".repeat(20);
    for number in 0..files {
        let folder = workspace.join(format!("folder-{}", number / FILES_PER_FOLDER));
        if number.is_multiple_of(FILES_PER_FOLDER) {
            std::fs::create_dir_all(&folder)?;
        }
        let file = folder.join(format!("file-{number}.rs"));
        let needle = if number.is_multiple_of(1_000) { NEEDLE } else { "" };
        std::fs::write(file, format!("{text}{needle}\n"))?;
    }
    Ok(())
}

/// The number of files that `rg` finds.
fn rg(workspace: &Path) -> Result<usize> {
    let mut rg = Command::new("rg");
    rg.args(["--files-with-matches", NEEDLE, "."])
        .current_dir(workspace);
    let done = rg
        .stdin(Stdio::null())
        .output()
        .context("starting rg; install ripgrep")?;
    Ok(done.stdout.iter().filter(|byte| **byte == b'\n').count())
}
