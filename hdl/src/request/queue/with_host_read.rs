//! `queue` and `host_read` together, against host memory and a DMA engine of any manner.

use super::Queue;
use super::tests::{Block, Ring, words_of_entry};
use crate::context::testing::clear_tables;
use crate::context::{INDEX, QUEUE};
use crate::shell::host_read::HostRead;
use crate::shell::host_read::dma_engine::{DmaEngine, Host, Manners};
use crate::testing;
use drdma_emit::prelude::*;
use drdma_verilated::testbench::{Beat, Bench, Random, STALLS};
use std::rc::Rc;

#[derive(LogicBlock, Default)]
struct Fetch {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub doorbell_valid: Signal<In, Bit>,
    pub doorbell_ready: Signal<Out, Bit>,
    pub doorbell_queue: Signal<In, Bits<QUEUE>>,
    pub doorbell_position: Signal<In, Bits<32>>,
    pub cfg_valid: Signal<In, Bit>,
    pub cfg_table: Signal<In, Bits<3>>,
    pub cfg_index: Signal<In, Bits<INDEX>>,
    pub cfg_word: Signal<In, Bits<4>>,
    pub cfg_data: Signal<In, Bits<32>>,
    pub fetch_next: Signal<Out, Bits<QUEUE>>,
    pub fetch_halted: Signal<In, Bit>,
    pub batch_next: Signal<Out, Bits<QUEUE>>,
    pub batch_halted: Signal<In, Bit>,
    pub wqe_valid: Signal<Out, Bit>,
    pub wqe_ready: Signal<In, Bit>,
    pub wqe_data: Signal<Out, Bits<512>>,
    pub wqe_queue: Signal<Out, Bits<QUEUE>>,
    pub wqe_position: Signal<Out, Bits<32>>,
    pub wqe_remaining: Signal<Out, Bits<17>>,
    pub wqe_error: Signal<Out, Bit>,
    pub m_axis_ctrl_dma_read_desc_dma_addr: Signal<Out, Bits<64>>,
    pub m_axis_ctrl_dma_read_desc_ram_sel: Signal<Out, Bits<1>>,
    pub m_axis_ctrl_dma_read_desc_ram_addr: Signal<Out, Bits<17>>,
    pub m_axis_ctrl_dma_read_desc_len: Signal<Out, Bits<16>>,
    pub m_axis_ctrl_dma_read_desc_tag: Signal<Out, Bits<14>>,
    pub m_axis_ctrl_dma_read_desc_valid: Signal<Out, Bit>,
    pub m_axis_ctrl_dma_read_desc_ready: Signal<In, Bit>,
    pub s_axis_ctrl_dma_read_desc_status_tag: Signal<In, Bits<14>>,
    pub s_axis_ctrl_dma_read_desc_status_error: Signal<In, Bits<4>>,
    pub s_axis_ctrl_dma_read_desc_status_valid: Signal<In, Bit>,
    pub ctrl_dma_ram_wr_cmd_sel: Signal<In, Bits<2>>,
    pub ctrl_dma_ram_wr_cmd_be: Signal<In, Bits<128>>,
    pub ctrl_dma_ram_wr_cmd_addr: Signal<In, Bits<20>>,
    pub ctrl_dma_ram_wr_cmd_data: Signal<In, Bits<1024>>,
    pub ctrl_dma_ram_wr_cmd_valid: Signal<In, Bits<2>>,
    pub ctrl_dma_ram_wr_cmd_ready: Signal<Out, Bits<2>>,
    pub ctrl_dma_ram_wr_done: Signal<Out, Bits<2>>,
    queue: Queue,
    host_read: HostRead,
}

