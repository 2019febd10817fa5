//! Cost of posting for the application: 64 Ki rows of five 4 B columns to two destinations, whose
//! rows two bitmaps select, in three ways, in one run:
//!
//! - `ncr`: two bitmapped regions, one `post_ssq_send`;
//! - `sge_lists`: a list of five values and a message for every row, in batches;
//! - `copy_out`: the values gathered into a 4 MB buffer, and one contiguous region a destination.
//!
//! The time is that of the application's thread: describing, gathering, encoding, doorbells. The
//! card takes register writes and does nothing; making room in the rings again is not timed.
//! A figure is for all rows: divide by 65,536.

use std::{
    hint::black_box,
    ops::Range,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use drdma_abi::{
    ABI_HASH,
    register::{ABI_HASH_HIGH, ABI_HASH_LOW, TYPE, TYPE_ID, VERSION, VERSION_ID},
};
use libdrdma::{
    Bitmapped, Card, CardError, CompletionQueue, Context, Contiguous, Destination, DmaMemory,
    MacAddress, MemoryRegion, Operation, Options, ProtectionDomain, QueuePair, QueuePairAttributes,
    Region, RowMask, SharedOperation, SharedSendQueue, SharedWorkRequest, WorkRequest,
};

const ROWS: usize = 64 << 10;
const COLUMNS: usize = 5;
const WIDTH: usize = 4;
const ROWS_PER_MESSAGE: u32 = 204;
/// Number of rows of lists after which room is made: the largest ring holds 21,845 lists.
const CHUNK: usize = 16 << 10;
const BUFFER: usize = 4 << 20;
const REMOTE: (u64, u32) = (1 << 40, 7);

/// A card that takes register writes, as a bus would, and does nothing else.
#[derive(Default)]
struct Registers {
    word: AtomicU32,
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

    fn write(&mut self, _offset: u32, value: u32) -> Result<(), CardError> {
        self.word.store(value, Ordering::Release);
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
}

/// The table, the bitmaps and the buffer for copies: registered, and as the application accesses
/// them.
struct Table {
    columns: Vec<MemoryRegion>,
    bitmaps: [MemoryRegion; 2],
    buffer: MemoryRegion,
    values: Vec<Vec<[u8; WIDTH]>>,
    bits: [Vec<u64>; 2],
}

impl Table {
    fn new(pd: &ProtectionDomain) -> Self {
        let allocate = |len| pd.allocate(len).expect("memory");
        let values: Vec<Vec<[u8; WIDTH]>> = (0..COLUMNS as u32)
            .map(|column| (0..ROWS as u32).map(|row| (row ^ column << 20).to_le_bytes()).collect())
            .collect();
        let mut bits = [vec![0; ROWS / 64], vec![0; ROWS / 64]];
        for row in 0..ROWS as u64 {
            // A hash: the highest bit of a multiplication by the golden ratio.
            let to = (row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63) as usize;
            bits[to][row as usize / 64] |= 1 << (row % 64);
        }
        let mut table = Self {
            columns: values.iter().map(|_| allocate(ROWS * WIDTH)).collect(),
            bitmaps: [allocate(ROWS / 8), allocate(ROWS / 8)],
            buffer: allocate(BUFFER),
            values,
            bits,
        };
        for (column, values) in table.columns.iter_mut().zip(&table.values) {
            column.write_at(0, values.as_flattened());
        }
        for (bitmap, bits) in table.bitmaps.iter_mut().zip(&table.bits) {
            let bytes: Vec<u8> = bits.iter().flat_map(|word| word.to_le_bytes()).collect();
            bitmap.write_at(0, &bytes);
        }
        table
    }

    /// Returns the rows of a destination among those of a chunk.
    fn rows(&self, to: usize, chunk: Range<usize>) -> impl Iterator<Item = usize> {
        let first = chunk.start / 64;
        self.bits[to][first..chunk.end / 64].iter().enumerate().flat_map(move |(index, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
                rest &= rest - 1;
                Some((first + index) * 64 + bit)
            })
        })
    }
}

struct Queues<'m> {
    qps: [QueuePair<'m>; 2],
    ssq: SharedSendQueue<'m>,
    cq: CompletionQueue,
}

impl<'m> Queues<'m> {
    fn new(context: &Context, pd: &ProtectionDomain) -> Self {
        let cq = context.completion_queue().entries(1 << 16).build().expect("a completion queue");
        let qps = [0, 1].map(|_| {
            let mut qp = pd.queue_pair(&cq).send_blocks(1 << 16).build().expect("a queue pair");
            connect(&mut qp);
            qp
        });
        let ssq = pd.shared_send_queue(&cq).build().expect("a shared send queue");
        Self { qps, ssq, cq }
    }

