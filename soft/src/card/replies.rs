//! What a queue pair sends back: acknowledgements, and the answers to READs and atomics.

use drdma_abi::{receive::rights, register::counter, roce::syndrome};

use crate::card::{state::SoftCard, tables::Reply};
use drdma_semantics::{
    answers,
    checks::Directory as _,
    memory::HostMemory as _,
    packets::{Segment, psn_add},
    responder::Answer,
    scatter::allows,
};

impl SoftCard {
    /// Queues an answer. An acknowledgement takes the place of one that has not left.
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

    /// Sends the next answer, or a packet of it; gives the cycles that takes. Queue pairs take turns.
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

    /// The next frame of an answer; what is left of it goes back in front of the others.
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
        // It may have been taken since it was asked for.
        let pd = self.tables.queue_pairs[index].entry.pd;
        let key = self.tables.memory_region(rkey);
        let allowed = len == 0
            || key.is_some_and(|key| allows(&key, rights::REMOTE_READ, pd, from, part.into()));
        let host = &self.host;
        let nak = match allowed {
            false => syndrome::NAK_REMOTE_ACCESS,
            true => {
                match answers::read_answer(&flow, &segment, this, msn, |out| host.read(from, out)) {
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

    /// Sends a frame; gives the cycles that takes.
    pub(super) fn transmit(&mut self, frame: &[u8]) -> u64 {
        self.counters.add(&counter::FRAME_BYTES, frame.len() as u64);
        self.counters.add(&counter::PACKETS, 1);
        self.network.transmit(frame, self.cycles * crate::card::state::NS_PER_CYCLE);
        frame.len().div_ceil(64) as u64
    }
}
