//! The site: what the exchanges of a worker share.

use std::{
    collections::HashMap,
    fmt, io,
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use datafusion::{arrow::record_batch::RecordBatch, execution::runtime_env::RuntimeEnv};
use drdma_arrow::Arena;
use libdrdma::{
    Access, CompletionQueue, MacAddress, ProtectionDomain, QueuePair, QueuePairAttributes,
    SharedReceiveQueue,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, duplex},
    net::TcpStream,
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
};
use url::Url;

use super::{Config, backlog::Backlog, control::Address, kept::Kept, spill::Scratch};
use crate::{
    Directory, Error,
    cpu::{self, Usage},
    identity::{self, Identity},
    network::Port,
};

/// How often a packet is sent again; then the peer is lost.
const RETRIES: u8 = 7;
/// RNR retry count: a sender that finds no receive tries again for ever.
const FOR_EVER: u8 = 7;
/// RNR timer: 640 us of the card's time between two tries (IBTA 1.4 table 45).
const RNR_TIMER: u8 = 12;

/// Channel for rows from a worker to itself: batches of a partition.
pub(crate) type Local = UnboundedSender<(u16, RecordBatch)>;

/// Bytes of messages of a connection of a worker with itself that may wait to be read.
const PIPE_BYTES: usize = 16 << 10;

/// An end of a connection beside the rows: where its messages come from, and where they go. The other end notices when
/// either is dropped.
pub(crate) type Ends = (Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>);

/// A worker of the cluster.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// URL at which the engine reaches the worker.
    pub url: Url,
    /// Socket address of that URL.
    pub engine: SocketAddr,
    /// Address at which consumers open exchanges.
    pub exchange: SocketAddr,
}

impl Member {
    /// The worker whose engine serves at one address, and its rows at another.
    pub fn new(engine: SocketAddr, exchange: SocketAddr) -> Self {
        let url = Url::parse(&format!("http://{engine}")).expect("an address makes a URL");
        Self { url, engine, exchange }
    }

    /// A worker's name, for errors.
    pub fn name(&self, number: usize) -> String {
        format!("worker {number} ({})", self.url)
    }
}

/// Parameters of queue pairs that depend on the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// Payload bytes of a packet.
    pub mtu: u32,
    /// A packet is sent again after 4.096 us * 2^`timeout` of the card's time without an acknowledgement.
    pub timeout: u8,
}

impl Link {
    /// Link of cards in one simulated time: a timeout of 1 ms.
    pub const SIMULATED: Self = Self { mtu: 4096, timeout: 8 };

    /// Link of cards in processes, whose time is the machine's: a timeout of 0.27 s, as a process may have to wait for
    /// its turn. After eight times, 2.1 s, a peer is lost.
    pub const fn wired(mtu: u32) -> Self {
        Self { mtu, timeout: 16 }
    }
}

/// State that the exchanges of a worker share: its card, its memory, and the addresses of all workers.
pub(crate) struct Site {
    /// The worker's number.
    pub number: usize,
    pub config: Config,
    pub port: Port,
    pub pd: ProtectionDomain,
    pub arena: Arena,
    pub members: Vec<Member>,
    /// Runtime that the engine executes tasks with.
    pub runtime: Arc<RuntimeEnv>,
    /// Batches that wait in memory to be sent.
    pub backlog: Arc<Backlog>,
    /// Queues and memory of exchanges that are over.
    pub kept: Kept,
    /// Directory of the batches that wait on disk.
    pub scratch: Scratch,
    /// Directory of the cluster, as a worker in a process of its own was given it.
    directory: Option<Directory>,
    link: Link,
    /// Completion queue of queue pairs that nothing is posted to.
    quiet: CompletionQueue,
    /// Exchanges with this worker itself, by the consumer's name for them.
    locals: Mutex<HashMap<u64, Local>>,
    next_local: AtomicU64,
    /// Where connections of the worker with itself go, once it serves.
    server: OnceLock<UnboundedSender<Ends>>,
    /// Ends of exchanges that are under way.
    ends: AtomicUsize,
    /// Rows that the card was given to send, and their bytes.
    sent: (AtomicU64, AtomicU64),
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Site").field("number", &self.number).finish_non_exhaustive()
    }
}

