//! Unsignaled requests: nothing is written when they succeed, and everything else is as without.

use drdma_abi::{
    Layout,
    completion::{Completion, Status},
    register::counter,
    roce::Transport,
    work_request::BLOCK,
};

use super::rig::{Rig, Simulated, bytes, contiguous, send, to};
use drdma_semantics::{request::Request, testing::SIZE};

/// Queue pair 1 and its queue, and shared queue 3.
fn rig<C: Simulated>(transport: Transport) -> Rig<C> {
    let mut rig = Rig::new();
    rig.add_queue_pair(1, transport, 0);
    rig.add_queue(1, Some(1));
    rig.add_queue(3, None);
    rig
}

fn quiet(wr_id: u64, len: u32) -> Request {
    Request { signaled: false, ..send(wr_id, vec![to(1, vec![contiguous(0, len)])]) }
}

fn loud(wr_id: u64, len: u32) -> Request {
    Request { signaled: true, ..quiet(wr_id, len) }
}

fn only_signaled_requests_have_completions<C: Simulated>() {
    for transport in [Transport::Rc, Transport::Uc, Transport::Ud] {
        let mut rig = rig::<C>(transport);
        for wr_id in 0..30 {
            let queue = if wr_id % 3 == 0 { 3 } else { 1 };
            let request = if wr_id % 5 == 4 { loud(wr_id, 40) } else { quiet(wr_id, 40) };
            rig.post(queue, &request);
        }
        let mut found = rig.finish();
        found.sort_unstable_by_key(|(wr_id, _)| *wr_id);
        let expected: Vec<_> = (0..6).map(|i| (5 * i + 4, Status::Success)).collect();
        assert_eq!(found, expected, "{transport:?}");
        assert_eq!(rig.network.traffic().frames, 30);
        assert_eq!(rig.count(&counter::WORK_REQUESTS), 30, "all of them are counted");
        assert_eq!(rig.network.errors(), []);
    }
}

fn a_completion_says_which_request_it_is_of<C: Simulated>() {
    let mut rig = rig::<C>(Transport::Uc);
    // Requests of a block and of two, several times around the ring of 64.
    let (mut position, mut positions) = (0, Vec::new());
    for round in 0..60 {
        let long = |request: Request| Request {
            destinations: vec![to(1, vec![contiguous(0, 8); 5])],
            ..request
        };
        for request in [quiet(5, 8), long(quiet(5, 8)), loud(5, 8), long(loud(5, 8))] {
            if request.signaled {
                positions.push(position);
            }
            let blocks = drdma_semantics::request::encode(&request, 0).len() / BLOCK;
            position += blocks as u32;
            rig.post(1, &request);
        }
        if round % 5 == 4 {
            let found: Vec<u32> =
                rig.run_until_completed(10).iter().map(|entry| entry.position).collect();
            assert_eq!(found, positions);
            positions.clear();
        }
    }
}

fn an_unsignaled_request_that_fails_is_told<C: Simulated>() {
    let mut rig = rig::<C>(Transport::Rc);
    for wr_id in 0..3 {
        rig.post(1, &quiet(wr_id, 100));
    }
    let outside = to(1, vec![contiguous(SIZE - 9, 10)]);
    rig.post(1, &Request { destinations: vec![outside], ..quiet(3, 0) });
    rig.post(1, &quiet(4, 100));
    rig.post(1, &loud(5, 100));
    let completions = rig.run_until_completed(1);
    let [failed] = completions[..] else { panic!("{completions:?}") };
    assert_eq!(
        failed,
        Completion {
            wr_id: 3,
            queue: 1,
            position: 6,
            status: Status::LocalProtectionError as u8,
            phase: 1,
            ..Completion::decode(&[0; Completion::SIZE])
        }
    );
    assert_eq!(rig.finish(), [], "a halted queue is silent");
    assert_eq!(rig.network.traffic().frames, 3);
    assert!(rig.queue_pair_error(1) && rig.queue_halted(1));
}

fn a_malformed_head_fails_whatever_it_says_of_signals<C: Simulated>() {
    let mut rig = rig::<C>(Transport::Rc);
    rig.post(1, &quiet(0, 8));
    rig.post(1, &Request { rows_per_message: 0, ..quiet(1, 8) });
    let completions = rig.run_until_completed(1);
    let found: Vec<_> = completions.iter().map(|c| (c.wr_id, c.status, c.position)).collect();
    assert_eq!(found, [(1, Status::LocalQpOperationError as u8, 2)]);
}

fn a_full_completion_queue_does_not_stop_unsignaled_requests<C: Simulated>() {
    let mut rig = rig::<C>(Transport::Rc);
    // The 16 completions are not taken.
    for wr_id in 0..16 {
        rig.post(1, &loud(wr_id, 20));
    }
    for wr_id in 16..28 {
        rig.post(1, &quiet(wr_id, 20));
    }
    for _ in 0..1_000 {
        rig.progress(1);
        if rig.count(&counter::WORK_REQUESTS) == 28 {
            break;
        }
    }
    assert_eq!(rig.count(&counter::WORK_REQUESTS), 28);
    assert_eq!(rig.network.traffic().frames, 28);
    rig.post(1, &loud(28, 20));
    rig.progress(20);
    assert_eq!(rig.count(&counter::WORK_REQUESTS), 28, "the 17th completion waits");
    let all: Vec<_> = (0..16).chain([28]).map(|wr_id| (wr_id, Status::Success)).collect();
    assert_eq!(rig.finish(), all);
}

fn what_is_sent_is_the_same<C: Simulated>() {
    let sent = [true, false].map(|signaled| {
        let mut rig = Rig::<C>::new();
        let peer = rig.add_queue_pair(1, Transport::Rc, 0xff_fffe);
        rig.add_queue(1, Some(1));
        for wr_id in 0..4 {
            rig.post(1, &Request { signaled, ..loud(wr_id, 300) });
        }
        rig.finish();
        rig.sent(peer)
    });
    assert_eq!(sent[0], vec![bytes(0, 300); 4]);
    assert_eq!(sent[0], sent[1]);
}

on_every_card!(
    only_signaled_requests_have_completions,
    a_completion_says_which_request_it_is_of,
    an_unsignaled_request_that_fails_is_told,
    a_malformed_head_fails_whatever_it_says_of_signals,
    a_full_completion_queue_does_not_stop_unsignaled_requests,
    what_is_sent_is_the_same,
);
