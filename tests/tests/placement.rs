//! Placement of the data that the card reads: software predicts the place of every byte that is fetched into the
//! segmented memory, and the RTL reads it to there.

use std::{cell::Cell, collections::HashSet, time::Duration};

use drdma_sim::{
    pcie::{engine::ReadLog, port::Descriptor},
    rtl::{Config, RtlCard},
    wire::{Network, PeerConfig},
};
use drdma_tests::random::Random;
use libdrdma::{
    Bitmapped, CompletionQueue, Context, Contiguous, MacAddress, Options, PartitionDestination,
    Partitioned, PartitionedWorkRequest, PointerMapped, ProtectionDomain, QueuePair,
    QueuePairAttributes, Region, Status, Strided, Transport, WorkRequest,
    optimizer::{BlockPlacement, ColumnPlacement, Fragment, Lane, SparseWindow, WINDOW},
};

const MEMORY: usize = 4 << 20;
/// Bytes of the segmented memory.
const MEMORY_OF_CARD: u64 = 128 << 10;

/// A card on the RTL whose reads are logged.
struct Bench {
    reads: ReadLog,
    network: Network,
    pd: ProtectionDomain,
    cq: CompletionQueue,
    /// Start of the next window of columns in the segmented memory.
    at: Cell<u64>,
}

/// Bytes that were read into a window: address, and place in the window.
type Window = HashSet<(u64, u64)>;

/// The bytes that reads bring into the window that begins at `start`.
fn bytes_of(reads: &[Descriptor], start: u64) -> Window {
    let bytes = |read: &Descriptor| {
        let (addr, at) = (read.addr, read.ram_addr - start);
        (0..read.len as u64).map(move |i| (addr + i, at + i))
    };
    reads.iter().flat_map(bytes).collect()
}

impl Bench {
    fn new() -> Self {
        let network = Network::new();
        let mut card = RtlCard::new(Config::default(), network.clone()).unwrap();
        let reads = card.data_reads();
        let options = Options::new(MacAddress([2, 0, 0, 0, 0, 1]), [10, 0, 0, 1].into());
        let context = Context::open(Box::new(card), options).unwrap();
        let pd = context.protection_domain();
        let cq = context.completion_queue().build().unwrap();
        Self { reads, network, pd, cq, at: Cell::new(0) }
    }

    fn connected<'m>(&self, qpn: u32) -> QueuePair<'m> {
        let peer = PeerConfig::new(Transport::Uc, 0x0200_0000_0002, 0x0a00_0002, qpn + 100, qpn);
        self.network.add_peer(peer);
        let mut qp =
            self.pd.queue_pair(&self.cq).transport(Transport::Uc).qpn(qpn).build().unwrap();
        let attributes = QueuePairAttributes::new()
            .path_mtu(4096)
            .dest_qpn(qpn + 100)
            .dest_mac(MacAddress([2, 0, 0, 0, 0, 2]))
            .dest_ip([10, 0, 0, 2].into())
            .start_psn(0);
        qp.connect(&attributes).unwrap();
        qp
    }

    /// The reads since the last call, once a request has completed, in order.
    fn reads(&self) -> Vec<Descriptor> {
        let done = self.cq.wait(1, Duration::from_secs(60)).unwrap();
        assert!(done.iter().all(|completion| completion.status == Status::Success), "{done:?}");
        std::mem::take(&mut *self.reads.lock().unwrap())
    }

    /// The bytes of windows of these sizes, in order: a window lies behind the one before, or at the start of the
    /// memory where the largest would not fit behind it.
    fn windows(&self, sizes: impl IntoIterator<Item = u64>) -> Vec<Window> {
        let reads = self.reads();
        let mut left = &reads[..];
        let mut windows = Vec::new();
        for size in sizes {
            let start = self.at.get();
            let behind = |read: &Descriptor| !(start..start + size).contains(&read.ram_addr);
            let (here, others) = left.split_at(left.iter().position(behind).unwrap_or(left.len()));
            assert!(here.iter().all(|read| read.ram_addr + read.len as u64 <= start + size));
            windows.push(bytes_of(here, start));
            left = others;
            let end = start + size;
            self.at.set(if end + WINDOW > MEMORY_OF_CARD { 0 } else { end });
        }
        assert!(left.is_empty(), "reads behind the last window: {:x?}", left.first());
        windows
    }

