//! Memory, keys and receive queues: as the semantics reach them, and as the block's placings change them.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};

use drdma_abi::completion::Status;
use drdma_abi::receive::{ReceiveOpcode, rights};
use drdma_abi::register::MemoryRegionEntry;
use drdma_semantics::append::{Append, NoRows};
use drdma_semantics::checks::{Directory, QueuePair};
use drdma_semantics::described::{Unreachable, fragments};
use drdma_semantics::memory::{Fault, HostMemory, Segments, WritableMemory};
use drdma_semantics::receive::{Receive, ReceiveName};
use drdma_semantics::region::{Region, RowMask};
use drdma_semantics::responder::{Answer, Received, Taken, World};
use drdma_semantics::rows::Fragment;
use drdma_semantics::scatter::Target;
use drdma_verilated::testbench::Beat;

/// The first byte of memory, and its bytes.
pub const BASE: u64 = 0xffff_ffff_0000_1000;
pub const SIZE: u64 = 1 << 16;
/// A key of the host's own, for receives.
pub const LOCAL: u32 = 0xabc;
/// Bytes of the frame store.
pub const STORE_BYTES: usize = 128 << 10;

/// A receive that is posted.
#[derive(Clone, Copy, Debug)]
pub struct Posted {
    pub name: u64,
    pub addr: u64,
    pub len: u32,
    /// Status of a receive that cannot be used.
    pub malformed: Option<Status>,
    /// Number of the append region that the receive is for.
    pub append: Option<u32>,
    /// The card places its bytes piece by piece.
    pub pieces: bool,
}

/// A receive's completion: queue pair, name, status, whether it is that of a WRITE, bytes, immediate data, flags,
/// sender or first row.
pub type Completed = (u64, u64, u8, bool, u32, u32, u8, u32);

/// Answer to a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum What {
    /// The packet is a SEND or a WRITE, or is refused.
    Nothing,
    /// The packet is a READ of {first byte, bytes, key}.
    Read(u64, u32, u32),
    /// The packet is an atomic; the value before it.
    Atomic(u64),
}
/// An answer as {queue pair, syndrome, sequence number, messages, request that is answered}.
pub type Answered = (u64, u8, u32, u32, What);

/// Memory, keys and queues, as the semantics see them.
#[derive(Default)]
pub struct Lab {
    pub memory: RefCell<Vec<u8>>,
    pub keys: HashMap<u32, MemoryRegionEntry>,
    /// The regions of described keys.
    pub regions: HashMap<u64, Region>,
    pub queues: HashMap<u64, VecDeque<Posted>>,
    pub completed: Vec<Completed>,
    /// Receives that stayed in their queues, because there were no rows.
    pub returned: u64,
    /// The receive that was taken last.
    pub last: HashMap<u64, Posted>,
    pub answered: Vec<Answered>,
    pub invalidated: Vec<u64>,
    /// Append regions.
    pub appends: Vec<Option<Append>>,
    /// The queue pair that is at work, its queue and protection domain.
    pub qp: u64,
    pub queue: Option<u64>,
    pub pd: u32,
}

impl Lab {
    pub fn completed(&mut self, received: Received) {
        let Received { name, status, opcode, byte_len, imm, flags, source_qp, .. } = received;
        let source = received.first_row.unwrap_or(source_qp);
        let write = opcode == ReceiveOpcode::ReceiveWithImm;
        let status = status as u8;
        self.completed.push((self.qp, name.wr_id, status, write, byte_len, imm, flags, source));
    }
}

impl HostMemory for Lab {
    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), Fault> {
        let at = addr.wrapping_sub(BASE) as usize;
        out.copy_from_slice(&self.memory.borrow()[at..at + out.len()]);
        Ok(())
    }
}

impl WritableMemory for Lab {
    fn write(&self, addr: u64, bytes: &[u8]) -> Result<(), Fault> {
        if !bytes.is_empty() {
            let at = addr.wrapping_sub(BASE) as usize;
            self.memory.borrow_mut()[at..at + bytes.len()].copy_from_slice(bytes);
        }
        Ok(())
    }
}

