//! Queues and memory that are removed while the card works for them: no read or write of the card ever finds
//! its memory gone, and no byte that was given back is sent.

use std::sync::{Arc, Mutex};

use drdma_sim::{
    Slot,
    wire::{Behaviour, Network, PeerConfig},
};
use drdma_soft::host::Faults;
use libdrdma::{
    Card, CardError, CompletionQueue, Context, Contiguous, Destination, DmaMemory, MacAddress,
    MemoryRegion, Options, ProtectionDomain, QueuePair, QueuePairAttributes, SharedWorkRequest,
    Strided, Transport, WorkRequest,
};

const BYTES: usize = 64 << 10;
/// Calls of `progress` before everything is removed: from nothing begun to nearly all sent.
const MOMENTS: [u32; 5] = [0, 1, 2, 4, 12];

/// A card that reports the accesses that found no memory.
struct Watched {
    slot: Box<dyn Slot>,
    faults: Arc<Mutex<Faults>>,
}

impl Watched {
    fn look<T>(&mut self, result: Result<T, CardError>) -> Result<T, CardError> {
        *self.faults.lock().unwrap() = self.slot.host().faults();
        result
    }
}

impl Card for Watched {
    fn read(&mut self, offset: u32) -> Result<u32, CardError> {
        let read = self.slot.read(offset);
        self.look(read)
    }

    fn write(&mut self, offset: u32, value: u32) -> Result<(), CardError> {
        let written = self.slot.write(offset, value);
        self.look(written)
    }

    fn map(&mut self, iova: u64, memory: &DmaMemory) -> Result<(), CardError> {
        self.slot.map(iova, memory)
    }

    fn unmap(&mut self, iova: u64) -> Result<(), CardError> {
        self.slot.unmap(iova)
    }

    fn progress(&mut self) -> Result<(), CardError> {
        let progress = self.slot.progress();
        self.look(progress)
    }
}

struct Bench {
    network: Network,
    faults: Arc<Mutex<Faults>>,
    context: Context,
    pd: ProtectionDomain,
    cq: CompletionQueue,
}

impl Bench {
    fn new(uri: &str) -> Self {
        let network = Network::new();
        let slot = drdma_sim::open_slot(uri, network.clone()).unwrap();
        let faults = Arc::default();
        let card = Watched { slot, faults: Arc::clone(&faults) };
        let options = Options::new(MacAddress([2, 0, 0, 0, 0, 1]), [10, 0, 0, 1].into());
        let context = Context::open(Box::new(card), options).unwrap();
        let pd = context.protection_domain();
        let cq = context.completion_queue().build().unwrap();
        Self { network, faults, context, pd, cq }
    }

    fn connected<'m>(&self, behaviour: Behaviour) -> QueuePair<'m> {
        let mut peer = PeerConfig::new(Transport::Rc, 0x0200_0000_0002, 0x0a00_0002, 33, 17);
        peer.behaviour = behaviour;
        self.network.add_peer(peer);
        let mut qp = self.pd.queue_pair(&self.cq).qpn(17).build().unwrap();
        let attributes = QueuePairAttributes::new()
            .path_mtu(1024)
            .dest_qpn(33)
            .dest_mac(MacAddress([2, 0, 0, 0, 0, 2]))
            .dest_ip([10, 0, 0, 2].into())
            .start_psn(0);
        qp.connect(&attributes).unwrap();
        qp
    }

    fn memory(&self) -> MemoryRegion {
        let mut memory = self.pd.allocate(BYTES).unwrap();
        memory.as_slice_mut().unwrap().fill(0x11);
        memory
    }

    fn progress(&self, times: u32) {
        (0..times).for_each(|_| self.context.progress().unwrap());
    }

    fn check_faults(&self, moment: u32) {
        assert_eq!(*self.faults.lock().unwrap(), Faults::default(), "after {moment} looks");
    }
}

fn a_queue_pair_and_its_memory_may_go_at_any_moment(uri: &str) {
    for behaviour in [Behaviour::Normal, Behaviour::Dead] {
        let bench = Bench::new(uri);
        for moment in MOMENTS {
            let memory = bench.memory();
            let mut qp = bench.connected(behaviour);
            let whole = [Contiguous::new(&memory).build().unwrap()];
            let rows = Strided::new(&memory).period(64).count(1024).extent(8, 8).extent(40, 4);
            let rows = [rows.build().unwrap()];
            for (wr_id, regions) in [&whole, &rows, &whole].into_iter().enumerate() {
                let request = WorkRequest::new(wr_id as u64).rows_per_message(64);
                qp.post_send(&request.regions(regions)).unwrap();
            }
            bench.progress(moment);
            drop(qp);
            drop(memory);
            // The new memory takes any free addresses, and must not see a byte of the card's.
            let fresh = bench.pd.allocate(BYTES).unwrap();
            bench.progress(30);
            bench.check_faults(moment);
            let mut bytes = vec![1; BYTES];
            fresh.read_at(0, &mut bytes);
            assert!(bytes.iter().all(|byte| *byte == 0), "after {moment} looks");
            assert_eq!(bench.cq.poll().filter(|completion| completion.wr_id > 2).count(), 0);
        }
    }
}

fn a_shared_queue_sends_nothing_of_memory_that_it_gave_back(uri: &str) {
    let bench = Bench::new(uri);
    let red = bench.connected(Behaviour::Normal);
    let mut ssq = bench.pd.shared_send_queue(&bench.cq).build().unwrap();
    for moment in MOMENTS {
        let mut memory = bench.memory();
        let mut lent = ssq.release().unwrap();
        let whole = [Contiguous::new(&memory).build().unwrap()];
        let destinations = [Destination::new(&red).regions(&whole)];
        let request = SharedWorkRequest::new(1).destinations(&destinations);
        (0..2).for_each(|_| lent.post_ssq_send(&request).unwrap());
        bench.progress(moment);
        ssq = lent.release().unwrap();
        memory.as_slice_mut().unwrap().fill(0xee);
        drop(memory);
        bench.progress(30);
        bench.check_faults(moment);
        bench.cq.poll().for_each(drop);
    }
    for peer in bench.network.peers() {
        for message in bench.network.messages(peer) {
            assert!(message.bytes.iter().all(|byte| *byte == 0x11));
        }
    }
}

#[test]
fn a_queue_pair_and_its_memory_may_go_at_any_moment_on_soft() {
    a_queue_pair_and_its_memory_may_go_at_any_moment("soft:?cycles=256");
}

#[test]
fn a_queue_pair_and_its_memory_may_go_at_any_moment_on_rtl() {
    a_queue_pair_and_its_memory_may_go_at_any_moment("rtl:");
}

#[test]
fn a_shared_queue_sends_nothing_of_memory_that_it_gave_back_on_soft() {
    a_shared_queue_sends_nothing_of_memory_that_it_gave_back("soft:?cycles=256");
}

#[test]
fn a_shared_queue_sends_nothing_of_memory_that_it_gave_back_on_rtl() {
    a_shared_queue_sends_nothing_of_memory_that_it_gave_back("rtl:");
}
