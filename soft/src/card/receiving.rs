//! Arriving frames: requests of peers, and the receives that they fill.

use drdma_abi::{
    Layout as _,
    completion::Status,
    described::AppendCompletion,
    receive::{ReceiveCompletion, ReceiveHeader},
    register::{MemoryRegionEntry, counter},
    work_request::{BLOCK, GRANULE},
};

use crate::card::state::{LateReceive, NS_PER_CYCLE, SoftCard};
use drdma_semantics::{
    append::Append,
    frame::Frame,
    memory::{Fault, HostMemory, Run, WritableMemory},
    packets::Flow,
    receive::{self, ReceiveName},
    region::Region,
    responder::{self, Answer, Outcome, Received, Responder, Settings, Taken, World, packet::Kind},
};

impl SoftCard {
    /// Takes every frame that has arrived.
    pub(super) fn take_frames(&mut self) {
        while let Some(bytes) = self.network.receive(self.cycles * NS_PER_CYCLE) {
            self.take_frame(&bytes);
        }
    }

    /// Takes a frame that arrives now.
    pub(crate) fn take_frame(&mut self, bytes: &[u8]) {
        self.idle = false;
        let taken = match Frame::parse_any(bytes) {
            Ok(frame) if frame.is_notification() => self.take_notification(&frame).is_some(),
            Ok(frame) => {
                self.notify(&frame);
                match Kind::of(frame.operation()) {
                    Kind::Response => self.take_response(&frame).is_some(),
                    _ => self.take_request(&frame),
                }
            }
            Err(error) if error.is_other_protocol() => return self.pass_on(bytes),
            Err(_) => return self.counters.add(&counter::RECEIVE_DROPPED, 1),
        };
        if !taken {
            self.counters.add(&counter::RECEIVE_DROPPED, 1);
            self.pass_on(bytes);
        }
    }

    /// Passes a frame on to the host's NIC.
    fn pass_on(&mut self, frame: &[u8]) {
        if let Some(frames) = &mut self.host_frames {
            frames.push(frame.to_vec());
        }
    }

    /// Takes a request of a peer; false if it is for no queue pair.
    fn take_request(&mut self, frame: &Frame<'_>) -> bool {
        let found = self.tables.by_number.get(&frame.bth.dest_qp).and_then(|numbers| {
            let mut flows = numbers.iter().map(|index| (*index, self.flow(*index as u32)));
            flows.find(|(_, flow)| responder::is_for(frame, flow))
        });
        let Some((index, flow)) = found else { return false };
        let queue_pair = &mut self.tables.queue_pairs[index];
        if !queue_pair.responds() {
            return true;
        }
        let Some(mut responder) = queue_pair.responder.take() else { return true };
        let settings = self.receive_settings(index, &flow);
        let mut reach = Reach { card: self, queue_pair: index };
        let outcome = responder.take(frame, &settings, &mut reach);
        self.tables.queue_pairs[index].responder = Some(responder);
        if outcome == Outcome::Dropped {
            self.counters.add(&counter::RECEIVE_IGNORED, 1);
        }
        if outcome == Outcome::Error {
            self.fail_queue_pair(index);
        }
        true
    }

    fn receive_settings(&self, index: usize, flow: &Flow) -> Settings {
        let attributes = &self.tables.queue_pairs[index].attributes;
        Settings {
            transport: flow.transport,
            mtu: flow.mtu,
            rights: attributes.rights.into(),
            pd: self.tables.queue_pairs[index].entry.pd,
            min_rnr_timer: attributes.min_rnr_timer,
            max_dest_rd_atomic: attributes.max_dest_rd_atomic,
            shared: self.is_shared(index),
        }
    }

    /// True if a queue pair's receive queue is a shared one.
    fn is_shared(&self, index: usize) -> bool {
        let queue = self.tables.queue_pairs[index].receive_queue();
        let queue = queue.and_then(|number| self.tables.receive_queues.get(usize::from(number)));
        queue.is_some_and(|queue| queue.entry.shared == 1)
    }

    /// Removes the responder of a queue pair: a receive of a shared queue that it has in use is
    /// flushed. (The driver flushes receives of its own queue.)
    pub(super) fn give_back_receive(&mut self, index: usize) {
        self.tables.abandon_appends(index);
        let responder = self.tables.queue_pairs[index].responder.as_deref_mut();
        if let Some(name) = responder.and_then(Responder::take_receive)
            && self.is_shared(index)
        {
            self.complete_receive(index, Received::failed(name, Status::WrFlushError));
        }
    }

    /// Handles the failure of a queue pair's responder: its requester's work in progress is flushed
    /// as well.
    pub(super) fn fail_queue_pair(&mut self, index: usize) {
        self.break_queue_pair(index, Status::WrFlushError);
    }