impl Directory for Lab {
    fn memory_region(&self, lkey: u32) -> Option<MemoryRegionEntry> {
        let (rights, pd) = (rights::LOCAL_WRITE, self.pd);
        let entry = MemoryRegionEntry { addr: BASE, len: SIZE, lkey, rights, pd, valid: 1 };
        (lkey == LOCAL).then_some(entry)
    }

    fn queue_pair(&self, _: u32) -> Option<QueuePair> {
        None
    }
}

impl World for Lab {
    fn key(&self, rkey: u32) -> Option<MemoryRegionEntry> {
        self.keys.get(&rkey).copied()
    }

    fn key_region(&self, index: u64) -> Option<Region> {
        self.regions.get(&index).cloned()
    }

    fn invalidate(&mut self, rkey: u32) {
        self.keys.remove(&rkey);
        self.invalidated.push(u64::from(rkey) & 0xfff);
    }

    fn take(&mut self) -> Taken {
        let queue = self.queue.and_then(|queue| self.queues.get_mut(&queue));
        let Some(posted) = queue.and_then(VecDeque::pop_front) else { return Taken::Nothing };
        self.last.insert(self.qp, posted);
        let name = ReceiveName { wr_id: posted.name, position: 0 };
        if let Some(status) = posted.malformed {
            return Taken::Malformed(name, status);
        }
        if let Some(number) = posted.append {
            return Taken::Receive(Receive { name, target: Target::append(number) });
        }
        let region = Region::Contiguous { addr: posted.addr, len: posted.len, lkey: LOCAL };
        let target = Target::check(vec![region], RowMask::Period, self.pd, self, self).unwrap();
        Taken::Receive(Receive { name, target })
    }

    fn append(&mut self, number: u32) -> Option<&mut Append> {
        self.appends.get_mut(number as usize)?.as_mut()
    }

    fn queue_pair(&self) -> u32 {
        self.qp as u32
    }

    fn put_back(&mut self, name: ReceiveName) {
        let posted = self.last[&self.qp];
        assert_eq!(posted.name, name.wr_id);
        let queue = self.queue.expect("it was taken from one");
        self.queues.entry(queue).or_default().push_front(posted);
        self.returned += 1;
    }

    fn has_room(&self) -> bool {
        true
    }

    fn complete(&mut self, received: Received) {
        self.completed(received);
    }

    fn answer(&mut self, answer: Answer) {
        let answered = match answer {
            Answer::Acknowledge { syndrome, psn, msn } => {
                (self.qp, syndrome, psn, msn, What::Nothing)
            }
            Answer::Read { psn, msn, addr, len, rkey } => {
                (self.qp, 0x1f, psn, msn, What::Read(addr, len, rkey))
            }
            Answer::Atomic { psn, msn, original } => {
                (self.qp, 0x1f, psn, msn, What::Atomic(original))
            }
        };
        self.answered.push(answered);
    }
}

/// Keys of the host's own.
struct OwnKeys<'a>(&'a [MemoryRegionEntry]);

impl Directory for OwnKeys<'_> {
    fn memory_region(&self, lkey: u32) -> Option<MemoryRegionEntry> {
        self.0.iter().find(|key| key.lkey == lkey).copied()
    }

    fn queue_pair(&self, _: u32) -> Option<QueuePair> {
        None
    }
}

/// A receive in use.
pub struct Used {
    posted: Posted,
    queue: u64,
    /// Bytes that the receive has got.
    got: u64,
    /// First row that the receive has appended.
    first_row: u32,
}

/// A queue is a shared one.
pub fn is_shared(queue: u64) -> bool {
    [4000, 4001].contains(&queue)
}

