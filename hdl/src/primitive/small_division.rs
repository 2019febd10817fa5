//! Quotients of small numbers, from a table.

use drdma_emit::prelude::*;

/// Divides a number below 64 by a divisor of 8 bits, at least 1.
///
/// Quotient and remainder follow after an enabled cycle, and hold while `enable` is low; a division a cycle. The table
/// is a block RAM of 4,096 x 12 bits: divisors from 64 on share an entry.
///
/// # Inputs
/// `clk`, `enable`, `number`, `divisor`.
///
/// # Outputs
/// `quotient`, `remainder`.
#[derive(LogicBlock, Default)]
pub struct SmallDivision {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// A division is made in this cycle.
    pub enable: Signal<In, Bit>,
    /// Number to divide.
    pub number: Signal<In, Bits<6>>,
    /// Divisor, at least 1.
    pub divisor: Signal<In, Bits<8>>,
    /// Quotient, rounded down.
    pub quotient: Signal<Out, Bits<6>>,
    /// Remainder.
    pub remainder: Signal<Out, Bits<6>>,
}

impl Logic for SmallDivision {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.quotient.connect();
        self.remainder.connect();
    }

    fn hdl(&self) -> Verilog {
        // Computed as numbers here, because yosys does not take loops that compute them for a memory. Row 0 is for
        // divisors from 64 on.
        let entry = |place: usize| {
            let (divisor, number) = (place / 64, place % 64);
            let (quotient, rest) = match divisor {
                0 => (0, number),
                _ => (number / divisor, number % divisor),
            };
            format!("quotients[{place}] = 12'd{};", quotient * 64 + rest)
        };
        let lines = (0..4096 / 8).map(|line| {
            let entries: Vec<_> = (8 * line..8 * (line + 1)).map(entry).collect();
            format!("        {}\n", entries.join(" "))
        });
        let table: String = lines.collect();
        Verilog::Custom(format!(
            "    (* rom_style = \"block\" *) reg [11:0] quotients [0:4095];
    reg [5:0] row;
    reg [11:0] found;
    initial begin
{table}    end
    always @(*) begin
        row = divisor[5:0];
        if (divisor[7:6] != 2'd0) row = 6'd0;
    end
    always @(posedge clk) begin
        if (enable) found <= quotients[{{row, number}}];
    end
    always @(*) begin
        quotient = found[11:6];
        remainder = found[5:0];
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
    fn every_quotient_follows_after_a_cycle_and_holds() {
        let library = testing::library("small_division", SmallDivision::default);
        let (mut model, mut random) = (library.instance(1), Random::new(1));
        for divisor in 1..256 {
            for number in 0..64 {
                model.set("enable", 1);
                model.set("number", number);
                model.set("divisor", divisor);
                model.cycle();
                if random.chance(0.3) {
                    model.set("enable", 0);
                    model.set("number", random.below(64));
                    model.set("divisor", 1 + random.below(255));
                    model.cycle();
                }
                let given = (model.get("quotient"), model.get("remainder"));
                assert_eq!(given, (number / divisor, number % divisor), "{number} / {divisor}");
            }
        }
    }
}