/// An end of an exchange that is under way, as long as it is there.
#[derive(Debug)]
pub(crate) struct End(Arc<Site>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.ends.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Site {
    pub fn new(
        number: usize,
        config: Config,
        port: &Port,
        memory: &'static libdrdma::Arena,
        members: Vec<Member>,
        link: Link,
        directory: Option<Directory>,
    ) -> Result<Self, Error> {
        let pd = port.context().protection_domain();
        let arena = Arena::over(&pd, memory)?;
        let quiet = port.context().completion_queue().entries(16).build()?;
        let scratch = Scratch::path(members[number].engine, config.directory.as_deref());
        let scratch = Scratch::new(scratch)?;
        let runtime = scratch.runtime(config.disk)?;
        let backlog = Arc::new(Backlog::new(config.backlog));
        Ok(Self {
            number,
            config,
            port: port.clone(),
            pd,
            arena,
            members,
            runtime,
            backlog,
            kept: Kept::default(),
            scratch,
            directory,
            link,
            quiet,
            locals: Mutex::default(),
            next_local: AtomicU64::new(1),
            server: OnceLock::new(),
            ends: AtomicUsize::new(0),
            sent: Default::default(),
        })
    }

    /// The worker's identity: build, number and directory.
    pub fn identity(&self) -> Identity {
        let (number, directory) = (self.number, self.directory.clone());
        Identity { version: identity::version(), number, directory }
    }

    /// Counts an end of an exchange as under way, as long as the result lives.
    pub fn begin(self: &Arc<Self>) -> End {
        self.ends.fetch_add(1, Ordering::Relaxed);
        End(self.clone())
    }

    /// Ends of exchanges that are under way.
    pub fn ends(&self) -> usize {
        self.ends.load(Ordering::Relaxed)
    }

    /// Connections of the worker with itself, for its server to take.
    pub fn serve_itself(&self) -> UnboundedReceiver<Ends> {
        let (server, connections) = unbounded_channel();
        let _ = self.server.set(server);
        connections
    }

    /// Connects to a worker's server for rows. A connection of a worker with itself needs no socket.
    ///
    /// # Errors
    /// The worker cannot be reached.
    pub async fn open(&self, worker: usize, at: SocketAddr) -> io::Result<Ends> {
        if worker == self.number
            && let Some(server) = self.server.get()
        {
            let ((near, theirs), (ours, far)) = (duplex(PIPE_BYTES), duplex(PIPE_BYTES));
            // Without a server the connection is closed at once.
            let _ = server.send((Box::new(theirs), Box::new(far)));
            return Ok((Box::new(ours), Box::new(near)));
        }
        let connection = TcpStream::connect(at).await?;
        connection.set_nodelay(true)?;
        let (read, write) = connection.into_split();
        Ok((Box::new(read), Box::new(write)))
    }

    /// Counts rows that the card was given to send.
    pub fn count_sent(&self, rows: u64, bytes: u64) {
        self.sent.0.fetch_add(rows, Ordering::Relaxed);
        self.sent.1.fetch_add(bytes, Ordering::Relaxed);
    }

    /// What the worker has used since it started.
    pub fn usage(&self) -> Usage {
        // The card's time is part of the process's, so it is read first.
        let card = self.port.card_time();
        let (rows, bytes) = (&self.sent.0, &self.sent.1);
        let (rows, bytes) = (rows.load(Ordering::Relaxed), bytes.load(Ordering::Relaxed));
        Usage { process: cpu::of_process(), card, rows, bytes }
    }

    /// A worker's name, for errors.
    pub fn name_of(&self, worker: usize) -> String {
        match self.members.get(worker) {
            Some(member) => member.name(worker),
            None => format!("worker {worker}"),
        }
    }

    fn locals(&self) -> MutexGuard<'_, HashMap<u64, Local>> {
        self.locals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a channel to a consumer here, and returns the name under which a producer of this worker finds it.
    pub fn register_local(&self, local: Local) -> u64 {
        let name = self.next_local.fetch_add(1, Ordering::Relaxed);
        self.locals().insert(name, local);
        name
    }

    /// Takes the channel that was registered under that name.
    pub fn take_local(&self, name: u64) -> Option<Local> {
        self.locals().remove(&name)
    }

    /// A queue pair for SENDs of a shared send queue, or for received rows if there are `receives`.
    pub fn queue_pair(
        &self,
        receives: Option<&SharedReceiveQueue<'static>>,
    ) -> Result<QueuePair<'static>, Error> {
        let pair = self.pd.queue_pair(&self.quiet).send_blocks(1);
        let pair = match receives {
            Some(queue) => pair.shared_receive_queue(queue),
            None => pair,
        };
        Ok(pair.build()?)
    }

    /// Address of the card, with the numbers of queue pairs, for a peer.
    pub fn address(&self, pairs: &[QueuePair<'static>]) -> Address {
        let qpns = pairs.iter().map(QueuePair::qpn).collect();
        Address { mac: self.port.mac().0, ip: self.port.ip(), qpns }
    }

    /// Connects queue pairs, one by one.
    ///
    /// # Errors
    /// Another number of queue pairs at the peer, or the card failed.
    pub fn connect(
        &self,
        pairs: &mut [QueuePair<'static>],
        peer: &Address,
        name: &str,
    ) -> Result<(), Error> {
        if pairs.len() != peer.qpns.len() {
            let what =
                format!("{} queue pairs where {} are expected", peer.qpns.len(), pairs.len());
            return Err(Error::Protocol { peer: name.to_owned(), what });
        }
        for (pair, qpn) in pairs.iter_mut().zip(&peer.qpns) {
            let attributes = QueuePairAttributes::new()
                .path_mtu(self.link.mtu)
                .dest_qpn(*qpn)
                .dest_mac(MacAddress(peer.mac))
                .dest_ip(peer.ip)
                .start_psn(0)
                .rq_psn(0)
                .access(Access::empty())
                .min_rnr_timer(RNR_TIMER)
                .timeout(self.link.timeout)
                .retry_cnt(RETRIES)
                .rnr_retry(FOR_EVER)
                .max_rd_atomic(1)
                .max_dest_rd_atomic(1);
            pair.connect(&attributes)?;
        }
        Ok(())
    }
}
