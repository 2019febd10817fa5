//! Reads the keys of rows whose ids are to be made.

use super::partitioner::Function;
use super::record::{KEY_BLOCK, Purpose, Read};
use crate::primitive::{Flatten, Ram, RamStyle, Restore};
use crate::request::{FunctionWrite, KEY_BITS, KeyWrite};
use drdma_emit::prelude::*;

/// Bits of a [`FunctionWrite`].
const FUNCTION_BITS: usize = <FunctionWrite as Synth>::BITS;
/// Bits of a [`KeyWrite`].
const KEY_WRITE_BITS: usize = <KeyWrite as Synth>::BITS;
/// Bits of a key's address, which are the lowest ones of a [`KeyWrite`], and bits that are kept at it.
const PLACE: usize = 12;
const KEPT: usize = KEY_WRITE_BITS - PLACE;
// A key fits into two UltraRAMs side by side.
const _: () = assert!(KEPT <= 2 * 72);

/// State of the block.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum KeysState {
    /// Waits for a stretch.
    Idle,
    /// Reads the request's function and its first key.
    Look,
    /// Takes the function and the key.
    Found,
    /// Sends the function to the partitioner.
    Tell,
    /// Reads the splitters.
    Splitters,
    /// Looks up a key.
    Key,
    /// Reads the validity of a key.
    Validity,
    /// Reads the values of a key.
    Values,
}

/// A stretch of rows whose ids are to be made.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct KeyStretch {
    /// Slot of the request.
    pub slot: Bits<8>,
    /// The stretch is the first one of its request.
    pub begins: Bit,
    /// Host address of the first splitter.
    pub addr: Bits<64>,
    /// First row of the stretch.
    pub first: Bits<32>,
    /// Rows of the stretch, at least 1.
    pub rows: Bits<32>,
    /// Bytes of the ids that are made, 1 or 2.
    pub ids: Bits<2>,
    /// Id whose rows are selected.
    pub partition: Bits<16>,
    /// The answer goes to the column path.
    pub column: Bit,
}

/// A read of up to 4 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct KeyRequest {
    /// Host address of the read.
    pub addr: Bits<64>,
    /// Bytes of the read, 1 to 4,096.
    pub bytes: Bits<13>,
    /// Read that describes the bytes.
    pub read: Read,
    /// The bytes are whole values of one of the request's first two keys, for the column path.
    pub kept: Bit,
    /// Number of the key, modulo 2.
    pub key: Bits<1>,
    /// Slot of the request.
    pub slot: Bits<8>,
}

/// Turns stretches of rows into reads of their keys, for the partitioner.
///
/// Rows are read as [`Fetch`](super::fetch::Fetch) reads ids: from the row with which a 64-bit word would begin, or for
/// the column path from the stretch's own first row. They are read in blocks of [`KEY_BLOCK`] rows; of each block every
/// key is read, its validity before its values. The first stretch of a request sends the request's function before
/// that, and reads the splitters of a range.
///
/// A read of values takes 3 cycles, one of validity a cycle more. The first read comes 3 cycles after its stretch, or 4
/// with a function.
///
/// # Inputs
/// `function_write`, `key_write` (the decoder's; complete when their request comes); `stretch` stream; ready of the
/// `request` and `function` streams.
///
/// # Outputs
/// `stretch.ready`, `request` and `function` streams; `busy` (a stretch is at work).
#[derive(LogicBlock, BlockDefault)]
pub struct Keys {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Function that makes the ids of a request.
    pub function_write: Flow<In, FunctionWrite>,
    /// A key of a request.
    pub key_write: Flow<In, KeyWrite>,
    /// Stretches whose keys are to be read.
    pub stretch: Stream<In, KeyStretch>,
    /// A stretch is at work.
    pub busy: Signal<Out, Bit>,
    /// Reads of keys.
    pub request: Stream<Out, KeyRequest>,
    /// Functions of requests, each before the first read of its request.
    pub function: Stream<Out, Function>,