/// Model of the blocks behind the outputs: receive queues and writer.
#[derive(Default)]
pub struct Card {
    pub memory: Vec<u8>,
    pub store: Vec<u8>,
    pub queues: HashMap<u64, VecDeque<Posted>>,
    /// Receives in use, in the order in which they were taken.
    pub used: HashMap<u64, VecDeque<Used>>,
    /// Queue pairs of RC, those that are broken, and those whose last take has found nothing.
    pub reliable: HashSet<u64>,
    pub broken: HashSet<u64>,
    pub dry: HashSet<u64>,
    /// Takes behind one that has found no receive.
    pub refused: u64,
    /// Receives that were taken ahead for messages of a queue pair that broke, and placings that give them back.
    pub returned: u64,
    pub flushed: u64,
    pub completed: Vec<Completed>,
    /// Memory regions of the host's own keys, and the regions of described keys.
    pub keys: Vec<MemoryRegionEntry>,
    pub regions: HashMap<u64, Region>,
    /// Pieces of the packet that was asked for last, and of packets that are placed. Of a receive there are none.
    pub found: Vec<Fragment>,
    pub pieces: VecDeque<Vec<Fragment>>,
    /// Numbers of packets that were asked for: those of described keys, by answer, and those of receives.
    pub sought: [u64; 4],
    /// Append regions; and of the packet that was asked for last: region, queue pair, bytes of its message so far.
    pub appends: Vec<Option<Append>>,
    pub asked: Option<(u32, u32, u64)>,
    /// Bytes that messages of queue pairs have appended so far.
    pub sums: HashMap<u64, u64>,
    /// The receive that appends and was taken last, by this queue pair, stays in this queue until it is known what
    /// becomes of it.
    pub pending: Option<(u64, u64, Posted)>,
    /// A queue pair may begin anew at any time, with or without a receive in use.
    pub loose: bool,
    /// Words of frames that were not given back, and whether they are of an atomic that swaps.
    pub frames: VecDeque<(u64, bool)>,
    /// Atomics that have a slot: address, value that is swapped in or added, value that is compared with.
    pub slots: HashMap<u64, (u64, u64, u64)>,
    /// The values before the atomics of each queue pair, in order.
    pub originals: HashMap<u64, VecDeque<u64>>,
}

impl Card {
    /// Answers a `take`.
    pub fn take(&mut self, take: &Beat) -> Beat {
        let [qp, queue, follows] = ["qp", "queue", "follows"].map(|field| take.u64(field));
        // Messages may take receives of their own queue before those ahead of them have used theirs.
        assert!(
            self.loose || !is_shared(queue) || !self.used.contains_key(&qp),
            "queue pair {qp} has a receive in use"
        );
        let nothing = Beat::from([("found", 0_u64), ("status", 9), ("capacity", 100)]);
        let refuses = follows == 1 && self.dry.contains(&qp);
        self.refused += u64::from(refuses);
        // A broken queue pair's own queue is halted.
        if refuses || self.broken.contains(&qp) {
            return nothing;
        }
        let Some(posted) = self.queues.get_mut(&queue).and_then(VecDeque::pop_front) else {
            self.dry.insert(qp);
            return nothing;
        };
        self.dry.remove(&qp);
        self.used.entry(qp).or_default().push_back(Used { posted, queue, got: 0, first_row: 0 });
        let status = posted.malformed.map_or(0, |status| status as u64);
        let appends = posted.append.filter(|_| status == 0);
        if appends.is_some() {
            self.pending = Some((qp, queue, posted));
        }
        Beat::from([
            ("found", 1),
            ("status", status),
            ("capacity", appends.unwrap_or(posted.len).into()),
            ("appends", appends.is_some().into()),
            ("pieces", u64::from(posted.pieces && status == 0)),
        ])
    }

    /// Answer about a packet whose bytes are placed piece by piece: whether they can be.
    pub fn seek(&mut self, ask: &Beat) -> u64 {
        let get = |field: &str| ask.u64(field);
        self.found.clear();
        if get("receive") == 1 {
            // The capacity of the receive was reported.
            self.sought[3] += 1;
            return 0;
        }
        let (pd, part) = (get("pd") as u32, (get("addr"), get("bytes") as u32));
        let memory = Segments::new().with(BASE, self.memory.clone());
        let keys = OwnKeys(&self.keys);
        let right = rights::REMOTE_WRITE;
        let found = match self.regions.get(&get("region")) {
            Some(region) => fragments(region, right, pd, part, &keys, &memory),
            None => Err(Unreachable::Memory),
        };
        let verdict = match found {
            Ok(found) => {
                self.found = found;
                0
            }
            Err(Unreachable::End) => 1,
            Err(Unreachable::Memory) => 2,
        };
        self.sought[verdict as usize] += 1;
        verdict
    }

    /// The packet that was asked for is placed, or not.
    pub fn settle_pieces(&mut self, placed: bool) {
        let found = std::mem::take(&mut self.found);
        if placed && !found.is_empty() {
            self.pieces.push_back(found);
        }
    }

