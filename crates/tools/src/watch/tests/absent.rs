//! Tests that a missing source is reported when it appears.

use super::*;

#[tokio::test]
async fn a_missing_folder_is_reported_when_it_appears() {
    let scene = WatchedFolder::new(SourceKind::Folder);
    let deep = scene.root().join("away/deep");
    let missing = Source {
        path: deep.to_str().expect("UTF-8").to_owned(),
        ..scene.source.clone()
    };
    let look = || {
        scene
            .outlook
            .scan(missing.clone(), BTreeMap::new(), WatchMode::On, ALWAYS_READ)
    };
    let notes = BTreeSet::from([missing.source_id.clone()]);
    assert_eq!(look().await.expect_err("is not there").code(), "folder_not_found");
    fs::create_dir(scene.root().join("away")).expect("a folder");
    assert_eq!(stirred(&scene.outlook).await, notes, "something on the way came");
    assert_eq!(
        look().await.expect_err("is not there yet").code(),
        "folder_not_found"
    );
    scene.write("beside.md", "what happens further away is not heard any more");
    let silence = tokio::time::timeout(Duration::from_millis(20), scene.outlook.changed_sources());
    assert!(silence.await.is_err());
    fs::create_dir(&deep).expect("a folder");
    assert_eq!(stirred(&scene.outlook).await, notes);
    look().await.expect("it is there");
    fs::write(deep.join("a.md"), "one").expect("written");
    assert_eq!(stirred(&scene.outlook).await, notes, "and is listened to");
    fs::remove_dir_all(scene.root().join("away")).expect("removed");
    assert_eq!(stirred(&scene.outlook).await, notes);
    assert!(look().await.is_err(), "it went");
    // Pending events about the removal arrive before this, or together with the next ones.
    fs::create_dir_all(&deep).expect("folders");
    assert_eq!(stirred(&scene.outlook).await, notes, "it came back");
    look().await.expect("it is there again");
}

#[tokio::test]
async fn a_missing_repository_is_reported_when_git_creates_it() {
    let scene = WatchedFolder::new(SourceKind::Git);
    let look = || {
        scene
            .outlook
            .scan(scene.source.clone(), BTreeMap::new(), WatchMode::On, ALWAYS_READ)
    };
    let notes = BTreeSet::from([scene.source.source_id.clone()]);
    assert_eq!(look().await.expect_err("is none").code(), "not_a_repository");
    fs::create_dir_all(scene.root().join(".git")).expect("a folder");
    assert_eq!(stirred(&scene.outlook).await, notes);
    assert_eq!(look().await.expect_err("is half made").code(), "not_a_repository");
    fs::create_dir_all(scene.root().join(".git/objects")).expect("a folder");
    scene.write(".git/HEAD", "ref: refs/heads/main\n");
    assert_eq!(stirred(&scene.outlook).await, notes, "also what is made inside");
    fs::create_dir_all(scene.root().join(".git/refs")).expect("a folder");
    look().await.expect("it is one");
}

#[tokio::test]
async fn waiting_in_a_watched_folder_keeps_the_other_watch() {
    let scene = WatchedFolder::new(SourceKind::Folder);
    let listen = |source: Source| {
        scene
            .outlook
            .scan(source, BTreeMap::new(), WatchMode::On, ALWAYS_READ)
    };
    scene.write("a.md", "one");
    listen(scene.source.clone()).await.expect("looked at");
    let missing = Source {
        source_id: SourceId::parse("later").expect("a name"),
        path: scene.root().join("later").to_str().expect("UTF-8").to_owned(),
        ..scene.source.clone()
    };
    assert!(listen(missing).await.is_err());
    scene.write("a.md", "two");
    let heard = stirred(&scene.outlook).await;
    assert!(heard.contains(&scene.source.source_id), "{heard:?}");
}
