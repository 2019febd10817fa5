//! Rings, completions, errors, and the time at which memory is dropped.

mod common;

use std::time::Duration;

use common::{Fake, connected, open_all, peer, polled};
use drdma_abi::register::{COMPLETION_QUEUES, CompletionQueueEntry};
use libdrdma::{
    Destination, Operation, PostError, QueuePair, QueuePairAttributes, QueuePairState, Region,
    SharedWorkRequest, Status, WorkRequest,
};

/// Regions that fill the rest of a request of one block: 12 contiguous regions are 16 granules.
fn regions(count: usize) -> Vec<Region<'static>> {
    vec![Region::unchecked_contiguous(1, 2, 3); count]
}

const OK: Status = Status::Success;
const FLUSH: Status = Status::WrFlushError;
const PROTECTION: Status = Status::LocalProtectionError;

#[test]
fn a_completion_says_whose_it_is() {
    let (context, _, pd, cq) = open_all();
    let _unused = pd.queue_pair(&cq).build().unwrap();
    let mut qp = connected(&pd, &cq, 8);
    qp.post_send(&WorkRequest::new(77)).unwrap();
    assert_eq!(cq.poll().count(), 0, "polling makes no progress");
    context.progress().unwrap();
    let completions: Vec<_> = cq.poll().collect();
    assert_eq!(completions.len(), 1);
    let completion = completions[0];
    assert_eq!((completion.wr_id, completion.status), (77, OK));
    assert_eq!((completion.bytes, completion.destination), (1000, 0));
    assert_eq!(completion.queue, qp.queue());
}

#[test]
fn a_full_queue_says_what_it_lacks_and_posts_nothing() {
    let (context, card, pd, cq) = open_all();
    let mut qp = connected(&pd, &cq, 8);
    let three = regions(8);
    for wr_id in 0..2 {
        qp.post_send(&WorkRequest::new(wr_id).regions(&three)).unwrap();
    }
    let doorbells = card.state().doorbells.clone();
    let error = qp.post_send(&WorkRequest::new(2).regions(&three)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the send queue is full: the request needs 3 blocks of 64 B, 2 are free"
    );
    assert_eq!(card.state().doorbells, doorbells);
    assert_eq!(cq.outstanding(), 2);
    qp.post_send(&WorkRequest::new(3).regions(&regions(4))).unwrap();
    context.progress().unwrap();
    assert!(matches!(
        qp.post_send(&WorkRequest::new(4)),
        Err(PostError::QueueFull { needed: 1, free: 0 })
    ));
    assert_eq!(cq.poll().next().unwrap().wr_id, 0, "room comes with the completion");
    qp.post_send(&WorkRequest::new(5).regions(&three)).unwrap();
    assert_eq!(polled(&cq), [(1, OK), (3, OK)]);
    context.progress().unwrap();
    assert_eq!(polled(&cq), [(5, OK)]);
    assert_eq!(cq.outstanding(), 0);
}

#[test]
fn a_request_longer_than_the_ring_is_told_apart() {
    let (_, _, pd, cq) = open_all();
    let mut qp = connected(&pd, &cq, 2);
    let long = regions(5);
    assert_eq!(
        qp.post_send(&WorkRequest::new(1).regions(&long)).unwrap_err().to_string(),
        "the request needs 3 blocks of 64 B, the whole send queue has 2"
    );
}

