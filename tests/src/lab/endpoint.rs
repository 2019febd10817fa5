//! The card of this machine as the guest's peer: queue pairs and memory that the guest sends to.

use std::time::Instant;

use drdma_cli::cable::Cable;
use libdrdma::{
    Access, CompletionQueue, Context, MacAddress, MemoryRegion, ProtectionDomain, QueuePair,
    QueuePairAttributes, Transport, WorkCompletion,
};

use super::{Lab, MTU, PATIENCE, QKEY, peer::PeerQueuePair};

/// Turns of the card after which the guest is asked again.
const TURNS: usize = 100;

/// The first sequence numbers of the guest's queue pairs and of the card's: they wrap soon.
pub const PSNS: [u32; 2] = [0xff_fffa, 0xff_fffd];

/// A card, its cable, and one completion queue for everything.
pub struct Endpoint {
    cable: Cable,
    /// Protection domain of all memory and queue pairs.
    pub pd: ProtectionDomain,
    /// Completion queue of all requests and receives.
    pub cq: CompletionQueue,
    /// Context of the card.
    pub context: Context,
    /// Completions so far.
    pub completions: Vec<WorkCompletion>,
}

impl Endpoint {
    pub(super) fn new(cable: Cable, context: Context) -> Self {
        let pd = context.protection_domain();
        let cq = context.completion_queue().entries(1024).build().expect("a completion queue");
        Self { cable, pd, cq, context, completions: Vec::new() }
    }

    /// Memory with all rights, each byte of which is `byte`.
    pub fn memory(&self, len: usize, byte: u8) -> MemoryRegion {
        self.memory_with(len, byte, Access::all())
    }

    /// Memory with these rights for peers.
    pub fn memory_with(&self, len: usize, byte: u8, access: Access) -> MemoryRegion {
        self.pd.register_with(vec![byte; len], access).expect("memory")
    }

    /// A queue pair, connected to a new one of the guest's that is ready to send. The guest's sends again after
    /// `timeout` (a code), if it is RC.
    pub fn connect<'m>(
        &self,
        lab: &mut Lab,
        transport: Transport,
        access: Access,
        timeout: u8,
    ) -> (QueuePair<'m>, PeerQueuePair) {
        let qpn = lab.new_qpn();
        let builder = self.pd.queue_pair(&self.cq).transport(transport).qpn(qpn);
        let mut qp = builder.receive(&self.cq).receive_blocks(512).build().expect("a queue pair");
        let peer = match transport {
            Transport::Ud => lab.peer.ud(QKEY),
            _ => lab.peer.rc(qpn, PSNS[1], MTU, true),
        };
        let plain = QueuePairAttributes::new()
            .path_mtu(MTU)
            .dest_qpn(peer.qpn)
            .dest_mac(MacAddress([2, 0, 0, 0, 0, 2]))
            .dest_ip([10, 0, 0, 2].into())
            .start_psn(PSNS[1]);
        let attributes = match transport {
            Transport::Ud => plain.qkey(QKEY),
            _ => plain.rq_psn(PSNS[0]).access(access).min_rnr_timer(12).max_dest_rd_atomic(16),
        };
        qp.connect(&attributes).expect("the queue pair can be connected");
        lab.peer.ready(&peer, PSNS[0], timeout);
        (qp, peer)
    }

    /// Serves the card and its cable once.
    pub fn turn(&mut self) {
        self.completions.extend(self.cq.poll());
        self.cq.progress().expect("the card works");
        self.cable.serve().expect("the wire works");
    }

    /// Serves the card until `done` returns true.
    ///
    /// # Panics
    /// If that takes longer than any step in the lab.
    pub fn serve_until(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) {
        let started = Instant::now();
        while !done(self) {
            let completions = &self.completions;
            assert!(started.elapsed() < PATIENCE, "{what}: did not come: {completions:?}");
            (0..TURNS).for_each(|_| self.turn());
        }
    }
}

/// All bytes of a memory region.
pub fn bytes(memory: &MemoryRegion) -> Vec<u8> {
    let mut bytes = vec![0; memory.len()];
    memory.read_at(0, &mut bytes);
    bytes
}
