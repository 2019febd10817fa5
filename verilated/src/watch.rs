//! Building takes minutes: what it is at, and how it is ended early.

use std::time::Duration;

/// How often a build looks whether it is interrupted.
pub(crate) const TICK: Duration = Duration::from_millis(20);

/// What a build does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Another process builds the same model; this one waits for it.
    Wait,
    /// Verilator turns Verilog into C++.
    Verilate,
    /// The C++ compiler is at work.
    Compile {
        /// Files that are compiled.
        done: usize,
        /// All files.
        of: usize,
    },
    /// The objects are linked.
    Link,
}

/// Somebody who watches a build. Nothing is told of a model that was built before.
pub trait Watch {
    /// The build begins this step.
    fn step(&mut self, step: Step);

    /// True to end the build: its processes are stopped, and what they made is removed.
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

/// Nobody watches.
impl Watch for () {
    fn step(&mut self, _: Step) {}
}