#[test]
fn limits_are_checked_when_posting() {
    let (context, _, pd, cq) = open_all();
    let mut qp = connected(&pd, &cq, 8);
    let mut refused =
        |request: WorkRequest<'_, 'static>| qp.post_send(&request).unwrap_err().to_string();
    assert_eq!(
        refused(WorkRequest::new(1).regions(&regions(17))),
        "destination 0: 17 regions, at most 16 are possible"
    );
    assert_eq!(refused(WorkRequest::new(1).rows_per_message(0)), "rows_per_message is 0");
    let other = context.protection_domain();
    let theirs = other.allocate(64).unwrap();
    let mut qp = connected(&pd, &cq, 8);
    let region = libdrdma::Contiguous::new(&theirs).build().unwrap();
    let mixed = [regions(1).remove(0), region];
    assert_eq!(
        qp.post_send(&WorkRequest::new(1).regions(&mixed)).unwrap_err().to_string(),
        "destination 0, region 1: another protection domain than the queue's"
    );
    let mut ssq = pd.shared_send_queue(&cq).build().unwrap();
    let mut refused = |destinations: &[Destination<'_, 'static>]| {
        let request = SharedWorkRequest::new(1).destinations(destinations);
        ssq.post_ssq_send(&request).unwrap_err().to_string()
    };
    assert_eq!(refused(&[]), "0 destinations, 1 to 256 are possible");
    let qp = connected(&pd, &cq, 8);
    assert_eq!(refused(&[Destination::new(&qp); 257]), "257 destinations, 1 to 256 are possible");
    let sixteen = regions(16);
    let full = Destination::new(&qp).regions(&sixteen);
    assert_eq!(
        refused(&[full; 65]),
        "the destinations have 1040 regions together, at most 1024 are possible"
    );
    let foreign = connected(&other, &cq, 8);
    assert_eq!(
        refused(&[Destination::new(&qp), Destination::new(&foreign)]),
        "destination 1: a queue pair of another protection domain than the queue's"
    );
    assert_eq!(cq.outstanding(), 0);
    // A request with as many regions as possible.
    ssq.post_ssq_send(&SharedWorkRequest::new(1).destinations(&[full; 64])).unwrap();
}

#[test]
fn rings_and_completion_queues_wrap_for_a_long_time() {
    let (context, card, pd, _) = open_all();
    let cq = context.completion_queue().entries(4).build().unwrap();
    let mut qp = connected(&pd, &cq, 8);
    let mut blocks = 0u32;
    for wr_id in 0..1000 {
        let list = regions(wr_id as usize * 7 % 17);
        blocks += (4 + list.len() as u32).div_ceil(4);
        qp.post_send(&WorkRequest::new(wr_id).regions(&list)).unwrap();
        context.progress().unwrap();
        assert_eq!(polled(&cq), [(wr_id, OK)]);
    }
    assert_eq!(card.state().log.len(), 1000);
    assert_eq!(card.state().doorbells.last().unwrap().1, blocks);
    assert_eq!(card.entry::<CompletionQueueEntry>(COMPLETION_QUEUES, 1).consumer, 1000);
}

#[test]
fn a_completion_queue_never_overflows() {
    let (context, _, pd, _) = open_all();
    let cq = context.completion_queue().entries(4).build().unwrap();
    let (mut red, mut blue) = (connected(&pd, &cq, 16), connected(&pd, &cq, 16));
    for wr_id in 0..2 {
        red.post_send(&WorkRequest::new(wr_id)).unwrap();
        blue.post_send(&WorkRequest::new(wr_id)).unwrap();
    }
    context.progress().unwrap();
    assert_eq!(
        red.post_send(&WorkRequest::new(9)).unwrap_err().to_string(),
        "the completion queue is full: 4 of 4 completions are outstanding"
    );
    assert_eq!(cq.poll().next().unwrap().wr_id, 0);
    red.post_send(&WorkRequest::new(9)).unwrap();
    assert!(blue.post_send(&WorkRequest::new(9)).is_err());
    context.progress().unwrap();
    assert_eq!(cq.poll().count(), 4);
}

