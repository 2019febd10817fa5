//! Asynchronous events between two cards: what no completion reports is reported once, and nothing else is.

use libdrdma::{
    Access, AsyncEvent, Operation, QueuePair, QueuePairAttributes, QueuePairState, ReceiveRequest,
    Status, Transport, WorkRequest,
};

use crate::{
    lab::{Lab, all, attributes, pattern, reliable},
    shared::pair,
};

const FLUSHED: Status = Status::WrFlushError;

fn events(lab: &Lab, node: usize) -> Vec<AsyncEvent> {
    std::iter::from_fn(|| lab.nodes[node].context.poll_async_event()).collect()
}

fn fatal(qp: &QueuePair) -> AsyncEvent {
    AsyncEvent::QueuePairFatal { queue_pair: qp.index(), qpn: qp.qpn() }
}

fn last(qp: &QueuePair) -> AsyncEvent {
    AsyncEvent::LastReceiveReached { queue_pair: qp.index(), qpn: qp.qpn() }
}

/// Posts a WRITE that the peer refuses.
fn write_without_key<'m>(lab: &mut Lab, qp: &mut QueuePair<'m>) {
    let write = Operation::Write { remote_addr: 0, rkey: 0x1234_5678 };
    qp.post_send(&WorkRequest::new(1).operation(write).inline(&[1])).unwrap();
    lab.run();
    assert_eq!(lab.nodes[0].polled(), [(1, Status::RemoteAccessError, 0)]);
}

#[test]
fn a_queue_pair_that_its_peer_broke_is_told_once() {
    // Without a receive, and with two that are flushed, whose completions do not report the cause.
    for receives in [0, 2] {
        let mut lab = Lab::new();
        let [mut a, mut b] = lab.connected(Transport::Rc);
        (0..receives).for_each(|i| b.post_recv(&ReceiveRequest::new(i)).unwrap());
        assert_eq!(events(&lab, 1), []);
        write_without_key(&mut lab, &mut a);
        assert_eq!(events(&lab, 1), [fatal(&b)], "{receives}");
        assert_eq!(b.state(), QueuePairState::Error);
        assert_eq!(events(&lab, 1), []);
        assert_eq!(events(&lab, 0), [], "its completion says why");
        let flushed: Vec<_> = (0..receives).map(|i| (i, FLUSHED, 0)).collect();
        assert_eq!(lab.nodes[1].polled(), flushed);
        b.post_recv(&ReceiveRequest::new(9)).unwrap();
        assert_eq!(lab.nodes[1].polled(), [(9, FLUSHED, 0)]);
        assert_eq!(events(&lab, 1), []);
        // After a reconnection, the queue pair may fail again.
        a.connect(&reliable(attributes(0, b.qpn()), 0)).unwrap();
        b.connect(&reliable(attributes(1, a.qpn()), 1)).unwrap();
        write_without_key(&mut lab, &mut a);
        assert_eq!(events(&lab, 1), [fatal(&b)]);
    }
}

#[test]
fn a_queue_pair_without_receives_is_told_of_too() {
    let mut lab = Lab::new();
    let [from, to] = &lab.nodes;
    let mut a = from.pd.queue_pair(&from.cq).build().unwrap();
    let mut b = to.pd.queue_pair(&to.cq).build().unwrap();
    a.connect(&reliable(attributes(0, b.qpn()), 0)).unwrap();
    b.connect(&reliable(attributes(1, a.qpn()), 1).access(Access::REMOTE_READ)).unwrap();
    let target = lab.nodes[1].memory(&[0; 8]);
    let write = Operation::Write { remote_addr: target.addr(), rkey: target.rkey() };
    a.post_send(&WorkRequest::new(1).operation(write).inline(&[1])).unwrap();
    lab.run();
    assert_eq!(lab.nodes[0].polled(), [(1, Status::RemoteInvalidRequestError, 0)]);
    assert_eq!(events(&lab, 1), [fatal(&b)]);
    assert_eq!(b.state(), QueuePairState::Error);
}

#[test]
fn what_a_completion_tells_is_no_event_polled_or_not() {
    for polled in [false, true] {
        let mut lab = Lab::new();
        let source = lab.nodes[0].memory(&pattern(600));
        let short = lab.nodes[1].memory(&[0; 300]);
        let [mut a, mut b] = lab.connected(Transport::Rc);
        b.post_recv(&ReceiveRequest::new(1).regions(&all(&short))).unwrap();
        a.post_send(&WorkRequest::new(2).regions(&all(&source))).unwrap();
        lab.run();
        let expected = [(1, Status::LocalLengthError, 0)];
        if polled {
            assert_eq!(lab.nodes[1].polled(), expected);
        }
        assert_eq!((events(&lab, 0), events(&lab, 1)), (vec![], vec![]));
        assert_eq!(b.state(), QueuePairState::Error);
        if !polled {
            assert_eq!(lab.nodes[1].polled(), expected, "it waits to be polled");
        }
        // A transition by the application is no event, either.
        b.modify(&QueuePairAttributes::new().state(QueuePairState::Error)).unwrap();
        assert_eq!(events(&lab, 1), []);
    }
}

