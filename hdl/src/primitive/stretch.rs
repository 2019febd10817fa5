//! A table that is read in long stretches from any entry on.

use drdma_emit::prelude::*;

/// Entries written at a time, and banks.
const BANKS: usize = 4;

/// Two tables of 2 * `N` entries of `W` bits, in lookup tables: four entries are written at a time,
/// `N` that follow each other are read, from any of the first `N` on. `N` = 2^`I`; `A` = `I` - 1
/// bits address four entries; `D` = 4 * `W`; `R` = `N` * `W`.
///
/// The entries follow their address after one cycle with `read` and a level of logic, and hold
/// without it. A write takes effect at the end of its cycle. The contents are undefined until
/// written.
///
/// Four banks hold every fourth entry each. Of every bank there are `N` / 4 copies, which read
/// words that follow each other; their outputs are then turned by less than 4 entries.
///
/// # Inputs
/// `clk`; `write`, `write_table`, `write_word`, `write_entries`; `read`, `read_table`, `start`.
///
/// # Outputs
/// `entries`: those from `start` on, the first one lowest.
#[derive(LogicBlock)]
pub struct Stretch<const W: usize, const I: usize, const A: usize, const D: usize, const R: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Whether to write.
    pub write: Signal<In, Bit>,
    /// To which table.
    pub write_table: Signal<In, Bit>,
    /// Its entries from four times this on.
    pub write_word: Signal<In, Bits<A>>,
    /// Four entries.
    pub write_entries: Signal<In, Bits<D>>,
    /// Whether to read.
    pub read: Signal<In, Bit>,
    /// Which table.
    pub read_table: Signal<In, Bit>,
    /// The first entry.
    pub start: Signal<In, Bits<I>>,
    /// The entries.
    pub entries: Signal<Out, Bits<R>>,
}

impl<const W: usize, const I: usize, const A: usize, const D: usize, const R: usize> Default
    for Stretch<W, I, A, D, R>
{
    fn default() -> Self {
        assert!((3..=6).contains(&I), "Stretch: 2^{I} entries are not 8 to 64");
        assert_eq!(A, I - 1, "Stretch: {A} bits do not address twice 2^{I} entries by fours");
        assert_eq!(D, BANKS * W, "Stretch: {BANKS} entries of {W} bits are not {D} bits");
        assert_eq!(R, W << I, "Stretch: 2^{I} entries of {W} bits are not {R} bits");
        Self {
            clk: Signal::default(),
            write: Signal::default(),
            write_table: Signal::default(),
            write_word: Signal::default(),
            write_entries: Signal::default(),
            read: Signal::default(),
            read_table: Signal::default(),
            start: Signal::default(),
            entries: Signal::default(),
        }
    }
}

impl<const W: usize, const I: usize, const A: usize, const D: usize, const R: usize> Logic
    for Stretch<W, I, A, D, R>
{
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.entries.connect();
    }

    fn hdl(&self) -> Verilog {
        let (entries, top) = (1_usize << I, W - 1);
        let (mut text, mut writes, mut reads) = (String::new(), String::new(), String::new());
        for bank in 0..BANKS {
            text.push_str(&format!(
                "    (* ram_style = \"distributed\" *) reg [{top}:0] bank{bank} [0:{}];\n",
                entries - 1
            ));
            writes.push_str(&format!(
                "            bank{bank}[{{write_table, write_word}}] <= write_entries[{}:{}];\n",
                bank * W + top,
                bank * W
            ));
        }
        for p in 0..entries {
            // Field p of the banks' outputs is of bank p % 4: the word that holds one of the
            // entries from start + 4 * (p / 4) on. Its number depends on few bits: a LUT a bit.
            let (bank, copy) = (p % BANKS, p / BANKS);
            let word = |start: usize| (start + BANKS - 1 - bank) / BANKS + copy;
            for bit in 0..A {
                let ones = (0..entries).filter(|&start| word(start) >> bit & 1 == 1);
                let table: u64 = ones.map(|start| 1 << start).sum();
                text.push_str(&format!("    wire [{}:0] of{p}_{bit} = ", entries - 1));
                text.push_str(&format!("{entries}'h{table:x};\n"));
            }
            let bits: Vec<_> = (0..A).rev().map(|bit| format!("of{p}_{bit}[start]")).collect();
            text.push_str(&format!("    wire [{}:0] word{p} = {{{}}};\n", A - 1, bits.join(", ")));
            text.push_str(&format!("    reg [{top}:0] out{p};\n"));
            reads
                .push_str(&format!("            out{p} <= bank{bank}[{{read_table, word{p}}}];\n"));
        }
        let mut turned = String::new();
        for p in 0..entries {
            let (copy, at) = (p / BANKS * BANKS, p % BANKS);
            let from = |turn: usize| format!("out{}", copy + (at + turn) % BANKS);
            turned.push_str(&format!(
                "        entries[{}:{}] = turn[1] ? (turn[0] ? {} : {}) : (turn[0] ? {} : {});\n",
                p * W + top,
                p * W,
                from(3),
                from(2),
                from(1),
                from(0)
            ));
        }
        Verilog::Custom(format!(
            "{text}    reg [1:0] turn;
    always @(posedge clk) begin
        if (write) begin
{writes}        end
    end
    always @(posedge clk) begin
        if (read) begin
            turn <= start[1:0];
{reads}        end
    end
    always @(*) begin
{turned}    end"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::Word;
    use drdma_verilated::testbench::Random;

    #[test]
    fn a_stretch_is_read_from_any_entry_on_while_the_other_table_is_written() {
        let library = testing::library("stretch", Stretch::<7, 6, 5, 28, 448>::default);
        let mut model = library.instance(1);
        let mut random = Random::new(1);
        let mut tables = vec![vec![None::<Word>; 128]; 2];
        let mut expected: Option<Vec<Option<Word>>> = None;
        for cycle in 0..5000 {
            let (write, table, word) = (random.chance(0.7), random.below(2), random.below(32));
            let four = random.word(28);
            model.set("write", write.into());
            model.set("write_table", table);
            model.set("write_word", word);
            model.set_word("write_entries", &four);
            let (read, from, start) = (random.chance(0.7), random.below(2), random.below(64));
            model.set("read", read.into());
            model.set("read_table", from);
            model.set("start", start);
            if read {
                let start = start as usize;
                expected = Some(tables[from as usize][start..start + 64].to_vec());
            }
            model.cycle();
            if write {
                for k in 0..4 {
                    let entry = four.bits(7 * k, 7);
                    tables[table as usize][4 * word as usize + k] = Some(entry);
                }
            }
            for (p, entry) in expected.iter().flatten().enumerate() {
                if let Some(entry) = entry {
                    assert_eq!(&model.get_word("entries").bits(7 * p, 7), entry, "{cycle}: {p}");
                }
            }
        }
        assert!(tables.iter().flatten().all(Option::is_some));
    }

    #[test]
    #[should_panic(expected = "4 entries of 7 bits are not 27 bits")]
    fn the_width_of_what_is_written_is_checked() {
        let _ = Stretch::<7, 6, 5, 27, 448>::default();
    }
}