    /// Decision about the receive that appends and was taken last.
    pub fn settle(&mut self, returned: bool) {
        let pending = self.pending.take();
        let (qp, queue, posted) = pending.expect("a receive that appends was taken");
        if returned {
            self.dry.insert(qp);
            self.queues.entry(queue).or_default().push_front(posted);
        }
    }

    /// Answer of the append regions about a packet: verdict, whether rows are whole, first row.
    pub fn ask(&mut self, ask: &Beat) -> (u64, bool, u32) {
        let get = |field: &str| ask.u64(field);
        let (qp, pd, number) = (get("qp") as u32, get("pd") as u32, get("number") as u32);
        let region = self.appends.get_mut(number as usize).and_then(Option::as_mut);
        if get("request") == 1 {
            region.into_iter().for_each(|region| region.abandon(qp));
            return (0, false, 0);
        }
        let sum = match get("first") {
            1 => get("bytes"),
            _ => self.sums.get(&qp.into()).copied().unwrap_or(0) + get("bytes"),
        };
        self.asked = Some((number, qp, sum));
        let first = get("first") == 1;
        let Some(region) = region else { return (if first { 3 } else { 5 }, false, 0) };
        if !first && !region.is_taken_by(qp) {
            return (5, false, 0);
        }
        if region.pd != pd {
            return (4, false, 0);
        }
        let held = region.is_taken_by(qp);
        let verdict = match region.take(qp, sum) {
            Ok(row) => (0, sum.is_multiple_of(region.row_len()), row),
            Err(NoRows::Yet) => (1, false, 0),
            Err(NoRows::Ever) => (2, false, 0),
        };
        // The queue pair holds the region only once the packet is settled.
        if !held {
            region.abandon(qp);
        }
        verdict
    }

    /// Carries out the consequence of the packet that was asked about.
    pub fn outcome(&mut self, outcome: u64) {
        let (number, qp, sum) = self.asked.take().expect("a packet was asked for");
        let Some(region) = self.appends.get_mut(number as usize).and_then(Option::as_mut) else {
            return;
        };
        match outcome {
            0 => {}
            1 | 2 => {
                region.take(qp, sum).expect("there was room");
                self.sums.insert(qp.into(), sum);
                if outcome == 2 {
                    region.commit(qp, sum);
                }
            }
            _ => region.abandon(qp),
        }
    }

    /// A queue pair holds no region any longer.
    pub fn abandon(&mut self, qp: u64) {
        self.appends.iter_mut().flatten().for_each(|region| region.abandon(qp as u32));
    }

    /// Takes a queue pair's oldest receive out of use.
    fn use_up(&mut self, qp: u64) -> Option<Posted> {
        let used = self.used.get_mut(&qp)?;
        let oldest = used.pop_front();
        if used.is_empty() {
            self.used.remove(&qp);
        }
        oldest.map(|used| used.posted)
    }

    fn write(&mut self, addr: u64, ram: u64, bytes: u64) {
        for k in 0..bytes {
            let byte = self.store[(ram + k) as usize % STORE_BYTES];
            let at = addr.wrapping_add(k).wrapping_sub(BASE);
            *self.memory.get_mut(at as usize).expect("a byte outside memory") = byte;
        }
    }

