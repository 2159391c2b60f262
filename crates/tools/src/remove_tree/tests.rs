use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use rustix::fs::{Uid, mkdirat, mkfifoat};

use super::*;

/// Deeper than the stack allows: recursion overflowed at a fifth of it.
const DEEP: usize = 16_000;

/// The user that the tests switch to under root, because permissions do not restrict root.
const NOBODY: u32 = 65_534;

/// A tree to remove, beside a folder that must stay unchanged.
struct TreeFixture {
    _folder: tempfile::TempDir,
    root: PathBuf,
    outside: PathBuf,
}

impl TreeFixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let [root, outside] = ["root", "outside"].map(|name| folder.path().join(name));
        fs::create_dir(&root).expect("a folder");
        fs::create_dir(&outside).expect("a folder");
        fs::write(outside.join("file"), "kept").expect("a file");
        fs::set_permissions(&outside, Permissions::from_mode(0o500)).expect("closed");
        Self {
            _folder: folder,
            root,
            outside,
        }
    }

    fn open(&self) -> OwnedFd {
        open(&self.root)
    }

    #[track_caller]
    fn assert_outside_is_untouched(&self) {
        assert_eq!(fs::read(self.outside.join("file")).expect("a file"), b"kept");
        let mode = fs::metadata(&self.outside)
            .expect("a folder")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o500);
    }

    #[track_caller]
    fn assert_removed(&self) {
        // Unlimited, because the machine may be busy.
        let removal = remove(&self.root, RemovalLimits::EXTENDED);
        assert!(removal.left.is_none(), "{removal:?}");
        assert!(self.root.symlink_metadata().is_err());
        self.assert_outside_is_untouched();
    }
}

fn open(path: &Path) -> OwnedFd {
    openat(CWD, path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).expect("a folder")
}

/// Creates a chain of folders and returns the last one.
fn nest(folder: &OwnedFd, name: &OsStr, depth: usize) -> OwnedFd {
    let mut last = folder.try_clone().expect("a handle");
    for _ in 0..depth {
        // It may exist from an earlier step.
        let _there = mkdirat(&last, name, Mode::RWXU);
        last = openat(&last, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).expect("it");
    }
    last
}

/// Runs on a thread without capabilities over other users' files or files without permissions.
fn as_nobody<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let run = move || {
        if rustix::process::geteuid().is_root() {
            rustix::thread::set_thread_uid(Uid::from_raw(NOBODY)).expect("another user");
        }
        work()
    };
    std::thread::spawn(run).join().expect("it ends")
}

/// One thing that a command may create in a tree.
#[derive(Debug, Clone)]
enum Made {
    File,
    Nested(usize),
    Wide(usize),
    LongNames(usize),
    NotText,
    LinkOut,
    LinkUp,
    LinkToItself,
    HardLink,
    Fifo,
    Socket,
    Closed(u32),
}

impl Made {
    fn make(&self, scene: &TreeFixture, at: &OwnedFd, number: usize) {
        // The tree is short enough here for a path.
        let path = PathBuf::from(format!("/proc/self/fd/{}", at.as_raw_fd()));
        let own = path.join(format!("made-{number}"));
        let made = match self {
            Self::File => fs::write(own, "x"),
            Self::Nested(depth) => {
                drop(nest(at, OsStr::new("n"), *depth));
                Ok(())
            }
            Self::Wide(width) => (0..*width)
                .try_for_each(|one| File::create(path.join(format!("wide-{number}-{one}"))).map(drop)),
            Self::LongNames(depth) => {
                drop(nest(at, OsStr::new(&"l".repeat(255)), *depth));
                Ok(())
            }
            Self::NotText => fs::create_dir(path.join(OsStr::from_bytes(b"\xff\xfe\n\x01 \xc3"))),
            Self::LinkOut => symlink(&scene.outside, &own)
                .and_then(|()| symlink(scene.outside.join("file"), path.join(format!("file-{number}")))),
            Self::LinkUp => symlink("..", own),
            Self::LinkToItself => symlink(format!("made-{number}"), own),
            Self::HardLink => fs::hard_link(scene.outside.join("file"), own),
            Self::Fifo => mkfifoat(at, format!("fifo-{number}"), Mode::RUSR).map_err(Into::into),
            Self::Socket => UnixListener::bind(own).map(drop),
            Self::Closed(mode) => fs::create_dir_all(own.join("in/side"))
                .and_then(|()| symlink(&scene.outside, own.join("link")))
                .and_then(|()| fs::set_permissions(own.join("in"), Permissions::from_mode(0o000)))
                .and_then(|()| fs::set_permissions(own, Permissions::from_mode(*mode))),
        };
        // A second entry of the same name is refused, and so is a long path.
        drop(made);
    }
}

