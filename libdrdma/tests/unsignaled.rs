//! Unsignaled requests: their completions, and the time at which room and memory are freed.

mod common;

use std::{sync::Arc, time::Duration};

use common::{connected, open_all, polled};
use drdma_abi::work_request::flags;
use libdrdma::{
    Contiguous, Destination, PartitionDestination, Partitioned, PartitionedWorkRequest, PostError,
    QueuePair, Region, SharedWorkRequest, Status, WorkRequest,
};

const OK: Status = Status::Success;
const FLUSH: Status = Status::WrFlushError;
const PROTECTION: Status = Status::LocalProtectionError;

fn unsignaled(wr_id: u64) -> WorkRequest<'static, 'static> {
    WorkRequest::new(wr_id).unsignaled()
}

#[test]
fn every_kind_of_request_says_in_its_head_that_it_is_unsignaled() {
    let (context, card, pd, cq) = open_all();
    let mut qp = connected(&pd, &cq, 64);
    let mut ssq = pd.shared_send_queue(&cq).build().unwrap();
    let memory = Arc::new(pd.register(vec![0_u8; 64]).unwrap());
    qp.post_send(&unsignaled(1)).unwrap();
    qp.post_send(&WorkRequest::new(2)).unwrap();
    let destinations = [Destination::new(&qp)];
    ssq.post_ssq_send(&SharedWorkRequest::new(3).destinations(&destinations).unsignaled()).unwrap();
    let rows = Partitioned::<u8>::new(memory.clone()).rows(8).column(memory, 8, 4).build().unwrap();
    let destinations = [PartitionDestination::new(&qp, 0)];
    let request = PartitionedWorkRequest::new(4, &rows).destinations(&destinations);
    ssq.post_ssq_send(&request.unsignaled()).unwrap();
    context.progress().unwrap();
    let flags: Vec<_> = card.state().log.iter().map(|r| (r.header.wr_id, r.header.flags)).collect();
    let expected = [(1, flags::UNSIGNALED), (2, 0), (3, flags::UNSIGNALED)];
    assert_eq!(flags[..3], expected);
    assert_eq!(flags[3], (4, flags::UNSIGNALED | flags::PARTITIONED));
    assert_eq!(polled(&cq), [(2, OK)]);
}

#[test]
fn the_room_of_unsignaled_requests_comes_back_with_a_later_signaled_one() {
    let (context, _, pd, cq) = open_all();
    let mut qp = connected(&pd, &cq, 8);
    // Around the ring, and around the completion queue of 64 entries, several times.
    for round in 0..200 {
        for wr_id in 0..4 {
            qp.post_send(&unsignaled(wr_id)).unwrap();
        }
        for wr_id in 4..8 {
            qp.post_send(&WorkRequest::new(wr_id)).unwrap();
        }
        assert!(matches!(
            qp.post_send(&WorkRequest::new(8)),
            Err(PostError::QueueFull { needed: 1, free: 0 })
        ));
        assert_eq!(cq.outstanding(), 4);
        context.progress().unwrap();
        assert_eq!(cq.poll().next().unwrap().wr_id, 4, "round {round}");
        qp.post_send(&unsignaled(9)).unwrap();
        assert_eq!(polled(&cq), [(5, OK), (6, OK), (7, OK)]);
        qp.post_send(&WorkRequest::new(10)).unwrap();
        context.progress().unwrap();
        assert_eq!(polled(&cq), [(10, OK)]);
        assert_eq!(cq.outstanding(), 0);
    }
}

#[test]
fn a_signaled_request_is_due_when_half_of_the_ring_is_unsignaled() {
    let (context, _, pd, cq) = open_all();
    let mut qp = connected(&pd, &cq, 8);
    // A head, a destination and 12 scatter-gather elements: four blocks.
    let four: Vec<Region<'static>> = vec![Region::unchecked_contiguous(1, 2, 3); 12];
    let long = |wr_id| WorkRequest::new(wr_id).regions(&four);
    qp.post_send(&unsignaled(0)).unwrap();
    let error = qp.post_send(&long(1).unsignaled()).unwrap_err();
    assert!(matches!(error, PostError::SignalDue { unsignaled: 5, limit: 4 }), "{error:?}");
    assert_eq!(
        error.to_string(),
        "a signaled request is due: with this one, the unsignaled requests behind the last signaled \
         one would take 5 blocks of 64 B, 4 (half of the send queue) are possible"
    );
    // Its completion does not free the room, as it is not reported.
    context.progress().unwrap();
    assert_eq!(polled(&cq), []);
    assert!(qp.post_send(&long(1).unsignaled()).is_err());
    qp.post_send(&long(1)).unwrap();
    // Requests behind the signaled one are counted from 0.
    (2..5).for_each(|wr_id| qp.post_send(&unsignaled(wr_id)).unwrap());
    context.progress().unwrap();
    assert_eq!(polled(&cq), [(1, OK)]);
    qp.post_send(&unsignaled(5)).unwrap();
    let error = qp.post_send(&unsignaled(6)).unwrap_err();
    assert!(matches!(error, PostError::SignalDue { unsignaled: 5, limit: 4 }), "{error:?}");
    // A request that is taken back does not count.
    qp.post_send(&WorkRequest::new(7)).unwrap();
    context.progress().unwrap();
    assert_eq!(polled(&cq), [(7, OK)]);
    let mut batch = qp.batch();
    (8..12).for_each(|wr_id| batch.post_send(&unsignaled(wr_id)).unwrap());
    assert!(batch.post_send(&unsignaled(12)).is_err());
    drop(batch);
    let mut batch = qp.batch();
    batch.post_send(&WorkRequest::new(13)).unwrap();
    drop(batch);
    (14..18).for_each(|wr_id| qp.post_send(&unsignaled(wr_id)).unwrap());
    assert!(qp.post_send(&unsignaled(18)).is_err());
    assert_eq!(cq.outstanding(), 0);
}

