//! The developer's commands: `cargo xtask <verb>`.

mod bitstream;
mod book;
mod capi;
mod command;
mod coverage;
mod engine;
mod registers;
mod setup;
mod vm;

use std::{
    env, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use command::Command;

const HELP: &str = "\
The developer's commands.

Usage: cargo xtask <command>

  setup               install Verilator, C++ compilers, zlib's headers and Icarus Verilog if they
                      are missing
  demo [ARGS]         the TPC-H shuffle on the simulated card; ARGS go to `drdma demo`
  test [ARGS]         every test, those of `vm` at last; with ARGS, which go to the test runner,
                      only those of the workspace
  vm [TEST]           guests of QEMU: `driver` on vfio-pci, `card` against soft-RoCE, `board` for a card
                      that is plugged in and out, and `both` (fetches 420 MB once, to
                      ~/.cache/drdma/vm or $DRDMA_VM_CACHE)
  check               formatting and lints
  engine              build and test DataFusion on the exchange, the workspace in datafusion/ (13
                      minutes of a processor the first time); --build only builds it, which `drdma
                      cluster` needs, --queries tests small queries alone, as CI does, --check
                      formatting and lints, --tpch [SCALE [WORKERS]] compares all queries of TPC-H
                      with one process, --measure what a row costs the processor, --cpu [SCALE
                      [WORKERS]] what whole queries of TPC-H cost with Arrow Flight and with the cards
                      (an optimised build: an hour of a processor the first time)
  report [ARGS]       measure the simulated card, and write docs/results.md; --only PART runs some
                      of the experiments and writes nothing but the plots among them (figure-11
                      to figure-15), --explain beside it says where their cycles went, --check
                      compares with the targets and with what is recorded, --shapes SEED COUNT
                      measures random shapes and plots them to target/shapes.svg, --shape
                      'columns=5x8 rows=8192 dests=4' explains one
  cluster [ARGS]      measure several simulated cards together, and write docs/cluster.md; --only PART
                      runs some of the trials and writes nothing, --check as above
  resources [ARGS]    synthesise every block with yosys, and write docs/resources.md; with --check
                      fail if the card has grown, with --only BLOCK synthesise that one, with --part
                      MODULE a part of one, such as sequencer_kinds_lister, and write nothing
  prove [ARGS]        prove properties of the RTL's blocks; --all also those that take long, --only TEXT
                      some of them, --docs writes docs/proofs.md (docs/proofs.md says more)
  coverage [ARGS]     run the tests of the RTL's blocks with models that count, and write docs/coverage.md:
                      which statements run and which bits change (builds every model anew the first
                      time); --statements counts no bits, which is several times faster, --only BLOCK
                      runs the tests of one, such as receive/parser, and writes nothing, --again reads
                      what the last run counted, --check fails if a statement does not run and no reason
                      says why, and writes nothing
  verilog --out DIR   write the card's Verilog to DIR
  bitstream --board au50|au55c --corundum DIR --out DIR
                      check the card against a Corundum tree, and write what a build in it needs
  seal --board au50|au55c --corundum DIR IMAGE
                      write the manifest of a bitstream that was built in that tree beside it
  capi --prefix DIR   build the C interface, and install it in DIR: lib, include, pkg-config
  registers           write docs/register-map.md anew
  book                write the book, docs/ as HTML, to target/book (installs mdbook in target/tools)
  help                this text
";

/// Why a command failed.
#[derive(Debug)]
enum Error {
    /// The command line is wrong.
    Usage(String),
    /// A program could not be started.
    Start { program: String, source: io::Error },
    /// A program ended with an error of its own.
    Failed { line: String, code: Option<i32> },
    /// A tool is missing and cannot be installed from here.
    Tools(String),
    /// A guest failed, or did not end.
    Guest(String),
    /// A file cannot be read or written.
    File { path: PathBuf, source: io::Error },
    /// A bitstream's sources do not fit together.
    Bitstream(String),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Usage(text) => write!(f, "{text}\n\n{HELP}"),
            Self::Start { program, source } => write!(f, "cannot start {program}: {source}"),
            Self::Failed { line, code: Some(code) } => {
                write!(f, "`{line}` failed with code {code}")
            }
            Self::Failed { line, code: None } => write!(f, "`{line}` was killed by a signal"),
            Self::Tools(text) | Self::Bitstream(text) => f.write_str(text),
            Self::Guest(text) => write!(f, "the guest: {text}"),
            Self::File { path, source } => write!(f, "{}: {source}", path.display()),
        }
    }
}

