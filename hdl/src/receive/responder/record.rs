//! Records that the parts of the responder give to each other, or keep of a queue pair.

use crate::context::{QP, QUEUE};
use crate::receive::record::{FRAME_WORDS, KEPT, RESOURCE, STORE, STORE_WORD};
use drdma_emit::prelude::*;

/// Bits of a count of bytes of payload.
pub const PAYLOAD: usize = 13;

/// Fields of a packet that the responder needs.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Located {
    /// BTH: destination queue pair number.
    pub qpn: Bits<24>,
    /// Index of the queue pair that had this number when the frame came.
    pub qp: Bits<QP>,
    /// BTH: opcode, which is transport and operation.
    pub opcode: Bits<8>,
    /// BTH: the packet asks for an acknowledgement.
    pub ack_req: Bit,
    /// BTH: there are pad bytes behind the payload.
    pub padded: Bit,
    /// BTH: partition key.
    pub pkey: Bits<16>,
    /// BTH: sequence number.
    pub psn: Bits<24>,
    /// IPv4: source address.
    pub source_ip: Bits<32>,
    /// 802.1Q: number of the VLAN; 0: none.
    pub vlan: Bits<12>,
    /// 802.1Q: the frame has a tag, so that its IPv4 header starts 4 bytes later.
    pub tagged: Bit,
    /// RETH or AtomicETH: remote address.
    pub addr: Bits<64>,
    /// RETH or AtomicETH: remote key. IETH: the key to invalidate.
    pub rkey: Bits<32>,
    /// RETH: bytes of the message.
    pub len: Bits<32>,
    /// AtomicETH: the value that is swapped in or added.
    pub swap_or_add: Bits<64>,
    /// AtomicETH: the value that is compared with.
    pub compare: Bits<64>,
    /// DETH: queue key.
    pub qkey: Bits<32>,
    /// DETH: the sender's queue pair number.
    pub source_qp: Bits<24>,
    /// Immediate data.
    pub imm: Bits<32>,
    /// Number of the frame's first word in the store.
    pub start: Bits<STORE_WORD>,
    /// Place of the payload's first byte in the frame, in bytes.
    pub offset: Bits<7>,
    /// Bytes of payload without padding, 0 to 4,096, or 4,097 for any more.
    pub bytes: Bits<PAYLOAD>,
    /// Words of 64 B of the frame in the store.
    pub words: Bits<FRAME_WORDS>,
}

/// Settings that the host has written for a queue pair.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Settings {
    /// The queue pair's entry is valid: ready to receive, or to send.
    pub exists: Bit,
    /// The queue pair's attributes are valid.
    pub receiving: Bit,
    /// No packet has come since the host wrote the first sequence number.
    pub fresh: Bit,
    /// The sequence number of the first packet.
    pub start_psn: Bits<24>,
    /// The queue pair's number on the wire.
    pub qpn: Bits<24>,
    /// Code of the queue pair's transport.
    pub transport: Bits<8>,
    /// Binary logarithm of the queue pair's MTU in bytes.
    pub log_mtu: Bits<4>,
    /// Partition key.
    pub pkey: Bits<16>,
    /// Number of the VLAN; 0: none.
    pub vlan: Bits<12>,
    /// The peer's IPv4 address.
    pub dest_ip: Bits<32>,
    /// Queue key.
    pub qkey: Bits<32>,
    /// Protection domain.
    pub pd: Bits<32>,
    /// The peer may WRITE.
    pub writable: Bit,
    /// The peer may READ, and READs are kept for their repetition.
    pub readable: Bit,
    /// The peer may execute atomics, and these are kept for their repetition.
    pub changeable: Bit,
    /// READs and atomics that are kept for their repetition, at most 16.
    pub limit: Bits<KEPT>,
    /// The queue pair has a receive queue.
    pub has_queue: Bit,
    /// With `has_queue`: number of the receive queue.
    pub queue: Bits<QUEUE>,
    /// The timer that an RNR NAK of the queue pair asks for, as the AETH encodes it.
    pub rnr_timer: Bits<5>,
}

/// Kind of the message that has packets still to come.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum Message {
    /// No message.
    None,
    /// A SEND.
    Send,
    /// A WRITE.
    Write,
}

/// Progress of a queue pair.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Progress {
    /// Sequence number of the next packet.
    pub expected: Bits<24>,
    /// Messages completed so far, modulo 2^24.
    pub msn: Bits<24>,
    /// A NAK has asked for the expected packet: no packet is answered until it comes.
    pub asked: Bit,
    /// The message that has packets still to come.
    pub message: Message,
    /// A receive was taken and has not completed: that of the message, or one that can be used again.
    pub in_use: Bit,
    /// Bytes that this receive holds; of one that appends, the number of the append region.
    pub capacity: Bits<32>,
    /// This receive appends.
    pub appends: Bit,
    /// The bytes of this receive are placed piece by piece.
    pub pieces: Bit,
    /// Of a WRITE: remote address of the next byte. Of a READ or an atomic: of its first byte.
    pub addr: Bits<64>,
    /// Of a WRITE, a READ or an atomic: its remote key.
    pub rkey: Bits<32>,
    /// Of a WRITE, a READ or an atomic: all of its bytes. Of a SEND: the bytes that have come.
    pub len: Bits<32>,
    /// Of a WRITE: the bytes that are still to come.
    pub remaining: Bits<32>,
    /// READs and atomics that were accepted since the queue pair began; 16 stands for any more.
    pub accepted: Bits<KEPT>,
}

