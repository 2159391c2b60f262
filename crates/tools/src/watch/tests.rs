//! Scans real folders and repositories.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::time::Duration;

use proptest::prelude::*;
use tempfile::TempDir;
use wakeful_core::watch::EntryChange;

use super::*;

mod absent;
mod bounded;

/// No timestamp is old enough to be trusted, so every file is read.
const ALWAYS_READ: Millis = Millis(0);

/// Every timestamp is trusted.
const TRUSTING: Millis = Millis(i64::MAX / 2);

/// A source, and its known entries.
struct WatchedFolder {
    dir: TempDir,
    outlook: LocalScanner,
    source: Source,
    known: BTreeMap<Vec<u8>, EntryState>,
    now: Millis,
}

impl WatchedFolder {
    fn new(kind: SourceKind) -> Self {
        Self::bounded(kind, ENTRIES_MAX)
    }

    fn bounded(kind: SourceKind, entries_max: usize) -> Self {
        let dir = TempDir::new().expect("a folder");
        let root = dir.path().join("root");
        fs::create_dir_all(&root).expect("a folder");
        let path = fs::canonicalize(&root).expect("a path");
        Self {
            outlook: LocalScanner::bounded(&dir.path().join("home"), entries_max),
            source: Source {
                source_id: SourceId::parse("notes").expect("a name"),
                kind,
                path: path.to_str().expect("UTF-8").to_owned(),
                device: "here".into(),
                created_at: Millis(0),
                version: 0,
                is_fresh: false,
                last_error: None,
            },
            dir,
            known: BTreeMap::new(),
            now: ALWAYS_READ,
        }
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("written");
    }

    fn root(&self) -> PathBuf {
        PathBuf::from(&self.source.path)
    }

    fn sight(&self) -> Result<ScanResult, BadSource> {
        look(&self.outlook, &self.source, &self.known, self.now)
    }

    /// Scans, stores the result, and returns what changed.
    fn look(&mut self) -> Vec<(String, EntryChange)> {
        let sight = self.sight().expect("can be looked at");
        let mut changes = Vec::new();
        for EntryDiff { name, now, change } in sight.differences {
            let shown = String::from_utf8_lossy(&name).into_owned();
            changes.extend(change.map(|change| (shown, change)));
            match now {
                Some(now) => drop(self.known.insert(name, now)),
                None => drop(self.known.remove(&name)),
            }
        }
        changes
    }
}

fn look(
    outlook: &LocalScanner,
    source: &Source,
    known: &BTreeMap<Vec<u8>, EntryState>,
    now: Millis,
) -> Result<ScanResult, BadSource> {
    let look = ScanJob {
        source,
        known,
        now,
        given_up: &AtomicBool::new(false),
    };
    outlook.0.look(&look, WatchMode::Off)
}

fn told(changes: &[(&str, EntryChange)]) -> Vec<(String, EntryChange)> {
    let owned = |(name, change): &(&str, EntryChange)| ((*name).to_owned(), *change);
    changes.iter().map(owned).collect()
}

#[test]
fn each_added_changed_or_removed_file_is_reported_once() {
    let mut scene = WatchedFolder::new(SourceKind::Folder);
    scene.write("a.md", "one");
    scene.write("deep/b.md", "two");
    assert_eq!(
        scene.look(),
        told(&[
            ("a.md", EntryChange::Created),
            ("deep/b.md", EntryChange::Created)
        ])
    );
    assert!(scene.look().is_empty(), "nothing happened");
    scene.write("a.md", "ONE");
    assert_eq!(scene.look(), told(&[("a.md", EntryChange::Changed)]));
    fs::remove_dir_all(scene.root().join("deep")).expect("removed");
    assert_eq!(scene.look(), told(&[("deep/b.md", EntryChange::Deleted)]));
    assert!(scene.look().is_empty());
}

#[test]
fn a_renamed_file_is_one_removed_and_one_added() {
    let mut scene = WatchedFolder::new(SourceKind::Folder);
    scene.write("a.md", "one");
    scene.look();
    fs::rename(scene.root().join("a.md"), scene.root().join("b.md")).expect("renamed");
    assert_eq!(
        scene.look(),
        told(&[("a.md", EntryChange::Deleted), ("b.md", EntryChange::Created)])
    );
}

#[test]
fn a_touched_file_with_the_same_content_is_unchanged() {
    let mut scene = WatchedFolder::new(SourceKind::Folder);
    scene.write("a.md", "one");
    scene.look();
    scene.write("a.md", "one");
    let file = fs::File::options()
        .write(true)
        .open(scene.root().join("a.md"))
        .expect("opens");
    file.set_modified(std::time::UNIX_EPOCH).expect("touched");
    assert!(scene.look().is_empty());
}

