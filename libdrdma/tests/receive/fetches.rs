//! READs, atomics, fences, and keys that are invalidated.

use libdrdma::{
    Access, CompletionOpcode, Contiguous, MemoryRegion, Operation, QueuePair, ReceiveRequest,
    Region, Status, Strided, Transport, WorkRequest,
};

use crate::lab::{Lab, all, bytes, pattern};

const SUCCESS: Status = Status::Success;

/// Makes a READ of all of `from` into all of `to`.
fn read<'a, 'm>(wr_id: u64, from: &MemoryRegion, to: &'a [Region<'m>]) -> WorkRequest<'a, 'm> {
    WorkRequest::new(wr_id).read(from.addr(), from.rkey()).regions(to)
}

fn number(memory: &MemoryRegion, at: usize) -> u64 {
    u64::from_le_bytes(bytes(memory)[at..at + 8].try_into().unwrap())
}

#[test]
fn a_read_fills_its_regions_with_the_peers_bytes() {
    let mut lab = Lab::new();
    let to = lab.nodes[0].memory(&[0xee; 2000]);
    let from = lab.nodes[1].memory(&pattern(1000));
    let [mut a, _b] = lab.connected(Transport::Rc);
    let regions = [Strided::new(&to).period(200).count(10).extent(50, 100).build().unwrap()];
    a.post_send(&read(1, &from, &regions)).unwrap();
    // The READ behind it in the sequence: 1,000 B at 256 B a packet take four numbers. A READ of no
    // bytes has neither a place nor a key.
    a.post_send(&WorkRequest::new(2).read(u64::MAX, !from.rkey())).unwrap();
    lab.run();
    let [first, second] = lab.nodes[0].completions().try_into().unwrap();
    assert_eq!((first.wr_id, first.status, first.bytes), (1, SUCCESS, 1000));
    assert_eq!(first.opcode, CompletionOpcode::Read);
    assert_eq!((second.wr_id, second.status, second.bytes), (2, SUCCESS, 0));
    assert_eq!((lab.opcodes(0), lab.opcodes(1)), (vec![0xc, 0xc], vec![0xd, 0xe, 0xe, 0xf, 0x10]));
    assert_eq!(lab.psns(0), [0xff_fffd, 1]);
    assert_eq!(lab.psns(1), [0xff_fffd, 0xff_fffe, 0xff_ffff, 0, 1]);
    let mut expected = vec![0xee; 2000];
    for (row, chunk) in pattern(1000).chunks(100).enumerate() {
        expected[200 * row + 50..200 * row + 150].copy_from_slice(chunk);
    }
    assert_eq!(bytes(&to), expected);
}

#[test]
fn atomics_change_the_peers_memory_once_and_give_what_it_was() {
    let mut lab = Lab::new();
    let to = lab.nodes[0].memory(&[0; 24]);
    let from = lab.nodes[1].memory(&[7, 0, 0, 0, 0, 0, 0, 0]);
    let [mut a, _b] = lab.connected(Transport::Rc);
    let part = |at| [Contiguous::new(&to).offset(at).len(8).build().unwrap()];
    let (addr, rkey) = (from.addr(), from.rkey());
    a.post_send(&WorkRequest::new(1).fetch_and_add(addr, rkey, u64::MAX).regions(&part(0)))
        .unwrap();
    let swap = WorkRequest::new(2).compare_and_swap(addr, rkey, 6, 1 << 40);
    a.post_send(&swap.regions(&part(8))).unwrap();
    // The value is not 6 any longer.
    let swap = WorkRequest::new(3).compare_and_swap(addr, rkey, 6, 5);
    a.post_send(&swap.regions(&part(16))).unwrap();
    lab.run();
    assert_eq!(lab.nodes[0].polled(), [(1, SUCCESS, 8), (2, SUCCESS, 8), (3, SUCCESS, 8)]);
    assert_eq!([0, 8, 16].map(|at| number(&to, at)), [7, 6, 1 << 40]);
    assert_eq!(number(&from, 0), 1 << 40);
}

