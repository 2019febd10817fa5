//! Runs Verilator and the C++ compiler.

use crate::cache::{self, Key};
use crate::compiler::{self, Compiler};
use crate::watch::{self, Watch};
use crate::{Error, Result, Source};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// Time that a process has to end after it was asked to.
const GRACE: Duration = Duration::from_secs(2);

/// The file of an entry with the versions.
const VERSIONS: &str = "versions";

/// The versions of Verilator and of the compiler.
///
/// The tools are asked once, and again when one of their files has changed: a process that finds its model in the
/// cache starts no other.
pub(crate) fn versions() -> Result<&'static str> {
    static VERSION: OnceLock<String> = OnceLock::new();
    if let Some(versions) = VERSION.get() {
        return Ok(versions);
    }
    let mut key = Key::default();
    let path = env::var_os("PATH").unwrap_or_default();
    for tool in VERILATOR.map(str::to_owned).into_iter().chain(Compiler::candidates()) {
        key.add(&identity(tool.as_ref(), &path));
    }
    for variable in ["VERILATOR_ROOT", "VERILATOR_BIN", compiler::VARIABLE] {
        key.add(&format!("{:?}", env::var_os(variable)));
    }
    let entry = cache::entry(&format!("tools-{}", key.finish()), &mut (), |folder, _| {
        let path = folder.join(VERSIONS);
        fs::write(&path, ask()?).map_err(Error::io(&path))
    })?;
    let text = entry.text(VERSIONS)?;
    Ok(VERSION.get_or_init(|| text))
}

/// Verilator's script, and the program that it runs.
const VERILATOR: [&str; 2] = ["verilator", "verilator_bin"];

/// Where a program lies, and when it was written: another version of it differs in that.
fn identity(program: &OsStr, path: &OsStr) -> String {
    let places: Vec<PathBuf> = match Path::new(program).components().count() {
        1 => env::split_paths(path).map(|folder| folder.join(program)).collect(),
        _ => vec![program.into()],
    };
    let found = places.iter().find_map(|place| Some((place, fs::metadata(place).ok()?)));
    match found {
        Some((place, file)) => {
            format!("{} {} {}.{}", place.display(), file.len(), file.mtime(), file.mtime_nsec())
        }
        None => format!("no {}", program.display()),
    }
}

/// What the tools say of themselves.
fn ask() -> Result<String> {
    let output = Command::new(VERILATOR[0]).arg("--version").output();
    let output = output.map_err(Error::not_started(VERILATOR[0]))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let verilator = said.lines().next().unwrap_or_default();
    let compiler = Compiler::find()?;
    Ok(format!("{verilator}{} {}", compiler.name, compiler.version))
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
