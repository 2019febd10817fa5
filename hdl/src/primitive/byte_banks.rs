//! A memory of 128 banks of a byte, and what brings up to 16 pieces of 4 bytes a cycle there: turns, crossbar, banks.

use std::fmt::Write as _;

use drdma_emit::prelude::*;

/// Pieces a cycle.
const PIECES: usize = 16;

/// Bytes of a row of the memory: each is a memory of its own.
const BANKS: usize = 128;
/// Bytes of a piece at most.
const LANES: usize = 4;
/// Words of 4 B of a row.
const WORDS: usize = BANKS / LANES;
/// Bits of a row's number.
const ROW: usize = 7;

/// Which pieces may not be written in the same cycle: those that are less than 4 bytes from each other modulo a row, and not
/// in the memory. Pieces have no byte in common, so that those that are near in the memory do not meet.
///
/// Combinational. Bit `16 s + t` of `clash`: piece `s` must not come with piece `t`, which is before it, or with `reverse` behind it.
///
/// # Inputs
/// `used`, `places` (16 x 14 bits), `reverse`.
///
/// # Outputs
/// `clash`.
#[derive(LogicBlock, BlockDefault)]
pub struct PieceClashes {
    /// Pieces that there are.
    pub used: Signal<In, Bits<16>>,
    /// Their first bytes.
    pub places: Signal<In, Bits<224>>,
    /// Those behind a piece count.
    pub reverse: Signal<In, Bit>,
    /// Who must not come together.
    pub clash: Signal<Out, Bits<256>>,
}

impl Logic for PieceClashes {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.clash.connect();
    }

    fn hdl(&self) -> Verilog {
        let mut wires = String::new();
        let mut bits = vec!["1'b0".to_owned(); PIECES * PIECES];
        for s in 0..PIECES {
            for t in 0..s {
                let place = |k: usize| format!("places[{} +: 14]", 14 * k);
                let name = format!("{s}_{t}");
                let _ = writeln!(
                    wires,
                    "    wire [13:0] from{name} = {} - {};
    wire above{name} = from{name}[6:2] == 5'd0 && from{name}[13:7] != 7'd0;
    wire below{name} = from{name}[6:2] == 5'd31 && from{name}[1:0] != 2'd0 && from{name}[13:7] != 7'd127;
    wire meet{name} = used[{s}] && used[{t}] && (above{name} || below{name});",
                    place(s),
                    place(t)
                );
                bits[PIECES * s + t] = format!("meet{name} && !reverse");
                bits[PIECES * t + s] = format!("meet{name} && reverse");
            }
        }
        bits.reverse();
        Verilog::Custom(format!("{wires}    always @(*) clash = {{{}}};", bits.join(", ")))
    }
}

/// Writes up to 16 pieces of 4 bytes a cycle into the memory of columns, each byte to any bank. No two go to one bank.
///
/// The bytes of a piece are told by lane, the bank's number modulo 4. They are in the memory after 3 cycles.
///
/// # Inputs
/// `go` (16 x 4): bytes that are written; `words` (16 x 4 x 5): which bank of their lane; `rows` (16 x 4 x 7); `bytes` (16 x 4 x 8).
///
/// # Outputs
/// `enable`, `row`, `data`: a bank each.
#[derive(LogicBlock, BlockDefault)]
pub struct Crossbar {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Bytes that are written.
    pub go: Signal<In, Bits<64>>,
    /// Their banks among those of their lane.
    pub words: Signal<In, Bits<320>>,
    /// Their rows.
    pub rows: Signal<In, Bits<448>>,
    /// They.
    pub bytes: Signal<In, Bits<512>>,
    /// Banks that are written.
    pub enable: Signal<Out, Bits<128>>,
    /// Their rows.
    pub row: Signal<Out, Bits<896>>,
    /// What is written.
    pub data: Signal<Out, Bits<1024>>,
}