    functions: Ram<FUNCTION_BITS, 1, 8>,
    function_in: Flatten<FunctionWrite, FUNCTION_BITS>,
    function_out: Restore<FunctionWrite, FUNCTION_BITS>,
    #[init(Ram::new(RamStyle::Ultra))]
    keys: Ram<KEPT, 1, PLACE>,
    key_in: Flatten<KeyWrite, KEY_WRITE_BITS>,
    key_out: Restore<KeyWrite, KEY_WRITE_BITS>,
    written_function: Signal<Local, FunctionWrite>,
    written_key: Signal<Local, KeyWrite>,
    known_function: DFF<FunctionWrite>,
    known_key: DFF<KeyWrite>,
    state: DFF<KeysState>,
    taken: DFF<KeyStretch>,
    /// No read was made for the request so far.
    fresh: DFF<Bit>,
    row: DFF<Bits<33>>,
    stop: DFF<Bits<33>>,
    key: DFF<Bits<4>>,
    left: Signal<Local, Bits<33>>,
    rows: DFF<Bits<9>>,
    last_block: DFF<Bit>,
    last_key: Signal<Local, Bit>,
    offset: Signal<Local, Bits<64>>,
    /// Bytes that hold the block's bits, if the first one lies at bit `first` of its byte.
    bit_bytes: Signal<Local, Bits<10>>,
    validity_bytes: Signal<Local, Bits<10>>,
    value_bytes: Signal<Local, Bits<13>>,
    splitters: Signal<Local, Bits<8>>,
    purpose: Signal<Local, Purpose>,
    unused: Signal<Local, Bits<21>>,
}

