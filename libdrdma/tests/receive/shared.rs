//! Shared receive queues, and queue pairs that do not stop each other.

use libdrdma::{
    Destination, Error, PostError, QueuePair, QueuePairState, ReceiveRequest, SharedWorkRequest,
    Status, Transport, WorkRequest,
};

use crate::lab::{Lab, PSNS, all, attributes, bytes, pattern, reliable};

const SUCCESS: Status = Status::Success;

/// A queue pair of the first card, and its peer on the second, which uses a shared receive queue.
pub fn pair<'m>(
    lab: &Lab,
    srq: &libdrdma::SharedReceiveQueue<'m>,
    transport: Transport,
) -> [QueuePair<'m>; 2] {
    let [from, to] = &lab.nodes;
    let mut a = from.pd.queue_pair(&from.cq).transport(transport).build().unwrap();
    let builder = to.pd.queue_pair(&to.cq).transport(transport);
    let mut b = builder.shared_receive_queue(srq).build().unwrap();
    let connected = |own: usize, qpn| match transport {
        Transport::Rc => reliable(attributes(own, qpn), own),
        _ => attributes(own, qpn).rq_psn(PSNS[1 - own]),
    };
    a.connect(&connected(0, b.qpn())).unwrap();
    b.connect(&connected(1, a.qpn())).unwrap();
    [a, b]
}

/// Makes `count` such pairs, which share a receive queue.
fn pairs<'m>(
    lab: &Lab,
    srq: &libdrdma::SharedReceiveQueue<'m>,
    transport: Transport,
    count: usize,
) -> Vec<[QueuePair<'m>; 2]> {
    (0..count).map(|_| pair(lab, srq, transport)).collect()
}

#[test]
fn whoever_needs_a_receive_first_gets_the_oldest() {
    let mut lab = Lab::new();
    let sources: Vec<_> = (1..4).map(|i| lab.nodes[0].memory(&vec![i; 600])).collect();
    let targets: Vec<_> = (0..3).map(|_| lab.nodes[1].memory(&[0; 600])).collect();
    let node = &lab.nodes[1];
    let mut srq = node.pd.shared_receive_queue(&node.cq).blocks(4).build().unwrap();
    let mut pairs = pairs(&lab, &srq, Transport::Rc, 3);
    for (i, target) in (0..).zip(&targets) {
        srq.post_recv(&ReceiveRequest::new(i).regions(&all(target))).unwrap();
    }
    let order = [2, 0, 1];
    for i in order {
        pairs[i][0].post_send(&WorkRequest::new(i as u64).regions(&all(&sources[i]))).unwrap();
    }
    lab.run();
    let completions = lab.nodes[1].completions();
    for (receive, i) in order.into_iter().enumerate() {
        let completion = completions.iter().find(|c| c.wr_id == receive as u64).unwrap();
        assert_eq!((completion.status, completion.bytes), (SUCCESS, 600));
        assert_eq!((completion.qp, completion.queue), (Some(pairs[i][1].index()), srq.number()));
        assert_eq!(bytes(&targets[receive]), vec![i as u8 + 1; 600]);
    }
    // The ring's room is freed in any order of completion.
    for i in 3..7 {
        srq.post_recv(&ReceiveRequest::new(i)).unwrap();
    }
    assert!(srq.post_recv(&ReceiveRequest::new(7)).is_err());
}

#[test]
fn a_list_of_receives_is_posted_up_to_the_first_that_is_refused() {
    let mut lab = Lab::new();
    let source = lab.nodes[0].memory(&pattern(600));
    let targets: Vec<_> = (0..4).map(|_| lab.nodes[1].memory(&[0; 600])).collect();
    let regions: Vec<_> = targets.iter().map(all).collect();
    let node = &lab.nodes[1];
    let mut srq = node.pd.shared_receive_queue(&node.cq).blocks(2).build().unwrap();
    let mut pairs = pairs(&lab, &srq, Transport::Rc, 1);
    let list = || (0..).zip(&regions).map(|(i, region)| ReceiveRequest::new(i).regions(region));
    let (posted, result) = srq.post_recv_list(list());
    assert!(
        matches!(result, Err(PostError::ReceiveQueueFull { needed: 1, free: 0 })),
        "{result:?}"
    );
    assert_eq!(posted, 2);
    assert!(matches!(srq.post_recv_list([]), (0, Ok(()))));
    for wr_id in 10..12 {
        pairs[0][0].post_send(&WorkRequest::new(wr_id).regions(&all(&source))).unwrap();
    }
    lab.run();
    assert_eq!(lab.nodes[1].polled(), [(0, SUCCESS, 600), (1, SUCCESS, 600)]);
    assert!(targets[..2].iter().all(|target| bytes(target) == pattern(600)));
    // There is room again for the receives that were refused.
    let (posted, result) = srq.post_recv_list(list().skip(2));
    assert_eq!((posted, result.is_ok()), (2, true));
}

