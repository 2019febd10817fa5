//! Two cards in simulated time, and a wire between them that loses, duplicates and damages frames
//! as the test says.

use libdrdma::{
    Access, CompletionQueue, Context, Contiguous, MacAddress, MemoryRegion, Options,
    ProtectionDomain, QueuePair, QueuePairAttributes, Region, Status, Transport, WorkCompletion,
    network::CapturedFrame, simulated::SimulatedCard,
};

/// Nanoseconds from one card to the other.
pub const DELAY: u64 = 500;
/// First sequence numbers of the first and the second queue pair: they wrap soon.
pub const PSNS: [u32; 2] = [0xff_fffd, 7];

/// Called with card, number and bytes of a frame; returns the frames that arrive instead.
pub type Fate = Box<dyn FnMut(usize, u64, Vec<u8>) -> Vec<Vec<u8>>>;

pub struct Lab {
    pub nodes: [Node; 2],
    pub fate: Fate,
    /// Frames that each card sent so far.
    pub frames: [Vec<CapturedFrame>; 2],
    pub now: u64,
    /// Seed of additional delays of frames, up to 2 us, by which frames overtake each other.
    pub overtaking: Option<u64>,
}

pub struct Node {
    pub card: SimulatedCard,
    pub context: Context,
    pub pd: ProtectionDomain,
    pub cq: CompletionQueue,
}

impl Node {
    fn new(number: u8) -> Self {
        let card = SimulatedCard::new();
        let mac = MacAddress([2, 0, 0, 0, 0, number]);
        let mut options = Options::new(mac, [10, 0, 0, number].into());
        options.ack_timeout = 0;
        let context = Context::open(card.card(), options).unwrap();
        let pd = context.protection_domain();
        let cq = context.completion_queue().build().unwrap();
        Self { card, context, pd, cq }
    }

    /// Registers memory of those bytes with all rights.
    pub fn memory(&self, bytes: &[u8]) -> MemoryRegion {
        self.pd.register_with(bytes.to_vec(), Access::all()).unwrap()
    }

    /// Polls all completions: name, status, bytes.
    pub fn polled(&self) -> Vec<(u64, Status, u64)> {
        self.completions().iter().map(|c| (c.wr_id, c.status, c.bytes)).collect()
    }

    pub fn completions(&self) -> Vec<WorkCompletion> {
        self.cq.poll().collect()
    }
}

/// All bytes of a memory region.
pub fn bytes(memory: &MemoryRegion) -> Vec<u8> {
    let mut bytes = vec![0; memory.len()];
    memory.read_at(0, &mut bytes);
    bytes
}

/// Returns bytes of a pattern that repeats late.
pub fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + i / 251) as u8).collect()
}

/// Makes a region of all of a memory region.
pub fn all(memory: &MemoryRegion) -> [Region<'_>; 1] {
    [Contiguous::new(memory).build().unwrap()]
}

/// Attributes of a queue pair of card `own`, for the peer `qpn` on the other card.
pub fn attributes(own: usize, qpn: u32) -> QueuePairAttributes {
    let other = 2 - own as u8;
    QueuePairAttributes::new()
        .path_mtu(256)
        .dest_qpn(qpn)
        .dest_mac(MacAddress([2, 0, 0, 0, 0, other]))
        .dest_ip([10, 0, 0, other].into())
        .start_psn(PSNS[own])
}

/// Adds all attributes of receiving on RC.
pub fn reliable(attributes: QueuePairAttributes, own: usize) -> QueuePairAttributes {
    attributes
        .rq_psn(PSNS[1 - own])
        .access(Access::all())
        .min_rnr_timer(1)
        .max_dest_rd_atomic(4)
        .timeout(4)
        .retry_cnt(3)
        .rnr_retry(3)
        .max_rd_atomic(4)
}

