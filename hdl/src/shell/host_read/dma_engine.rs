//! A behavioural DMA read engine that behaves like Corundum's: reads are cut into pieces that come back in any order,
//! segments take their writes independently, a read's status follows the last of its writes, and statuses come in any
//! order.

use drdma_verilated::testbench::{Bench, Random};
use drdma_verilated::{Model, PortHandle, Word};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Host memory: the byte at an address, or none where reads fail.
pub type Host = Rc<dyn Fn(u64) -> Option<u8>>;

/// Timing of the engine.
#[derive(Clone, Copy, Debug)]
pub struct Manners {
    /// Probability of not taking a descriptor in a cycle; the engine takes one in two cycles at most.
    pub stall: f64,
    /// Least number of cycles from a descriptor to its first piece.
    pub latency: u64,
    /// Largest number of further cycles that each piece may wait.
    pub spread: u64,
    /// Probability of not writing to a segment in a cycle.
    pub gap: f64,
    /// Largest number of bytes of a piece.
    pub piece: u64,
}

impl Manners {
    /// Timing of a board at its fastest.
    pub const BEST: Self = Self { stall: 0.0, latency: 250, spread: 0, gap: 0.0, piece: 512 };

    /// Draws any timing that is allowed.
    pub fn any(random: &mut Random) -> Self {
        let chance = [0.0, 0.3, 0.8];
        Self {
            stall: chance[random.below(3) as usize],
            latency: random.below(60),
            spread: [0, 20, 400][random.below(3) as usize],
            gap: chance[random.below(3) as usize],
            piece: [1, 64, 128, 512][random.below(4) as usize],
        }
    }
}

struct Read {
    tag: u64,
    /// Number of writes that have not been done.
    left: usize,
    error: u64,
    /// First cycle in which the status may leave.
    due: u64,
}

struct Write {
    read: u64,
    row: u64,
    enable: u64,
    data: [u8; 64],
    due: u64,
}

/// A read that was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issued {
    /// Host address of the first byte.
    pub addr: u64,
    /// Bytes of the read.
    pub len: u64,
    /// Cycle in which the read was issued.
    pub cycle: u64,
}

/// State of the engine, to be examined after a run.
pub struct DmaEngine {
    host: Host,
    manners: Manners,
    random: Random,
    /// Every descriptor that was taken.
    pub issued: Vec<Issued>,
    /// Largest number of reads that were in flight at a time.
    pub most_in_flight: usize,
    reads: Vec<(u64, Read)>,
    next_read: u64,
    waiting: [Vec<Write>; 2],
    offered: [Option<Write>; 2],
    accepted: [VecDeque<u64>; 2],
    rested: bool,
    ports: Ports,
}

struct Ports {
    desc: [PortHandle; 7],
    status: [PortHandle; 3],
    write: [PortHandle; 7],
}

const DESC: [&str; 7] = ["valid", "ready", "dma_addr", "ram_addr", "len", "tag", "ram_sel"];
const STATUS: [&str; 3] = ["valid", "tag", "error"];
const WRITE: [&str; 7] =
    ["cmd_valid", "cmd_ready", "cmd_addr", "cmd_be", "cmd_data", "cmd_sel", "done"];

impl DmaEngine {
    /// Connects an engine to the ports of the control channel's read side.
    pub fn attach(
        bench: &mut Bench<'_>,
        host: Host,
        manners: Manners,
        seed: u64,
    ) -> Rc<RefCell<Self>> {
        let port = |prefix: &str, name: &str| bench.port(&format!("{prefix}_{name}"));
        let ports = Ports {
            desc: DESC.map(|name| port("m_axis_ctrl_dma_read_desc", name)),
            status: STATUS.map(|name| port("s_axis_ctrl_dma_read_desc_status", name)),
            write: WRITE.map(|name| port("ctrl_dma_ram_wr", name)),
        };
        let engine = Rc::new(RefCell::new(Self {
            host,
            manners,
            random: Random::new(seed ^ 0xd3a),
            issued: Vec::new(),
            most_in_flight: 0,
            reads: Vec::new(),
            next_read: 0,
            waiting: [Vec::new(), Vec::new()],
            offered: [None, None],
            accepted: [VecDeque::new(), VecDeque::new()],
            rested: true,
            ports,
        }));
        let drives = Rc::clone(&engine);
        bench.before(move |model, cycle| drives.borrow_mut().drive(model, cycle));
        let samples = Rc::clone(&engine);
        bench.observe(move |model, cycle| samples.borrow_mut().sample(model, cycle));
        engine
    }

