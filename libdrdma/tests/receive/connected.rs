//! SEND and WRITE on RC.

use libdrdma::{
    Access, CompletionOpcode, Contiguous, ModifyError, Operation, PostError, QueuePairAttributes,
    QueuePairState, ReceiveRequest, Status, Strided, Transport, WorkRequest,
};

use crate::lab::{Lab, all, attributes, bytes, pattern};

const SUCCESS: Status = Status::Success;

#[test]
fn a_send_fills_the_regions_of_the_oldest_receive_in_their_order() {
    let mut lab = Lab::new();
    let source = lab.nodes[0].memory(&pattern(700));
    let target = lab.nodes[1].memory(&[0xee; 2000]);
    let [mut a, mut b] = lab.connected(Transport::Rc);
    // Every second 100 B of the first 1,000, then the rest in one piece.
    let strided = Strided::new(&target).period(200).count(5).extent(0, 100).build().unwrap();
    let rest = Contiguous::new(&target).offset(1000).build().unwrap();
    b.post_recv(&ReceiveRequest::new(1).regions(&[strided, rest])).unwrap();
    a.post_send(&WorkRequest::new(2).regions(&all(&source))).unwrap();
    lab.run();
    assert_eq!(lab.nodes[0].polled(), [(2, SUCCESS, 700)]);
    let completion = lab.nodes[1].completions().pop().unwrap();
    assert_eq!((completion.wr_id, completion.status, completion.bytes), (1, SUCCESS, 700));
    assert_eq!(completion.opcode, CompletionOpcode::Receive);
    assert_eq!((completion.queue, completion.qp), (b.receive_queue().unwrap(), Some(b.index())));
    assert_eq!((completion.imm, completion.source_qp), (None, None));
    let mut expected = vec![0xee; 2000];
    for (row, chunk) in pattern(500).chunks(100).enumerate() {
        expected[200 * row..200 * row + 100].copy_from_slice(chunk);
    }
    expected[1000..1200].copy_from_slice(&pattern(700)[500..]);
    assert_eq!(bytes(&target), expected);
    // The packets of 256 B, and one acknowledgement: the last asked for it.
    assert_eq!(lab.opcodes(0), [0x00, 0x01, 0x02]);
    assert_eq!(
        (lab.psns(0), lab.psns(1)),
        (vec![0xff_fffd, 0xff_fffe, 0xff_ffff], vec![0xff_ffff])
    );
    assert_eq!(lab.syndromes(1), [0x1f]);
}

#[test]
fn messages_of_no_bytes_are_packets_that_tell_the_peer() {
    for transport in [Transport::Rc, Transport::Uc] {
        let mut lab = Lab::new();
        let target = lab.nodes[1].memory(&pattern(64));
        let (remote_addr, rkey) = (target.addr(), target.rkey());
        let [mut a, mut b] = lab.connected(transport);
        for wr_id in 1..=3 {
            b.post_recv(&ReceiveRequest::new(wr_id).regions(&all(&target))).unwrap();
        }
        // With an unknown key, nothing is written, and no receive is used.
        let operations = [
            Operation::Send,
            Operation::SendImm(7),
            Operation::Write { remote_addr, rkey: !rkey },
            Operation::WriteImm { remote_addr: u64::MAX, rkey: !rkey, imm: 8 },
        ];
        for (operation, wr_id) in operations.into_iter().zip(4..) {
            a.post_send(&WorkRequest::new(wr_id).operation(operation).inline(&[])).unwrap();
        }
        lab.run();
        assert_eq!(lab.nodes[0].polled(), [4, 5, 6, 7].map(|wr_id| (wr_id, SUCCESS, 0)));
        let class = if transport == Transport::Rc { 0 } else { 0x20 };
        assert_eq!(lab.opcodes(0), [0x04, 0x05, 0x0a, 0x0b].map(|opcode| opcode | class));
        let told: Vec<_> = lab.nodes[1]
            .completions()
            .iter()
            .map(|c| (c.wr_id, c.opcode, c.bytes, c.imm))
            .collect();
        let expected = [
            (1, CompletionOpcode::Receive, 0, None),
            (2, CompletionOpcode::Receive, 0, Some(7)),
            (3, CompletionOpcode::ReceiveWithImm, 0, Some(8)),
        ];
        assert_eq!(told, expected, "{transport:?}");
        assert_eq!(bytes(&target), pattern(64));
    }
}

