//! A table whose words are written in parts, and read a cycle ahead.

use drdma_emit::prelude::*;

/// A [`Table`](super::Table) of 2^`A` words of `D` bits in `L` lanes of equal width, which are written one by one.
///
/// Several narrow tables that are read with the same address are one, each in lanes of its own: an UltraRAM has words
/// of 9 bytes that are written byte by byte. A reader gets a word as [`Table`](super::Table) gives it: with every write
/// of the cycles before, that of the cycle of `ahead` included. The contents are undefined until written.
///
/// # Inputs
/// `clk`; `write_lanes` (one bit for each lane), `write_address`, `write_data`; `ahead`.
///
/// # Outputs
/// `read_data`: the word that `ahead` named in the cycle before.
#[derive(LogicBlock, BlockDefault)]
#[check(D % L == 0, "LaneTable: {L} lanes do not divide {D} bits")]
pub struct LaneTable<const D: usize, const L: usize, const A: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Lanes that are written in this cycle, a bit each.
    pub write_lanes: Signal<In, Bits<L>>,
    /// Address of the word that is written.
    pub write_address: Signal<In, Bits<A>>,
    /// Value of which the lanes are written.
    pub write_data: Signal<In, Bits<D>>,
    /// Address of the word that is wanted in the next cycle.
    pub ahead: Signal<In, Bits<A>>,
    /// Word at the address that `ahead` was in the cycle before.
    pub read_data: Signal<Out, Bits<D>>,
}

impl<const D: usize, const L: usize, const A: usize> Logic for LaneTable<D, L, A> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.read_data.connect();
    }

    fn hdl(&self) -> Verilog {
        let (word, lanes, last, lane) = (D - 1, L - 1, (1_usize << A) - 1, D / L);
        Verilog::Custom(format!(
            "    (* ram_style = \"ultra\" *) reg [{word}:0] memory [0:{last}];
    reg [{word}:0] stored;
    reg [{word}:0] passing;
    reg [{lanes}:0] wrote;
    reg same;
    integer write_lane;
    always @(posedge clk) begin
        for (write_lane = 0; write_lane < {L}; write_lane = write_lane + 1)
            if (write_lanes[write_lane])
                memory[write_address][write_lane * {lane} +: {lane}] <= write_data[write_lane * {lane} +: {lane}];
    end
    always @(posedge clk) begin
        stored <= memory[ahead];
        passing <= write_data;
        wrote <= write_lanes;
        same <= write_address == ahead;
    end
    integer read_lane;
    always @(*) begin
        for (read_lane = 0; read_lane < {L}; read_lane = read_lane + 1)
            read_data[read_lane * {lane} +: {lane}] = same && wrote[read_lane]
                ? passing[read_lane * {lane} +: {lane}]
                : stored[read_lane * {lane} +: {lane}];
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
    fn each_lane_is_as_the_cycle_before_left_it() {
        let mut model = testing::library("lane_table", LaneTable::<24, 3, 5>::default).instance(1);
        let mut random = Random::new(1);
        let (mut memory, mut written) = (vec![0_u64; 32], vec![0_u64; 32]);
        let (mut asked, mut passed) = (0, 0);
        for _ in 0..5_000 {
            let (ahead, lanes) = (random.below(32), random.below(8));
            let address = if random.chance(0.3) { ahead } else { random.below(32) };
            let data = random.below(1 << 24);
            model.set("ahead", ahead);
            model.set("write_lanes", lanes);
            model.set("write_address", address);
            model.set("write_data", data);
            model.settle();
            if written[asked as usize] == 7 {
                assert_eq!(model.get("read_data"), memory[asked as usize]);
            }
            model.tick();
            for lane in (0..3).filter(|lane| lanes >> lane & 1 == 1) {
                let mask = 0xff << (8 * lane);
                let word = &mut memory[address as usize];
                *word = *word & !mask | data & mask;
                passed += u64::from(address == ahead);
            }
            written[address as usize] |= lanes;
            asked = ahead;
        }
        assert!(written.iter().all(|lanes| *lanes == 7) && passed > 500);
    }
}
