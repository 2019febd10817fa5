//! The CRC-32 of Ethernet and of the ICRC, 64 bytes per cycle.
//!
//! The CRC is linear: the state after a beat is a matrix times the state before it, plus a
//! matrix times the data. The data's part is feed-forward and takes two stages; the loop over
//! the state is one 32 x 32 matrix. The last beat of a packet is processed as if it was filled
//! up with zeros, and the zeros are taken back afterwards: processing a zero byte is invertible.

use rust_hdl_core::prelude::*;
use std::fmt::Write;

/// The reflected polynomial.
const POLYNOMIAL: u32 = 0xedb8_8320;
/// Bytes of a beat.
pub(super) const BYTES: usize = 64;
/// The beat is reduced in parts of this many bytes.
const PART: usize = 8;

/// The state (neither preset nor inverted) after one more byte.
pub(crate) fn advance(state: u32, byte: u8) -> u32 {
    (0..8).fold(state ^ u32::from(byte), |s, _| (s >> 1) ^ if s & 1 == 1 { POLYNOMIAL } else { 0 })
}

/// The state before a zero byte that led to `state`.
pub(crate) fn take_back(state: u32) -> u32 {
    let undo = |s: u32| if s >> 31 == 1 { ((s ^ POLYNOMIAL) << 1) | 1 } else { s << 1 };
    (0..8).fold(state, |s, _| undo(s))
}

/// The CRC-32 of `bytes`, as in [`Crc32`]'s `out_crc`.
pub fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |state, &byte| advance(state, byte))
}

/// CRC-32 of packets of any length from 1 byte.
///
/// One beat per enabled cycle, packets back to back. Every beat of a packet but the last carries
/// 64 bytes, the last one `in_count`; byte 0 is lowest. The CRC appears
/// [`LATENCY`](Self::LATENCY) enabled cycles after the packet's last beat. While `enable` is
/// low, the whole pipeline holds.
///
/// # Inputs
/// `clk`, `rst` (synchronous), `enable`; `in_valid`, `in_data`, `in_last`, `in_count` (1 to 64,
/// only read in the last beat).
///
/// # Outputs
/// `out_valid` (for one enabled cycle per packet), `out_crc` (its byte 0 is sent first).
#[derive(LogicBlock, Default)]
pub struct Crc32 {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Advances the pipeline.
    pub enable: Signal<In, Bit>,
    /// There is a beat.
    pub in_valid: Signal<In, Bit>,
    /// The beat's bytes.
    pub in_data: Signal<In, Bits<512>>,
    /// The beat ends a packet.
    pub in_last: Signal<In, Bit>,
    /// The bytes of the last beat.
    pub in_count: Signal<In, Bits<7>>,
    /// There is a CRC.
    pub out_valid: Signal<Out, Bit>,
    /// The CRC.
    pub out_crc: Signal<Out, Bits<32>>,
}

impl Crc32 {
    /// Enabled cycles from a packet's last beat to its CRC.
    pub const LATENCY: usize = 7;
}

/// What bit `bit` of a beat of 64 bytes adds to the state behind it.
pub(super) fn contribution(bit: usize) -> u32 {
    let state = advance(0, 1 << (bit % 8));
    (0..BYTES - 1 - bit / 8).fold(state, |s, _| advance(s, 0))
}

/// The Verilog of `f`, a linear function of the 32-bit value `from`, bit by bit.
pub(super) fn matrix(f: impl Fn(u32) -> u32, from: &str) -> Vec<String> {
    let columns: Vec<u32> = (0..32).map(|i| f(1 << i)).collect();
    let row = |o: u32| (0..32).fold(0_u32, |row, i| row | ((columns[i] >> o & 1) << i));
    (0..32).map(|o| format!("^({from} & 32'h{:08x})", row(o))).collect()
}

pub(super) fn concatenation(bits: &[String]) -> String {
    let bits: Vec<_> = bits.iter().rev().map(String::as_str).collect();
    format!("{{{}}}", bits.join(",\n            "))
}

