//! A card whose wire ends at a real RDMA endpoint: the soft-RoCE of a Linux guest.
//!
//! `cargo xtask vm` boots the guest, sets the environment to its sockets, and runs the
//! tests that use this.
//!
//! ```text
//! card ---- relay ---- guest's network card, rdma_rxe, peer
//! ```
//!
//! | module | |
//! |---|---|
//! | [`board`] | a guest into which a card is plugged, in place of all that |
//! | [`qmp`] | QEMU's machine protocol |
//! | [`endpoint`] | the card while the guest sends to it |
//! | [`peer`] | the program in the guest, and its protocol |
//! | [`relay`] | the cable: it records, loses and damages frames |

pub mod board;
pub mod endpoint;
pub mod peer;
pub mod qmp;
pub mod relay;

use std::{
    env,
    io::{BufRead, BufReader, Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use drdma_cli::{
    cable::Cable,
    device::{self, Kind},
    job::Job,
    run::{self, Observer, RunError},
};
use drdma_sim::wire::Network;
use drdma_wire::dgram::Datagrams;
use libdrdma::{Context, WorkCompletion};
use serde_json::{Value, json};

use crate::expect::Completion;
use endpoint::Endpoint;
use peer::Peer;
use relay::Relay;

/// Environment variable with the folder of the lab's sockets.
pub const FOLDER: &str = "DRDMA_LAB";
/// Environment variable with the device: `rtl:` by default, or `soft:`; or a board's URI, which is
/// then one of the guest that takes jobs.
pub const DEVICE: &str = "DRDMA_LAB_DEVICE";
/// Time that is too long for any step in the lab.
const PATIENCE: Duration = Duration::from_secs(20);
/// The card's end of its cable.
const CARD: &str = "card";
/// The relay's end of the card's cable.
const CARD_REMOTE: &str = "card-remote";
/// The guest's end of its cable.
const GUEST: &str = "guest";
/// The relay's end of the guest's cable.
const GUEST_REMOTE: &str = "guest-remote";
/// Name of the socket on which the peer takes commands.
const PEER: &str = "peer";
/// Name of the socket on which the guest that has the card takes jobs, if there is one.
const HOST: &str = "host";

/// The card's addresses.
pub fn local() -> Value {
    json!({"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"})
}

/// A queue pair of a job that leads to the peer's queue pair `dest_qpn`.
pub fn queue_pair(name: &str, transport: &str, qpn: u32, dest_qpn: u32, psn: u32) -> Value {
    let mut queue_pair = json!({
        "name": name, "transport": transport, "qpn": qpn, "dest_qpn": dest_qpn, "start_psn": psn,
        "mtu": MTU, "dest_mac": "02:00:00:00:00:02", "dest_ip": "10.0.0.2",
    });
    if transport == "ud" {
        queue_pair["qkey"] = QKEY.into();
    }
    queue_pair
}

/// Path MTU of all queue pairs.
pub const MTU: u32 = 1024;
/// Queue key of all UD queue pairs.
pub const QKEY: u32 = 0x1111_1111;

/// The lab: peer, relay, and card.
#[derive(Debug)]
pub struct Lab {
    /// Program in the guest.
    pub peer: Peer,
    /// Cable between card and guest.
    pub relay: Relay,
    device: String,
    /// The sockets of the card's cable: its own end, and the other one.
    card: [PathBuf; 2],
    /// The machine that has the card, if it is not this one.
    host: Option<BufReader<UnixStream>>,
    next_qpn: u32,
}

/// The lab of this process, without any objects of the test before.
///
/// # Panics
/// If there is no lab.
pub fn lab() -> MutexGuard<'static, Lab> {
    static LAB: Mutex<()> = Mutex::new(());
    static OPEN: OnceLock<Mutex<Lab>> = OnceLock::new();
    static TRIED: AtomicBool = AtomicBool::new(false);
    let _one_at_a_time = LAB.lock();
    if OPEN.get().is_none() {
        assert!(!TRIED.swap(true, Ordering::Relaxed), "the lab could not be opened");
    }
    let lab = OPEN.get_or_init(|| {
        let folder = env::var(FOLDER).unwrap_or_else(|_| panic!("no {FOLDER}: `cargo xtask vm`"));
        Mutex::new(Lab::open(&PathBuf::from(folder)))
    });
    // A test that has failed leaves the lab to the next one.
    let mut lab = lab.lock().unwrap_or_else(PoisonError::into_inner);
    lab.peer.reset();
    lab.relay.repair();
    lab
}

/// Connects to one of the lab's sockets, which a guest makes when it starts.
fn connect(path: &Path) -> UnixStream {
    let started = Instant::now();
    let stream = loop {
        match UnixStream::connect(path) {
            Ok(stream) => break stream,
            Err(_) if started.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(20)),
            Err(error) => panic!("{}: {error}", path.display()),
        }
    };
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out is possible");
    stream
}

