//! A crossbar of bytes.

use array_init::array_init;
use rust_hdl_core::prelude::*;

/// Input bytes that one multiplexer of the first stage covers.
const GROUP: usize = 16;

/// `OUT` bytes, each of which selects one of `IN` bytes; `S` = log2(`IN`), `IW` = 8 `IN`,
/// `OW` = 8 `OUT`.
///
/// Two stages: every output byte is first chosen within each group of 16 input bytes, then among
/// the groups. The result follows after [`LATENCY`](Self::LATENCY) enabled cycles; one result
/// per cycle. While `enable` is low, the pipeline holds.
///
/// # Inputs
/// `clk`, `enable`, `data`, `select` (one index per output byte).
///
/// # Outputs
/// `result`: byte k is byte `select[k]` of `data`.
#[derive(LogicBlock)]
pub struct ByteMux<
    const IN: usize,
    const OUT: usize,
    const S: usize,
    const IW: usize,
    const OW: usize,
> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Advances the pipeline.
    pub enable: Signal<In, Bit>,
    /// The input bytes.
    pub data: Signal<In, Bits<IW>>,
    /// For every output byte the index of its input byte.
    pub select: [Signal<In, Bits<S>>; OUT],
    /// The output bytes.
    pub result: Signal<Out, Bits<OW>>,
}

impl<const IN: usize, const OUT: usize, const S: usize, const IW: usize, const OW: usize>
    ByteMux<IN, OUT, S, IW, OW>
{
    /// Cycles from `data` to `result`.
    pub const LATENCY: usize = 2;
}

impl<const IN: usize, const OUT: usize, const S: usize, const IW: usize, const OW: usize> Default
    for ByteMux<IN, OUT, S, IW, OW>
{
    fn default() -> Self {
        assert!(IN > GROUP, "ByteMux: {IN} input bytes need no second stage");
        assert_eq!(IN, 1 << S, "ByteMux: {S} bits do not select among {IN} bytes");
        assert_eq!(IW, 8 * IN, "ByteMux: {IW} bits are not {IN} bytes");
        assert_eq!(OW, 8 * OUT, "ByteMux: {OW} bits are not {OUT} bytes");
        Self {
            clk: Signal::default(),
            enable: Signal::default(),
            data: Signal::default(),
            select: array_init(|_| Signal::default()),
            result: Signal::default(),
        }
    }
}

impl<const IN: usize, const OUT: usize, const S: usize, const IW: usize, const OW: usize> Logic
    for ByteMux<IN, OUT, S, IW, OW>
{
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.result.connect();
    }

    fn hdl(&self) -> Verilog {
        let low = GROUP.ilog2() as usize;
        let (groups, high) = (IN / GROUP, S - low);
        let mut text = String::new();
        let mut steps = String::new();
        for k in 0..OUT {
            text.push_str(&format!(
                "    reg [{}:0] groups{k};\n    reg [{}:0] group{k};\n",
                8 * groups - 1,
                high - 1
            ));
            for g in 0..groups {
                let (from, to) = (8 * GROUP * g, 8 * GROUP * (g + 1) - 1);
                text.push_str(&format!(
                    "    wire [{}:0] in{k}_{g} = data[{to}:{from}];\n",
                    8 * GROUP - 1
                ));
                steps.push_str(&format!(
                    "            groups{k}[{}:{}] <= in{k}_{g}[{{select${k}[{}:0], 3'd0}} +: 8];\n",
                    8 * g + 7,
                    8 * g,
                    low - 1
                ));
            }
            steps.push_str(&format!("            group{k} <= select${k}[{}:{low}];\n", S - 1));
            steps.push_str(&format!(
                "            result[{}:{}] <= groups{k}[{{group{k}, 3'd0}} +: 8];\n",
                8 * k + 7,
                8 * k
            ));
        }
        Verilog::Custom(format!(
            "{text}    always @(posedge clk) begin
        if (enable) begin
{steps}        end
    end"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::Random;
    use std::collections::VecDeque;

    fn check<
        const IN: usize,
        const OUT: usize,
        const S: usize,
        const IW: usize,
        const OW: usize,
    >() {
        let name = format!("byte_mux_{IN}_{OUT}");
        let library = testing::library(&name, ByteMux::<IN, OUT, S, IW, OW>::default);
        let mut model = library.instance(1);
        let mut random = Random::new(1);
        let mut pipeline = VecDeque::new();
        for _ in 0..1000 {
            let data = random.bytes(IN);
            let select: Vec<_> = (0..OUT).map(|_| random.below(IN as u64)).collect();
            let enable = random.chance(0.7);
            model.set_word("data", &data.as_slice().into());
            for (k, &select) in select.iter().enumerate() {
                model.set(format!("select_{k}"), select);
            }
            model.set("enable", enable.into());
            model.cycle();
            if enable {
                pipeline.push_back(select.iter().map(|&s| data[s as usize]).collect::<Vec<_>>());
            }
            if pipeline.len() > 2 {
                pipeline.pop_front();
            }
            if pipeline.len() == 2 {
                assert_eq!(model.get_word("result").to_bytes(OUT), pipeline[0]);
            }
        }
    }

    #[test]
    fn byte_k_is_the_selected_one_under_stalls() {
        check::<64, 64, 6, 512, 512>();
        check::<128, 16, 7, 1024, 128>();
    }
}
