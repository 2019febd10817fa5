//! From Verilog to a shared library.

use crate::cache::{self, Entry, Key};
use crate::compiler::Compiler;
use crate::coverage::Counting;
use crate::watch::{Step, Watch};
use crate::{Error, Library, Result, Source, coverage, lint, shim, tools, wide};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

/// How a model is built.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether the model can write FST waveforms. Slower to build and to run.
    pub trace: bool,
    /// The C++ compiler's optimisation level for the code that runs every cycle, 0 to 3.
    pub optimise: u8,
    /// What the model counts; see [`coverage`](crate::coverage). Without `DRDMA_VERILATED_COVERAGE` it goes
    /// nowhere.
    pub coverage: Counting,
}

impl Default for Options {
    /// No traces (unless `DRDMA_VERILATED_TRACE` is set), level 2, no counts (unless
    /// `DRDMA_VERILATED_COVERAGE` is: then level 1, because counters are much code).
    fn default() -> Self {
        let coverage = Counting::wanted();
        Self {
            trace: std::env::var_os("DRDMA_VERILATED_TRACE").is_some(),
            optimise: if coverage == Counting::Nothing { 2 } else { 1 },
            coverage,
        }
    }
}

/// The shared library of an entry.
const MODEL: &str = "model.so";

/// Bytes of generated C++ above which the model is compiled as two units at once.
const SPLIT_BYTES: u64 = 300_000;

impl Source {
    /// Builds the model, or takes it from the cache, and loads it.
    ///
    /// # Errors
    /// A tool is missing, Verilator or the C++ compiler refuses the design, Verilator warns of
    /// something that is not allowed (unused signals are left to [`Source::lint`]), or the cache
    /// cannot be written or trusted.
    pub fn build(&self, options: &Options) -> Result<Library> {
        self.build_watched(options, &mut ())
    }

    /// The same; `watch` is told of every step, and may end it.
    ///
    /// # Errors
    /// As [`Source::build`]; [`Error::Interrupted`] if `watch` says so.
    pub fn build_watched(&self, options: &Options, watch: &mut dyn Watch) -> Result<Library> {
        self.build_into(options, coverage::folder().as_deref(), watch)
    }

    /// The same; what the model counts goes to `folder`.
    #[cfg(test)]
    pub(crate) fn build_counting(&self, options: &Options, folder: &Path) -> Result<Library> {
        self.build_into(options, Some(folder), &mut ())
    }

    fn build_into(
        &self,
        options: &Options,
        folder: Option<&Path>,
        watch: &mut dyn Watch,
    ) -> Result<Library> {
        for port in &self.ports {
            if port.name.contains("__") || port.name.contains('$') {
                let (top, port) = (self.top.clone(), port.name.clone());
                return Err(Error::PortName { top, port });
            }
        }
        let shim = shim::text(self, options);
        let key = key(self, options, &shim)?;
        let entry = cache::entry(&key, watch, |dir, watch| {
            tools::write_sources(self, dir)?;
            watch.step(Step::Verilate);
            let messages = verilate(self, options, dir, watch)?;
            let path = dir.join(lint::MESSAGES);
            fs::write(&path, messages).map_err(Error::io(&path))?;
            fs::write(dir.join("shim.cpp"), &shim).map_err(Error::io(dir))?;
            fs::write(dir.join(wide::NAME), wide::TEXT).map_err(Error::io(dir))?;
            if options.coverage != Counting::Nothing {
                coverage::note_points(dir)?;
            }
            compile(options, dir, watch)?;
            fs::remove_dir_all(dir.join("obj")).map_err(Error::io(dir))
        })?;
        let counts = match folder {
            Some(folder) if options.coverage != Counting::Nothing => {
                let points = entry.text(coverage::ENTRY)?;
                Some(coverage::Counts::new(folder, &key, &points, &self.origins)?)
            }
            _ => None,
        };
        let warnings = lint::not_allowed(&entry.text(lint::MESSAGES)?);
        let path = entry.path().join(MODEL);
        Library::load(self, options, counts, warnings, entry.file(MODEL)?, &path)
    }
}

