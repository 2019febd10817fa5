//! READs and atomics of a few queue pairs, answers that come in any way, and what becomes of them.

use super::*;
use crate::context::QUEUE_PAIR_TABLE;
use crate::context::testing::clear_tables;
use crate::testing;
use drdma_verilated::Library;
use drdma_verilated::testbench::{Beat, Bench, DriverId, MonitorId, STALLS};

const MTU: u64 = 256;
const FIRST: u64 = operation::READ_RESPONSE_FIRST as u64;
const MIDDLE: u64 = operation::READ_RESPONSE_MIDDLE as u64;
const LAST: u64 = READ_LAST;
const ONLY: u64 = READ_ONLY;
/// The stamp of the first word that is written behind those that clear the tables.
const STAMP: u64 = 4096;
/// An order without bytes that ends a frame.
const NOTHING: [u64; 4] = [0, 0, 0, 1];

fn library() -> Library {
    testing::library("reads", Reads::default)
}

/// The block, with drivers and monitors of its streams.
struct Lab<'a> {
    bench: Bench<'a>,
    came: DriverId,
    ack: DriverId,
    order: MonitorId,
    response: MonitorId,
}

impl Lab<'_> {
    fn new(library: &Library, seed: u64, stalls: (f64, f64)) -> Self {
        let mut bench = Bench::new(library.instance(seed), seed);
        let (came, ack) = (bench.driver("came"), bench.driver("ack"));
        let (order, response) = (bench.monitor("order"), bench.monitor("response"));
        clear_tables(&mut bench);
        bench.set("closed", 0_u64);
        bench.set("passed", 1_u64);
        bench.stall(stalls);
        let mut lab = Self { bench, came, ack, order, response };
        lab.write(3);
        lab
    }

    /// The host writes a word of a queue pair's entry.
    fn write(&mut self, qp: u64) {
        self.pulse("cfg", &[("table", QUEUE_PAIR_TABLE), ("index", qp), ("word", 0), ("data", 1)]);
    }

    fn pulse(&mut self, port: &str, fields: &[(&str, u64)]) {
        for (field, value) in fields {
            self.bench.set(format!("{port}_{field}").as_str(), *value);
        }
        self.bench.set(format!("{port}_valid").as_str(), 1_u64);
        self.bench.step();
        self.bench.set(format!("{port}_valid").as_str(), 0_u64);
    }

    fn piece(&mut self, slot: u64, index: u64, addr: u64, len: u64) {
        self.pulse("piece", &[("slot", slot), ("index", index), ("addr", addr), ("len", len)]);
    }

    /// A READ of `len` bytes is sent, or an atomic. The first word written to a table has [`STAMP`].
    fn asks(&mut self, slot: u64, psn: u64, len: u64, atomic: bool, stamp: u64) {
        let packets = if atomic { 1 } else { len.div_ceil(MTU).max(1) };
        let fields = [
            ("qp", 3),
            ("stamp", stamp),
            ("slot", slot),
            ("psn", psn),
            ("last", (psn + packets - 1) & 0xff_ffff),
            ("len", len),
            ("atomic", atomic.into()),
            ("log_mtu", 8),
        ];
        self.pulse("asked", &fields);
    }

    /// Passes a packet whose frame the responder gives back; it is an answer if it has an operation.
    fn comes(&mut self, operation: Option<u64>, psn: u64, bytes: u64, ram: u64) {
        let answers = operation.is_some().into();
        let operation = operation.unwrap_or(4);
        let fields = [("answers", answers), ("qp", 3), ("operation", operation), ("psn", psn)];
        self.pulse("settled", &[&fields[..], &[("bytes", bytes), ("ram", ram)]].concat());
        self.bench.run(12);
        let fields = [("addr", 77), ("ram", 5), ("frame_end", 1), ("words", 9), ("completes", 0)];
        let bytes = if answers == 1 { 0 } else { bytes };
        let order = fields.iter().fold(Beat::new().with("bytes", bytes), |beat, (field, value)| {
            beat.with(*field, *value)
        });
        self.bench.send(self.came, order);
    }

    fn acknowledged(&mut self, psn: u64, syndrome: u64) {
        let beat = Beat::new().with("qp", 3_u64).with("psn", psn).with("syndrome", syndrome);
        self.bench.send(self.ack, beat);
    }

    /// Orders that came out: address, place, bytes, the frame's end.
    fn orders(&mut self) -> Vec<[u64; 4]> {
        self.bench.run(400);
        let fields = |beat: &Beat| match ["addr", "ram", "bytes", "frame_end"].map(|f| beat.u64(f))
        {
            [_, _, 0, end] => [0, 0, 0, end],
            order => order,
        };
        self.bench.take(self.order).iter().map(fields).collect()
    }

    /// Acknowledgements that the keeper gets, as {number, syndrome}.
    fn told(&mut self) -> Vec<(u64, u64)> {
        self.bench.run(400);
        let fields = |beat: &Beat| (beat.u64("psn"), beat.u64("syndrome"));
        self.bench.take(self.response).iter().map(fields).collect()
    }
}