#[test]
fn a_file_with_unchanged_metadata_is_not_read_again() {
    let mut scene = WatchedFolder::new(SourceKind::Folder);
    scene.now = TRUSTING;
    scene.write("a.md", "one");
    scene.look();
    // A read would replace the mark.
    scene.known.get_mut(b"a.md".as_slice()).expect("known").mark = b"as it was".to_vec();
    assert!(scene.look().is_empty());
    scene.now = ALWAYS_READ;
    assert_eq!(
        scene.look(),
        told(&[("a.md", EntryChange::Changed)]),
        "too young to be trusted"
    );
}

#[test]
fn ignored_files_are_skipped() {
    let mut scene = WatchedFolder::new(SourceKind::Folder);
    for (name, text) in [
        (".gitignore", "*.log\n/target\n"),
        (".ignore", "secret\n"),
        ("deep/.wakefulignore", "*.tmp\n!keep.tmp\n"),
        ("a.log", ""),
        ("target/x", ""),
        ("secret", ""),
        ("deep/a.tmp", ""),
        ("deep/keep.tmp", ""),
        (".git/config", ""),
    ] {
        scene.write(name, text);
    }
    let seen: Vec<String> = scene.look().into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        seen,
        [".gitignore", ".ignore", "deep/.wakefulignore", "deep/keep.tmp"]
    );
}

#[test]
fn links_are_not_followed_and_special_files_are_skipped() {
    let mut scene = WatchedFolder::new(SourceKind::Folder);
    scene.write("deep/a.md", "one");
    symlink(scene.root(), scene.root().join("deep/loop")).expect("linked");
    symlink(scene.root().join("deep/a.md"), scene.root().join("link.md")).expect("linked");
    symlink("nowhere", scene.root().join("broken")).expect("linked");
    pipe(&scene.root().join("pipe"));
    let away = scene.dir.path().join("away");
    fs::create_dir(&away).expect("a folder");
    fs::write(away.join("b.md"), "").expect("written");
    symlink(&away, scene.root().join("linked")).expect("linked");
    assert_eq!(scene.look(), told(&[("deep/a.md", EntryChange::Created)]));
}

#[test]
fn a_name_that_is_not_utf8_is_kept_as_bytes() {
    let mut scene = WatchedFolder::new(SourceKind::Folder);
    for name in [b"a\xff".as_slice(), b"a\xfe"] {
        fs::write(scene.root().join(std::ffi::OsStr::from_bytes(name)), "").expect("written");
    }
    assert_eq!(scene.look().len(), 2);
    assert!(scene.known.contains_key(b"a\xff".as_slice()) && scene.known.contains_key(b"a\xfe".as_slice()));
    assert!(scene.look().is_empty());
}

#[test]
fn a_scan_stops_at_the_limit_on_files() {
    let mut scene = WatchedFolder::bounded(SourceKind::Folder, 10);
    for number in 0..9 {
        scene.write(&format!("{number}"), "");
    }
    assert_eq!(scene.look().len(), 9, "nine and the folder itself");
    for number in 10..50 {
        scene.write(&format!("{number}"), "");
    }
    let refused = scene.sight().expect_err("was looked at");
    assert_eq!(refused.code(), "too_many_files");
    assert!(
        matches!(refused, BadSource::TooManyFiles { found: 11, .. }),
        "{refused:?}"
    );
    scene.write(".wakefulignore", "[0-9]*\n");
    assert!(scene.sight().is_ok(), "the way out that is named leads out");
}

#[test]
fn a_missing_folder_has_not_lost_its_files() {
    let mut scene = WatchedFolder::new(SourceKind::Folder);
    scene.write("a.md", "one");
    scene.look();
    fs::rename(scene.root(), scene.dir.path().join("away")).expect("moved");
    assert_eq!(
        scene.sight().expect_err("was looked at").code(),
        "folder_not_found"
    );
    fs::rename(scene.dir.path().join("away"), scene.root()).expect("moved");
    assert!(scene.look().is_empty());
}

#[test]
fn the_home_is_never_scanned() {
    let scene = WatchedFolder::new(SourceKind::Folder);
    let root = scene.root();
    fs::create_dir_all(root.join("home/inside")).expect("folders");
    fs::write(root.join("home/agent.sqlite"), "").expect("written");
    fs::create_dir_all(root.join(".git/refs")).expect("folders");
    let outlook = LocalScanner::new(&root.join("home"));
    let sight = look(&outlook, &scene.source, &BTreeMap::new(), ALWAYS_READ);
    assert_eq!(sight.expect("looked at").differences, []);
    let code = |path: &Path| {
        let place = outlook.0.place(SourceKind::Folder, path.to_str().expect("UTF-8"));
        place.map_err(|bad| bad.code())
    };
    assert_eq!(code(&root.join("home")), Err("inside_home"));
    symlink(root.join("home/inside"), root.join("link")).expect("linked");
    assert_eq!(code(&root.join("link")), Err("inside_home"), "by any path");
    assert_eq!(code(&root.join(".git/refs")), Err("inside_git"));
    assert_eq!(code(&root.join("none")), Err("folder_not_found"));
    assert_eq!(code(Path::new("relative")), Err("bad_path"));
    assert_eq!(code(&root), Ok(scene.source.path.clone()));
}