#[test]
fn unsignaled_requests_need_no_room_in_the_completion_queue() {
    let (context, card, pd, _) = open_all();
    let cq = context.completion_queue().entries(1).build().unwrap();
    let mut qp = connected(&pd, &cq, 64);
    qp.post_send(&WorkRequest::new(0)).unwrap();
    (1..20).for_each(|wr_id| qp.post_send(&unsignaled(wr_id)).unwrap());
    assert!(matches!(
        qp.post_send(&WorkRequest::new(20)),
        Err(PostError::CompletionQueueFull { outstanding: 1, capacity: 1 })
    ));
    context.progress().unwrap();
    assert_eq!(polled(&cq), [(0, OK)]);
    // Failures of unsignaled requests are reported, and do not take the room of signaled ones.
    card.state().outcomes.push_back((PROTECTION, 0));
    qp.post_send(&unsignaled(21)).unwrap();
    context.progress().unwrap();
    assert_eq!(polled(&cq), [(21, PROTECTION)]);
    assert_eq!(cq.outstanding(), 0);
}

#[test]
fn a_failure_among_requests_of_one_name_is_that_of_its_position() {
    let (context, card, pd, cq) = open_all();
    let mut qp = connected(&pd, &cq, 16);
    card.state().outcomes.extend([(OK, 0), (OK, 0), (PROTECTION, 0)]);
    (0..4).for_each(|_| qp.post_send(&unsignaled(7)).unwrap());
    qp.post_send(&WorkRequest::new(7)).unwrap();
    context.progress().unwrap();
    // The first two have succeeded; the two behind the third never began.
    assert_eq!(polled(&cq), [(7, PROTECTION), (7, FLUSH), (7, FLUSH)]);
    assert_eq!(cq.outstanding(), 0);
    // In the error state, posted requests are flushed, unsignaled or not, and hold no memory then.
    for wr_id in 0..40 {
        qp.post_send(&unsignaled(wr_id)).unwrap();
        assert_eq!(polled(&cq), [(wr_id, FLUSH)]);
    }
}

#[test]
fn memory_is_kept_until_a_later_signaled_request_was_polled() {
    let (context, _, pd, cq) = open_all();
    let mut qp: QueuePair<'static> = connected(&pd, &cq, 64);
    let memories: Vec<_> = (0..3).map(|_| Arc::new(pd.register(vec![0_u8; 64]).unwrap())).collect();
    for (wr_id, memory) in (0..).zip(&memories) {
        let regions = [Contiguous::new(memory.clone()).build().unwrap()];
        let request = WorkRequest::new(wr_id).regions(&regions);
        qp.post_send(&if wr_id == 1 { request } else { request.unsignaled() }).unwrap();
    }
    let kept = || memories.iter().map(|m| Arc::strong_count(m) > 1).collect::<Vec<_>>();
    context.progress().unwrap();
    assert_eq!(kept(), [true; 3], "nothing was polled");
    assert_eq!(polled(&cq), [(1, OK)]);
    assert_eq!(kept(), [false, false, true], "nobody knows of the last one");
    qp.post_send(&WorkRequest::new(3)).unwrap();
    context.progress().unwrap();
    assert_eq!(polled(&cq), [(3, OK)]);
    assert_eq!(kept(), [false; 3]);
    // A reset gives memory back as well.
    let regions = [Contiguous::new(memories[0].clone()).build().unwrap()];
    qp.post_send(&WorkRequest::new(4).regions(&regions).unsignaled()).unwrap();
    drop(regions);
    assert_eq!(kept(), [true, false, false]);
    let _qp: QueuePair<'static> = qp.release().unwrap();
    assert_eq!(kept(), [false; 3]);
    assert_eq!(polled(&cq), [(4, FLUSH)]);
}

#[test]
fn a_waiting_thread_is_told_of_an_unsignaled_request_that_fails() {
    let (_, card, pd, cq) = open_all();
    let mut qp = connected(&pd, &cq, 16);
    cq.notify().unwrap();
    card.state().outcomes.extend([(OK, 0), (PROTECTION, 0)]);
    qp.post_send(&unsignaled(1)).unwrap();
    qp.post_send(&unsignaled(2)).unwrap();
    let told = cq.channel().unwrap().wait(Duration::from_secs(10)).unwrap();
    assert!(told.is_some(), "no event");
    assert_eq!(polled(&cq), [(2, PROTECTION)]);
}
