//! The words that teach: they change only on purpose.

use super::world::World;

fn help(args: &[&str]) -> String {
    let said = World::new().wakeful(args);
    assert_eq!(said.code, Some(0), "{said:?}");
    said.stdout
}

#[test]
fn the_help_of_every_verb_is_as_reviewed() {
    insta::assert_snapshot!("help", help(&["--help"]));
    insta::assert_snapshot!("help_run", help(&["run", "--help"]));
    insta::assert_snapshot!("help_runs", help(&["runs", "--help"]));
    insta::assert_snapshot!("help_agent", help(&["agent", "--help"]));
    insta::assert_snapshot!("help_transcript", help(&["transcript", "--help"]));
}

#[test]
fn completion_scripts_exist_for_the_usual_shells() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(help(&["completion", shell]).contains("wakeful"), "{shell}");
    }
}

#[test]
fn the_version_is_told_without_touching_anything() {
    let world = World::new();
    let said = world.wakeful(&["--version"]);
    assert_eq!(
        (said.code, said.stdout.starts_with("wakeful 0.")),
        (Some(0), true),
        "{said:?}"
    );
    assert!(!world.home().exists());
}