#[test]
fn an_answer_fills_the_regions_in_order_and_acknowledges_each_of_its_packets() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut lab = Lab::new(&library, seed, stalls);
        lab.piece(40, 0, 0x1000, 300);
        lab.piece(40, 1, 0x9000, 1);
        lab.piece(40, 2, 0x5000, 299);
        lab.asks(40, 0xff_ffff, 600, false, STAMP);
        lab.comes(Some(FIRST), 0xff_ffff, 256, 100);
        lab.comes(None, 9, 50, 0);
        lab.comes(Some(MIDDLE), 0, 256, 1000);
        lab.comes(Some(LAST), 1, 88, 2000);
        let orders = [
            [0x1000, 100, 256, 1],
            [77, 5, 50, 1],
            [0x1100, 1000, 44, 0],
            [0x9000, 1044, 1, 0],
            [0x5000, 1045, 211, 1],
            [0x50d3, 2000, 88, 1],
        ];
        assert_eq!(lab.orders(), orders);
        assert_eq!(lab.told(), [(0xff_ffff, ACK), (0, ACK), (1, ACK)]);
        // All of the answer has come: further packets are ignored.
        lab.comes(Some(LAST), 1, 88, 3000);
        assert_eq!(lab.orders(), [NOTHING]);
        assert_eq!(lab.told(), []);
    }
}

#[test]
fn what_is_no_next_packet_of_the_oldest_answer_is_not_written() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut lab = Lab::new(&library, seed, stalls);
        lab.piece(1, 0, 0x1000, 600);
        lab.piece(2, 0, 0x2000, 10);
        lab.asks(1, 50, 600, false, STAMP);
        lab.asks(2, 53, 10, false, STAMP);
        // One from before, one beyond a gap, and one of the READ behind it.
        for (operation, psn, bytes) in [(ONLY, 49, 10), (MIDDLE, 51, 256), (ONLY, 53, 10)] {
            lab.comes(Some(operation), psn, bytes, 64);
        }
        // An answer to an atomic does not count for a READ.
        lab.comes(Some(ATOMIC), 50, 0, 64);
        assert_eq!(lab.orders(), [NOTHING; 4]);
        assert_eq!(lab.told(), [(50, NAK_PSN), (50, NAK_PSN)]);
        // The same packet comes twice.
        lab.comes(Some(FIRST), 50, 256, 64);
        lab.comes(Some(FIRST), 50, 256, 64);
        assert_eq!(lab.orders(), [[0x1000, 64, 256, 1], NOTHING]);
        assert_eq!(lab.told(), [(50, ACK)]);
        // A wrong length, and an end before the end.
        for (operation, bytes) in [(MIDDLE, 255), (MIDDLE, 4097), (LAST, 256)] {
            lab.comes(Some(operation), 51, bytes, 64);
        }
        assert_eq!(lab.orders(), [NOTHING; 3]);
        assert_eq!(lab.told(), [(51, BAD); 3]);
        lab.comes(Some(ONLY), 51, 256, 64);
        assert_eq!(
            (lab.orders().as_slice(), lab.told().as_slice()),
            (&[NOTHING][..], &[(51, BAD)][..])
        );
        // Right answers go on as before.
        lab.comes(Some(MIDDLE), 51, 256, 64);
        lab.comes(Some(LAST), 52, 88, 64);
        lab.comes(Some(ONLY), 53, 10, 64);
        let orders = [[0x1100, 64, 256, 1], [0x1200, 64, 88, 1], [0x2000, 64, 10, 1]];
        assert_eq!(lab.orders(), orders);
        assert_eq!(lab.told(), [(51, ACK), (52, ACK), (53, ACK)]);
    }
}

