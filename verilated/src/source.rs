//! The design to build: its Verilog texts, its top module and that module's ports.

use crate::{Error, Result};

/// Direction of a port, seen from the design.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Driven by the test bench.
    Input,
    /// Driven by the design.
    Output,
}

/// A port of the top module.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Port {
    /// Name in Verilog.
    pub name: String,
    /// Direction, seen from the design.
    pub direction: Direction,
    /// Width in bits, at least 1.
    pub width: usize,
}

impl Port {
    /// An input of `width` bits.
    pub fn input(name: impl Into<String>, width: usize) -> Self {
        Self { name: name.into(), direction: Direction::Input, width }
    }

    /// An output of `width` bits.
    pub fn output(name: impl Into<String>, width: usize) -> Self {
        Self { name: name.into(), direction: Direction::Output, width }
    }
}

/// Origin of a line of Verilog.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The file of the block that the line is part of.
    pub block: String,
    /// Text that identifies the statement in that file that the line was printed from, the same for every instance
    /// of the block whatever its parameters; empty if it is of none.
    pub statement: String,
}

/// A design: Verilog texts, the name of the top module, and the top module's ports.
#[derive(Clone, Debug)]
pub struct Source {
    pub(crate) top: String,
    pub(crate) texts: Vec<(String, String)>,
    pub(crate) ports: Vec<Port>,
    pub(crate) parameters: Vec<(String, u64)>,
    /// Origins of the lines of the first text.
    pub(crate) origins: Vec<Origin>,
}

impl Source {
    /// A design without text whose top module is `top`.
    pub fn new(top: impl Into<String>) -> Self {
        Self {
            top: top.into(),
            texts: Vec::new(),
            ports: Vec::new(),
            parameters: Vec::new(),
            origins: Vec::new(),
        }
    }

    /// Adds a file `name` (such as `fifo.v`) with contents `text`.
    pub fn verilog(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        let mut text = text.into();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        self.texts.push((name.into(), text));
        self
    }

    /// Adds a file from disk, under its own file name.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn verilog_file(self, path: impl AsRef<std::path::Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned());
        Ok(self.verilog(name.unwrap_or_default(), text))
    }

    /// Adds ports of the top module. Ports that are not listed cannot be driven.
    pub fn ports(mut self, ports: impl IntoIterator<Item = Port>) -> Self {
        self.ports.extend(ports);
        self
    }

    /// Gives a parameter of the top module a value other than its default.
    pub fn parameter(mut self, name: impl Into<String>, value: u64) -> Self {
        self.parameters.push((name.into(), value));
        self
    }

    /// Sets the origins of the lines of the first text, in order. Coverage is counted by origin;
    /// the model is the same with and without them.
    pub fn origins(mut self, origins: impl IntoIterator<Item = Origin>) -> Self {
        self.origins.extend(origins);
        self
    }

    /// The name of the top module.
    pub fn top(&self) -> &str {
        &self.top
    }

    /// The texts, as (file name, contents).
    pub fn texts(&self) -> &[(String, String)] {
        &self.texts
    }
}
