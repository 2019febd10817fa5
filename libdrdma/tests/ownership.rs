//! Ownership and lifetimes: memory that comes and goes while queues stay, owners that are given
//! back, and queue pairs that are dropped while requests name them.

mod common;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use common::{connected, open_all, peer, polled};
use libdrdma::network::{Network, PeerConfig, PeerId};
use libdrdma::{
    Bitmapped, CardError, CompletionQueue, Context, Contiguous, Destination, DmaMemory, MacAddress,
    MemoryRegion, MemoryRegionError, Options, Owner, PartitionDestination, Partitioned,
    PartitionedWorkRequest, ProtectionDomain, QueuePair, QueuePairAttributes, SharedSendQueue,
    SharedWorkRequest, Sharing, Status, Transport, WorkRequest,
};

const SECOND: Duration = Duration::from_secs(1);

/// Zeroed memory that notes when it is dropped.
struct Told {
    bytes: Vec<u8>,
    drops: Arc<AtomicUsize>,
}

// SAFETY: the bytes are the vector's.
unsafe impl Owner for Told {
    const SHARING: Sharing = Sharing::Exclusive;

    fn memory(&mut self) -> (*mut u8, usize) {
        self.bytes.memory()
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Ordering::SeqCst);
    }
}

/// Memory regions whose memory counts its drops.
struct Drops(Arc<AtomicUsize>);

impl Drops {
    fn new() -> Self {
        Self(Arc::default())
    }

