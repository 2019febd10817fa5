//! The commands, and how they end.

pub mod bind;
pub mod calibrate;
pub mod cluster;
pub mod demo;
pub mod devices;
pub mod explain;
pub mod fabric;
pub mod flash;
pub mod info;
pub mod new;
pub mod pages;
pub mod perf;
pub mod run;
pub mod serve;
pub mod top;
pub mod tuning;

use std::{
    fmt,
    io::{self, BufWriter, ErrorKind, Write as _},
    path::{Path, PathBuf},
};

use clap::Args;
use drdma_cli::{device::DeviceError, job::JobError, output::OutputFile};
use drdma_driver::pci::{PciError, Sysfs};
use drdma_sim::wire::{Network, WireError};

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub enum Failure {
    /// What was asked is wrong; nothing was done. Exit code 2.
    Usage(String),
    /// It could not be done. Exit code 1.
    Failed(String),
    /// Ctrl-C. Exit code 130, as shells have it.
    Interrupted(String),
}

impl Failure {
    /// The exit code.
    pub fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Failed(_) => 1,
            Self::Interrupted(_) => 130,
        }
    }

    /// From an error that is not the caller's.
    pub fn failed(error: impl fmt::Display) -> Self {
        Self::Failed(error.to_string())
    }

    /// From a file that cannot be written.
    pub fn file(path: &Path, error: &io::Error) -> Self {
        Self::Failed(format!("cannot write {}: {error}", path.display()))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Failed(text) | Self::Interrupted(text) => f.write_str(text),
        }
    }
}

impl From<JobError> for Failure {
    fn from(error: JobError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        match error {
            DeviceError::Interrupted => Self::Interrupted(error.to_string()),
            _ if error.is_usage() => Self::Usage(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

impl From<PciError> for Failure {
    fn from(error: PciError) -> Self {
        match error {
            PciError::Address(_) => Self::Usage(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

/// Where the machine's PCI devices are looked for.
#[derive(Debug, Args)]
pub struct SysfsArguments {
    /// Where sysfs is mounted.
    #[arg(long, value_name = "DIR", default_value = "/sys")]
    sysfs: PathBuf,
}

impl SysfsArguments {
    /// The tree.
    pub fn tree(&self) -> Sysfs {
        Sysfs::at(&self.sysfs)
    }
}

/// Creates a file that a command writes.
pub fn create(path: &Path) -> Result<OutputFile, Failure> {
    OutputFile::create(path).map_err(|error| Failure::file(path, &error))
}

/// Gives a file its name.
pub fn finish(file: OutputFile, path: &Path) -> Result<(), Failure> {
    file.finish().map_err(|error| Failure::file(path, &error))
}

/// Captures what leaves the card into a file.
pub fn capture(network: &Network, file: &OutputFile, path: &Path) -> Result<(), Failure> {
    let writer = file.writer().map_err(|error| Failure::file(path, &error))?;
    network.capture_to(BufWriter::new(writer)).map_err(|error| Failure::file(path, &error))
}

/// Ends a capture: everything is in its file, which gets its name.
pub fn finish_capture(network: &Network, file: OutputFile, path: &Path) -> Result<(), Failure> {
    network.flush_capture().map_err(|error| Failure::file(path, &error))?;
    for error in network.errors() {
        if let WireError::Capture(reason) = error {
            return Err(Failure::Failed(format!("cannot write {}: {reason}", path.display())));
        }
    }
    finish(file, path)
}

/// Writes to standard output. It is no failure if whoever reads it has seen enough.
pub fn say(text: impl fmt::Display) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match write!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::Failed(format!("cannot write standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes a line to standard error; whether that is possible changes nothing.
pub fn note(text: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "{text}");
}
