//! Tests which secrets outside the home commands cannot read, and which neighboring files they can.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::json;
use wakeful_core::policy::{PathScope, Target};
use wakeful_ports::tool::{ToolHost as _, ToolRequest};
use wakeful_tools::denied_paths::remember;
use wakeful_tools::{DeniedPaths, DisabledFeatures, Tools, ToolsOptions};

use crate::fixture::{LEVELS, NeverStop, ToolFixture, act, block_on, listed};
use crate::place::mounts_are_allowed;

const SECRET: &str = "hidden words";

/// Creates secrets of every kind below the fixture's folder.
fn plant(root: &Path) -> DeniedPaths {
    let secrets = [
        "user/.ssh/id_ed25519",
        "user/.netrc",
        "user/.config/gh/hosts.yml",
        "user/.claude.json",
        "vault/aws/credentials",
        "keys/provider",
        "other/token",
        "other.before-restore-2026/token",
    ];
    for name in secrets
        .into_iter()
        .chain(["user/notes", "user/.config/plain/file", "keys/beside"])
    {
        let path = root.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        let text = if secrets.contains(&name) {
            SECRET
        } else {
            "plain words"
        };
        fs::write(path, text).expect("a file");
    }
    symlink(root.join("vault/aws"), root.join("user/.aws")).expect("a link");
    for home in ["other", "other.before-restore-2026"] {
        fs::write(root.join(home).join("wakeful-home"), "").expect("a marker");
    }
    let list = root.join("user/.local/state/wakeful/homes");
    remember(&list, &root.join("other")).expect("a list");
    DeniedPaths {
        user_folders: vec![root.join("user")],
        list: Some(list),
        key_files: vec![root.join("keys/provider")],
    }
}

/// The agent may read everything around the secrets.
fn bed(level: DisabledFeatures) -> ToolFixture {
    let mut bed = ToolFixture::with(|options| {
        let root = options.home.parent().expect("a folder");
        options.closed = plant(root);
        options.pretend = level;
    });
    bed.scope.readable_paths = listed([bed.root.clone()]);
    bed
}

#[test]
fn secrets_outside_the_home_are_denied_at_every_level() {
    for level in LEVELS {
        let bed = bed(level);
        symlink(bed.root.join("user/.ssh"), bed.workspace.join("link")).expect("a link");
        for path in [
            "user/.ssh/id_ed25519",
            "user/.netrc",
            "user/.config/gh/hosts.yml",
            "user/.claude.json",
            "user/.aws/credentials",
            "vault/aws/credentials",
            "user/.local/state/wakeful/homes",
            "keys/provider",
            "other/token",
            "other.before-restore-2026/token",
            "workspace/link/id_ed25519",
        ] {
            let path = bed.root.join(path);
            for cmd in ["cat", "cp -t .", "ln -t ."] {
                let seen = bed.run(&format!("{cmd} {}; cat ./{}", path.display(), name(&path)));
                let content = &seen.done.content;
                assert!(!content.contains(SECRET), "{cmd} {}: {content}", path.display());
                assert!(!content.contains("/other\n"), "{content}");
                fs::remove_file(bed.workspace.join(name(&path))).ok();
            }
            let unchanged = bed.run(&format!("echo x > {}", path.display())).not_ok();
            assert!(unchanged.json["sandbox"].is_string());
        }
        // A covered path leaves its folder listable; a path that Landlock excludes makes its folder
        // unlistable.
        let listed = bed.run(&format!("ls -a {}/user", bed.root.display()));
        assert_eq!(listed.status() == 0, !level.no_namespaces && mounts_are_allowed());
        let beside = ["user/notes", "user/.config/plain/file", "keys/beside"];
        for path in beside.map(|path| bed.root.join(path)) {
            assert_eq!(
                bed.run(&format!("cat {}", path.display())).ok().stdout(),
                "plain words"
            );
        }
    }
}

fn name(path: &Path) -> String {
    path.file_name().expect("a name").to_string_lossy().into_owned()
}

#[test]
fn a_superusers_command_reads_no_password_hashes() {
    if !rustix::process::geteuid().is_root() || !Path::new("/etc/shadow").exists() {
        return;
    }
    for level in LEVELS {
        let seen = ToolFixture::at(level)
            .run("cat /etc/shadow; cat /etc/hostname /etc/passwd > /dev/null && echo others");
        assert_eq!(seen.stdout(), "others\n", "{}", seen.json);
    }
}

/// The same paths, with the user's own folder as the workspace.
fn bed_in_user_folder(level: DisabledFeatures) -> (ToolFixture, PathBuf) {
    let bed = ToolFixture::with(|options| {
        let root = options.home.parent().expect("a folder").to_owned();
        let closed = plant(&root);
        *options = ToolsOptions {
            workspace: root.join("user"),
            closed,
            pretend: level,
            ..options.clone()
        };
    });
    let user = bed.root.join("user");
    (bed, user)
}

#[test]
fn the_users_own_folder_works_as_workspace_without_its_secrets() {
    for level in LEVELS {
        let (bed, user) = bed_in_user_folder(level);
        bed.run("echo new >> notes && echo new > .config/plain/made").ok();
        // The second command starts from the state that the first one left.
        bed.run("mv .ssh moved; mv .config moved-config; mv .netrc moved-netrc");
        let seen = bed.run("cat .ssh/* .netrc .config/gh/* moved/* moved-config/gh/* moved-netrc .aws/*");
        assert!(!seen.done.content.contains(SECRET), "{}", seen.json);
        bed.run("rm -rf .ssh .netrc .config/gh");
        for path in [".ssh/id_ed25519", ".netrc", ".config/gh/hosts.yml"] {
            let kept = fs::read_to_string(user.join(path)).expect("it is there");
            assert_eq!(kept, SECRET, "{path}");
        }
    }
}