fn pipe(path: &Path) {
    let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
    rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).expect("a pipe");
}

const ONE: &str = "1111111111111111111111111111111111111111";
const TWO: &str = "2222222222222222222222222222222222222222";

/// A repository as Git creates it.
fn repository() -> WatchedFolder {
    let scene = WatchedFolder::new(SourceKind::Git);
    fs::create_dir_all(scene.root().join(".git/objects")).expect("folders");
    scene.write(".git/HEAD", "ref: refs/heads/main\n");
    scene.write(".git/refs/heads/main", &format!("{ONE}\n"));
    scene
}

#[test]
fn added_moved_and_removed_refs_are_reported_once() {
    let mut scene = repository();
    assert_eq!(
        scene.look(),
        told(&[
            ("HEAD", EntryChange::Created),
            ("refs/heads/main", EntryChange::Created)
        ])
    );
    scene.write(".git/refs/heads/main", TWO);
    scene.write(".git/refs/heads/topic/x", ONE);
    scene.write(".git/refs/heads/main.lock", ONE);
    scene.write(".git/index", "nothing of ours");
    let moved = [
        ("refs/heads/main", EntryChange::Changed),
        ("refs/heads/topic/x", EntryChange::Created),
    ];
    assert_eq!(scene.look(), told(&moved));
    scene.write(".git/HEAD", "ref: refs/heads/topic/x\n");
    fs::remove_file(scene.root().join(".git/refs/heads/main")).expect("removed");
    let gone = [
        ("HEAD", EntryChange::Changed),
        ("refs/heads/main", EntryChange::Deleted),
    ];
    assert_eq!(scene.look(), told(&gone));
    assert!(scene.look().is_empty());
}

#[test]
fn packing_keeps_a_ref_and_a_loose_one_is_newer() {
    let mut scene = repository();
    scene.look();
    scene.write(
        ".git/packed-refs",
        &format!("# pack-refs with: peeled\n{ONE} refs/heads/main\n{TWO} refs/tags/v1\n^{ONE}\nnonsense\n"),
    );
    fs::remove_file(scene.root().join(".git/refs/heads/main")).expect("removed");
    assert_eq!(scene.look(), told(&[("refs/tags/v1", EntryChange::Created)]));
    scene.write(".git/refs/heads/main", TWO);
    assert_eq!(scene.look(), told(&[("refs/heads/main", EntryChange::Changed)]));
}

#[test]
fn only_worktrees_and_bare_repositories_are_repositories() {
    let scene = repository();
    let (root, own) = (scene.root(), scene.root().join(".git/worktrees/w"));
    fs::create_dir_all(&own).expect("folders");
    fs::write(own.join("HEAD"), TWO).expect("written");
    fs::write(own.join("commondir"), "../..\n").expect("written");
    let tree = scene.dir.path().join("tree");
    fs::create_dir_all(&tree).expect("a folder");
    fs::write(tree.join(".git"), format!("gitdir: {}\n", own.display())).expect("written");
    let refs = |path: &Path| {
        let found = git::Repository::open(path)?.look(&BTreeMap::new(), ENTRIES_MAX)?;
        let name = |difference: EntryDiff| String::from_utf8_lossy(&difference.name).into_owned();
        Ok::<_, BadSource>(found.differences.into_iter().map(name).collect::<Vec<_>>())
    };
    let both = Ok(vec!["HEAD".to_owned(), "refs/heads/main".to_owned()]);
    assert_eq!(refs(&tree), both);
    assert_eq!(refs(&root.join(".git")), both, "a bare one");
    assert_eq!(
        refs(scene.dir.path()).map_err(|bad| bad.code()),
        Err("not_a_repository")
    );
    for bad in ["", "nonsense", "ref: ", "ref: a b", &ONE[1..]] {
        scene.write(".git/HEAD", bad);
        assert_eq!(
            refs(&root).map_err(|bad| bad.code()),
            Err("not_a_repository"),
            "{bad:?}"
        );
    }
    fs::remove_file(root.join(".git/HEAD")).expect("removed");
    pipe(&root.join(".git/HEAD"));
    assert_eq!(
        refs(&root).map_err(|bad| bad.code()),
        Err("not_a_repository"),
        "a pipe is not waited for"
    );
    fs::remove_file(root.join(".git/HEAD")).expect("removed");
    scene.write(".git/HEAD", ONE);
    fs::create_dir_all(root.join(".git/reftable")).expect("a folder");
    assert_eq!(
        refs(&root).map_err(|bad| bad.code()),
        Err("repository_unsupported")
    );
}

