//! The process's allocator as memory of the card.

mod common;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use common::open_all;
use drdma_abi::register::{MEMORY_REGIONS, MemoryRegionEntry};
use libdrdma::network::{Network, PeerConfig};
use libdrdma::{
    Arena, Context, Contiguous, MacAddress, Options, PointerMapped, QueuePair, QueuePairAttributes,
    Strided, Transport, WorkRequest,
};

const BYTES: usize = 64 << 20;

#[global_allocator]
static ARENA: Arena = Arena::new(BYTES);

/// Locks the arena, so that tests of its free room run one by one.
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn large_blocks_lie_in_the_arena_and_keep_their_contents_as_they_grow_and_shrink() {
    let _alone = alone();
    let small = vec![1_u8; 1000];
    let large = vec![2_u8; 100_000];
    assert!(!ARENA.contains(&small) && ARENA.contains(&large));
    let zeros = vec![0_u64; 50_000];
    assert!(ARENA.contains(&zeros) && zeros.iter().all(|word| *word == 0));
    let mut grown: Vec<u32> = Vec::new();
    for value in 0..2_000_000 {
        grown.push(value);
    }
    assert!(ARENA.contains(&grown));
    assert!(grown.iter().zip(0..).all(|(found, expected)| *found == expected));
    grown.truncate(100_000);
    grown.shrink_to_fit();
    assert!(ARENA.contains(&grown));
    grown.truncate(100);
    grown.shrink_to_fit();
    assert!(!ARENA.contains(&grown), "small blocks are the system's");
    assert!(grown.iter().zip(0..).all(|(found, expected)| *found == expected));
}

#[test]
fn a_full_arena_leaves_the_rest_to_the_system() {
    let _alone = alone();
    let blocks: Vec<Vec<u8>> = (0..80).map(|i| vec![i; 1 << 20]).collect();
    let inside = blocks.iter().filter(|block| ARENA.contains(block)).count();
    assert!((32..80).contains(&inside), "{inside} blocks of 1 MiB in an arena of 64");
    assert!(blocks.iter().zip(0..).all(|(block, i)| block.iter().all(|byte| *byte == i)));
    drop(blocks);
    let again = vec![0_u8; 16 << 20];
    assert!(ARENA.contains(&again), "freed blocks are put together");
}

#[test]
fn what_lies_in_a_registered_arena_needs_no_mapping_and_no_key() {
    let _alone = alone();
    let (_, card, pd, _) = open_all();
    let mapped = card.state().maps.len();
    pd.register_arena(&ARENA).unwrap();
    pd.register_arena(&ARENA).unwrap();
    assert_eq!(card.state().maps.len(), mapped + 1);
    let regions: Vec<_> =
        (0..2000).map(|i| pd.register(vec![i as u16; 16 << 10]).unwrap()).collect();
    let inside: Vec<_> = regions.iter().filter(|region| !region.has_own_key()).collect();
    assert!(inside.len() > 1024, "{} memory regions, of 1,024 keys", inside.len());
    assert!(inside.iter().all(|region| region.lkey() == inside[0].lkey()));
    let key: MemoryRegionEntry = card.entry(MEMORY_REGIONS, inside[0].lkey() & 0xfff);
    assert_eq!(key.len, BYTES as u64);
    for region in &inside {
        let end = region.addr() + region.len() as u64;
        assert!(key.addr <= region.addr() && end <= key.addr + key.len);
    }
    assert_eq!(inside[7].view::<u16>().unwrap()[5], 7);
    drop(regions);
    // Small memory has a mapping and a key of its own.
    let small = pd.register(vec![0_u8; 100]).unwrap();
    assert!(small.has_own_key());
    assert_eq!(card.state().maps.len(), mapped + 2);
    // The arena is not registered in another domain.
    let other = pd.context().protection_domain();
    assert!(other.register(vec![0_u8; 100_000]).unwrap().has_own_key());
}

#[test]
fn a_domain_tells_what_lies_in_its_arenas() {
    let _alone = alone();
    let (context, _, pd, _) = open_all();
    let large = vec![1_u8; 100_000];
    assert!(!pd.is_in_arena(&large), "not yet");
    pd.register_arena(&ARENA).unwrap();
    assert!(pd.is_in_arena(&large) && pd.is_in_arena(&large[99_999..]));
    assert!(!pd.is_in_arena(&[1; 100]));
    assert!(!context.protection_domain().is_in_arena(&large), "another domain");
}

#[test]
fn a_block_of_the_arena_has_any_size_and_alignment_and_is_freed() {
    use std::alloc::{GlobalAlloc, Layout};
    let _alone = alone();
    for size in [1, 63, 100, BYTES / 2] {
        let layout = Layout::from_size_align(size, 4096).unwrap();
        // Each half of the arena must be freed for the next round.
        for _ in 0..3 {
            let block = ARENA.block(layout).unwrap();
            assert!(block.as_ptr().addr().is_multiple_of(4096));
            // SAFETY: the block has so many bytes, which are written to before they are read.
            let bytes = unsafe {
                block.write_bytes(7, size);
                std::slice::from_raw_parts(block.as_ptr(), size)
            };
            assert!(ARENA.contains(bytes) && bytes[size - 1] == 7);
            // SAFETY: it is freed once, with its layout.
            unsafe { ARENA.dealloc(block.as_ptr(), layout) };
        }
    }
    assert_eq!(ARENA.block(Layout::from_size_align(BYTES + 1, 1).unwrap()), None);
    assert_eq!(ARENA.block(Layout::from_size_align(0, 1).unwrap()), None);
}