#[test]
fn answers_that_come_one_right_behind_the_other_are_all_written() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut lab = Lab::new(&library, seed, stalls);
        for k in 0..20 {
            lab.piece(k, 0, 0x1000 * (k + 1), 10);
            lab.asks(k, 50 + k, 10, false, STAMP);
        }
        for k in 0..20 {
            let fields = [("answers", 1), ("qp", 3), ("operation", ONLY), ("psn", 50 + k)];
            lab.pulse("settled", &[&fields[..], &[("bytes", 10), ("ram", 64 * k)]].concat());
            // A settled packet that is no answer comes in between.
            lab.pulse("settled", &[("answers", 0)]);
        }
        lab.bench.run(20);
        for k in 0..40 {
            let order = Beat::new().with("frame_end", 1_u64).with("words", 2_u64);
            lab.bench.send(lab.came, order.with("bytes", k % 2 * 7).with("addr", k));
        }
        lab.bench.run(2000);
        let expected =
            (0..20).flat_map(|k| [[0x1000 * (k + 1), 64 * k, 10, 1], [2 * k + 1, 0, 7, 1]]);
        assert_eq!(lab.orders(), expected.collect::<Vec<_>>());
        assert_eq!(lab.told(), (50..70).map(|psn| (psn, ACK)).collect::<Vec<_>>());
    }
}

/// Orders wait on their way to `host_write`. Until they have come there an answer is not told, and nothing else is
/// begun.
#[test]
fn an_answer_is_told_when_its_bytes_have_come_to_host_write() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut lab = Lab::new(&library, seed, stalls);
        for k in 0..3 {
            lab.piece(k, 0, 0x1000 * (k + 1), 10);
            lab.asks(k, 50 + k, 10, false, STAMP);
        }
        for k in 0..3 {
            lab.bench.set("passed", 0_u64);
            lab.comes(Some(ONLY), 50 + k, 10, 64 * k);
            if k == 1 {
                // A READ that is sent in this time is noted afterwards.
                lab.piece(3, 0, 0x4000, 10);
                lab.asks(3, 53, 10, false, STAMP);
            }
            assert_eq!(lab.orders(), [[0x1000 * (k + 1), 64 * k, 10, 1]]);
            assert_eq!(lab.told(), []);
            lab.bench.set("passed", 1_u64);
            assert_eq!(lab.told(), [(50 + k, ACK)]);
        }
        lab.comes(Some(ONLY), 53, 10, 7);
        assert_eq!(lab.orders(), [[0x4000, 7, 10, 1]]);
        assert_eq!(lab.told(), [(53, ACK)]);
    }
}

#[test]
fn the_value_of_an_atomic_is_written_from_its_least_significant_byte_on() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut lab = Lab::new(&library, seed, stalls);
        lab.piece(9, 0, 0x1000, 3);
        lab.piece(9, 1, 0x2000, 5);
        lab.asks(9, 7, 8, true, STAMP);
        lab.comes(Some(ONLY), 7, 8, 70);
        lab.comes(Some(ATOMIC), 7, 0, 70);
        let byte = |i: u64| {
            [if i < 3 { 0x1000 + i } else { 0x2000 + i - 3 }, 69 - i, 1, u64::from(i == 7)]
        };
        assert_eq!(lab.orders(), [vec![NOTHING], (0..8).map(byte).collect()].concat());
        assert_eq!(lab.told(), [(7, ACK)]);
    }
}