    /// Carries a `placing` out.
    pub fn place(&mut self, placing: &Beat) {
        let get = |field: &str| placing.u64(field);
        let (qp, bytes) = (get("qp"), get("bytes"));
        if get("atomic") == 1 {
            assert_eq!((get("kind"), get("frame_end"), bytes), (0, 1, 0), "{placing:?}");
            self.change(qp, get("slot"));
        }
        match get("kind") {
            0 => assert_eq!(bytes, 0, "{placing:?}"),
            1 => {
                assert_ne!(bytes, 0, "{placing:?}");
                if get("pieces") == 1 {
                    let mut ram = get("ram");
                    let pieces = self.pieces.pop_front().expect("it was asked for");
                    for piece in pieces {
                        self.write(piece.addr, ram, piece.len.into());
                        ram += u64::from(piece.len);
                    }
                    assert_eq!(ram, get("ram") + bytes, "{placing:?}");
                    return self.completes(placing);
                }
                self.write(get("addr"), get("ram"), bytes);
            }
            2 if self.loose && !self.used.contains_key(&qp) => {}
            2 => {
                let used = self.used.get_mut(&qp).expect("a receive is in use");
                let Used { posted, got, first_row, .. } = &mut used[0];
                if get("first") == 1 {
                    *got = get("skip");
                    *first_row = get("source") as u32;
                }
                assert_eq!(get("appends") == 1, posted.append.is_some(), "{placing:?}");
                let pieces = posted.pieces && bytes > 0;
                assert!(self.loose || (get("pieces") == 1) == pieces, "{placing:?}");
                if let Some(number) = posted.append {
                    let (first_row, start) = (*first_row, *got);
                    *got += bytes;
                    let region = self.appends[number as usize].as_ref().expect("it has room");
                    assert_eq!(get("region"), u64::from(number));
                    let mut ram = get("ram");
                    for part in region.fragments(first_row, start, bytes as u32) {
                        self.write(part.addr, ram, part.len.into());
                        ram += u64::from(part.len);
                    }
                    return self.completes(placing);
                }
                let addr = posted.addr + *got;
                *got += bytes;
                let (end, posted) = (*got, *posted);
                if self.loose && end > u64::from(posted.len) {
                    return self.give_back(placing);
                }
                assert!(end <= u64::from(posted.len), "{placing:?} in {posted:?}");
                self.write(addr, get("ram"), bytes);
            }
            kind => panic!("kind {kind}"),
        }
        self.completes(placing);
    }

    /// Carries out the second half of a placing: completion and frame.
    fn completes(&mut self, placing: &Beat) {
        let get = |field: &str| placing.u64(field);
        let qp = get("qp");
        if get("returns") == 1 {
            self.use_up(qp).expect("a receive is in use");
        }
        // The receive was taken for a message behind one that broke the queue pair.
        let returns = get("completes") == 1
            && get("status") == Status::WrFlushError as u64
            && self.broken.contains(&qp);
        if returns {
            assert!(self.reliable.contains(&qp), "{placing:?}");
            self.flushed += 1;
        } else if get("completes") == 1 && !(self.loose && !self.used.contains_key(&qp)) {
            let used = self.use_up(qp);
            let posted = used.unwrap_or_else(|| panic!("no receive is in use: {placing:?}"));
            self.completed.push((
                qp,
                posted.name,
                get("status") as u8,
                get("with_imm") == 1,
                get("byte_len") as u32,
                get("imm") as u32,
                get("flags") as u8,
                get("source") as u32,
            ));
        }
        self.give_back(placing);
    }

    /// Executes the atomic of the oldest frame.
    fn change(&mut self, qp: u64, slot: u64) {
        let (addr, swap_or_add, compare) = self.slots.remove(&slot).expect("it has a slot");
        let at = addr.wrapping_sub(BASE) as usize;
        let bytes = self.memory.get_mut(at..at + 8).expect("bytes of memory");
        let original = u64::from_le_bytes((&*bytes).try_into().unwrap());
        let new = match self.frames[0].1 {
            true if original == compare => swap_or_add,
            true => original,
            false => original.wrapping_add(swap_or_add),
        };
        bytes.copy_from_slice(&new.to_le_bytes());
        self.originals.entry(qp).or_default().push_back(original);
    }

    fn give_back(&mut self, placing: &Beat) {
        if placing.u64("frame_end") == 1 {
            let frame = self.frames.pop_front().map(|(words, _)| words);
            assert_eq!(frame, Some(placing.u64("words")), "frames in order");
        }
    }

    /// A queue pair has broken: its receive is flushed. Those of an RC queue pair's own queue are as if they had not
    /// been taken: which of them are flushed is decided where they are.
    pub fn flush(&mut self, qp: u64) {
        self.broken.insert(qp);
        for used in self.used.remove(&qp).into_iter().flatten().rev() {
            if is_shared(used.queue) || !self.reliable.contains(&qp) {
                let name = used.posted.name;
                self.completed.push((qp, name, Status::WrFlushError as u8, false, 0, 0, 0, 0));
            } else {
                self.returned += 1;
                self.queues.entry(used.queue).or_default().push_front(used.posted);
            }
        }
    }
}