#[test]
fn a_failure_takes_the_receive_in_use_and_no_other() {
    let mut lab = Lab::new();
    let source = lab.nodes[0].memory(&pattern(600));
    let target = lab.nodes[1].memory(&[0; 600]);
    let short = lab.nodes[1].memory(&[0; 300]);
    let node = &lab.nodes[1];
    let mut srq = node.pd.shared_receive_queue(&node.cq).build().unwrap();
    let mut pairs = pairs(&lab, &srq, Transport::Rc, 2);
    srq.post_recv(&ReceiveRequest::new(1).regions(&all(&short))).unwrap();
    srq.post_recv(&ReceiveRequest::new(2).regions(&all(&target))).unwrap();
    pairs[0][0].post_send(&WorkRequest::new(3).regions(&all(&source))).unwrap();
    lab.run();
    pairs[1][0].post_send(&WorkRequest::new(4).regions(&all(&source))).unwrap();
    lab.run();
    let expected = [(1, Status::LocalLengthError, 0), (2, SUCCESS, 600)];
    assert_eq!(lab.nodes[1].polled(), expected);
    assert_eq!(pairs[0][1].state(), QueuePairState::Error);
    assert_eq!(pairs[1][1].state(), QueuePairState::ReadyToSend);
    assert_eq!(bytes(&target), pattern(600));
}

#[test]
fn a_queue_pair_that_is_reset_gives_up_the_receive_that_it_has_in_use() {
    let mut lab = Lab::new();
    lab.lose(0, &[2]);
    let source = lab.nodes[0].memory(&pattern(600));
    let target = lab.nodes[1].memory(&[0; 600]);
    let node = &lab.nodes[1];
    let mut srq = node.pd.shared_receive_queue(&node.cq).build().unwrap();
    let mut pairs = pairs(&lab, &srq, Transport::Uc, 1);
    srq.post_recv(&ReceiveRequest::new(1).regions(&all(&target))).unwrap();
    pairs[0][0].post_send(&WorkRequest::new(3).regions(&all(&source))).unwrap();
    lab.run();
    assert_eq!(lab.nodes[1].polled(), []);
    drop(pairs);
    assert_eq!(lab.nodes[1].polled(), [(1, Status::WrFlushError, 0)]);
}

#[test]
fn a_message_of_uc_that_is_dropped_fails_its_shared_receive() {
    let mut lab = Lab::new();
    lab.lose(0, &[1]);
    let source = lab.nodes[0].memory(&pattern(600));
    let target = lab.nodes[1].memory(&[0; 600]);
    let node = &lab.nodes[1];
    let mut srq = node.pd.shared_receive_queue(&node.cq).build().unwrap();
    let mut pairs = pairs(&lab, &srq, Transport::Uc, 1);
    for i in 1..3 {
        srq.post_recv(&ReceiveRequest::new(i).regions(&all(&target))).unwrap();
        pairs[0][0].post_send(&WorkRequest::new(i).regions(&all(&source))).unwrap();
    }
    lab.run();
    let expected = [(1, Status::RemoteInvalidRequestError, 0), (2, SUCCESS, 600)];
    assert_eq!(lab.nodes[1].polled(), expected);
    assert_eq!(pairs[0][1].state(), QueuePairState::ReadyToSend);
}

