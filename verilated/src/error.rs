//! Errors of building, loading and driving models.

use crate::Warning;
use std::path::PathBuf;

/// Why a model could not be built, loaded or driven.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A command of the tool chain is not installed.
    #[error(
        "{command} was not found: run `cargo xtask setup`, or install Debian's `verilator` and `g++`"
    )]
    ToolMissing {
        /// The command that could not be started.
        command: String,
    },
    /// A command of the tool chain is installed, but did not start.
    #[error("{command} could not be started: {source}")]
    NotStarted {
        /// The command that did not start.
        command: String,
        /// Error that the system returned.
        source: std::io::Error,
    },
    /// No folder for built models is known.
    #[error(
        "nowhere to keep the built model: none of DRDMA_VERILATED_CACHE, XDG_CACHE_HOME and HOME \
         names a folder"
    )]
    NoCache,
    /// Another user could have put something there that would run as this one.
    #[error(
        "{} {reason}: nothing is loaded from there. Remove it or mend its rights, or name another \
         folder in DRDMA_VERILATED_CACHE", .path.display()
    )]
    Untrusted {
        /// The file or folder.
        path: PathBuf,
        /// Description of the fault.
        reason: String,
    },
    /// [`Watch::interrupted`](crate::Watch::interrupted) ended the build.
    #[error("interrupted; nothing was kept of the build")]
    Interrupted,
    /// Verilator refused the sources.
    #[error("verilator failed on {top}:\n{output}")]
    Verilate {
        /// The top module.
        top: String,
        /// Verilator's standard error.
        output: String,
    },
    /// Verilator warned about something that no allowance covers.
    #[error("verilator warns about {top}:\n{}", render(.warnings))]
    Warnings {
        /// The top module.
        top: String,
        /// The warnings, in the order of the output.
        warnings: Vec<Warning>,
    },
    /// The C++ compiler refused the generated model.
    #[error("the C++ compiler failed on {what}:\n{output}")]
    Compile {
        /// The file or model that was compiled.
        what: String,
        /// The compiler's standard error.
        output: String,
    },
    /// The shared library could not be loaded or lacks a symbol.
    #[error("{} could not be loaded: {}", .path.display(), reason(.source))]
    Load {
        /// The shared library.
        path: PathBuf,
        /// Error that the loader returned.
        source: libloading::Error,
    },
    /// A port name that the model does not have.
    #[error("{top} has no port `{port}`; its ports are {known}")]
    UnknownPort {
        /// The top module.
        top: String,
        /// The name that was asked for.
        port: String,
        /// The names that exist.
        known: String,
    },
    /// A port name that Verilator would rename.
    #[error("port `{port}` of {top}: a name must not contain `__` or `$`")]
    PortName {
        /// The top module.
        top: String,
        /// The name that would be changed.
        port: String,
    },
    /// A trace was asked of a model that was built without [`Options::trace`](crate::Options).
    #[error("{top} was built without tracing: set `trace` in its options")]
    NoTrace {
        /// The top module.
        top: String,
    },
    /// A file operation failed.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Error that the system returned.
        source: std::io::Error,
    },
}

impl Error {
    /// The error for a command of the tool chain that did not start.
    pub(crate) fn not_started(command: &str) -> impl FnOnce(std::io::Error) -> Self {
        move |error| match error.kind() {
            std::io::ErrorKind::NotFound => Self::ToolMissing { command: command.to_owned() },
            _ => Self::NotStarted { command: command.to_owned(), source: error },
        }
    }

    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}

/// The loader's text; the error itself only names the function that failed.
fn reason(error: &libloading::Error) -> String {
    let source = std::error::Error::source(error);
    source.map_or_else(|| error.to_string(), ToString::to_string)
}

fn render(warnings: &[Warning]) -> String {
    warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