#[test]
fn messages_without_bytes_and_immediate_data_arrive() {
    let mut lab = Lab::new();
    let source = lab.nodes[0].memory(&pattern(300));
    let target = lab.nodes[1].memory(&[0; 300]);
    let [mut a, mut b] = lab.connected(Transport::Rc);
    let remote = (target.addr(), target.rkey());
    let write = Operation::WriteImm { remote_addr: remote.0, rkey: remote.1, imm: 9 };
    b.post_recv(&ReceiveRequest::new(1)).unwrap();
    b.post_recv(&ReceiveRequest::new(2).regions(&all(&target))).unwrap();
    b.post_recv(&ReceiveRequest::new(3)).unwrap();
    let some = [Contiguous::new(&source).len(5).build().unwrap()];
    // A message of no bytes would need a row of none: a request without regions sends no message.
    a.post_send(&WorkRequest::new(4)).unwrap();
    a.post_send(&WorkRequest::new(5).operation(write).regions(&all(&source))).unwrap();
    a.post_send(&WorkRequest::new(6).operation(Operation::SendImm(7)).regions(&some)).unwrap();
    lab.run();
    assert_eq!(lab.nodes[0].polled(), [(4, SUCCESS, 0), (5, SUCCESS, 300), (6, SUCCESS, 5)]);
    let [first, second] = lab.nodes[1].completions().try_into().unwrap();
    assert_eq!((first.wr_id, first.bytes, first.imm), (1, 300, Some(9)));
    assert_eq!(first.opcode, CompletionOpcode::ReceiveWithImm);
    assert_eq!((second.wr_id, second.bytes, second.imm), (2, 5, Some(7)));
    let mut expected = pattern(300);
    expected[..5].copy_from_slice(&pattern(5));
    assert_eq!(bytes(&target), expected);
}

#[test]
fn a_payload_in_the_request_arrives_without_a_memory_region_of_its_own() {
    let mut lab = Lab::new();
    let target = lab.nodes[1].memory(&[0; 300]);
    let [mut a, mut b] = lab.connected(Transport::Rc);
    b.post_recv(&ReceiveRequest::new(1).regions(&all(&target))).unwrap();
    let mut payload = pattern(64);
    let send = WorkRequest::new(2).operation(Operation::SendImm(9)).rows_per_message(7);
    a.post_send(&send.inline(&payload)).unwrap();
    payload.fill(0xee);
    let write = Operation::Write { remote_addr: target.addr() + 100, rkey: target.rkey() };
    a.post_send(&WorkRequest::new(3).operation(write).inline(&[1, 2, 3])).unwrap();
    let read = WorkRequest::new(4).read(target.addr(), target.rkey()).inline(&[1]);
    let refused = a.post_send(&read).unwrap_err();
    assert!(matches!(refused, PostError::InlineOperation), "{refused:?}");
    assert_eq!(refused.to_string(), "an inline payload: a READ or an atomic sends none");
    lab.run();
    assert_eq!(lab.nodes[0].polled(), [(2, SUCCESS, 64), (3, SUCCESS, 3)]);
    let completion = lab.nodes[1].completions().pop().unwrap();
    assert_eq!((completion.bytes, completion.imm), (64, Some(9)));
    let mut expected = vec![0; 300];
    expected[..64].copy_from_slice(&pattern(64));
    expected[100..103].copy_from_slice(&[1, 2, 3]);
    assert_eq!(bytes(&target), expected);
}

#[test]
fn a_write_lands_where_it_says_and_takes_no_receive() {
    let mut lab = Lab::new();
    let source = lab.nodes[0].memory(&pattern(1000));
    let target = lab.nodes[1].memory(&[0; 4000]);
    let [mut a, _b] = lab.connected(Transport::Rc);
    let write = Operation::Write { remote_addr: target.addr() + 7, rkey: target.rkey() };
    a.post_send(&WorkRequest::new(1).operation(write).regions(&all(&source))).unwrap();
    lab.run();
    assert_eq!(lab.nodes[0].polled(), [(1, SUCCESS, 1000)]);
    assert_eq!(lab.nodes[1].polled(), []);
    let found = bytes(&target);
    assert_eq!(found[7..1007], pattern(1000));
    assert!(found[..7].iter().chain(&found[1007..]).all(|byte| *byte == 0));
}

