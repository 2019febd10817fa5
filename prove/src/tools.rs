//! Runs yosys and abc.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{
    design::DesignError,
    property::{Memories, Method, Mutant, Property},
    trace,
};

/// Cycles in which a mutant's failure is looked for before PDR looks for it.
const MUTANT_CYCLES: u32 = 24;
/// Seconds after which abc gives up.
const LIMIT_SECONDS: u32 = 1200;

/// Result of deciding a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The property holds, within the bounds of its method.
    Holds,
    /// The property fails.
    Fails {
        /// Cycle in which it fails.
        cycle: u32,
        /// Trace as readable text.
        trace: String,
        /// Path of the waveform with the same trace.
        vcd: PathBuf,
    },
    /// abc gave up, with this output.
    Unknown(String),
}

/// Why a property was not decided.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The harness cannot be written.
    #[error(transparent)]
    Design(#[from] DesignError),
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error that the system returned.
        source: io::Error,
    },
    /// A tool cannot be started.
    #[error("cannot start {program}: {source}")]
    Start {
        /// Name of the tool.
        program: String,
        /// Error that the system returned.
        source: io::Error,
    },
    /// A tool has failed.
    #[error("{program} failed in {}:\n{output}", folder.display())]
    Failed {
        /// Name of the tool.
        program: String,
        /// Folder in which it ran.
        folder: PathBuf,
        /// End of its output.
        output: String,
    },
}

fn file(path: &Path) -> impl FnOnce(io::Error) -> ToolError + '_ {
    |source| ToolError::File { path: path.to_path_buf(), source }
}

/// Runs a tool in `folder` and returns its output.
pub(crate) fn run(program: &str, args: &[&str], folder: &Path) -> Result<String, ToolError> {
    let start = |source| ToolError::Start { program: program.to_owned(), source };
    let output = Command::new(program)
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .map_err(start)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(text),
        false => {
            let from = text.len().saturating_sub(2000);
            let output = text.get(from..).unwrap_or(&text).to_owned();
            let folder = folder.to_path_buf();
            Err(ToolError::Failed { program: program.to_owned(), folder, output })
        }
    }
}

/// The yosys script that makes `model.aig` of `model.v`; `flat.il` is what traces are replayed on.
fn script(property: &Property) -> String {
    let mut cuts = property.cuts.clone();
    let memories = match property.memories {
        Memories::Exact => "memory -nordff",
        // Without its memory a read port's output is not driven, and may have any value.
        Memories::Free => {
            cuts.extend(property.design.memories());
            "delete t:$memrd t:$memrd_v2 t:$memwr t:$memwr_v2 t:$meminit t:$meminit_v2"
        }
    };
    let cuts: String = cuts.iter().map(|name| format!("delete */t:{name}; ")).collect();
    let outputs =
        if property.outputs > 0 { "delete -output w:* w:bad %d" } else { "delete -output" };
    format!(
        "read_verilog -formal model.v; hierarchy -check -top prove; {cuts}hierarchy -top prove; proc; flatten; opt_expr; opt_clean; {memories}; \
         setundef -undriven -expose; setundef -anyseq; opt -fast; dffunmap; write_rtlil flat.il; {outputs}; opt_clean; \
         techmap; opt -fast; dffunmap; abc -g AND -fast; opt_clean; \
         write_aiger -I -B -zinit -no-startoffset -map model.aim model.aig"
    )
}

/// Makes the model of a property in `folder`.
///
/// # Errors
/// yosys is missing or refuses the harness.
pub fn model(property: &Property, mutant: Option<&Mutant>, folder: &Path) -> Result<(), ToolError> {
    fs::create_dir_all(folder).map_err(file(folder))?;
    let model = folder.join("model.v");
    fs::write(&model, property.verilog(mutant)?).map_err(file(&model))?;
    run("yosys", &["-q", "-p", &script(property)], folder).map(|_| ())
}

