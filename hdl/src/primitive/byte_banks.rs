//! A memory of 128 banks of a byte, and the blocks that bring up to 16 pieces of 4 bytes a cycle there: turns,
//! crossbar, banks.

use std::fmt::Write as _;

use drdma_emit::prelude::*;

/// Number of pieces a cycle.
const PIECES: usize = 16;

/// Bytes of a row of the memory; each has a bank of its own.
const BANKS: usize = 128;
/// Largest number of bytes of a piece.
const LANES: usize = 4;
/// Number of words of 4 B of a row.
const WORDS: usize = BANKS / LANES;
/// Bits of the number of a row.
const ROW: usize = 7;

/// Finds which pieces must not be written in the same cycle: those that are less than 4 bytes apart modulo a row, but
/// not in the memory. Pieces have no byte in common, so that pieces close to each other in the memory do not meet.
///
/// Combinational. Bit `16 s + t` of `clash`: piece `s` must not come together with piece `t`, which is before it, or
/// behind it with `reverse`.
///
/// # Inputs
/// `used`, `places` (16 x 14 bits), `reverse`.
///
/// # Outputs
/// `clash`.
#[derive(LogicBlock, BlockDefault)]
pub struct PieceClashes {
    /// Pieces that are there, one bit each.
    pub used: Signal<In, Bits<16>>,
    /// Place of each piece's first byte in the memory (16 x 14 bits).
    pub places: Signal<In, Bits<224>>,
    /// Pieces behind a piece count, instead of those before it.
    pub reverse: Signal<In, Bit>,
    /// Pairs of pieces that must not come together: bit `16 s + t`.
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

/// Writes up to 16 pieces of 4 bytes a cycle into the memory of columns, each byte to any bank. No two bytes may go to
/// one bank.
///
/// The bytes of a piece are ordered by lane, the number of the bank modulo 4. They are in the memory after 3 cycles.
///
/// # Inputs
/// `go` (16 x 4): bytes that are written; `words` (16 x 4 x 5): the bank of each in its lane; `rows` (16 x 4 x 7);
/// `bytes` (16 x 4 x 8).
///
/// # Outputs
/// `enable`, `row`, `data`: one of each for each bank.
#[derive(LogicBlock, BlockDefault)]
pub struct Crossbar {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Bytes that are written, by piece and lane (16 x 4 bits).
    pub go: Signal<In, Bits<64>>,
    /// Bank of each byte among those of its lane (16 x 4 x 5 bits).
    pub words: Signal<In, Bits<320>>,
    /// Row of each byte (16 x 4 x 7 bits).
    pub rows: Signal<In, Bits<448>>,
    /// The bytes (16 x 4 x 8 bits).
    pub bytes: Signal<In, Bits<512>>,
    /// Banks that are written, one bit each.
    pub enable: Signal<Out, Bits<128>>,
    /// Row of each bank (128 x 7 bits).
    pub row: Signal<Out, Bits<896>>,
    /// Byte that is written to each bank (128 x 8 bits).
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
            // The inputs from which this lane's banks choose.
            for (name, bits, pad) in [("rows", ROW, "1'b0, "), ("bytes", 8, "")] {
                // 8 bits each, so that a number is an offset without multiplication.
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

/// The memory of columns: 128 rows of 128 B, in which each byte is written separately; it is read in two segments of 64
/// B.
///
/// A row a cycle and segment; a read delivers after two cycles.
///
/// # Inputs
/// `enable`, `row`, `data`: one of each for each bank. `read_enable`, `read_row`: one of each for each segment.
///
/// # Outputs
/// `read_data`.
#[derive(LogicBlock, BlockDefault)]
pub struct ColumnMemory {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Banks that are written, one bit each.
    pub enable: Signal<In, Bits<128>>,
    /// Row of each bank's write (128 x 7 bits).
    pub row: Signal<In, Bits<896>>,
    /// Byte that is written to each bank (128 x 8 bits).
    pub data: Signal<In, Bits<1024>>,
    /// Segments that are read, one bit each.
    pub read_enable: Signal<In, Bits<2>>,
    /// Row that each segment reads (2 x 7 bits).
    pub read_row: Signal<In, Bits<14>>,
    /// Row that each segment read two cycles before (2 x 512 bits).
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
