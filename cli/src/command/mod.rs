//! The commands, and how they end.

pub mod bind;
pub mod calibrate;
pub mod demo;
pub mod devices;
pub mod explain;
pub mod flash;
pub mod run;
pub mod serve;
pub mod top;
pub mod tuning;

use std::{
    fmt,
    fs::File,
    io::{self, BufWriter},
    path::{Path, PathBuf},
};

use clap::Args;
use drdma_cli::{device::DeviceError, job::JobError};
use drdma_driver::pci::{PciError, Sysfs};
use drdma_sim::wire::Network;

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
pub fn create(path: &Path) -> Result<File, Failure> {
    File::create(path).map_err(|error| Failure::file(path, &error))
}

/// Captures what leaves the card into a file.
pub fn capture(network: &Network, path: &Path) -> Result<(), Failure> {
    network.capture_to(BufWriter::new(create(path)?)).map_err(|error| Failure::file(path, &error))
}