#[test]
fn a_workspace_that_contains_a_key_file_is_refused() {
    let bed = ToolFixture::new();
    let file = bed.workspace.join("sub/key");
    let refused = |key: PathBuf| {
        Tools::new(ToolsOptions {
            closed: DeniedPaths {
                key_files: vec![key],
                ..DeniedPaths::default()
            },
            ..options(&bed)
        })
        .expect_err("refused")
    };
    // Also if the file does not exist yet, and through a link from outside.
    for key in [file.clone(), bed.root.join("link")] {
        let error = refused(key.clone());
        assert_eq!(error.code(), "key_file_in_workspace");
        assert!(error.to_string().contains(key.to_str().expect("text")), "{error}");
        fs::create_dir_all(bed.workspace.join("sub")).expect("a folder");
        fs::write(&file, "key").expect("a file");
        symlink(&file, bed.root.join("link")).ok();
    }
}

#[test]
fn a_workspace_inside_a_denied_path_is_refused() {
    let bed = ToolFixture::new();
    let closed = plant(&bed.root);
    for inside in ["other", "user/.ssh", "user/.aws"] {
        let error = Tools::new(ToolsOptions {
            workspace: bed.root.join(inside),
            closed: closed.clone(),
            own_addresses: wakeful_tools::OwnAddresses::default(),
            ..options(&bed)
        })
        .expect_err("refused");
        assert_eq!(error.code(), "workspace_in_denied_path", "{error}");
    }
}

fn options(bed: &ToolFixture) -> ToolsOptions {
    crate::fixture::options(&bed.home, &bed.workspace)
}

#[test]
fn changed_permissions_of_the_home_are_reverted_and_reported() {
    for level in LEVELS {
        let bed = ToolFixture::at(level);
        let token = bed.home.join("token");
        fs::write(&token, SECRET).expect("a token");
        for (path, mode) in [(&bed.home, 0o700), (&token, 0o600)] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
        }
        let mode = |path: &Path| fs::metadata(path).expect("metadata").permissions().mode() & 0o7777;
        let seen = bed
            .run(&format!(
                "chmod 755 {}; chmod 644 {}; true",
                bed.home.display(),
                token.display()
            ))
            .ok();
        assert_eq!((mode(&bed.home), mode(&token)), (0o700, 0o600));
        let is_closed = seen
            .json
            .get("isolation")
            .is_none_or(|lines| lines["metadata"] == true);
        let told = seen
            .json
            .get("permissions_repaired")
            .map_or(0, |list| list.as_array().expect("a list").len());
        assert_eq!(told, if is_closed { 0 } else { 2 }, "{}", seen.json);
        assert_eq!(
            is_closed,
            !level.no_namespaces && mounts_are_allowed(),
            "{}",
            seen.json
        );
    }
}

#[test]
fn credential_paths_that_do_not_exist_yet_are_denied_to_file_tools() {
    let mut bed = ToolFixture::with(|options| {
        let user = options.home.parent().expect("a folder").join("user");
        fs::create_dir_all(user.join("elsewhere")).expect("a folder");
        symlink(user.join("elsewhere"), user.join(".config")).expect("a link");
        symlink(user.join("keys"), user.join(".kube")).expect("a link without a target");
        options.closed = DeniedPaths {
            user_folders: vec![user.clone()],
            list: None,
            key_files: vec![user.join("provider-key")],
        };
    });
    let user = bed.root.join("user");
    symlink(&user, bed.workspace.join("link")).expect("a link");
    bed.scope.writable_paths = listed([bed.root.clone()]);
    let scope = bed.scope.clone();
    let refused = |path: &Path| {
        let request = ToolRequest {
            tool: "WriteFile".to_owned(),
            scope: scope.clone(),
            ..act(&json!({"path": path, "content": "x"}))
        };
        let scopes = bed.tools.facts("WriteFile", &request.input, &scope).targets;
        let is_denied = |target: &Target| {
            matches!(
                target,
                Target::Path {
                    scope: PathScope::Denied,
                    ..
                }
            )
        };
        let result = block_on(bed.tools.perform(request, NeverStop));
        scopes.iter().all(is_denied) && result.code.as_deref() == Some("denied_path")
    };
    for name in [
        ".ssh/authorized_keys",
        ".aws/credentials",
        ".netrc",
        ".claude-x/settings.json",
        ".config/gh/hosts.yml",
        "elsewhere/gh/hosts.yml",
        "elsewhere/../.ssh/authorized_keys",
        "keys/config",
        "provider-key",
    ] {
        assert!(refused(&user.join(name)), "{name}");
        assert!(
            refused(&bed.workspace.join("link").join(name)),
            "through a link: {name}"
        );
    }
    fs::create_dir(user.join(".ssh")).expect("a folder in between");
    assert!(refused(&user.join(".ssh/authorized_keys")));
    for name in ["ssh/a", ".netrc2", "elsewhere/other", "x.claude"] {
        assert!(!refused(&user.join(name)), "{name}");
    }
}
