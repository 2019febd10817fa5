//! A small memory with asynchronous reads.

use drdma_emit::prelude::*;

/// A memory of 2^`A` words of `D` bits in lookup tables, with one write port and `R` read ports.
///
/// A write takes effect at the end of its cycle. A read delivers in the same cycle; a read of the address that is being
/// written delivers the old word. The contents are undefined until written. Each read port costs a copy of the memory.
///
/// # Inputs
/// `clk`; `write_enable`, `write_address`, `write_data`; `read_address`.
///
/// # Outputs
/// `read_data`.
#[derive(LogicBlock, BlockDefault)]
pub struct Lutram<const D: usize, const A: usize, const R: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// A word is written in this cycle.
    pub write_enable: Signal<In, Bit>,
    /// Address of the word that is written.
    pub write_address: Signal<In, Bits<A>>,
    /// Value that is written.
    pub write_data: Signal<In, Bits<D>>,
    /// Address that each read port reads.
    pub read_address: [Signal<In, Bits<A>>; R],
    /// Word that each read port reads, in the same cycle.
    pub read_data: [Signal<Out, Bits<D>>; R],
}

impl<const D: usize, const A: usize, const R: usize> Logic for Lutram<D, A, R> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.read_data.iter_mut().for_each(Logic::connect);
    }

    fn hdl(&self) -> Verilog {
        let reads: String = (0..R)
            .map(|r| format!("    always @(*) read_data${r} = memory[read_address${r}];\n"))
            .collect();
        Verilog::Custom(format!(
            "    (* ram_style = \"distributed\" *) reg [{}:0] memory [0:{}];
    always @(posedge clk) begin
        if (write_enable) memory[write_address] <= write_data;
    end
{reads}",
            D - 1,
            (1_usize << A) - 1
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
    fn reads_deliver_the_word_of_the_same_cycle() {
        let mut model = testing::library("lutram", Lutram::<70, 4, 3>::default).instance(1);
        let mut random = Random::new(1);
        let mut memory = vec![None::<Word>; 16];
        for _ in 0..2000 {
            let (address, data) = (random.below(16), random.word(70));
            let write = random.chance(0.5);
            model.set("write_address", address);
            model.set_word("write_data", &data);
            model.set("write_enable", write.into());
            let reads: Vec<_> = (0..3).map(|_| random.below(16)).collect();
            for (r, &read) in reads.iter().enumerate() {
                model.set(format!("read_address_{r}"), read);
            }
            model.settle();
            for (r, &read) in reads.iter().enumerate() {
                if let Some(word) = &memory[read as usize] {
                    assert_eq!(&model.get_word(format!("read_data_{r}")), word);
                }
            }
            model.tick();
            if write {
                memory[address as usize] = Some(data);
            }
        }
        assert!(memory.iter().all(Option::is_some));
    }
}