#[test]
fn a_shared_queue_tells_once_that_few_receives_are_left() {
    let mut lab = Lab::new();
    let source = lab.nodes[0].memory(&pattern(10));
    let target = lab.nodes[1].memory(&[0; 10]);
    let node = &lab.nodes[1];
    let mut srq = node.pd.shared_receive_queue(&node.cq).blocks(16).build().unwrap();
    let [mut a, _b] = pair(&lab, &srq, Transport::Rc);
    let limit = AsyncEvent::SharedReceiveQueueLimit { queue: srq.number() };
    for i in 0..4 {
        srq.post_recv(&ReceiveRequest::new(i).regions(&all(&target))).unwrap();
    }
    srq.arm_limit(3).unwrap();
    let mut send = |lab: &mut Lab| {
        a.post_send(&WorkRequest::new(7).regions(&all(&source))).unwrap();
        lab.run();
    };
    send(&mut lab);
    assert_eq!(events(&lab, 1), [], "three are left");
    send(&mut lab);
    assert_eq!(
        events(&lab, 1),
        std::slice::from_ref(&limit),
        "two are left, of which nothing was polled"
    );
    send(&mut lab);
    assert_eq!(events(&lab, 1), [], "the limit is used up");
    assert_eq!(lab.nodes[1].polled().len(), 3);
    // The limit is reached at once, and can be cancelled.
    srq.arm_limit(2).unwrap();
    assert_eq!(events(&lab, 1), [limit]);
    srq.arm_limit(1).unwrap();
    srq.arm_limit(0).unwrap();
    send(&mut lab);
    assert_eq!(events(&lab, 1), []);
    let error = srq.arm_limit(17).unwrap_err().to_string();
    assert_eq!(error, "limit is 17: it must be 0 to the blocks of the queue");
    // The events of a queue end with it.
    srq.arm_limit(5).unwrap();
    drop(srq);
    assert_eq!(events(&lab, 1), []);
}

#[test]
fn the_last_shared_receive_is_told_behind_its_completion() {
    let mut lab = Lab::new();
    let source = lab.nodes[0].memory(&pattern(600));
    let target = lab.nodes[1].memory(&[0; 600]);
    let short = lab.nodes[1].memory(&[0; 300]);
    let node = &lab.nodes[1];
    let mut srq = node.pd.shared_receive_queue(&node.cq).build().unwrap();
    // A message that is too long: its completion says why.
    let [mut a, b] = pair(&lab, &srq, Transport::Rc);
    srq.post_recv(&ReceiveRequest::new(1).regions(&all(&short))).unwrap();
    srq.post_recv(&ReceiveRequest::new(2).regions(&all(&target))).unwrap();
    a.post_send(&WorkRequest::new(3).regions(&all(&source))).unwrap();
    lab.run();
    assert_eq!(events(&lab, 1), [last(&b)]);
    assert_eq!(lab.nodes[1].polled(), [(1, Status::LocalLengthError, 0)]);
    assert_eq!(events(&lab, 1), []);
    lab.nodes[0].polled();
    // No receive was in use.
    let [mut a, b] = pair(&lab, &srq, Transport::Rc);
    write_without_key(&mut lab, &mut a);
    assert_eq!(events(&lab, 1), [fatal(&b), last(&b)]);
    assert_eq!(lab.nodes[1].polled(), []);
    // The application breaks it in the middle of a message.
    let [mut a, mut b] = pair(&lab, &srq, Transport::Uc);
    let sent = lab.frames[0].len() as u64;
    lab.lose(0, &[sent + 2]);
    a.post_send(&WorkRequest::new(3).regions(&all(&source))).unwrap();
    lab.run();
    assert_eq!((events(&lab, 1), lab.nodes[1].polled()), (vec![], vec![]));
    b.modify(&QueuePairAttributes::new().state(QueuePairState::Error)).unwrap();
    assert_eq!(events(&lab, 1), [last(&b)]);
    assert_eq!(lab.nodes[1].polled(), [(2, FLUSHED, 0)]);
}

#[test]
fn the_events_of_a_queue_pair_end_with_it() {
    let mut lab = Lab::new();
    let [mut a, mut b] = lab.connected(Transport::Rc);
    let [mut c, d] = lab.connected(Transport::Rc);
    write_without_key(&mut lab, &mut a);
    write_without_key(&mut lab, &mut c);
    // One look finds both events, and takes one.
    let first = lab.nodes[1].context.poll_async_event().unwrap();
    assert!(first == fatal(&b) || first == fatal(&d), "{first}");
    b.modify(&QueuePairAttributes::new().state(QueuePairState::Reset)).unwrap();
    drop(d);
    assert_eq!(events(&lab, 1), []);
    let text = fatal(&b).to_string();
    assert_eq!(text, format!("queue pair {:#x} went to the error state", b.qpn()));
}

#[test]
fn all_of_many_queue_pairs_are_looked_at_in_turns() {
    let mut lab = Lab::new();
    let mut pairs: Vec<_> = (0..150).map(|_| lab.connected(Transport::Rc)).collect();
    for chosen in [3, 149, 70] {
        write_without_key(&mut lab, &mut pairs[chosen][0]);
    }
    let mut found = Vec::new();
    for _ in 0..3 {
        found.extend(lab.nodes[1].context.poll_async_event());
    }
    found.extend(events(&lab, 1));
    let mut expected: Vec<_> = [3, 149, 70].iter().map(|i| fatal(&pairs[*i][1])).collect();
    let key = |event: &AsyncEvent| event.to_string();
    found.sort_by_key(key);
    expected.sort_by_key(key);
    assert_eq!(found, expected);
}