fn key(source: &Source, options: &Options, shim: &str) -> Result<String> {
    let mut key = Key::default();
    key.add(tools::versions()?);
    key.add(&source.top);
    key.add(&format!("{options:?} {:?} {:?}", source.ports, source.parameters));
    key.add(shim);
    // So that a change of how models are built does not find old ones.
    key.add(include_str!("compile.rs"));
    key.add(include_str!("compiler.rs"));
    key.add(wide::TEXT);
    if options.coverage != Counting::Nothing {
        key.add(include_str!("coverage/points.rs"));
        key.add(coverage::HEADER_TEXT);
    }
    for (name, text) in &source.texts {
        key.add(name);
        key.add(text);
    }
    Ok(key.finish())
}

/// Verilator's messages, none of which is a warning that stops a build.
fn verilate(
    source: &Source,
    options: &Options,
    dir: &Path,
    watch: &mut dyn Watch,
) -> Result<String> {
    let mut command = tools::verilator(source, dir);
    command.args(["--cc", "--prefix", shim::CLASS, "-O3", "--output-split", "20000"]);
    command.args(["--x-assign", "unique", "--x-initial", "unique"]);
    command.arg("--Mdir").arg(dir.join("obj"));
    if options.trace {
        // What is traced is not split, so that vectors whose bits depend on each other look like
        // loops. They cost time, and are linted without traces.
        command.args(["--trace-fst", "-Wno-UNOPTFLAT"]);
    }
    if options.coverage != Counting::Nothing {
        // As with traces, what is not split looks like loops. Split processes count wrongly: Verilator gives the
        // counters of a branch a process of their own, which tests the condition after the branch has run, and a
        // branch may change what its condition reads.
        command.args(["--coverage-line", "-fno-split", "-Wno-UNOPTFLAT"]);
    }
    if options.coverage == Counting::StatementsAndBits {
        command.arg("--coverage-toggle");
        command.arg("--coverage-max-width").arg(coverage::MAX_WIDTH.to_string());
    }
    let messages = tools::run_verilator(source, command, dir, watch)?;
    lint::check_build(source, &messages)?;
    Ok(messages)
}

/// What every compilation of one variant has in common.
fn flags(options: &Options, compiler: &Compiler) -> Vec<&'static str> {
    let mut flags =
        vec!["-std=c++17", "-fPIC", "-fvisibility=hidden", "-w", "-DVM_COVERAGE=0", "-DVM_SC=0"];
    flags.extend(compiler.own_flags());
    flags.extend(match options.trace {
        true => ["-DVM_TRACE=1", "-DVM_TRACE_FST=1"],
        false => ["-DVM_TRACE=0", "-DVM_TRACE_FST=0"],
    });
    flags
}

/// A command that compiles for one variant at a level of optimisation, with Verilator's headers in `include`.
fn compiling(options: &Options, compiler: &Compiler, level: &[&str], include: &Path) -> Command {
    let mut command = compiler.command();
    command.args(flags(options, compiler)).args(level);
    command.arg("-I").arg(include).arg("-I").arg(include.join("vltstd"));
    command
}

/// The header that every unit of a model begins with.
const HEADER: &str = "verilated.h";
/// That header, as Clang keeps it for other units.
const PRECOMPILED: &str = "verilated.pch";

/// Verilator's header, precompiled once for all models of a variant and a level of optimisation: most of a small
/// model's time is that of this header. GCC reads the header itself.
fn header(
    options: &Options,
    compiler: &Compiler,
    level: &[&str],
    watch: &mut dyn Watch,
) -> Result<Option<Entry>> {
    if !compiler.precompiles() {
        return Ok(None);
    }
    let mut key = Key::default();
    key.add(tools::versions()?);
    key.add(&format!("{:?} {level:?}", flags(options, compiler)));
    let entry = cache::entry(&format!("header-{}", key.finish()), watch, |dir, watch| {
        let include = tools::include_root()?;
        let mut command = compiling(options, compiler, level, &include);
        command.args(["-x", "c++-header", "-fpch-instantiate-templates"]);
        command.arg(include.join(HEADER)).arg("-o").arg(dir.join(PRECOMPILED));
        run_all(vec![(HEADER.to_owned(), command)], dir, watch)
    })?;
    Ok(Some(entry))
}

