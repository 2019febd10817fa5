//! A request that was admitted and is sent packet by packet.

use std::ops::Range;

use drdma_abi::{
    completion::Status,
    receive::{AddressHandle, AtomicOperands},
    roce::{AtomicEth, Reth, TTL, Transport},
    work_request::Opcode,
};

use crate::card::{row_copies::RowCopies, tables::RequestId};
use drdma_semantics::{
    answers,
    boxes::{Planner, Settings},
    checks::Admitted,
    memory::{Fault, HostMemory},
    messages::Messages,
    packets::{self, Flow, FrameBuffer, Marks, MessageHead, Segment},
    reliable::{Extras, Fetch},
    request::{Destination, Request},
    responder::packet,
    rows::{Fragment, Units},
    stream::{Begun, MessageStream},
};

/// An admitted request that is being sent.
#[derive(Debug)]
pub struct Job {
    /// Identification of the request.
    pub id: RequestId,
    /// Destinations, in the request's order.
    pub lanes: Vec<Lane>,
    /// Plans the DMA reads ahead of the packets, for the counters.
    pub planner: Option<Planner>,
    /// Number of payload bytes planned.
    pub planned: u64,
    /// Number of payload bytes sent.
    pub sent: u64,
    /// Index of the lane that sends next.
    turn: usize,
}

/// One destination of a job.
#[derive(Debug)]
pub struct Lane {
    /// Index of the queue pair.
    pub qp: u32,
    /// The queue pair's generation when the request was admitted.
    pub generation: u64,
    /// Header fields of the packets.
    pub flow: Flow,
    /// Conditions that the lane waits for, and further header fields of its packets.
    pub extras: Extras,
    /// Data that the lane requests from the peer, instead of sending messages.
    pub fetch: Option<Fetch>,
    opcode: Opcode,
    imm: u32,
    rkey: u32,
    /// Remote address of the next message of a WRITE.
    remote_addr: u64,
    /// Remote address and key of the next message of each column of a WRITE by columns.
    remote_columns: Vec<(u64, u32)>,
    messages: Messages,
    /// Number of messages.
    count: u64,
    next_message: u64,
    payload: Payload,
    /// The message that is being sent, and its progress.
    current: Option<Current>,
}

/// A message that is being sent.
#[derive(Clone, Copy, Debug)]
struct Current {
    head: MessageHead,
    /// Number of bytes of the message that were sent.
    offset: u32,
    /// Column of the message, in a WRITE by columns.
    column: usize,
}

/// The payload of a lane as a stream of bytes.
#[derive(Debug)]
enum Payload {
    /// Rows in host memory that go by columns, or must be walked to know their messages.
    Walked(Box<MessageStream>),
    /// Rows in host memory whose numbers were found at the start.
    Copied(RowCopies),
    /// Units in host memory that are found one by one.
    Fetched(Stream),
    /// An inline payload, which is one packet.
    Inline(Vec<u8>),
}

impl Payload {
    /// Fills `out` with the next bytes.
    fn fill<M: HostMemory + ?Sized>(&mut self, memory: &M, out: &mut [u8]) -> Result<(), Fault> {
        match self {
            Self::Walked(stream) => stream.fill(memory, out).map_err(|wrong| wrong.fault()),
            Self::Copied(rows) => rows.fill(memory, out),
            Self::Fetched(stream) => stream.fill(memory, out),
            Self::Inline(bytes) => {
                out.copy_from_slice(bytes);
                Ok(())
            }
        }
    }
}

/// The units of a lane, and the progress of reading them.
#[derive(Debug)]
struct Stream {
    units: Units,
    unit: Vec<Fragment>,
    at: usize,
    within: u32,
}

impl Stream {
    /// Fills `out` with the next bytes.
    fn fill<M: HostMemory + ?Sized>(&mut self, memory: &M, out: &mut [u8]) -> Result<(), Fault> {
        let mut done = 0;
        while done < out.len() {
            let Some(fragment) = self.unit.get(self.at) else {
                self.at = 0;
                if !self.units.next(memory, &mut self.unit)? {
                    // A bitmap or an array of ids has fewer rows than were counted.
                    return Err(Fault { addr: 0, len: out.len() - done });
                }
                continue;
            };
            let addr = fragment.addr.wrapping_add(self.within.into());
            let len = (fragment.len - self.within).min((out.len() - done) as u32);
            memory.read(addr, &mut out[done..done + len as usize])?;
            done += len as usize;
            self.within += len;
            if self.within == fragment.len {
                self.at += 1;
                self.within = 0;
            }
        }
        Ok(())
    }
}

/// A frame to send.
#[derive(Debug)]
pub struct Outgoing {
    /// Range of the frame's bytes in the buffer that it was appended to, without FCS.
    pub frame: Range<usize>,
    /// Number of payload bytes.
    pub payload: u32,
    /// The packet asks for an acknowledgement.
    pub asks: bool,
    /// The packet is the last one of its message.
    pub ends: bool,
    /// The packet is the last one of its lane.
    pub last: bool,
    /// For a READ or an atomic: the number of sequence numbers of the answer, and a READ's request.
    pub fetch: Option<(u32, Option<Reth>)>,
}

