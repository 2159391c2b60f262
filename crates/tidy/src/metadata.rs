//! The workspace as reported by `cargo metadata`.
//!
//! Manifests are not parsed directly, because Cargo already resolves workspace inheritance, renames and
//! platform tables. Only the fields that rules use are kept.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The kind of a dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Normal,
    Build,
    Dev,
}

/// One line of a `[dependencies]` table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    pub name: String,
    /// The name that code uses: after renaming, with underscores.
    pub called: String,
    pub kind: Kind,
}

/// A package of the workspace or a dependency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    pub name: String,
    pub version: String,
    pub licence: Option<String>,
    /// The source; none for a package of this workspace.
    pub source: Option<String>,
    /// The folder of its manifest.
    pub folder: String,
    pub dependencies: Vec<Dependency>,
}

/// Returns the packages of the workspace. Needs neither the network nor an up-to-date lock file.
pub fn workspace(root: &Path) -> Result<Vec<Package>, String> {
    load(root, &["--no-deps", "--offline"])
}

/// Returns the packages of the workspace and everything in the lock file.
pub fn resolved(root: &Path) -> Result<Vec<Package>, String> {
    load(root, &["--locked", "--offline"])
}

fn load(root: &Path, flags: &[&str]) -> Result<Vec<Package>, String> {
    let mut cargo = Command::new("cargo");
    cargo
        .args(["metadata", "--format-version", "1"])
        .args(flags)
        .current_dir(root);
    let output = cargo
        .output()
        .map_err(|error| format!("cargo metadata could not be run: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "cargo metadata failed; `cargo fetch --locked` may help\n{said}"
        ));
    }
    parse(&String::from_utf8_lossy(&output.stdout))
}

fn parse(json: &str) -> Result<Vec<Package>, String> {
    let value: Value =
        serde_json::from_str(json).map_err(|error| format!("cargo metadata did not return JSON: {error}"))?;
    let packages = value
        .get("packages")
        .and_then(Value::as_array)
        .ok_or("cargo metadata lists no packages")?;
    Ok(packages.iter().map(package).collect())
}

fn package(value: &Value) -> Package {
    let manifest = text(value, "manifest_path")
        .unwrap_or_default()
        .replace('\\', "/");
    let dependencies = value.get("dependencies").and_then(Value::as_array);
    Package {
        name: text(value, "name").unwrap_or_default(),
        version: text(value, "version").unwrap_or_default(),
        licence: text(value, "license"),
        source: text(value, "source"),
        folder: manifest
            .rsplit_once('/')
            .map(|(folder, _)| folder.to_owned())
            .unwrap_or_default(),
        dependencies: dependencies.into_iter().flatten().map(dependency).collect(),
    }
}

fn dependency(value: &Value) -> Dependency {
    let name = text(value, "name").unwrap_or_default();
    Dependency {
        called: text(value, "rename")
            .unwrap_or_else(|| name.clone())
            .replace('-', "_"),
        name,
        kind: match text(value, "kind").as_deref() {
            Some("dev") => Kind::Dev,
            Some("build") => Kind::Build,
            _ => Kind::Normal,
        },
    }
}

fn text(value: &Value, field: &str) -> Option<String> {
    value.get(field).and_then(Value::as_str).map(str::to_owned)
}

/// Creates a package for the unit tests of rules, with dependencies given as (name, kind).
#[cfg(test)]
pub(crate) fn planted(name: &str, dependencies: &[(&str, Kind)]) -> Package {
    let dependency = |(name, kind): &(&str, Kind)| Dependency {
        name: (*name).to_owned(),
        called: name.replace('-', "_"),
        kind: *kind,
    };
    Package {
        name: name.to_owned(),
        version: "0.1.0".to_owned(),
        licence: Some("MIT".to_owned()),
        source: None,
        folder: format!("crates/{}", name.trim_start_matches("wakeful-")),
        dependencies: dependencies.iter().map(dependency).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_that_rules_use_are_read() {
        let json = r#"{"packages": [{"name": "a", "version": "1.2.3", "license": "MIT", "source": null,
            "manifest_path": "/x/a/Cargo.toml", "dependencies": [
                {"name": "b-c", "kind": null, "rename": null}, {"name": "d", "kind": "dev", "rename": "e-f"}]}]}"#;
        let expected = Package {
            version: "1.2.3".to_owned(),
            folder: "/x/a".to_owned(),
            dependencies: vec![
                Dependency {
                    name: "b-c".to_owned(),
                    called: "b_c".to_owned(),
                    kind: Kind::Normal,
                },
                Dependency {
                    name: "d".to_owned(),
                    called: "e_f".to_owned(),
                    kind: Kind::Dev,
                },
            ],
            ..planted("a", &[])
        };
        assert_eq!(parse(json).unwrap(), [expected]);
    }

    #[test]
    fn output_that_is_not_metadata_is_an_error() {
        assert!(parse("nonsense").is_err());
        assert!(parse("{}").is_err());
    }
}
