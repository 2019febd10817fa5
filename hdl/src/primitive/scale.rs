//! Multiplication by a constant.

use drdma_emit::prelude::*;

/// Cycles from a number to its multiple.
pub const SCALE_STAGES: usize = 4;

/// Multiplies `number` by a constant, modulo 2^32.
///
/// The multiple follows after [`SCALE_STAGES`] enabled cycles; one a cycle. While `enable` is low, the pipeline holds.
/// Uses DSP slices: three parts of the product, of 16 by 16 and of 16 by 32 bits.
///
/// # Inputs
/// `clk`, `enable`, `number`.
///
/// # Outputs
/// `multiple`.
#[derive(LogicBlock)]
pub struct Scale {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// The pipeline advances in this cycle.
    pub enable: Signal<In, Bit>,
    /// Number to multiply.
    pub number: Signal<In, Bits<32>>,
    /// The constant times the number, modulo 2^32.
    pub multiple: Signal<Out, Bits<32>>,
    _factor: u32,
}

impl Default for Scale {
    fn default() -> Self {
        Self::by(1)
    }
}

impl Scale {
    /// Multiplies by `factor`.
    pub fn by(factor: u32) -> Self {
        Self {
            clk: Signal::default(),
            enable: Signal::default(),
            number: Signal::default(),
            multiple: Signal::default(),
            _factor: factor,
        }
    }
}

impl Logic for Scale {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.multiple.connect();
    }

    fn hdl(&self) -> Verilog {
        let (low, high) = (self._factor & 0xffff, self._factor >> 16);
        // Of the parts that begin at bit 16, only 16 bits count.
        Verilog::Custom(format!(
            "    reg [31:0] held;
    (* use_dsp = \"yes\" *) reg [31:0] low;
    (* use_dsp = \"yes\" *) reg [15:0] middle;
    (* use_dsp = \"yes\" *) reg [15:0] upper;
    reg [31:0] first;
    reg [15:0] others;
    always @(posedge clk) begin
        if (enable) begin
            held <= number;
            low <= {{16'd0, held[15:0]}} * 32'd{low};
            middle <= held[15:0] * 16'd{high};
            upper <= held[31:16] * 16'd{low};
            first <= low;
            others <= middle + upper;
            multiple <= {{first[31:16] + others, first[15:0]}};
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
    fn the_multiple_follows_after_the_stages_under_stalls() {
        for factor in [1, 0xcc9e_2d51, u32::MAX] {
            let library = testing::library(&format!("scale_{factor}"), || Scale::by(factor));
            let (mut model, mut random) = (library.instance(1), Random::new(1));
            let mut numbers = Vec::new();
            for _ in 0..1000 {
                let (number, enable) = (random.u64() as u32, random.chance(0.7));
                model.set("enable", enable.into());
                model.set("number", number.into());
                model.cycle();
                if enable {
                    numbers.push(number);
                }
                if let Some(place) = numbers.len().checked_sub(SCALE_STAGES) {
                    let expected = numbers[place].wrapping_mul(factor);
                    assert_eq!(model.get("multiple"), u64::from(expected));
                }
            }
        }
    }
}
