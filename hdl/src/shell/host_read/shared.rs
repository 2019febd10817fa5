//! Lets two clients share one port of [`HostRead`](super::HostRead).
//!
//! Contract: reads of `b` go before those of `a`, so `b` should have few. A read is offered a cycle later; one a cycle.
//! Answers come in the order of the reads, in the cycle in which they are offered: `beat.ready` depends on
//! `a_beat.ready` and `b_beat.ready`. A client that does not take its beats holds up those of the other. 64 reads may
//! be under way.

use super::{HostReadBeat, HostReadRequest};
use crate::primitive::{StreamFifo, StreamSkid};
use drdma_emit::prelude::*;

/// Bits of the number of a read under way.
const READS: usize = 6;
const READS_COUNT: usize = READS + 1;

/// Client of a read.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Owner {
    /// The read is of client b.
    is_b: Bit,
}

/// Shares a port between two clients; see the [module](self).
///
/// # Inputs
/// `clk`, `rst`; streams `a_read`, `b_read`; `beat`.
///
/// # Outputs
/// Streams `read`; `a_beat`, `b_beat`.
#[derive(LogicBlock, BlockDefault)]
pub struct SharedReads {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Reads of client a.
    pub a_read: Stream<In, HostReadRequest>,
    /// Answers to client a, in the order of its reads.
    pub a_beat: Stream<Out, HostReadBeat>,
    /// Reads of client b, which go first.
    pub b_read: Stream<In, HostReadRequest>,
    /// Answers to client b, in the order of its reads.
    pub b_beat: Stream<Out, HostReadBeat>,
    /// Reads of both clients.
    pub read: Stream<Out, HostReadRequest>,
    /// Answers to the reads of both clients.
    pub beat: Stream<In, HostReadBeat>,

    reads: StreamSkid<HostReadRequest>,
    #[init(StreamFifo::prompt())]
    owners: StreamFifo<Owner, READS, READS_COUNT>,
    free: Signal<Local, Bit>,
    of_b: Signal<Local, Bit>,
    unused: Signal<Local, Bits<READS_COUNT>>,
}

impl Logic for SharedReads {
    #[hdl_gen]
    fn update(&mut self) {
        self.free.next = self.reads.input.ready.val() && self.owners.input.ready.val();
        self.b_read.ready.next = self.free.val();
        self.a_read.ready.next = self.free.val() && !self.b_read.valid.val();
        self.reads.input.valid.next =
            self.owners.input.ready.val() && (self.a_read.valid.val() || self.b_read.valid.val());
        self.reads.input.data.next = self.a_read.val();
        self.owners.input.valid.next =
            self.reads.input.ready.val() && (self.a_read.valid.val() || self.b_read.valid.val());
        self.owners.input.data.next.is_b = false;
        if self.b_read.valid.val() {
            self.reads.input.data.next = self.b_read.val();
            self.owners.input.data.next.is_b = true;
        }
        self.reads.output.join(&mut self.read);
        self.unused.next = self.owners.count.val() | self.owners.free.val();

        self.of_b.next = self.owners.output.data.val().is_b;
        self.a_beat.next = self.beat.val();
        self.b_beat.next = self.beat.val();
        self.a_beat.valid.next = self.beat.valid.val() && !self.of_b.val();
        self.b_beat.valid.next = self.beat.valid.val() && self.of_b.val();
        self.beat.ready.next = self.a_beat.ready.val();
        if self.of_b.val() {
            self.beat.ready.next = self.b_beat.ready.val();
        }
        self.owners.output.ready.next =
            self.beat.valid.val() && self.beat.ready.val() && self.beat.last.val();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::{Beat, Bench, Random, STALLS};
    use std::collections::VecDeque;

    /// Every read leaves once, those of a client in their order, and its bytes go to its client.
    #[test]
    fn what_a_read_brings_goes_to_its_client() {
        let library = testing::library("shared_reads", SharedReads::default);
        for (seed, stalls) in (1..).zip(STALLS) {
            let mut random = Random::new(seed);
            let mut bench = Bench::new(library.instance(seed), seed);
            let asks = ["a_read", "b_read"].map(|name| bench.driver(name));
            let told = ["a_beat", "b_beat"].map(|name| bench.monitor(name));
            let (read, beat) = (bench.monitor("read"), bench.driver("beat"));
            bench.stall(stalls);
            let (mut expected, mut left) = ([Vec::new(), Vec::new()], 400_u64);
            let mut under_way = VecDeque::new();
            let (mut came, mut quiet) = (0, 0);
            while quiet < 50 {
                if left > 0 && random.chance(0.4) {
                    left -= 1;
                    let client = random.below(3).min(1);
                    // The client, and how many beats come.
                    let ask =
                        [("addr", client << 32 | left), ("bytes", 64 * (1 + random.below(3)))];
                    bench.send(asks[client as usize], Beat::from(ask));
                    let beats = (0..ask[1].1 / 64).map(|k| left << 8 | k);
                    expected[client as usize].extend(beats);
                }
                bench.step();
                for read in bench.take(read) {
                    under_way.push_back((bench.cycles() + random.below(20), read));
                }
                while under_way.front().is_some_and(|(due, _)| *due <= bench.cycles()) {
                    let (_, read) = under_way.pop_front().expect("it is there");
                    let count = read.u64("bytes") / 64;
                    for k in 0..count {
                        let data = (read.u64("addr") & 0xffff_ffff) << 8 | k;
                        let last = u64::from(k + 1 == count);
                        let of = Beat::from([("data", data), ("last", last), ("error", 0)]);
                        bench.send(beat, of);
                    }
                    came += 1;
                }
                let pending = asks.iter().any(|ask| bench.pending(*ask) > 0);
                let waits = left > 0 || pending || bench.pending(beat) > 0 || !under_way.is_empty();
                quiet = if waits { 0 } else { quiet + 1 };
            }
            assert_eq!(came, 400);
            for (told, expected) in told.into_iter().zip(expected) {
                let got: Vec<_> = bench.take(told).iter().map(|beat| beat.u64("data")).collect();
                assert_eq!(got, expected, "seed {seed}");
            }
        }
    }
}
