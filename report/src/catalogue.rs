//! The catalogue of experiments.

mod kinds;
mod small_sends;

use drdma_abi::roce::Transport;
use drdma_sim::clock::NS_PER_CYCLE;
use drdma_verilated::testbench::Random;

use crate::{
    experiment::{Experiment, Fetched, Target},
    layout::{Partitioned, Piece, Place, Post, Region, RowMask},
};

/// Requests that an experiment posts back to back, each of data of its own.
const PIPELINED: usize = 3;
/// Seed of all random data: experiments are the same in every run.
const SEED: u64 = 2022;
/// Rows of the shuffled table.
const ROWS: u64 = 64 << 10;
/// Rows of the table that is sent as lists: a simulation of 1.5 Gb/s takes its time.
const LISTED_ROWS: u64 = 8 << 10;
/// Rows of the table that is sent by columns, a request.
const WRITTEN_ROWS: u64 = 8 << 10;
/// Columns of the shuffled table.
const COLUMNS: usize = 5;
/// Words of 4 B in a beat of payload, all of which the assembler can read in a cycle.
pub const BEAT_WORDS: u32 = 16;
/// Bytes of one message, at most: a packet.
const MTU: u64 = 4096;

/// Every experiment, in the order of the report.
pub fn all() -> Vec<Experiment> {
    let mut all: Vec<Experiment> = with_plan(contiguous()).into();
    all.extend(shuffles());
    all.extend(column_writes());
    all.extend(projections());
    all.extend(bitmaps());
    all.extend(records());
    all.extend(small_packets());
    all.extend(kinds::partitions());
    all.extend(kinds::columns());
    let mut all: Vec<_> = all.into_iter().map(pipelined).collect();
    all.push(kinds::chase());
    all.push(small_sends::latency());
    all.extend(small_sends::rates());
    all
}

/// The experiment with its request repeated, each time over buffers of its own. One with several requests already
/// stays as it is.
fn pipelined(experiment: Experiment) -> Experiment {
    let [post] = &experiment.posts[..] else { return experiment };
    let count = experiment.buffers.len();
    let times = 0..PIPELINED;
    let fetched = match &experiment.fetched {
        Fetched::Schedule(buffers) => Fetched::Schedule(
            times.clone().flat_map(|k| buffers.iter().map(move |b| b + k * count)).collect(),
        ),
        other => other.clone(),
    };
    Experiment {
        fetched,
        posts: times.map(|k| post.moved(k * count)).collect(),
        buffers: [&experiment.buffers[..]; PIPELINED].concat(),
        ..experiment
    }
}

fn at(buffer: usize, offset: u64) -> Place {
    Place { buffer, offset }
}

/// One region to one queue pair by RC WRITE, its rows packed into packets.
fn one(id: &str, title: &str, target: Target, buffers: Vec<Vec<u8>>, region: Region) -> Experiment {
    let row = region.rows(&buffers).first().map_or(1, |row| row.iter().map(|p| p.len).sum());
    Experiment {
        id: id.to_owned(),
        title: title.to_owned(),
        target,
        paper: "",
        buffers,
        transport: Transport::Rc,
        mtu: MTU as u32,
        write: true,
        rows_per_message: MTU.div_euclid(row).max(1) as u32,
        fetched: Fetched::Registers,
        words: None,
        row_mask: RowMask::Period,
        by_columns: false,
        posts: vec![Post::Own { to: 0, regions: vec![region] }],
    }
}

/// The request with the fetch plan that the library finds best for it, and without one: as the card's
/// registers say.
fn with_plan(experiment: Experiment) -> [Experiment; 2] {
    let Experiment { id, title, .. } = &experiment;
    let planned = Experiment {
        fetched: Fetched::Plan,
        title: format!("{title}, with the plan that libdrdma finds"),
        ..experiment.clone()
    };
    let (id, title) = (format!("{id}-registers"), format!("{title}, without a plan"));
    [planned, Experiment { id, title, paper: "", ..experiment }]
}

/// The request of `rows` rows with the schedule that the library finds best for it.
fn with_schedule(experiment: &Experiment, rows: u64) -> Experiment {
    let Experiment { id, title, .. } = experiment;
    let mut buffers = experiment.buffers.clone();
    buffers.push(vec![0; rows.div_ceil(8) as usize]);
    Experiment {
        fetched: Fetched::Schedule(vec![buffers.len() - 1]),
        buffers,
        id: format!("{id}-schedule"),
        title: format!("{title}, with the schedule that libdrdma finds"),
        ..experiment.clone()
    }
}