/// The folder of the workspace.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

fn cargo() -> Command {
    Command::new(env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())).folder(root())
}

fn main() -> ExitCode {
    let mut args: Vec<String> = env::args().skip(1).collect();
    let verb = if args.is_empty() { "help".to_owned() } else { args.remove(0) };
    let result = match verb.as_str() {
        "setup" => none_left(&args).and_then(|()| setup::for_tests()),
        "demo" => demo(&args),
        "test" => test(&args),
        "vm" => vm::run(&args),
        "check" => none_left(&args).and_then(|()| check()),
        "engine" => engine::run(&args),
        "report" => report(&args),
        "cluster" => cluster(&args),
        "resources" => resources(&args),
        "prove" => prove(&args),
        "coverage" => coverage::run(&args),
        "verilog" => verilog(&args),
        "bitstream" => bitstream::package(&args),
        "seal" => bitstream::seal(&args),
        "capi" => capi::install(&args),
        "book" => none_left(&args).and_then(|()| book::build()),
        "registers" => none_left(&args).and_then(|()| registers::write(root())),
        "help" | "-h" | "--help" => {
            print!("{HELP}");
            Ok(())
        }
        _ => Err(Error::Usage(format!("there is no command `{verb}`"))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error @ Error::Usage(_)) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn none_left(args: &[String]) -> Result<(), Error> {
    match args.first() {
        Some(arg) => Err(Error::Usage(format!("`{arg}` is not expected here"))),
        None => Ok(()),
    }
}

/// Cargo's target folder.
fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), PathBuf::from)
}

/// True if the demo's arguments name a device themselves.
fn names_device(args: &[String]) -> bool {
    args.iter().any(|arg| arg == "--device" || arg.starts_with("--device="))
}

fn demo(args: &[String]) -> Result<(), Error> {
    let device: &[&str] = match names_device(args) {
        true => &[],
        false => {
            setup::run()?;
            &["--device", "rtl:"]
        }
    };
    cargo().args(["build", "--release", "--package", "drdma-cli", "--bin", "drdma"]).run()?;
    let drdma = target().join("release").join("drdma").display().to_string();
    // The demo runs in the caller's folder, where its capture is expected.
    Command::new(drdma).arg("demo").args(device).args(args).run()
}

fn test(args: &[String]) -> Result<(), Error> {
    setup::for_tests()?;
    if cargo().args(["nextest", "--version"]).succeeds() {
        cargo().args(["nextest", "run", "--workspace", "--no-fail-fast"]).args(args).run()?;
        cargo().args(["test", "--workspace", "--doc"]).run()?;
    } else {
        cargo().args(["test", "--workspace", "--no-fail-fast"]).args(args).run()?;
    }
    if args.is_empty() {
        prove_if_possible()?;
        return vm::run_if_possible();
    }
    eprintln!("There are ARGS: what is tested in guests is not; `cargo xtask vm` tests it.");
    Ok(())
}

/// True if the report will show costs of posting: the whole report, or figure 11.
fn posting_is_shown(args: &[String]) -> bool {
    let only = match args {
        [] => return true,
        [flag, part] if flag == "--only" => Some(part.as_str()),
        [arg] => arg.strip_prefix("--only="),
        _ => None,
    };
    only.is_some_and(|part| "figure-11".contains(part))
}