    fn memory(&self, pd: &ProtectionDomain) -> Arc<MemoryRegion> {
        let told = Told { bytes: vec![0; 100], drops: self.0.clone() };
        Arc::new(pd.register(told).unwrap())
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// An engine that is connected once and allocates for every query: the struct has no lifetime.
struct Engine {
    network: Network,
    peers: [PeerId; 2],
    pd: ProtectionDomain,
    cq: CompletionQueue,
    qps: [QueuePair<'static>; 2],
    ssq: SharedSendQueue<'static>,
}

impl Engine {
    fn new() -> Self {
        let network = Network::new();
        let card = libdrdma::open_on("soft:", &network).unwrap();
        let options = Options::new(MacAddress([2, 0, 0, 0, 0, 1]), [10, 0, 0, 1].into());
        let context = Context::open(card, options).unwrap();
        let pd = context.protection_domain();
        let cq = context.completion_queue().build().unwrap();
        let [(red, red_qp), (blue, blue_qp)] = [2, 3].map(|n| connect(&network, &pd, &cq, n));
        let (peers, qps) = ([red, blue], [red_qp, blue_qp]);
        let ssq = pd.shared_send_queue(&cq).build().unwrap();
        Self { network, peers, pd, cq, qps, ssq }
    }

    /// Shuffles the rows of a query's result by their lowest bit.
    fn query(&mut self, wr_id: u64, rows: Vec<u32>) {
        let bitmap = |bit| {
            let bits = rows.chunks(8).map(|rows| {
                rows.iter().rev().fold(0, |byte: u8, row| byte << 1 | u8::from(row & 1 == bit))
            });
            Arc::new(self.pd.register(bits.collect::<Vec<u8>>()).unwrap())
        };
        let bitmaps = [bitmap(0), bitmap(1)];
        let count = rows.len() as u64;
        let column = Arc::new(self.pd.register(rows).unwrap());
        let regions = bitmaps.map(|bitmap| {
            [Bitmapped::new(bitmap).rows(count).column(&column, 0, 4).build().unwrap()]
        });
        let destinations =
            [0, 1].map(|i: usize| Destination::new(&self.qps[i]).regions(&regions[i]));
        let request = SharedWorkRequest::new(wr_id).rows_per_message(100);
        self.ssq.post_ssq_send(&request.destinations(&destinations)).unwrap();
    }
}

fn connect<'m>(
    network: &Network,
    pd: &ProtectionDomain,
    cq: &CompletionQueue,
    n: u8,
) -> (PeerId, QueuePair<'m>) {
    let (mac, ip) = (0x0200_0000_0000 + u64::from(n), 0x0a00_0000 + u32::from(n));
    let qpn = 0x100 + u32::from(n);
    let peer = network.add_peer(PeerConfig::new(Transport::Rc, mac, ip, 33, qpn));
    let mut qp = pd.queue_pair(cq).qpn(qpn).build().unwrap();
    qp.connect(&attributes(n)).unwrap();
    (peer, qp)
}

fn attributes(n: u8) -> QueuePairAttributes {
    QueuePairAttributes::new()
        .path_mtu(1024)
        .dest_qpn(33)
        .dest_mac(MacAddress([2, 0, 0, 0, 0, n]))
        .dest_ip([10, 0, 0, n].into())
        .start_psn(0)
}

#[test]
fn an_engine_connects_once_and_allocates_for_every_query() {
    let mut engine = Engine::new();
    let mut expected = [Vec::new(), Vec::new()];
    for query in 0..20_u32 {
        let rows: Vec<u32> = (0..100).map(|row| row * 7919 + query).collect();
        for row in &rows {
            expected[(row & 1) as usize].extend(row.to_le_bytes());
        }
        engine.query(query.into(), rows);
    }
    let completions = engine.cq.wait(20, SECOND).unwrap();
    assert!(completions.iter().all(|completion| completion.status == Status::Success));
    assert_eq!(completions.len(), 20);
    for (peer, expected) in engine.peers.into_iter().zip(expected) {
        let messages = engine.network.messages(peer).into_iter();
        assert_eq!(messages.flat_map(|message| message.bytes).collect::<Vec<u8>>(), expected);
    }
}

#[test]
fn shared_memory_is_kept_until_its_completion_was_polled() {
    let (context, card, pd, cq) = open_all();
    let mut qp: QueuePair<'static> = connected(&pd, &cq, 64);
    let drops = Drops::new();
    let mapped = card.state().maps.len();
    for wr_id in 0..3 {
        let region = Contiguous::new(drops.memory(&pd)).build().unwrap();
        let regions = [region.clone(), region];
        qp.post_send(&WorkRequest::new(wr_id).regions(&regions)).unwrap();
    }
    assert_eq!((drops.count(), card.state().maps.len()), (0, mapped + 3));
    card.state().budget = Some(2);
    context.progress().unwrap();
    assert_eq!(drops.count(), 0, "completed, but not polled");
    assert_eq!(cq.poll().next().unwrap().wr_id, 0);
    assert_eq!(drops.count(), 1);
    assert_eq!(polled(&cq).len(), 1);
    assert_eq!((drops.count(), card.state().maps.len()), (2, mapped + 1));
    drop(qp);
    assert_eq!((drops.count(), card.state().maps.len()), (3, mapped - 1));
}

#[test]
fn every_memory_of_a_region_is_kept() {
    let (context, _, pd, cq) = open_all();
    let qp = connected(&pd, &cq, 64);
    let mut ssq: SharedSendQueue<'static> = pd.shared_send_queue(&cq).build().unwrap();
    let drops = Drops::new();
    let memory = || drops.memory(&pd);
    let rows = Bitmapped::new(memory()).rows(8).fetch_rows(memory(), 0);
    let rows = [rows.column(memory(), 0, 1).column(memory(), 0, 1).build().unwrap()];
    let pointers = libdrdma::PointerMapped::new(memory(), memory()).count(1).extent(0, 1);
    let pointers = [pointers.build().unwrap()];
    let strided = [libdrdma::Strided::new(memory()).period(1).extent(0, 1).build().unwrap()];
    for regions in [&rows, &pointers, &strided] {
        let destinations = [Destination::new(&qp).regions(regions)];
        ssq.post_ssq_send(&SharedWorkRequest::new(1).destinations(&destinations)).unwrap();
    }
    let ids = Partitioned::<u8>::new(memory()).rows(8).column(memory(), 0, 1).build().unwrap();
    let destinations = [PartitionDestination::new(&qp, 1)];
    let request = PartitionedWorkRequest::new(2, &ids).destinations(&destinations);
    ssq.post_ssq_send(&request).unwrap();
    drop((rows, pointers, strided, ids));
    assert_eq!(drops.count(), 0);
    context.progress().unwrap();
    let kept = [4, 6, 7, 9];
    for expected in kept {
        assert_eq!(cq.poll().next().unwrap().status, Status::Success);
        assert_eq!(drops.count(), expected);
    }
}

#[test]
fn what_is_not_posted_after_all_keeps_no_memory() {
    let (_, _, pd, cq) = open_all();
    let mut qp: QueuePair<'static> = connected(&pd, &cq, 64);
    let drops = Drops::new();
    let mut batch = qp.batch();
    let regions = [Contiguous::new(drops.memory(&pd)).build().unwrap()];
    batch.post_send(&WorkRequest::new(1).regions(&regions)).unwrap();
    drop(regions);
    assert_eq!(drops.count(), 0);
    drop(batch);
    assert_eq!(drops.count(), 1);
    let regions = [Contiguous::new(drops.memory(&pd)).build().unwrap()];
    assert!(qp.post_send(&WorkRequest::new(1).rows_per_message(0).regions(&regions)).is_err());
    drop(regions);
    assert_eq!(drops.count(), 2);
}

#[test]
fn flushed_requests_give_their_memory_back() {
    let (context, card, pd, cq) = open_all();
    let mut qp: QueuePair<'static> = connected(&pd, &cq, 64);
    let drops = Drops::new();
    card.state().outcomes.push_back((Status::LocalProtectionError, 0));
    for wr_id in 0..3 {
        let regions = [Contiguous::new(drops.memory(&pd)).build().unwrap()];
        qp.post_send(&WorkRequest::new(wr_id).regions(&regions)).unwrap();
    }
    context.progress().unwrap();
    assert_eq!(polled(&cq).len(), 3);
    assert_eq!(drops.count(), 3);
    // A reset leaves no memory behind, either.
    qp.connect(&peer()).unwrap();
    let regions = [Contiguous::new(drops.memory(&pd)).build().unwrap()];
    qp.post_send(&WorkRequest::new(9).regions(&regions)).unwrap();
    drop(regions);
    card.state().busy = 100;
    qp.connect(&peer()).unwrap();
    assert_eq!(drops.count(), 3, "the card may still be reading");
    card.state().busy = 0;
    context.progress().unwrap();
    assert_eq!(drops.count(), 4);
}

/// An owner whose drop uses the queue that kept it.
struct Reentrant(Vec<u8>, CompletionQueue);

// SAFETY: the bytes are the vector's.
unsafe impl Owner for Reentrant {
    const SHARING: Sharing = Sharing::Exclusive;

    fn memory(&mut self) -> (*mut u8, usize) {
        self.0.memory()
    }
}

impl Drop for Reentrant {
    fn drop(&mut self) {
        assert!(self.1.poll().next().is_none());
        assert!(self.1.outstanding() < 2);
    }
}

#[test]
fn an_owner_may_use_the_queue_when_it_is_dropped() {
    let (context, card, pd, cq) = open_all();
    let mut qp: QueuePair<'static> = connected(&pd, &cq, 64);
    for busy in [0, 100] {
        let owner = Reentrant(vec![0; 8], cq.clone());
        let memory = Arc::new(pd.register(owner).unwrap());
        let regions = [Contiguous::new(memory).build().unwrap()];
        qp.post_send(&WorkRequest::new(1).regions(&regions)).unwrap();
        drop(regions);
        match busy {
            0 => {
                context.progress().unwrap();
                assert_eq!(polled(&cq).len(), 1);
            }
            _ => {
                card.state().busy = busy;
                qp = qp.release().unwrap();
                card.state().busy = 0;
                assert_eq!(polled(&cq).len(), 1);
                context.progress().unwrap();
            }
        }
    }
}

/// Returns the queue pair that gets a given index, if one of the next 4,096 does.
fn next_owner(
    pd: &ProtectionDomain,
    cq: &CompletionQueue,
    index: u32,
) -> Option<QueuePair<'static>> {
    for _ in 0..4096 {
        match pd.queue_pair(cq).build() {
            Ok(qp) if qp.index() == index => return Some(qp),
            Ok(_) => {}
            Err(error) => assert!(error.to_string().contains("no free queue pair"), "{error}"),
        }
    }
    None
}

#[test]
fn a_posted_request_never_reaches_the_next_owner_of_a_queue_pairs_place() {
    let (context, card, pd, cq) = open_all();
    let red = connected(&pd, &cq, 1);
    let index = red.index();
    let mut ssq = pd.shared_send_queue(&cq).build().unwrap();
    let post = |ssq: &mut SharedSendQueue<'static>, red: &QueuePair| {
        let destinations = [Destination::new(red)];
        ssq.post_ssq_send(&SharedWorkRequest::new(1).destinations(&destinations)).unwrap();
    };
    post(&mut ssq, &red);
    drop(red);
    assert!(next_owner(&pd, &cq, index).is_none(), "the card has not looked at the request");
    context.progress().unwrap();
    assert!(next_owner(&pd, &cq, index).is_none(), "nor does anybody know that it has");
    assert_eq!(polled(&cq).len(), 1);
    let mut red = next_owner(&pd, &cq, index).expect("it is free again");
    red.connect(&peer()).unwrap();

