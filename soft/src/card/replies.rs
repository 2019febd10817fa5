//! Answers of a queue pair: acknowledgements, and the data of READs and atomics.

use bytes::Bytes;
use drdma_abi::{
    described::DESCRIBED,
    receive::rights,
    register::{MemoryRegionEntry, counter},
    roce::syndrome,
};

use crate::{
    card::{
        state::{NS_PER_CYCLE, SoftCard},
        tables::Reply,
    },
    host::Host,
};
use drdma_semantics::{
    answers,
    described::{self, Unreachable},
    memory::{Fault, HostMemory as _},
    packets::{Segment, psn_add},
    responder::Answer,
    rows::Fragment,
    scatter::allows,
};

impl SoftCard {
    /// Queues an answer. An acknowledgement replaces one that was not sent yet.
    pub(super) fn reply(&mut self, index: usize, answer: Answer) {
        let is_ack = |answer: &Answer| {
            matches!(answer, Answer::Acknowledge { syndrome, .. }
                if syndrome & syndrome::KIND_MASK == syndrome::ACK)
        };
        let replies = &mut self.tables.queue_pairs[index].replies;
        if is_ack(&answer)
            && let Some(last) = replies.back_mut()
            && is_ack(&last.answer)
        {
            last.answer = answer;
            return;
        }
        replies.push_back(Reply { answer, sent: 0 });
        if replies.len() == 1 {
            self.replying.push_back(index);
        }
    }

    /// Sends the next answer, or a packet of it; returns the number of cycles that this takes.
    /// Queue pairs take turns.
    pub(super) fn send_reply(&mut self) -> Option<u64> {
        while let Some(index) = self.replying.pop_front() {
            let Some(reply) = self.tables.queue_pairs[index].replies.pop_front() else { continue };
            let frame = self.reply_frame(index, reply);
            if !self.tables.queue_pairs[index].replies.is_empty() {
                self.replying.push_back(index);
            }
            return Some(self.transmit(&frame));
        }
        None
    }

    /// Makes the next frame of an answer; the rest of the answer goes back to the front of the
    /// queue.
    fn reply_frame(&mut self, index: usize, reply: Reply) -> Vec<u8> {
        let flow = self.flow(index as u32);
        let (psn, msn, addr, len, rkey) = match reply.answer {
            Answer::Acknowledge { syndrome, psn, msn } => {
                return answers::acknowledgement(&flow, syndrome, psn, msn);
            }
            Answer::Atomic { psn, msn, original } => {
                return answers::atomic_answer(&flow, psn, msn, original);
            }
            Answer::Read { psn, msn, addr, len, rkey } => (psn, msn, addr, len, rkey),
        };
        let offset = reply.sent;
        let part = flow.mtu.min(len - offset);
        let segment = Segment { offset, len: part, first: offset == 0, last: offset + part == len };
        let this = psn_add(psn, offset / flow.mtu);
        let from = addr.wrapping_add(offset.into());
        // The key may have been invalidated since the READ was accepted.
        let pd = self.tables.queue_pairs[index].entry.pd;
        let key = self.tables.key(rkey);
        let key = key.filter(|key| allows(key, rights::REMOTE_READ, pd, from, part.into()));
        let nak = match self.answered_from(key.as_ref(), from, part) {
            _ if key.is_none() && len > 0 => syndrome::NAK_REMOTE_ACCESS,
            Err(Unreachable::End) => syndrome::NAK_REMOTE_ACCESS,
            Err(Unreachable::Memory) => syndrome::NAK_REMOTE_OPERATION,
            Ok(places) => {
                let host = &self.host;
                let fill = |out: &mut [u8]| gather(host, &places, out);
                match answers::read_answer(&flow, &segment, this, msn, fill) {
                    Ok(frame) => {
                        self.counters.add(&counter::PAYLOAD_BYTES, part.into());
                        let queue_pair = &mut self.tables.queue_pairs[index];
                        if segment.last {
                            queue_pair
                                .responder
                                .iter_mut()
                                .for_each(|responder| responder.answered(psn));
                        } else {
                            let rest = Reply { sent: offset + part, ..reply };
                            queue_pair.replies.push_front(rest);
                        }
                        return frame;
                    }
                    Err(_) => syndrome::NAK_REMOTE_OPERATION,
                }
            }
        };
        self.tables.queue_pairs[index].replies.clear();
        self.fail_queue_pair(index);
        answers::acknowledgement(&flow, nak, this, msn)
    }

    /// Places of the bytes of a READ's answer that a key allows.
    fn answered_from(
        &self,
        key: Option<&MemoryRegionEntry>,
        from: u64,
        len: u32,
    ) -> Result<Vec<Fragment>, Unreachable> {
        let Some(key) = key.filter(|key| key.valid == DESCRIBED && len > 0) else {
            return Ok(vec![Fragment { addr: from, len }]);
        };
        let region = self.tables.key_region(key.addr).ok_or(Unreachable::Memory)?;
        let (right, pd) = (rights::REMOTE_READ, key.pd);
        described::fragments(region, right, pd, (from, len), &self.tables, &self.host)
    }

    /// Sends a frame; returns the number of cycles that this takes.
    pub(super) fn transmit(&mut self, frame: &[u8]) -> u64 {
        self.count_frame(frame.len());
        self.network.transmit(frame, self.cycles * NS_PER_CYCLE);
        cycles_of(frame.len())
    }

    /// Sends frames of a queue pair's message, with these lengths, which lie one behind the other;
    /// returns the number of cycles that this takes.
    pub(super) fn transmit_all(
        &mut self,
        queue_pair: usize,
        frames: &Bytes,
        lens: impl Iterator<Item = usize>,
    ) -> u64 {
        let now = self.cycles * NS_PER_CYCLE;
        let (mut cycles, mut run, mut frame_len) = (0, 0..0, 0);
        for len in lens {
            self.count_frame(len);
            cycles += cycles_of(len);
            // Frames of one length form a run; the last one may be shorter.
            let goes_on = run.len().is_multiple_of(frame_len.max(1)) && len <= frame_len;
            if !goes_on && !run.is_empty() {
                self.network.transmit_run(frames.slice(run.clone()), frame_len, queue_pair, now);
            }
            if !goes_on {
                (run, frame_len) = (run.end..run.end, len);
            }
            run.end += len;
        }
        self.network.transmit_run(frames.slice(run), frame_len, queue_pair, now);
        cycles
    }

    fn count_frame(&mut self, len: usize) {
        self.counters.add(&counter::FRAME_BYTES, len as u64);
        self.counters.add(&counter::PACKETS, 1);
    }
}

/// Number of cycles of a frame of `len` bytes.
fn cycles_of(len: usize) -> u64 {
    len.div_ceil(64) as u64
}

/// Reads bytes from their places, one after the other.
fn gather(host: &Host, places: &[Fragment], out: &mut [u8]) -> Result<(), Fault> {
    let mut rest = out;
    for place in places {
        let (part, after) = rest.split_at_mut(place.len as usize);
        host.read(place.addr, part)?;
        rest = after;
    }
    Ok(())
}
