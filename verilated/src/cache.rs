//! Where built models are kept.

use crate::{Error, Result};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// `DRDMA_VERILATED_CACHE`, or `target/verilated` of the workspace that the process runs in.
pub(crate) fn root() -> PathBuf {
    if let Some(dir) = std::env::var_os("DRDMA_VERILATED_CACHE") {
        return dir.into();
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(workspace_target, PathBuf::from);
    target.join("verilated")
}

/// The `target` directory beside the outermost `Cargo.toml` above the current directory, else of
/// the running executable, else a temporary one.
fn workspace_target() -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    if let Some(dir) = here.ancestors().filter(|dir| dir.join("Cargo.lock").is_file()).last() {
        return dir.join("target");
    }
    let executable = std::env::current_exe().unwrap_or_default();
    match executable.ancestors().find(|dir| dir.ends_with("target")) {
        Some(dir) => dir.to_owned(),
        None => std::env::temp_dir().join("drdma"),
    }
}

/// Runs `make` in a fresh directory unless the entry `key` exists, and returns the entry's path.
///
/// Several threads and processes may ask for one key: the first one makes it, the others wait.
pub(crate) fn entry(key: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let root = root();
    let path = root.join(key);
    if path.is_dir() {
        return Ok(path);
    }
    fs::create_dir_all(&root).map_err(Error::io(&root))?;
    let lock_path = root.join(format!("{key}.lock"));
    let lock = File::create(&lock_path).map_err(Error::io(&lock_path))?;
    lock.lock().map_err(Error::io(&lock_path))?;
    if !path.is_dir() {
        let scratch = Scratch::new()?;
        make(scratch.path())?;
        fs::rename(scratch.path(), &path).map_err(Error::io(&path))?;
    }
    Ok(path)
}

/// A directory in the cache that goes away with this value, unless it was renamed.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Result<Self> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = root().join(format!("scratch-{}-{count}", std::process::id()));
        fs::create_dir_all(&path).map_err(Error::io(&path))?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
