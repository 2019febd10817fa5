//! UC and UD: invalid packets are dropped, and the next message arrives.

use libdrdma::{
    Access, AddressHandle, Contiguous, MacAddress, Operation, QueuePairAttributes, ReceiveRequest,
    Status, Transport, WorkRequest,
};

use crate::lab::{Lab, all, bytes, pattern};

const SUCCESS: Status = Status::Success;

#[test]
fn a_message_that_loses_a_packet_is_dropped_and_its_receive_gets_the_next() {
    for lost in 0..3 {
        let mut lab = Lab::new();
        lab.lose(0, &[lost]);
        let source = lab.nodes[0].memory(&pattern(1400));
        let target = lab.nodes[1].memory(&[0; 700]);
        let [mut a, mut b] = lab.connected(Transport::Uc);
        b.post_recv(&ReceiveRequest::new(9).regions(&all(&target))).unwrap();
        for i in 0..2 {
            let part = [Contiguous::new(&source).offset(700 * i).len(700).build().unwrap()];
            a.post_send(&WorkRequest::new(i).regions(&part)).unwrap();
        }
        lab.run();
        assert_eq!(lab.nodes[0].polled(), [(0, SUCCESS, 700), (1, SUCCESS, 700)], "frame {lost}");
        assert_eq!(lab.nodes[1].polled(), [(9, SUCCESS, 700)], "frame {lost}");
        assert_eq!(bytes(&target), pattern(1400)[700..], "frame {lost}");
        assert_eq!(lab.frames[1].len(), 0, "nothing is answered");
    }
}

#[test]
fn writes_arrive_and_refused_ones_are_dropped_without_a_word() {
    let mut lab = Lab::new();
    let source = lab.nodes[0].memory(&pattern(700));
    let target = lab.nodes[1].memory(&[0; 700]);
    let [mut a, mut b] = lab.connected(Transport::Uc);
    b.post_recv(&ReceiveRequest::new(9)).unwrap();
    let write = |offset, imm| {
        let (remote_addr, rkey) = (target.addr() + offset, target.rkey());
        Operation::WriteImm { remote_addr, rkey, imm }
    };
    a.post_send(&WorkRequest::new(1).operation(write(1, 5)).regions(&all(&source))).unwrap();
    a.post_send(&WorkRequest::new(2).operation(write(0, 6)).regions(&all(&source))).unwrap();
    lab.run();
    let completion = lab.nodes[1].completions().pop().unwrap();
    assert_eq!((completion.wr_id, completion.imm, completion.bytes), (9, Some(6), 700));
    assert_eq!(bytes(&target), pattern(700));
}

#[test]
fn a_datagram_comes_behind_its_route() {
    let mut lab = Lab::new();
    let source = lab.nodes[0].memory(&pattern(200));
    let target = lab.nodes[1].memory(&[0xee; 300]);
    let [mut a, mut b] = lab.connected(Transport::Ud);
    b.post_recv(&ReceiveRequest::new(9).regions(&all(&target))).unwrap();
    let send = WorkRequest::new(1).operation(Operation::SendImm(5));
    a.post_send(&send.regions(&all(&source))).unwrap();
    // There is no receive for a second message.
    a.post_send(&WorkRequest::new(2).regions(&all(&source))).unwrap();
    lab.run();
    assert_eq!(lab.nodes[0].polled(), [(1, SUCCESS, 200), (2, SUCCESS, 200)]);
    let [completion] = lab.nodes[1].completions().try_into().unwrap();
    assert_eq!((completion.wr_id, completion.bytes, completion.imm), (9, 240, Some(5)));
    assert_eq!((completion.global_route, completion.source_qp), (true, Some(a.qpn())));
    let found = bytes(&target);
    assert_eq!(found[..20], [0xee; 20], "not written");
    assert_eq!(found[20..40], lab.frames[0][0].bytes[14..34], "the IPv4 header");
    assert_eq!(found[40..240], pattern(200));
    assert_eq!(found[240..], [0xee; 60]);
}

