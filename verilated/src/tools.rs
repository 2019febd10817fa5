//! Runs Verilator and the C++ compiler.

use crate::compiler::Compiler;
use crate::watch::{self, Watch};
use crate::{Error, Result, Source};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// Time that a process has to end after it was asked to.
const GRACE: Duration = Duration::from_secs(2);

/// The versions of Verilator and of the compiler.
pub(crate) fn versions() -> Result<&'static str> {
    static VERSIONS: OnceLock<String> = OnceLock::new();
    if let Some(versions) = VERSIONS.get() {
        return Ok(versions);
    }
    let output = Command::new("verilator").arg("--version").output();
    let output = output.map_err(Error::not_started("verilator"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let verilator = said.lines().next().unwrap_or_default();
    let compiler = Compiler::find()?;
    let text = format!("{verilator}{} {}", compiler.name, compiler.version);
    Ok(VERSIONS.get_or_init(|| text))
}

/// Folder of Verilator's headers.
pub(crate) fn include_root() -> Result<PathBuf> {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    if let Some(root) = ROOT.get() {
        return Ok(root.clone());
    }
    let output = Command::new("verilator").args(["--getenv", "VERILATOR_ROOT"]).output();
    let output = output.map_err(Error::not_started("verilator"))?;
    let root = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()).join("include");
    Ok(ROOT.get_or_init(|| root).clone())
}

/// Writes a design's texts into a folder.
pub(crate) fn write_sources(source: &Source, dir: &Path) -> Result<()> {
    for (name, text) in &source.texts {
        let path = dir.join(name);
        fs::write(&path, text).map_err(Error::io(&path))?;
    }
    Ok(())
}

/// Verilator with what linting and building share.
pub(crate) fn verilator(source: &Source, dir: &Path) -> Command {
    let mut command = Command::new("verilator");
    command.args(["-Wall", "-Wno-fatal", "--top-module", &source.top]);
    command.args(source.parameters.iter().map(|(name, value)| format!("-G{name}={value}")));
    command.args(source.texts.iter().map(|(name, _)| dir.join(name)));
    command
}

/// Runs Verilator in `dir` and returns its messages.
pub(crate) fn run_verilator(
    source: &Source,
    command: Command,
    dir: &Path,
    watch: &mut dyn Watch,
) -> Result<String> {
    let what = "verilator".to_owned();
    run_all(vec![(what, command)], dir, watch, |_, _| {}).map_err(|error| match error {
        Error::Compile { output, .. } => Error::Verilate { top: source.top.clone(), output },
        error => error,
    })
}

/// A process that was started, and the file of its messages.
struct Running {
    what: String,
    child: Child,
    messages: PathBuf,
    /// True if it has a process group of its own.
    group: bool,
}

impl Running {
    fn signal(&self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.child.id() as i32) else { return };
        // The process may have ended by itself.
        let _ =
            if self.group { kill_process_group(pid, signal) } else { kill_process(pid, signal) };
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        self.signal(Signal::TERM);
        let end = Instant::now() + GRACE;
        while Instant::now() < end && matches!(self.child.try_wait(), Ok(None)) {
            thread::sleep(watch::TICK);
        }
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }
}

/// Starts all commands, each with a name, waits for them, and returns their standard error.
/// Their temporary files are in `dir`. `finished` is called after each with the number that have ended.
///
/// # Errors
/// The first command that failed, when all have ended; or, at once, an interruption: then all are
/// stopped.
pub(crate) fn run_all(
    commands: Vec<(String, Command)>,
    dir: &Path,
    watch: &mut dyn Watch,
    finished: impl Fn(&mut dyn Watch, usize),
) -> Result<String> {
    let mut running = Vec::new();
    for (index, (what, mut command)) in commands.into_iter().enumerate() {
        let messages = dir.join(format!("messages-{index}"));
        let file = File::create(&messages).map_err(Error::io(&messages))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file).env("TMPDIR", dir);
        let group = watch.handles_interrupts();
        if group {
            command.process_group(0);
        }
        let name = command.get_program().to_string_lossy().into_owned();
        let child = command.spawn().map_err(Error::not_started(&name))?;
        running.push(Running { what, child, messages, group });
    }
    let (mut result, mut all, mut ended) = (Ok(()), String::new(), 0);
    while !running.is_empty() {
        if watch.interrupted() {
            return Err(Error::Interrupted);
        }
        let mut index = 0;
        while index < running.len() {
            let one: &mut Running = &mut running[index];
            let Some(status) = one.child.try_wait().map_err(Error::not_started(&one.what))? else {
                index += 1;
                continue;
            };
            let one = running.remove(index);
            let output = read(&one.messages)?;
            ended += 1;
            finished(watch, ended);
            if !status.success() && result.is_ok() {
                let (what, output) = (one.what.clone(), output.clone());
                result = Err(Error::Compile { what, output });
            }
            all += &output;
        }
        if !running.is_empty() {
            thread::sleep(watch::TICK);
        }
    }
    result.map(|()| all)
}

/// Reads a file of messages, and removes it.
fn read(path: &Path) -> Result<String> {
    let mut bytes = Vec::new();
    File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(Error::io(path))?;
    fs::remove_file(path).map_err(Error::io(path))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
#[path = "tests/tools.rs"]
mod tests;