fn contiguous() -> Experiment {
    let len = 1 << 20;
    let buffers = vec![Random::new(SEED).bytes(len)];
    let region = Region::Contiguous(Piece { at: at(0, 0), len: len as u64 });
    let paper = "98 (reads of 256 B)";
    let title = "contiguous, 1 MiB";
    Experiment { paper, ..one("contiguous", title, Target::Gbps(96.0), buffers, region) }
}

/// A table of equal columns, column `c` beginning `c * skew` bytes behind an aligned address.
struct Table {
    buffers: Vec<Vec<u8>>,
    columns: Vec<(Place, u64)>,
    rows: u64,
}

impl Table {
    fn new(rows: u64, width: u64, skew: u64) -> Self {
        Self::of(COLUMNS, rows, width, skew)
    }

    /// Makes a table of `count` columns.
    fn of(count: usize, rows: u64, width: u64, skew: u64) -> Self {
        let mut random = Random::new(SEED);
        let mut buffers = Vec::new();
        let mut columns = Vec::new();
        for column in 0..count {
            let offset = skew * column as u64 + skew % 2;
            columns.push((at(column, offset), width));
            buffers.push(random.bytes((offset + rows * width) as usize));
        }
        Self { buffers, columns, rows }
    }

    fn row_bytes(&self) -> u64 {
        self.columns.iter().map(|(_, width)| width).sum()
    }

    /// Adds a bitmap, and returns the region of its rows.
    fn selected(&mut self, bits: Vec<u8>) -> Region {
        self.buffers.push(bits);
        let bitmap = at(self.buffers.len() - 1, 0);
        Region::Bitmapped { bitmap, rows: self.rows, columns: self.columns.clone() }
    }

    /// Each row goes to one of `destinations` destinations, at random.
    fn shuffled(
        mut self,
        id: &str,
        title: &str,
        target: Target,
        destinations: usize,
    ) -> Experiment {
        let mut random = Random::new(SEED + 1);
        let mut bitmaps = vec![vec![0; self.rows.div_ceil(8) as usize]; destinations];
        for row in 0..self.rows as usize {
            bitmaps[random.below(destinations as u64) as usize][row / 8] |= 1 << (row % 8);
        }
        let row = self.row_bytes();
        let regions = bitmaps.into_iter().map(|bits| vec![self.selected(bits)]).collect();
        Experiment {
            id: id.to_owned(),
            title: title.to_owned(),
            target,
            paper: "",
            buffers: self.buffers,
            transport: Transport::Rc,
            mtu: MTU as u32,
            write: true,
            rows_per_message: (MTU / row) as u32,
            fetched: Fetched::Registers,
            words: None,
            row_mask: RowMask::Period,
            by_columns: false,
            posts: vec![Post::Shared(regions)],
        }
    }

    /// Each row goes to one of `destinations` destinations, at random, by ids of one byte.
    fn partitioned(
        mut self,
        id: &str,
        title: &str,
        target: Target,
        destinations: usize,
    ) -> Experiment {
        let mut random = Random::new(SEED + 1);
        let ids = (0..self.rows).map(|_| random.below(destinations as u64) as u8).collect();
        self.buffers.push(ids);
        let ids = Piece { at: at(self.buffers.len() - 1, 0), len: self.rows };
        let (columns, kinds) = (self.columns.clone(), Vec::new());
        let list = Partitioned { ids, keys: None, destinations, columns, kinds };
        Experiment {
            posts: vec![Post::Partitioned(list)],
            buffers: self.buffers.clone(),
            ..self.shuffled(id, title, target, 1)
        }
    }

    /// Each row goes to one of two destinations, as a list of its values and a message of its own.
    fn listed(self, id: &str, title: &str, target: Target) -> Experiment {
        let mut random = Random::new(SEED + 1);
        let value = |row: u64, (base, width): &(Place, u64)| Piece {
            at: Place { offset: base.offset + row * width, ..*base },
            len: *width,
        };
        let list = |row| {
            let piece = |column| Region::Contiguous(value(row, column));
            self.columns.iter().map(piece).collect()
        };
        let posts = (0..self.rows).map(|row| {
            let to = random.below(2) as usize;
            Post::Own { to, regions: list(row) }
        });
        let posts = posts.collect();
        let title = title.to_owned();
        Experiment {
            title,
            write: false,
            rows_per_message: 1,
            row_mask: RowMask::Element,
            posts,
            buffers: self.buffers.clone(),
            ..Self::new(8, 4, 0).shuffled(id, "", target, 1)
        }
    }
}

