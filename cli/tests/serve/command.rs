//! The command `drdma serve`, as a process.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use drdma_cli::run::{Observer, RunError};
use libdrdma::{Context, WorkCompletion};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::{
    client::{BAR2, Client, ServedCard},
    rig::PATIENCE,
};

struct Process {
    child: Child,
    folder: TempDir,
}

impl Process {
    /// Starts the command in a folder of its own, and waits until it serves.
    fn start(args: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut child = command(&folder, args).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("serving "), "{line}");
        Self { child, folder }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn wait(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < PATIENCE, "the server does not end");
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn socket(&self) -> std::path::PathBuf {
        self.folder.path().join("socket")
    }

    /// Ticks of a hundredth of a second that it has computed so far.
    fn ticks(&self) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let after = text.rsplit(')').next().unwrap();
        let fields: Vec<&str> = after.split_whitespace().collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(folder: &TempDir, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_drdma"));
    command.args(["serve", "--socket", "socket"]).args(args).current_dir(folder.path());
    command
}

#[test]
fn a_signal_ends_it_and_its_sockets_are_removed() {
    for signal in [Signal::INT, Signal::TERM] {
        let wires = ["--wire", "dgram:near,far", "--wire", "pcap:out.pcap"];
        let mut process = Process::start(&[&["--device", "soft:"][..], &wires].concat());
        let mut client = Client::connect(&process.socket());
        client.set_command(6);
        process.signal(signal);
        assert!(process.wait().success());
        assert!(!process.socket().exists());
        assert!(!process.folder.path().join("near").exists());
        assert!(process.folder.path().join("out.pcap").exists());
        assert_eq!(client.read32(BAR2, 0), Err(-1));
    }
}

#[test]
fn one_client_is_enough_if_told_so() {
    let mut process = Process::start(&["--device", "soft:", "--once"]);
    drop(Client::connect(&process.socket()));
    assert!(process.wait().success());
    assert!(!process.socket().exists());
}

#[test]
fn a_card_that_has_nothing_to_do_takes_no_time() {
    let process = Process::start(&["--device", "rtl:", "--wire", "dgram:near,far"]);
    let card = ServedCard::open(&process.socket());
    let context = drdma_cli::device::set_up(Box::new(card), crate::rig::LOCAL).unwrap();
    thread::sleep(Duration::from_millis(100));
    let before = process.ticks();
    thread::sleep(Duration::from_millis(1_000));
    let ticks = process.ticks() - before;
    assert!(ticks <= 5, "{ticks} ticks in a second");
    drop(context);
}

#[test]
fn a_card_that_waits_for_an_answer_takes_little_time() {
    let process = Process::start(&["--device", "rtl:", "--wire", "dgram:near,far"]);
    let mut job = crate::rig::job();
    job.posts.truncate(1);
    let card = ServedCard::open(&process.socket());
    let context = drdma_cli::device::set_up(Box::new(card), job.local).unwrap();
    // The server must notice that it waits: the other end of the wire is not connected.
    let window = Duration::from_millis(500);
    let (start, mut since, mut ticks) = (Instant::now(), Instant::now(), process.ticks());
    let mut observer = Until(|| {
        assert!(start.elapsed() < PATIENCE, "it goes on and on");
        if since.elapsed() < window {
            return true;
        }
        let before = std::mem::replace(&mut ticks, process.ticks());
        since = Instant::now();
        ticks - before > 15
    });
    drdma_cli::run::run(&job, &context, 2 * PATIENCE, &mut observer).unwrap();
}

/// Watches a run until it has seen enough.
struct Until<F>(F);

impl<F: FnMut() -> bool> Observer for Until<F> {
    fn completed(&mut self, completion: &WorkCompletion) -> Result<(), RunError> {
        panic!("nobody acknowledges, and there is {completion:?}");
    }

    fn turn(&mut self, _context: &Context) -> Result<bool, RunError> {
        Ok((self.0)())
    }
}

#[test]
fn a_socket_that_is_in_use_is_kept_and_one_that_was_left_behind_is_replaced() {
    let mut process = Process::start(&["--device", "soft:"]);
    let second = command(&process.folder, &["--device", "soft:"]).output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    let text = String::from_utf8(second.stderr).unwrap();
    assert!(text.starts_with("error: cannot listen at socket: "), "{text}");
    process.signal(Signal::KILL);
    process.wait();
    assert!(process.socket().exists());
    let mut child = command(&process.folder, &["--device", "soft:", "--once"]).spawn().unwrap();
    let start = Instant::now();
    while std::os::unix::net::UnixStream::connect(process.socket()).is_err() {
        assert!(start.elapsed() < PATIENCE);
        thread::sleep(Duration::from_millis(5));
    }
    assert!(child.wait().unwrap().success());
}

#[test]
fn what_cannot_be_served_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (args, text) in [
        (&["--device", "vfio:0000:65:00.0"][..], "is no simulated card"),
        (&["--device", "soft:?x=1"], "`soft:` has no option `x`"),
        (&["--wire", "udp:1"], "`udp:1` is no wire"),
        (&["--device", "soft:", "--wire", "none", "--wire", "tap:x"], "a card has one port"),
    ] {
        let output = command(&folder, args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(text), "{error}");
    }
    let output =
        command(&folder, &["--device", "soft:", "--wire", "dgram:/no/where,x"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
}