#[test]
fn a_ref_that_cannot_be_read_is_unchanged() {
    let mut scene = repository();
    scene.look();
    scene.write(".git/refs/heads/main", "half a comm");
    let sight = scene.sight().expect("looked at");
    assert_eq!((sight.differences.len(), sight.unreadable), (0, 1));
    let many = WatchedFolder::bounded(SourceKind::Git, 3);
    fs::create_dir_all(many.root().join(".git/objects")).expect("folders");
    many.write(".git/HEAD", ONE);
    let packed: String = (0..9)
        .map(|number| format!("{ONE} refs/tags/{number}\n"))
        .collect();
    many.write(".git/packed-refs", &packed);
    assert_eq!(many.sight().expect_err("was looked at").code(), "too_many_files");
}

/// Waits for the kernel, with a timeout.
async fn stirred(outlook: &LocalScanner) -> BTreeSet<SourceId> {
    let heard = tokio::time::timeout(Duration::from_secs(20), outlook.changed_sources());
    heard.await.expect("the kernel tells")
}

#[tokio::test]
async fn scanned_folders_and_new_ones_are_watched() {
    let scene = WatchedFolder::new(SourceKind::Folder);
    scene.write("deep/a.md", "one");
    let look = || {
        scene
            .outlook
            .scan(scene.source.clone(), BTreeMap::new(), WatchMode::On, ALWAYS_READ)
    };
    look().await.expect("looked at");
    let notes = BTreeSet::from([scene.source.source_id.clone()]);
    scene.write("deep/a.md", "two");
    assert_eq!(stirred(&scene.outlook).await, notes);
    fs::create_dir(scene.root().join("new")).expect("a folder");
    assert_eq!(stirred(&scene.outlook).await, notes);
    look().await.expect("looked at");
    scene.write("new/b.md", "one");
    assert_eq!(stirred(&scene.outlook).await, notes);
    scene.outlook.unwatch(&scene.source.source_id);
    scene.write("new/b.md", "two");
    let silence = tokio::time::timeout(Duration::from_millis(20), scene.outlook.changed_sources());
    assert!(silence.await.is_err(), "no watch is left");
}

/// One operation on a folder between two scans.
#[derive(Debug, Clone)]
enum Act {
    Write(u8, u8),
    Remove(u8),
    Rename(u8, u8),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        (0..6_u8, 0..3_u8).prop_map(|(file, text)| Act::Write(file, text)),
        (0..6_u8).prop_map(Act::Remove),
        (0..6_u8, 0..6_u8).prop_map(|(from, to)| Act::Rename(from, to)),
    ]
}

fn file_name(file: u8) -> String {
    if file < 3 {
        format!("{file}.md")
    } else {
        format!("deep/{file}.md")
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn each_net_change_between_scans_is_reported_once(
        looks in proptest::collection::vec(proptest::collection::vec(act(), 0..8), 1..5),
    ) {
        let mut scene = WatchedFolder::new(SourceKind::Folder);
        fs::create_dir(scene.root().join("deep")).expect("a folder");
        let (mut was, mut is): (BTreeMap<String, u8>, BTreeMap<String, u8>) = Default::default();
        for acts in looks {
            for act in acts {
                match act {
                    Act::Write(file, text) => {
                        scene.write(&file_name(file), &text.to_string());
                        is.insert(file_name(file), text);
                    }
                    Act::Remove(file) => {
                        let _ = fs::remove_file(scene.root().join(file_name(file)));
                        is.remove(&file_name(file));
                    }
                    Act::Rename(from, to) => {
                        let (from, to) = (file_name(from), file_name(to));
                        let _ = fs::rename(scene.root().join(&from), scene.root().join(&to));
                        if let Some(text) = is.remove(&from) {
                            is.insert(to, text);
                        }
                    }
                }
            }
            let names: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
            let expected = names.into_iter().filter_map(|name| match (was.get(name), is.get(name)) {
                (None, Some(_)) => Some((name.clone(), EntryChange::Created)),
                (Some(_), None) => Some((name.clone(), EntryChange::Deleted)),
                (Some(one), Some(other)) if one != other => Some((name.clone(), EntryChange::Changed)),
                _ => None,
            });
            let expected: Vec<_> = expected.collect();
            prop_assert_eq!(scene.look(), expected);
            prop_assert!(scene.look().is_empty(), "a second look finds nothing");
            was = is.clone();
        }
    }
}