#[test]
fn a_batch_rings_one_doorbell_or_is_taken_back() {
    let (context, card, pd, cq) = open_all();
    let mut qp = connected(&pd, &cq, 8);
    let mut batch = qp.batch();
    for wr_id in 0..8 {
        batch.post_send(&WorkRequest::new(wr_id)).unwrap();
    }
    assert!(matches!(
        batch.post_send(&WorkRequest::new(8)),
        Err(PostError::QueueFull { needed: 1, free: 0 })
    ));
    drop(batch);
    assert_eq!((cq.outstanding(), card.state().doorbells.len()), (0, 0));
    let mut batch = qp.batch();
    for wr_id in 10..13 {
        batch.post_send(&WorkRequest::new(wr_id).regions(&regions(1))).unwrap();
    }
    batch.submit().unwrap();
    assert_eq!(card.state().doorbells.len(), 1);
    assert_eq!(card.state().doorbells[0].1, 6);
    context.progress().unwrap();
    assert_eq!(polled(&cq), [(10, OK), (11, OK), (12, OK)]);
    let statistics = context.statistics();
    assert_eq!((statistics.work_requests, statistics.doorbells), (3, 1));
    assert_eq!((statistics.request_bytes, statistics.ring_bytes), (3 * 80, 3 * 128));
    qp.batch().submit().unwrap();
    assert_eq!(card.state().doorbells.len(), 1, "nothing to say");
}

#[test]
fn after_an_error_the_rest_is_flushed_in_order_and_the_queue_pair_recovers() {
    let (context, card, pd, cq) = open_all();
    let (mut red, mut blue) = (connected(&pd, &cq, 16), connected(&pd, &cq, 16));
    card.state().outcomes.extend([(OK, 0), (PROTECTION, 0)]);
    for wr_id in 0..5 {
        red.post_send(&WorkRequest::new(wr_id).regions(&regions(3))).unwrap();
    }
    context.progress().unwrap();
    assert_eq!(red.state(), QueuePairState::ReadyToSend, "nobody has polled yet");
    let expected = [(0, OK), (1, PROTECTION), (2, FLUSH), (3, FLUSH), (4, FLUSH)];
    assert_eq!(polled(&cq), expected);
    assert_eq!(red.state(), QueuePairState::Error);
    red.post_send(&WorkRequest::new(5)).unwrap();
    blue.post_send(&WorkRequest::new(6)).unwrap();
    context.progress().unwrap();
    assert_eq!(polled(&cq), [(6, OK), (5, FLUSH)], "posted in the error state");
    assert_eq!(blue.state(), QueuePairState::ReadyToSend);
    red.connect(&peer()).unwrap();
    red.post_send(&WorkRequest::new(7)).unwrap();
    context.progress().unwrap();
    assert_eq!(polled(&cq), [(7, OK)]);
    assert_eq!(cq.outstanding(), 0);
}

#[test]
fn reset_completes_what_is_posted_and_nothing_is_lost() {
    let (context, card, pd, cq) = open_all();
    let mut qp = connected(&pd, &cq, 16);
    card.state().budget = Some(2);
    for wr_id in 0..4 {
        qp.post_send(&WorkRequest::new(wr_id)).unwrap();
    }
    context.progress().unwrap();
    qp.modify(&QueuePairAttributes::new().state(QueuePairState::Reset)).unwrap();
    assert_eq!(cq.outstanding(), 4);
    qp.connect(&peer()).unwrap();
    card.state().budget = None;
    qp.post_send(&WorkRequest::new(9)).unwrap();
    context.progress().unwrap();
    assert_eq!(polled(&cq), [(0, OK), (1, OK), (2, FLUSH), (3, FLUSH), (9, OK)]);
    assert_eq!(cq.outstanding(), 0);
}

#[test]
fn the_application_can_put_a_queue_pair_into_the_error_state() {
    let (context, card, pd, cq) = open_all();
    let mut qp = connected(&pd, &cq, 16);
    card.state().budget = Some(1);
    for wr_id in 0..3 {
        qp.post_send(&WorkRequest::new(wr_id)).unwrap();
    }
    context.progress().unwrap();
    qp.modify(&QueuePairAttributes::new().state(QueuePairState::Error)).unwrap();
    qp.post_send(&WorkRequest::new(3)).unwrap();
    card.state().budget = None;
    context.progress().unwrap();
    assert_eq!(polled(&cq), [(0, OK), (1, FLUSH), (2, FLUSH), (3, FLUSH)]);
}