fn shuffles() -> Vec<Experiment> {
    let bound = Target::Bound(0.92);
    let table = |width| Table::new(ROWS, width, 0);
    let paper = "98 (from the sizes of its reads)";
    let two = "shuffle, 5 x 4 B, 64 Ki rows, 2 destinations by bitmaps";
    let mut all = vec![
        Experiment { paper, ..table(4).shuffled("shuffle-2", two, Target::Gbps(94.0), 2) },
        Experiment {
            paper: "1.5 (ConnectX-5)",
            ..Table::new(LISTED_ROWS, 4, 0).listed(
                "lists-2",
                "shuffle, 5 x 4 B, 8 Ki rows, 2 destinations by SGE lists, a row each",
                Target::About { gbps: 1.5, factor: 1.2 },
            )
        },
    ];
    for destinations in [16, 64] {
        let title = format!("shuffle, 5 x 4 B, 64 Ki rows, {destinations} destinations by bitmaps");
        let id = format!("shuffle-{destinations}");
        all.push(table(4).shuffled(&id, &title, bound, destinations));
    }
    all.push(table(4).partitioned(
        "shuffle-64-partitioned",
        "shuffle, 5 x 4 B, 64 Ki rows, 64 destinations by a partitioned region",
        Target::Gbps(88.0),
        64,
    ));
    for (width, rows) in [(1, 4 * ROWS), (2, 2 * ROWS), (8, ROWS)] {
        let title =
            format!("shuffle, 5 x {width} B, {} Ki rows, 2 destinations by bitmaps", rows >> 10);
        let id = format!("shuffle-2-width-{width}");
        all.push(Table::new(rows, width, 0).shuffled(&id, &title, bound, 2));
    }
    for (width, rows) in [(4, ROWS), (1, 4 * ROWS), (2, 2 * ROWS), (8, ROWS)] {
        let title =
            format!("shuffle, 5 x {width} B at odd base addresses, 2 destinations by bitmaps");
        let id = if width == 4 {
            "shuffle-2-odd".to_owned()
        } else {
            format!("shuffle-2-odd-width-{width}")
        };
        all.push(Table::new(rows, width, 9).shuffled(&id, &title, bound, 2));
    }
    all
}

/// WRITEs by columns: each column goes to an address of its own, instead of one address for rows.
fn column_writes() -> Vec<Experiment> {
    let of = |columns: usize, ids: bool| {
        let by = if ids { "ids" } else { "bitmaps" };
        let id = format!("columns-{columns}-{by}");
        let title =
            format!("WRITE by columns, {columns} x 8 B, 8 Ki rows, 16 destinations by {by}");
        let table = Table::of(columns, WRITTEN_ROWS, 8, 0);
        let rows = match ids {
            true => table.partitioned(&id, &title, Target::Bound(0.9), 16),
            false => table.shuffled(&id, &title, Target::Bound(0.9), 16),
        };
        Experiment { rows_per_message: WRITTEN_ROWS as u32, by_columns: true, ..rows }
    };
    [5, 16].into_iter().flat_map(|columns| [of(columns, true), of(columns, false)]).collect()
}

fn strided(
    id: &str,
    title: &str,
    target: Target,
    period: u64,
    pattern: &[(u64, u64)],
) -> Experiment {
    // Enough periods that the start is little.
    let count = ((2 << 20) / period).clamp(2 << 10, 16 << 10);
    let buffers = vec![Random::new(SEED).bytes((count * period) as usize)];
    let pattern = pattern.to_vec();
    one(id, title, target, buffers, Region::Strided { base: at(0, 0), period, count, pattern })
}

fn projections() -> Vec<Experiment> {
    let pattern = [(0, 4), (4, 4), (12, 4)];
    let title = "OLTP projection, 3 of 4 columns x 4 B, packed";
    let paper = "74 (from the sizes of its reads)";
    let mut all =
        vec![Experiment { paper, ..strided("oltp", title, Target::Gbps(71.0), 16, &pattern) }];
    for period in [64, 1024] {
        for part in [2, 4, 8, 16] {
            let title = format!("projection, 1/{part} of a row of {period} B");
            let id = format!("projection-{period}-{part}");
            all.push(strided(&id, &title, Target::Bound(0.92), period, &[(0, period / part)]));
        }
    }
    all
}