impl Lab {
    pub fn new() -> Self {
        Self {
            nodes: [Node::new(1), Node::new(2)],
            fate: Box::new(|_, _, frame| vec![frame]),
            frames: [Vec::new(), Vec::new()],
            now: 0,
            overtaking: None,
        }
    }

    /// Two queue pairs that are connected and receive.
    pub fn connected<'m>(&self, transport: Transport) -> [QueuePair<'m>; 2] {
        self.connected_with(transport, |_, attributes| attributes)
    }

    /// Like [`connected`](Self::connected), with other attributes.
    pub fn connected_with<'m>(
        &self,
        transport: Transport,
        change: impl Fn(usize, QueuePairAttributes) -> QueuePairAttributes,
    ) -> [QueuePair<'m>; 2] {
        let mut pairs = self.nodes.each_ref().map(|node| {
            let builder = node.pd.queue_pair(&node.cq).transport(transport);
            builder.receive(&node.cq).receive_blocks(16).build().unwrap()
        });
        let qpns = [pairs[1].qpn(), pairs[0].qpn()];
        for (own, (pair, qpn)) in pairs.iter_mut().zip(qpns).enumerate() {
            let plain = attributes(own, qpn);
            let attributes = match transport {
                Transport::Rc => reliable(plain, own),
                Transport::Uc => plain.rq_psn(PSNS[1 - own]).access(Access::all()),
                Transport::Ud => plain.qkey(0x77),
            };
            pair.connect(&change(own, attributes)).unwrap();
        }
        pairs
    }

    /// Advances the time until no event is due.
    pub fn run(&mut self) {
        while self.step() {}
    }

    /// Like [`run`](Self::run), but up to that time.
    pub fn run_to(&mut self, ns: u64) {
        while self.next().is_some_and(|next| next <= ns) {
            self.step();
        }
        self.now = ns;
        self.nodes.iter().for_each(|node| node.card.advance_to(ns));
    }

    fn next(&self) -> Option<u64> {
        self.nodes.iter().filter_map(|node| node.card.next_event_ns()).min()
    }

    fn step(&mut self) -> bool {
        let Some(next) = self.next() else { return false };
        self.now = next.max(self.now);
        for from in 0..2 {
            self.nodes[from].card.advance_to(self.now);
            for sent in self.nodes[from].card.take_sent() {
                let number = self.frames[from].len() as u64;
                self.frames[from].push(sent.clone());
                for frame in (self.fate)(from, number, sent.bytes) {
                    let longer = self.overtaking.as_mut().map_or(0, |state| {
                        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        if *state >> 60 == 0 { *state >> 33 & 0x7ff } else { 0 }
                    });
                    self.nodes[1 - from].card.deliver(frame, sent.time_ns + DELAY + longer);
                }
            }
        }
        true
    }

    /// Loses frames of a card, by number.
    pub fn lose(&mut self, card: usize, numbers: &[u64]) {
        let numbers = numbers.to_vec();
        self.fate =
            Box::new(
                move |from, number, frame| {
                    if from == card && numbers.contains(&number) { vec![] } else { vec![frame] }
                },
            );
    }

    /// Opcodes of the frames that a card sent.
    pub fn opcodes(&self, card: usize) -> Vec<u8> {
        self.frames[card].iter().map(|frame| frame.bytes[42]).collect()
    }

    /// The sequence numbers of the frames that a card sent.
    pub fn psns(&self, card: usize) -> Vec<u32> {
        let psn = |frame: &CapturedFrame| {
            u32::from_be_bytes(frame.bytes[50..54].try_into().unwrap()) & 0xff_ffff
        };
        self.frames[card].iter().map(psn).collect()
    }

    /// The syndromes of the acknowledgements that a card sent.
    pub fn syndromes(&self, card: usize) -> Vec<u8> {
        let acks = self.frames[card].iter().filter(|frame| frame.bytes[42] == 0x11);
        acks.map(|frame| frame.bytes[54]).collect()
    }
}
