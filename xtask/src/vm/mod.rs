//! `cargo xtask vm`: guests of QEMU, whose kernels are real ones, and which need neither KVM nor
//! modules of this machine.
//!
//! | module | |
//! |---|---|
//! | [`parts`] | QEMU, a kernel, busybox and libibverbs, fetched from Debian once |
//! | [`cpio`] | what a guest has instead of a disk |
//! | [`guest`] | booting one and waiting for its end |
//! | [`edu`] | the driver's VFIO part against a device of QEMU's own |
//! | [`lab`] | the simulated card against the soft-RoCE of a guest's kernel |

mod cpio;
mod edu;
mod guest;
mod lab;
mod parts;

use std::{
    fs,
    path::{Path, PathBuf},
};

pub use parts::Parts;

use crate::{Error, target};

/// Fetches what guests are made of, and runs all that is tested in them.
pub fn run() -> Result<(), Error> {
    run_with(&Parts::fetch()?)
}

/// Runs all that is tested in guests.
pub fn run_with(parts: &Parts) -> Result<(), Error> {
    edu::run(parts)?;
    lab::run(parts)
}

fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    move |source| Error::File { path: path.to_owned(), source }
}

/// Where initramfs images are made.
fn images() -> Result<PathBuf, Error> {
    let folder = target().join("vm");
    fs::create_dir_all(&folder).map_err(file(&folder))?;
    Ok(folder)
}
