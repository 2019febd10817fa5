//! A guest with slots, into which cards are plugged that processes of this machine serve.
//!
//! ```text
//! relay ---- drdma serve ---- QEMU, vfio-user-pci ---- the guest's vfio-pci, drdma
//! ```

use std::{
    env,
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{FOLDER, HOST, connect, datagrams, qmp::Qmp, relay::Relay};
use crate::{
    capture,
    expect::{Completion, Expected},
};

/// Environment variable with the command that serves a card.
pub const PROGRAM: &str = "DRDMA_LAB_PROGRAM";
/// Time that is too long for any step, even for a guest's start.
const PATIENCE: Duration = Duration::from_secs(60);

/// Time that QEMU takes to notice that a server is gone.
const NOTICE: Duration = Duration::from_millis(300);

/// A guest with cards in its slots.
#[derive(Debug)]
pub struct Board {
    qmp: Qmp,
    /// The guest's shell.
    shell: BufReader<UnixStream>,
    folder: PathBuf,
    cards: Vec<Card>,
}

/// A card in a slot, and the process that serves it.
#[derive(Debug)]
pub struct Card {
    /// The card's wire: frames are only recorded, as there is no endpoint.
    pub relay: Relay,
    process: Child,
    log: PathBuf,
    /// Bytes of the log that belong to an earlier job.
    old_log: usize,
}

/// Result of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Output of the script.
    pub output: String,
    /// Exit code of its last command.
    pub code: i32,
}

/// The guest of this process, with a card in its slot 0, which is bound.
///
/// # Panics
/// If there is no guest.
pub fn board() -> MutexGuard<'static, Board> {
    static BOARD: OnceLock<Mutex<Board>> = OnceLock::new();
    static TRIED: AtomicBool = AtomicBool::new(false);
    if BOARD.get().is_none() {
        assert!(!TRIED.swap(true, Ordering::Relaxed), "the guest could not be reached");
    }
    let board = BOARD.get_or_init(|| {
        let folder = env::var(FOLDER).unwrap_or_else(|_| panic!("no {FOLDER}: `cargo xtask vm`"));
        Mutex::new(Board::open(Path::new(&folder)))
    });
    // A test that has failed leaves the board to the next one.
    let mut board = board.lock().unwrap_or_else(PoisonError::into_inner);
    board.tidy_up();
    board
}

/// PCI address at which the guest sees the card in a slot.
pub fn address(slot: usize) -> String {
    format!("0000:{:02x}:00.0", slot + 1)
}

/// Path of the card in the guest's sysfs.
pub fn sysfs(slot: usize) -> String {
    format!("/sys/bus/pci/devices/{}", address(slot))
}

/// Connects to one of the lab's sockets, with a time-out for answers that take long.
fn patient(path: &Path) -> UnixStream {
    let stream = connect(path);
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out is possible");
    stream
}

impl Card {
    fn whole_log(&self) -> String {
        fs::read_to_string(&self.log).expect("a log can be read")
    }

    /// The log of the process that serves the card, since the last job was started.
    pub fn log(&self) -> String {
        self.whole_log().split_off(self.old_log)
    }

    /// True if the process that serves the card runs.
    pub fn is_served(&mut self) -> bool {
        self.process.try_wait().expect("a status").is_none()
    }
}

impl Board {
    fn open(folder: &Path) -> Self {
        let qmp = Qmp::new(patient(&folder.join("qmp")));
        let shell = BufReader::new(patient(&folder.join(HOST)));
        let mut board = Self { qmp, shell, folder: folder.to_owned(), cards: Vec::new() };
        board.wait_for_guest();
        board.plug();
        board
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.shell.read_line(&mut line).expect("the guest answers");
        assert!(line.ends_with('\n'), "the guest has gone: {line:?}");
        line
    }

    /// Waits until the guest has started, again or for the first time.
    fn wait_for_guest(&mut self) {
        assert_eq!(self.line().trim(), "ready", "what the guest says at its start");
    }

    /// Resets the guest, and waits until it has started again.
    pub fn reset(&mut self) {
        // Without this, a reset of the guest ends QEMU.
        self.qmp.execute("set-action", json!({"reboot": "reset"}));
        self.qmp.execute("system_reset", json!({}));
        self.wait_for_guest();
        self.qmp.execute("set-action", json!({"reboot": "shutdown"}));
    }

    /// Ends the programs that a test has left running, and brings back a card that it has removed.
    fn tidy_up(&mut self) {
        let (card, end) =
            (sysfs(0), "test -z \"$pid\" || { kill -9 $pid; wait $pid; } 2> /dev/null");
        self.shell(&format!("{end}; pid=; test -e {card} || echo 1 > /sys/bus/pci/rescan"));
        self.wait_for_card(0);
        if self.try_shell(&format!("test -e {card}/driver")).code != 0 {
            self.bind(0);
        }
    }

    /// Runs a script in the guest's shell; what runs in the background and variables stay.
    pub fn try_shell(&mut self, script: &str) -> Outcome {
        let text = format!("{}\n{script}", script.len());
        self.shell.get_mut().write_all(text.as_bytes()).expect("the guest listens");
        let mut output = String::new();
        loop {
            let line = self.line();
            if let Some(code) = line.strip_prefix("exit ") {
                return Outcome { output, code: code.trim().parse().expect("a code") };
            }
            output += &line;
        }
    }

