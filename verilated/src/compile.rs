//! Verilator and the C++ compiler.

use crate::{Error, Library, Result, Source, cache, lint, shim, wide};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// How a model is built.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether the model can write FST waveforms. Slower to build and to run.
    pub trace: bool,
    /// The C++ compiler's optimisation level for the code that runs every cycle, 0 to 3.
    pub optimise: u8,
}

impl Default for Options {
    /// No traces (unless `DRDMA_VERILATED_TRACE` is set), level 2.
    fn default() -> Self {
        Self { trace: std::env::var_os("DRDMA_VERILATED_TRACE").is_some(), optimise: 2 }
    }
}

/// Bytes of generated C++ above which the model is compiled as two units at once.
const SPLIT_BYTES: u64 = 300_000;

pub(crate) fn build(source: &Source, options: &Options) -> Result<Library> {
    for port in &source.ports {
        if port.name.contains("__") || port.name.contains('$') {
            let (top, port) = (source.top.clone(), port.name.clone());
            return Err(Error::PortName { top, port });
        }
    }
    let shim = shim::text(source, options.trace);
    let directory = cache::entry(&key(source, options, &shim)?, |dir| {
        write_sources(source, dir)?;
        verilate(source, options, dir)?;
        fs::write(dir.join("shim.cpp"), &shim).map_err(Error::io(dir))?;
        fs::write(dir.join(wide::NAME), wide::TEXT).map_err(Error::io(dir))?;
        compile(options, dir)?;
        fs::remove_dir_all(dir.join("obj")).map_err(Error::io(dir))
    })?;
    Library::load(source, options.trace, &directory.join("model.so"))
}

fn key(source: &Source, options: &Options, shim: &str) -> Result<String> {
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    };
    add(tools()?);
    add(&source.top);
    add(&format!("{options:?} {:?} {:?}", source.ports, source.parameters));
    add(shim);
    // So that a change of how models are built does not find old ones.
    add(include_str!("compile.rs"));
    add(wide::TEXT);
    for (name, text) in &source.texts {
        add(name);
        add(text);
    }
    Ok(hex(&hash.finalize()[..16]))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, b| {
        let _ = write!(text, "{b:02x}");
        text
    })
}

/// The versions of Verilator and of the compiler.
fn tools() -> Result<&'static str> {
    static TOOLS: OnceLock<String> = OnceLock::new();
    if let Some(tools) = TOOLS.get() {
        return Ok(tools);
    }
    let mut text = String::new();
    for command in ["verilator", "g++"] {
        let output = Command::new(command).arg("--version").output().map_err(missing(command))?;
        text.push_str(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default());
    }
    Ok(TOOLS.get_or_init(|| text))
}

fn missing(command: &str) -> impl FnOnce(std::io::Error) -> Error {
    move |_| Error::ToolMissing { command: command.to_owned() }
}

pub(crate) fn write_sources(source: &Source, dir: &Path) -> Result<()> {
    for (name, text) in &source.texts {
        let path = dir.join(name);
        fs::write(&path, text).map_err(Error::io(&path))?;
    }
    Ok(())
}

/// Verilator with what linting and building share.
pub(crate) fn verilator_command(source: &Source, dir: &Path) -> Command {
    let mut command = Command::new("verilator");
    command.args(["-Wall", "-Wno-fatal", "--top-module", &source.top]);
    command.args(source.parameters.iter().map(|(name, value)| format!("-G{name}={value}")));
    command.args(source.texts.iter().map(|(name, _)| dir.join(name)));
    command
}

/// Runs Verilator and returns its messages.
pub(crate) fn run_verilator(source: &Source, mut command: Command) -> Result<String> {
    let output = command.output().map_err(missing("verilator"))?;
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        return Ok(messages);
    }
    Err(Error::Verilate { top: source.top.clone(), output: messages })
}

fn verilate(source: &Source, options: &Options, dir: &Path) -> Result<()> {
    let mut command = verilator_command(source, dir);
    command.args(["--cc", "--prefix", shim::CLASS, "-O3", "--output-split", "20000"]);
    command.args(["--x-assign", "unique", "--x-initial", "unique"]);
    command.arg("--Mdir").arg(dir.join("obj"));
    if options.trace {
        // What is traced is not split, so that vectors whose bits depend on each other look like
        // loops. They cost time, and are linted without traces.
        command.args(["--trace-fst", "-Wno-UNOPTFLAT"]);
    }
    let messages = run_verilator(source, command)?;
    lint::check_build(source, &messages)
}

fn include_root() -> Result<PathBuf> {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    if let Some(root) = ROOT.get() {
        return Ok(root.clone());
    }
    let output = Command::new("verilator")
        .args(["--getenv", "VERILATOR_ROOT"])
        .output()
        .map_err(missing("verilator"))?;
    let root = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()).join("include");
    Ok(ROOT.get_or_init(|| root).clone())
}

/// What every compilation of one variant has in common.
fn flags(options: &Options) -> Vec<&'static str> {
    let mut flags = vec![
        "-std=c++17",
        "-fPIC",
        "-fvisibility=hidden",
        "-fno-gnu-unique",
        "-w",
        "-DVM_COVERAGE=0",
        "-DVM_SC=0",
    ];
    flags.extend(match options.trace {
        true => ["-DVM_TRACE=1", "-DVM_TRACE_FST=1"],
        false => ["-DVM_TRACE=0", "-DVM_TRACE_FST=0"],
    });
    flags
}

