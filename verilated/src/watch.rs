//! Progress of a build, which takes minutes, and its interruption.

use std::time::Duration;

/// Interval at which a build checks whether it is interrupted.
pub(crate) const TICK: Duration = Duration::from_millis(20);

/// Step of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Another process builds the same model; this one waits for it.
    Wait,
    /// Verilator turns Verilog into C++.
    Verilate,
    /// The C++ compiler is at work.
    Compile {
        /// Number of files that are compiled.
        done: usize,
        /// Number of all files.
        of: usize,
    },
    /// The objects are linked.
    Link,
}

/// Observer of a build. It is not called for a model that was built before.
pub trait Watch {
    /// Called when the build begins this step.
    fn step(&mut self, step: Step);

    /// Returns true to end the build: its processes are stopped, and their files are removed.
    fn interrupted(&mut self) -> bool {
        false
    }

    /// True if [`interrupted`](Self::interrupted) reports the Ctrl-C of a terminal. The build's processes
    /// are then in groups of their own, so that they end when the build ends them; else the terminal
    /// stops them together with this process.
    fn handles_interrupts(&self) -> bool {
        false
    }
}

/// An observer that does nothing.
impl Watch for () {
    fn step(&mut self, _: Step) {}
}