#[test]
fn a_datagram_that_does_not_fit_is_dropped_and_the_receive_stays() {
    let mut lab = Lab::new();
    let source = lab.nodes[0].memory(&pattern(61));
    let target = lab.nodes[1].memory(&[0; 100]);
    let [mut a, mut b] = lab.connected(Transport::Ud);
    b.post_recv(&ReceiveRequest::new(9).regions(&all(&target))).unwrap();
    a.post_send(&WorkRequest::new(1).regions(&all(&source))).unwrap();
    let short = [Contiguous::new(&source).len(60).build().unwrap()];
    a.post_send(&WorkRequest::new(2).regions(&short)).unwrap();
    lab.run();
    assert_eq!(lab.nodes[1].polled(), [(9, SUCCESS, 100)]);
    assert_eq!(bytes(&target)[40..], pattern(60));
}

#[test]
fn each_request_may_have_an_address_of_its_own() {
    let mut lab = Lab::new();
    let source = lab.nodes[0].memory(&pattern(20));
    let target = lab.nodes[1].memory(&[0; 60]);
    let [mut a, mut b] = lab.connected(Transport::Ud);
    let node = &lab.nodes[1];
    let mut other =
        node.pd.queue_pair(&node.cq).transport(Transport::Ud).receive(&node.cq).build().unwrap();
    other.connect(&crate::lab::attributes(1, a.qpn()).qkey(0x88)).unwrap();
    for qp in [&mut b, &mut other] {
        qp.post_recv(&ReceiveRequest::new(qp.qpn().into()).regions(&all(&target))).unwrap();
    }
    let mac = MacAddress([2, 0, 0, 0, 0, 2]);
    let to = |qkey| AddressHandle::new(mac, [10, 0, 0, 2].into(), other.qpn(), qkey).dscp(3).ttl(9);
    // A datagram with the wrong queue key is dropped.
    a.post_send(&WorkRequest::new(1).to(&to(0x77)).regions(&all(&source))).unwrap();
    a.post_send(&WorkRequest::new(2).to(&to(0x88)).regions(&all(&source))).unwrap();
    lab.run();
    assert_eq!(lab.nodes[1].polled(), [(other.qpn().into(), SUCCESS, 60)]);
    assert_eq!((lab.frames[0][1].bytes[15], lab.frames[0][1].bytes[22]), (12, 9));
    // A connected queue pair takes no address handle.
    let [mut c, _d] = lab.connected(Transport::Uc);
    c.post_send(&WorkRequest::new(3).to(&to(0x88)).regions(&all(&source))).unwrap();
    lab.run();
    let polled = lab.nodes[0].polled();
    assert_eq!(polled[2..], [(3, Status::LocalQpOperationError, 0)]);
}

#[test]
fn what_is_reliable_needs_a_reliable_connection() {
    for transport in [Transport::Uc, Transport::Ud] {
        let mut lab = Lab::new();
        let memory = lab.nodes[0].memory(&[0; 8]);
        let requests = |i| match i {
            0 => WorkRequest::new(i).read(0, 0),
            1 => WorkRequest::new(i).fetch_and_add(0, 0, 0),
            2 => WorkRequest::new(i).compare_and_swap(0, 0, 0, 0),
            3 => WorkRequest::new(i).send_invalidate(0),
            _ => WorkRequest::new(i).fence(),
        };
        for i in 0..5 {
            let [mut a, _b] = lab.connected(transport);
            a.post_send(&requests(i).regions(&all(&memory))).unwrap();
            lab.run();
            let expected = [(i, Status::LocalQpOperationError, 0)];
            assert_eq!(lab.nodes[0].polled(), expected, "{transport:?}");
        }
        assert_eq!(lab.frames[0].len(), 0);
    }
}

#[test]
fn an_immutable_owner_is_not_registered_to_be_written_to() {
    let lab = Lab::new();
    let owner: std::sync::Arc<[u8]> = vec![1; 10].into();
    let error = lab.nodes[0].pd.register_with(owner.clone(), Access::REMOTE_WRITE).unwrap_err();
    assert_eq!(error.to_string(), "the memory of 10 B is immutable");
    lab.nodes[0].pd.register_with(owner, Access::REMOTE_READ).unwrap();
    let _: QueuePairAttributes = QueuePairAttributes::new();
}
