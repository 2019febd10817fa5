//! Queues that are taken from the card while it works on their requests: memory that it may still
//! access stays mapped, and late completions are not mistaken for others.

mod common;

use std::time::{Duration, Instant};

use common::{Fake, connected, open_all, peer, polled};
use libdrdma::{
    CardError, Contiguous, Destination, QueuePair, QueuePairAttributes, QueuePairState,
    SharedWorkRequest, Status, WorkRequest,
};

const BUSY: &str = "the card is still busy after 1.0s";

/// Returns the addresses that are mapped.
fn mapped(card: &Fake) -> Vec<u64> {
    card.state().maps.keys().copied().collect()
}

#[test]
fn memory_of_a_request_in_progress_stays_mapped_until_the_card_is_idle() {
    let (context, card, pd, cq) = open_all();
    let memory = pd.allocate(64).unwrap();
    let addr = memory.addr();
    let region = [Contiguous::new(&memory).build().unwrap()];
    let mut qp = connected(&pd, &cq, 256);
    card.state().budget = Some(0);
    qp.post_send(&WorkRequest::new(1).regions(&region)).unwrap();
    let before = mapped(&card);
    card.state().busy = u32::MAX;
    drop(qp);
    drop(memory);
    drop(cq);
    assert_eq!(mapped(&card), before, "the memory and both rings");
    let other = pd.allocate(64).unwrap();
    assert!(!before.contains(&other.addr()), "no address is used again");
    context.progress().unwrap();
    assert!(mapped(&card).contains(&addr));
    card.state().busy = 0;
    context.progress().unwrap();
    assert_eq!(mapped(&card), [other.addr()]);
}

#[test]
fn memory_is_unmapped_at_once_when_all_requests_have_completed_whatever_else_goes_on() {
    let (context, card, pd, cq) = open_all();
    let memory = pd.allocate(64).unwrap();
    let addr = memory.addr();
    let region = [Contiguous::new(&memory).build().unwrap()];
    let mut qp = connected(&pd, &cq, 256);
    qp.post_send(&WorkRequest::new(1).regions(&region)).unwrap();
    context.progress().unwrap();
    assert_eq!(polled(&cq), [(1, Status::Success)]);
    card.state().busy = u32::MAX;
    let qp: QueuePair = qp.release().unwrap();
    drop(memory);
    assert!(!mapped(&card).contains(&addr));
    assert_eq!(card.state().busy, u32::MAX, "the card was not even asked");
    drop(qp);
}

#[test]
fn what_is_behind_a_failed_request_may_still_be_read() {
    let (context, card, pd, cq) = open_all();
    let memory = pd.allocate(64).unwrap();
    let addr = memory.addr();
    let region = [Contiguous::new(&memory).build().unwrap()];
    let mut qp = connected(&pd, &cq, 256);
    card.state().outcomes.push_back((Status::RetryExceeded, 0));
    for wr_id in 1..3 {
        qp.post_send(&WorkRequest::new(wr_id).regions(&region)).unwrap();
    }
    context.progress().unwrap();
    assert_eq!(polled(&cq), [(1, Status::RetryExceeded), (2, Status::WrFlushError)]);
    card.state().busy = u32::MAX;
    drop(qp);
    drop(memory);
    assert!(mapped(&card).contains(&addr));
}

#[test]
fn a_completion_that_comes_while_the_queue_is_reset_is_its_requests_and_no_later_ones() {
    let reset = QueuePairAttributes::new().state(QueuePairState::Reset);
    let error = QueuePairAttributes::new().state(QueuePairState::Error);
    for to in [&reset, &error] {
        let (context, card, pd, cq) = open_all();
        let mut qp = connected(&pd, &cq, 256);
        qp.post_send(&WorkRequest::new(7)).unwrap();
        {
            let state = &mut *card.state();
            let request = state.next(qp.queue().into()).unwrap();
            state.late.push(request);
            state.busy = 3;
        }
        qp.modify(to).unwrap();
        qp.connect(&peer()).unwrap();
        card.state().budget = Some(0);
        qp.post_send(&WorkRequest::new(7)).unwrap();
        context.progress().unwrap();
        assert_eq!(polled(&cq), [(7, Status::Success)]);
        assert_eq!(cq.outstanding(), 1, "the second is in progress");
    }
}

#[test]
fn a_shared_queue_gives_memory_back_when_the_card_has_sent_what_it_began() {
    let (_, card, pd, cq) = open_all();
    let mut memory = pd.allocate(64).unwrap();
    let red = connected(&pd, &cq, 256);
    let ssq = pd.shared_send_queue(&cq).build().unwrap();
    let mut ssq = ssq.release().unwrap();
    let region = [Contiguous::new(&memory).build().unwrap()];
    let destinations = [Destination::new(&red).regions(&region)];
    card.state().budget = Some(0);
    ssq.post_ssq_send(&SharedWorkRequest::new(1).destinations(&destinations)).unwrap();
    card.state().busy = 100;
    let ssq = ssq.release().unwrap();
    assert_eq!(card.state().busy, 0, "it waited");
    memory.as_slice_mut().unwrap().fill(1);
    assert_eq!(polled(&cq), [(1, Status::WrFlushError)]);
    assert!(!ssq.is_halted());
}

#[test]
fn a_shared_queue_does_not_wait_for_ever() {
    let (context, card, pd, cq) = open_all();
    let memory = pd.allocate(64).unwrap();
    let red = connected(&pd, &cq, 256);
    let region = [Contiguous::new(&memory).build().unwrap()];
    let destinations = [Destination::new(&red).regions(&region)];
    let request = SharedWorkRequest::new(1).destinations(&destinations);
    card.state().budget = Some(0);
    let mut ssq = pd.shared_send_queue(&cq).build().unwrap();
    ssq.post_ssq_send(&request).unwrap();
    card.state().busy = u32::MAX;
    let start = Instant::now();
    let error = ssq.release().map(|_| ()).unwrap_err();
    assert!(matches!(error, CardError::Busy { .. }));
    assert_eq!(error.to_string(), BUSY);
    assert!(start.elapsed() >= Duration::from_secs(1));
    card.state().busy = 0;
    let told = context.progress();
    assert_eq!(told.map_err(|error| error.to_string()), Ok(()), "one error is enough");

    let mut ssq = pd.shared_send_queue(&cq).build().unwrap();
    ssq.post_ssq_send(&request).unwrap();
    card.state().busy = u32::MAX;
    drop(ssq);
    assert_eq!(context.progress().unwrap_err().to_string(), BUSY);
    assert_eq!(cq.outstanding(), 0);
}

#[test]
fn an_abandoned_batch_leaves_no_room_taken() {
    let (_, card, pd, cq) = open_all();
    let mut qp = connected(&pd, &cq, 256);
    let mut batch = qp.batch();
    batch.post_send(&WorkRequest::new(1)).unwrap();
    std::mem::forget(batch);
    assert_eq!(cq.outstanding(), 1);
    drop(qp);
    assert_eq!(cq.outstanding(), 0);
    assert!(card.state().doorbells.is_empty());
}