/// Verilator's own run time, compiled once for all models of a variant.
fn runtime(options: &Options, watch: &mut dyn Watch) -> Result<Entry> {
    let include = tools::include_root()?;
    let compiler = Compiler::find()?;
    let mut key = Key::default();
    key.add(tools::versions()?);
    key.add(&flags(options, compiler).join(" "));
    cache::entry(&format!("runtime-{}", key.finish()), watch, |dir, watch| {
        let mut commands = Vec::new();
        for &name in runtime_files(options) {
            let mut command = compiling(options, compiler, &["-O2"], &include);
            command.arg("-c").arg(include.join(name));
            command.arg("-o").arg(dir.join(name).with_extension("o"));
            commands.push((name.to_owned(), command));
        }
        run_all(commands, dir, watch)
    })
}

/// The sources of Verilator's run time.
fn runtime_files(options: &Options) -> &'static [&'static str] {
    let all = &["verilated.cpp", "verilated_threads.cpp", "verilated_fst_c.cpp"];
    if options.trace { all } else { &all[..2] }
}

/// Compiles; each file that is done is a step.
fn run_all(commands: Vec<(String, Command)>, dir: &Path, watch: &mut dyn Watch) -> Result<()> {
    let of = commands.len();
    watch.step(Step::Compile { done: 0, of });
    let step = |watch: &mut dyn Watch, done| watch.step(Step::Compile { done, of });
    tools::run_all(commands, dir, watch, step).map(drop)
}

fn compile(options: &Options, dir: &Path, watch: &mut dyn Watch) -> Result<()> {
    let runtime = runtime(options, watch)?;
    let (compiler, include) = (Compiler::find()?, tools::include_root()?);
    let mut commands = Vec::new();
    let mut objects = Vec::new();
    for (name, text, optimise) in units(options, dir)? {
        let path = dir.join("obj").join(&name);
        fs::write(&path, text).map_err(Error::io(&path))?;
        let level = compiler.level(if optimise { options.optimise } else { 0 });
        let mut command = compiling(options, compiler, level, &include);
        if let Some(header) = header(options, compiler, level, watch)? {
            command.arg("-include-pch").arg(header.path().join(PRECOMPILED));
        }
        command.arg("-I").arg(dir.join("obj"));
        command.arg("-c").arg(&path).arg("-o").arg(path.with_extension("o"));
        commands.push((name, command));
        objects.push(path.with_extension("o"));
    }
    run_all(commands, dir, watch)?;
    watch.step(Step::Link);
    let mut link = compiler.command();
    link.args(["-shared", "-Wl,-Bsymbolic", "-Wl,--no-undefined", "-o"]).arg(dir.join(MODEL));
    link.args(objects);
    for name in runtime_files(options) {
        link.arg(runtime.path().join(name).with_extension("o"));
    }
    if options.trace {
        link.arg("-lz");
    }
    link.args(["-pthread", "-latomic"]);
    tools::run_all(vec![(MODEL.to_owned(), link)], dir, watch, |_, _| {}).map(drop)
}

/// The units to compile: name, text, and whether it runs every cycle. One unit, or two of about
/// the same size, for the code that runs every cycle; one for the rest (set-up and traces).
fn units(options: &Options, dir: &Path) -> Result<Vec<(String, String, bool)>> {
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
    if options.coverage != Counting::Nothing {
        let first = format!("#include \"../{}\"\n", coverage::HEADER);
        cold.insert_str(0, &first);
        units.iter_mut().for_each(|(_, text, _)| text.insert_str(0, &first));
    }
    if !cold.is_empty() {
        units.push(("cold.cpp".to_owned(), cold, false));
    }
    Ok(units)
}
