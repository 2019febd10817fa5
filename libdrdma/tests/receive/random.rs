//! Random requests over a wire that loses, duplicates, damages and reorders frames: every message
//! arrives once.

use libdrdma::{
    Contiguous, MemoryRegion, Operation, ReceiveRequest, Region, Status, Transport, WorkRequest,
};

use crate::lab::{Lab, bytes, pattern};

/// Pseudo-random numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % limit
    }
}

/// Number of bytes that each request has for itself in either card's memory.
const ROOM: u64 = 1500;
const REQUESTS: u64 = 16;

fn part(memory: &MemoryRegion, i: u64, len: u64) -> [Region<'_>; 1] {
    [Contiguous::new(memory).offset(ROOM * i).len(len).build().unwrap()]
}

fn run(seed: u64) {
    let mut lab = Lab::new();
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut faults = Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1);
    lab.fate = Box::new(move |_, _, frame| match faults.below(40) {
        0 => vec![],
        1 => vec![frame.clone(), frame],
        2 => {
            let (mut damaged, bit) = (frame.clone(), faults.below(8 * frame.len() as u64));
            damaged[bit as usize / 8] ^= 1 << (bit % 8);
            vec![damaged]
        }
        _ => vec![frame],
    });
    lab.overtaking = Some(seed | 1);
    let size = (ROOM * REQUESTS) as usize;
    let own = lab.nodes[0].memory(&pattern(size));
    let theirs = lab.nodes[1].memory(&vec![0x55; size]);
    let counter = lab.nodes[1].memory(&[0; 8]);
    let [mut a, mut b] = lab.connected_with(Transport::Rc, |own, plain| {
        let retries = plain.retry_cnt(7).rnr_retry(7).timeout(5);
        // Now and then, the second card receives more requests than it can keep.
        if own == 0 { retries.max_rd_atomic(3) } else { retries }
    });
    let mut expected = (pattern(size), vec![0x55; size]);
    let (mut sent, mut received, mut added) = (Vec::new(), Vec::new(), 0u64);
    for i in 0..REQUESTS {
        let (at, len) = ((ROOM * i) as usize, 1 + random.below(ROOM));
        let end = at + len as usize;
        let (remote_addr, rkey) = (theirs.addr() + ROOM * i, theirs.rkey());
        let regions = part(&own, i, len);
        let request = WorkRequest::new(i).regions(&regions);
        let mut bytes = len;
        match random.below(5) {
            0 => {
                b.post_recv(&ReceiveRequest::new(i).regions(&part(&theirs, i, ROOM))).unwrap();
                a.post_send(&request).unwrap();
                expected.1[at..end].copy_from_slice(&expected.0[at..end]);
                received.push((i, Status::Success, len));
            }
            1 => {
                let write = Operation::Write { remote_addr, rkey };
                a.post_send(&request.operation(write)).unwrap();
                expected.1[at..end].copy_from_slice(&expected.0[at..end]);
            }
            2 => {
                b.post_recv(&ReceiveRequest::new(i)).unwrap();
                let write = Operation::WriteImm { remote_addr, rkey, imm: i as u32 };
                a.post_send(&request.operation(write)).unwrap();
                expected.1[at..end].copy_from_slice(&expected.0[at..end]);
                received.push((i, Status::Success, len));
            }
            3 => {
                a.post_send(&request.read(remote_addr, rkey)).unwrap();
                expected.0[at..end].fill(0x55);
            }
            _ => {
                let regions = part(&own, i, 8);
                let add = WorkRequest::new(i).fetch_and_add(counter.addr(), counter.rkey(), 1);
                a.post_send(&add.regions(&regions)).unwrap();
                expected.0[at..at + 8].copy_from_slice(&added.to_le_bytes());
                added += 1;
                bytes = 8;
            }
        }
        sent.push((i, Status::Success, bytes));
    }
    lab.run();
    assert_eq!(lab.nodes[0].polled(), sent, "seed {seed}");
    assert_eq!(lab.nodes[1].polled(), received, "seed {seed}");
    assert!(bytes(&own) == expected.0, "seed {seed}: what was asked for");
    assert!(bytes(&theirs) == expected.1, "seed {seed}: what was sent");
    assert_eq!(bytes(&counter), added.to_le_bytes(), "seed {seed}");
}

#[test]
fn everything_arrives_once_over_a_bad_wire() {
    (1..=200).for_each(run);
}

#[test]
fn the_same_posts_over_the_same_wire_give_the_same_frames() {
    let frames = || {
        let mut lab = Lab::new();
        lab.overtaking = Some(7);
        lab.lose(0, &[3]);
        let (own, theirs) = (lab.nodes[0].memory(&pattern(3000)), lab.nodes[1].memory(&[0; 3000]));
        let [mut a, mut b] = lab.connected(Transport::Rc);
        b.post_recv(&ReceiveRequest::new(1).regions(&part(&theirs, 0, 1500))).unwrap();
        a.post_send(&WorkRequest::new(1).regions(&part(&own, 0, 1500))).unwrap();
        lab.run();
        lab.frames
            .map(|frames| frames.into_iter().map(|frame| (frame.time_ns, frame.bytes)))
            .map(Iterator::collect::<Vec<_>>)
    };
    assert_eq!(frames(), frames());
}
