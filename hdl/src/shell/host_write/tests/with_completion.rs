//! `host_write` and `completion` together: receives as fast as the engine takes descriptors.

use super::*;
use crate::complete::completion::Completion;
use crate::context::INDEX;
use crate::receive::record::{COLUMN_ROWS, FRAME_WORDS, WriteOrder};
use crate::shell::corundum::{DmaDescriptor, DmaWriteStatus};
use drdma_abi::Layout;
use drdma_abi::receive::ReceiveCompletion;
use drdma_abi::register::CompletionQueueEntry;
use drdma_emit::prelude::*;

#[derive(LogicBlock, BlockDefault)]
struct Finish {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub cfg_valid: Signal<In, Bit>,
    pub cfg_table: Signal<In, Bits<3>>,
    pub cfg_index: Signal<In, Bits<INDEX>>,
    pub cfg_word: Signal<In, Bits<4>>,
    pub cfg_data: Signal<In, Bits<32>>,
    pub order: Stream<In, WriteOrder>,
    pub store_enable: Signal<Out, Bits<2>>,
    pub store_row: Signal<Out, Bits<20>>,
    pub store_data: Signal<In, Bits<1024>>,
    pub column_enable: Signal<Out, Bits<2>>,
    pub column_row: Signal<Out, Bits<14>>,
    pub column_data: Signal<In, Bits<1024>>,
    pub freed_rows: Signal<Out, Bits<COLUMN_ROWS>>,
    pub freed_valid: Signal<Out, Bit>,
    pub freed_words: Signal<Out, Bits<FRAME_WORDS>>,
    pub busy: Signal<Out, Bit>,
    pub m_axis_data_dma_write_desc: Stream<Out, DmaDescriptor>,
    pub s_axis_data_dma_write_desc_status: Flow<In, DmaWriteStatus>,
    pub data_dma_ram_rd_cmd_sel: Signal<In, Bits<2>>,
    pub data_dma_ram_rd_cmd_addr: Signal<In, Bits<20>>,
    pub data_dma_ram_rd_cmd_valid: Signal<In, Bits<2>>,
    pub data_dma_ram_rd_cmd_ready: Signal<Out, Bits<2>>,
    pub data_dma_ram_rd_resp_data: Signal<Out, Bits<1024>>,
    pub data_dma_ram_rd_resp_valid: Signal<Out, Bits<2>>,
    pub data_dma_ram_rd_resp_ready: Signal<In, Bits<2>>,
    host_write: HostWrite,
    completion: Completion,
}

impl Logic for Finish {
    #[hdl_gen]
    fn update(&mut self) {
        self.order.join(&mut self.host_write.order);
        self.host_write.card_reset.next = false;
        self.host_write.receipt.join(&mut self.completion.receipt);
        self.host_write.write.valid.next = self.completion.write_valid.val();
        self.completion.write_ready.next = self.host_write.write.ready.val();
        self.host_write.write.addr.next = self.completion.write_addr.val();
        self.host_write.write.data.next = self.completion.write_data.val();
        self.store_enable.next = self.host_write.store_enable.val();
        self.store_row.next = self.host_write.store_row.val();
        self.host_write.store_data.next = self.store_data.val();
        self.column_enable.next = self.host_write.column_enable.val();
        self.column_row.next = self.host_write.column_row.val();
        self.host_write.column_data.next = self.column_data.val();
        self.freed_rows.next = self.host_write.freed_rows.val();
        self.freed_valid.next = self.host_write.freed_valid.val();
        self.freed_words.next = self.host_write.freed_words.val();
        self.busy.next = self.host_write.busy.val() || self.completion.busy.val();
        self.host_write.m_axis_data_dma_write_desc.join(&mut self.m_axis_data_dma_write_desc);
        self.s_axis_data_dma_write_desc_status
            .join(&mut self.host_write.s_axis_data_dma_write_desc_status);
        self.host_write.data_dma_ram_rd_cmd_sel.next = self.data_dma_ram_rd_cmd_sel.val();
        self.host_write.data_dma_ram_rd_cmd_addr.next = self.data_dma_ram_rd_cmd_addr.val();
        self.host_write.data_dma_ram_rd_cmd_valid.next = self.data_dma_ram_rd_cmd_valid.val();
        self.data_dma_ram_rd_cmd_ready.next = self.host_write.data_dma_ram_rd_cmd_ready.val();
        self.data_dma_ram_rd_resp_data.next = self.host_write.data_dma_ram_rd_resp_data.val();
        self.data_dma_ram_rd_resp_valid.next = self.host_write.data_dma_ram_rd_resp_valid.val();
        self.host_write.data_dma_ram_rd_resp_ready.next = self.data_dma_ram_rd_resp_ready.val();

        self.completion.cfg_valid.next = self.cfg_valid.val();
        self.completion.cfg_table.next = self.cfg_table.val();
        self.completion.cfg_index.next = self.cfg_index.val();
        self.completion.cfg_word.next = self.cfg_word.val();
        self.completion.cfg_data.next = self.cfg_data.val();
        // There are no atomics, and no send queue has requests.
        self.host_write.word.valid.next = false;
        self.host_write.word.addr.next = 0.into();
        self.host_write.word.data.next = 0.into();
        self.host_write.word.slot.next = 0.into();
        self.completion.timeout.next = 0.into();
        self.completion.closed.next = false;
        self.completion.open_valid.next = false;
        self.completion.open_slot.next = 0.into();
        self.completion.open_queue.next = 0.into();
        self.completion.open_wr_id.next = 0.into();
        self.completion.open_position.next = 0.into();
        self.completion.open_unsignaled.next = false;
        self.completion.sent_valid.next = false;
        self.completion.sent_slot.next = 0.into();
        self.completion.sent_qp.next = 0.into();
        self.completion.sent_kind.next = 0.into();
        self.completion.sent_psn.next = 0.into();
        self.completion.sent_status.next = 0.into();
        self.completion.sent_bad_dest.next = 0.into();
        self.completion.sent_total.next = 0.into();
        self.completion.gone.next = false;
        self.completion.sending_valid.next = false;
        self.completion.sending_qp.next = 0.into();
        self.completion.sending_psn.next = 0.into();
        self.completion.ack_valid.next = false;
        self.completion.ack_qp.next = 0.into();
        self.completion.ack_psn.next = 0.into();
        self.completion.ack_syndrome.next = 0.into();
        self.completion.slot_free_ready.next = false;
    }
}

