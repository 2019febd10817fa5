//! `drdma completions` and `drdma man`.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;

use super::{Failure, say};

/// Print what a shell needs to complete commands and options.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  drdma completions bash > ~/.local/share/bash-completion/completions/drdma
  drdma completions zsh > ~/.zfunc/_drdma")]
pub struct CompletionsArguments {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Write the manual pages: drdma.1 and one a command.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  drdma man --out ~/.local/share/man/man1")]
pub struct ManArguments {
    /// The folder that they are written to; it must be there.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Runs `drdma completions`.
pub fn completions(arguments: &CompletionsArguments, mut command: Command) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "drdma", &mut text);
    say(String::from_utf8_lossy(&text))
}

/// Runs `drdma man`.
pub fn man(arguments: &ManArguments, command: Command) -> Result<(), Failure> {
    let out = &arguments.out;
    clap_mangen::generate_to(command, out).map_err(|error| Failure::file(out, &error))
}
