//! Leaves that bring up to 16 words of 4 bytes a cycle into a memory of 32 banks of a word: turns, crossbar.

use std::fmt::Write as _;

use drdma_emit::prelude::*;

/// Words a cycle.
const PIECES: usize = 16;
/// Banks.
const BANKS: usize = 32;
/// Bytes of a word.
const LANES: usize = 4;
/// Bits of the number of a bank, and of a row.
const BANK: usize = 5;
const ROW: usize = 7;

/// Which words may not be written in the same cycle: those in different rows of a bank.
///
/// Combinational. Bit `16 s + t` of `clash`: word `s` must not come with word `t`, which is before it, or with
/// `reverse` behind it.
///
/// # Inputs
/// `used`, `banks` (16 x 5 bits), `rows` (16 x 7 bits), `reverse`.
///
/// # Outputs
/// `clash`.
#[derive(LogicBlock, BlockDefault)]
pub struct WordClashes {
    /// Words that are present, one bit each.
    pub used: Signal<In, Bits<16>>,
    /// Bank of each word (16 x 5 bits).
    pub banks: Signal<In, Bits<80>>,
    /// Row of each word in its bank (16 x 7 bits).
    pub rows: Signal<In, Bits<112>>,
    /// Words behind a word count, instead of those before it.
    pub reverse: Signal<In, Bit>,
    /// Pairs of words that must not come together: bit `16 s + t`.
    pub clash: Signal<Out, Bits<256>>,
}

impl Logic for WordClashes {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.clash.connect();
    }

    fn hdl(&self) -> Verilog {
        let mut wires = String::new();
        let mut bits = vec!["1'b0".to_owned(); PIECES * PIECES];
        for s in 0..PIECES {
            for t in 0..s {
                let bank = |k: usize| format!("banks[{} +: {BANK}]", BANK * k);
                let row = |k: usize| format!("rows[{} +: {ROW}]", ROW * k);
                let _ = writeln!(
                    wires,
                    "    wire meet{s}_{t} = used[{s}] && used[{t}] && ({} == {}) && ({} != {});",
                    bank(s),
                    bank(t),
                    row(s),
                    row(t)
                );
                bits[PIECES * s + t] = format!("meet{s}_{t} && !reverse");
                bits[PIECES * t + s] = format!("meet{s}_{t} && reverse");
            }
        }
        bits.reverse();
        Verilog::Custom(format!("{wires}    always @(*) clash = {{{}}};", bits.join(", ")))
    }
}

/// Writes up to 16 words of 4 bytes a cycle into banks of a word. Those that go to one bank go to one row, and have no
/// byte in common.
///
/// The words are at the banks after 2 cycles.
///
/// # Inputs
/// `go` (16 x 4): bytes that are written; `banks` (16 x 5); `rows` (16 x 7); `bytes` (16 x 4 x 8).
///
/// # Outputs
/// `enable` (32 x 4), `row`, `data`: a bank each.
#[derive(LogicBlock, BlockDefault)]
pub struct WordCrossbar {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Bytes that are written, by word and byte (16 x 4 bits).
    pub go: Signal<In, Bits<64>>,
    /// Bank of each word (16 x 5 bits).
    pub banks: Signal<In, Bits<80>>,
    /// Row of each word in its bank (16 x 7 bits).
    pub rows: Signal<In, Bits<112>>,
    /// The words (16 x 32 bits).
    pub bytes: Signal<In, Bits<512>>,
    /// Bytes that are written in each bank (32 x 4 bits).
    pub enable: Signal<Out, Bits<128>>,
    /// Row of each bank (32 x 7 bits).
    pub row: Signal<Out, Bits<224>>,
    /// Word that is written to each bank (32 x 32 bits).
    pub data: Signal<Out, Bits<1024>>,
}

impl Logic for WordCrossbar {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.enable.connect();
        self.row.connect();
        self.data.connect();
    }

    fn hdl(&self) -> Verilog {
        let (mut wires, mut select, mut moves) = (String::new(), String::new(), String::new());
        // 8 bits each, so that a number is a place without multiplication.
        let all =
            |of: &dyn Fn(usize) -> String| (0..PIECES).rev().map(of).collect::<Vec<_>>().join(", ");
        let rows = all(&|s| format!("1'b0, rows_held[{} +: {ROW}]", ROW * s));
        let _ = writeln!(wires, "    wire [127:0] rows_wide = {{{rows}}};");
        for lane in 0..LANES {
            let bytes = all(&|s| format!("bytes_held[{} +: 8]", (LANES * s + lane) * 8));
            let _ = writeln!(wires, "    wire [127:0] bytes{lane} = {{{bytes}}};");
        }
        for bank in 0..BANKS {
            let hits = all(&|s| {
                format!(
                    "((|go[{} +: 4]) && banks[{} +: {BANK}] == {BANK}'d{bank})",
                    4 * s,
                    BANK * s
                )
            });
            let _ = writeln!(wires, "    wire [15:0] hits{bank} = {{{hits}}};");
            // All words of the bank have the same row: that of the first one is taken.
            let _ = writeln!(
                select,
                "            chosen_row[{} +: 4] <= choice(hits{bank} & (~hits{bank} + 16'd1));",
                4 * bank
            );
            let _ = writeln!(
                moves,
                "            row[{} +: {ROW}] <= rows_wide[{{chosen_row[{} +: 4], 3'd0}} +: {ROW}];",
                ROW * bank,
                4 * bank
            );
            for lane in 0..LANES {
                let at = LANES * bank + lane;
                let of_lane = all(&|s| format!("go[{}]", LANES * s + lane));
                let _ = writeln!(wires, "    wire [15:0] lane{at} = hits{bank} & {{{of_lane}}};");
                let _ = writeln!(
                    select,
                    "            used[{at}] <= |lane{at};
            chosen[{} +: 4] <= choice(lane{at});",
                    4 * at
                );
                let _ = writeln!(
                    moves,
                    "            data[{} +: 8] <= bytes{lane}[{{chosen[{} +: 4], 3'd0}} +: 8];",
                    8 * at,
                    4 * at
                );
            }
        }
        Verilog::Custom(format!(
            "    function [3:0] choice(input [15:0] hits);
        choice = {{|(hits & 16'hff00), |(hits & 16'hf0f0), |(hits & 16'hcccc), |(hits & 16'haaaa)}};
    endfunction
    reg [511:0] chosen;
    reg [127:0] chosen_row;
    reg [127:0] used;
    reg [111:0] rows_held;
    reg [511:0] bytes_held;
{wires}    always @(posedge clk) begin
        used <= 128'd0;
        if (|go) begin
            rows_held <= rows;
            bytes_held <= bytes;
{select}        end
        enable <= used;
        if (|used) begin
{moves}        end
    end"
        ))
    }
}