    // The request is staged, but not yet posted.
    let mut batch = ssq.batch();
    let destinations = [Destination::new(&red)];
    batch.post_ssq_send(&SharedWorkRequest::new(1).destinations(&destinations)).unwrap();
    drop(red);
    assert!(next_owner(&pd, &cq, index).is_none());
    drop(batch);
    let mut red = next_owner(&pd, &cq, index).expect("nothing was posted");

    // A queue pair that is connected again has another index.
    red.connect(&peer()).unwrap();
    assert_eq!(red.index(), index);
    post(&mut ssq, &red);
    red.connect(&peer()).unwrap();
    let renewed = red.index();
    assert_ne!(renewed, index);
    red.post_send(&WorkRequest::new(7)).unwrap();
    context.progress().unwrap();
    let mut ids = polled(&cq);
    ids.sort_by_key(|(wr_id, _)| *wr_id);
    assert_eq!(ids, [(1, Status::Success), (7, Status::Success)]);
    assert_eq!(card.state().log.last().map(|logged| logged.header.wr_id), Some(7));
    red.connect(&peer()).unwrap();
    assert_eq!(red.index(), renewed, "and keeps it where nothing is posted");

    // A queue that was emptied names no queue pair.
    post(&mut ssq, &red);
    drop(red);
    ssq.reset().unwrap();
    assert!(next_owner(&pd, &cq, renewed).is_some());
}