    fn drive(&mut self, model: &mut Model, cycle: u64) {
        let Self { manners, random, .. } = self;
        let ready = self.rested && !random.chance(manners.stall);
        model.set(self.ports.desc[1], u64::from(ready));

        let done = |(_, read): &&(u64, Read)| read.left == 0 && read.due <= cycle;
        let ended: Vec<_> = self.reads.iter().filter(done).map(|(id, _)| *id).collect();
        let give = !ended.is_empty() && !random.chance(manners.gap);
        model.set(self.ports.status[0], u64::from(give));
        if give {
            let id = ended[random.below(ended.len() as u64) as usize];
            let at = self.reads.iter().position(|(other, _)| *other == id).expect("it is there");
            let (_, read) = self.reads.remove(at);
            model.set(self.ports.status[1], read.tag);
            model.set(self.ports.status[2], read.error);
        } else {
            model.set_word(self.ports.status[1], &random.word(14));
            model.set_word(self.ports.status[2], &random.word(4));
        }

        for k in 0..2 {
            if self.offered[k].is_none() && !random.chance(manners.gap) {
                let ready = |(_, write): &(usize, &Write)| write.due <= cycle;
                let mut due = self.waiting[k].iter().enumerate().filter(ready);
                // The oldest piece goes first, so that pieces interleave only where their delays do.
                let first = due.next().map(|(at, _)| at);
                self.offered[k] = first.map(|at| self.waiting[k].remove(at));
            }
        }
        let (mut valid, mut addr) = (0, 0);
        let (mut enable, mut data) = (random.word(128), random.word(1024));
        for (k, write) in self.offered.iter().enumerate() {
            let Some(write) = write else { continue };
            valid |= 1 << k;
            addr |= write.row << (10 * k);
            enable.set_bits(64 * k, 64, &write.enable.into());
            data.set_bits(512 * k, 512, &Word::from_bytes(&write.data));
        }
        model.set(self.ports.write[0], valid);
        model.set(self.ports.write[2], addr);
        model.set_word(self.ports.write[3], &enable);
        model.set_word(self.ports.write[4], &data);
        model.set(self.ports.write[5], 0);
    }

    fn sample(&mut self, model: &mut Model, cycle: u64) {
        let get = |port| model.get(port);
        let done = get(self.ports.write[6]);
        let ready = get(self.ports.write[1]);
        for k in 0..2 {
            if done >> k & 1 == 1 {
                let read = self.accepted[k].pop_front().expect("a `done` without a write");
                let read = self.reads.iter_mut().find(|(id, _)| *id == read);
                read.expect("writes precede the status").1.left -= 1;
            }
            if ready >> k & 1 == 1 && self.offered[k].is_some() {
                let write = self.offered[k].take().expect("it is some");
                self.accepted[k].push_back(write.read);
            }
        }
        self.rested = true;
        if get(self.ports.desc[0]) & get(self.ports.desc[1]) == 1 {
            self.rested = false;
            let [_, _, addr, ram, len, tag, sel] = self.ports.desc.map(get);
            assert_eq!(sel, 0);
            self.accept(addr, ram, len, tag, cycle);
        }
    }

    fn accept(&mut self, addr: u64, ram: u64, len: u64, tag: u64, cycle: u64) {
        assert!(self.reads.iter().all(|(_, read)| read.tag != tag), "tag {tag} is in flight");
        assert!((1..=4096).contains(&len) && ram + len <= 1 << 17, "{len} bytes at {ram}");
        self.issued.push(Issued { addr, len, cycle });
        let id = self.next_read;
        self.next_read += 1;
        let Self { manners, random, .. } = self;
        let mut read = Read { tag, left: 0, error: 0, due: 0 };
        let mut at = 0;
        while at < len {
            // Up to the next boundary of a piece in host memory.
            let boundary = manners.piece - (addr.wrapping_add(at)) % manners.piece;
            let piece = boundary.min(len - at);
            let due = cycle + manners.latency + random.below(manners.spread + 1);
            read.due = read.due.max(due);
            let bytes: Option<Vec<u8>> =
                (at..at + piece).map(|i| (self.host)(addr.wrapping_add(i))).collect();
            if let Some(bytes) = bytes {
                let mut from = 0;
                while from < piece {
                    let place = ram + at + from;
                    let count = (64 - place % 64).min(piece - from);
                    let mut data: [u8; 64] = std::array::from_fn(|_| random.u64() as u8);
                    let lane = (place % 64) as usize;
                    let part = &bytes[from as usize..(from + count) as usize];
                    data[lane..lane + part.len()].copy_from_slice(part);
                    let ones = if count == 64 { u64::MAX } else { (1 << count) - 1 };
                    let write =
                        Write { read: id, row: place >> 7, enable: ones << lane, data, due };
                    self.waiting[(place >> 6 & 1) as usize].push(write);
                    read.left += 1;
                    from += count;
                }
            } else {
                read.error = [1, 8, 9, 10, 11][random.below(5) as usize];
            }
            at += piece;
        }
        self.reads.push((id, read));
        self.most_in_flight = self.most_in_flight.max(self.reads.len());
    }
}
