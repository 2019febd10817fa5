//! `cargo xtask vm`: guests of QEMU, whose kernels are real ones, and which need neither KVM nor
//! modules of this machine.
//!
//! | module | |
//! |---|---|
//! | [`parts`] | QEMU, a kernel, busybox and libibverbs, fetched from Debian once |
//! | [`cpio`] | the archive that a guest has instead of a disk |
//! | [`guest`] | booting one and waiting for its end |
//! | [`edu`] | the driver's VFIO part against a device of QEMU's own |
//! | [`board`] | a guest whose card is plugged in and out |
//! | [`lab`] | the simulated card against the soft-RoCE of a guest's kernel |

mod board;
mod cpio;
mod edu;
mod guest;
mod lab;
mod parts;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use parts::Parts;

use crate::{Error, setup, target};

/// Fetches the parts of guests, and runs all tests in guests, or the one of that name.
pub fn run(args: &[String]) -> Result<(), Error> {
    let tests = match args {
        [] => &TESTS[..],
        [name] => TESTS
            .iter()
            .position(|test| test.name == name)
            .map(|at| &TESTS[at..=at])
            .ok_or_else(|| Error::Usage(format!("`vm` has no test `{name}`")))?,
        [_, arg, ..] => return Err(Error::Usage(format!("`{arg}` is not expected here"))),
    };
    setup::run()?;
    run_in(&Parts::fetch()?, tests)
}

/// Like [`run`], but if parts cannot be had, only prints which tests are skipped.
pub fn run_if_possible() -> Result<(), Error> {
    unless_missing(Parts::fetch(), |parts| run_in(parts, &TESTS))
}

fn unless_missing(
    parts: Result<Parts, Error>,
    run: impl FnOnce(&Parts) -> Result<(), Error>,
) -> Result<(), Error> {
    match parts {
        Ok(parts) => run(&parts),
        Err(error) => {
            eprintln!("warning: {error}");
            eprintln!("warning: without that there are no guests. SKIPPED, and NOT TESTED here:");
            TESTS.iter().for_each(|test| eprintln!("warning:   {}", test.what));
            Ok(())
        }
    }
}

/// A test that runs in guests.
struct Test {
    name: &'static str,
    what: &'static str,
    run: fn(&Parts) -> Result<(), Error>,
}

const TESTS: [Test; 4] = [
    Test {
        name: "driver",
        what: "the driver's VFIO part against QEMU's edu device",
        run: edu::run,
    },
    Test { name: "card", what: "the simulated card against soft-RoCE", run: lab::run },
    Test {
        name: "board",
        what: "the simulated card behind vfio-pci, when it, its program or its guest ends",
        run: board::run,
    },
    Test {
        name: "both",
        what: "the simulated card behind vfio-pci, driven as a board is, against soft-RoCE",
        run: lab::run_served,
    },
];

fn run_in(parts: &Parts, tests: &[Test]) -> Result<(), Error> {
    for test in tests {
        eprintln!("In guests: {}", test.what);
        let started = Instant::now();
        (test.run)(parts)?;
        eprintln!("  ({:.1} s: {}: passed)", started.elapsed().as_secs_f64(), test.what);
    }
    Ok(())
}

fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    move |source| Error::File { path: path.to_owned(), source }
}

/// Folder in which initramfs images are made.
fn images() -> Result<PathBuf, Error> {
    let folder = target().join("vm");
    fs::create_dir_all(&folder).map_err(file(&folder))?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_has_a_name() {
        for (args, text) in [
            (&["eth0"][..], "`vm` has no test `eth0`"),
            (&["card", "x"], "`x` is not expected here"),
        ] {
            let args: Vec<_> = args.iter().map(|arg| (*arg).to_owned()).collect();
            let error = run(&args).unwrap_err();
            assert!(matches!(error, Error::Usage(found) if found == text), "{text}");
        }
    }

    #[test]
    fn only_what_cannot_be_had_skips_the_tests() {
        let missing = || Err(Error::Tools("no apt-get".to_owned()));
        assert!(unless_missing(missing(), |_| panic!("without parts")).is_ok());
        let failed = |_: &Parts| Err(Error::Guest("its test failed".to_owned()));
        let parts = || Ok(Parts::at("/nowhere"));
        assert!(unless_missing(parts(), failed).is_err());
        assert!(unless_missing(parts(), |_| Ok(())).is_ok());
    }
}