#[test]
fn a_queue_pair_without_another_place_is_not_reset() {
    let (context, _, pd, cq) = open_all();
    let mut red = connected(&pd, &cq, 1);
    let mut ssq = pd.shared_send_queue(&cq).build().unwrap();
    let others: Vec<QueuePair> = (0..4094).map(|_| pd.queue_pair(&cq).build().unwrap()).collect();
    let destinations = [Destination::new(&red)];
    ssq.post_ssq_send(&SharedWorkRequest::new(1).destinations(&destinations)).unwrap();
    let index = red.index();
    red.connect(&peer()).unwrap();
    assert_ne!(red.index(), index, "the last place");
    let destinations = [Destination::new(&red)];
    ssq.post_ssq_send(&SharedWorkRequest::new(2).destinations(&destinations)).unwrap();
    let error = red.connect(&peer()).unwrap_err().to_string();
    let text = "the card has no free queue pair: all 4096 are in use, or named by posted requests";
    assert_eq!(error, text);
    assert_eq!(red.state(), libdrdma::QueuePairState::ReadyToSend, "it stayed as it was");
    context.progress().unwrap();
    assert_eq!(polled(&cq).len(), 2);
    red.connect(&peer()).unwrap();
    drop(others);
}

#[test]
fn data_for_a_queue_pair_that_was_dropped_reach_no_other_peer() {
    let mut engine = Engine::new();
    // Indexes are allocated in turn: the next one would be that of `red`.
    for _ in 0..4094 {
        engine.pd.queue_pair(&engine.cq).build().unwrap();
    }
    engine.query(1, (0..1000).collect());
    let [red, blue] = engine.qps;
    drop(red);
    // All further indexes go to another peer's queue pairs.
    let mut others = Vec::new();
    while let Ok(mut other) = engine.pd.queue_pair(&engine.cq).build() {
        other.connect(&attributes(9)).unwrap();
        others.push(other);
    }
    assert_eq!(others.len(), 4094);
    let completions = engine.cq.wait(1, SECOND).unwrap();
    assert_ne!(completions[0].status, Status::Success);
    assert_eq!(engine.network.errors(), [], "peer 9 got what was meant for peer 2");
    drop(blue);
}

