//! Blocks of many parts.

use drdma_emit::prelude::*;
use drdma_emit::{emit, testing};
use drdma_hdl::primitive::{Lutram, Skid};
use drdma_verilated::testbench::{Beat, Bench, STALLS};

/// A pipeline of slices, and a row of memories.
#[derive(LogicBlock, BlockDefault)]
struct Chain<const N: usize> {
    clk: Signal<In, Clock>,
    rst: Signal<In, Bit>,
    s_valid: Signal<In, Bit>,
    s_ready: Signal<Out, Bit>,
    s_data: Signal<In, Bits<32>>,
    m_valid: Signal<Out, Bit>,
    m_ready: Signal<In, Bit>,
    m_data: Signal<Out, Bits<32>>,
    old: Signal<Out, Bits<32>>,
    #[init((0..N).map(|_| Skid::default()).collect())]
    slices: Vec<Skid<32>>,
    memories: [Lutram<32, 2, 2>; 2],
    slots: [[DFF<Bits<32>>; 2]; 2],
}

impl<const N: usize> Logic for Chain<N> {
    #[hdl_gen]
    fn update(&mut self) {
        for k in 1..N {
            self.slices[k].in_valid.next = self.slices[k - 1].out_valid.val();
            self.slices[k].in_data.next = self.slices[k - 1].out_data.val() + 1;
            self.slices[k - 1].out_ready.next = self.slices[k].in_ready.val();
        }
        self.slices[0].in_valid.next = self.s_valid.val();
        self.slices[0].in_data.next = self.s_data.val();
        self.s_ready.next = self.slices[0].in_ready.val();
        self.m_valid.next = self.slices[N - 1].out_valid.val();
        self.m_data.next = self.slices[N - 1].out_data.val();
        self.slices[N - 1].out_ready.next = self.m_ready.val();
        for m in 0..2 {
            self.memories[m].write_enable.next = true;
            self.memories[m].write_address.next = self.s_data.val().get_bits::<2>(0);
            self.memories[m].write_data.next = self.s_data.val();
            for r in 0..2 {
                self.memories[m].read_address[r].next = m.to_bits();
                self.slots[m][r].d.next = self.memories[m].read_data[r].val();
            }
        }
        self.old.next = self.slots[0][0].q.val()
            ^ self.slots[0][1].q.val()
            ^ self.slots[1][0].q.val()
            ^ self.slots[1][1].q.val();
    }
}

#[test]
fn arrays_of_modules_work_and_equal_modules_are_printed_once() {
    let emitted = emit("chain", Chain::<5>::default).unwrap();
    assert_eq!(emitted.verilog.matches("endmodule").count(), 3, "{}", emitted.verilog);
    let library = testing::library("chain", Chain::<5>::default);
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut bench = Bench::new(library.instance(seed), seed);
        let (s, m) = (bench.driver("s"), bench.monitor("m"));
        bench.stall(stalls);
        bench.send_all(s, (0..200_u64).map(|i| Beat::from([("data", i)])));
        bench.run_until(|bench| bench.received(m).len() == 200);
        let data: Vec<_> = bench.take(m).iter().map(|beat| beat.u64("data")).collect();
        assert_eq!(data, (4..204).collect::<Vec<_>>());
    }
}