#[test]
fn any_lost_frame_is_made_good() {
    // 3 messages of 4 packets, and 3 acknowledgements.
    for card in 0..2 {
        for lost in 0..if card == 0 { 12 } else { 3 } {
            let mut lab = Lab::new();
            lab.lose(card, &[lost]);
            let source = lab.nodes[0].memory(&pattern(3000));
            let target = lab.nodes[1].memory(&[0; 3000]);
            let [mut a, mut b] = lab.connected(Transport::Rc);
            for i in 0..3 {
                let part =
                    |memory| [Contiguous::new(memory).offset(1000 * i).len(1000).build().unwrap()];
                b.post_recv(&ReceiveRequest::new(i).regions(&part(&target))).unwrap();
                a.post_send(&WorkRequest::new(i).regions(&part(&source))).unwrap();
            }
            lab.run();
            let expected = [(0, SUCCESS, 1000), (1, SUCCESS, 1000), (2, SUCCESS, 1000)];
            assert_eq!(lab.nodes[0].polled(), expected, "frame {lost} of card {card}");
            assert_eq!(lab.nodes[1].polled(), expected, "frame {lost} of card {card}");
            assert_eq!(bytes(&target), pattern(3000), "frame {lost} of card {card}");
        }
    }
}

#[test]
fn a_gap_is_told_once_and_everything_from_it_is_sent_again() {
    let mut lab = Lab::new();
    lab.lose(0, &[1]);
    let source = lab.nodes[0].memory(&pattern(1500));
    let target = lab.nodes[1].memory(&[0; 1500]);
    let [mut a, mut b] = lab.connected(Transport::Rc);
    b.post_recv(&ReceiveRequest::new(1).regions(&all(&target))).unwrap();
    a.post_send(&WorkRequest::new(1).regions(&all(&source))).unwrap();
    lab.run();
    assert_eq!(lab.nodes[0].polled(), [(1, SUCCESS, 1500)]);
    assert_eq!(lab.syndromes(1), [0x60, 0x1f]);
    assert_eq!(lab.psns(1)[0], 0xff_fffe, "the number that is expected");
    let psns = lab.psns(0);
    assert_eq!(psns[..6], [0xff_fffd, 0xff_fffe, 0xff_ffff, 0, 1, 2]);
    assert_eq!(psns[6..], [0xff_fffe, 0xff_ffff, 0, 1, 2]);
}

#[test]
fn damaged_and_doubled_frames_change_nothing() {
    let mut lab = Lab::new();
    lab.fate = Box::new(|from, number, frame| {
        let mut damaged = frame.clone();
        let at = 42 + number as usize * 13 % (frame.len() - 42);
        damaged[at] ^= if at == 46 { 0 } else { 0x10 };
        match (from, number) {
            (0, 1) => vec![damaged],
            _ => vec![frame.clone(), damaged, frame],
        }
    });
    let source = lab.nodes[0].memory(&pattern(2000));
    let target = lab.nodes[1].memory(&[0; 2000]);
    let [mut a, mut b] = lab.connected(Transport::Rc);
    for i in 0..2 {
        let part = |memory| [Contiguous::new(memory).offset(1000 * i).len(1000).build().unwrap()];
        b.post_recv(&ReceiveRequest::new(i).regions(&part(&target))).unwrap();
        a.post_send(&WorkRequest::new(i).regions(&part(&source))).unwrap();
    }
    lab.run();
    let expected = [(0, SUCCESS, 1000), (1, SUCCESS, 1000)];
    assert_eq!(
        (lab.nodes[0].polled(), lab.nodes[1].polled()),
        (expected.to_vec(), expected.to_vec())
    );
    assert_eq!(bytes(&target), pattern(2000));
}

#[test]
fn a_sender_waits_as_long_as_a_receiver_that_is_not_ready_says() {
    let mut lab = Lab::new();
    let source = lab.nodes[0].memory(&pattern(600));
    let target = lab.nodes[1].memory(&[0; 600]);
    let [mut a, mut b] = lab.connected(Transport::Rc);
    a.post_send(&WorkRequest::new(1).regions(&all(&source))).unwrap();
    lab.run_to(5_000);
    assert_eq!(lab.syndromes(1), [0x21], "one RNR NAK, silence to the packets behind");
    assert_eq!(lab.frames[0].len(), 3);
    b.post_recv(&ReceiveRequest::new(2).regions(&all(&target))).unwrap();
    lab.run();
    assert_eq!(
        (lab.nodes[0].polled(), lab.nodes[1].polled()),
        (vec![(1, SUCCESS, 600)], vec![(2, SUCCESS, 600)])
    );
    assert_eq!(lab.frames[0].len(), 6);
    let waited = lab.frames[0][3].time_ns - lab.frames[1][0].time_ns;
    assert!((10_000..11_000).contains(&waited), "{waited} ns");
    assert_eq!(bytes(&target), pattern(600));
}

