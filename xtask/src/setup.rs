//! What the simulated card needs beside Rust: Verilator, a C++ compiler, make.

use crate::{Error, command::Command};

/// A program, and the Debian package that it comes from.
const TOOLS: &[(&str, &str)] = &[("verilator", "verilator"), ("g++", "g++"), ("make", "make")];

/// Installs what is missing.
pub fn run() -> Result<(), Error> {
    let missing: Vec<_> = TOOLS.iter().filter(|(program, _)| !present(program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<_> = missing.iter().map(|(_, package)| *package).collect();
    let list = packages.join(", ");
    if !present("apt-get") {
        return Err(Error::Tools(format!(
            "the simulated card needs {list}, and there is no apt-get here to install them with: \
             install them by this system's own means and run this again, or use the reference \
             model, which needs none of them: `cargo xtask demo --device soft:`"
        )));
    }
    eprintln!("Installing what the simulated card needs: {list}");
    apt_get(&["update"])?;
    apt_get(&[&["install", "--yes", "--no-install-recommends"], packages.as_slice()].concat())
}

fn present(program: &str) -> bool {
    Command::new(program).arg("--version").succeeds()
}

/// Runs apt-get, through sudo for anyone but root.
fn apt_get(args: &[&str]) -> Result<(), Error> {
    let env = ["DEBIAN_FRONTEND=noninteractive", "apt-get"];
    let command = match is_root() {
        true => Command::new("env"),
        false => Command::new("sudo").arg("env"),
    };
    command.args(env).args(args).run()
}

fn is_root() -> bool {
    let id = std::process::Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