impl Logic for Keys {
    #[hdl_gen]
    fn update(&mut self) {
        // Tables. Slot and number of a key are its address.
        self.written_function.next = self.function_write.val();
        self.function_in.record.next = self.written_function.val();
        self.functions.write_lanes.next = bit_cast::<1, 1>(self.function_write.valid.val().into());
        self.functions.write_address.next = self.written_function.val().slot;
        self.functions.write_data.next = self.function_in.bits.val();
        self.functions.read_enable.next = true;
        self.functions.read_address.next = self.taken.q.val().slot;
        self.function_out.bits.next = self.functions.read_data.val();
        self.written_key.next = self.key_write.val();
        self.key_in.record.next = self.written_key.val();
        self.keys.write_lanes.next = bit_cast::<1, 1>(self.key_write.valid.val().into());
        self.keys.write_address.next = (bit_cast::<PLACE, 8>(self.written_key.val().slot) << 4)
            | bit_cast::<PLACE, 4>(self.written_key.val().key);
        self.keys.write_data.next = self.key_in.bits.val().get_bits::<KEPT>(PLACE);
        self.keys.read_enable.next = true;
        self.keys.read_address.next = (bit_cast::<PLACE, 8>(self.taken.q.val().slot) << 4)
            | bit_cast::<PLACE, 4>(self.key.q.val());
        self.key_out.bits.next =
            bit_cast::<KEY_WRITE_BITS, KEPT>(self.keys.read_data.val()) << PLACE as u64;
        self.unused.next = bit_cast::<21, 8>(self.known_function.q.val().slot)
            | (bit_cast::<21, 8>(self.known_key.q.val().slot) << 8)
            | (bit_cast::<21, 4>(self.known_key.q.val().key) << 16)
            | bit_cast::<21, PLACE>(self.key_in.bits.val().get_bits::<PLACE>(0))
            | (bit_cast::<21, 1>(self.taken.q.val().begins.into()) << 20);

        // The current block.
        self.left.next = self.stop.q.val() - self.row.q.val();
        self.last_block.d.next = self.left.val() <= KEY_BLOCK;
        self.rows.d.next = bits::<9>(KEY_BLOCK);
        if self.last_block.d.val() {
            self.rows.d.next = self.left.val().get_bits::<9>(0);
        }
        self.last_key.next =
            bit_cast::<5, 4>(self.key.q.val()) + 1 == self.known_function.q.val().keys;
        self.offset.next = bit_cast::<64, 33>(self.row.q.val()) << self.known_key.q.val().log_width;
        self.value_bytes.next =
            bit_cast::<13, 9>(self.rows.q.val()) << self.known_key.q.val().log_width;
        self.bit_bytes.next = (bit_cast::<10, 9>(self.rows.q.val())
            + bit_cast::<10, 3>(self.known_key.q.val().first)
            + 7)
            >> 3;
        if self.known_key.q.val().log_width == KEY_BITS {
            self.offset.next = bit_cast::<64, 33>(self.row.q.val()) >> 3;
            self.value_bytes.next = bit_cast::<13, 10>(self.bit_bytes.val());
        }
        self.validity_bytes.next = (bit_cast::<10, 9>(self.rows.q.val())
            + bit_cast::<10, 3>(self.known_key.q.val().validity_first)
            + 7)
            >> 3;
        self.splitters.next = (self.known_function.q.val().partitions - 1).get_bits::<8>(0);

        // Reads.
        self.purpose.next.column = self.taken.q.val().column;
        self.purpose.next.ids = self.taken.q.val().ids;
        self.purpose.next.partition = self.taken.q.val().partition;
        self.purpose.next.last = self.last_block.q.val();
        self.purpose.next.fetch = false;
        self.purpose.next.kept = false;
        self.request.valid.next = false;
        self.request.addr.next = self.known_key.q.val().addr + self.offset.val();
        self.request.bytes.next = self.value_bytes.val();
        self.request.read.next.purpose = self.purpose.val();
        self.request.read.next.made = true;
        self.request.read.next.begins = self.fresh.q.val();
        self.request.read.next.splitters = false;
        self.request.read.next.validity = false;
        self.request.read.next.nullable = self.known_key.q.val().nullable;
        self.request.read.next.first = self.known_key.q.val().first;
        self.request.read.next.log_width = self.known_key.q.val().log_width;
        self.request.read.next.key_type = self.known_key.q.val().key_type;
        self.request.read.next.opens = !self.key.q.val().any();
        self.request.read.next.closes = self.last_key.val();
        self.request.read.next.rows = self.rows.q.val();
        self.request.kept.next = false;
        self.request.key.next = self.key.q.val().get_bits::<1>(0);
        self.request.slot.next = self.taken.q.val().slot;
        self.function.valid.next = false;
        self.function.partitions.next = self.known_function.q.val().partitions;
        self.function.group.next = self.known_function.q.val().group;
        self.function.seed.next = self.known_function.q.val().seed;
        self.function.range.next = self.known_function.q.val().range;
        self.stretch.ready.next = false;
        self.busy.next = self.state.q.val() != KeysState::Idle;
        match self.state.q.val() {
            KeysState::Idle => {
                self.stretch.ready.next = true;
                self.taken.d.next = self.stretch.val();
                self.fresh.d.next = self.stretch.begins.val();
                self.key.d.next = 0.into();
                self.row.d.next = bit_cast::<33, 32>((self.stretch.first.val() >> 6) << 6);
                if self.stretch.column.val() {
                    self.row.d.next = bit_cast::<33, 32>(self.stretch.first.val());
                }
                self.stop.d.next = bit_cast::<33, 32>(self.stretch.first.val())
                    + bit_cast::<33, 32>(self.stretch.rows.val());
                if self.stretch.valid.val() {
                    self.state.d.next = KeysState::Look;
                }
            }
            KeysState::Look => {
                self.state.d.next = KeysState::Found;
            }
            KeysState::Found => {
                self.known_function.d.next = self.function_out.record.val();
                self.known_key.d.next = self.key_out.record.val();
                self.state.d.next = KeysState::Values;
                if self.key_out.record.val().nullable {
                    self.state.d.next = KeysState::Validity;
                }
                if self.fresh.q.val() {
                    self.state.d.next = KeysState::Tell;
                }
            }
            KeysState::Tell => {
                self.function.valid.next = true;
                if self.function.ready.val() {
                    self.state.d.next = KeysState::Values;
                    if self.known_key.q.val().nullable {
                        self.state.d.next = KeysState::Validity;
                    }
                    if self.known_function.q.val().range && self.splitters.val().any() {
                        self.state.d.next = KeysState::Splitters;
                    }
                }
            }
            KeysState::Splitters => {
                self.request.valid.next = true;
                self.request.addr.next = self.taken.q.val().addr;
                self.request.bytes.next =
                    bit_cast::<13, 8>(self.splitters.val()) << self.known_key.q.val().log_width;
                self.request.read.next.splitters = true;
                self.request.read.next.nullable = false;
                self.request.read.next.rows = bit_cast::<9, 8>(self.splitters.val());
                if self.request.ready.val() {
                    self.fresh.d.next = false;
                    self.state.d.next = KeysState::Values;
                    if self.known_key.q.val().nullable {
                        self.state.d.next = KeysState::Validity;
                    }
                }
            }
            KeysState::Key => {
                self.state.d.next = KeysState::Found;
            }
            KeysState::Validity => {
                self.request.valid.next = true;
                self.request.addr.next =
                    self.known_key.q.val().validity + (bit_cast::<64, 33>(self.row.q.val()) >> 3);
                self.request.bytes.next = bit_cast::<13, 10>(self.validity_bytes.val());
                self.request.read.next.validity = true;
                self.request.read.next.first = self.known_key.q.val().validity_first;
                if self.request.ready.val() {
                    self.fresh.d.next = false;
                    self.state.d.next = KeysState::Values;
                }
            }
            KeysState::Values => {
                self.request.valid.next = true;
                self.request.kept.next = self.taken.q.val().column
                    && !self.key.q.val().get_bits::<3>(1).any()
                    && (self.known_key.q.val().log_width != KEY_BITS);
                if self.request.ready.val() {
                    self.fresh.d.next = false;
                    self.key.d.next = self.key.q.val() + 1;
                    self.state.d.next = KeysState::Key;
                    if self.last_key.val() {
                        self.key.d.next = 0.into();
                        self.row.d.next = self.row.q.val() + KEY_BLOCK;
                        if self.last_block.q.val() {
                            self.state.d.next = KeysState::Idle;
                        }
                    }
                }
            }
        }
        if self.rst.val() {
            self.state.d.next = KeysState::Idle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::{Beat, Bench, Random, STALLS};

    /// Binary logarithm of a width, or bits; address; the place of the first bit; validity with the place of its first bit.
    #[derive(Clone, Copy)]
    struct Key {
        log_width: u64,
        addr: u64,
        first: u64,
        validity: Option<(u64, u64)>,
    }

    struct Request {
        slot: u64,
        keys: Vec<Key>,
        partitions: u64,
        is_range: bool,
    }

    fn request(random: &mut Random, slot: u64) -> Request {
        let is_range = random.chance(0.3);
        let key = |random: &mut Random| Key {
            log_width: random.below(if is_range { 4 } else { 6 }),
            addr: random.u64() >> 8,
            first: random.below(8),
            validity: random.chance(0.4).then(|| (random.u64() >> 8, random.below(8))),
        };
        let count = if is_range { 1 } else { [1, 2, 16][random.below(3) as usize] };
        let keys = (0..count).map(|_| key(random)).collect();
        let partitions = 1 + random.below(if is_range { 256 } else { 1 << 16 });
        Request { slot, keys, partitions, is_range }
    }

    impl Request {
        fn write(&self, bench: &mut Bench<'_>) {
            let pulse = |bench: &mut Bench<'_>, stream: &str, fields: &[(&str, u64)]| {
                for (name, value) in fields {
                    bench.set(format!("{stream}_{name}"), *value);
                }
                bench.set(format!("{stream}_valid"), 1);
                bench.step();
                bench.set(format!("{stream}_valid"), 0);
            };
            let function = [
                ("slot", self.slot),
                ("keys", self.keys.len() as u64),
                ("partitions", self.partitions),
                ("group", 3),
                ("seed", self.slot + 5),
                ("range", self.is_range.into()),
            ];
            pulse(bench, "function_write", &function);
            for (index, key) in (0..).zip(&self.keys) {
                let (validity, validity_first) = key.validity.unwrap_or((1, 1));
                let fields = [
                    ("slot", self.slot),
                    ("key", index),
                    ("addr", key.addr),
                    ("log_width", key.log_width),
                    ("first", key.first),
                    ("key_type", index % 8),
                    ("nullable", key.validity.is_some().into()),
                    ("validity", validity),
                    ("validity_first", validity_first),
                ];
                pulse(bench, "key_write", &fields);
            }
        }

        /// The reads of a stretch: address, bytes, and the fields of [`Read`] from `made` on.
        fn reads(&self, first: u64, rows: u64, column: bool, begins: bool) -> Vec<(u64, u64, u64)> {
            let (mut row, end) = (if column { first } else { first & !63 }, first + rows);
            let (mut reads, mut fresh) = (Vec::new(), begins);
            let mut read = |addr: u64, bytes: u64, fields: &[(u32, u64)]| {
                let begins = std::mem::take(&mut fresh);
                let all = fields
                    .iter()
                    .fold(1 | u64::from(begins) << 1, |all, (at, value)| all | value << at);
                reads.push((addr, bytes, all));
            };
            let splitters = self.partitions - 1;
            if begins && self.is_range && splitters > 0 {
                let log_width = self.keys[0].log_width;
                let first = self.keys[0].first;
                let fields =
                    [(2, 1), (5, first), (8, log_width), (14, 1), (15, 1), (16, splitters)];
                read(SPLITTERS, splitters << log_width, &fields);
            }
            while row < end {
                let rows = (end - row).min(256);
                for (index, key) in (0..).zip(&self.keys) {
                    let ends = [
                        (14, (index == 0).into()),
                        (15, (index + 1 == self.keys.len()).into()),
                        (16, rows),
                    ];
                    let nullable = u64::from(key.validity.is_some());
                    let common = [(4, nullable), (8, key.log_width), (11, index as u64 % 8)];
                    let fields = |more: &[(u32, u64)]| [&ends[..], &common, more].concat();
                    if let Some((validity, first)) = key.validity {
                        let bytes = (first + rows).div_ceil(8);
                        read(validity + row / 8, bytes, &fields(&[(3, 1), (5, first)]));
                    }
                    let (offset, bytes) = match key.log_width {
                        5 => (row / 8, (key.first + rows).div_ceil(8)),
                        log => (row << log, rows << log),
                    };
                    read(key.addr + offset, bytes, &fields(&[(5, key.first)]));
                }
                row += rows;
            }
            reads
        }
    }

    const SPLITTERS: u64 = 0x1234_5678_9abc;

    #[test]
    fn the_keys_of_each_block_are_read_one_after_the_other() {
        let library = testing::library("keys", Keys::default);
        for (seed, stalls) in (1..).zip(STALLS) {
            let mut random = Random::new(seed);
            let mut bench = Bench::new(library.instance(seed), seed);
            bench.stall(stalls);
            let stretch = bench.driver("stretch");
            let (reads, functions) = (bench.monitor("request"), bench.monitor("function"));
            let (mut expected, mut told) = (Vec::new(), Vec::new());
            let requests: Vec<_> =
                (0..30).map(|slot| request(&mut random, slot * 7 % 256)).collect();
            requests.iter().for_each(|request| request.write(&mut bench));
            for request in &requests {
                told.push((request.partitions, request.slot + 5));
                for begins in [true, false, false] {
                    let column = random.chance(0.5);
                    let first =
                        (random.below(1 << 20) * 16) | (u64::from(!column) * random.below(64));
                    let rows = 1 + random.below(1000);
                    expected.extend(request.reads(first, rows, column, begins));
                    let beat = Beat::from([("slot", request.slot), ("begins", begins.into())])
                        .with("addr", SPLITTERS)
                        .with("first", first)
                        .with("rows", rows)
                        .with("ids", 1_u64)
                        .with("partition", random.below(1 << 16))
                        .with("column", u64::from(column));
                    bench.send(stretch, beat);
                }
            }
            bench.run_until_received(reads, expected.len());
            bench.run(20);
            let found: Vec<_> = bench
                .take(reads)
                .iter()
                .map(|beat| {
                    let read = beat.get("read");
                    (beat.u64("addr"), beat.u64("bytes"), read.bits(22, 25).to_u64())
                })
                .collect();
            assert_eq!(found.len(), expected.len());
            for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
                assert_eq!(found, expected, "read {k}");
            }
            let found: Vec<_> = bench
                .take(functions)
                .iter()
                .map(|beat| (beat.u64("partitions"), beat.u64("seed")))
                .collect();
            assert_eq!(found, told);
        }
    }
}