fn made() -> impl Strategy<Value = Made> {
    prop_oneof![
        Just(Made::File),
        (1_usize..40).prop_map(Made::Nested),
        (1_usize..200).prop_map(Made::Wide),
        (1_usize..30).prop_map(Made::LongNames),
        Just(Made::NotText),
        Just(Made::LinkOut),
        Just(Made::LinkUp),
        Just(Made::LinkToItself),
        Just(Made::HardLink),
        Just(Made::Fifo),
        Just(Made::Socket),
        (0_u32..0o1000).prop_map(Made::Closed),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_tree_is_removed_and_nothing_outside_is_touched(
        made in prop::collection::vec((0_usize..6, made()), 0..24),
    ) {
        as_nobody(move || {
            let scene = TreeFixture::new();
            for (number, (depth, one)) in made.iter().enumerate() {
                one.make(&scene, &nest(&scene.open(), OsStr::new("way"), *depth), number);
            }
            scene.assert_removed();
        });
    }

    #[test]
    fn a_removal_stops_at_its_limit_and_the_next_continues(
        made in prop::collection::vec((0_usize..6, made()), 0..8),
        entries_max in 20_u64..60,
    ) {
        let scene = TreeFixture::new();
        for (number, (depth, one)) in made.iter().enumerate() {
            one.make(&scene, &nest(&scene.open(), OsStr::new("way"), *depth), number);
        }
        let bounds = RemovalLimits { entries_max, ..RemovalLimits::default() };
        while let Removal { progress, left: Some(left) } = remove(&scene.root, bounds) {
            prop_assert!(matches!(left, RemovalRemainder::TooMany(_)), "{:?}", left);
            prop_assert!(0 < progress && progress <= 2 * entries_max);
        }
        scene.assert_outside_is_untouched();
    }
}

#[test]
fn a_tree_deeper_than_any_stack_is_removed() {
    as_nobody(|| {
        let scene = TreeFixture::new();
        let last = nest(&scene.open(), OsStr::new("d"), DEEP);
        mkfifoat(&last, "fifo", Mode::RUSR).expect("a pipe");
        // Each folder of a second chain has a sibling, so that the root fills up.
        let mut at = nest(&scene.open(), OsStr::new("e"), 1);
        for _ in 0..2_000 {
            mkdirat(&at, "sibling", Mode::RWXU).expect("a folder");
            let _in_it = nest(&at, OsStr::new("sibling"), 2);
            at = nest(&at, OsStr::new("e"), 1);
        }
        scene.assert_removed();
    });
}

#[test]
fn a_deep_tree_without_permissions_is_removed() {
    as_nobody(|| {
        let scene = TreeFixture::new();
        let mut chain = vec![scene.open()];
        for depth in 0..300 {
            chain.push(nest(&chain[depth], OsStr::new("d"), 1));
        }
        for folder in chain.iter().rev() {
            rustix::fs::fchmod(folder, Mode::empty()).expect("closed");
        }
        scene.assert_removed();
    });
}

#[test]
fn a_tree_that_changes_while_it_is_removed_stays_within_bounds() {
    let scene = Arc::new(TreeFixture::new());
    let stop = Arc::new(AtomicBool::new(false));
    let racer = std::thread::spawn({
        let (scene, stop) = (Arc::clone(&scene), Arc::clone(&stop));
        move || {
            let names = ["a", "b", "c", "d"];
            for round in 0_usize.. {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                // Every step may fail, because the other entries may already be removed.
                let pick = |shift: usize| scene.root.join(names[(round >> shift) % 4]);
                let (one, other) = (pick(0), pick(3));
                let _ = fs::create_dir_all(one.join("x/y/z"));
                let _ = fs::write(other.join("new"), "");
                let _ = fs::rename(&one, other.join("x/moved"));
                let _ = symlink(&scene.outside, &one);
                let _ = symlink(&scene.outside, other.join("x"));
            }
        }
    });
    let bounds = RemovalLimits {
        entries_max: 2_000,
        time_max: Duration::from_secs(5),
    };
    for _ in 0..50 {
        let begun = Instant::now();
        let removal = remove(&scene.root, bounds);
        assert!(begun.elapsed() < Duration::from_secs(10), "{removal:?}");
        let _there = fs::create_dir(&scene.root);
    }
    stop.store(true, Ordering::Relaxed);
    racer.join().expect("it ends");
    scene.assert_removed();
}

#[test]
fn a_removal_stops_at_its_time_limit() {
    let scene = TreeFixture::new();
    fs::create_dir_all(scene.root.join("a/b")).expect("folders");
    let bounds = RemovalLimits {
        time_max: Duration::ZERO,
        ..RemovalLimits::default()
    };
    let removal = remove(&scene.root, bounds);
    assert!(
        matches!(removal.left, Some(RemovalRemainder::TooSlow(_))),
        "{removal:?}"
    );
    scene.assert_removed();
}

#[test]
fn files_of_others_are_reported_and_the_rest_is_removed() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let scene = TreeFixture::new();
    fs::create_dir_all(scene.root.join("own/deep")).expect("folders");
    fs::create_dir_all(scene.root.join("foreign/deep")).expect("folders");
    let own = Some(Uid::from_raw(NOBODY));
    for folder in ["", "own", "own/deep"] {
        rustix::fs::chown(scene.root.join(folder), own, None).expect("given away");
    }
    let parent = scene.root.parent().expect("a parent");
    rustix::fs::chown(parent, own, None).expect("given away");
    let root = scene.root.clone();
    let removal = as_nobody(move || remove(&root, RemovalLimits::default()));
    assert!(
        matches!(&removal.left, Some(RemovalRemainder::Refused { name, .. }) if name == "foreign" || name == "deep"),
        "{removal:?}"
    );
    assert!(!scene.root.join("own").exists() && scene.root.join("foreign/deep").exists());
    scene.assert_outside_is_untouched();
}

#[test]
fn a_link_is_removed_and_not_followed() {
    let scene = TreeFixture::new();
    let link = scene.root.join("link");
    symlink(&scene.outside, &link).expect("a link");
    assert!(remove(&link, RemovalLimits::default()).left.is_none());
    assert!(
        remove(&link, RemovalLimits::default()).left.is_none(),
        "gone is removed"
    );
    assert!(link.symlink_metadata().is_err());
    scene.assert_outside_is_untouched();
}
