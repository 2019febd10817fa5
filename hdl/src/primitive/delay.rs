//! A shift register beside a pipeline.

use drdma_emit::prelude::*;

/// Delays `W` bits by `N` enabled cycles, at least 1.
///
/// One value a cycle. While `enable` is low, all values hold. There is no reset: the first `N` outputs are undefined. A
/// shift register of lookup tables, 32 cycles each for a bit.
///
/// # Inputs
/// `clk`, `enable`, `value`.
///
/// # Outputs
/// `late`.
#[derive(LogicBlock, BlockDefault)]
#[check(N > 0, "Delay: no cycle")]
pub struct Delay<const W: usize, const N: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// The values advance in this cycle.
    pub enable: Signal<In, Bit>,
    /// Value that enters.
    pub value: Signal<In, Bits<W>>,
    /// Value that entered `N` enabled cycles before.
    pub late: Signal<Out, Bits<W>>,
}

impl<const W: usize, const N: usize> Logic for Delay<W, N> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.late.connect();
    }

    fn hdl(&self) -> Verilog {
        let mut text = String::new();
        let mut steps = String::new();
        let mut before = "value".to_owned();
        for stage in 1..N {
            text.push_str(&format!("    reg [{}:0] stage{stage};\n", W - 1));
            steps.push_str(&format!("            stage{stage} <= {before};\n"));
            before = format!("stage{stage}");
        }
        Verilog::Custom(format!(
            "{text}    always @(posedge clk) begin
        if (enable) begin
{steps}            late <= {before};
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

    fn check<const W: usize, const N: usize>() {
        let library = testing::library(&format!("delay_{W}_{N}"), Delay::<W, N>::default);
        let (mut model, mut random) = (library.instance(1), Random::new(1));
        let mut values = Vec::new();
        for _ in 0..500 {
            let (value, enable) = (random.word(W), random.chance(0.7));
            model.set("enable", enable.into());
            model.set_word("value", &value);
            model.cycle();
            if enable {
                values.push(value);
            }
            if let Some(place) = values.len().checked_sub(N) {
                assert_eq!(model.get_word("late"), values[place]);
            }
        }
    }

    #[test]
    fn values_come_again_after_so_many_enabled_cycles() {
        check::<7, 1>();
        check::<40, 9>();
    }
}
