//! Many lookups in one small table, in ascending order.

use drdma_emit::prelude::*;

/// Spreads the `N` entries of a table over `N` fields. If `each` is 1, 2 or 3, so many consecutive fields have the same
/// entry: the first ones entry 0, the next ones entry 1, and so on. If it is 0, field `p` of `results` is that of the
/// first 16 entries which field `p` of `indices` names. The first index must be 0, and each other index that of the
/// field before it or one more; from the first one on that is not, results are undefined.
///
/// The results follow after one cycle with `enable`, and hold without it. All vectors are packed,
/// field 0 lowest. Entries have `W` bits; `E` = `N` * `W`, `X` = 4 * `N`, `R` = `N` * `W`.
///
/// Instead of one selection from 16 for each field there are two from 4. The indices of four consecutive fields are
/// among four consecutive numbers, one of which has the same remainder modulo 4 as the first field's own number: that
/// entry is brought to that field. Each field then finds its entry there or in one of the three fields before.
///
/// # Inputs
/// `clk`, `enable`, `entries`, `each`, `indices`.
///
/// # Outputs
/// `results`.
#[derive(LogicBlock)]
pub struct Spread<const W: usize, const E: usize, const X: usize, const R: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// The lookups are made in this cycle.
    pub enable: Signal<In, Bit>,
    /// Entries of the table, entry 0 lowest.
    pub entries: Signal<In, Bits<E>>,
    /// Number of fields that have each entry; 0: as `indices` say.
    pub each: Signal<In, Bits<2>>,
    /// Number of the entry for each field, 4 bits each.
    pub indices: Signal<In, Bits<X>>,
    /// Entry of each field.
    pub results: Signal<Out, Bits<R>>,
}

impl<const W: usize, const E: usize, const X: usize, const R: usize> Default
    for Spread<W, E, X, R>
{
    fn default() -> Self {
        assert_eq!(X % 4, 0, "Spread: {X} bits are no indices of 4 bits");
        assert_eq!(E, X / 4 * W, "Spread: {} entries of {W} bits are not {E} bits", X / 4);
        assert_eq!(R, X / 4 * W, "Spread: {} results of {W} bits are not {R} bits", X / 4);
        Self {
            clk: Signal::default(),
            enable: Signal::default(),
            entries: Signal::default(),
            each: Signal::default(),
            indices: Signal::default(),
            results: Signal::default(),
        }
    }
}

impl<const W: usize, const E: usize, const X: usize, const R: usize> Logic for Spread<W, E, X, R> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.results.connect();
    }

    fn hdl(&self) -> Verilog {
        let top = W - 1;
        let (mut near, mut results) = (String::new(), String::new());
        for p in 0..X / 4 {
            // The entry with the remainder of p: the first one from p's own index on. There is none beyond p.
            let rest = p % 4;
            let entry = |group: usize| format!("entries[{} +: {W}]", (4 * group + rest) * W);
            let bit = |bit: usize| format!("indices[{}]", 4 * p + bit);
            let next = match rest {
                0 => format!("({} || {})", bit(1), bit(0)),
                1 => bit(1),
                2 => format!("({} && {})", bit(1), bit(0)),
                _ => "1'b0".to_owned(),
            };
            let groups = (p / 4).min(3);
            let chosen = match groups {
                0 => entry(0),
                1 => format!("odd{p} ? {} : {}", entry(1), entry(0)),
                _ => format!(
                    "high{p} ? (odd{p} ? {} : {}) : (odd{p} ? {} : {})",
                    entry(groups),
                    entry(2),
                    entry(1),
                    entry(0)
                ),
            };
            if groups > 0 {
                near.push_str(&format!("    wire odd{p} = {} ^ {next};\n", bit(2)));
            }
            if groups > 1 {
                near.push_str(&format!(
                    "    wire high{p} = {} ^ ({} && {next});\n",
                    bit(3),
                    bit(2)
                ));
            }
            near.push_str(&format!("    wire [{top}:0] near{p} = {chosen};\n"));
            // Among the fields up to p, the one with the index's remainder.
            let with = |rest: usize| format!("near{}", p - ((p + 4 - rest) % 4).min(p));
            let every = |each: usize| format!("entries[{} +: {W}]", p / each * W);
            results.push_str(&format!(
                "            results[{}:{}] <= each[1] ? (each[0] ? {} : {}) : each[0] ? {}
                : indices[{high}] ? (indices[{low}] ? {} : {}) : (indices[{low}] ? {} : {});\n",
                p * W + top,
                p * W,
                every(3),
                every(2),
                every(1),
                with(3),
                with(2),
                with(1),
                with(0),
                high = 4 * p + 1,
                low = 4 * p,
            ));
        }
        Verilog::Custom(format!(
            "{near}    // Fields near the lowest have few entries to choose from.
    wire unused = ^indices;
    always @(posedge clk) begin
        if (enable) begin
{results}        end
    end"
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
    fn every_field_gets_its_entry() {
        let library = testing::library("spread", Spread::<5, 320, 256, 320>::default);
        let mut model = library.instance(1);
        let mut random = Random::new(1);
        let mut before: Option<(Word, Vec<usize>)> = None;
        for round in 0..2000 {
            let entries = random.word(320);
            let each = if random.chance(0.5) { 0 } else { 1 + random.below(3) };
            // Up to 16 indices, rarely or often the next one.
            let chance = random.below(101) as f64 / 100.0;
            let mut list = vec![0];
            while list.len() < 64 {
                let next = list[list.len() - 1] + usize::from(random.chance(chance));
                if next == 16 {
                    break;
                }
                list.push(next);
            }
            let mut indices = random.word(256);
            for (p, &index) in list.iter().enumerate() {
                indices.set_bits(4 * p, 4, &Word::from(index as u64));
            }
            let enable = random.chance(0.7);
            model.set("enable", enable.into());
            model.set_word("entries", &entries);
            model.set_word("indices", &indices);
            model.set("each", each);
            model.cycle();
            if enable {
                if each > 0 {
                    list = (0..64).map(|p| p / each as usize).collect();
                }
                before = Some((entries, list));
            }
            let Some((entries, list)) = &before else { continue };
            for (p, &index) in list.iter().enumerate() {
                let result = model.get_word("results").bits(5 * p, 5);
                assert_eq!(
                    result,
                    entries.bits(5 * index, 5),
                    "round {round}, field {p}: {list:?}"
                );
            }
        }
    }

    #[test]
    #[should_panic(expected = "64 entries of 5 bits are not 319 bits")]
    fn the_tables_width_is_checked() {
        let _ = Spread::<5, 319, 256, 320>::default();
    }
}
