//! Tests the folders that commands reach beside their workspace, and the places in it that are protected.

use std::fs;

use crate::fixture::{LEVELS, ToolFixture, listed};
use crate::place::mounts_are_allowed;

#[test]
fn only_named_folders_outside_the_workspace_can_be_read() {
    for level in LEVELS {
        let mut bed = ToolFixture::at(level);
        for folder in ["beside", "denied/inner", "other"] {
            fs::create_dir_all(bed.root.join(folder)).expect("folder");
            fs::write(bed.root.join(folder).join("file"), "seen").expect("file");
        }
        let root = bed.root.display().to_string();
        let read =
            |bed: &ToolFixture, folder: &str| bed.run(&format!("cat {root}/{folder}/file")).status() == 0;
        assert!(!read(&bed, "beside"));
        bed.run(&format!("ls {root}")).not_ok();
        bed.run("ls /usr > list && cat /etc/passwd > list").ok();
        bed.scope.readable_paths = listed([bed.root.join("beside"), bed.root.join("denied")]);
        bed.scope.denied_paths = listed([bed.root.join("denied/inner")]);
        assert!(read(&bed, "beside"));
        assert!(!read(&bed, "denied/inner") && !read(&bed, "other"));
        bed.run(&format!("echo x > {root}/beside/new")).not_ok();
        bed.scope.writable_paths = listed([bed.root.join("other")]);
        bed.run(&format!("echo x > {root}/other/new && cat {root}/other/file"))
            .ok();
        bed.is_read_only = true;
        bed.run(&format!("cat {root}/other/file")).ok();
        bed.run(&format!("echo x > {root}/other/again")).not_ok();
        bed.run("echo x > new").not_ok();
        bed.run("echo x > $TMPDIR/new && echo x > $HOME/new").ok();
    }
}

#[test]
fn the_users_own_folder_cannot_be_read() {
    for level in LEVELS {
        let bed = ToolFixture::with(|options| {
            let user = options.home.with_file_name("user");
            fs::create_dir_all(user.join(".local/bin")).expect("folder");
            fs::write(user.join("notes"), "private").expect("file");
            fs::write(user.join(".local/bin/tool"), "tool").expect("file");
            let name = user.to_str().expect("text").to_owned();
            options.environment.insert("HOME".to_owned(), name);
            options.pretend = level;
        });
        let user = bed.root.join("user");
        bed.run(&format!("cat {}/notes", user.display())).not_ok();
        bed.run("[ ! -e ~/notes ] && echo kept > ~/own").ok();
        // The folder is private to the agent, and stays.
        let seen = bed
            .run(&format!("cat ~/own {}/.local/bin/tool", user.display()))
            .ok();
        assert_eq!(seen.stdout(), "kept\ntool");
        assert!(!user.join("own").exists());
    }
}

#[test]
fn what_appears_at_a_protected_place_is_reported() {
    for level in LEVELS {
        let mut bed = ToolFixture::at(level);
        bed.run("git init -q . && git config user.name n && git config user.email a@b && git commit -q --allow-empty -m one").ok();
        // An existing repository can be committed to, and its settings stay.
        let seen = bed.run("echo x > f && git add f && git commit -qm two && git log --oneline | wc -l; echo y >> .git/config").stdout().to_owned();
        assert_eq!(seen.trim(), "2");
        let is_protected = !level.no_namespaces && crate::place::mounts_are_allowed();
        let config = fs::read_to_string(bed.workspace.join(".git/config")).expect("a file");
        assert_eq!(config.contains("\ny"), !is_protected);
        let seen = bed
            .run("mkdir clone && cd clone && git init -q . && echo x > .git/hooks/post-checkout")
            .ok();
        let said = seen.json["findings"].to_string();
        assert!(said.contains("clone/.git/hooks is new"), "{}", seen.json);
        bed.scope.unprotected_paths = [".git/config".to_owned()].into();
        bed.run("printf '[core]\\nbare = false\\n' > .git/config && git config user.name other")
            .ok();
    }
}

#[test]
fn a_link_that_a_command_made_widens_no_setting() {
    let mut bed = ToolFixture::new();
    fs::create_dir(bed.root.join("secret")).expect("folder");
    fs::write(bed.root.join("secret/file"), "private").expect("file");
    fs::create_dir(bed.workspace.join("data")).expect("folder");
    bed.scope.writable_paths = listed([bed.workspace.join("data")]);
    let secret = bed.root.join("secret").display().to_string();
    bed.run(&format!("rmdir data && ln -s {secret} data")).ok();
    bed.run("cat data/file").not_ok();
    bed.run("echo x > data/new").not_ok();
}

#[test]
fn a_refused_path_is_explained_with_the_command_that_allows_it() {
    if !mounts_are_allowed() {
        return;
    }
    let bed = ToolFixture::new();
    let outside = bed.root.join("notes.txt");
    fs::write(&outside, "hidden").expect("a file");
    bed.run("git init --quiet .").ok();
    let done = bed
        .run(&format!("git remote add origin x; cat {}", outside.display()))
        .not_ok();
    let findings = done.json["findings"].as_array().cloned().unwrap_or_default();
    let said: Vec<&str> = findings.iter().filter_map(|finding| finding.as_str()).collect();
    let allowed = outside.display();
    assert!(
        said.len() == 2
            && said[0].starts_with(".git/config is protected")
            && said[0].ends_with("wakeful agent set main --unprotect .git/config")
            && said[1].starts_with(&format!("{allowed} is outside what commands can read"))
            && said[1].ends_with(&format!(" --allow-read {allowed}")),
        "{said:?}"
    );
    let mut bed = bed;
    bed.scope.unprotected_paths = [".git/config".to_owned()].into();
    bed.run("git remote add origin x && git remote").ok();
}
