//! A table that is read in long stretches from any entry on.

use drdma_emit::prelude::*;

/// Number of entries written at a time, and of banks.
const BANKS: usize = 4;

/// Number of entries read at a time.
const ENTRIES: usize = 64;

/// Two tables of 4 * 2^`A` entries of `W` bits, in block memory. Four entries are written at a time; 64 consecutive
/// ones are read, from any entry on that has so many behind it. `I` = `A` + 2 bits number an entry; `D` = 4 * `W`; `R`
/// = 64 * `W`.
///
/// The entries follow their address after one cycle with `read` and a level of logic, and hold without it. A write
/// takes effect at the end of its cycle. The contents are undefined until written.
///
/// Four banks hold every fourth entry each. Each bank has 16 copies, which read consecutive words; their outputs are
/// then rotated by less than 4 entries.
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
    /// Four entries are written in this cycle.
    pub write: Signal<In, Bit>,
    /// Table that is written.
    pub write_table: Signal<In, Bit>,
    /// Number of the four entries: those from 4 * `write_word` on.
    pub write_word: Signal<In, Bits<A>>,
    /// The four entries that are written, the first one lowest.
    pub write_entries: Signal<In, Bits<D>>,
    /// Entries are read in this cycle.
    pub read: Signal<In, Bit>,
    /// Table that is read.
    pub read_table: Signal<In, Bit>,
    /// Number of the first entry that is read.
    pub start: Signal<In, Bits<I>>,
    /// The 64 entries that were read, the first one lowest.
    pub entries: Signal<Out, Bits<R>>,
}

impl<const W: usize, const I: usize, const A: usize, const D: usize, const R: usize> Default
    for Stretch<W, I, A, D, R>
{
    fn default() -> Self {
        assert!(A >= 4, "Stretch: 4 * 2^{A} entries are fewer than {ENTRIES}");
        assert_eq!(I, A + 2, "Stretch: {I} bits do not name 4 * 2^{A} entries");
        assert_eq!(D, BANKS * W, "Stretch: {BANKS} entries of {W} bits are not {D} bits");
        assert_eq!(R, ENTRIES * W, "Stretch: {ENTRIES} entries of {W} bits are not {R} bits");
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
        let (top, last) = (W - 1, (2 << A) - 1);
        let (mut text, mut writes, mut reads) = (String::new(), String::new(), String::new());
        for bank in 0..BANKS {
            // The bank's word that holds its first entry from `start` on.
            let behind = BANKS - 1 - bank;
            text.push_str(&format!(
                "    wire [{I}:0] from{bank} = {{1'b0, start}} + {}'d{behind};\n",
                I + 1
            ));
            text.push_str(&format!(
                "    wire unused{bank} = ^{{from{bank}[{I}], from{bank}[1:0]}};\n"
            ));
        }
        for p in 0..ENTRIES {
            // Field p of the outputs is of bank p % 4; every copy is a memory of its own.
            let (bank, copy) = (p % BANKS, p / BANKS);
            text.push_str(&format!(
                "    (* ram_style = \"block\" *) reg [{top}:0] copy{p} [0:{last}];\n"
            ));
            text.push_str(&format!(
                "    wire [{}:0] word{p} = from{bank}[{}:2] + {A}'d{copy};\n    reg [{top}:0] out{p};\n",
                A - 1,
                I - 1
            ));
            writes.push_str(&format!(
                "            copy{p}[{{write_table, write_word}}] <= write_entries[{}:{}];\n",
                bank * W + top,
                bank * W
            ));
            reads.push_str(&format!("            out{p} <= copy{p}[{{read_table, word{p}}}];\n"));
        }
        let mut turned = String::new();
        for p in 0..ENTRIES {
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
        let library = testing::library("stretch", Stretch::<7, 7, 5, 28, 448>::default);
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
            let (read, from, start) = (random.chance(0.7), random.below(2), random.below(65));
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
        let _ = Stretch::<7, 7, 5, 27, 448>::default();
    }
}
