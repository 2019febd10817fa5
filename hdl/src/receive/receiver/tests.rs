use std::collections::VecDeque;

use drdma_abi::register::QueuePairEntry;
use drdma_abi::roce::{self, Aeth, Bth, Ethernet, Ipv4, Udp};
use drdma_verilated::testbench::{Bench, MonitorId, Random, STALLS};
use drdma_verilated::{Library, Word};

use super::Receiver;
use crate::context::testing::clear_tables;
use crate::testing;

const MAC: u64 = 0x0212_3456_789a;
const IP: u32 = 0x0a00_0001;

fn library() -> Library {
    testing::library("receiver", Receiver::default)
}

/// An acknowledgement frame; `edit` may spoil it before the ICRC is made.
fn acknowledgement(qpn: u32, psn: u32, syndrome: u8, edit: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let ethernet = Ethernet { destination: MAC, source: 7, ethertype: roce::ETHERTYPE_IPV4 };
    let ip = Ipv4 {
        version: 4,
        ihl: 5,
        tos: 0x1a,
        total_length: 48,
        ttl: 61,
        protocol: roce::IP_PROTOCOL_UDP,
        source: 0x0a00_0002,
        destination: IP,
        ..Default::default()
    };
    let udp =
        Udp { source_port: 0xc011, destination_port: roce::UDP_PORT, length: 28, checksum: 0x1234 };
    let bth = Bth {
        opcode: roce::operation::ACKNOWLEDGE,
        migration: 1,
        pkey: 0xffff,
        resv8a: 0x40,
        dest_qp: qpn,
        psn,
        ..Default::default()
    };
    let mut frame = Vec::new();
    frame.extend(ethernet.to_bytes());
    frame.extend(ip.to_bytes());
    frame.extend(udp.to_bytes());
    frame.extend(bth.to_bytes());
    frame.extend(Aeth { syndrome, msn: 5 }.to_bytes());
    edit(&mut frame);
    let mut masked = vec![0xff; 8];
    masked.extend(&frame[14..]);
    for at in [9, 16, 18, 19, 34, 35, 40] {
        masked[at] = 0xff;
    }
    frame.extend(crc32fast::hash(&masked).to_le_bytes());
    frame
}

/// The block with frames going in and coming out.
struct Wire<'a> {
    bench: Bench<'a>,
    acks: MonitorId,
    random: Random,
    stalls: (f64, f64),
    dropped: u64,
}

impl Wire<'_> {
    fn new(library: &Library, seed: u64, stalls: (f64, f64)) -> Self {
        let mut bench = Bench::new(library.instance(seed), seed);
        bench.limit(1_000_000);
        let acks = bench.monitor("ack");
        bench.stall(stalls);
        bench.set("mac", MAC);
        bench.set("ip", u64::from(IP));
        clear_tables(&mut bench);
        Self { bench, acks, random: Random::new(seed), stalls, dropped: 0 }
    }

    fn queue_pair(&mut self, index: u64, qpn: u32, state: u32) {
        let bytes = QueuePairEntry { qpn, state, ..Default::default() }.to_bytes();
        for (word, value) in bytes.chunks(4).enumerate() {
            self.bench.set("cfg_index", index);
            self.bench.set("cfg_word", word as u64);
            self.bench.set("cfg_data", u64::from(u32::from_le_bytes(value.try_into().unwrap())));
            self.bench.set("cfg_valid", 1_u64);
            self.bench.step();
        }
        self.bench.set("cfg_valid", 0_u64);
    }

    /// Sends frames; returns those that the host got, with their user bits.
    fn pass(&mut self, frames: &[(Vec<u8>, u64)]) -> Vec<(Vec<u8>, u64)> {
        let mut beats: VecDeque<(Word, u64, bool, u64)> = VecDeque::new();
        for (frame, user) in frames {
            for (k, chunk) in frame.chunks(64).enumerate() {
                let last = (k + 1) * 64 >= frame.len();
                let keep = u64::MAX >> (64 - chunk.len());
                beats.push_back((Word::from_bytes(chunk), keep, last, *user));
            }
        }
        let (mut out, mut bytes) = (Vec::new(), Vec::new());
        let mut offered = false;
        let mut quiet = 0;
        while quiet < 200 {
            offered = !beats.is_empty() && (offered || !self.random.chance(self.stalls.0));
            self.bench.set("s_axis_if_rx_tvalid", offered);
            if let Some((data, keep, last, user)) = beats.front().filter(|_| offered) {
                self.bench.set("s_axis_if_rx_tdata", data.clone());
                self.bench.set("s_axis_if_rx_tkeep", *keep);
                self.bench.set("s_axis_if_rx_tlast", *last);
                self.bench.set("s_axis_if_rx_tuser", *user);
            }
            let ready = !self.random.chance(self.stalls.1);
            self.bench.set("m_axis_if_rx_tready", ready);
            self.bench.model().settle();
            let took = offered && self.bench.get("s_axis_if_rx_tready") == 1;
            self.dropped += self.bench.get("count_dropped");
            if ready && self.bench.get("m_axis_if_rx_tvalid") == 1 {
                let len = self.bench.get("m_axis_if_rx_tkeep").count_ones() as usize;
                bytes.extend(self.bench.get_word("m_axis_if_rx_tdata").to_bytes(len));
                if self.bench.get("m_axis_if_rx_tlast") == 1 {
                    let user = self.bench.get("m_axis_if_rx_tuser");
                    out.push((std::mem::take(&mut bytes), user));
                }
            }
            self.bench.step();
            if took {
                beats.pop_front();
                offered = false;
            }
            quiet = if beats.is_empty() { quiet + 1 } else { 0 };
        }
        out
    }

    fn taken(&mut self) -> Vec<(u64, u64, u64)> {
        let beats = self.bench.take(self.acks);
        beats.iter().map(|b| (b.u64("qp"), b.u64("psn"), b.u64("syndrome"))).collect()
    }
}