fn report(args: &[String]) -> Result<(), Error> {
    setup::run()?;
    if posting_is_shown(args) {
        cargo().args(["bench", "--package", "libdrdma", "--bench", "posting"]).run()?;
    }
    let criterion = target().join("criterion").display().to_string();
    measuring("measure").args(["--criterion", &criterion]).args(args).run()
}

fn cluster(args: &[String]) -> Result<(), Error> {
    setup::run()?;
    measuring("cluster").args(args).run()
}

fn resources(args: &[String]) -> Result<(), Error> {
    setup::for_synthesis()?;
    measuring("resources").args(args).run()
}

/// Builds programs with the features that crates have in the tests of the workspace: what the tests have built is not
/// built again. Cargo joins the features of all members, those of their tests included, if a test is built as well.
fn build_as_tested(programs: &[&str], test: &str) -> Result<(), Error> {
    let bins = programs.iter().flat_map(|program| ["--bin", program]);
    cargo().args(["build", "--workspace"]).args(bins).args(["--test", test]).run()
}

/// Path of a program that is built so.
fn built(program: &str) -> PathBuf {
    target().join("debug").join(program)
}

/// Runs the program of the proofs, with `args`. Its time is that of its solvers, so that it is not optimised.
fn prover(args: &[String]) -> Result<(), Error> {
    // Any small test of a crate that it needs.
    build_as_tested(&["drdma-prove"], "origins")?;
    let work = target().join("prove").display().to_string();
    let program = built("drdma-prove").display().to_string();
    Command::new(program).folder(root()).args(["--work", &work]).args(args).run()
}

fn prove(args: &[String]) -> Result<(), Error> {
    if args == ["--docs"] {
        return prover(&["--docs".to_owned(), root().join("docs").display().to_string()]);
    }
    setup::for_proofs()?;
    prover(args)
}

/// Proves, unless a tool is missing that cannot be installed.
fn prove_if_possible() -> Result<(), Error> {
    match setup::for_proofs() {
        Ok(()) => prover(&[]),
        Err(error) => {
            eprintln!("warning: {error}: the proofs are SKIPPED");
            Ok(())
        }
    }
}

/// The program of the report, with one of its commands.
fn measuring(command: &str) -> Command {
    let docs = root().join("docs").display().to_string();
    cargo()
        .args(["run", "--release", "--package", "drdma-report", "--", command])
        .args(["--docs", &docs])
}

fn check() -> Result<(), Error> {
    cargo().args(["fmt", "--all", "--check"]).run()?;
    let deny = ["--", "-D", "warnings"];
    cargo().args(["clippy", "--workspace", "--all-targets"]).args(deny).run()
}

fn verilog(args: &[String]) -> Result<(), Error> {
    let out = match args {
        [flag, dir] if flag == "--out" => dir.clone(),
        [arg] if arg.starts_with("--out=") => arg["--out=".len()..].to_owned(),
        _ => return Err(Error::Usage("`verilog` needs `--out DIR`".to_owned())),
    };
    let folder = env::current_dir().map_err(|source| Error::File { path: ".".into(), source })?;
    verilog_to(&folder.join(out)).run()
}

/// The program that writes the card's Verilog to a folder.
fn verilog_to(folder: &Path) -> Command {
    cargo()
        .args(["run", "--release", "--package", "drdma-hdl", "--bin", "drdma-verilog", "--"])
        .args(["--out", &folder.display().to_string()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn posting_is_measured_for_the_whole_report_and_for_figure_11() {
        let shown = |args: &[&str]| {
            posting_is_shown(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
        };
        for args in [&[][..], &["--only", "figure-11"], &["--only=figure"]] {
            assert!(shown(args), "{args:?}");
        }
        for args in
            [&["--check"][..], &["--only", "figure-12"], &["--only=latency"], &["--check", "x"]]
        {
            assert!(!shown(args), "{args:?}");
        }
    }
}
