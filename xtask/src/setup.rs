//! Tools that the simulated card needs beside Rust: Verilator, C++ compilers, and for waveforms zlib.

use crate::{Error, command::Command};

/// A Debian package, and a command that succeeds if it is installed.
const PACKAGES: &[(&str, &[&str])] = &[
    ("verilator", &["verilator", "--version"]),
    ("g++", &["g++", "--version"]),
    ("zlib1g-dev", &["g++", "-E", "-include", "zlib.h", "-x", "c++", "/dev/null"]),
];

/// Packages of Clang, the best first, with a command that succeeds if it is there. Models that it builds run in 6/10 of
/// the time of those of GCC, whose library it needs.
const CLANG: &[(&str, &[&str])] =
    &[("clang-19", &["clang++-19", "--version"]), ("clang", &["clang++", "--version"])];

/// Tool that tests need in addition: the shell test's checker is Python.
const PYTHON: (&str, &[&str]) = ("python3", &["python3", "--version"]);

/// Tools without which a part of the tests is skipped, with the name of that part.
const OPTIONAL: &[(&str, &[&str], &str)] = &[
    ("iverilog", &["iverilog", "-V"], "the test of the card in Icarus"),
    ("valgrind", &["valgrind", "--version"], "looking for leaks in programs in C"),
];

/// Installs what is missing for the tests: all that the simulated card needs, Python, and if they can be
/// had, Clang, Icarus Verilog and valgrind.
pub fn for_tests() -> Result<(), Error> {
    run()?;
    install_clang();
    let (package, command) = PYTHON;
    if !succeeds(command) {
        install(&[package], "the test of the shell test's checker")?;
    }
    for (package, command, what) in OPTIONAL {
        if !succeeds(command) && install(&[package], what).is_err() {
            eprintln!("warning: there is no {package}: {what} is SKIPPED");
        }
    }
    Ok(())
}

/// Installs Clang, if there is none and apt has it.
fn install_clang() {
    let is_there = CLANG.iter().any(|(_, command)| succeeds(command));
    let what = "the simulated card, to be fast,";
    if !is_there && !CLANG.iter().any(|(package, _)| install(&[package], what).is_ok()) {
        eprintln!("warning: there is no Clang: the simulated card is built by GCC, and is slower");
    }
}

/// Installs what is missing for the simulated card; Clang too, if anything is.
pub fn run() -> Result<(), Error> {
    let missing = PACKAGES.iter().filter(|(_, command)| !succeeds(command));
    let packages: Vec<_> = missing.map(|(package, _)| *package).collect();
    if packages.is_empty() {
        return Ok(());
    }
    let list = packages.join(", ");
    if !succeeds(&["apt-get", "--version"]) {
        return Err(Error::Tools(format!(
            "the simulated card needs {list}, and there is no apt-get here to install them with: \
             install them by this system's own means and run this again, or use the reference \
             model, which needs none of them: `cargo xtask demo --device soft:`"
        )));
    }
    install(&packages, "the simulated card")?;
    install_clang();
    Ok(())
}

/// Debian packages that proofs need, with a command that shows each is there; yosys brings abc.
const PROVERS: &[(&str, &[&str])] = &[SYNTHESISER, ("z3", &["z3", "--version"])];

/// The Debian package for synthesis, with a command that succeeds if it is installed.
const SYNTHESISER: (&str, &[&str]) = ("yosys", &["yosys", "-V"]);

/// Installs what is missing for proofs.
pub fn for_proofs() -> Result<(), Error> {
    install_missing(PROVERS, "`cargo xtask prove`")
}

/// Installs what is missing for synthesis.
pub fn for_synthesis() -> Result<(), Error> {
    install_missing(&[SYNTHESISER], "`cargo xtask resources`")
}

/// Installs the packages of `packages` whose commands fail.
fn install_missing(packages: &[(&str, &[&str])], what: &str) -> Result<(), Error> {
    let missing = packages.iter().filter(|(_, command)| !succeeds(command));
    let names: Vec<_> = missing.map(|(package, _)| *package).collect();
    match names.is_empty() {
        true => Ok(()),
        false => install(&names, what),
    }
}

/// Installs packages for `what` by apt-get, which leaves installed ones as they are.
pub fn install(packages: &[&str], what: &str) -> Result<(), Error> {
    let list = packages.join(", ");
    if !succeeds(&["apt-get", "--version"]) {
        let text =
            format!("{what} needs {list}, and there is no apt-get here to install them with");
        return Err(Error::Tools(text));
    }
    eprintln!("Installing what {what} needs: {list}");
    apt_get(&["update"])?;
    apt_get(&[&["install", "--yes", "--no-install-recommends"], packages].concat())
}

fn succeeds(command: &[&str]) -> bool {
    Command::new(command[0]).args(&command[1..]).succeeds()
}

fn apt_get(args: &[&str]) -> Result<(), Error> {
    as_root().arg("apt-get").args(args).run()
}

/// A command line for root, through sudo for anyone else, in which Debian's tools ask nothing.
pub fn as_root() -> Command {
    let command = match is_root() {
        true => Command::new("env"),
        false => Command::new("sudo").arg("env"),
    };
    command.arg("DEBIAN_FRONTEND=noninteractive")
}

fn is_root() -> bool {
    let id = std::process::Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
