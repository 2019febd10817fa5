//! Places of bytes: windows, reads of host memory, the card's memory, and bytes gathered from there.

use super::super::Card;
use drdma_emit::prelude::*;

impl Card {
    /// Windows, and how much of the memory they take.
    #[hdl_gen]
    pub(super) fn wire_windows(&mut self) {
        self.windows.rst.next = self.reset.val();
        self.windows.beat_valid.next = self.expander.beat.valid.val();
        self.windows.beat_column.next = self.expander.beat_column.val();
        self.windows.beat_end.next =
            self.expander.beat.request_end.val() && !self.expander.beat.bytes.val().any();
        self.windows.end_accepted.next = self.ends.end_accepted.val();
        self.windows.beat_slot.next = self.expander.beat.slot.val();
        self.windows.fetch_write_valid.next = self.decoder.fetch_write_valid.val();
        self.windows.fetch_write_slot.next = self.decoder.fetch_write_slot.val();
        self.windows.fetch_write_plan.next = self.decoder.fetch_write_plan.val();
        self.windows.max_read.next = self.control.max_read.val();
        self.windows.merge_threshold.next = self.control.merge_threshold.val();
        self.windows.row_ready.next = self.placer.beat.ready.val();
        self.windows.header_ready.next = self.columns.header_ready.val();
        self.windows.header_opens.next = self.columns.header_opens.val();
        self.windows.header_last.next = self.columns.header_last.val();
        self.windows.opened.next = self.placer.window_opened.val();
        self.windows.closed.next = self.placer.window_closed.val();
        self.windows.closed_size.next = self.placer.window_size.val();
        self.windows.sized.next = self.columns.sized.val();
        self.windows.size.next = self.columns.size.val();
        self.windows.placer_busy.next = self.placer.busy.val();
        self.windows.window_free.next = self.gather.window_free.val();
        self.windows.box_end.next = self.boxes.done.val();
        self.windows.bytes_end.next = self.bytes.done.val();

        // balance
        self.balance.rst.next = self.reset.val();
        self.balance.data_valid.next = self.reader.count_reads.val().any();
        self.balance.data_bytes.next = self.reader.count_bytes.val().get_bits::<13>(0);
        self.balance.control_valid.next = self.host_read.count_reads.val().any();
        self.balance.control_bytes.next = self.host_read.count_bytes.val().get_bits::<13>(0);
        self.balance.mean.next = self.control.read_balance.val();
        self.balance.hold.next = self.windows.planned.val();
    }

    /// Places of the bytes of rows.
    #[hdl_gen]
    pub(super) fn wire_placer(&mut self) {
        self.placer.rst.next = self.reset.val();
        self.placer.max_read.next = self.windows.plan_max_read.val();
        self.placer.merge_threshold.next = self.windows.plan_merge_threshold.val();
        self.placer.mean.next = self.control.read_balance.val();
        self.placer.planned.next = self.windows.planned.val();
        self.placer.window_granted.next = self.windows.granted.val();
        self.placer.window_another.next = self.windows.another.val();
        self.placer.window_number.next = self.windows.number.val();
        self.placer.flush.next = self.windows.flush.val();
        self.placer.beat.valid.next = self.windows.row_valid.val();
        self.placer.beat.next = self.expander.beat.val();
        self.placer.placed.join(&mut self.fragments.placed);
    }

    /// Reads of host memory, of rows and of columns.
    #[hdl_gen]
    pub(super) fn wire_reads(&mut self) {
        self.boxes.rst.next = self.reset.val();
        self.boxes.open.next = self.windows.box_open.val();
        self.boxes.is_b.next = self.windows.box_column.val();
        self.placer.reads.join(&mut self.boxes.a);
        self.boxes.a_end.next = self.placer.reads.window_end.val();
        self.boxes.b.valid.next = self.columns.box_valid.val();
        self.boxes.b_end.next = self.columns.box_window_end.val();
        self.boxes.b.data.next.addr = self.columns.box_addr.val();
        self.boxes.b.data.next.ram = self.columns.box_ram.val();
        self.boxes.b.data.next.len = self.columns.box_len.val();
        self.boxes.b.data.next.window = self.columns.box_window.val();
        self.boxes.b.data.next.window_end = self.columns.box_window_end.val();

        // Boxes whose bytes were read as keys or records are copied, all others are read.
        self.kept.rst.next = self.reset.val();
        self.sequencer.key_beat.join(&mut self.kept.beat);
        self.sequencer.record.join(&mut self.kept.record);
        self.kept.release_valid.next = self.segmenter.release_valid.val();
        self.kept.release_slot.next = self.segmenter.release_slot.val();

        // reader
        self.reader.rst.next = self.reset.val();
        self.boxes.out.join(&mut self.starts.reads);
        self.starts.read.join(&mut self.kept.reads);
        self.kept.read.join(&mut self.reader.reads);
        self.reader.m_axis_data_dma_read_desc.join(&mut self.m_axis_data_dma_read_desc);
        self.s_axis_data_dma_read_desc_status
            .join(&mut self.reader.s_axis_data_dma_read_desc_status);
        self.reader.window_ready.join(&mut self.gather.window_ready);
        self.reader.read_error.join(&mut self.gather.read_error);
    }