#[test]
fn acknowledgements_are_taken_and_everything_else_reaches_the_host() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut wire = Wire::new(&library, seed, stalls);
        let qpns: Vec<u32> = (0..4096).map(|k| (k * 65_521 + 17) & 0xff_ffff).collect();
        (0..4096).for_each(|k| wire.queue_pair(k, qpns[k as usize], 1));
        let (mut frames, mut host, mut acks) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..150 {
            if wire.random.chance(0.5) {
                let len = 14 + wire.random.below(400) as usize;
                let mut frame = wire.random.bytes(len);
                // Often nearly one of ours.
                if wire.random.chance(0.5) {
                    let near = acknowledgement(qpns[3], 9, 0, |_| {});
                    frame = near;
                    let at = *[0, 5, 12, 13, 14, 23, 30, 33, 36, 37]
                        .get(wire.random.below(10) as usize)
                        .unwrap();
                    frame[at] ^= 1 << wire.random.below(8);
                }
                let user = wire.random.below(1 << 40);
                frames.push((frame.clone(), user));
                host.push((frame, user));
            } else {
                let qp = [wire.random.below(4096), 4095][wire.random.below(2) as usize];
                let (psn, syndrome) = (wire.random.below(1 << 24), wire.random.below(256));
                let qpn = qpns[qp as usize];
                frames.push((acknowledgement(qpn, psn as u32, syndrome as u8, |_| {}), 0));
                acks.push((qp, psn, syndrome));
            }
        }
        assert_eq!(wire.pass(&frames), host);
        wire.bench.run(3000);
        assert_eq!(wire.taken(), acks);
        assert_eq!(wire.dropped, 0);
    }
}

#[test]
fn what_is_ours_and_wrong_is_dropped_and_counted() {
    let mut wire = Wire::new(&library(), 1, (0.0, 0.0));
    wire.queue_pair(5, 77, 1);
    wire.queue_pair(6, 78, 0);
    let good = || acknowledgement(77, 1, 0, |_| {});
    let mut flipped = good();
    flipped[57] ^= 1;
    let mut long = good();
    long.extend([0; 40]);
    let frames = [
        (flipped, 0),
        // Marked bad by the MAC.
        (good(), 1),
        // No such queue pair; one that was reset.
        (acknowledgement(79, 1, 0, |_| {}), 0),
        (acknowledgement(78, 1, 0, |_| {}), 0),
        // A SEND; wrong lengths; padding; another header version.
        (acknowledgement(77, 1, 0, |frame| frame[42] = 4), 0),
        (acknowledgement(77, 1, 0, |frame| frame[17] = 49), 0),
        (acknowledgement(77, 1, 0, |frame| frame[39] = 29), 0),
        (acknowledgement(77, 1, 0, |frame| frame[43] |= 0x10), 0),
        (acknowledgement(77, 1, 0, |frame| frame[43] |= 0x01), 0),
        (long, 0),
        (good(), 0),
    ];
    assert_eq!(wire.pass(&frames), []);
    assert_eq!(wire.taken(), [(5, 1, 0)]);
    assert_eq!(wire.dropped, frames.len() as u64 - 1);
}