impl Job {
    /// Makes the job of an admitted request, with the rows of its destinations in `rows` if they
    /// were found. The DMA reads are planned if there are `settings`. `lane` gives for each
    /// destination the queue pair's generation and header fields.
    pub fn new(
        id: RequestId,
        request: &Request,
        (admitted, rows): (Vec<Admitted>, Vec<Option<RowCopies>>),
        settings: Option<Settings>,
        lane: impl Fn(u32) -> (u64, Flow),
    ) -> Self {
        let mut lanes = Vec::with_capacity(admitted.len());
        let mut plans = Vec::new();
        let mut rows = rows.into_iter();
        for (index, (destination, admitted)) in
            request.destinations.iter().zip(admitted).enumerate()
        {
            let units = || request.units(index, request.row_mask, &admitted.limits);
            if settings.is_some() {
                plans.push(units());
            }
            let rows = rows.next().flatten();
            let payload = match (&request.inline, request.stream(index, &admitted.limits), rows) {
                (Some(bytes), ..) => Payload::Inline(bytes.clone()),
                (None, Some(stream), _) => Payload::Walked(Box::new(stream)),
                (None, None, Some(rows)) => Payload::Copied(rows),
                (None, None, None) => {
                    Payload::Fetched(Stream { units: units(), unit: Vec::new(), at: 0, within: 0 })
                }
            };
            let (generation, flow) = lane(destination.qp);
            lanes.push(Lane {
                qp: destination.qp,
                generation,
                flow,
                extras: Extras::default(),
                fetch: None,
                opcode: request.opcode,
                imm: request.imm,
                rkey: destination.rkey,
                remote_addr: destination.remote_addr,
                remote_columns: destination.remote_columns.clone(),
                count: admitted.messages.count(),
                messages: admitted.messages,
                next_message: 0,
                payload,
                current: None,
            });
        }
        let fetch_rows = request.destinations.iter().flat_map(Destination::fetch_rows);
        let plan = |settings| Planner::new(settings, plans).reading(fetch_rows);
        let planner = settings.map(plan);
        Self { id, lanes, planner, planned: 0, sent: 0, turn: 0 }
    }

    /// Sets the further options of the request for the job's only lane. A READ or an atomic is one
    /// message, whose bytes are those of the answer.
    #[must_use]
    pub fn with(mut self, extras: Extras, fetch: Option<Fetch>) -> Self {
        for lane in &mut self.lanes {
            lane.extras = extras;
            lane.fetch = fetch;
            if let Some(AddressHandle { dest_mac, tos, ttl, dest_ip, dest_qpn, qkey, .. }) =
                extras.address
            {
                let ttl = if ttl == 0 { TTL } else { ttl };
                lane.flow = Flow { dest_mac, tos, ttl, dest_ip, dest_qpn, qkey, ..lane.flow };
            }
            if let Some(fetch) = fetch {
                lane.messages = Messages::of_equal(1, fetched(fetch).into(), 1);
                lane.count = 1;
                self.planner = None;
            }
        }
        self
    }

    /// Number of payload bytes of all messages.
    pub fn bytes(&self) -> u64 {
        self.lanes.iter().fold(0, |sum, lane| sum.wrapping_add(lane.messages.bytes() as u64))
    }

    /// Returns the lane that sends the next packet: lanes take turns, message by message, and one
    /// that may not send is skipped. `Ok(None)` when everything was sent.
    ///
    /// # Errors
    /// [`Blocked`] if none of the lanes with packets left may send.
    pub fn next_lane(
        &mut self,
        may_send: impl Fn(&Lane) -> bool,
    ) -> Result<Option<usize>, Blocked> {
        let mut blocked = false;
        for step in 0..self.lanes.len() {
            let index = (self.turn + step) % self.lanes.len();
            if self.lanes[index].is_done() {
                continue;
            }
            if may_send(&self.lanes[index]) {
                self.turn = index;
                return Ok(Some(index));
            }
            blocked = true;
        }
        if blocked { Err(Blocked) } else { Ok(None) }
    }