    /// Puts a queue pair in the error state.
    pub(super) fn set_error(&mut self, index: usize) {
        self.tables.queue_pairs[index].error = true;
        self.tables.abandon_appends(index);
        let used = self.tables.queue_pairs[index].responder.as_deref_mut();
        match (used.and_then(Responder::take_receive), self.is_shared(index)) {
            (Some(name), _) => {
                self.complete_receive(index, Received::failed(name, Status::WrFlushError));
            }
            (None, false) => self.flush_receives(index),
            (None, true) => {}
        }
    }

    /// Flushes the oldest receive of a queue pair's own queue, which halts the queue: the driver
    /// flushes the others.
    fn flush_receives(&mut self, index: usize) {
        let Some(number) = self.tables.queue_pairs[index].receive_queue().map(usize::from) else {
            return;
        };
        let Some(queue) = self.tables.receive_queues.get(number) else { return };
        if queue.entry.shared == 1 || !queue.is_running() || queue.posted() == 0 {
            return;
        }
        let name = match self.take_entry(index) {
            Taken::Receive(receive) => receive.name,
            Taken::Malformed(name, _) => name,
            Taken::Nothing => return,
        };
        self.complete_receive(index, Received::failed(name, Status::WrFlushError));
    }

    /// Takes a doorbell of a receive queue.
    pub(super) fn ring_receive_doorbell(&mut self, number: usize, producer: u32) {
        let queue = &mut self.tables.receive_queues[number];
        let posted = producer.wrapping_sub(queue.position);
        if !queue.is_running() || posted == 0 || posted > queue.blocks() {
            return;
        }
        queue.producer = producer;
        let owner = queue.entry.qp as usize;
        let fails = queue.entry.shared == 0
            && self.tables.queue_pairs.get(owner).is_some_and(|queue_pair| {
                queue_pair.error && queue_pair.receive_queue() == Some(number as u16)
            });
        if fails {
            self.flush_receives(owner);
        }
    }

    /// Takes the next entry of a queue pair's receive queue.
    fn take_entry(&mut self, index: usize) -> Taken {
        let queue_pair = &self.tables.queue_pairs[index];
        let (number, pd) = (queue_pair.receive_queue(), queue_pair.entry.pd);
        let Some(number) = number.map(usize::from) else { return Taken::Nothing };
        let Some(queue) = self.tables.receive_queues.get(number) else { return Taken::Nothing };
        let (position, posted) = (queue.position, queue.posted());
        if !queue.is_running() || posted == 0 {
            return Taken::Nothing;
        }
        let malformed = |name| Taken::Malformed(name, Status::LocalQpOperationError);
        let mut bytes = vec![0; BLOCK];
        let nameless = ReceiveName { wr_id: 0, position };
        if self.read_receive(number, position, &mut bytes).is_err() {
            return malformed(nameless);
        }
        let head = bytes.first_chunk().expect("a block holds a head");
        let granules = match receive::check_any_head(head, position, posted) {
            Ok(ReceiveHeader { granules, .. }) => granules as usize,
            Err(name) => return malformed(name),
        };
        bytes.resize((granules * GRANULE).next_multiple_of(BLOCK), 0);
        let second = position.wrapping_add(1);
        if self.read_receive(number, second, &mut bytes[BLOCK..]).is_err() {
            return malformed(nameless);
        }
        let blocks = (bytes.len() / BLOCK) as u32;
        self.tables.receive_queues[number].position = position.wrapping_add(blocks);
        match receive::check_entry(&bytes, pd, &self.tables, &self.host) {
            Ok(receive) => Taken::Receive(receive),
            Err((name, status)) => Taken::Malformed(name, status),
        }
    }

    /// Reads whole blocks of a receive queue's ring, around its end.
    fn read_receive(&mut self, number: usize, position: u32, out: &mut [u8]) -> Result<(), Fault> {
        let queue = &self.tables.receive_queues[number];
        let first = (position & (queue.blocks() - 1)) as usize;
        let before_end = (queue.blocks() as usize - first) * BLOCK;
        let (head, tail) = out.split_at_mut(before_end.min(out.len()));
        for (block, part) in [(first, head), (0, tail)] {
            if !part.is_empty() {
                self.counters.add(&counter::CONTROL_READS, 1);
                self.counters.add(&counter::CONTROL_READ_BYTES, part.len() as u64);
                self.host.read(queue.entry.addr.wrapping_add((block * BLOCK) as u64), part)?;
            }
        }
        Ok(())
    }