/// The compiler's flags of a level. The first is that of large models, whose time at the second grows
/// to minutes: of what it leaves out, these passes make wide values faster and cost nothing to speak
/// of.
fn level(optimise: u8) -> &'static [&'static str] {
    match optimise {
        0 => &["-O0"],
        1 => &[
            "-O1",
            "-finline-functions",
            "-finline-small-functions",
            "-ftree-slp-vectorize",
            "-ftree-loop-vectorize",
        ],
        2 => &["-O2"],
        _ => &["-O3"],
    }
}

/// Starts all commands and waits for them.
fn run_all(commands: Vec<(String, Command)>) -> Result<()> {
    let mut running = Vec::new();
    for (what, mut command) in commands {
        command.stderr(std::process::Stdio::piped());
        running.push((what, command.spawn().map_err(missing("g++"))?));
    }
    let mut result = Ok(());
    for (what, child) in running {
        let output = child.wait_with_output().map_err(missing("g++"))?;
        if !output.status.success() && result.is_ok() {
            let output = String::from_utf8_lossy(&output.stderr).into_owned();
            result = Err(Error::Compile { what, output });
        }
    }
    result
}

/// Verilator's own run time, compiled once for all models of a variant.
fn runtime(options: &Options) -> Result<PathBuf> {
    let mut hash = Sha256::new();
    hash.update(tools()?);
    hash.update(flags(options).join(" "));
    let include = include_root()?;
    cache::entry(&format!("runtime-{}", hex(&hash.finalize()[..8])), |dir| {
        let mut names = vec!["verilated.cpp", "verilated_threads.cpp"];
        if options.trace {
            names.push("verilated_fst_c.cpp");
        }
        let mut commands = Vec::new();
        for name in names {
            let mut command = Command::new("g++");
            command.args(flags(options)).arg("-O2").arg("-I").arg(&include);
            command.arg("-I").arg(include.join("vltstd")).arg("-c").arg(include.join(name));
            command.arg("-o").arg(dir.join(name).with_extension("o"));
            commands.push((name.to_owned(), command));
        }
        run_all(commands)
    })
}

fn compile(options: &Options, dir: &Path) -> Result<()> {
    let runtime = runtime(options)?;
    let include = include_root()?;
    let units = units(dir)?;
    let mut commands = Vec::new();
    let mut objects = Vec::new();
    for (name, text, optimise) in units {
        let path = dir.join("obj").join(&name);
        fs::write(&path, text).map_err(Error::io(&path))?;
        let mut command = Command::new("g++");
        let optimise = level(if optimise { options.optimise } else { 0 });
        command.args(flags(options)).args(optimise).arg("-I").arg(&include);
        command.arg("-I").arg(include.join("vltstd")).arg("-I").arg(dir.join("obj"));
        command.arg("-c").arg(&path).arg("-o").arg(path.with_extension("o"));
        commands.push((name, command));
        objects.push(path.with_extension("o"));
    }
    run_all(commands)?;
    let mut link = Command::new("g++");
    link.args(["-shared", "-Wl,-Bsymbolic", "-Wl,--no-undefined", "-o"]).arg(dir.join("model.so"));
    link.args(objects).arg(runtime.join("verilated.o")).arg(runtime.join("verilated_threads.o"));
    if options.trace {
        link.arg(runtime.join("verilated_fst_c.o")).arg("-lz");
    }
    link.args(["-pthread", "-latomic"]);
    run_all(vec![("model.so".to_owned(), link)])
}

/// The units to compile: name, text, and whether it runs every cycle. One unit, or two of about
/// the same size, for the code that runs every cycle; one for the rest (set-up and traces).
fn units(dir: &Path) -> Result<Vec<(String, String, bool)>> {
    let obj = dir.join("obj");
    let mut hot = Vec::new();
    let mut cold = String::new();
    for file in fs::read_dir(&obj).map_err(Error::io(&obj))? {
        let file = file.map_err(Error::io(&obj))?;
        let name = file.file_name().to_string_lossy().into_owned();
        if !name.ends_with(".cpp") {
            continue;
        }
        if name.contains("__Slow") || name.contains("__Syms") {
            let _ = writeln!(cold, "#include \"{name}\"");
        } else {
            hot.push((file.metadata().map_err(Error::io(&obj))?.len(), name));
        }
    }
    hot.sort_by(|a, b| b.cmp(a));
    let total: u64 = hot.iter().map(|(size, _)| size).sum();
    let parts = if total > SPLIT_BYTES { 2 } else { 1 };
    let mut texts = vec![(0, String::new()); parts];
    for (size, name) in hot {
        let part = texts.iter_mut().min_by_key(|(total, _)| *total).expect("at least one part");
        part.0 += size;
        let _ = writeln!(part.1, "#include \"{name}\"");
    }
    texts[0].1.push_str("#include \"../shim.cpp\"\n");
    let mut units: Vec<_> = texts
        .into_iter()
        .enumerate()
        .map(|(i, (_, text))| {
            let headers =
                format!("#include \"{}.h\"\n#include \"../{}\"\n", shim::CLASS, wide::NAME);
            (format!("unit{i}.cpp"), headers + &text, true)
        })
        .collect();
    if !cold.is_empty() {
        units.push(("cold.cpp".to_owned(), cold, false));
    }
    Ok(units)
}
