//! The cache of built models, and checks that its files can be trusted.
//!
//! What is loaded from here runs with the rights of the process. A folder or file is therefore used
//! only if it belongs to the user that the process runs as and nobody else can write to it, and a
//! file only if its bytes have the hash that was noted when it was built. Verified files stay open:
//! they are loaded through their descriptors, not by their names.

use crate::watch::{Step, Watch};
use crate::{Error, Result};
use rustix::fs::OFlags;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;

/// Environment variable that names another folder for built models.
pub const CACHE_VARIABLE: &str = "DRDMA_VERILATED_CACHE";

/// The hashes of an entry's files, as `sha256sum` writes them.
const MANIFEST: &str = "SHA256SUMS";

/// `DRDMA_VERILATED_CACHE`, else `drdma/verilated` in `XDG_CACHE_HOME`, else in `~/.cache`.
pub(crate) fn root() -> Result<PathBuf> {
    root_of(|name| std::env::var_os(name).map(PathBuf::from))
}

fn root_of(variable: impl Fn(&str) -> Option<PathBuf>) -> Result<PathBuf> {
    let set = |name: &str| variable(name).filter(|path| !path.as_os_str().is_empty());
    if let Some(root) = set(CACHE_VARIABLE) {
        return std::path::absolute(&root).map_err(Error::io(root));
    }
    // A relative path in these is invalid (XDG Base Directory Specification 0.8).
    let absolute = |name| set(name).filter(|path| path.is_absolute());
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .map(|cache| cache.join("drdma").join("verilated"))
        .ok_or(Error::NoCache)
}

/// Makes the root if it does not exist, and returns an error if it cannot be trusted.
fn make_root(root: &Path) -> Result<()> {
    make_folder(root)?;
    trust(root, &fs::metadata(root).map_err(Error::io(root))?)
}

/// Makes a folder, and those above it, that only this user may enter.
fn make_folder(path: &Path) -> Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(Error::io(path))
}

/// Returns an error if a path belongs to another user, or another user may write to it.
fn trust(path: &Path, metadata: &Metadata) -> Result<()> {
    let user = rustix::process::geteuid().as_raw();
    let refuse = |reason: String| Err(Error::Untrusted { path: path.to_owned(), reason });
    if metadata.uid() != user {
        return refuse(format!("belongs to user {}, not to you (user {user})", metadata.uid()));
    }
    if metadata.mode() & 0o022 != 0 {
        return refuse(format!("can be written by others (mode {:o})", metadata.mode() & 0o7777));
    }
    Ok(())
}

/// A finished entry: its folder, and its files, verified and open.
#[derive(Debug)]
pub(crate) struct Entry {
    path: PathBuf,
    files: Vec<(String, File)>,
}

impl Entry {
    /// The entry's folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The verified file of that name.
    pub(crate) fn file(&self, name: &str) -> Result<&File> {
        let found = self.files.iter().find(|(known, _)| known == name).map(|(_, file)| file);
        let missing = || io::Error::from(ErrorKind::NotFound);
        found.ok_or_else(|| Error::io(self.path.join(name))(missing()))
    }

    /// The text of the verified file of that name.
    pub(crate) fn text(&self, name: &str) -> Result<String> {
        let (mut file, mut text) = (self.file(name)?, String::new());
        file.rewind()
            .and_then(|()| file.read_to_string(&mut text))
            .map_err(Error::io(self.path.join(name)))?;
        Ok(text)
    }

    /// The entry in `path`, if it exists and is whole.
    ///
    /// # Errors
    /// If another user could have put it there.
    fn open(path: &Path) -> Result<Option<Self>> {
        let metadata = match fs::symlink_metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io(path)(error)),
        };
        if !metadata.is_dir() {
            let reason = "is not a folder".to_owned();
            return Err(Error::Untrusted { path: path.to_owned(), reason });
        }
        trust(path, &metadata)?;
        let Some((manifest, _)) = open_trusted(&path.join(MANIFEST))? else { return Ok(None) };
        let mut files = Vec::new();
        for line in String::from_utf8_lossy(&manifest).lines() {
            let Some((hash, name)) = line.split_once("  ") else { return Ok(None) };
            match open_trusted(&path.join(name))? {
                Some((bytes, file)) if sha256(&bytes) == hash => files.push((name.into(), file)),
                _ => return Ok(None),
            }
        }
        Ok(Some(Self { path: path.to_owned(), files }))
    }
}

/// The bytes of a file, and the file; `None` if it does not exist.
fn open_trusted(path: &Path) -> Result<Option<(Vec<u8>, File)>> {
    let flags = (OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK).bits() as i32;
    let mut file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io(path)(error)),
    };
    let metadata = file.metadata().map_err(Error::io(path))?;
    if !metadata.is_file() {
        let reason = "is not a regular file".to_owned();
        return Err(Error::Untrusted { path: path.to_owned(), reason });
    }
    trust(path, &metadata)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(Error::io(path))?;
    Ok(Some((bytes, file)))
}

