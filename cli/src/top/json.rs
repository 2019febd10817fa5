//! Intervals for programs.

use std::io::{self, ErrorKind, Write};

use super::{Rates, Show};

/// Writes one JSON object a line for each interval.
#[derive(Debug)]
pub struct Json<W>(
    /// Writer of the lines.
    pub W,
);

impl<W: Write> Show for Json<W> {
    fn show(&mut self, rates: &Rates) -> io::Result<bool> {
        let line = serde_json::to_string(rates)?;
        match writeln!(self.0, "{line}").and_then(|()| self.0.flush()) {
            // The reader has closed the pipe: it needs no more.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
            result => result.map(|()| true),
        }
    }
}
