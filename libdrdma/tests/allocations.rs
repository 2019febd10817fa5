//! Posting and polling allocate nothing.

use std::{
    alloc::{GlobalAlloc, Layout as Size, System},
    cell::Cell,
    hint::black_box,
    time::Instant,
};

use drdma_abi::{
    ABI_HASH,
    register::{ABI_HASH_HIGH, ABI_HASH_LOW, TYPE, TYPE_ID, VERSION, VERSION_ID},
};
use libdrdma::{
    Card, CardError, Context, Destination, DmaMemory, MacAddress, Options, PartitionDestination,
    Partitioned, PartitionedWorkRequest, QueuePairAttributes, SharedWorkRequest, Strided,
    WorkRequest,
};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting.
struct Counting;

// SAFETY: everything is passed on to the system's allocator; the counter is a thread-local without
// a destructor, which allocates nothing itself.
unsafe impl GlobalAlloc for Counting {
    // SAFETY: as the trait has it; the caller promises what the system's allocator asks for.
    unsafe fn alloc(&self, size: Size) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(size) }
    }

    // SAFETY: as the trait has it; the caller promises what the system's allocator asks for.
    unsafe fn dealloc(&self, at: *mut u8, size: Size) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(at, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A card that does nothing.
struct Idle;

impl Card for Idle {
    fn read(&mut self, offset: u32) -> Result<u32, CardError> {
        Ok(match offset {
            offset if offset == TYPE.offset => TYPE_ID,
            offset if offset == VERSION.offset => VERSION_ID,
            offset if offset == ABI_HASH_LOW.offset => ABI_HASH as u32,
            offset if offset == ABI_HASH_HIGH.offset => (ABI_HASH >> 32) as u32,
            _ => 0,
        })
    }

    fn write(&mut self, _: u32, _: u32) -> Result<(), CardError> {
        Ok(())
    }

    fn map(&mut self, _: u64, _: &DmaMemory) -> Result<(), CardError> {
        Ok(())
    }

    fn unmap(&mut self, _: u64) -> Result<(), CardError> {
        Ok(())
    }

    fn progress(&mut self) -> Result<(), CardError> {
        Ok(())
    }
}

#[test]
fn posting_and_polling_allocate_nothing() {
    let options = Options::new(MacAddress([2, 0, 0, 0, 0, 1]), [10, 0, 0, 1].into());
    let context = Context::open(Box::new(Idle), options).unwrap();
    let pd = context.protection_domain();
    let memory = pd.allocate(1 << 20).unwrap();
    let cq = context.completion_queue().entries(65536).build().unwrap();
    let mut qp = pd.queue_pair(&cq).send_blocks(65536).build().unwrap();
    let attributes = QueuePairAttributes::new().path_mtu(1024).dest_qpn(1).start_psn(0);
    qp.connect(&attributes.dest_mac(MacAddress::default()).dest_ip([10, 0, 0, 2].into())).unwrap();
    let mut ssq = pd.shared_send_queue(&cq).send_blocks(65536).build().unwrap();

    let before = ALLOCATIONS.get();
    let start = Instant::now();
    const REQUESTS: u64 = 10_000;
    for wr_id in 0..REQUESTS {
        let region = Strided::new(&memory).period(64).count(100).extent(0, 8).extent(16, 4);
        let regions = [region.build().unwrap()];
        let destinations = [Destination::new(&qp).regions(&regions)];
        let shared = SharedWorkRequest::new(wr_id).destinations(&destinations);
        ssq.post_ssq_send(&shared).unwrap();
        let rows = Partitioned::<u8>::new(&memory).rows(100).column(&memory, 0, 8);
        let partitioned = rows.build().unwrap();
        let parts = [PartitionDestination::new(&qp, 1)];
        let request = PartitionedWorkRequest::new(wr_id, &partitioned).destinations(&parts);
        ssq.post_ssq_send(&request).unwrap();
        qp.post_send(black_box(&WorkRequest::new(wr_id).regions(&regions))).unwrap();
        assert!(cq.poll().next().is_none());
    }
    let time = start.elapsed();
    assert_eq!(ALLOCATIONS.get(), before);
    println!(
        "{:.0} ns for three posts, two regions and a poll",
        time.as_nanos() as f64 / REQUESTS as f64
    );
}