impl Logic for Crc32 {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.out_valid.connect();
        self.out_crc.connect();
    }

    fn hdl(&self) -> Verilog {
        let mut text = String::new();
        let mut steps = String::new();
        let line = |text: &mut String, s: String| {
            let _ = writeln!(text, "{s}");
        };
        // Stage 1: bytes above the count are cleared.
        line(&mut text, "    reg [511:0] data1;".into());
        for k in 0..BYTES {
            let (lo, hi) = (8 * k, 8 * k + 7);
            line(
                &mut steps,
                format!(
                    "data1[{hi}:{lo}] <= (!in_last || in_count > 7'd{k}) ? in_data[{hi}:{lo}] : 8'd0;"
                ),
            );
        }
        // Stage 2: what each part of the data contributes to the state.
        for part in 0..BYTES / PART {
            line(&mut text, format!("    reg [31:0] part{part};"));
            let rows: Vec<String> = (0..32)
                .map(|o| {
                    let of = |bit| u64::from(contribution(64 * part + bit) >> o & 1) << bit;
                    let mask = (0..8 * PART).fold(0_u64, |mask, bit| mask | of(bit));
                    let (lo, hi) = (64 * part, 64 * part + 63);
                    format!("^(data1[{hi}:{lo}] & 64'h{mask:016x})")
                })
                .collect();
            line(&mut steps, format!("part{part} <= {};", concatenation(&rows)));
        }
        // Stage 3: all parts.
        line(&mut text, "    reg [31:0] data3;".into());
        let parts: Vec<_> = (0..BYTES / PART).map(|p| format!("part{p}")).collect();
        line(&mut steps, format!("data3 <= {};", parts.join(" ^ ")));
        // Stage 4: the loop over the state.
        let beat = |s: u32| (0..BYTES).fold(s, |s, _| advance(s, 0));
        line(&mut text, "    reg [31:0] state;\n    reg first;".into());
        line(&mut text, "    wire [31:0] previous = first ? 32'hffffffff : state;".into());
        line(
            &mut text,
            format!("    wire [31:0] moved = {};", concatenation(&matrix(beat, "previous"))),
        );
        line(&mut steps, "if (valid3) state <= moved ^ data3;".into());
        line(&mut steps, "if (valid3) first <= last3;".into());
        // Stages 5 to 7: the zeros of the last beat are taken back, two bits of their number
        // in each stage.
        let mut from = "state".to_owned();
        for stage in 0..3 {
            let number = stage + 5;
            line(&mut text, format!("    reg [31:0] back{number};"));
            let mut chosen = from.clone();
            for bit in [2 * stage, 2 * stage + 1] {
                let undo = |s: u32| (0..1 << bit).fold(s, |s, _| take_back(s));
                line(
                    &mut text,
                    format!(
                        "    wire [31:0] without{bit} = zeros{}[{bit}] ? {} : {chosen};",
                        number - 1,
                        concatenation(&matrix(undo, &chosen))
                    ),
                );
                chosen = format!("without{bit}");
            }
            line(&mut steps, format!("back{number} <= {chosen};"));
            from = format!("back{number}");
        }
        // What travels along.
        for stage in 1..=7 {
            line(&mut text, format!("    reg valid{stage};\n    reg last{stage};"));
            let (valid, last) = match stage {
                1 => ("in_valid".to_owned(), "in_last".to_owned()),
                _ => (format!("valid{}", stage - 1), format!("last{}", stage - 1)),
            };
            line(&mut steps, format!("valid{stage} <= {valid};\nlast{stage} <= {last};"));
        }
        for stage in 1..=6 {
            // Stages 5 and 6 need only the bits that are still to be used.
            let low = 2 * usize::saturating_sub(stage, 4);
            line(&mut text, format!("    reg [5:{low}] zeros{stage};"));
            let zeros = match stage {
                1 => "6'd0 - in_count[5:0]".to_owned(),
                _ => format!("zeros{}[5:{low}]", stage - 1),
            };
            line(&mut steps, format!("zeros{stage} <= {zeros};"));
        }
        let reset: String = (1..=7).map(|s| format!("            valid{s} <= 1'b0;\n")).collect();
        Verilog::Custom(format!(
            "{text}    always @(*) out_valid = valid7 && last7;
    always @(*) out_crc = ~back7;
    always @(posedge clk) begin
        if (enable) begin
{steps}        end
        if (rst) begin
{reset}            first <= 1'b1;
        end
    end"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::Random;

    #[test]
    fn the_reference_is_crc_32() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert!((1..1000).all(|s| take_back(advance(s, 0)) == s));
    }

    #[test]
    fn packets_of_every_length_have_their_crc_under_stalls() {
        let mut model = testing::library("crc32", Crc32::default).instance(1);
        model.set("rst", 1);
        model.cycle();
        model.set("rst", 0);
        let mut random = Random::new(1);
        let mut expected = std::collections::VecDeque::new();
        let mut enabled = 0_usize;
        let mut got = 0;
        let lengths = (1..=200).chain([1, 1, 64, 64, 4096, 65]);
        let packets: Vec<_> = lengths.map(|len| random.bytes(len)).collect();
        let mut beats: Vec<_> = Vec::new();
        for packet in &packets {
            let count = packet.len().div_ceil(64);
            beats.extend(
                packet.chunks(64).enumerate().map(|(i, c)| (c, i + 1 == count, crc32(packet))),
            );
        }
        let mut beats = beats.into_iter();
        let mut beat = beats.next();
        while got < packets.len() {
            let enable = random.chance(0.8);
            let valid = random.chance(0.8) && beat.is_some();
            model.set("enable", enable.into());
            model.set("in_valid", valid.into());
            // What follows the last byte means nothing.
            let mut data = random.bytes(64);
            if let (Some((bytes, last, _)), true) = (beat, valid) {
                data[..bytes.len()].copy_from_slice(bytes);
                model.set("in_last", last.into());
                model.set("in_count", bytes.len() as u64);
            }
            model.set_word("in_data", &data.as_slice().into());
            model.settle();
            if enable {
                if model.get("out_valid") == 1 {
                    let (crc, at) = expected.pop_front().expect("a CRC is due");
                    assert_eq!(model.get("out_crc"), u64::from(crc), "packet {got}");
                    assert_eq!(enabled, at + Crc32::LATENCY);
                    got += 1;
                }
                if valid {
                    let (_, last, crc) = beat.expect("a beat was offered");
                    if last {
                        expected.push_back((crc, enabled));
                    }
                    beat = beats.next();
                }
                enabled += 1;
            }
            model.tick();
        }
    }
}
