//! Embeds the built page: writes a table of every file under `web/dist` for `src/page.rs` to include.
//!
//! A generated table and not a crate, because the usual failure of embedding is a stale or empty folder
//! that goes unnoticed, and because forty lines build faster. A release build without the page fails.

#[path = "src/page_check.rs"]
mod page_check;

use std::env::var_os;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use page_check::{WITHOUT_PAGE, missing_page};

fn main() -> Result<(), Box<dyn Error>> {
    let here = PathBuf::from(var_os("CARGO_MANIFEST_DIR").ok_or("CARGO_MANIFEST_DIR is not set")?);
    let out = PathBuf::from(var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let dist = here.join("../../web/dist");
    // Cargo watches a folder only if it exists; without one it would run this script on every build. A
    // failure to create it is ignored.
    let _ = fs::create_dir_all(&dist);
    println!("cargo::rerun-if-changed={}", dist.display());
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/page_check.rs");
    println!("cargo::rerun-if-env-changed={WITHOUT_PAGE}");
    let index = fs::read(dist.join("index.html")).ok();
    let [profile, permitted] = ["PROFILE", WITHOUT_PAGE].map(|name| var_os(name)?.into_string().ok());
    let profile = profile.unwrap_or_default();
    if let Some(refusal) = missing_page(&profile, index.as_deref(), permitted.as_deref()) {
        println!("cargo::error={refusal}");
        return Ok(());
    }
    let mut files = Vec::new();
    collect(&dist, "", &mut files)?;
    files.sort();
    let mut table = String::from("static FILES: &[(&str, &[u8])] = &[\n");
    for (name, path) in files {
        table.push_str(&format!(
            "    ({name:?}, include_bytes!({:?})),\n",
            path.display().to_string()
        ));
    }
    table.push_str("];\n");
    fs::write(out.join("page.rs"), table)?;
    Ok(())
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) -> Result<(), Box<dyn Error>> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(());
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let name = name
            .to_str()
            .ok_or("a file of the page has a name that is not UTF-8")?;
        let (path, name) = (entry.path(), format!("{prefix}{name}"));
        if entry.file_type()?.is_dir() {
            collect(&path, &format!("{name}/"), files)?;
        } else {
            files.push((name, path.canonicalize()?));
        }
    }
    Ok(())
}
