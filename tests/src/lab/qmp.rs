//! The control of a guest: QEMU's machine protocol, a line of JSON a message.

use std::{
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
};

use serde_json::{Value, json};

/// A connection to QEMU.
#[derive(Debug)]
pub struct Qmp {
    stream: BufReader<UnixStream>,
}

impl Qmp {
    /// QEMU at the other end of `stream`.
    pub(super) fn new(stream: UnixStream) -> Self {
        let mut qmp = Self { stream: BufReader::new(stream) };
        let greeting = qmp.message();
        assert!(greeting.get("QMP").is_some(), "{greeting}");
        qmp.execute("qmp_capabilities", json!({}));
        qmp
    }

    fn message(&mut self) -> Value {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("QEMU answers");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("QEMU says {line:?}: {error}"))
    }

    /// Makes QEMU execute a command, and returns its answer.
    ///
    /// # Panics
    /// If QEMU reports an error.
    pub fn execute(&mut self, command: &str, arguments: Value) -> Value {
        let text = json!({"execute": command, "arguments": arguments}).to_string();
        self.stream.get_mut().write_all(format!("{text}\n").as_bytes()).expect("QEMU listens");
        loop {
            let mut message = self.message();
            // QEMU sends events unasked.
            if message.get("event").is_some() {
                continue;
            }
            assert!(message.get("error").is_none(), "{command}: {message}");
            return message["return"].take();
        }
    }
}
