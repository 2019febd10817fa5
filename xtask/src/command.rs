//! Programs, printed before they run.

use std::{
    path::Path,
    process::{self, Stdio},
    time::Instant,
};

use crate::Error;

/// A program and its arguments.
#[derive(Clone, Debug)]
pub struct Command {
    program: String,
    args: Vec<String>,
    env: Vec<(String, String)>,
    folder: Option<&'static Path>,
}

impl Command {
    /// That program, in the current folder.
    pub fn new(program: impl Into<String>) -> Self {
        Self { program: program.into(), args: Vec::new(), env: Vec::new(), folder: None }
    }

    /// Runs in `folder`.
    pub fn folder(mut self, folder: &'static Path) -> Self {
        self.folder = Some(folder);
        self
    }

    /// Runs with a variable of the environment.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// One more argument.
    pub fn arg(mut self, arg: impl AsRef<str>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// More arguments.
    pub fn args<S: AsRef<str>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    fn line(&self) -> String {
        let program = Path::new(&self.program);
        let name = program.file_name().map_or(self.program.clone(), |n| n.display().to_string());
        std::iter::once(name.as_str())
            .chain(self.args.iter().map(String::as_str))
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn process(&self) -> process::Command {
        let mut process = process::Command::new(&self.program);
        process.args(&self.args).envs(self.env.iter().cloned());
        if let Some(folder) = self.folder {
            process.current_dir(folder);
        }
        process
    }

    /// Prints the command, runs it to its end, and prints how long it took.
    pub fn run(&self) -> Result<(), Error> {
        eprintln!("$ {}", self.line());
        let started = Instant::now();
        let status = self
            .process()
            .status()
            .map_err(|source| Error::Start { program: self.program.clone(), source })?;
        eprintln!("  ({:.1} s: {})", started.elapsed().as_secs_f64(), self.line());
        match status.success() {
            true => Ok(()),
            false => Err(Error::Failed { line: self.line(), code: status.code() }),
        }
    }

    /// True if the program exists and ends well; prints nothing.
    pub fn succeeds(&self) -> bool {
        let quiet = || Stdio::null();
        let mut process = self.process();
        process.stdin(quiet()).stdout(quiet()).stderr(quiet());
        process.status().is_ok_and(|status| status.success())
    }
}