/// Decides output `bad[output]` of a model, which should never be 1: true if it never is, false if it
/// can be, and `None` if abc gives up.
///
/// # Errors
/// abc is missing or fails.
pub fn decide_output(output: usize, folder: &Path) -> Result<Option<bool>, ToolError> {
    let read = format!("read_aiger model.aig; fold; cone -O {output}; strash; scleanup");
    let search = format!("{read}; bmc3 -F {MUTANT_CYCLES} -T 5; print_status");
    if failed_in(&run("yosys-abc", &["-c", &search], folder)?).is_some() {
        return Ok(Some(false));
    }
    let prove = format!("{read}; pdr -T {LIMIT_SECONDS}; print_status");
    let said = run("yosys-abc", &["-c", &prove], folder)?;
    Ok(match (said.contains("Property proved"), failed_in(&said)) {
        (true, _) => Some(true),
        (false, Some(_)) => Some(false),
        (false, None) => None,
    })
}

/// Decides a property of the block, or of a mutant of it; everything is written to `folder`.
///
/// # Errors
/// A tool is missing or refuses the harness.
pub fn decide(
    property: &Property,
    mutant: Option<&Mutant>,
    folder: &Path,
) -> Result<Outcome, ToolError> {
    model(property, mutant, folder)?;
    let read = "read_aiger model.aig; fold; strash";
    // The first cycles are searched first, so that a failure has its shortest trace.
    let bound = match (property.method, mutant) {
        (Method::Bounded(cycles), _) => cycles,
        (_, Some(_)) => MUTANT_CYCLES,
        (Method::Unbounded, None) => 4,
        // The induction begins with the cycles after the reset.
        (Method::Induction(cycles), None) => cycles + 2,
    };
    let search =
        format!("{read}; bmc3 -F {bound} -T {LIMIT_SECONDS}; print_status; write_cex -a trace.aiw");
    let said = run("yosys-abc", &["-c", &search], folder)?;
    if let Some(cycle) = failed_in(&said) {
        return trace::replay(property, cycle, folder);
    }
    let searched = said.contains(&format!("No output asserted in {bound} frames"));
    match property.method {
        Method::Bounded(_) if searched => return Ok(Outcome::Holds),
        Method::Induction(cycles) if searched && mutant.is_none() => {
            return induction(cycles, folder);
        }
        Method::Bounded(_) | Method::Induction(_) if !searched => {
            return Ok(Outcome::Unknown(last_lines(&said)));
        }
        _ => {}
    }
    let prove = format!("{read}; scleanup; pdr -T {LIMIT_SECONDS}; print_status");
    let said = run("yosys-abc", &["-c", &prove], folder)?;
    if said.contains("Property proved") {
        return Ok(Outcome::Holds);
    }
    match failed_in(&said) {
        Some(cycle) => {
            let search =
                format!("{read}; bmc3 -F {}; print_status; write_cex -a trace.aiw", cycle + 1);
            run("yosys-abc", &["-c", &search], folder)?;
            trace::replay(property, cycle, folder)
        }
        None => Ok(Outcome::Unknown(last_lines(&said))),
    }
}

/// Checks the step of an induction over `cycles` cycles; the first ones were checked before.
fn induction(cycles: u32, folder: &Path) -> Result<Outcome, ToolError> {
    run("yosys", &["-q", "-p", "read_rtlil flat.il; write_smt2 -wires model.smt2"], folder)?;
    let cycles = cycles.to_string();
    let step = ["-s", "z3", "-i", "-t", &cycles, "--dump-vcd", "step.vcd", "model.smt2"];
    // The exit code only says whether the step holds, as the last line does.
    match run("yosys-smtbmc", &step, folder) {
        Ok(said) if said.contains("Status: PASSED") => Ok(Outcome::Holds),
        Ok(said) => Ok(Outcome::Unknown(last_lines(&said))),
        Err(ToolError::Failed { output, .. }) if output.contains("Status: FAILED") => {
            let vcd = folder.join("step.vcd");
            Ok(Outcome::Unknown(format!("the induction's step fails: {}", vcd.display())))
        }
        Err(error) => Err(error),
    }
}

/// The cycle in which the property fails, by abc's output.
fn failed_in(said: &str) -> Option<u32> {
    let (_, rest) = said.split_once("was asserted in frame ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn last_lines(said: &str) -> String {
    let lines: Vec<_> = said.lines().collect();
    lines[lines.len().saturating_sub(4)..].join("\n")
}