#[test]
fn a_shared_queue_of_another_domain_is_refused() {
    let lab = Lab::new();
    let node = &lab.nodes[1];
    let srq = node.pd.shared_receive_queue(&node.cq).build().unwrap();
    let pd = node.context.protection_domain();
    let error = pd.queue_pair(&node.cq).shared_receive_queue(&srq).build().unwrap_err();
    assert!(matches!(error, Error::ProtectionDomain), "{error}");
    let error = node.pd.shared_receive_queue(&node.cq).blocks(0).build().unwrap_err();
    assert_eq!(error.to_string(), "receive_blocks is 0: it must be 1 to 65536");
}

#[test]
fn a_queue_pair_that_waits_stops_no_other() {
    let mut lab = Lab::new();
    let source = lab.nodes[0].memory(&pattern(600));
    let target = lab.nodes[1].memory(&[0; 600]);
    let [mut slow, mut slow_peer] =
        lab.connected_with(Transport::Rc, |_, plain| plain.min_rnr_timer(20));
    let [mut fast, mut fast_peer] = lab.connected(Transport::Rc);
    let [shared, mut shared_peer] = lab.connected(Transport::Rc);
    for peer in [&mut fast_peer, &mut shared_peer] {
        peer.post_recv(&ReceiveRequest::new(9).regions(&all(&target))).unwrap();
    }
    // The slow one's peer has no receive for 10.24 ms.
    slow.post_send(&WorkRequest::new(1).regions(&all(&source))).unwrap();
    lab.run_to(5_000);
    slow.post_send(&WorkRequest::new(2).regions(&all(&source))).unwrap();
    let regions = all(&source);
    let to =
        [Destination::new(&slow).regions(&regions), Destination::new(&shared).regions(&regions)];
    let mut ssq = lab.nodes[0].pd.shared_send_queue(&lab.nodes[0].cq).build().unwrap();
    ssq.post_ssq_send(&SharedWorkRequest::new(3).destinations(&to)).unwrap();
    fast.post_send(&WorkRequest::new(4).regions(&regions)).unwrap();
    lab.run_to(20_000);
    assert_eq!(lab.nodes[0].polled(), [(4, SUCCESS, 600)]);
    assert_eq!(lab.nodes[1].polled().len(), 2, "the shared request's other destination, too");
    for i in 0..3 {
        slow_peer.post_recv(&ReceiveRequest::new(i).regions(&all(&target))).unwrap();
    }
    lab.run();
    let mut polled = lab.nodes[0].polled();
    polled.sort_by_key(|(wr_id, ..)| *wr_id);
    assert_eq!(polled, [(1, SUCCESS, 600), (2, SUCCESS, 600), (3, SUCCESS, 1200)]);
    drop(ssq);
}

#[test]
fn nothing_overtakes_what_waits_on_the_same_queue_pair() {
    let mut lab = Lab::new();
    let source = lab.nodes[0].memory(&pattern(8));
    let to = lab.nodes[0].memory(&[0; 8]);
    let target = lab.nodes[1].memory(&[0; 8]);
    let [mut a, mut b] = lab.connected(Transport::Rc);
    for i in 0..3 {
        b.post_recv(&ReceiveRequest::new(i).regions(&all(&target))).unwrap();
    }
    let part = |len| [libdrdma::Contiguous::new(&source).len(len).build().unwrap()];
    let regions = part(3);
    let mut ssq = lab.nodes[0].pd.shared_send_queue(&lab.nodes[0].cq).build().unwrap();
    a.post_send(&WorkRequest::new(1).read(target.addr(), target.rkey()).regions(&all(&to)))
        .unwrap();
    a.post_send(&WorkRequest::new(2).fence().regions(&part(1))).unwrap();
    a.post_send(&WorkRequest::new(3).regions(&part(2))).unwrap();
    let destinations = [Destination::new(&a).regions(&regions)];
    ssq.post_ssq_send(&SharedWorkRequest::new(4).destinations(&destinations)).unwrap();
    lab.run();
    assert_eq!(lab.nodes[0].polled().len(), 4);
    // The messages are told apart by their lengths, in the order of the posts.
    assert_eq!(lab.nodes[1].polled(), [(0, SUCCESS, 1), (1, SUCCESS, 2), (2, SUCCESS, 3)]);
}