    /// Completes a receive of a queue pair. A failed one is the last of the queue pair's own queue.
    fn complete_receive(&mut self, index: usize, received: Received) {
        let number = self.tables.queue_pairs[index].attributes.receive_queue;
        let Some(queue) = self.tables.receive_queues.get_mut(usize::from(number)) else { return };
        if received.status != Status::Success {
            let whole_queue = queue.entry.shared == 0;
            queue.halted |= whole_queue || received.status == Status::LocalQpOperationError;
        }
        let completion_queue = queue.entry.completion_queue;
        let good = received.status == Status::Success;
        let completion = ReceiveCompletion {
            wr_id: received.name.wr_id,
            byte_len: if good { received.byte_len } else { 0 },
            imm: if good { received.imm } else { 0 },
            receive_queue: number,
            qp: index as u16,
            receive: 1,
            opcode: received.opcode as u8,
            flags: if good { received.flags } else { 0 },
            status: received.status as u8,
            position: received.name.position,
            source_qp: if good { received.source_qp } else { 0 },
            ..ReceiveCompletion::default()
        };
        let late = match received.first_row.filter(|_| good) {
            None => LateReceive::Receive(completion),
            Some(first_row) => LateReceive::Append(appended(&completion, first_row)),
        };
        self.late_receives.push_back((completion_queue, late));
        self.complete_receives();
    }

    /// Writes those completions of receives for which there is room.
    pub(super) fn complete_receives(&mut self) {
        let mut late = std::mem::take(&mut self.late_receives);
        late.retain(|(number, completion)| {
            let Some(queue) = self.tables.completion_queues.get_mut(usize::from(*number)) else {
                return false;
            };
            let room = queue.has_room();
            if room {
                match *completion {
                    LateReceive::Receive(completion) => queue.push_receive(&self.host, completion),
                    LateReceive::Append(completion) => queue.push_append(&self.host, completion),
                }
            }
            !room
        });
        self.late_receives = late;
    }
}

/// Makes the completion of a receive that appended.
fn appended(completion: &ReceiveCompletion, first_row: u32) -> AppendCompletion {
    AppendCompletion { first_row, ..AppendCompletion::decode(&completion.to_bytes()) }
}

/// Environment of a queue pair's responder.
struct Reach<'a> {
    card: &'a mut SoftCard,
    queue_pair: usize,
}

impl HostMemory for Reach<'_> {
    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), Fault> {
        self.card.host.read(addr, out)
    }
}

impl WritableMemory for Reach<'_> {
    fn write(&self, addr: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.card.host.write(addr, bytes)
    }

    fn write_run(&self, run: Run, packet: &[u8]) -> Result<(), Fault> {
        self.card.host.write_run(run, packet)
    }

    fn write_runs(&self, runs: &[Run], packet: &[u8]) -> Result<(), Fault> {
        self.card.host.write_runs(runs, packet)
    }
}

impl World for Reach<'_> {
    fn key(&self, rkey: u32) -> Option<MemoryRegionEntry> {
        self.card.tables.key(rkey)
    }

    fn key_region(&self, index: u64) -> Option<Region> {
        self.card.tables.key_region(index).cloned()
    }

    fn append(&mut self, number: u32) -> Option<&mut Append> {
        self.card.tables.append(number)
    }

    fn is_append_allowed(&mut self, number: u32) -> bool {
        self.card.tables.is_append_allowed(number)
    }

    fn queue_pair(&self) -> u32 {
        self.queue_pair as u32
    }

    fn put_back(&mut self, name: ReceiveName) {
        let queue_pair = &self.card.tables.queue_pairs[self.queue_pair];
        let queue = queue_pair.receive_queue().map(usize::from);
        let queue = queue.and_then(|number| self.card.tables.receive_queues.get_mut(number));
        if let Some(queue) = queue {
            queue.position = name.position;
        }
    }

    fn invalidate(&mut self, rkey: u32) {
        self.card.tables.invalidate(rkey);
    }

    fn take(&mut self) -> Taken {
        self.card.take_entry(self.queue_pair)
    }

    fn has_room(&self) -> bool {
        let tables = &self.card.tables;
        let number = tables.queue_pairs[self.queue_pair].attributes.receive_queue;
        let queue = tables.receive_queues.get(usize::from(number));
        let completion_queue = queue.and_then(|queue| {
            tables.completion_queues.get(usize::from(queue.entry.completion_queue))
        });
        self.card.late_receives.is_empty() && completion_queue.is_none_or(|queue| queue.has_room())
    }

    fn complete(&mut self, received: Received) {
        self.card.complete_receive(self.queue_pair, received);
    }

    fn answer(&mut self, answer: Answer) {
        self.card.reply(self.queue_pair, answer);
    }
}