impl Logic for Fetch {
    #[hdl_gen]
    fn update(&mut self) {
        self.queue.hold_valid.next = false;
        self.queue.hold_qp.next = 0.into();
        self.queue.hold_held.next = false;
        self.queue.silence_valid.next = false;
        self.queue.silence_qp.next = 0.into();
        self.queue.silence_silent.next = false;
        self.queue.parts_full.next = false;
        self.queue.doorbell_valid.next = self.doorbell_valid.val();
        self.doorbell_ready.next = self.queue.doorbell_ready.val();
        self.queue.doorbell_queue.next = self.doorbell_queue.val();
        self.queue.doorbell_position.next = self.doorbell_position.val();
        self.queue.cfg_valid.next = self.cfg_valid.val();
        self.queue.cfg_table.next = self.cfg_table.val();
        self.queue.cfg_index.next = self.cfg_index.val();
        self.queue.cfg_word.next = self.cfg_word.val();
        self.queue.cfg_data.next = self.cfg_data.val();
        self.fetch_next.next = self.queue.fetch_next.val();
        self.queue.fetch_halted.next = self.fetch_halted.val();
        self.batch_next.next = self.queue.batch_next.val();
        self.queue.batch_halted.next = self.batch_halted.val();
        self.wqe_valid.next = self.queue.wqe_valid.val();
        self.queue.wqe_ready.next = self.wqe_ready.val();
        self.wqe_data.next = self.queue.wqe_data.val();
        self.wqe_queue.next = self.queue.wqe_queue.val();
        self.wqe_position.next = self.queue.wqe_position.val();
        self.wqe_remaining.next = self.queue.wqe_remaining.val();
        self.wqe_error.next = self.queue.wqe_error.val();
        self.m_axis_ctrl_dma_read_desc_dma_addr.next =
            self.host_read.m_axis_ctrl_dma_read_desc.dma_addr.val();
        self.m_axis_ctrl_dma_read_desc_ram_sel.next =
            self.host_read.m_axis_ctrl_dma_read_desc.ram_sel.val();
        self.m_axis_ctrl_dma_read_desc_ram_addr.next =
            self.host_read.m_axis_ctrl_dma_read_desc.ram_addr.val();
        self.m_axis_ctrl_dma_read_desc_len.next =
            self.host_read.m_axis_ctrl_dma_read_desc.len.val();
        self.m_axis_ctrl_dma_read_desc_tag.next =
            self.host_read.m_axis_ctrl_dma_read_desc.tag.val();
        self.m_axis_ctrl_dma_read_desc_valid.next =
            self.host_read.m_axis_ctrl_dma_read_desc.valid.val();
        self.host_read.m_axis_ctrl_dma_read_desc.ready.next =
            self.m_axis_ctrl_dma_read_desc_ready.val();
        self.host_read.s_axis_ctrl_dma_read_desc_status.tag.next =
            self.s_axis_ctrl_dma_read_desc_status_tag.val();
        self.host_read.s_axis_ctrl_dma_read_desc_status.error.next =
            self.s_axis_ctrl_dma_read_desc_status_error.val();
        self.host_read.s_axis_ctrl_dma_read_desc_status.valid.next =
            self.s_axis_ctrl_dma_read_desc_status_valid.val();
        self.host_read.ctrl_dma_ram_wr_cmd_sel.next = self.ctrl_dma_ram_wr_cmd_sel.val();
        self.host_read.ctrl_dma_ram_wr_cmd_be.next = self.ctrl_dma_ram_wr_cmd_be.val();
        self.host_read.ctrl_dma_ram_wr_cmd_addr.next = self.ctrl_dma_ram_wr_cmd_addr.val();
        self.host_read.ctrl_dma_ram_wr_cmd_data.next = self.ctrl_dma_ram_wr_cmd_data.val();
        self.host_read.ctrl_dma_ram_wr_cmd_valid.next = self.ctrl_dma_ram_wr_cmd_valid.val();
        self.ctrl_dma_ram_wr_cmd_ready.next = self.host_read.ctrl_dma_ram_wr_cmd_ready.val();
        self.ctrl_dma_ram_wr_done.next = self.host_read.ctrl_dma_ram_wr_done.val();
        self.host_read.a_req.valid.next = self.queue.read_req_valid.val();
        self.queue.read_req_ready.next = self.host_read.a_req.ready.val();
        self.host_read.a_req.addr.next = self.queue.read_req_addr.val();
        self.host_read.a_req.bytes.next = self.queue.read_req_bytes.val();
        self.queue.read_resp_valid.next = self.host_read.a_resp.valid.val();
        self.host_read.a_resp.ready.next = self.queue.read_resp_ready.val();
        self.queue.read_resp_data.next = self.host_read.a_resp.data.val();
        self.queue.read_resp_last.next = self.host_read.a_resp.last.val();
        self.queue.read_resp_error.next = self.host_read.a_resp.error.val();
        self.host_read.b_req.valid.next = false;
        self.host_read.b_req.addr.next = 0.into();
        self.host_read.b_req.bytes.next = 0.into();
        self.host_read.b_resp.ready.next = false;
        self.host_read.c_req.valid.next = false;
        self.host_read.c_req.addr.next = 0.into();
        self.host_read.c_req.bytes.next = 0.into();
        self.host_read.c_resp.ready.next = false;
        self.host_read.d_req.valid.next = false;
        self.host_read.d_req.addr.next = 0.into();
        self.host_read.d_req.bytes.next = 0.into();
        self.host_read.d_resp.ready.next = false;
    }
}

/// Reads of this range fail.
const BROKEN: std::ops::Range<u64> = 0x80_0400..0x80_0800;