    /// Appends the next packet of a lane that is not done to `frames`.
    ///
    /// # Errors
    /// The request's status, if the payload cannot be read. `frames` is unchanged then.
    pub fn send<M: HostMemory + ?Sized>(
        &mut self,
        index: usize,
        psn: u32,
        memory: &M,
        frames: &mut FrameBuffer,
    ) -> Result<Outgoing, Status> {
        let lane = &mut self.lanes[index];
        if let Some(fetch) = lane.fetch {
            lane.next_message += 1;
            return Ok(lane.ask(fetch, psn, frames));
        }
        let Current { head: message, offset, column } = match lane.current {
            Some(current) => current,
            None => lane.start_message(memory)?,
        };
        let mtu = lane.flow.mtu;
        let len = mtu.min(message.len - offset);
        let segment =
            Segment { offset, len, first: offset == 0, last: offset + len == message.len };
        let marks = Marks { solicited: lane.extras.solicited, invalidate: lane.extras.invalidate };
        let payload = &mut lane.payload;
        let begin = frames.len();
        packets::append_frame(frames, &lane.flow, &message, &segment, psn, &marks, |out| {
            payload.fill(memory, out)
        })
        .map_err(|_: Fault| Status::LocalProtectionError)?;
        let offset = offset + len;
        lane.current = (!segment.last).then_some(Current { head: message, offset, column });
        if segment.last {
            let next = match lane.remote_columns.get_mut(column) {
                Some((addr, _)) => addr,
                None => &mut lane.remote_addr,
            };
            *next = next.wrapping_add(u64::from(message.len));
            self.turn = index + 1;
        }
        self.sent += u64::from(len);
        Ok(Outgoing {
            frame: begin..frames.len(),
            payload: len,
            asks: segment.last && lane.flow.transport == Transport::Rc,
            ends: segment.last,
            last: lane.is_done(),
            fetch: None,
        })
    }
}

/// Number of bytes of the answer.
fn fetched(fetch: Fetch) -> u32 {
    match fetch {
        Fetch::Read { len } => len,
        Fetch::CompareAndSwap(_) | Fetch::FetchAndAdd(_) => 8,
    }
}

impl Lane {
    /// Appends the frame of a READ or an atomic request to `frames`.
    fn ask(&self, fetch: Fetch, psn: u32, frames: &mut FrameBuffer) -> Outgoing {
        let (virtual_address, rkey, flow) = (self.remote_addr, self.rkey, &self.flow);
        let atomic = |swap, operands: AtomicOperands| {
            let AtomicOperands { swap_or_add, compare } = operands;
            let request = AtomicEth { virtual_address, rkey, swap_or_add, compare };
            (answers::atomic_request(flow, psn, swap, &request), (1, None))
        };
        let (frame, fetch) = match fetch {
            Fetch::Read { len } => {
                let request = Reth { virtual_address, rkey, dma_length: len };
                let count = packet::packets(len, flow.mtu);
                (answers::read_request(flow, psn, &request), (count, Some(request)))
            }
            Fetch::CompareAndSwap(operands) => atomic(true, operands),
            Fetch::FetchAndAdd(operands) => atomic(false, operands),
        };
        let begin = frames.len();
        frames.extend(&frame);
        let frame = begin..frames.len();
        Outgoing { frame, payload: 0, asks: true, ends: true, last: true, fetch: Some(fetch) }
    }

    /// Number of payload bytes left of the current message, or of the next one if that is known.
    pub fn left(&self) -> u32 {
        match self.current {
            Some(current) => current.head.len - current.offset,
            None if self.fetch.is_some() || matches!(self.payload, Payload::Walked(_)) => 0,
            None => self.messages.message(self.next_message).len as u32,
        }
    }

    /// True if a packet of the lane was sent.
    pub fn has_begun(&self) -> bool {
        self.next_message > 0
    }

    /// True if all packets of the lane were sent.
    pub fn is_done(&self) -> bool {
        self.current.is_none() && self.next_message >= self.count
    }

    /// Makes the head of the next message.
    ///
    /// # Errors
    /// The request's status, if its rows differ from those that were checked.
    fn start_message<M: HostMemory + ?Sized>(&mut self, memory: &M) -> Result<Current, Status> {
        let begun = match &mut self.payload {
            Payload::Walked(stream) => {
                let begun = stream.next(memory).ok().flatten();
                // Rows may have become longer since they were checked: a datagram would not fit its
                // packet.
                let fits = |begun: &Begun| u128::from(begun.len) <= self.messages.longest();
                begun.filter(fits).ok_or(Status::LocalProtectionError)?
            }
            Payload::Copied(_) | Payload::Fetched(_) | Payload::Inline(_) => {
                let message = self.messages.message(self.next_message);
                let (len, units) = (message.len as u64, message.units);
                Begun { len, units, column: 0, last_column: true }
            }
        };
        self.next_message += 1;
        let remote = self.remote_columns.get(begun.column).copied();
        let (remote_addr, rkey) = remote.unwrap_or((self.remote_addr, self.rkey));
        let opcode = match self.opcode {
            Opcode::WriteImm if !begun.last_column => Opcode::Write,
            opcode => opcode,
        };
        let (imm, len) = (self.imm, begun.len as u32);
        let head = MessageHead { opcode, imm, remote_addr, rkey, len };
        Ok(Current { head, offset: 0, column: begun.column })
    }
}

/// All lanes with packets left wait for acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked;