const RECEIVES: u64 = 1000;
const RING: u64 = 0x100_0000_0000;

#[test]
fn a_receive_of_64_bytes_takes_four_cycles_at_an_engine_of_a_descriptor_in_two() {
    let library = testing::library("finish", Finish::default);
    // Probability of stalls of the engine, and cycles of a receive at most.
    for (stall, most) in [(0.0, 4.05), (0.2, 8.0)] {
        let mut bench = Bench::new(library.instance(1), 1);
        let engine = Engine::attach(&mut bench, 1, stall);
        engine.borrow_mut().every = 2;
        let driver = bench.driver("order");
        bench.run(4200);
        let entry =
            CompletionQueueEntry { addr: RING, log_entries: 10, enable: 1, ..Default::default() };
        for (word, value) in (0..).zip(entry.to_bytes().chunks(4)) {
            let value = u32::from_le_bytes(value.try_into().unwrap());
            for (port, value) in [
                ("valid", 1_u64),
                ("table", 3),
                ("index", 5),
                ("word", word),
                ("data", value.into()),
            ] {
                bench.set(format!("cfg_{port}").as_str(), value);
            }
            bench.step();
        }
        bench.set("cfg_valid", 0_u64);
        bench.run(10);
        let payload = engine.borrow().store.clone();
        for k in 0..RECEIVES {
            let line = ReceiveCompletion { wr_id: k, receive: 1, ..Default::default() };
            let mut receipt = Word::from(5_u64);
            receipt.set_bits(22, 256, &Word::from_bytes(&line.to_bytes()));
            let ram = 128 * k as usize + 42;
            let beat = order(0x1000 + 64 * k, ram, 64);
            let beat = beat.with("frame_end", 1_u64).with("words", 2_u64);
            bench.send(driver, beat.with("completes", 1_u64).with("receipt", &receipt));
            let (words, start, low) = (2, 2 * k as usize, 0x1000 + 64 * k);
            engine.borrow_mut().frames.push_back(Frame { words, start, low, high: low + 64 });
        }
        bench.run_until(|bench| bench.pending(driver) == 0);
        bench.run_until(|bench| bench.get("busy") == 0);
        let engine = engine.borrow();
        assert_eq!(engine.freed, 2 * RECEIVES as usize);
        // A receive's entry lies in host memory behind its payload.
        let mut received = 0;
        let mut completed = 0;
        for (addr, bytes) in &engine.written {
            if *addr < RING {
                assert_eq!(*addr, 0x1000 + 64 * received);
                assert!(*bytes == payload[128 * received as usize + 42..][..64]);
                received += 1;
                continue;
            }
            assert_eq!(*addr, RING + 32 * completed);
            let entry = ReceiveCompletion::decode(bytes);
            assert_eq!((entry.wr_id, entry.phase), (completed, 1));
            completed += 1;
            assert!(completed <= received, "completion {completed} came before its payload");
        }
        assert_eq!((received, completed), (RECEIVES, RECEIVES));
        let times = &engine.descriptors;
        let cycles = (times[times.len() - 1].0 - times[0].0) as f64 / RECEIVES as f64;
        assert!(cycles <= most, "{cycles} cycles a receive");
    }
}
