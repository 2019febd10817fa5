//! A card that sends, and cards that receive, in simulated time.

use arrow_array::RecordBatch;
use drdma_abi::receive::FEATURES;
use drdma_arrow::{
    AppendReceiver, Arena, Foreign, Format, ReceiveError, Received, Receiver, Selection, Sender,
    Sent,
};
use libdrdma::{
    Access, Card, CardError, CompletionQueue, Context, DmaMemory, Features, MacAddress, Options,
    ProtectionDomain, QueuePair, QueuePairAttributes, SharedReceiveQueue, SharedSendQueue, Status,
    simulated::SimulatedCard,
};

/// Nanoseconds from one card to another.
const DELAY: u64 = 500;

/// Memory for what senders copy, and what tests make there.
static MEMORY: libdrdma::Arena = libdrdma::Arena::new(256 << 20);

/// A card and what belongs to it.
pub struct Node {
    pub card: SimulatedCard,
    pub pd: ProtectionDomain,
    pub cq: CompletionQueue,
    number: u8,
}

impl Node {
    fn new(number: u8) -> Self {
        let card = SimulatedCard::new();
        let mut options = Options::new(mac(number), [10, 0, 0, number].into());
        options.ack_timeout = 0;
        let context = Context::open(card.card(), options).unwrap();
        let pd = context.protection_domain();
        let cq = context.completion_queue().build().unwrap();
        Self { card, pd, cq, number }
    }
}

fn mac(number: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, number])
}

/// A sender with one connection to each of some receivers.
pub struct Lab {
    pub sender: Sender,
    pub queue: SharedSendQueue<'static>,
    pub pairs: Vec<QueuePair<'static>>,
    pub receivers: Vec<Receiver>,
    /// Receivers of appended rows; a lab has receivers of one kind only.
    pub appenders: Vec<AppendReceiver>,
    /// The receiving ends, one a receiver.
    pub ends: Vec<QueuePair<'static>>,
    pub arena: Arena,
    pub nodes: Vec<Node>,
    now: u64,
    /// True for the numbers of frames that are lost.
    pub lost: fn(u64) -> bool,
    /// Frames that were sent so far.
    pub frames: u64,
}

impl Lab {
    pub fn new(format: &Format, receivers: usize, slabs: usize) -> Self {
        Self::with(format, receivers, slabs, Foreign::Copy)
    }

    pub fn with(format: &Format, receivers: usize, slabs: usize, foreign: Foreign) -> Self {
        let mut lab = Self::of_nodes(format, receivers, foreign);
        for to in 1..=receivers {
            let receiver = Receiver::new(format.clone(), &lab.nodes[to].pd, slabs).unwrap();
            lab.connect(to, receiver.queue());
            lab.receivers.push(receiver);
        }
        lab
    }

    /// Makes a lab with receivers of appended rows: their segments, messages of a segment, and rows of a batch.
    pub fn appending(
        format: &Format,
        receivers: usize,
        (segments, messages, batch_rows): (usize, usize, usize),
        foreign: Foreign,
    ) -> Self {
        let mut lab = Self::of_nodes(format, receivers, foreign);
        for to in 1..=receivers {
            let (format, pd) = (format.clone(), &lab.nodes[to].pd);
            let receiver = AppendReceiver::new(format, pd, segments, messages, batch_rows).unwrap();
            lab.connect(to, receiver.queue());
            lab.appenders.push(receiver);
        }
        lab
    }

    fn of_nodes(format: &Format, receivers: usize, foreign: Foreign) -> Self {
        let nodes: Vec<Node> = (0..=receivers as u8).map(|number| Node::new(number + 1)).collect();
        let from = &nodes[0];
        let arena = Arena::over(&from.pd, &MEMORY).unwrap();
        Self {
            sender: Sender::new(format.clone(), &from.pd, &arena, foreign),
            queue: from.pd.shared_send_queue(&from.cq).build().unwrap(),
            pairs: Vec::new(),
            receivers: Vec::new(),
            appenders: Vec::new(),
            ends: Vec::new(),
            arena,
            nodes,
            now: 0,
            lost: |_| false,
            frames: 0,
        }
    }

    /// Makes a connection of the sender to that node, which is the next one, with receives of `queue`.
    fn connect(&mut self, to: usize, queue: &SharedReceiveQueue<'static>) {
        let (from, to) = (&self.nodes[0], &self.nodes[to]);
        let pair = from.pd.queue_pair(&from.cq).build().unwrap();
        let end = to.pd.queue_pair(&to.cq).shared_receive_queue(queue).build().unwrap();
        self.pairs.push(pair);
        self.ends.push(end);
        self.connect_anew(usize::from(to.number) - 2);
    }

    /// Connects the queue pairs of that receiver, once more if they were connected.
    pub fn connect_anew(&mut self, receiver: usize) {
        let (pair, end) = (&mut self.pairs[receiver], &mut self.ends[receiver]);
        pair.connect(&attributes(receiver as u8 + 2, end.qpn())).unwrap();
        end.connect(&attributes(1, pair.qpn())).unwrap();
    }