#[test]
fn any_lost_frame_of_reads_and_atomics_is_made_good() {
    for card in 0..2 {
        for lost in 0..8 {
            let mut lab = Lab::new();
            lab.lose(card, &[lost]);
            let to = lab.nodes[0].memory(&[0; 3000]);
            let from = lab.nodes[1].memory(&pattern(1500));
            let counter = lab.nodes[1].memory(&[0; 8]);
            let [mut a, mut b] = lab.connected(Transport::Rc);
            let part = |at, len| [Contiguous::new(&to).offset(at).len(len).build().unwrap()];
            let add = |id| WorkRequest::new(id).fetch_and_add(counter.addr(), counter.rkey(), 1);
            a.post_send(&add(1).regions(&part(1500, 8))).unwrap();
            a.post_send(&read(2, &from, &part(0, 1500))).unwrap();
            a.post_send(&add(3).regions(&part(1508, 8))).unwrap();
            b.post_recv(&ReceiveRequest::new(9)).unwrap();
            let write = Operation::WriteImm { remote_addr: from.addr(), rkey: from.rkey(), imm: 1 };
            let request = WorkRequest::new(4).operation(write).fence();
            a.post_send(&request.regions(&part(2000, 1000))).unwrap();
            lab.run();
            let expected =
                [(1, SUCCESS, 8), (2, SUCCESS, 1500), (3, SUCCESS, 8), (4, SUCCESS, 1000)];
            assert_eq!(lab.nodes[0].polled(), expected, "frame {lost} of card {card}");
            assert_eq!(lab.nodes[1].polled(), [(9, SUCCESS, 1000)], "frame {lost} of card {card}");
            let found = bytes(&to);
            assert_eq!(found[..1500], pattern(1500), "frame {lost} of card {card}");
            assert_eq!(
                (number(&to, 1500), number(&to, 1508)),
                (0, 1),
                "frame {lost} of card {card}"
            );
            assert_eq!(number(&counter, 0), 2, "frame {lost} of card {card}");
            assert_eq!(bytes(&from)[..1000], [0; 1000], "frame {lost} of card {card}");
        }
    }
}

#[test]
fn what_is_missing_of_a_read_is_asked_for_alone() {
    let mut lab = Lab::new();
    lab.lose(1, &[2]);
    let to = lab.nodes[0].memory(&[0; 1500]);
    let from = lab.nodes[1].memory(&pattern(1500));
    let [mut a, _b] = lab.connected(Transport::Rc);
    a.post_send(&read(1, &from, &all(&to))).unwrap();
    lab.run();
    assert_eq!(lab.nodes[0].polled(), [(1, SUCCESS, 1500)]);
    assert_eq!(bytes(&to), pattern(1500));
    // The third packet was lost: its successor is an implied NAK.
    assert_eq!(lab.psns(0), [0xff_fffd, 0xff_ffff]);
    let again = &lab.frames[0][1].bytes;
    let addr = u64::from_be_bytes(again[54..62].try_into().unwrap());
    let len = u32::from_be_bytes(again[66..70].try_into().unwrap());
    assert_eq!((addr, len), (from.addr() + 512, 1500 - 512));
}

#[test]
fn a_queue_pair_has_no_more_outstanding_than_it_may() {
    let mut lab = Lab::new();
    let to = lab.nodes[0].memory(&[0; 100]);
    let from = lab.nodes[1].memory(&pattern(100));
    let [mut a, _b] = lab.connected_with(Transport::Rc, |_, plain| plain.max_rd_atomic(2));
    for i in 0..5 {
        a.post_send(&read(i, &from, &all(&to))).unwrap();
    }
    lab.run_to(900);
    assert_eq!(lab.frames[0].len(), 2, "the others wait for an answer");
    lab.run();
    assert_eq!(lab.frames[0].len(), 5);
    assert_eq!(lab.nodes[0].polled().len(), 5);
    // The peer refuses one more than it keeps, in the order of the requests.
    let mut lab = Lab::new();
    let to = lab.nodes[0].memory(&[0; 100]);
    let from = lab.nodes[1].memory(&pattern(100));
    let change = |own, plain: libdrdma::QueuePairAttributes| {
        if own == 1 { plain.max_dest_rd_atomic(0) } else { plain }
    };
    let [mut a, _b] = lab.connected_with(Transport::Rc, change);
    a.post_send(&read(1, &from, &all(&to))).unwrap();
    lab.run();
    assert_eq!(lab.nodes[0].polled(), [(1, Status::RemoteInvalidRequestError, 0)]);
}

