//! Options that set a card's optimizer.

use std::path::{Path, PathBuf};

use clap::Args;
use drdma_cli::{
    calibrate::{Calibration, FileError},
    device::Optimizer,
};

use super::Failure;

/// How reads are formed.
#[derive(Clone, Debug, Args)]
pub struct Tuning {
    /// The widest gap in bytes that is read through instead of starting another DMA read, 0 to 4096
    /// (that of --costs, or the card's own).
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(0..=4096))]
    pub threshold: Option<u32>,
    /// The longest DMA read in bytes: a power of two, 64 to 4096 (the card's own).
    #[arg(long, value_name = "BYTES", value_parser = max_read)]
    pub max_read: Option<u32>,
    /// What reads cost, as `drdma calibrate --out FILE` measured it.
    #[arg(long, value_name = "FILE")]
    pub costs: Option<PathBuf>,
}

fn max_read(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(bytes @ 64..=4096) if u32::is_power_of_two(bytes) => Ok(bytes),
        _ => Err("must be a power of two from 64 to 4096".to_owned()),
    }
}

impl Tuning {
    /// Reads the costs, if a file is named.
    ///
    /// # Errors
    /// [`Failure::Usage`] if the file cannot be read, or has no costs.
    pub fn calibration(&self) -> Result<Option<Calibration>, Failure> {
        let wrong = |path: &Path, error: FileError| {
            Failure::Usage(format!("--costs {}: {error}", path.display()))
        };
        self.costs
            .as_deref()
            .map(|path| Calibration::read(path).map_err(|error| wrong(path, error)))
            .transpose()
    }

    /// Settings of the card: options of the command line come before measured values.
    ///
    /// # Errors
    /// Those of [`Tuning::calibration`].
    pub fn optimizer(&self) -> Result<Optimizer, Failure> {
        let measured = self.calibration()?.map(|calibration| calibration.merge_threshold);
        Ok(Optimizer { max_read: self.max_read, merge_threshold: self.threshold.or(measured) })
    }
}
