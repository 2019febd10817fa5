//! Posts a second of 1, 2 and 4 threads, each with a queue pair and a completion queue of its own, on
//! one context: on a card whose registers threads write without waiting for each other, as a board's,
//! and on one that they lock, as a simulated one.
//!
//! The card takes doorbells and does nothing; making room in the rings again is not timed. A figure is
//! for all threads together.

use std::{
    hint::black_box,
    sync::{
        Arc, Barrier,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use drdma_abi::{
    ABI_HASH,
    register::{ABI_HASH_HIGH, ABI_HASH_LOW, TYPE, TYPE_ID, VERSION, VERSION_ID},
};
use libdrdma::{
    Card, CardError, Context, Contiguous, DmaMemory, MacAddress, Options, QueuePair,
    QueuePairAttributes, RegisterWindow, WorkRequest,
};

/// Number of posts of a thread after which room is made: each takes a block of the ring.
const POSTS: u64 = 1 << 15;

/// Registers that are only written, each on its own as a bus has them.
struct Registers {
    words: Arc<Vec<AtomicU32>>,
    window: bool,
}

struct Window(Arc<Vec<AtomicU32>>);

impl RegisterWindow for Window {
    fn write(&self, offset: u32, value: u32) -> Result<(), CardError> {
        self.0[place(offset)].store(value, Ordering::SeqCst);
        Ok(())
    }
}

/// Number of words of the registers: those of two queues are in different cache lines, as on a bus
/// they are in none.
const WORDS: usize = 4096 * 16;

fn place(offset: u32) -> usize {
    offset as usize / 4 * 16 % WORDS
}

impl Card for Registers {
    fn read(&mut self, offset: u32) -> Result<u32, CardError> {
        Ok(match offset {
            offset if offset == TYPE.offset => TYPE_ID,
            offset if offset == VERSION.offset => VERSION_ID,
            offset if offset == ABI_HASH_LOW.offset => ABI_HASH as u32,
            offset if offset == ABI_HASH_HIGH.offset => (ABI_HASH >> 32) as u32,
            _ => 0,
        })
    }

    fn write(&mut self, offset: u32, value: u32) -> Result<(), CardError> {
        self.words[place(offset)].store(value, Ordering::SeqCst);
        Ok(())
    }

    fn map(&mut self, _iova: u64, _memory: &DmaMemory) -> Result<(), CardError> {
        Ok(())
    }

    fn unmap(&mut self, _iova: u64) -> Result<(), CardError> {
        Ok(())
    }

    fn progress(&mut self) -> Result<(), CardError> {
        Ok(())
    }

    fn window(&self) -> Option<Arc<dyn RegisterWindow>> {
        self.window.then(|| Arc::new(Window(self.words.clone())) as _)
    }
}

fn connect(qp: &mut QueuePair<'_>) {
    let attributes = QueuePairAttributes::new().path_mtu(4096).dest_qpn(33).start_psn(0);
    let attributes = attributes.dest_mac(MacAddress([2, 0, 0, 0, 0, 2]));
    qp.connect(&attributes.dest_ip([10, 0, 0, 2].into())).expect("a connection");
}

/// Returns the time in which `threads` threads post [`POSTS`] requests each and poll after each.
fn run(context: &Context, threads: usize) -> Duration {
    let pd = context.protection_domain();
    let memory = pd.allocate(4096).expect("memory");
    let barrier = Barrier::new(threads);
    let post = || {
        let cq = context.completion_queue().entries(1 << 16).build().expect("a completion queue");
        let mut qp = pd.queue_pair(&cq).send_blocks(1 << 16).build().expect("a queue pair");
        connect(&mut qp);
        barrier.wait();
        let start = Instant::now();
        for wr_id in 0..POSTS {
            let regions = [Contiguous::new(&memory).len(64).build().expect("a region")];
            qp.post_send(black_box(&WorkRequest::new(wr_id).regions(&regions))).expect("a post");
            assert!(cq.poll().next().is_none());
        }
        let time = start.elapsed();
        barrier.wait();
        time
    };
    thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(post)).collect();
        let times = handles.into_iter().map(|handle| handle.join().expect("a thread"));
        times.max().expect("a thread")
    })
}

fn threads(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("threads");
    group.sample_size(10);
    for (name, window) in [("window", true), ("locked", false)] {
        let words = (0..WORDS).map(|_| AtomicU32::new(0)).collect();
        let card = Registers { words: Arc::new(words), window };
        let options = Options::new(MacAddress([2, 0, 0, 0, 0, 1]), [10, 0, 0, 1].into());
        let context = Context::open(Box::new(card), options).expect("a context");
        for threads in [1, 2, 4] {
            group.throughput(Throughput::Elements(POSTS * threads as u64));
            group.bench_function(BenchmarkId::new(name, threads), |bencher| {
                bencher.iter_custom(|times| (0..times).map(|_| run(&context, threads)).sum());
            });
        }
    }
    group.finish();
}

criterion_group!(benches, threads);
criterion_main!(benches);