    /// Takes back all posted requests.
    fn clear(&mut self) {
        self.qps.iter_mut().for_each(connect);
        self.ssq.reset().expect("a reset");
        self.cq.poll().for_each(drop);
        assert_eq!(self.cq.outstanding(), 0);
    }

    fn post_ncrs(&mut self, table: &'m Table) {
        let region = |bitmap| {
            let region = Bitmapped::new(bitmap).rows(ROWS as u64);
            let columns = table.columns.iter();
            let region = columns.fold(region, |region, c| region.column(c, 0, WIDTH as u64));
            [region.build().expect("a region")]
        };
        let regions = [region(&table.bitmaps[0]), region(&table.bitmaps[1])];
        let destination = |to: usize| {
            Destination::new(&self.qps[to]).remote(REMOTE.0, REMOTE.1).regions(&regions[to])
        };
        let destinations = [destination(0), destination(1)];
        let request = SharedWorkRequest::new(1)
            .operation(SharedOperation::Write)
            .rows_per_message(ROWS_PER_MESSAGE)
            .destinations(&destinations);
        self.ssq.post_ssq_send(&request).expect("a post");
    }

    fn post_lists(&mut self, table: &'m Table, chunk: Range<usize>) {
        for to in 0..2 {
            let mut batch = self.qps[to].batch();
            for row in table.rows(to, chunk.clone()) {
                let value = |column: usize| -> Region<'m> {
                    let value = Contiguous::new(&table.columns[column]);
                    let value = value.offset((row * WIDTH) as u64).len(WIDTH as u64);
                    value.build().expect("a region")
                };
                let regions: [Region; COLUMNS] = std::array::from_fn(value);
                let request = WorkRequest::new(row as u64)
                    .operation(Operation::Send)
                    .row_mask(RowMask::Element)
                    .regions(&regions);
                batch.post_send(&request).expect("a post");
            }
            batch.submit().expect("a doorbell");
        }
    }

    fn post_copies(&mut self, table: &'m Table, buffer: &mut [u8]) {
        for to in 0..2 {
            let start = to * BUFFER / 2;
            let mut at = start;
            for row in table.rows(to, 0..ROWS) {
                for values in &table.values {
                    buffer[at..at + WIDTH].copy_from_slice(&values[row]);
                    at += WIDTH;
                }
            }
            let region = Contiguous::new(&table.buffer).offset(start as u64);
            let regions = [region.len((at - start) as u64).build().expect("a region")];
            let (remote_addr, rkey) = REMOTE;
            let request = WorkRequest::new(to as u64)
                .operation(Operation::Write { remote_addr, rkey })
                .regions(&regions);
            self.qps[to].post_send(&request).expect("a post");
        }
    }
}

fn connect(qp: &mut QueuePair<'_>) {
    let attributes = QueuePairAttributes::new()
        .path_mtu(4096)
        .dest_qpn(33)
        .dest_mac(MacAddress([2, 0, 0, 0, 0, 2]))
        .dest_ip([10, 0, 0, 2].into())
        .start_psn(0);
    qp.connect(&attributes).expect("a connection");
}

fn timed(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

fn posting(criterion: &mut Criterion) {
    let card = Box::<Registers>::default();
    let options = Options::new(MacAddress([2, 0, 0, 0, 0, 1]), [10, 0, 0, 1].into());
    let context = Context::open(card, options).expect("a context");
    let pd = context.protection_domain();
    let table = Table::new(&pd);
    // The region's own memory is borrowed by the queue pairs as long as they live: the values are
    // gathered into memory of the same size, at the same cost.
    let mut buffer = vec![0; BUFFER];
    let mut queues = Queues::new(&context, &pd);
    let mut group = criterion.benchmark_group("posting");
    group.throughput(Throughput::Elements(ROWS as u64));
    group.bench_function("ncr", |bencher| {
        bencher.iter_custom(|times| {
            let one = |_| {
                let time = timed(|| queues.post_ncrs(black_box(&table)));
                queues.clear();
                time
            };
            (0..times).map(one).sum()
        });
    });
    group.sample_size(20);
    group.bench_function("sge_lists", |bencher| {
        bencher.iter_custom(|times| {
            let mut total = Duration::ZERO;
            for start in (0..times).flat_map(|_| (0..ROWS).step_by(CHUNK)) {
                total += timed(|| queues.post_lists(black_box(&table), start..start + CHUNK));
                queues.clear();
            }
            total
        });
    });
    group.bench_function("copy_out", |bencher| {
        bencher.iter_custom(|times| {
            let one = |_| {
                let time = timed(|| queues.post_copies(black_box(&table), &mut buffer));
                black_box(&mut buffer);
                queues.clear();
                time
            };
            (0..times).map(one).sum()
        });
    });
    group.finish();
}

criterion_group!(benches, posting);
criterion_main!(benches);