#[test]
fn a_dead_peer_ends_in_an_error_unless_told_otherwise() {
    let network = Network::new();
    let mut config = PeerConfig::new(Transport::Rc, 0x0200_0000_0002, 0x0a00_0002, 33, 0x102);
    config.behaviour = libdrdma::network::Behaviour::Dead;
    network.add_peer(config);
    let card = libdrdma::open_on("soft:?cycles=65536", &network).unwrap();
    let options = Options::new(MacAddress([2, 0, 0, 0, 0, 1]), [10, 0, 0, 1].into());
    assert_eq!(options.ack_timeout, libdrdma::DEFAULT_ACK_TIMEOUT);
    let context = Context::open(card, options).unwrap();
    let pd = context.protection_domain();
    let cq = context.completion_queue().build().unwrap();
    let mut qp: QueuePair<'static> = pd.queue_pair(&cq).qpn(0x102).build().unwrap();
    qp.connect(&attributes(2)).unwrap();
    let memory = Arc::new(pd.allocate(64).unwrap());
    let regions = [Contiguous::new(memory).build().unwrap()];
    qp.post_send(&WorkRequest::new(1).regions(&regions)).unwrap();
    // The time-out is 131,072 units of 1,024 cycles, of which 64 pass in a call.
    for _ in 0..2040 {
        context.progress().unwrap();
    }
    assert_eq!(cq.poll().next(), None, "it is given its time");
    for _ in 0..20 {
        context.progress().unwrap();
    }
    assert_eq!(cq.poll().next().map(|c| c.status), Some(Status::RetryExceeded));
}

#[test]
fn an_owner_is_given_back_when_nobody_else_has_the_memory() {
    let (_, card, pd, _) = open_all();
    let mapped = card.state().maps.len();
    let memory = pd.register(vec![1_u32, 2, 3]).unwrap();
    assert_eq!(card.state().maps.len(), mapped + 1);
    let back: Vec<u32> = memory.into_owner().unwrap();
    assert_eq!((back, card.state().maps.len()), (vec![1, 2, 3], mapped));

    let fails = |memory: MemoryRegion| memory.into_owner::<Vec<u8>>().unwrap_err().to_string();
    let text = "the owner of the memory is not a `alloc::vec::Vec<u8>`";
    assert_eq!(fails(pd.register(vec![1_u16]).unwrap()), text);
    assert_eq!(fails(pd.allocate(8).unwrap()), text);
    let memory = pd.register(vec![0_u8; 10]).unwrap();
    let alias = memory.alias(0..1).unwrap();
    let text = "the memory of 10 B is shared with another memory region or handle";
    assert_eq!(fails(memory), text);
    drop(alias);
    assert_eq!(card.state().maps.len(), mapped);
}