    /// Closes the connection to that receiver and makes another one with its queue, for batches of this format.
    pub fn replace_connection(&mut self, receiver: usize, format: &Format) {
        let (from, to) = (&self.nodes[0], &self.nodes[receiver + 1]);
        let queue = match self.receivers.get(receiver) {
            Some(receiver) => receiver.queue(),
            None => self.appenders[receiver].queue(),
        };
        let end = to.pd.queue_pair(&to.cq).shared_receive_queue(queue).build().unwrap();
        self.ends[receiver] = end;
        self.pairs[receiver] = from.pd.queue_pair(&from.cq).build().unwrap();
        self.sender = Sender::new(format.clone(), &from.pd, &self.arena, Foreign::Copy);
        self.connect_anew(receiver);
    }

    /// Connects the queue pairs of that receiver once more, for batches of this format.
    pub fn reuse_connection(&mut self, receiver: usize, format: &Format) {
        let pd = &self.nodes[0].pd;
        self.sender = Sender::new(format.clone(), pd, &self.arena, Foreign::Copy);
        self.connect_anew(receiver);
    }

    /// Posts a batch; receiver `i` gets partition `i`.
    pub fn send(
        &mut self,
        batch: &RecordBatch,
        selection: &Selection,
    ) -> Result<Sent, drdma_arrow::SendError> {
        let to: Vec<_> = (0..).zip(&self.pairs).collect();
        self.sender.send(&mut self.queue, 7, batch, selection, &to)
    }

    /// Advances time until no event is left, and returns the batches of each receiver.
    pub fn run(&mut self) -> Vec<Vec<RecordBatch>> {
        let results = self.try_run();
        let batch = |result: Result<Received, ReceiveError>| result.unwrap().batch;
        results.into_iter().map(|results| results.into_iter().map(batch).collect()).collect()
    }

    /// Like [`run`](Self::run), but returns errors of receivers as well.
    pub fn try_run(&mut self) -> Vec<Vec<Result<Received, ReceiveError>>> {
        let mut results: Vec<Vec<_>> = self.receivers.iter().map(|_| Vec::new()).collect();
        loop {
            for (receiver, results) in self.receivers.iter_mut().zip(&mut results) {
                results.extend(std::iter::from_fn(|| receiver.poll().transpose()));
            }
            if !self.step() {
                return results;
            }
        }
    }

    /// Advances time until no event is left, and returns the batches and errors of each receiver of appended rows.
    pub fn run_appended(&mut self) -> Vec<Vec<Result<RecordBatch, ReceiveError>>> {
        let mut results: Vec<Vec<_>> = self.appenders.iter().map(|_| Vec::new()).collect();
        loop {
            for (receiver, results) in self.appenders.iter_mut().zip(&mut results) {
                results.extend(std::iter::from_fn(|| receiver.poll().transpose()));
            }
            if !self.step() {
                return results;
            }
        }
    }

    /// Lets time go on without looking at the receivers.
    pub fn step(&mut self) -> bool {
        let next = self.nodes.iter().filter_map(|node| node.card.next_event_ns()).min();
        let Some(next) = next else { return false };
        self.now = next.max(self.now);
        for from in &self.nodes {
            from.card.advance_to(self.now);
            for sent in from.card.take_sent() {
                self.frames += 1;
                if (self.lost)(self.frames) {
                    continue;
                }
                let to = usize::from(sent.bytes[5]) - 1;
                self.nodes[to].card.deliver(sent.bytes, sent.time_ns + DELAY);
            }
        }
        true
    }

    /// The statuses of what the sender posted, as far as it has completed.
    pub fn statuses(&self) -> Vec<Status> {
        self.nodes[0].cq.poll().map(|completion| completion.status).collect()
    }

    /// Sends a batch and receives it: what each receiver got, which is at most one batch.
    pub fn shuffle(
        &mut self,
        batch: &RecordBatch,
        selection: &Selection,
    ) -> (Sent, Vec<Option<RecordBatch>>) {
        let sent = self.send(batch, selection).unwrap();
        let received = self.run();
        let statuses = vec![Status::Success; sent.completions as usize];
        assert_eq!(self.statuses(), statuses);
        let one = |mut batches: Vec<RecordBatch>| {
            assert!(batches.len() <= 1, "{} batches", batches.len());
            batches.pop()
        };
        (sent, received.into_iter().map(one).collect())
    }
}

/// The attributes of a queue pair whose peer is `qpn` at that node.
fn attributes(node: u8, qpn: u32) -> QueuePairAttributes {
    QueuePairAttributes::new()
        .path_mtu(1024)
        .dest_qpn(qpn)
        .dest_mac(mac(node))
        .dest_ip([10, 0, 0, node].into())
        .start_psn(0)
        .rq_psn(0)
        .access(Access::empty())
        .min_rnr_timer(1)
        .max_dest_rd_atomic(1)
        .timeout(4)
        .retry_cnt(7)
        .rnr_retry(7)
        .max_rd_atomic(1)
}

/// A card that lacks these features.
pub struct Without(pub Features, pub Box<dyn Card>);

impl Card for Without {
    fn read(&mut self, offset: u32) -> Result<u32, CardError> {
        let missing = if offset == FEATURES.offset { self.0.bits() } else { 0 };
        Ok(self.1.read(offset)? & !missing)
    }

    fn write(&mut self, offset: u32, value: u32) -> Result<(), CardError> {
        self.1.write(offset, value)
    }

    fn map(&mut self, iova: u64, memory: &DmaMemory) -> Result<(), CardError> {
        self.1.map(iova, memory)
    }

    fn unmap(&mut self, iova: u64) -> Result<(), CardError> {
        self.1.unmap(iova)
    }

    fn progress(&mut self) -> Result<(), CardError> {
        self.1.progress()
    }
}
