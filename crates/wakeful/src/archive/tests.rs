//! Changed, truncated and concatenated archives are rejected.

use std::fs;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;

use super::*;

fn about() -> BackupManifest {
    BackupManifest {
        format: FORMAT,
        program: "0.1.0".to_owned(),
        made_at: "2026-11-15T12:00:00.000Z".to_owned(),
        schema: 3,
        incarnation: "host.1".to_owned(),
        with_secrets: false,
    }
}

fn write(path: &Path, files: &[(&str, &[u8])]) {
    let mut writer = Writer::new(File::create_new(path).expect("a file"), 1_763_208_000);
    let first = serde_json::to_vec(&about()).expect("json");
    writer
        .add(ABOUT, first.len() as u64, first.as_slice())
        .expect("added");
    for (name, bytes) in files {
        writer.add(name, bytes.len() as u64, *bytes).expect("added");
    }
    writer.finish().expect("finished");
}

const FILES: [(&str, &[u8]); 4] = [
    ("agent.sqlite", &[7; 5_000]),
    ("config.toml", b""),
    ("blobs/ab/abcd", b"a blob"),
    ("agents/main/AGENTS.md", &[b'x'; 512]),
];

fn sample() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("backup.tar");
    write(&path, &FILES);
    (folder, path)
}

#[test]
fn a_written_archive_is_read_back_by_us_and_by_tar() {
    let (folder, path) = sample();
    let contents = verify(&path).expect("whole");
    assert_eq!(contents.about, about());
    let names: Vec<&str> = contents.files.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "agent.sqlite",
            "agents/main/AGENTS.md",
            "blobs/ab/abcd",
            "config.toml"
        ]
    );
    assert_eq!(contents.bytes(), 5_000 + 6 + 512);
    let into = folder.path().join("into");
    fs::create_dir(&into).expect("a folder");
    extract(&path, &contents, |name| {
        let place = into.join(name.replace('/', "_"));
        File::create_new(place)
    })
    .expect("taken out");
    let mut text = Vec::new();
    let mut taken = File::open(into.join("blobs_ab_abcd")).expect("there");
    taken.read_to_end(&mut text).expect("read");
    assert_eq!(text, b"a blob");
    // Standard tar extracts the archive, so users can reach their data without this program.
    let there = folder.path().join("there");
    fs::create_dir(&there).expect("a folder");
    let shell = "tar -xf ../backup.tar && sha256sum --quiet -c SHA256SUMS";
    let done = Command::new("sh")
        .args(["-c", shell])
        .current_dir(&there)
        .status();
    assert!(done.expect("tar").success());
}

#[test]
fn a_cut_archive_is_truncated_wherever_it_is_cut() {
    let (folder, path) = sample();
    let whole = fs::read(&path).expect("read");
    let cut = folder.path().join("cut.tar");
    for length in (0..whole.len()).step_by(256) {
        fs::write(&cut, &whole[..length]).expect("written");
        let found = verify(&cut).expect_err("not whole");
        // Until the first entry is complete, the file cannot be identified as a backup.
        let is_named = matches!(found, ArchiveError::Truncated)
            || (length < 1_024 && matches!(found, ArchiveError::Foreign));
        assert!(is_named, "{length}: {found:?}");
    }
}

#[test]
fn foreign_files_and_newer_formats_are_distinguished() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("other");
    for bytes in [&b""[..], b"hello", &[0; 4_096], &[0x5a; 4_096]] {
        fs::write(&path, bytes).expect("written");
        assert!(
            matches!(
                verify(&path),
                Err(ArchiveError::Foreign | ArchiveError::Truncated)
            ),
            "{bytes:?}"
        );
    }
    let of_format = |format: u32| {
        let about = format!(r#"{{"format": {format}, "anything": "else"}}"#);
        let path = folder.path().join(format!("format-{format}"));
        let mut writer = Writer::new(File::create_new(&path).expect("a file"), 0);
        writer
            .add(ABOUT, about.len() as u64, about.as_bytes())
            .expect("added");
        writer.finish().expect("finished");
        verify(&path)
    };
    assert!(matches!(of_format(3), Err(ArchiveError::Newer { found: 3 })));
    assert!(matches!(of_format(1), Err(ArchiveError::Development)));
}

#[test]
fn names_outside_the_home_are_refused() {
    for name in [
        "../evil",
        "/etc/passwd",
        "a//b",
        ".ssh/key",
        "a/./b",
        "blobs/..",
        "a\\b",
        "",
    ] {
        assert!(!is_inside(name), "{name}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("evil");
    write(&path, &[("../evil", b"x")]);
    assert!(matches!(verify(&path), Err(ArchiveError::Damaged(_))));
    let path = folder.path().join("twice");
    write(&path, &[("a", b"x"), ("a", b"y")]);
    assert!(matches!(verify(&path), Err(ArchiveError::Damaged(_))));
}

#[test]
fn a_size_beyond_octal_digits_is_kept() {
    for size in [0, 511, (1 << 33) - 1, 1 << 33, u64::MAX / 2] {
        let header = block::Header {
            name: "a".to_owned(),
            size,
        };
        let block = header.encode(0).expect("fits");
        assert_eq!(block::Header::decode(&block).expect("sound"), Some(header));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_changed_byte_is_always_detected(at in any::<prop::sample::Index>(), change in 1_u8..) {
        let (_folder, path) = sample();
        let mut bytes = fs::read(&path).expect("read");
        let at = at.index(bytes.len());
        bytes[at] ^= change;
        fs::write(&path, &bytes).expect("written");
        prop_assert!(verify(&path).is_err(), "byte {at}");
    }
}