/// A bitmap with `percent` percent of ones, each at random.
fn random_bits(rows: u64, percent: u64) -> Vec<u8> {
    let mut random = Random::new(SEED + percent);
    let mut bits = vec![0; rows as usize / 8];
    for row in 0..rows as usize {
        bits[row / 8] |= u8::from(random.below(100) < percent) << (row % 8);
    }
    bits
}

/// A bitmap with `percent` percent of ones, in runs of 1 to 127 with gaps to match.
fn runs_of_bits(rows: u64, percent: u64) -> Vec<u8> {
    let mut random = Random::new(SEED + percent);
    let mut bits = vec![0; rows as usize / 8];
    let mut row = 0;
    while row < rows {
        let ones = 1 + random.below(127);
        (row..rows.min(row + ones)).for_each(|row| bits[row as usize / 8] |= 1 << (row % 8));
        // A run has 64 ones on average.
        row += ones + 1 + random.below((128 * (100 - percent) / percent).max(2) - 1);
    }
    bits
}

fn bitmaps() -> Vec<Experiment> {
    let mut all = Vec::new();
    for (kind, bits) in [("random", random_bits as fn(u64, u64) -> Vec<u8>), ("runs", runs_of_bits)]
    {
        for percent in [1, 10, 50, 90] {
            // Enough rows that the start is little.
            let rows = ROWS
                * match (kind, percent) {
                    ("random", 1) => 8,
                    ("runs", 1) => 32,
                    ("runs", 10) => 8,
                    _ => 1,
                };
            let mut table = Table::new(rows, 4, 0);
            let region = table.selected(bits(rows, percent));
            let title = match kind {
                "random" => format!("bitmap, {percent} % of the bits, 5 x 4 B"),
                _ => format!("bitmap, {percent} % of the bits in runs, 5 x 4 B"),
            };
            let id = format!("bitmap-{kind}-{percent}");
            let experiment = one(&id, &title, Target::Bound(0.90), table.buffers, region);
            match (kind, percent) {
                // Most rows are selected: little is left to plan.
                ("random", 50 | 90) => all.push(experiment),
                ("random", 10) | ("runs", 90) => {
                    let scheduled = with_schedule(&experiment, rows);
                    all.extend(with_plan(experiment));
                    all.push(scheduled);
                }
                _ => all.extend(with_plan(experiment)),
            }
        }
    }
    all
}

fn records() -> Vec<Experiment> {
    let experiment = |len: u64| {
        let bytes = 16 << 20;
        let mut random = Random::new(SEED + len);
        // A slot for each record, in any order: none overlap, and no two are in one read.
        let slot_bytes = (2 * len).max(1024);
        let slots = bytes / slot_bytes;
        let count = ((2 << 20) / len).min(6144);
        let mut order: Vec<u64> = (0..slots).collect();
        for k in 0..count {
            order.swap(k as usize, (k + random.below(slots - k)) as usize);
        }
        let offsets: Vec<u64> = order[..count as usize]
            .iter()
            .map(|slot| slot * slot_bytes + 8 * random.below(len / 8))
            .collect();
        let buffers = vec![random.bytes(bytes as usize), vec![0; 8 * count as usize]];
        let region = Region::PointerMapped { pointers: 1, target: 0, offsets, len };
        let title = format!("records of {len} B at random addresses, by pointers");
        one(&format!("pointers-{len}"), &title, Target::Bound(0.90), buffers, region)
    };
    [64, 256, 1024].map(experiment).into()
}

/// Messages of two rows of 16 values of 4 B, with a byte between one and the next: every alignment.
fn values(id: &str, title: &str, target: Target) -> Experiment {
    let values: Vec<_> = (0..16).map(|value| (5 * value, 4)).collect();
    Experiment { rows_per_message: 2, ..strided(id, title, target, 80, &values) }
}

/// The id of the experiment with this many words a cycle.
pub fn words_id(words: u32) -> String {
    format!("packets-128-words-{words}")
}

/// Gb/s of full beats of payload, of 16 words each, if an assembler reads `words` words in a cycle:
/// each beat takes whole cycles.
pub fn beats_gbps(words: u32) -> f64 {
    f64::from(BEAT_WORDS * 32) / f64::from(BEAT_WORDS.div_ceil(words)) / NS_PER_CYCLE
}

