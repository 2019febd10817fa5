//! `cargo xtask coverage`: statements of the RTL that the tests of its blocks run.

use std::{fs, io};

use crate::{Error, cargo, root, setup, target};

/// Environment variable by which `drdma-verilated` counts, and the folder of its counts.
const VARIABLE: &str = "DRDMA_VERILATED_COVERAGE";

/// Environment variable by which it counts statements and no bits, and its value.
const COUNTED: (&str, &str) = ("DRDMA_VERILATED_COUNTED", "statements");

/// Parsed arguments.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wanted {
    check: bool,
    again: bool,
    statements: bool,
    only: Option<String>,
}

impl Wanted {
    fn read(args: &[String]) -> Result<Self, Error> {
        let (mut wanted, mut args) = (Self::default(), args.iter());
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--check" => wanted.check = true,
                "--again" => wanted.again = true,
                "--statements" => wanted.statements = true,
                "--only" => {
                    let block = args.next().filter(|block| !block.starts_with('-'));
                    let missing = || Error::Usage("`--only` needs a BLOCK".to_owned());
                    wanted.only = Some(block.ok_or_else(missing)?.clone());
                }
                arg => match arg.strip_prefix("--only=") {
                    Some(block) => wanted.only = Some(block.to_owned()),
                    None => return Err(Error::Usage(format!("`{arg}` is not expected here"))),
                },
            }
        }
        Ok(wanted)
    }
}

/// Runs the tests, and prints or writes which statements they ran.
pub fn run(args: &[String]) -> Result<(), Error> {
    let Wanted { check, again, statements, only } = Wanted::read(args)?;
    let counts = target().join(if only.is_some() { "coverage-only" } else { "coverage" });
    let folder = counts.display().to_string();
    let mut tested = Ok(());
    if !again {
        setup::for_tests()?;
        match fs::remove_dir_all(&counts) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(Error::File { path: counts, source });
            }
            _ => {}
        }
        let tests = match cargo().args(["nextest", "--version"]).succeeds() {
            true => cargo().args(["nextest", "run"]),
            false => cargo().arg("test"),
        };
        let tests = tests.args(["--package", "drdma-hdl", "--lib", "--no-fail-fast"]);
        // The tests of `receive/parser` stand in `receive::parser`.
        let filter = only.iter().map(|block| block.replace('/', "::"));
        let mut tests = tests.args(filter).env(VARIABLE, &folder);
        if statements {
            tests = tests.env(COUNTED.0, COUNTED.1);
        }
        // Counts of a failed test are kept.
        tested = tests.run();
    }
    let mut reader = cargo()
        .args(["run", "--release", "--package", "drdma-coverage", "--"])
        .args(["--root", &root().display().to_string(), "--counts", &folder]);
    if check {
        reader = reader.arg("--check");
    }
    if let Some(only) = &only {
        reader = reader.args(["--only", only]);
    }
    reader.run().and(tested)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_and_wrong_ones_are_named() {
        let read = |args: &[&str]| {
            Wanted::read(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
        };
        let only = Some("receive/parser".to_owned());
        let wanted = Wanted { check: true, again: true, statements: false, only };
        assert_eq!(read(&["--only", "receive/parser", "--check", "--again"]).unwrap(), wanted);
        assert_eq!(read(&["--again", "--only=receive/parser", "--check"]).unwrap(), wanted);
        assert_eq!(read(&[]).unwrap(), Wanted::default());
        let statements = Wanted { statements: true, ..Wanted::default() };
        assert_eq!(read(&["--statements"]).unwrap(), statements);
        for (args, message) in [
            (&["--only"][..], "`--only` needs a BLOCK"),
            (&["--only", "--check"], "`--only` needs a BLOCK"),
            (&["--fast"], "`--fast` is not expected here"),
        ] {
            let error = read(args).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