    /// Sends a region.
    fn send<'m>(&self, qp: &mut QueuePair<'m>, region: Region<'m>) {
        let regions = [region];
        qp.post_send(&WorkRequest::new(0).rows_per_message(50).regions(&regions)).unwrap();
    }
}

/// A request whose rows the card packs.
struct Columns<'a> {
    lanes: &'a [Lane],
    /// For each row: whether any destination gets it.
    selected: &'a [bool],
}

impl Columns<'_> {
    /// Checks that the rows went where software predicts, if a window begins where the one before ends.
    fn check(&self, bench: &Bench) {
        let most = ColumnPlacement::window_rows(self.lanes).unwrap() as usize;
        let wanted = self.selected.chunks(most);
        let found = bench.windows(wanted.clone().map(|rows| self.size(rows.len() as u32)));
        for (window, (index, rows)) in found.iter().zip(wanted.enumerate()) {
            let selected = (0..rows.len()).filter(|row| rows[*row]);
            let rows_of = selected.map(|row| ((most * index + row) as u64, row as u32));
            self.check_window(window, rows.len() as u32, rows_of);
        }
    }

    /// Checks the same for windows without rows that no destination gets.
    fn check_sparse(&self, bench: &Bench, merge_threshold: u32) {
        let rows = self.selected.len() as u64;
        let bits = bits(self.selected);
        let wanted = SparseWindow::all(self.lanes, rows, &bits, merge_threshold).unwrap();
        let found = bench.windows(wanted.iter().map(|window| self.size(window.rows())));
        let mut checked = 0;
        for (found, window) in found.iter().zip(&wanted) {
            let selected = (0..rows).filter(|row| self.selected[*row as usize]);
            let rows_of: Vec<_> =
                selected.filter_map(|row| Some((row, window.row(row)?))).collect();
            checked += rows_of.len();
            self.check_window(found, window.rows(), rows_of);
        }
        assert_eq!(checked, self.selected.iter().filter(|selected| **selected).count());
    }

    /// Bytes of a window of `rows` rows.
    fn size(&self, rows: u32) -> u64 {
        ColumnPlacement::new(self.lanes, rows).unwrap().size()
    }

    /// Checks rows of a window; each has its row in the window.
    fn check_window(&self, window: &Window, rows: u32, each: impl IntoIterator<Item = (u64, u32)>) {
        let placement = ColumnPlacement::new(self.lanes, rows).unwrap();
        for (row, in_window) in each {
            for (number, lane) in self.lanes.iter().enumerate() {
                let place = placement.place(number, in_window).unwrap();
                let (addr, at) = (lane.addr + row * lane.step, u64::from(place.offset()));
                let lies = (0..lane.len).all(|byte| window.contains(&(addr + byte, at + byte)));
                assert!(lies, "row {row} of lane {number} is not at {at}: {:x?}", self.lanes);
            }
        }
    }
}

/// Widths of columns that the card packs, and where they start in memory.
fn columns(random: &mut Random, rows: u64) -> Vec<(u64, u64)> {
    let longest = *random.pick(&[1, 2, 4, 8, 16]);
    let widths: Vec<u64> = (0..random.range(1..=6)).map(|_| random.range(1..=longest)).collect();
    let mut at = 0;
    let column = |width: u64| {
        let offset = at + random.range(0..=70);
        at = offset + width * rows;
        (offset, width)
    };
    let mut room = 64;
    let packed = widths.into_iter().take_while(|width| {
        room -= *width as i64;
        room >= 0
    });
    packed.map(column).collect()
}

