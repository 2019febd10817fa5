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
    mute: bool,
}

/// Does a step of the work: prints its name before it, and how long it took after it.
pub fn step<T>(what: &str, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    eprintln!("{what}");
    timed(what, work)
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let done = work();
    eprintln!("  ({:.1} s: {what})", started.elapsed().as_secs_f64());
    done
}

impl Command {
    /// A command line that starts with this program, in the current folder.
    pub fn new(program: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            folder: None,
            mute: false,
        }
    }

    /// Runs in `folder`.
    pub fn folder(mut self, folder: &'static Path) -> Self {
        self.folder = Some(folder);
        self
    }

    /// Runs without a standard output, which is reserved for the output of the whole verb.
    pub fn mute(mut self) -> Self {
        self.mute = true;
        self
    }

    /// Runs with a variable of the environment.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl AsRef<str>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
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
        if self.mute {
            process.stdout(Stdio::null());
        }
        process
    }

    /// Prints the command, runs it to its end, and prints how long it took.
    pub fn run(&self) -> Result<(), Error> {
        eprintln!("$ {}", self.line());
        let status = timed(&self.line(), || self.process().status())
            .map_err(|source| Error::Start { program: self.program.clone(), source })?;
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