/// Records the hash of every file in a folder, and takes all rights of others from them.
fn seal(folder: &Path) -> Result<()> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(folder).map_err(Error::io(folder))? {
        let path = entry.map_err(Error::io(folder))?.path();
        let bytes = fs::read(&path).map_err(Error::io(&path))?;
        fs::set_permissions(&path, Permissions::from_mode(0o600)).map_err(Error::io(&path))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        lines.push(format!("{}  {name}\n", sha256(&bytes)));
    }
    lines.sort();
    let path = folder.join(MANIFEST);
    let new = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    new.and_then(|mut file| io::Write::write_all(&mut file, lines.concat().as_bytes()))
        .map_err(Error::io(&path))
}

/// The hash of some bytes, in hexadecimal digits.
fn sha256(bytes: &[u8]) -> String {
    digits(&Sha256::digest(bytes))
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The name of an entry: a hash of all texts that it depends on, each with its length.
#[derive(Default)]
pub(crate) struct Key(Sha256);

impl Key {
    /// Adds a text.
    pub(crate) fn add(&mut self, text: &str) {
        self.0.update(text.len().to_le_bytes());
        self.0.update(text);
    }

    /// 32 hexadecimal digits.
    pub(crate) fn finish(self) -> String {
        let mut digits = digits(&self.0.finalize());
        digits.truncate(32);
        digits
    }
}

/// The entry `key`; unless it exists, `make` fills a fresh folder that becomes it.
///
/// Several threads and processes may ask for one key: the first one makes it, the others wait. An
/// entry that is not what was built (a disk was full, a file was changed) is made anew.
///
/// # Errors
/// Another user owns the cache or the entry or could write to it; `make` fails; or the wait
/// was interrupted. A folder that was not finished is removed.
pub(crate) fn entry(
    key: &str,
    watch: &mut dyn Watch,
    make: impl FnOnce(&Path, &mut dyn Watch) -> Result<()>,
) -> Result<Entry> {
    entry_at(&root()?, key, watch, make)
}

fn entry_at(
    root: &Path,
    key: &str,
    watch: &mut dyn Watch,
    make: impl FnOnce(&Path, &mut dyn Watch) -> Result<()>,
) -> Result<Entry> {
    make_root(root)?;
    let path = root.join(key);
    if let Some(entry) = Entry::open(&path)? {
        return Ok(entry);
    }
    let building = Building::lock(root.join(format!("{key}.building")), watch)?;
    // Another process may have made the entry in the meantime.
    if let Some(entry) = Entry::open(&path)? {
        return Ok(entry);
    }
    if path.is_dir() {
        fs::remove_dir_all(&path).map_err(Error::io(&path))?;
    }
    building.clear()?;
    make(&building.path, watch)?;
    seal(&building.path)?;
    fs::rename(&building.path, &path).map_err(Error::io(&path))?;
    let missing = || Error::io(&path)(ErrorKind::NotFound.into());
    Entry::open(&path)?.ok_or_else(missing)
}

/// The folder in which an entry is made. It is locked as long as this lives, and removed
/// with this value unless it was renamed.
struct Building {
    path: PathBuf,
    lock: File,
}

impl Building {
    fn lock(path: PathBuf, watch: &mut dyn Watch) -> Result<Self> {
        let mut told = false;
        loop {
            match make_folder(&path) {
                // The folder existed, and the process that had it has just renamed or removed it.
                Err(Error::Io { source, .. })
                    if source.kind() == ErrorKind::AlreadyExists
                        && fs::symlink_metadata(&path).map_or(true, |now| now.is_dir()) =>
                {
                    continue;
                }
                made => made?,
            }
            let lock = match File::open(&path) {
                Ok(lock) => lock,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(Error::io(path)(error)),
            };
            trust(&path, &lock.metadata().map_err(Error::io(&path))?)?;
            match lock.try_lock() {
                Ok(()) if same(&lock, &path) => return Ok(Self { path, lock }),
                // The process that had it has renamed or removed it.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    if !std::mem::replace(&mut told, true) {
                        watch.step(Step::Wait);
                    }
                    if watch.interrupted() {
                        return Err(Error::Interrupted);
                    }
                    thread::sleep(crate::watch::TICK);
                }
                Err(TryLockError::Error(error)) => return Err(Error::io(path)(error)),
            }
        }
    }

    /// Removes the files of a process that was killed here.
    fn clear(&self) -> Result<()> {
        for entry in fs::read_dir(&self.path).map_err(Error::io(&self.path))? {
            let path = entry.map_err(Error::io(&self.path))?.path();
            let removed =
                if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.map_err(Error::io(path))?;
        }
        Ok(())
    }
}

impl Drop for Building {
    fn drop(&mut self) {
        if same(&self.lock, &self.path) {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// True if `path` still names the open folder.
fn same(folder: &File, path: &Path) -> bool {
    let place = |metadata: Metadata| (metadata.dev(), metadata.ino());
    let (Ok(open), Ok(named)) = (folder.metadata(), fs::symlink_metadata(path)) else {
        return false;
    };
    place(open) == place(named)
}

#[cfg(test)]
#[path = "tests/cache.rs"]
mod tests;