    /// The segmented memory.
    #[hdl_gen]
    pub(super) fn wire_memory(&mut self) {
        self.segment_writes.dma_be.next = self.data_dma_ram_wr_cmd_be.val();
        self.segment_writes.dma_addr.next = self.data_dma_ram_wr_cmd_addr.val();
        self.segment_writes.dma_data.next = self.data_dma_ram_wr_cmd_data.val();
        self.segment_writes.dma_valid.next = self.data_dma_ram_wr_cmd_valid.val();
        self.data_dma_ram_wr_cmd_ready.next = self.segment_writes.dma_ready.val();
        self.data_dma_ram_wr_done.next = self.segment_writes.dma_done.val();
        self.segment_writes.copy_valid.next = self.kept.copy_valid.val();
        self.segment_writes.copy_be.next = self.kept.copy_be.val();
        self.segment_writes.copy_row.next = self.kept.copy_row.val();
        self.segment_writes.copy_data.next = self.kept.copy_data.val();
        self.kept.copied.next = self.segment_writes.copied.val();
        for g in 0..4 {
            self.segmented_memory[g].write_be.next = self.segment_writes.be.val();
            self.segmented_memory[g].write_row.next = self.segment_writes.row.val();
            self.segmented_memory[g].write_data.next = self.segment_writes.data.val();
            self.segmented_memory[g].write_valid.next = self.segment_writes.valid.val();
            self.segmented_memory[g].read_row.next = self.gather.read_row[g].val();
            self.segmented_memory[g].read_enable.next = self.gather.read_enable[g].val();
            self.gather.read_data[g].next = self.segmented_memory[g].read_data.val();
        }
    }

    /// Bytes of messages, of rows and of columns, and their places in the memory.
    #[hdl_gen]
    pub(super) fn wire_bytes(&mut self) {
        self.fragments.rst.next = self.reset.val();

        // ends of column requests
        self.ends.rst.next = self.reset.val();
        self.ends.opened.next = self.windows.header_valid.val()
            && self.columns.header_ready.val()
            && self.columns.header_opens.val();
        self.ends.opened_window.next = self.windows.number.val();
        self.ends.end_offered.next = self.windows.end_offered.val();
        self.ends.end_window.next = self.windows.last_window.val();
        self.ends.request.next.slot = self.expander.beat.slot.val();
        self.ends.request.next.status = self.expander.beat.status.val();
        self.ends.request.next.dest = self.expander.beat.dest.val();
        self.ends.request.next.dest_end = self.expander.beat.dest_end.val();
        self.ends.request.next.bad_dest = self.expander.beat.bad_dest.val();
        self.ends.bytes.valid.next = self.columns.bytes_valid.val();
        self.ends.bytes.mask.next = self.columns.bytes_mask.val();
        self.ends.bytes.ram.next = self.columns.bytes_ram.val();
        self.ends.bytes.window.next = self.columns.bytes_window.val();
        self.ends.bytes.window_end.next = self.columns.bytes_window_end.val();
        self.ends.bytes.beat_end.next = self.columns.bytes_beat_end.val();
        self.ends.bytes.dest.next = self.columns.bytes_dest.val();
        self.ends.bytes.slot.next = self.columns.bytes_slot.val();
        self.ends.bytes.bytes.next = self.columns.bytes_bytes.val();
        self.ends.bytes.message_start.next = self.columns.bytes_message_start.val();
        self.ends.bytes.message_end.next = self.columns.bytes_message_end.val();
        self.ends.bytes.message_bytes.next = self.columns.bytes_message_bytes.val();
        self.ends.bytes.request_end.next = self.columns.bytes_request_end.val();
        self.ends.bytes.dest_end.next = self.columns.bytes_dest_end.val();
        self.ends.bytes.status.next = self.columns.bytes_status.val();
        self.ends.bytes.bad_dest.next = self.columns.bytes_bad_dest.val();

        // bytes of both paths
        self.bytes.rst.next = self.reset.val();
        self.bytes.open.next = self.windows.bytes_open.val();
        self.bytes.is_b.next = self.windows.bytes_column.val();
        self.fragments.bytes.join(&mut self.bytes.a);
        self.bytes.a_end.next = self.fragments.bytes.window_end.val();
        self.ends.out.join(&mut self.bytes.b);
        self.bytes.b_end.next = self.ends.out.window_end.val();

        // places in the memory
        self.starts.opened.next = self.windows.opens.val();
        self.starts.number.next = self.windows.number.val();
        self.starts.start.next = self.windows.start.val();
    }

    /// Bytes, gathered from the memory.
    #[hdl_gen]
    pub(super) fn wire_gather(&mut self) {
        self.gather.rst.next = self.reset.val();
        self.gather.words.next = self.control.assembler_words.val();
        self.bytes.out.join(&mut self.starts.bytes);
        self.starts.byte.join(&mut self.gather.bytes);
        self.gather.inline_write.valid.next = self.decoder.inline_write_valid.val();
        self.gather.inline_write.slot.next = self.decoder.inline_write_slot.val();
        self.gather.inline_write.data.next = self.decoder.inline_write_data.val();
        self.gather.payload.ready.next = self.segmenter.payload_ready.val();
    }
}