#[test]
fn a_receiver_that_stays_not_ready_ends_it_after_the_retries() {
    let mut lab = Lab::new();
    let source = lab.nodes[0].memory(&pattern(10));
    let [mut a, _b] = lab.connected(Transport::Rc);
    a.post_send(&WorkRequest::new(1).regions(&all(&source))).unwrap();
    a.post_send(&WorkRequest::new(2).regions(&all(&source))).unwrap();
    lab.run();
    let expected = [(1, Status::RnrRetryExceeded, 0), (2, Status::WrFlushError, 0)];
    assert_eq!(lab.nodes[0].polled(), expected);
    assert_eq!(lab.syndromes(1), [0x21; 4], "one, and three after retries");
    assert_eq!(a.state(), QueuePairState::Error);
}

#[test]
fn a_peer_that_is_silent_ends_it_after_the_retries() {
    let mut lab = Lab::new();
    lab.fate = Box::new(|_, _, _| vec![]);
    let source = lab.nodes[0].memory(&pattern(10));
    let [mut a, _b] = lab.connected(Transport::Rc);
    a.post_send(&WorkRequest::new(1).regions(&all(&source))).unwrap();
    lab.run();
    assert_eq!(lab.nodes[0].polled(), [(1, Status::RetryExceeded, 0)]);
    let times: Vec<u64> = lab.frames[0].iter().map(|frame| frame.time_ns).collect();
    assert_eq!(times.len(), 4, "one, and three retries");
    // 4.096 us * 2^4.
    times.windows(2).for_each(|pair| assert_eq!(pair[1] - pair[0], 65_536));
}