impl Logic for Crossbar {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.enable.connect();
        self.row.connect();
        self.data.connect();
    }

    fn hdl(&self) -> Verilog {
        let (mut wires, mut select, mut moves) = (String::new(), String::new(), String::new());
        for lane in 0..LANES {
            // What this lane's banks choose from.
            for (name, bits, pad) in [("rows", ROW, "1'b0, "), ("bytes", 8, "")] {
                // 8 bits each, so that a number is a place without multiplication.
                let of =
                    |s: usize| format!("{pad}{name}_held[{} +: {bits}]", (LANES * s + lane) * bits);
                let all: Vec<_> = (0..PIECES).rev().map(of).collect();
                let top = PIECES * 8 - 1;
                let _ =
                    writeln!(wires, "    wire [{top}:0] {name}{lane} = {{{}}};", all.join(", "));
            }
            for word in 0..WORDS {
                let bank = LANES * word + lane;
                let hit = |s: usize| {
                    let at = LANES * s + lane;
                    format!("(go[{at}] && words[{} +: 5] == 5'd{word})", 5 * at)
                };
                let hits: Vec<_> = (0..PIECES).rev().map(hit).collect();
                let _ = writeln!(wires, "    wire [15:0] hits{bank} = {{{}}};", hits.join(", "));
                let _ = writeln!(
                    select,
                    "            used[{bank}] <= |hits{bank};
            chosen[{} +: 4] <= choice(hits{bank});",
                    4 * bank,
                );
                let _ = writeln!(
                    moves,
                    "            row[{} +: {ROW}] <= rows{lane}[{{chosen[{at} +: 4], 3'd0}} +: {ROW}];
            data[{} +: 8] <= bytes{lane}[{{chosen[{at} +: 4], 3'd0}} +: 8];",
                    ROW * bank,
                    8 * bank,
                    at = 4 * bank,
                );
            }
        }
        Verilog::Custom(format!(
            "    function [3:0] choice(input [15:0] hits);
        choice = {{|(hits & 16'hff00), |(hits & 16'hf0f0), |(hits & 16'hcccc), |(hits & 16'haaaa)}};
    endfunction
    reg [511:0] chosen;
    reg [{top}:0] used;
    reg [447:0] rows_held;
    reg [511:0] bytes_held;
{wires}    always @(posedge clk) begin
        used <= {BANKS}'d0;
        if (|go) begin
            rows_held <= rows;
            bytes_held <= bytes;
{select}        end
        enable <= used;
        if (|used) begin
{moves}        end
    end",
            top = BANKS - 1
        ))
    }
}

/// The memory of columns: 128 rows of 128 B, each byte of which is written on its own; read in two segments of 64 B.
///
/// A row a cycle and segment, two cycles later.
///
/// # Inputs
/// `enable`, `row`, `data`: a bank each. `read_enable`, `read_row`: a segment each.
///
/// # Outputs
/// `read_data`.
#[derive(LogicBlock, BlockDefault)]
pub struct ColumnMemory {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Banks that are written.
    pub enable: Signal<In, Bits<128>>,
    /// Their rows.
    pub row: Signal<In, Bits<896>>,
    /// What is written.
    pub data: Signal<In, Bits<1024>>,
    /// Segments that are read.
    pub read_enable: Signal<In, Bits<2>>,
    /// Their rows.
    pub read_row: Signal<In, Bits<14>>,
    /// What was read.
    pub read_data: Signal<Out, Bits<1024>>,
}

impl Logic for ColumnMemory {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.read_data.connect();
    }

    fn hdl(&self) -> Verilog {
        let (mut memories, mut reads) = (String::new(), String::new());
        for bank in 0..BANKS {
            let _ = writeln!(
                memories,
                "    (* ram_style = \"distributed\" *) reg [7:0] bank{bank} [0:{}];
    always @(posedge clk) begin
        if (enable[{bank}]) bank{bank}[row[{} +: {ROW}]] <= data[{} +: 8];
    end",
                (1 << ROW) - 1,
                ROW * bank,
                8 * bank,
            );
            let segment = bank / (BANKS / 2);
            let _ = writeln!(
                reads,
                "        if (wanted[{segment}]) read_data[{} +: 8] <= bank{bank}[rows[{} +: {ROW}]];",
                8 * bank,
                ROW * segment,
            );
        }
        Verilog::Custom(format!(
            "    reg [1:0] wanted;
    reg [{}:0] rows;
{memories}    always @(posedge clk) begin
        wanted <= read_enable;
        rows <= read_row;
{reads}    end",
            2 * ROW - 1
        ))
    }
}