impl Lab {
    fn open(folder: &Path) -> Self {
        let file = |name| folder.join(name);
        let relay = Relay::start(
            datagrams(&file(CARD_REMOTE), &file(CARD)),
            datagrams(&file(GUEST_REMOTE), &file(GUEST)),
        );
        let device = env::var(DEVICE).unwrap_or_else(|_| "rtl:".to_owned());
        let host = (Kind::of(&device) == Kind::Board).then(|| host(connect(&file(HOST))));
        let peer = Peer::new(connect(&file(PEER)));
        let card = [file(CARD), file(CARD_REMOTE)];
        Self { peer, relay, device, card, host, next_qpn: 0x100 }
    }

    /// A number that no queue pair of the card has had: packets to it are not from an earlier test.
    pub fn new_qpn(&mut self) -> u32 {
        self.next_qpn += 1;
        self.next_qpn
    }

    /// Runs a job on the card, with a relay that has forgotten all frames, and waits for its end.
    ///
    /// # Panics
    /// If the job does not run to its end. A post that fails is no reason.
    pub fn run(&mut self, job: &Value) -> Vec<Completion> {
        self.relay.forget();
        match &mut self.host {
            Some(host) => run_on(host, job),
            None => self.run_here(job),
        }
    }

    /// Sets up a card that is served while the guest sends to it, with a relay that has forgotten all frames.
    ///
    /// # Panics
    /// If that fails, or the card is a board of another machine.
    pub fn endpoint(&self) -> Endpoint {
        assert!(self.host.is_none(), "{} is not of this machine", self.device);
        self.relay.forget();
        let text = json!({"buffers": [], "local": local(), "qps": [], "posts": []}).to_string();
        let job = Job::parse(&text, Path::new(".")).expect("the job is right");
        let (cable, context) = self.open_card(&job);
        Endpoint::new(cable, context)
    }

    fn open_card(&self, job: &Job) -> (Cable, Context) {
        let network = Network::new();
        let card = device::open(&self.device, &network).expect("the card can be opened");
        let [local, remote] = &self.card;
        let cable = Cable::plug(&network, Box::new(datagrams(local, remote)));
        (cable, device::set_up(card, job.local).expect("the card can be set up"))
    }

    fn run_here(&self, job: &Value) -> Vec<Completion> {
        let job = Job::parse(&job.to_string(), Path::new(".")).expect("the job is right");
        let (cable, context) = self.open_card(&job);
        let mut sender = Sender { completions: Vec::new(), cable };
        run::run(&job, &context, PATIENCE, &mut sender).expect("the job runs to its end");
        let traffic = sender.cable.finish().expect("the wire works");
        assert_eq!(traffic.lost, 0, "frames that the relay did not take");
        sender
            .completions
            .iter()
            .map(|c| Completion {
                wr_id: c.wr_id,
                status: c.status.name().to_owned(),
                bytes: c.bytes,
            })
            .collect()
    }
}

/// Collects completions; frames leave and arrive in the meantime.
struct Sender {
    completions: Vec<WorkCompletion>,
    cable: Cable,
}

impl Observer for Sender {
    fn completed(&mut self, completion: &WorkCompletion) -> Result<(), RunError> {
        self.completions.push(*completion);
        Ok(())
    }

    fn turn(&mut self, _context: &Context) -> Result<bool, RunError> {
        self.cable.serve().map(|()| true).map_err(RunError::Cable)
    }
}

/// One end of a cable.
fn datagrams(local: &Path, remote: &Path) -> Datagrams {
    Datagrams::open(local, remote)
        .unwrap_or_else(|error| panic!("{} cannot be made: {error}", local.display()))
}

/// A machine that takes jobs, and says so when it starts.
fn host(stream: UnixStream) -> BufReader<UnixStream> {
    let mut host = BufReader::new(stream);
    let mut line = String::new();
    host.read_line(&mut line).expect("the guest starts");
    assert_eq!(line.trim(), "ready", "what the guest says at its start");
    host
}

/// Has another machine run a job: the length of the job's text in bytes goes there as a line, then
/// the text; what `drdma run` prints comes back, then a line `exit` with its code.
fn run_on(host: &mut BufReader<UnixStream>, job: &Value) -> Vec<Completion> {
    let text = job.to_string();
    let stream = host.get_mut();
    stream.write_all(format!("{}\n{text}", text.len()).as_bytes()).expect("the guest listens");
    let mut completions = Vec::new();
    loop {
        let mut line = String::new();
        host.by_ref().read_line(&mut line).expect("the guest answers");
        let line = line.trim();
        if let Some(code) = line.strip_prefix("exit ") {
            assert_eq!(code, "0", "the job did not run to its end in the guest");
            return completions;
        }
        let value: Value =
            serde_json::from_str(line).unwrap_or_else(|_| panic!("the guest says: {line}"));
        completions.push(Completion {
            wr_id: value["wr_id"].as_u64().expect("a wr_id"),
            status: value["status"].as_str().expect("a status").to_owned(),
            bytes: value["bytes"].as_u64().expect("bytes"),
        });
    }
}