#[test]
fn what_a_write_may_not_do_is_refused_and_breaks_both_sides() {
    let open = |lab: &Lab, access| lab.nodes[1].pd.allocate_with(100, access).unwrap();
    let other_domain = |lab: &Lab| {
        let pd = lab.nodes[1].context.protection_domain();
        pd.allocate_with(100, Access::all()).unwrap()
    };
    type Memory<'a> = &'a dyn Fn(&Lab) -> libdrdma::MemoryRegion;
    let cases: [(&str, Memory<'_>, u64, u32, Access, u8); 6] = [
        ("bounds", &|lab| open(lab, Access::all()), 91, 0, Access::all(), 0x62),
        ("before", &|lab| open(lab, Access::all()), u64::MAX, 0, Access::all(), 0x62),
        ("key", &|lab| open(lab, Access::all()), 0, 1 << 20, Access::all(), 0x62),
        (
            "right",
            &|lab| open(lab, Access::LOCAL_WRITE | Access::REMOTE_READ),
            0,
            0,
            Access::all(),
            0x62,
        ),
        ("domain", &other_domain, 0, 0, Access::all(), 0x62),
        ("queue pair", &|lab| open(lab, Access::all()), 0, 0, Access::REMOTE_READ, 0x61),
    ];
    for (what, memory, offset, key, access, syndrome) in cases {
        let mut lab = Lab::new();
        let source = lab.nodes[0].memory(&pattern(10));
        let target = memory(&lab);
        let spare = lab.nodes[1].memory(&[0; 10]);
        let [mut a, mut b] = lab.connected_with(Transport::Rc, |_, plain| plain.access(access));
        b.post_recv(&ReceiveRequest::new(8).regions(&all(&spare))).unwrap();
        b.post_recv(&ReceiveRequest::new(9).regions(&all(&spare))).unwrap();
        let (remote_addr, rkey) = (target.addr().wrapping_add(offset), target.rkey() ^ key);
        let write = Operation::Write { remote_addr, rkey };
        a.post_send(&WorkRequest::new(1).operation(write).regions(&all(&source))).unwrap();
        lab.run();
        let status = match syndrome {
            0x61 => Status::RemoteInvalidRequestError,
            _ => Status::RemoteAccessError,
        };
        assert_eq!(lab.nodes[0].polled(), [(1, status, 0)], "{what}");
        assert_eq!(lab.syndromes(1), [syndrome], "{what}");
        let flushed = [(8, Status::WrFlushError, 0), (9, Status::WrFlushError, 0)];
        assert_eq!(lab.nodes[1].polled(), flushed, "{what}");
        assert_eq!(
            (a.state(), b.state()),
            (QueuePairState::Error, QueuePairState::Error),
            "{what}"
        );
        assert!(bytes(&target).iter().all(|byte| *byte == 0), "{what}");
        // A receive that is posted now is flushed as well.
        b.post_recv(&ReceiveRequest::new(10)).unwrap();
        lab.run();
        assert_eq!(lab.nodes[1].polled(), [(10, Status::WrFlushError, 0)], "{what}");
    }
}

#[test]
fn a_message_longer_than_its_receive_fails_on_both_sides() {
    let mut lab = Lab::new();
    let source = lab.nodes[0].memory(&pattern(600));
    let target = lab.nodes[1].memory(&[0; 599]);
    let [mut a, mut b] = lab.connected(Transport::Rc);
    b.post_recv(&ReceiveRequest::new(2).regions(&all(&target))).unwrap();
    a.post_send(&WorkRequest::new(1).regions(&all(&source))).unwrap();
    lab.run();
    assert_eq!(lab.nodes[0].polled(), [(1, Status::RemoteInvalidRequestError, 0)]);
    assert_eq!(lab.nodes[1].polled(), [(2, Status::LocalLengthError, 0)]);
}

#[test]
fn a_receive_into_memory_that_is_only_sent_from_is_refused() {
    let mut lab = Lab::new();
    let source = lab.nodes[0].memory(&pattern(6));
    let target = lab.nodes[1].pd.allocate(100).unwrap();
    let [mut a, mut b] = lab.connected(Transport::Rc);
    b.post_recv(&ReceiveRequest::new(2).regions(&all(&target))).unwrap();
    a.post_send(&WorkRequest::new(1).regions(&all(&source))).unwrap();
    lab.run();
    assert_eq!(lab.nodes[0].polled(), [(1, Status::RemoteOperationError, 0)]);
    assert_eq!(lab.nodes[1].polled(), [(2, Status::LocalProtectionError, 0)]);
    assert_eq!(target.as_slice().unwrap(), [0; 100]);
}

#[test]
fn a_broken_queue_pair_can_be_connected_again() {
    let mut lab = Lab::new();
    let source = lab.nodes[0].memory(&pattern(20));
    let target = lab.nodes[1].memory(&[0; 10]);
    let [mut a, mut b] = lab.connected(Transport::Rc);
    b.post_recv(&ReceiveRequest::new(2).regions(&all(&target))).unwrap();
    a.post_send(&WorkRequest::new(1).regions(&all(&source))).unwrap();
    lab.run();
    assert_eq!((lab.nodes[0].polled().len(), lab.nodes[1].polled().len()), (1, 1));
    let (qpns, short) = ([b.qpn(), a.qpn()], [Contiguous::new(&source).len(10).build().unwrap()]);
    a.connect(&crate::lab::reliable(attributes(0, qpns[0]), 0)).unwrap();
    b.connect(&crate::lab::reliable(attributes(1, qpns[1]), 1)).unwrap();
    b.post_recv(&ReceiveRequest::new(4).regions(&all(&target))).unwrap();
    a.post_send(&WorkRequest::new(3).regions(&short)).unwrap();
    lab.run();
    assert_eq!(
        (lab.nodes[0].polled(), lab.nodes[1].polled()),
        (vec![(3, SUCCESS, 10)], vec![(4, SUCCESS, 10)])
    );
    assert_eq!(bytes(&target), pattern(10));
}

#[test]
fn receives_are_posted_from_init_on_and_wait_for_the_peer() {
    let mut lab = Lab::new();
    let source = lab.nodes[0].memory(&pattern(6));
    let target = lab.nodes[1].memory(&[0; 6]);
    let node = &lab.nodes[1];
    let mut b = node.pd.queue_pair(&node.cq).receive(&node.cq).build().unwrap();
    let [mut a, _] = lab.connected(Transport::Rc);
    let error = b.post_recv(&ReceiveRequest::new(1)).unwrap_err();
    assert!(matches!(error, PostError::ReceiveState { state: QueuePairState::Reset }), "{error}");
    a.connect(&crate::lab::reliable(attributes(0, b.qpn()), 0)).unwrap();
    let to = |state| QueuePairAttributes::new().state(state);
    b.modify(&to(QueuePairState::Init).pkey(0xffff)).unwrap();
    b.post_recv(&ReceiveRequest::new(1).regions(&all(&target))).unwrap();
    let error = b.modify(&ready(a.qpn())).unwrap_err();
    assert!(matches!(error, ModifyError::Missing { .. }), "{error}");
    assert_eq!(error.to_string(), "the transition from Init to RTR needs rq_psn");
    b.modify(&ready(a.qpn()).rq_psn(crate::lab::PSNS[0])).unwrap();
    // The queue pair answers, though it cannot send.
    a.post_send(&WorkRequest::new(2).regions(&all(&source))).unwrap();
    lab.run();
    assert_eq!(
        (lab.nodes[0].polled(), lab.nodes[1].polled()),
        (vec![(2, SUCCESS, 6)], vec![(1, SUCCESS, 6)])
    );
    b.modify(&to(QueuePairState::ReadyToSend).start_psn(crate::lab::PSNS[1])).unwrap();
    b.post_recv(&ReceiveRequest::new(3).regions(&all(&target))).unwrap();
    a.post_send(&WorkRequest::new(4).regions(&all(&source))).unwrap();
    lab.run();
    assert_eq!(lab.nodes[1].polled(), [(3, SUCCESS, 6)], "it goes on where it was");
}

/// Attributes that a queue pair needs to go to RTR, except for the sequence number that it expects.
fn ready(qpn: u32) -> QueuePairAttributes {
    QueuePairAttributes::new()
        .state(QueuePairState::ReadyToReceive)
        .path_mtu(256)
        .dest_qpn(qpn)
        .dest_mac("02:00:00:00:00:01".parse().unwrap())
        .dest_ip([10, 0, 0, 1].into())
}

#[test]
fn a_full_receive_queue_takes_no_more_until_something_is_polled() {
    let mut lab = Lab::new();
    let source = lab.nodes[0].memory(&pattern(6));
    let target = lab.nodes[1].memory(&[0; 6]);
    let [mut a, mut b] = lab.connected(Transport::Rc);
    for i in 0..16 {
        b.post_recv(&ReceiveRequest::new(i).regions(&all(&target))).unwrap();
    }
    let error = b.post_recv(&ReceiveRequest::new(16)).unwrap_err().to_string();
    assert_eq!(error, "the receive queue is full: the receive needs 1 blocks of 64 B, 0 are free");
    a.post_send(&WorkRequest::new(1).regions(&all(&source))).unwrap();
    lab.run();
    assert!(b.post_recv(&ReceiveRequest::new(16)).is_err());
    assert_eq!(lab.nodes[1].polled(), [(0, SUCCESS, 6)]);
    b.post_recv(&ReceiveRequest::new(16)).unwrap();
    let regions = [const { None::<u8> }; 17].map(|_| Contiguous::new(&target).build().unwrap());
    let error = b.post_recv(&ReceiveRequest::new(1).regions(&regions)).unwrap_err();
    assert_eq!(error.to_string(), "destination 0: 17 regions, at most 16 are possible");
}

#[test]
fn frames_of_others_pass_to_the_host_as_they_came() {
    let mut lab = Lab::new();
    let source = lab.nodes[0].memory(&pattern(10));
    let [mut a, b] = lab.connected(Transport::Rc);
    drop(b);
    a.post_send(&WorkRequest::new(1).regions(&all(&source))).unwrap();
    lab.run();
    let unknown = lab.frames[0][0].bytes.clone();
    let mut damaged = unknown.clone();
    damaged[60] ^= 1;
    let arp = [[0xff; 12].as_slice(), &[8, 6, 1, 2, 3]].concat();
    let card = &lab.nodes[1].card;
    assert_eq!(card.take_host_frames(), vec![unknown; 4], "no such queue pair");
    for frame in [&damaged, &arp] {
        card.deliver(frame.clone(), lab.now);
    }
    card.advance_to(lab.now);
    assert_eq!(card.take_host_frames(), [arp], "what is damaged is dropped");
}