fn byte_at(addr: u64) -> u8 {
    (addr.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

fn host() -> Host {
    Rc::new(|addr| (!BROKEN.contains(&addr)).then(|| byte_at(addr)))
}

fn configure(bench: &mut Bench<'_>, queue: u64, base: u64, log: u32) {
    for (word, data) in words_of_entry(base, log).into_iter().enumerate() {
        let inputs = [("table", 2), ("index", queue), ("word", word as u64), ("data", data)];
        for (name, value) in inputs {
            bench.set(format!("cfg_{name}"), value);
        }
        bench.set("cfg_valid", 1);
        bench.step();
        bench.set("cfg_valid", 0);
    }
}

fn check(beats: &[Beat], expected: &[Block]) {
    assert_eq!(beats.len(), expected.len());
    for (beat, &(queue, position, remaining, addr)) in beats.iter().zip(expected) {
        let of = |name| beat.u64(name);
        assert_eq!((of("queue"), of("position")), (queue, position));
        // A batch is longer if it was rung for again before it was over.
        assert!(of("remaining") >= remaining, "block {position} of queue {queue}");
        // A read fails as a whole; in the ring that is broken, reads start at multiples of 1 KiB.
        let failed = BROKEN.contains(&addr);
        assert_eq!(of("error") == 1, failed, "block at {addr:#x}");
        if !failed {
            let bytes: Vec<_> = (0..64).map(|i| byte_at(addr + i)).collect();
            assert_eq!(beat.get("data").to_bytes(64), bytes, "block at {addr:#x}");
        }
    }
}

#[test]
fn blocks_of_every_ring_come_in_order_whatever_the_engine_does() {
    let library = testing::library("fetch", Fetch::default);
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut bench = Bench::new(library.instance(seed), seed);
        let manners = Manners { piece: 128, ..Manners::any(&mut random) };
        let _engine = DmaEngine::attach(&mut bench, host(), manners, seed);
        let (doorbell, wqe) = (bench.driver("doorbell"), bench.monitor("wqe"));
        let mut expected = Vec::new();
        clear_tables(&mut bench);
        configure(&mut bench, 200, 0x80_0000, 6);
        let mut broken = Ring { base: 0x80_0000, log: 6, position: 0 };
        let mut rings: Vec<_> = (0..5)
            .map(|i| Ring { base: 0x10_0000 * (i + 16), log: 1 + 2 * i as u32, position: 0 })
            .collect();
        for (queue, ring) in rings.iter().enumerate() {
            configure(&mut bench, queue as u64, ring.base, ring.log);
        }
        bench.stall(stalls);
        let mut ring = |bench: &mut Bench<'_>, ring: &mut Ring, queue: u64, count: u32| {
            let position = ring.position + count;
            // Blocks in the ring that were not fetched yet are not overwritten.
            bench.run_until(|bench| {
                let of_queue = |beat: &&Beat| beat.u64("queue") == queue;
                let seen = bench.received(wqe).iter().filter(of_queue).count() as u32;
                position - seen <= 1 << ring.log
            });
            ring.ring(queue, position, &mut expected);
            let beat = Beat::from([("queue", queue), ("position", u64::from(position))]);
            bench.send(doorbell, beat);
        };
        for i in 0..80 {
            let queue = random.below(5);
            let of = &mut rings[queue as usize];
            let count = 1 + random.below(1 << of.log.min(5)) as u32;
            ring(&mut bench, of, queue, count);
            if i % 20 == 0 {
                ring(&mut bench, &mut broken, 200, 48);
                ring(&mut bench, &mut broken, 200, 16);
            }
        }
        bench.run_until(|bench| bench.received(wqe).len() >= expected.len());
        bench.run(300);
        // Queues take turns.
        for queue in 0..=200 {
            let of_queue = |beat: &&Beat| beat.u64("queue") == queue;
            let beats: Vec<_> = bench.received(wqe).iter().filter(of_queue).cloned().collect();
            let expected: Vec<_> =
                expected.iter().filter(|block| block.0 == queue).copied().collect();
            check(&beats, &expected);
        }
    }
}

#[test]
fn a_full_ring_streams_at_a_block_per_cycle() {
    let library = testing::library("fetch", Fetch::default);
    let mut bench = Bench::new(library.instance(1), 1);
    let _engine = DmaEngine::attach(&mut bench, host(), Manners::BEST, 1);
    let (doorbell, wqe) = (bench.driver("doorbell"), bench.monitor("wqe"));
    clear_tables(&mut bench);
    configure(&mut bench, 3, 0x100_0000, 12);
    bench.send(doorbell, Beat::from([("queue", 3_u64), ("position", 4096)]));
    bench.run_until_received(wqe, 4096);
    let mut expected = Vec::new();
    Ring { base: 0x100_0000, log: 12, position: 0 }.ring(3, 4096, &mut expected);
    check(bench.received(wqe), &expected);
    let at = bench.received_at(wqe);
    assert!(at[4095] - at[0] < 4200, "4,096 blocks in {} cycles", at[4095] - at[0]);
}