#[test]
fn a_fence_waits_for_the_answers_before_it() {
    for fenced in [false, true] {
        let mut lab = Lab::new();
        let to = lab.nodes[0].memory(&[0; 100]);
        let from = lab.nodes[1].memory(&pattern(100));
        let [mut a, mut b] = lab.connected(Transport::Rc);
        b.post_recv(&ReceiveRequest::new(9).regions(&all(&from))).unwrap();
        a.post_send(&read(1, &from, &all(&to))).unwrap();
        let send = WorkRequest::new(2);
        let regions = all(&to);
        let send = send.regions(&regions);
        a.post_send(&if fenced { send.fence() } else { send }).unwrap();
        lab.run();
        assert_eq!(lab.nodes[0].polled(), [(1, SUCCESS, 100), (2, SUCCESS, 100)]);
        let apart = lab.frames[0][1].time_ns - lab.frames[0][0].time_ns;
        assert_eq!(apart >= 1000, fenced, "{apart} ns, of which a round trip takes 1,000");
    }
}

#[test]
fn a_send_makes_a_key_invalid() {
    let mut lab = Lab::new();
    let source = lab.nodes[0].memory(&pattern(10));
    let (target, open) = (lab.nodes[1].memory(&[0; 10]), lab.nodes[1].memory(&[0; 10]));
    let [mut a, mut b] = lab.connected(Transport::Rc);
    for id in 8..10 {
        b.post_recv(&ReceiveRequest::new(id).regions(&all(&target))).unwrap();
    }
    let send = WorkRequest::new(1).send_invalidate(open.rkey()).solicited();
    a.post_send(&send.regions(&all(&source))).unwrap();
    lab.run();
    let completion = lab.nodes[1].completions().pop().unwrap();
    assert_eq!((completion.wr_id, completion.status), (8, SUCCESS));
    assert_eq!((completion.invalidated, completion.imm), (Some(open.rkey()), None));
    assert_eq!(lab.opcodes(0), [0x17]);
    assert_eq!(lab.frames[0][0].bytes[43] >> 7, 1, "solicited");
    let (remote_addr, rkey) = (open.addr(), open.rkey());
    let write = Operation::Write { remote_addr, rkey };
    a.post_send(&WorkRequest::new(2).operation(write).regions(&all(&source))).unwrap();
    lab.run();
    let expected = [(1, SUCCESS, 10), (2, Status::RemoteAccessError, 0)];
    assert_eq!(lab.nodes[0].polled(), expected);
    assert_eq!(bytes(&open), [0; 10]);
}

#[test]
fn a_key_that_cannot_be_invalidated_fails_the_receiver_without_a_nak() {
    let mut lab = Lab::new();
    let source = lab.nodes[0].memory(&pattern(10));
    let target = lab.nodes[1].memory(&[0; 10]);
    let [mut a, mut b] = lab.connected(Transport::Rc);
    b.post_recv(&ReceiveRequest::new(8).regions(&all(&target))).unwrap();
    let send = WorkRequest::new(1).send_invalidate(source.rkey() ^ 1 << 31);
    a.post_send(&send.regions(&all(&source))).unwrap();
    lab.run();
    assert_eq!(lab.nodes[1].polled(), [(8, Status::RemoteInvalidRequestError, 0)]);
    assert_eq!(lab.frames[1].len(), 0);
    assert_eq!(lab.nodes[0].polled(), [(1, Status::RetryExceeded, 0)]);
    assert_eq!(bytes(&target), [0; 10]);
}