fn bits(selected: &[bool]) -> Vec<u8> {
    let byte = |bits: &[bool]| bits.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit));
    selected.chunks(8).map(byte).collect()
}

#[test]
fn columns_of_a_bitmap_lie_where_software_says() {
    let bench = Bench::new();
    let (memory, bitmap) =
        (bench.pd.allocate(MEMORY).unwrap(), bench.pd.allocate_shared(8192).unwrap());
    let mut qp = bench.connected(17);
    let mut random = Random::new(1);
    for _ in 0..12 {
        let rows = random.range(256..=20_000);
        let rarity = *random.pick(&[1, 2, 20, 300]);
        let threshold = *random.pick(&[0, 60, 256, 1500]);
        bench.pd.context().set_merge_threshold(threshold).unwrap();
        let selected: Vec<bool> = (0..rows).map(|_| random.one_in(rarity)).collect();
        bitmap.store_at(0, &bits(&selected));
        let region = columns(&mut random, rows)
            .into_iter()
            .fold(Bitmapped::new(&bitmap).rows(rows), |region, (offset, width)| {
                region.column(&memory, offset, width)
            });
        let region = region.build().unwrap();
        let lanes = region.lanes().unwrap();
        bench.send(&mut qp, region);
        Columns { lanes: &lanes, selected: &selected }.check_sparse(&bench, threshold);
    }
}

#[test]
fn extents_of_a_period_lie_where_software_says() {
    let bench = Bench::new();
    let memory = bench.pd.allocate(MEMORY).unwrap();
    let mut qp = bench.connected(17);
    let mut random = Random::new(2);
    let mut packed = 0;
    while packed < 12 {
        let (rows, period) = (random.range(256..=9000), random.range(1..=128));
        let mut region =
            Strided::new(&memory).offset(random.range(0..=99)).period(period).count(rows);
        for _ in 0..random.range(1..=4) {
            // Some extents go beyond the period, or overlap.
            let (offset, len) = (random.range(0..=period + 9), random.range(1..=16));
            region = region.extent(offset, len);
        }
        let region = region.build().unwrap();
        let lanes = region.lanes().unwrap();
        if ColumnPlacement::window_rows(&lanes).is_err() {
            continue;
        }
        packed += 1;
        bench.send(&mut qp, region);
        let selected = vec![true; rows as usize];
        Columns { lanes: &lanes, selected: &selected }.check(&bench);
    }
}

#[test]
fn columns_of_several_destinations_lie_where_software_says() {
    let bench = Bench::new();
    let (memory, ids) =
        (bench.pd.allocate(MEMORY).unwrap(), bench.pd.allocate_shared(20_000).unwrap());
    let qps = [bench.connected(17), bench.connected(18)];
    let mut ssq = bench.pd.shared_send_queue(&bench.cq).build().unwrap();
    let mut random = Random::new(3);
    for _ in 0..8 {
        let rows = random.range(256..=20_000);
        // Rows of a third partition are not sent.
        let partitions: Vec<u8> = (0..rows).map(|_| random.range(0..=2) as u8).collect();
        ids.store_at(0, &partitions);
        let region = columns(&mut random, rows)
            .into_iter()
            .fold(Partitioned::<u8>::new(&ids).rows(rows), |region, (offset, width)| {
                region.column(&memory, offset, width)
            });
        let region = region.build().unwrap();
        let lanes = region.lanes();
        let destinations = [0, 1].map(|id| PartitionDestination::new(&qps[usize::from(id)], id));
        let request = PartitionedWorkRequest::new(0, &region).rows_per_message(40);
        ssq.post_ssq_send(&request.destinations(&destinations)).unwrap();
        let selected: Vec<bool> = partitions.iter().map(|id| *id < 2).collect();
        Columns { lanes: &lanes, selected: &selected }.check(&bench);
    }
}