#[test]
fn an_owner_is_not_given_back_while_the_card_may_be_reading() {
    let (context, card, pd, cq) = open_all();
    let mut qp: QueuePair<'static> = connected(&pd, &cq, 16);
    let memory = Arc::new(pd.register(vec![5_u8; 64]).unwrap());
    let regions = [Contiguous::new(&memory).build().unwrap()];
    qp.post_send(&WorkRequest::new(1).regions(&regions)).unwrap();
    drop(regions);
    assert!(Arc::strong_count(&memory) > 1, "the queue has it");
    card.state().busy = 100;
    drop(qp);
    let memory = Arc::into_inner(memory).expect("the queue is gone");
    let mapped = card.state().maps.len();
    let error = memory.into_owner::<Vec<u8>>().unwrap_err();
    assert!(matches!(error, MemoryRegionError::Card(CardError::Busy { .. })), "{error}");
    assert_eq!(card.state().maps.len(), mapped);
    card.state().busy = 0;
    context.progress().unwrap();
    assert_eq!(card.state().maps.len(), mapped - 2, "memory and ring are gone now");
}

#[test]
fn owners_of_every_kind_are_sent_as_they_lie() {
    let network = Network::new();
    let card = libdrdma::open_on("soft:", &network).unwrap();
    let options = Options::new(MacAddress([2, 0, 0, 0, 0, 1]), [10, 0, 0, 1].into());
    let context = Context::open(card, options).unwrap();
    let pd = context.protection_domain();
    let cq = context.completion_queue().build().unwrap();
    let (peer, mut qp) = connect(&network, &pd, &cq, 2);
    let bytes: Vec<u8> = (0..10_000).map(|i| (i * 31 % 251) as u8).collect();
    let words: Vec<u32> =
        bytes.chunks(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect();
    let mut file = tempfile::tempfile().unwrap();
    std::io::Write::write_all(&mut file, &bytes).unwrap();
    let dma = DmaMemory::new(bytes.len()).unwrap();
    dma.write(0, &bytes);
    // SAFETY: nobody else has the file, and nobody writes to it while it is mapped.
    let mapped = unsafe { memmap2::Mmap::map(&file).unwrap() };
    // SAFETY: as above.
    let mapped_mut = unsafe { memmap2::MmapMut::map_mut(&file).unwrap() };
    let leaked: &'static [u8] = bytes.clone().leak();
    let mut raw = bytes.clone();
    let (pointer, len) = (raw.as_mut_ptr(), raw.len());
    let owners = [
        pd.register(bytes.clone()).unwrap(),
        pd.register(words.clone()).unwrap(),
        pd.register(bytes.clone().into_boxed_slice()).unwrap(),
        pd.register(Arc::<[u32]>::from(words.clone())).unwrap(),
        pd.register(Arc::new(words)).unwrap(),
        pd.register(leaked).unwrap(),
        pd.register(mapped).unwrap(),
        pd.register(mapped_mut).unwrap(),
        pd.register(bytes::Bytes::from(bytes.clone())).unwrap(),
        pd.register(bytes::BytesMut::from(&bytes[..])).unwrap(),
        pd.register(dma).unwrap(),
        // SAFETY: the vector keeps the bytes, and nobody else has it.
        unsafe { pd.register_raw(pointer, len, raw).unwrap() },
    ];
    let count = owners.len();
    for (wr_id, memory) in owners.into_iter().enumerate() {
        assert_eq!(memory.len(), bytes.len());
        let regions = [Contiguous::new(Arc::new(memory)).build().unwrap()];
        qp.post_send(&WorkRequest::new(wr_id as u64).regions(&regions)).unwrap();
    }
    assert_eq!(cq.wait(count, SECOND).unwrap().len(), count);
    let messages = network.messages(peer);
    assert_eq!(messages.len(), count);
    for (owner, message) in messages.into_iter().enumerate() {
        assert!(message.bytes == bytes, "owner {owner}");
    }
}

#[test]
fn owners_lend_slices_as_far_as_they_have_their_memory_for_themselves() {
    let (_, card, pd, _cq) = open_all();
    let mut own = pd.register(vec![1_u64, 2, 3]).unwrap();
    own.view_mut::<u32>().unwrap()[2] = 9;
    own.as_slice_mut().unwrap()[0] = 7;
    own.write_at(16, &[8]);
    assert_eq!(own.view::<u64>().unwrap(), [7, 9, 8]);
    assert_eq!(own.as_slice().unwrap().len(), 24);

    let alias = own.alias(4..24).unwrap();
    assert_eq!(alias.view::<u32>().unwrap(), [0, 9, 0, 8, 0], "both can be read");
    assert!(own.as_slice_mut().is_err());
    let error = alias.view::<u64>().unwrap_err().to_string();
    assert!(error.starts_with("20 B at 0x"), "{error}");
    assert!(error.ends_with(" are not a slice of `u64`: they are not aligned"), "{error}");
    let whole = own.alias(0..20).unwrap();
    let error = whole.view::<u64>().unwrap_err().to_string();
    assert!(error.ends_with("`u64`: they are no whole number of values"), "{error}");
    drop((alias, whole));

    let mut immutable = pd.register(bytes::Bytes::from_static(b"abc")).unwrap();
    assert_eq!(immutable.as_slice().unwrap(), b"abc");
    let error = immutable.as_slice_mut().unwrap_err().to_string();
    assert_eq!(error, "the memory of 3 B is immutable");
    let shared = pd.allocate_shared(8).unwrap();
    shared.store_at(2, b"xy");
    let error = shared.as_slice().unwrap_err().to_string();
    assert_eq!(error, "the memory of 8 B is shared with another memory region or handle");
    // The card can read all of it, and write none of it.
    let written = card.state().maps.values().filter(|m| m.is_written_by_card()).count();
    assert_eq!(written, 1, "the completions");
}

#[test]
#[should_panic(expected = "the memory of 3 B is immutable")]
fn immutable_memory_is_not_written() {
    let (_, _, pd, _) = open_all();
    pd.register(bytes::Bytes::from_static(b"abc")).unwrap().write_at(0, b"x");
}

#[test]
#[should_panic(expected = "the memory of 100 B is shared")]
fn memory_with_an_alias_is_not_written() {
    let (_, _, pd, _) = open_all();
    let mut memory = pd.allocate(100).unwrap();
    let _alias = memory.alias(50..60).unwrap();
    memory.write_at(0, b"x");
}

#[test]
#[should_panic(expected = "the memory of 8 B is not shared")]
fn memory_of_ones_own_is_not_stored_to_while_others_have_it() {
    let (_, _, pd, _) = open_all();
    pd.allocate(8).unwrap().store_at(0, b"x");
}

#[test]
fn empty_owners_and_no_memory_are_refused() {
    let (_, _, pd, _) = open_all();
    for error in [
        pd.register(Vec::<u8>::new()).unwrap_err(),
        pd.register(DmaMemory::new(0).unwrap()).unwrap_err(),
        // SAFETY: this is refused.
        unsafe { pd.register_raw(std::ptr::dangling_mut(), 0, ()).unwrap_err() },
    ] {
        assert_eq!(error.to_string(), "a memory region of 0 B");
    }
    // SAFETY: this is refused.
    let error = unsafe { pd.register_raw(std::ptr::null_mut(), 8, ()).unwrap_err() };
    assert_eq!(error.to_string(), "8 B at 0x0 are no memory");
}