/// Messages of 128 B by an assembler that reads 1 to 16 words in a cycle.
pub fn words() -> Vec<Experiment> {
    let experiment = |words| {
        let title = format!("messages of 128 B, 32 values of 4 B, {words} words a cycle");
        // The wire carries 56.6 Gb/s of these.
        let target = match beats_gbps(words) {
            gbps if gbps < 56.0 => Target::About { gbps, factor: 1.01 },
            _ => Target::Wire(0.99),
        };
        // About two thirds of a millisecond, beside which the start is little.
        let messages = f64::from(6 << 10) * (beats_gbps(words) / 56.6).min(1.0);
        let values = first(2 * messages as u64, values(&words_id(words), &title, target));
        pipelined(Experiment { words: Some(words), ..values })
    };
    (1..=BEAT_WORDS).map(experiment).collect()
}

fn small_packets() -> Vec<Experiment> {
    let target = Target::Wire(0.99);
    let row: Vec<_> = (0..5).map(|value| (6 * value, 4)).collect();
    let title = "one row of 20 B a UD message, 5 x 4 B of 32 B";
    let paper = "line rate from 8 segments a cycle on";
    vec![
        Experiment {
            rows_per_message: 1,
            ..strided("packets-128", "messages of 128 B, contiguous", target, 128, &[(0, 128)])
        },
        values("packets-128-values", "messages of 128 B, 32 values of 4 B", target),
        Experiment { paper, ..words().swap_remove(7) },
        Experiment {
            transport: Transport::Ud,
            write: false,
            rows_per_message: 1,
            ..first(16 << 10, strided("packets-ud", title, Target::MegaPackets(90.0), 32, &row))
        },
    ]
}

/// The first periods of a strided experiment.
fn first(periods: u64, mut experiment: Experiment) -> Experiment {
    for post in &mut experiment.posts {
        if let Post::Own { regions, .. } = post
            && let [Region::Strided { count, .. }] = &mut regions[..]
        {
            *count = (*count).min(periods);
        }
    }
    experiment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut ids: Vec<_> = all().into_iter().map(|experiment| experiment.id).collect();
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }

    #[test]
    fn bitmaps_are_as_dense_as_they_say() {
        for percent in [1, 10, 50, 90] {
            let rows = 64 * ROWS;
            for bits in [random_bits(rows, percent), runs_of_bits(rows, percent)] {
                let ones: u32 = bits.iter().map(|byte| byte.count_ones()).sum();
                let found = f64::from(ones) / rows as f64 * 100.0;
                assert!((found / percent as f64 - 1.0).abs() < 0.1, "{found} % for {percent} %");
            }
        }
    }

    #[test]
    fn every_experiment_of_a_rate_is_of_pipelined_requests() {
        for experiment in all() {
            let time = matches!(experiment.target, Target::Latency { .. } | Target::RoundTrips(_));
            let least = if time { 1 } else { PIPELINED };
            assert!(experiment.posts.len() >= least, "{}", experiment.id);
        }
        // Each request has data of its own.
        let shuffle = all().into_iter().find(|experiment| experiment.id == "shuffle-2").unwrap();
        let mut places: Vec<_> = shuffle
            .messages()
            .iter()
            .flat_map(|to| to.messages.concat())
            .map(|piece| (piece.at.buffer, piece.at.offset))
            .collect();
        let count = places.len();
        places.sort_unstable();
        places.dedup();
        assert_eq!((places.len(), count), (count, PIPELINED * 5 * ROWS as usize));
    }

    #[test]
    fn a_shuffled_row_goes_to_exactly_one_destination() {
        let (table, target) = (|| Table::new(100, 4, 0), Target::Gbps(0.0));
        let (by_bitmaps, by_ids) =
            (table().shuffled("", "", target, 3), table().partitioned("", "", target, 3));
        let messages = by_bitmaps.messages();
        let mut rows: Vec<u64> = messages
            .iter()
            .flat_map(|to| to.messages.iter().flatten())
            .filter(|piece| piece.at.buffer == 0)
            .map(|piece| piece.at.offset / 4)
            .collect();
        rows.sort_unstable();
        assert_eq!(rows, (0..100).collect::<Vec<_>>());
        // The same rows to the same destinations, so that their figures can be compared.
        assert_eq!(messages, by_ids.messages());
    }
}
