//! Ctrl-C: the signals `SIGINT` and `SIGTERM`.
//!
//! They end the process, as by default, except while signals are held by a [`Held`], whose owner cleans up
//! instead.

use std::{
    io,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};

#[derive(Debug, Default)]
struct Flags {
    /// True while a signal ends the process.
    ends: Arc<AtomicBool>,
    /// True once a signal came while signals were held.
    came: Arc<AtomicBool>,
}

fn flags() -> io::Result<&'static Flags> {
    static FLAGS: OnceLock<Flags> = OnceLock::new();
    static INSTALLING: Mutex<()> = Mutex::new(());
    let _installing = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(flags) = FLAGS.get() {
        return Ok(flags);
    }
    let flags = Flags { ends: Arc::new(AtomicBool::new(true)), came: Arc::default() };
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_default(signal, flags.ends.clone())?;
        flag::register(signal, flags.came.clone())?;
    }
    Ok(FLAGS.get_or_init(|| flags))
}

/// Signals do not end the process as long as this lives.
#[derive(Debug)]
pub struct Held {
    flags: &'static Flags,
    before: bool,
}

/// Holds the signals.
///
/// # Errors
/// The handler cannot be installed.
pub fn hold() -> io::Result<Held> {
    let flags = flags()?;
    Ok(Held { flags, before: flags.ends.swap(false, Ordering::SeqCst) })
}

impl Held {
    /// True if a signal has come.
    pub fn came(&self) -> bool {
        self.flags.came.load(Ordering::SeqCst)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.flags.ends.store(self.before, Ordering::SeqCst);
    }
}