/// Bits of a [`Progress`].
pub const PROGRESS: usize = 24 + 24 + 1 + 2 + 1 + 32 + 1 + 1 + 64 + 32 + 32 + 32 + KEPT;

/// Writes how far a queue pair has come.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct ProgressWrite {
    /// The queue pair.
    pub qp: Bits<QP>,
    /// The queue pair's progress.
    pub progress: Progress,
    /// Number of the last READ or atomic of the queue pair that was accepted. The numbers go on when the queue pair
    /// begins anew.
    pub resource: Bits<RESOURCE>,
}

/// Kind of a job: what is to be done about a packet.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum JobKind {
    /// The packet has no effect, except that its frame's place is given back.
    Nothing,
    /// An answer is sent.
    Answer,
    /// The request is invalid, and breaks its queue pair.
    Refuse,
    /// A message is given up for which no receive is in use.
    Forget,
    /// The receive in use completes as that of a message that was given up; the packet's own job follows.
    Abandon,
    /// The packet is the next one of a message, and is executed if all checks are passed.
    Execute,
    /// The packet is a READ or an atomic that was accepted before: it is answered again if all else is right, or
    /// dropped.
    Again,
}

/// A packet whose order was checked, with all fields for its execution.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Job {
    /// Kind of the job.
    pub kind: JobKind,
    /// The queue pair that the packet is for.
    pub qp: Bits<QP>,
    /// The stamp that the queue pair's entry had when the packet was checked.
    pub stamp: Bits<32>,
    /// The queue pair's progress. What a WRITE's first packet says is already in it; for a datagram,
    /// `len` is that of its route.
    pub progress: Progress,
    /// The packet is of a WRITE; otherwise of a SEND, a READ or an atomic.
    pub write: Bit,
    /// The packet is a READ, whose range is already in `progress`, as for a WRITE.
    pub read: Bit,
    /// The packet is an atomic, whose range is already in `progress`.
    pub atomic: Bit,
    /// The atomic is a compare and swap; otherwise a fetch and add.
    pub swaps: Bit,
    /// Of an atomic: the value that is swapped in or added.
    pub swap_or_add: Bits<64>,
    /// Of an atomic: the value that is compared with.
    pub compare: Bits<64>,
    /// Number of the queue pair's last READ or atomic.
    pub resource: Bits<RESOURCE>,
    /// READs and atomics of the queue pair that are kept for their repetition.
    pub kept: Bits<KEPT>,
    /// The packet is the first one of its message.
    pub first: Bit,
    /// The packet is the last one of its message.
    pub last: Bit,
    /// The queue pair is an RC one.
    pub reliable: Bit,
    /// The queue pair is a UD one.
    pub datagram: Bit,
    /// The packet has immediate data.
    pub with_imm: Bit,
    /// The packet invalidates the key `progress.rkey`.
    pub invalidates: Bit,
    /// The packet asks for an acknowledgement.
    pub ack_req: Bit,
    /// There are pad bytes behind the payload.
    pub padded: Bit,
    /// Sequence number of the packet; of an `Answer`, that of the answer.
    pub psn: Bits<24>,
    /// Of an `Answer`: syndrome of the AETH.
    pub syndrome: Bits<8>,
    /// Byte address of the payload in the frame store.
    pub ram: Bits<STORE>,
    /// Byte address of the IPv4 header in the frame store.
    pub header: Bits<STORE>,
    /// Bytes of payload, 0 to 4,096, or 4,097 for any more.
    pub bytes: Bits<PAYLOAD>,
    /// Words of 64 B of the frame in the store.
    pub words: Bits<FRAME_WORDS>,
    /// Immediate data.
    pub imm: Bits<32>,
    /// The sender's queue pair number.
    pub source_qp: Bits<24>,
    /// The queue pair's protection domain.
    pub pd: Bits<32>,
    /// Binary logarithm of the queue pair's MTU in bytes.
    pub log_mtu: Bits<4>,
    /// The timer that an RNR NAK of the queue pair asks for, as the AETH encodes it.
    pub rnr_timer: Bits<5>,
    /// Number of the queue pair's receive queue.
    pub queue: Bits<QUEUE>,
    /// The receive queue is a shared one.
    pub shared: Bit,
    /// Before the packet's own job, the receive in use completes as that of a message that was given up.
    pub abandons: Bit,
    /// The message that is given up before was appended: it releases its append region.
    pub releases: Bit,
    /// A receive must be taken for the packet.
    pub takes: Bit,
    /// The packet needs a receive, and the queue pair has no queue.
    pub missing: Bit,
    /// A receive was taken for the packet.
    pub taken: Bit,
    /// 0: the receive can be used. Otherwise the status with which it completes.
    pub status: Bits<8>,
    /// The queue pair's progress, if the packet is executed, is known already.
    pub foreseen: Bit,
    /// A job before this one of the queue pair, still under way, takes a receive, too.
    pub follows: Bit,
}

/// The progress of a queue pair if a job is executed.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Foreseen {
    /// The queue pair of the job.
    pub qp: Bits<QP>,
    /// The queue pair's progress before the job, as in the [`Job`].
    pub progress: Progress,
    /// Sequence number of the packet.
    pub psn: Bits<24>,
    /// Bytes of the packet's payload.
    pub bytes: Bits<PAYLOAD>,
    /// The packet is of a WRITE; otherwise of a SEND.
    pub write: Bit,
    /// The packet is the last one of its message.
    pub last: Bit,
    /// A receive completes with the packet.
    pub completes: Bit,
}
