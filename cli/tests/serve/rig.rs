//! A card that is served in this process, and the far end of its wire.

use std::{
    os::{fd::AsFd, unix::net::UnixStream},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use drdma_cli::{
    device,
    job::{Job, Local},
    run::{self, Observer, RunError},
};
use drdma_driver::Card;
use drdma_serve::{Event, Function, ServeError, Server, pci::config::Link};
use drdma_sim::wire::Network;
use drdma_soft::port::PortEnd;
use drdma_wire::{Sent, Wire as _, dgram::Datagrams};
use libdrdma::{Context, WorkCompletion};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Time that any step may take.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A server in a thread.
pub struct Served {
    pub folder: TempDir,
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
    events: Arc<Mutex<Vec<Event>>>,
}

impl Served {
    /// Serves the card of that URI; its wire is the datagram sockets `near` and `far` of a folder.
    pub fn new(uri: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [near, far] = ["near", "far"].map(|name| folder.path().join(name));
        let (socket, uri) = (folder.path().join("socket"), device::with_option(uri, "cycles", 64));
        Self::at(folder, &uri, &socket, Some((near, far)))
    }

    /// Like [`new`](Self::new), with folder, socket and wire of the caller's choice.
    pub fn at(folder: TempDir, uri: &str, socket: &Path, wire: Option<(PathBuf, PathBuf)>) -> Self {
        let network = Network::new();
        let card = drdma_sim::open_slot(uri, network.clone()).unwrap();
        let wire = wire.map(|(near, far)| {
            Box::new(Datagrams::open(&near, &far).unwrap()) as Box<dyn drdma_wire::Wire>
        });
        let function = Function::new(card, network.clone(), Link::default(), wire.is_some());
        let port = PortEnd::new(network, wire);
        let events = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&events);
        let report = Box::new(move |event| log.lock().unwrap().push(event));
        let mut server = Server::bind(socket, function, port, report).unwrap();
        let (stop, stopped) = UnixStream::pair().unwrap();
        let thread = thread::spawn(move || server.run(stopped.as_fd(), false));
        Self { folder, stop: Some(stop), thread: Some(thread), events }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    /// The far end of the wire.
    pub fn far(&self) -> Far {
        let [near, far] = ["near", "far"].map(|name| self.folder.path().join(name));
        Far {
            wire: Datagrams::open(&far, &near).unwrap(),
            network: Network::new(),
            frames: Vec::new(),
            completions: Vec::new(),
            turns: Box::new(|_| true),
        }
    }

    pub fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap().clone()
    }

    /// Waits for an event.
    pub fn wait_for(&self, what: &str, wanted: impl Fn(&Event) -> bool) {
        let start = Instant::now();
        while !self.events().iter().any(&wanted) {
            assert!(start.elapsed() < PATIENCE, "no {what} in {:?}", self.events());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends the server, which must not have failed.
    pub fn stop(mut self) {
        self.stop.take();
        self.thread.take().unwrap().join().expect("the server does not panic").unwrap();
        assert!(!self.path().exists(), "its socket is removed");
    }
}

/// The far end of a wire: peers that acknowledge, and all frames that were received.
pub struct Far {
    pub wire: Datagrams,
    pub network: Network,
    pub frames: Vec<Vec<u8>>,
    pub completions: Vec<WorkCompletion>,
    /// Called after every turn with the number of frames so far; false ends the run.
    pub turns: Box<dyn FnMut(usize) -> bool>,
}

impl Far {
    /// Takes the frames that have arrived, and answers.
    pub fn turn(&mut self) {
        let (frames, network) = (&mut self.frames, &self.network);
        let mut take = |frame: &[u8]| {
            frames.push(frame.to_vec());
            network.transmit(frame, 0);
        };
        while self.wire.receive(&mut take).unwrap() {}
        while let Some(answer) = self.network.receive(u64::MAX) {
            while self.wire.send(&answer).unwrap() == Sent::Full {
                thread::sleep(Duration::from_millis(1));
            }
        }
    }

    /// Runs a job on a card whose wire ends here.
    pub fn run(&mut self, job: &Job, card: impl Card + 'static) -> Result<(), RunError> {
        self.run_patiently(job, card, PATIENCE)
    }

    pub fn run_patiently(
        &mut self,
        job: &Job,
        card: impl Card + 'static,
        patience: Duration,
    ) -> Result<(), RunError> {
        device::add_peers(job, &self.network);
        let context = device::set_up(Box::new(card), job.local)?;
        let result = run::run(job, &context, patience, self);
        // Frames of the last moment.
        self.turn();
        result
    }
}

impl Observer for Far {
    fn completed(&mut self, completion: &WorkCompletion) -> Result<(), RunError> {
        self.completions.push(*completion);
        Ok(())
    }

    fn turn(&mut self, _context: &Context) -> Result<bool, RunError> {
        Far::turn(self);
        let frames = self.frames.len();
        Ok((self.turns)(frames))
    }

    fn activity(&self) -> u64 {
        self.frames.len() as u64
    }
}

pub const LOCAL: Local = Local { mac: 0x0200_0000_0001, ip: 0x0a00_0001 };

/// A job of WRITEs, with and without immediate data, and SENDs, on RC and UC, over several pages.
pub fn job() -> Job {
    let hex: String = (0..40_000_u32).map(|i| format!("{:02x}", (i * 7 + i / 251) as u8)).collect();
    let qp = |name: &str, transport: &str, number: u32| {
        json!({"name": name, "transport": transport, "qpn": number, "dest_qpn": number + 100,
               "start_psn": 0xff_fff0 + number, "mtu": 1024, "dest_mac": "02:00:00:00:00:02",
               "dest_ip": "10.0.0.2"})
    };
    let strided = json!({"type": "strided", "buffer": "t", "offset": 5, "period": 777, "count": 50,
        "pattern": [{"offset": 0, "len": 100}, {"offset": 300, "len": 33}]});
    let bitmapped = json!({"type": "bitmapped", "bitmap": {"buffer": "t", "offset": 64},
        "rows": 2000, "columns": [{"buffer": "t", "offset": 0, "width": 4},
                                  {"buffer": "t", "offset": 9001, "width": 8}]});
    let contiguous = json!({"type": "contiguous", "buffer": "t", "offset": 4000, "len": 30000});
    let job: Value = json!({
        "buffers": [{"name": "t", "hex": hex}],
        "local": {"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"},
        "qps": [qp("red", "rc", 1), qp("blue", "uc", 2)],
        "posts": [
            {"verb": "post_send", "qp": "red", "wr_id": 1, "op": "write", "remote_addr": 4096,
             "rkey": 7, "rows_per_message": 10, "regions": [strided, contiguous]},
            {"verb": "post_send", "qp": "blue", "wr_id": 2, "op": "send_imm", "imm": 5,
             "rows_per_message": 700, "regions": [bitmapped]},
            {"verb": "post_ssq_send", "wr_id": 3, "op": "write", "rows_per_message": 20,
             "destinations": [
                {"qp": "red", "remote_addr": 65536, "rkey": 7, "regions": [strided]},
                {"qp": "blue", "remote_addr": 0, "rkey": 8, "regions": [strided, bitmapped]}]},
        ],
    });
    Job::parse(&job.to_string(), Path::new(".")).unwrap()
}

/// The frames of queue pairs 1 and 2.
pub type Frames = [Vec<Vec<u8>>; 2];
/// A completion's request, status and bytes.
pub type Summary = (u64, String, u64);

/// The frames of the reference model for a job, by queue pair, and the completions of its posts.
pub fn model(job: &Job) -> (Frames, Vec<Summary>) {
    let network = Network::new();
    network.keep_frames();
    device::add_peers(job, &network);
    let card = drdma_sim::open("soft:", network.clone()).unwrap();
    let context = device::set_up(card, job.local).unwrap();
    let mut completions = Vec::new();
    run::run(job, &context, PATIENCE, &mut completions).unwrap();
    assert_eq!(network.errors(), []);
    let frames = network.frames().into_iter().map(|frame| frame.bytes);
    (by_queue_pair(frames), completions.iter().map(summary).collect())
}

pub fn summary(completion: &WorkCompletion) -> Summary {
    (completion.wr_id, completion.status.name().to_owned(), completion.bytes)
}

/// Frames by the card's queue pair, 1 or 2, as its UDP source port says.
pub fn by_queue_pair(frames: impl IntoIterator<Item = Vec<u8>>) -> Frames {
    let mut sorted = [Vec::new(), Vec::new()];
    for frame in frames {
        let port = u16::from_be_bytes([frame[34], frame[35]]);
        sorted[usize::from(port & 0x3fff) - 1].push(frame);
    }
    sorted
}

/// Checks that a run sent what the model sends.
pub fn check(far: &mut Far, job: &Job) {
    let (frames, completions) = model(job);
    assert_eq!(far.network.errors(), []);
    assert_eq!(far.completions.iter().map(summary).collect::<Vec<_>>(), completions);
    // The last frames of a queue pair without acknowledgements may still be on their way.
    let start = Instant::now();
    let expected: usize = frames.iter().map(Vec::len).sum();
    while far.frames.len() < expected && start.elapsed() < PATIENCE {
        far.turn();
    }
    let sent = by_queue_pair(std::mem::take(&mut far.frames));
    for (sent, expected) in sent.iter().zip(&frames) {
        assert_eq!(sent.len(), expected.len());
        let differs = sent.iter().zip(expected).position(|(a, b)| a != b);
        assert_eq!(differs, None, "frames differ");
    }
}