    /// Like [`try_shell`](Self::try_shell), but returns only the output.
    ///
    /// # Panics
    /// If its last command fails.
    pub fn shell(&mut self, script: &str) -> String {
        let Outcome { output, code } = self.try_shell(script);
        assert_eq!(code, 0, "{script}: {output}");
        output
    }

    /// Serves a card, plugs it into the next slot, and binds it; returns the slot.
    pub fn plug(&mut self) -> usize {
        let slot = self.cards.len();
        let file = |name: &str| self.folder.join(format!("{name}{slot}"));
        let (socket, log) = (file("pci").display().to_string(), file("log"));
        let (local, remote) = (file("card"), file("card-remote"));
        let wire = format!("dgram:{},{}", local.display(), remote.display());
        let relay = Relay::start(
            datagrams(&remote, &local),
            datagrams(&file("guest-remote"), &file("guest")),
        );
        let program = env::var(PROGRAM).unwrap_or_else(|_| panic!("no {PROGRAM}"));
        // The process ends with QEMU.
        let process = Command::new(program)
            .args(["serve", "--once", "--device", "rtl:", "--socket", &socket, "--wire", &wire])
            .stderr(File::create(&log).expect("a log can be written"))
            .stdin(Stdio::null())
            .spawn()
            .expect("the card can be served");
        let card = Card { relay, process, log, old_log: 0 };
        let start = Instant::now();
        while !card.log().starts_with("serving ") {
            assert!(start.elapsed() < PATIENCE, "the card is not served: {}", card.log());
            thread::sleep(Duration::from_millis(10));
        }
        self.cards.push(card);
        let device = json!({
            "driver": "vfio-user-pci", "id": format!("card{slot}"), "bus": format!("slot{slot}"),
            // The default of 5 s is short for a simulation.
            "x-msg-timeout": 600_000, "socket": {"type": "unix", "path": socket},
        });
        self.qmp.execute("device_add", device);
        self.wait_for_card(slot);
        self.bind(slot);
        slot
    }

    /// Waits until the guest sees a card.
    pub fn wait_for_card(&mut self, slot: usize) {
        let file = format!("{}/resource2", sysfs(slot));
        self.shell(&format!(
            "for i in $(seq 400); do test -e {file} && break; usleep 50000; done; test -e {file}"
        ));
    }

    /// Kills the process that serves a card, as if it were torn out.
    pub fn tear_out(&mut self, slot: usize) {
        let card = &mut self.cards[slot];
        // QEMU sometimes aborts when it loses a server during a request of the guest's. There is no request while the
        // guest is stopped.
        self.qmp.execute("stop", json!({}));
        card.process.kill().expect("it can be killed");
        card.process.wait().expect("a status");
        thread::sleep(NOTICE);
        self.qmp.execute("cont", json!({}));
    }

    /// Binds a card.
    pub fn bind(&mut self, slot: usize) {
        self.shell(&format!("drdma bind {} 2>&1", address(slot)));
    }

    /// The card in a slot.
    pub fn card(&mut self, slot: usize) -> &mut Card {
        &mut self.cards[slot]
    }

    /// Starts a job in the guest, and waits until `frames` frames have left the card.
    pub fn start(&mut self, slot: usize, job: &Value, frames: usize) {
        let card = &mut self.cards[slot];
        card.relay.forget();
        card.old_log = card.whole_log().len();
        let device = format!("vfio:{}", address(slot));
        self.shell(&format!(
            "echo '{job}' > /tmp/job.json
             drdma run /tmp/job.json --device {device} --timeout 45 --allow-failures > /tmp/out 2> /tmp/err &
             pid=$!"
        ));
        self.cards[slot].relay.from_card(frames);
    }

    /// Waits for the end of the job that was started. Returns its code, and its error output.
    pub fn ended(&mut self) -> Outcome {
        let output = self.shell("wait $pid; code=$?; cat /tmp/err; echo code $code");
        let (output, code) = output.rsplit_once("code ").expect("a code");
        Outcome { output: output.to_owned(), code: code.trim().parse().expect("a code") }
    }

    /// Waits for the job's error, but not for the end of its process. Returns the error, and the code that
    /// the process will end with.
    pub fn failed(&mut self) -> Outcome {
        self.shell("for i in $(seq 600); do test -s /tmp/err && break; usleep 50000; done");
        // The last field is a process's code, once it is ending.
        let stat = "for i in $(seq 100); do
                code=$(cut -d ' ' -f 52 /proc/$pid/stat); test $code != 0 && break; usleep 50000
            done
            cat /tmp/err; echo code $code";
        let output = self.shell(stat);
        let (output, code) = output.rsplit_once("code ").expect("a code");
        let code: i32 = code.trim().parse().expect("a code");
        Outcome { output: output.to_owned(), code: code >> 8 }
    }

    /// Runs a job in the guest to its end. Returns its completions, and the frames that left the card.
    pub fn run(&mut self, slot: usize, job: &Value, frames: usize) -> Expected {
        self.start(slot, job, 0);
        let ended = self.ended();
        assert_eq!((ended.code, &*ended.output), (0, ""));
        let completions = self.shell("cat /tmp/out").lines().map(completion).collect();
        let frames = self.cards[slot].relay.from_card(frames);
        Expected { completions, frames: capture::by_queue_pair(frames) }
    }
}

fn completion(line: &str) -> Completion {
    let value: Value = serde_json::from_str(line).expect("a completion");
    Completion {
        wr_id: value["wr_id"].as_u64().expect("a wr_id"),
        status: value["status"].as_str().expect("a status").to_owned(),
        bytes: value["bytes"].as_u64().expect("bytes"),
    }
}