/// Checks that rows which are fetched one by one lie where software predicts, and returns the number of their windows.
/// A window ends where the next block is not in it.
fn check_blocks(reads: &[Descriptor], rows: impl Iterator<Item = Vec<Fragment>>) -> usize {
    let mut placement = BlockPlacement::default();
    let (mut window, mut start, mut windows) = (Window::new(), 0, 0);
    // Reads of the current window and of later ones.
    let mut left = reads;
    let is_of = |read: &Descriptor, placement: &BlockPlacement, start: u64| {
        let place = placement.place(read.addr).map(|place| u64::from(place.offset()));
        place.is_some() && place == read.ram_addr.checked_sub(start)
    };
    for fragments in rows.flat_map(|row| BlockPlacement::beats(&row)) {
        let is_there = |window: &Window, placement: &BlockPlacement| {
            let mut beat = [None; 64];
            let bytes = fragments.iter().flat_map(|f| (0..f.len).map(|i| f.addr + i));
            placement.clone().take(&fragments, &mut beat)
                && beat
                    .iter()
                    .flatten()
                    .zip(bytes)
                    .all(|(place, addr)| window.contains(&(addr, place.offset().into())))
        };
        if !is_there(&window, &placement) {
            let next = left.iter().position(|read| !is_of(read, &placement, start));
            let (before, others) = left.split_at(next.expect("another window"));
            let end = before.last().map_or(0, |read| read.ram_addr + read.len as u64);
            // A window's first block lies where it starts.
            let at = others[0].ram_addr - others[0].addr % 256;
            assert_eq!(at % 128, 0, "a window that starts at {at:#x}");
            assert!(at == 0 || (at >= end && at + WINDOW <= MEMORY_OF_CARD), "{at:#x}, {end:#x}");
            (placement, start, left) = (BlockPlacement::default(), at, others);
            windows += 1;
            let near = |read: &&Descriptor| (start..start + WINDOW).contains(&read.ram_addr);
            window = bytes_of(&left[..left.iter().take_while(near).count()], start);
            assert!(is_there(&window, &placement), "{fragments:x?}");
        }
        assert!(placement.take(&fragments, &mut [None; 64]));
    }
    assert!(left.iter().all(|read| is_of(read, &placement, start)), "windows without a beat");
    windows
}

#[test]
fn records_lie_where_software_says() {
    let bench = Bench::new();
    let (memory, pointers) =
        (bench.pd.allocate(MEMORY).unwrap(), bench.pd.allocate_shared(8000).unwrap());
    let mut qp = bench.connected(17);
    let mut random = Random::new(4);
    for extents in 1..=4 {
        for (index, pointer) in (0..1000).map(|_| 64 * random.range(0..=60_000)).enumerate() {
            pointers.store_at(8 * index, &(memory.addr() + pointer).to_le_bytes());
        }
        let region = (0..extents).fold(
            PointerMapped::new(&pointers, &memory).count(1000),
            |region, extent| {
                region.extent(4000 * extent + random.range(0..=40), random.range(1..=20))
            },
        );
        let region = region.build().unwrap();
        let fragments: Vec<_> = region.fragments(&[&pointers]).unwrap().collect();
        bench.send(&mut qp, region);
        let rows = fragments.chunks(extents as usize).map(<[_]>::to_vec);
        let windows = check_blocks(&bench.reads(), rows);
        assert!(windows > 5, "{windows} windows");
    }
}

#[test]
fn long_rows_lie_where_software_says() {
    let bench = Bench::new();
    let memory = bench.pd.allocate(MEMORY).unwrap();
    let mut qp = bench.connected(17);
    let whole = Contiguous::new(&memory).offset(512).len(300_000).build().unwrap();
    let rows = Strided::new(&memory).period(1280).count(600).extent(0, 150).extent(1024, 64);
    for (region, extents) in [(whole, 1), (rows.build().unwrap(), 2)] {
        let fragments: Vec<_> = region.fragments(&[]).unwrap().collect();
        bench.send(&mut qp, region);
        let windows = check_blocks(&bench.reads(), fragments.chunks(extents).map(<[_]>::to_vec));
        assert!(windows > 5, "{windows} windows");
    }
}