/// Posts `request` on a connected queue pair; returns the statuses at both ends.
fn outcome(
    attributes: impl Fn(usize, libdrdma::QueuePairAttributes) -> libdrdma::QueuePairAttributes,
    access: [Access; 2],
    post: impl Fn(&mut QueuePair<'_>, &MemoryRegion, &MemoryRegion),
) -> (Vec<Status>, Vec<u8>) {
    let mut lab = Lab::new();
    let memory = |lab: &Lab, i: usize| lab.nodes[i].pd.allocate_with(64, access[i]).unwrap();
    let (own, peers) = (memory(&lab, 0), memory(&lab, 1));
    let [mut a, _b] = lab.connected_with(Transport::Rc, attributes);
    post(&mut a, &own, &peers);
    lab.run();
    let statuses = lab.nodes[0].polled().iter().map(|(_, status, _)| *status).collect();
    (statuses, lab.syndromes(1))
}

#[test]
fn what_reads_and_atomics_may_not_do_is_refused() {
    use Status::{
        LocalLengthError, LocalProtectionError, LocalQpOperationError, RemoteAccessError,
        RemoteInvalidRequestError,
    };
    let post_read = |len: u64, offset: u64, key: u32| {
        move |a: &mut QueuePair<'_>, own: &MemoryRegion, peers: &MemoryRegion| {
            let (addr, lkey) = (own.addr(), own.lkey());
            let regions = [Region::unchecked_contiguous(addr, len as u32, lkey)];
            let request = WorkRequest::new(1).read(peers.addr() + offset, peers.rkey() ^ key);
            a.post_send(&request.regions(&regions)).unwrap();
        }
    };
    let post_add = |len: u64, offset: u64| {
        move |a: &mut QueuePair<'_>, own: &MemoryRegion, peers: &MemoryRegion| {
            let regions = [Region::unchecked_contiguous(own.addr(), len as u32, own.lkey())];
            let request = WorkRequest::new(1).fetch_and_add(peers.addr() + offset, peers.rkey(), 1);
            a.post_send(&request.regions(&regions)).unwrap();
        }
    };
    let same = |_: usize, plain: libdrdma::QueuePairAttributes| plain;
    let full = [Access::all(); 2];
    let no = |access: Access| [Access::all(), Access::all() - access];
    assert_eq!(outcome(same, full, post_read(64, 1, 0)), (vec![RemoteAccessError], vec![0x62]));
    assert_eq!(
        outcome(same, full, post_read(64, 0, 1 << 31)),
        (vec![RemoteAccessError], vec![0x62])
    );
    let without = no(Access::REMOTE_READ);
    assert_eq!(outcome(same, without, post_read(64, 0, 0)), (vec![RemoteAccessError], vec![0x62]));
    assert_eq!(outcome(same, full, post_read(65, 0, 0)), (vec![LocalProtectionError], vec![]));
    let readable = [Access::empty(), Access::all()];
    assert_eq!(outcome(same, readable, post_read(64, 0, 0)), (vec![LocalProtectionError], vec![]));
    let none = |_: usize, plain: libdrdma::QueuePairAttributes| plain.max_rd_atomic(0);
    assert_eq!(outcome(none, full, post_read(64, 0, 0)), (vec![LocalQpOperationError], vec![]));
    let unreadable = |_: usize, plain: libdrdma::QueuePairAttributes| {
        plain.access(Access::REMOTE_WRITE | Access::REMOTE_ATOMIC)
    };
    let invalid = (vec![RemoteInvalidRequestError], vec![0x61]);
    assert_eq!(outcome(unreadable, full, post_read(64, 0, 0)), invalid);

    assert_eq!(outcome(same, full, post_add(8, 4)), invalid, "not aligned");
    assert_eq!(outcome(same, full, post_add(8, 64)), (vec![RemoteAccessError], vec![0x62]));
    let without = no(Access::REMOTE_ATOMIC);
    assert_eq!(outcome(same, without, post_add(8, 0)), (vec![RemoteAccessError], vec![0x62]));
    assert_eq!(outcome(same, full, post_add(9, 0)), (vec![LocalLengthError], vec![]));
    assert_eq!(outcome(same, full, post_add(7, 0)), (vec![LocalLengthError], vec![]));
    let read_only =
        |_: usize, plain: libdrdma::QueuePairAttributes| plain.access(Access::REMOTE_READ);
    assert_eq!(outcome(read_only, full, post_add(8, 0)), invalid);
}