#[test]
fn a_shared_queue_halts_alone_and_names_the_destination() {
    let (context, card, pd, cq) = open_all();
    let (mut red, blue) = (connected(&pd, &cq, 16), connected(&pd, &cq, 16));
    let mut ssq = pd.shared_send_queue(&cq).build().unwrap();
    let (strided, list) = (
        [Region::unchecked_strided(1, 2, 3, 4, &[libdrdma::Extent { offset: 0, len: 1 }; 5])
            .unwrap()],
        regions(3),
    );
    card.state().outcomes.extend([(OK, 0), (Status::RemoteAccessError, 1)]);
    card.state().failing = vec![blue.index()];
    let post = |ssq: &mut libdrdma::SharedSendQueue<'static>, red: &QueuePair, wr_id| {
        let destinations =
            [Destination::new(red).regions(&strided), Destination::new(&blue).regions(&list)];
        ssq.post_ssq_send(&SharedWorkRequest::new(wr_id).destinations(&destinations)).unwrap();
    };
    (0..4).for_each(|wr_id| post(&mut ssq, &red, wr_id));
    context.progress().unwrap();
    let completions: Vec<_> = cq.poll().collect();
    let found: Vec<_> = completions.iter().map(|c| (c.wr_id, c.status, c.destination)).collect();
    let remote = Status::RemoteAccessError;
    assert_eq!(found, [(0, OK, 0), (1, remote, 1), (2, FLUSH, 0), (3, FLUSH, 0)]);
    assert!(completions.iter().all(|completion| completion.queue == ssq.queue()));
    assert!(ssq.is_halted());
    assert_eq!((red.state(), blue.state()), (QueuePairState::ReadyToSend, QueuePairState::Error));
    red.post_send(&WorkRequest::new(10)).unwrap();
    ssq.reset().unwrap();
    assert!(!ssq.is_halted());
    post(&mut ssq, &red, 11);
    context.progress().unwrap();
    let mut found = polled(&cq);
    found.sort_by_key(|(wr_id, _)| *wr_id);
    assert_eq!(found, [(10, OK), (11, OK)]);
}

#[test]
fn a_queue_pair_that_a_shared_queue_broke_flushes_its_own_queue() {
    let (context, card, pd, cq) = open_all();
    let mut red = connected(&pd, &cq, 16);
    let mut ssq = pd.shared_send_queue(&cq).build().unwrap();
    card.state().outcomes.push_back((PROTECTION, 0));
    card.state().failing = vec![red.index()];
    let destinations = [Destination::new(&red)];
    ssq.post_ssq_send(&SharedWorkRequest::new(1).destinations(&destinations)).unwrap();
    context.progress().unwrap();
    assert_eq!(polled(&cq), [(1, PROTECTION)]);
    assert_eq!(red.state(), QueuePairState::Error);
    red.post_send(&WorkRequest::new(2)).unwrap();
    red.post_send(&WorkRequest::new(3)).unwrap();
    context.progress().unwrap();
    assert_eq!(polled(&cq), [(2, FLUSH), (3, FLUSH)]);
}

#[test]
fn everything_may_be_dropped_in_any_order() {
    let (context, card, pd, cq) = open_all();
    let (memory, other) = (pd.allocate(64).unwrap(), pd.allocate(64).unwrap());
    let region = [libdrdma::Contiguous::new(&memory).build().unwrap()];
    let mut red = connected(&pd, &cq, 16);
    let mut blue = connected(&pd, &cq, 16);
    card.state().budget = Some(1);
    red.post_send(&WorkRequest::new(1).regions(&region)).unwrap();
    red.post_send(&WorkRequest::new(2).regions(&region)).unwrap();
    context.progress().unwrap();
    drop(red);
    assert_eq!(cq.outstanding(), 1, "what did not complete never does");
    assert_eq!(polled(&cq), [(1, OK)]);
    let poll = cq.clone();
    drop((context, pd, cq, other));
    blue.post_send(&WorkRequest::new(3).regions(&region)).unwrap();
    card.state().budget = None;
    assert_eq!(poll.wait(1, Duration::from_secs(1)).unwrap()[0].wr_id, 3);
    drop(poll);
    drop(blue);
    drop(memory);
    assert!(card.state().maps.is_empty());
}

