//! Progress of the build of the simulated hardware, on standard error.

use std::{
    io::{IsTerminal as _, Write as _, stderr},
    time::Duration,
};

use drdma_sim::{Step, Watch};
use indicatif::{ProgressBar, ProgressStyle};

use crate::interrupt::Held;

const WHAT: &str =
    "Building the simulated hardware (some minutes, once; later starts find it built)";

/// Shows the steps of a build on standard error, in one line of a terminal or in a line each. Nothing
/// is shown if there is nothing to build. Ctrl-C ends the build.
#[derive(Debug)]
pub struct Progress {
    held: Option<Held>,
    bar: Option<ProgressBar>,
    begun: bool,
}

impl Progress {
    /// Makes the progress of a build, which ends when a signal comes if signals are `held`.
    pub fn new(held: Option<Held>) -> Self {
        Self { held, bar: None, begun: false }
    }

    fn begin(&mut self) {
        // A build goes on even if standard error cannot be written.
        let _ = writeln!(stderr(), "{WHAT} ...");
        if stderr().is_terminal() {
            let style = ProgressStyle::with_template("{spinner} {msg}, {elapsed}");
            let bar = ProgressBar::new_spinner()
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar.enable_steady_tick(Duration::from_millis(100));
            self.bar = Some(bar);
        }
    }
}

/// Name of a step.
fn text(step: Step) -> String {
    match step {
        Step::Wait => "waiting for another process that builds it".to_owned(),
        Step::Verilate => "Verilator: Verilog to C++".to_owned(),
        Step::Compile { done, of } => format!("C++ compiler: {done} of {of} files compiled"),
        Step::Link => "linking".to_owned(),
        _ => "at work".to_owned(),
    }
}

impl Watch for Progress {
    fn step(&mut self, step: Step) {
        if !std::mem::replace(&mut self.begun, true) {
            self.begin();
        }
        match &self.bar {
            Some(bar) => bar.set_message(text(step)),
            None => drop(writeln!(stderr(), "  {}", text(step))),
        }
    }

    fn interrupted(&mut self) -> bool {
        self.held.as_ref().is_some_and(Held::came)
    }

    fn handles_interrupts(&self) -> bool {
        self.held.is_some()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