#[test]
fn no_acknowledgement_covers_an_answer_that_has_not_come() {
    let library = library();
    let mut lab = Lab::new(&library, 1, (0.0, 0.0));
    for (psn, syndrome) in
        [(5, ACK), (6, 0x25), (7, 0x62), (8, NAK_PSN), (9, 0x64), (9, 0x7f), (9, 0x45)]
    {
        lab.acknowledged(psn, syndrome);
    }
    assert_eq!(
        lab.told(),
        [(5, ACK), (6, 0x25), (7, 0x62), (8, NAK_PSN)],
        "reserved ones are dropped"
    );
    lab.piece(1, 0, 0x1000, 600);
    lab.asks(1, 50, 600, false, STAMP);
    // An acknowledgement of packets before the READ, and a NAK of the READ itself.
    for (psn, syndrome) in [(49, ACK), (50, NAK_PSN), (50, 0x62)] {
        lab.acknowledged(psn, syndrome);
    }
    assert_eq!(lab.told(), [(49, ACK), (50, NAK_PSN), (50, 0x62)]);
    // An ACK of the READ, or an answer to a later packet, has the READ sent again; an error NAK is one of the READ.
    for (psn, syndrome) in [(50, ACK), (60, ACK), (60, 0x25), (60, NAK_PSN), (60, 0x61)] {
        lab.acknowledged(psn, syndrome);
    }
    let again = (50, NAK_PSN);
    assert_eq!(lab.told(), [again, again, again, again, (50, 0x61)]);
    // Answers that came before it have their turn first.
    for (operation, psn, bytes) in [(FIRST, 50, 256), (MIDDLE, 51, 256), (LAST, 52, 88)] {
        let fields =
            [("answers", 1), ("qp", 3), ("operation", operation), ("psn", psn), ("bytes", bytes)];
        lab.pulse("settled", &fields);
    }
    lab.acknowledged(60, ACK);
    assert_eq!(lab.told(), []);
    for _ in 0..3 {
        lab.bench.send(lab.came, Beat::new().with("frame_end", 1_u64).with("words", 9_u64));
    }
    assert_eq!(lab.told(), [(50, ACK), (51, ACK), (52, ACK), (60, ACK)]);
}

#[test]
fn what_a_queue_pair_has_asked_for_ends_with_its_context_and_when_it_is_closed() {
    let library = library();
    for renews in [false, true] {
        let mut lab = Lab::new(&library, 1, (0.0, 0.0));
        lab.piece(1, 0, 0x1000, 600);
        // The READ was sent with an earlier stamp of the queue pair's entry.
        lab.asks(1, 50, 600, false, STAMP - 1);
        lab.comes(Some(FIRST), 50, 256, 64);
        assert_eq!(lab.orders(), [NOTHING]);
        lab.asks(1, 50, 600, false, STAMP);
        lab.comes(Some(FIRST), 50, 256, 64);
        assert_eq!(lab.orders(), [[0x1000, 64, 256, 1]]);
        match renews {
            true => lab.write(3),
            false => lab.bench.set("closed", 1_u64),
        }
        lab.comes(Some(MIDDLE), 51, 256, 64);
        assert_eq!(lab.orders(), [NOTHING]);
        assert_eq!(lab.told(), [(50, ACK)]);
        lab.acknowledged(60, ACK);
        assert_eq!(lab.told(), [(60, ACK)]);
        if renews {
            lab.piece(2, 0, 0x3000, 10);
            lab.asks(2, 51, 10, false, STAMP + 1);
            lab.comes(Some(ONLY), 51, 10, 64);
            assert_eq!(lab.orders(), [[0x3000, 64, 10, 1]]);
        }
    }
}

/// The context ends between two orders of a packet, whose bytes go to two regions: the second order is not written.
#[test]
fn a_packet_of_which_a_part_was_written_ends_with_its_context() {
    let library = library();
    let mut ended = 0;
    for delay in 0..30 {
        let mut lab = Lab::new(&library, 1, (0.0, 0.0));
        (0..8).for_each(|k| lab.piece(1, k, 0x1000 * (k + 1), 32));
        lab.asks(1, 50, 256, false, STAMP);
        lab.comes(Some(ONLY), 50, 256, 64);
        lab.bench.run(delay);
        lab.write(3);
        let orders = lab.orders();
        let (last, before) = orders.split_last().expect("the frame ends");
        for (k, order) in (0..).zip(before) {
            assert_eq!(*order, [0x1000 * (k + 1), 64 + 32 * k, 32, 0], "delay {delay}");
        }
        if *last == NOTHING {
            ended += u64::from(!before.is_empty());
        } else {
            assert_eq!((before.len(), last[2], last[3]), (7, 32, 1), "delay {delay}");
        }
    }
    assert!(ended > 0, "some packets end in between");
}