#[test]
fn released_queues_borrow_nothing_and_go_on() {
    let (context, card, pd, cq) = open_all();
    let mut memory = pd.allocate(64).unwrap();
    let mut idle: QueuePair = pd.queue_pair(&cq).build().unwrap();
    for wr_id in 0..3u8 {
        memory.as_slice_mut().unwrap().fill(wr_id);
        let mut qp = idle;
        qp.connect(&peer()).unwrap();
        let region = [libdrdma::Contiguous::new(&memory).build().unwrap()];
        qp.post_send(&WorkRequest::new(wr_id.into()).regions(&region)).unwrap();
        context.progress().unwrap();
        idle = qp.release().unwrap();
    }
    assert_eq!(polled(&cq), [(0, OK), (1, OK), (2, OK)]);
    assert_eq!(card.state().log.len(), 3);
    drop(idle);
}

#[test]
fn a_card_that_breaks_is_an_error_and_never_a_panic() {
    let (context, card, pd, cq) = open_all();
    let mut qp = connected(&pd, &cq, 16);
    let memory = pd.allocate(64).unwrap();
    qp.post_send(&WorkRequest::new(1)).unwrap();
    context.progress().unwrap();
    card.state().broken = true;
    assert!(matches!(qp.post_send(&WorkRequest::new(2)), Err(PostError::Card(_))));
    assert_eq!(polled(&cq), [(1, OK)], "it was in memory already");
    assert!(cq.poll_timeout(Duration::from_secs(9)).is_err());
    assert!(qp.connect(&peer()).is_err());
    assert!(pd.allocate(64).is_err());
    assert!(context.counters().is_err());
    drop((qp, memory, cq, pd));
    assert_eq!(context.progress().unwrap_err().to_string(), "the card failed: broken");
}

#[test]
fn waiting_ends_with_its_time() {
    let (_, card, pd, cq) = open_all();
    let mut qp = connected(&pd, &cq, 16);
    card.state().budget = Some(1);
    qp.post_send(&WorkRequest::new(1)).unwrap();
    qp.post_send(&WorkRequest::new(2)).unwrap();
    assert_eq!(cq.wait(2, Duration::from_millis(20)).unwrap().len(), 1);
    assert_eq!(cq.poll_timeout(Duration::ZERO).unwrap(), None);
}

#[test]
fn queues_may_be_used_from_several_threads() {
    fn is_send<T: Send>(_: &T) {}
    let (context, card, pd, cq) = open_all();
    let qps: Vec<_> = (0..4).map(|_| connected(&pd, &cq, 4)).collect();
    is_send(&qps);
    is_send(&(&context, &cq, &card, &pd));
    std::thread::scope(|scope| {
        for (number, mut qp) in qps.into_iter().enumerate() {
            scope.spawn(move || {
                for i in 0..500 {
                    let request = WorkRequest::new((number * 1000 + i) as u64);
                    while qp.post_send(&request).is_err() {
                        std::thread::yield_now();
                    }
                }
                qp.release().unwrap();
            });
        }
        let mut next = [0; 4];
        for _ in 0..2000 {
            let completion = cq.poll_timeout(Duration::from_secs(30)).unwrap().expect("in time");
            let (number, i) = ((completion.wr_id / 1000) as usize, completion.wr_id % 1000);
            assert_eq!(i, next[number], "in order");
            next[number] += 1;
        }
    });
}

#[test]
fn memory_can_be_written_while_work_is_posted() {
    let (context, card, pd, cq) = open_all();
    let memory = pd.allocate_shared(64).unwrap();
    let region = [libdrdma::Contiguous::new(&memory).build().unwrap()];
    let mut qp = connected(&pd, &cq, 16);
    let operation = Operation::Write { remote_addr: 4096, rkey: 7 };
    qp.post_send(&WorkRequest::new(1).operation(operation).regions(&region)).unwrap();
    memory.store_at(0, b"late");
    context.progress().unwrap();
    let mut bytes = [0; 4];
    Fake::state(&card).read_memory(memory.addr(), &mut bytes);
    assert_eq!(&bytes, b"late");
}
