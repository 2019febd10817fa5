//! Computes the CRC-32 of Ethernet and of the ICRC.
//!
//! The CRC is linear: the state after a beat is a matrix times the state before it, plus a matrix times
//! the data. Processing a zero byte is invertible, so that zeros behind a packet's end can be taken back.

use drdma_emit::prelude::*;
use std::fmt::Write;

/// The reflected polynomial.
const POLYNOMIAL: u32 = 0xedb8_8320;
/// Bytes of a beat.
pub(super) const BYTES: usize = 64;
/// Number of bits that are summed up in one stage.
const PART: usize = 64;

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

/// Computes the CRC-32 of `W` bits, all at once.
///
/// A result a cycle, [`LATENCY`](Self::LATENCY) cycles after its data. For the ICRC, in which fields that change on the
/// way count as ones, bytes can be left out: those that [`new`](Self::new) names count as `0xff`, whatever `in_data`
/// has there.
///
/// # Inputs
/// `clk`, `rst` (synchronous); `in_valid`, `in_data` (byte 0 is lowest).
///
/// # Outputs
/// `out_valid`, `out_crc` (its byte 0 is sent first).
#[derive(LogicBlock)]
pub struct Crc32<const W: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Data are given.
    pub in_valid: Signal<In, Bit>,
    /// The data, byte 0 lowest.
    pub in_data: Signal<In, Bits<W>>,
    /// A CRC is delivered.
    pub out_valid: Signal<Out, Bit>,
    /// The CRC; its byte 0 is sent first.
    pub out_crc: Signal<Out, Bits<32>>,
    _ones: Vec<usize>,
}

impl<const W: usize> Crc32<W> {
    /// Cycles from the data to their CRC.
    pub const LATENCY: usize = 2;

    /// A block for the CRC of data whose bytes `ones` count as `0xff`.
    ///
    /// # Panics
    /// `W` is not a number of whole bytes, or `ones` names a byte beyond it.
    pub fn new(ones: &[usize]) -> Self {
        assert_eq!(W % 8, 0, "Crc32: {W} bits are no bytes");
        assert!(ones.iter().all(|byte| 8 * byte < W), "Crc32: no such byte in {W} bits: {ones:?}");
        Self {
            clk: Signal::default(),
            rst: Signal::default(),
            in_valid: Signal::default(),
            in_data: Signal::default(),
            out_valid: Signal::default(),
            out_crc: Signal::default(),
            _ones: ones.to_vec(),
        }
    }
}

/// Contribution of bit `bit` of a beat of 64 bytes to the state after the beat.
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

impl<const W: usize> Logic for Crc32<W> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.out_valid.connect();
        self.out_crc.connect();
    }

    fn hdl(&self) -> Verilog {
        // The CRC of the constant bytes, and the change that each of the other bits makes in it.
        let mut constant = vec![0; W / 8];
        self._ones.iter().for_each(|&byte| constant[byte] = 0xff);
        let changes = |bit: usize| {
            let mut bytes = constant.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            crc32(&bytes) ^ crc32(&constant)
        };
        let counts = |bit: &usize| !self._ones.contains(&(bit / 8));
        // Stage 1: parts of the sum. Stage 2: the sum.
        let (mut declared, mut steps, mut parts) = (String::new(), String::new(), Vec::new());
        for low in (0..W).step_by(PART) {
            let high = W.min(low + PART) - 1;
            let bits = (low..=high).filter(counts);
            let bits: Vec<_> = bits.map(|bit| (bit - low, changes(bit))).collect();
            if bits.is_empty() {
                continue;
            }
            let row = |o: u32| {
                let mask =
                    bits.iter().fold(0_u64, |m, (bit, by)| m | u64::from(by >> o & 1) << bit);
                format!("^(in_data[{high}:{low}] & {}'h{mask:x})", high - low + 1)
            };
            let rows: Vec<_> = (0..32).map(row).collect();
            let part = format!("part{}", low / PART);
            let _ = writeln!(declared, "    reg [31:0] {part};");
            let _ = writeln!(steps, "        if (in_valid) {part} <= {};", concatenation(&rows));
            parts.push(part);
        }
        // Bytes that count as ones.
        if !self._ones.is_empty() {
            let byte = |k: &usize| format!("in_data[{}:{}]", 8 * k + 7, 8 * k);
            let bytes: Vec<_> = self._ones.iter().map(byte).collect();
            let _ = writeln!(declared, "    wire unused = &{{1'b0, {}}};", bytes.join(", "));
        }
        Verilog::Custom(format!(
            "{declared}    reg [31:0] sum;
    reg valid1;
    reg valid2;
    always @(*) out_valid = valid2;
    always @(*) out_crc = sum;
    always @(posedge clk) begin
{steps}        if (valid1) sum <= 32'h{:08x} ^ {};
        valid1 <= in_valid;
        valid2 <= valid1;
        if (rst) begin
            valid1 <= 1'b0;
            valid2 <= 1'b0;
        end
    end",
            crc32(&constant),
            parts.join(" ^ ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::Random;
    use std::collections::VecDeque;

    #[test]
    fn the_reference_is_crc_32() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert!((1..1000).all(|s| take_back(advance(s, 0)) == s));
    }

    #[test]
    fn data_have_their_crc_after_two_cycles_and_left_out_bytes_count_as_ones() {
        const ONES: [usize; 3] = [0, 5, 18];
        let mut model = testing::library("crc32", || Crc32::<152>::new(&ONES)).instance(1);
        model.set("rst", 1);
        model.set("in_valid", 1);
        for _ in 0..3 {
            model.cycle();
            assert_eq!(model.get("out_valid"), 0, "a reset ends what is under way");
        }
        model.set("rst", 0);
        let mut random = Random::new(1);
        let mut expected: VecDeque<Option<u32>> = vec![None; Crc32::<152>::LATENCY].into();
        for _ in 0..1000 {
            let (mut data, valid) = (random.bytes(19), random.chance(0.7));
            model.set("in_valid", valid.into());
            model.set_word("in_data", &data.as_slice().into());
            ONES.iter().for_each(|&byte| data[byte] = 0xff);
            expected.push_back(valid.then(|| crc32(&data)));
            model.settle();
            let crc = expected.pop_front().expect("one a cycle");
            assert_eq!(model.get("out_valid"), u64::from(crc.is_some()));
            if let Some(crc) = crc {
                assert_eq!(model.get("out_crc"), u64::from(crc));
            }
            model.tick();
        }
    }
}