#[test]
fn memory_of_the_arena_is_free_again_when_the_card_is_done_with_it() {
    let _alone = alone();
    let (context, card, pd, cq) = open_all();
    pd.register_arena(&ARENA).unwrap();
    let mut qp: QueuePair<'static> = common::connected(&pd, &cq, 16);
    let column = vec![9_u8; 8 << 20];
    let place = column.as_ptr().addr();
    let memory = Arc::new(pd.register(column).unwrap());
    let regions = [Contiguous::new(memory).build().unwrap()];
    qp.post_send(&WorkRequest::new(1).regions(&regions)).unwrap();
    drop(regions);
    card.state().busy = 100;
    drop(qp);
    let others: Vec<Vec<u8>> = (0..4).map(|_| vec![0; 8 << 20]).collect();
    let overlap = |block: &Vec<u8>| block.as_ptr().addr().abs_diff(place) < 8 << 20;
    assert!(!others.iter().any(overlap), "the card may still be reading there");
    card.state().busy = 0;
    context.progress().unwrap();
    let others: Vec<Vec<u8>> = (0..8).map(|_| vec![0; 8 << 20]).collect();
    assert!(others.iter().any(overlap));
}

#[test]
fn an_owner_in_the_arena_is_given_back_and_may_be_shared() {
    let _alone = alone();
    let (_, _, pd, _) = open_all();
    pd.register_arena(&ARENA).unwrap();
    let column: Vec<u64> = (0..10_000).collect();
    let place = column.as_ptr();
    let mut memory = pd.register(column).unwrap();
    memory.view_mut::<u64>().unwrap()[3] = 1;
    let column: Vec<u64> = memory.into_owner().unwrap();
    assert_eq!((column.as_ptr(), column[3], column[9_999]), (place, 1, 9_999));
    let column = Arc::new(column);
    let memory = [(); 3].map(|()| pd.register(column.clone()).unwrap());
    assert_eq!(memory[0].addr(), memory[2].addr());
    drop(memory);
    assert_eq!(Arc::strong_count(&column), 1);
}

#[test]
fn pointers_stay_in_their_target_and_not_only_in_the_arena() {
    let _alone = alone();
    let (_, card, pd, _) = open_all();
    pd.register_arena(&ARENA).unwrap();
    let heap = pd.register(vec![0_u8; 100_000]).unwrap();
    let index = pd.register(vec![heap.addr(); 10]).unwrap();
    let build = |heap| PointerMapped::new(&index, heap).count(10).extent(0, 8).build();
    let error = build(&heap).unwrap_err().to_string();
    let text = "pointer-mapped region: the key of the target opens a whole arena; \
                `MemoryRegion::alias` makes one for the target alone";
    assert_eq!(error, text);
    let alone = heap.alias(0..100_000).unwrap();
    assert!(alone.has_own_key() && alone.addr() == heap.addr());
    build(&alone).unwrap();
    let key: MemoryRegionEntry = card.entry(MEMORY_REGIONS, alone.lkey() & 0xfff);
    assert_eq!((key.addr, key.len), (heap.addr(), 100_000));
}

#[test]
fn columns_of_the_arena_are_sent_from_where_they_lie() {
    let _alone = alone();
    let network = Network::new();
    let peer =
        network.add_peer(PeerConfig::new(Transport::Rc, 0x0200_0000_0002, 0x0a00_0002, 33, 17));
    let card = libdrdma::open_on("soft:", &network).unwrap();
    let options = Options::new(MacAddress([2, 0, 0, 0, 0, 1]), [10, 0, 0, 1].into());
    let context = Context::open(card, options).unwrap();
    let pd = context.protection_domain();
    pd.register_arena(&ARENA).unwrap();
    let cq = context.completion_queue().build().unwrap();
    let mut qp: QueuePair<'static> = pd.queue_pair(&cq).qpn(17).build().unwrap();
    let attributes = QueuePairAttributes::new().path_mtu(1024).dest_qpn(33).start_psn(0);
    let attributes = attributes.dest_mac(MacAddress([2, 0, 0, 0, 0, 2]));
    qp.connect(&attributes.dest_ip([10, 0, 0, 2].into())).unwrap();
    let column: Vec<u64> = (0..20_000).map(|i| i * i).collect();
    assert!(ARENA.contains(&column));
    let expected: Vec<u8> = column[100..200].iter().flat_map(|v| v.to_le_bytes()).collect();
    let memory = Arc::new(pd.register(column).unwrap());
    let regions = [Strided::new(memory).offset(800).period(8).count(100).extent(0, 8)];
    let regions = regions.map(|region| region.build().unwrap());
    qp.post_send(&WorkRequest::new(1).rows_per_message(100).regions(&regions)).unwrap();
    assert_eq!(cq.wait(1, Duration::from_secs(1)).unwrap()[0].bytes, 800);
    assert_eq!(network.messages(peer)[0].bytes, expected);
}
