use super::*;
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An entry in a root of the test's own, as all tests share the environment.
fn entry_in(root: &Path, make: impl FnOnce(&Path) -> Result<()>) -> Result<Entry> {
    entry_at(root, "key", &mut (), |folder, _| make(folder))
}

fn build(root: &Path, text: &str) -> Entry {
    entry_in(root, |folder| write(folder, text)).unwrap()
}

fn write(folder: &Path, text: &str) -> Result<()> {
    fs::write(folder.join("model"), text).map_err(Error::io(folder))
}

fn read(entry: &Entry) -> String {
    fs::read_to_string(entry.path().join("model")).unwrap()
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn refused(root: &Path) -> String {
    let made = Cell::new(false);
    let error = entry_in(root, |_| {
        made.set(true);
        Ok(())
    });
    let error = error.expect_err("refused").to_string();
    assert!(!made.get(), "it was built");
    error
}

#[test]
fn the_cache_is_the_users_unless_told() {
    let of = |set: &[(&str, &str)]| {
        root_of(|name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
    };
    let all = [(CACHE_VARIABLE, "/there"), ("XDG_CACHE_HOME", "/x"), ("HOME", "/home/ann")];
    assert_eq!(of(&all).unwrap(), Path::new("/there"));
    assert_eq!(of(&all[1..]).unwrap(), Path::new("/x/drdma/verilated"));
    assert_eq!(of(&all[2..]).unwrap(), Path::new("/home/ann/.cache/drdma/verilated"));
    let relative = [("XDG_CACHE_HOME", "x"), ("HOME", "/home/ann")];
    assert_eq!(of(&relative).unwrap(), Path::new("/home/ann/.cache/drdma/verilated"));
    assert!(matches!(of(&[("HOME", "")]), Err(Error::NoCache)));
}

#[test]
fn an_entry_is_made_once_and_nobody_else_may_enter_it() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("a/b");
    assert_eq!(read(&build(&root, "one")), "one");
    assert_eq!(read(&build(&root, "two")), "one");
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(
        [mode(&root), mode(&root.join("key")), mode(&root.join("key/model"))],
        [0o700, 0o700, 0o600]
    );
    let left: Vec<_> = fs::read_dir(&root).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["key"]);
}

#[test]
fn what_others_can_write_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("cache");
    build(&root, "good");
    for (path, good) in
        [("", 0o700), ("key", 0o700), ("key/model", 0o600), ("key/SHA256SUMS", 0o600)]
    {
        for bad in [0o020, 0o002] {
            set_mode(&root.join(path), good | bad);
            let error = refused(&root);
            assert!(error.contains("can be written by others"), "{path} {bad:o}: {error}");
            set_mode(&root.join(path), good);
        }
    }
    assert_eq!(read(&build(&root, "new")), "good");
}

/// An entry of another user, whole and with the right hashes.
#[test]
fn what_others_own_is_refused() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can give files away");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("cache");
    build(&root, "planted");
    for path in ["", "key", "key/model", "key/SHA256SUMS"] {
        std::os::unix::fs::chown(root.join(path), Some(4321), None).unwrap();
        let error = refused(&root);
        assert!(error.contains("belongs to user 4321, not to you (user 0)"), "{path}: {error}");
        std::os::unix::fs::chown(root.join(path), Some(0), None).unwrap();
    }
}

#[test]
fn a_link_in_place_of_an_entry_or_a_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (root, other) = (folder.path().join("cache"), folder.path().join("other"));
    build(&root, "good");
    fs::rename(root.join("key"), &other).unwrap();
    std::os::unix::fs::symlink(&other, root.join("key")).unwrap();
    assert!(refused(&root).contains("is not a folder"));
    fs::remove_file(root.join("key")).unwrap();
    fs::rename(&other, root.join("key")).unwrap();
    fs::rename(root.join("key/model"), &other).unwrap();
    std::os::unix::fs::symlink(&other, root.join("key/model")).unwrap();
    assert!(refused(&root).contains("key/model"));
}

#[test]
fn a_file_that_is_not_what_was_built_is_built_anew() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("cache");
    build(&root, "good");
    for damage in [
        |key: &Path| fs::write(key.join("model"), "evil").unwrap(),
        |key: &Path| fs::remove_file(key.join("model")).unwrap(),
        |key: &Path| fs::remove_file(key.join(MANIFEST)).unwrap(),
        |key: &Path| fs::write(key.join(MANIFEST), "nonsense").unwrap(),
    ] {
        damage(&root.join("key"));
        assert_eq!(read(&build(&root, "good")), "good");
    }
}

#[test]
fn a_verified_file_is_what_is_read_whatever_its_name_leads_to() {
    let folder = tempfile::tempdir().unwrap();
    let entry = build(&folder.path().join("cache"), "good");
    let path = entry.path().join("model");
    fs::remove_file(&path).unwrap();
    fs::write(&path, "evil").unwrap();
    let file = entry.file("model").unwrap();
    let mut bytes = vec![0; 4];
    std::os::unix::fs::FileExt::read_exact_at(file, &mut bytes, 0).unwrap();
    assert_eq!(bytes, b"good");
    assert!(entry.file("other").unwrap_err().to_string().contains("key/other"));
}

#[test]
fn what_fails_or_was_killed_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("cache");
    let failed = entry_in(&root, |folder| {
        fs::write(folder.join("half"), "").unwrap();
        Err(Error::Interrupted)
    });
    assert!(matches!(failed, Err(Error::Interrupted)));
    assert_eq!(fs::read_dir(&root).unwrap().count(), 0);
    // A process was killed while it built the entry.
    make_folder(&root.join("key.building/obj")).unwrap();
    let entry = build(&root, "good");
    assert_eq!(fs::read_dir(entry.path()).unwrap().count(), 2, "model and hashes");
    assert_eq!(fs::read_dir(&root).unwrap().count(), 1);
}

#[test]
fn one_makes_it_and_the_others_wait() {
    let folder = tempfile::tempdir().unwrap();
    let root = &folder.path().join("cache");
    let made = &AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let entry = entry_in(root, |folder| {
                    made.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(crate::watch::TICK * 3);
                    write(folder, "one")
                });
                assert_eq!(read(&entry.unwrap()), "one");
            });
        }
    });
    assert_eq!(made.load(Ordering::Relaxed), 1);
}

#[test]
fn who_waits_can_be_interrupted() {
    struct Impatient(bool);
    impl Watch for Impatient {
        fn step(&mut self, step: Step) {
            assert_eq!(step, Step::Wait);
            self.0 = true;
        }
        fn interrupted(&mut self) -> bool {
            self.0
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("cache");
    let _other = Building::lock(root.join("key.building"), &mut ()).unwrap();
    let result = entry_at(&root, "key", &mut Impatient(false), |_, _| unreachable!());
    assert!(matches!(result, Err(Error::Interrupted)));
}
