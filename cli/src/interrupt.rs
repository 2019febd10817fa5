//! Ctrl-C: the signals `SIGINT` and `SIGTERM`.
//!
//! They end the process, as by default, but for the time in which somebody holds them and cleans up
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
    /// A signal ends the process.
    ends: Arc<AtomicBool>,
    /// A signal came while it was held.
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
/// What the system says of installing a handler.
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
