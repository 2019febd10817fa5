//! Runs the `drdma` command in a folder of its own.
#![allow(dead_code, reason = "every test program uses a part of it")]

pub mod jobs;
pub mod recorded;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::atomic::{AtomicUsize, Ordering},
};

use drdma_tests::capture;
use serde_json::Value;

/// A folder that is removed when it is dropped.
pub struct Folder(PathBuf);

impl Folder {
    /// Makes a new, empty folder.
    pub fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("run-{}-{number}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// Writes a file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Runs the command in the folder, with no other program on its path.
    pub fn drdma_without_tools(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_drdma"));
        command.args(args).current_dir(&self.0).env("PATH", &self.0).output().unwrap()
    }

    /// Runs the command in the folder.
    pub fn drdma(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_drdma")).args(args).current_dir(&self.0).output().unwrap()
    }

    /// Runs a job on the reference model, with a capture.
    pub fn run(&self, job: &Value) -> Run {
        fs::write(self.file("job.json"), job.to_string()).unwrap();
        let output = self.drdma(&["run", "job.json", "--device", "soft:", "--pcap", "out.pcap"]);
        let frames = fs::read(self.file("out.pcap")).map(|file| capture::frames(&file));
        Run {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            frames: frames.ok(),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Result of a run.
pub struct Run {
    /// Exit code of the process.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// The captured frames; `None` if there is no capture.
    pub frames: Option<Vec<Vec<u8>>>,
}
