//! Computes the CRC-32 of frames, 64 bytes a cycle.

use super::crc32::{BYTES, advance, concatenation, contribution, matrix, take_back};
use drdma_emit::prelude::*;

/// Computes the CRC-32 of packets whose length is 2 more than a multiple of 4, like that of the bytes an ICRC covers.
///
/// One beat a cycle, packets back to back. Every beat of a packet but the last carries 64 bytes; the last one carries
/// `in_count`, and zeros behind them; byte 0 is lowest. The CRC appears [`LATENCY`](Self::LATENCY) cycles after the
/// packet's last beat.
///
/// The state is as in [`Crc32`](super::Crc32). The zeros of the last beat are 2, 6, ... 62 bytes: 4 and 8 of them are
/// taken back in one stage if they are among these, 16 and 32 in the next, and 2 always.
///
/// # Inputs
/// `clk`, `rst` (synchronous); `in_valid`, `in_data`, `in_last`, `in_count` (used with the last beat only).
///
/// # Outputs
/// `out_valid` (for one cycle for each packet), `out_crc` (its byte 0 is sent first).
#[derive(LogicBlock, Default)]
pub struct FrameCrc32 {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A beat is given.
    pub in_valid: Signal<In, Bit>,
    /// Bytes of the beat, byte 0 lowest.
    pub in_data: Signal<In, Bits<512>>,
    /// The beat ends a packet.
    pub in_last: Signal<In, Bit>,
    /// With `in_last`: number of bytes of the beat.
    pub in_count: Signal<In, Bits<7>>,
    /// A CRC is delivered.
    pub out_valid: Signal<Out, Bit>,
    /// CRC of the packet; its byte 0 is sent first.
    pub out_crc: Signal<Out, Bits<32>>,
}

impl FrameCrc32 {
    /// Cycles from a packet's last beat to its CRC.
    pub const LATENCY: usize = 3;
}

impl Logic for FrameCrc32 {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.out_valid.connect();
        self.out_crc.connect();
    }

    fn hdl(&self) -> Verilog {
        // Stage 1: the contribution of the data to the state, 256 bits at a time, and the loop over the state.
        let parts: Vec<u32> = (0..8 * BYTES).map(contribution).collect();
        let row = |o: usize| {
            let digits = parts.chunks(4).rev().map(|nibble| {
                let bits = nibble.iter().rev().fold(0, |bits, part| bits << 1 | part >> o & 1);
                format!("{bits:x}")
            });
            format!("^(in_data & 512'h{})", digits.collect::<String>())
        };
        let data = concatenation(&(0..32).map(row).collect::<Vec<_>>());
        let beat = |s: u32| (0..BYTES).fold(s, |s, _| advance(s, 0));
        let moved = concatenation(&matrix(beat, "previous"));
        // Stages 2 and 3: the zeros are taken back.
        let undone = |zeros: usize, from: &str| {
            let undo = |s: u32| (0..zeros).fold(s, |s, _| take_back(s));
            concatenation(&matrix(undo, from))
        };
        let (four, eight) = (undone(4, "state"), undone(8, "four_back"));
        let (sixteen, most) = (undone(16, "some_back"), undone(32, "sixteen_back"));
        let all = undone(2, "most_back");
        Verilog::Custom(format!(
            "    reg [31:0] state;
    reg [31:0] some_back;
    reg [31:0] back;
    reg first;
    reg valid1;
    reg valid2;
    reg valid3;
    reg last1;
    // Four times as many zeros, and two.
    reg [3:0] zeros1;
    reg [1:0] zeros2;
    wire [31:0] previous = first ? 32'hffffffff : state;
    wire [31:0] moved = {moved};
    // A length of another kind, and that of a full beat, have no CRC here.
    wire unused = &{{1'b0, in_count[6], in_count[1:0]}};
    wire [31:0] four_back = zeros1[0] ? {four} : state;
    wire [31:0] eight_back = zeros1[1] ? {eight} : four_back;
    wire [31:0] sixteen_back = zeros2[0] ? {sixteen} : some_back;
    wire [31:0] most_back = zeros2[1] ? {most} : sixteen_back;
    always @(*) out_valid = valid3;
    always @(*) out_crc = ~back;
    always @(posedge clk) begin
        if (in_valid) state <= moved ^ {data};
        if (in_valid) first <= in_last;
        valid1 <= in_valid;
        valid2 <= valid1 && last1;
        valid3 <= valid2;
        last1 <= in_last;
        zeros1 <= 4'd15 - in_count[5:2];
        some_back <= eight_back;
        zeros2 <= zeros1[3:2];
        back <= {all};
        if (rst) begin
            valid1 <= 1'b0;
            valid2 <= 1'b0;
            valid3 <= 1'b0;
            first <= 1'b1;
        end
    end"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitive::crc32::crc32;
    use crate::testing;
    use drdma_verilated::testbench::Random;
    use std::collections::VecDeque;

    #[test]
    fn packets_of_every_length_have_their_crc_after_three_cycles() {
        let mut model = testing::library("frame_crc32", FrameCrc32::default).instance(1);
        model.set("rst", 1);
        model.cycle();
        model.set("rst", 0);
        let mut random = Random::new(1);
        let lengths = (2..=330).step_by(4).chain([2, 2, 62, 66, 4098, 62]);
        let packets: Vec<_> = lengths.map(|len| random.bytes(len)).collect();
        let mut beats: VecDeque<_> = VecDeque::new();
        for packet in &packets {
            let count = packet.len().div_ceil(BYTES);
            let last = |i| i + 1 == count;
            let chunks = packet.chunks(BYTES).enumerate();
            beats.extend(chunks.map(|(i, bytes)| (bytes, last(i), crc32(packet))));
        }
        let mut expected = VecDeque::new();
        let mut got = 0;
        for cycle in 0.. {
            if got == packets.len() {
                break;
            }
            let beat = if random.chance(0.8) { beats.pop_front() } else { None };
            let mut data = random.bytes(BYTES);
            model.set("in_valid", beat.is_some().into());
            if let Some((bytes, last, crc)) = beat {
                data = bytes.to_vec();
                data.resize(BYTES, 0);
                model.set("in_last", last.into());
                model.set("in_count", bytes.len() as u64);
                if last {
                    expected.push_back((crc, cycle));
                }
            }
            model.set_word("in_data", &data.as_slice().into());
            model.settle();
            if model.get("out_valid") == 1 {
                let (crc, at) = expected.pop_front().expect("a CRC is due");
                assert_eq!(model.get("out_crc"), u64::from(crc), "packet {got}");
                assert_eq!(cycle, at + FrameCrc32::LATENCY, "packet {got}");
                got += 1;
            }
            model.tick();
        }
    }
}
