//! Waiting: channels, their file descriptor, asynchronous tasks, several threads, and the cost of
//! waiting.

mod common;

use std::{
    os::fd::AsFd,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context as TaskContext, Poll, Wake, Waker},
    thread,
    time::{Duration, Instant},
};

use common::{Fake, connected, open, peer};
use futures_core::Stream;
use libdrdma::network::{Network, PeerConfig};
use libdrdma::{
    CompletionChannel, CompletionQueue, Context, Contiguous, MacAddress, Options, ProtectionDomain,
    QueuePair, QueuePairAttributes, Status, Transport, WaitPolicy, WorkRequest,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

const LONG: Duration = Duration::from_secs(20);

/// A card that works by itself, as a board does: a thread advances it.
struct Board {
    context: Context,
    card: Fake,
    pd: ProtectionDomain,
    running: Arc<AtomicBool>,
}

impl Board {
    fn new() -> Self {
        let card = Fake::with_window();
        let options = Options::new(MacAddress([2, 0, 0, 0, 0, 1]), [10, 0, 0, 1].into());
        let context = Context::open(Box::new(card.clone()), options).unwrap();
        let pd = context.protection_domain();
        let running = Arc::new(AtomicBool::new(true));
        thread::spawn({
            let (mut card, running) = (card.clone(), running.clone());
            move || {
                while running.load(Ordering::Relaxed) {
                    // A broken card stays broken.
                    let _ = libdrdma::Card::progress(&mut card);
                    thread::sleep(Duration::from_micros(100));
                }
            }
        });
        Self { context, card, pd, running }
    }

    fn queue(&self, channel: &CompletionChannel) -> CompletionQueue {
        self.context.completion_queue().entries(64).channel(channel).build().unwrap()
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        self.running.store(false, Ordering::Relaxed);
    }
}

fn is_readable(channel: &CompletionChannel) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(channel.as_fd(), PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&now)).unwrap() == 1
}

#[test]
fn one_event_follows_one_call_of_notify() {
    let board = Board::new();
    let channel = board.context.completion_channel().build().unwrap();
    let cq = board.queue(&channel);
    let mut qp: QueuePair = connected(&board.pd, &cq, 16);
    qp.post_send(&WorkRequest::new(1)).unwrap();
    assert_eq!(channel.wait(Duration::from_millis(50)).unwrap(), None, "nobody asked");
    assert!(!is_readable(&channel));
    // A completion from before the call is reported as well.
    cq.notify().unwrap();
    assert_eq!(channel.wait(LONG).unwrap().as_ref(), Some(&cq));
    assert_eq!(cq.poll().count(), 1);
    cq.notify().unwrap();
    cq.notify().unwrap();
    qp.post_send(&WorkRequest::new(2)).unwrap();
    qp.post_send(&WorkRequest::new(3)).unwrap();
    assert_eq!(channel.wait(LONG).unwrap().as_ref(), Some(&cq));
    assert_eq!(cq.wait(2, LONG).unwrap().len(), 2);
    assert_eq!(channel.wait(Duration::from_millis(20)).unwrap(), None);
    assert_eq!(channel.try_wait().unwrap(), None);
}

#[test]
fn the_file_descriptor_is_readable_while_there_are_events() {
    let board = Board::new();
    let channel = board.context.completion_channel().build().unwrap();
    let queues = [board.queue(&channel), board.queue(&channel)];
    let mut qps = queues.each_ref().map(|cq| connected(&board.pd, cq, 16));
    for (cq, qp) in queues.iter().zip(&mut qps) {
        cq.notify().unwrap();
        let qp: &mut QueuePair = qp;
        qp.post_send(&WorkRequest::new(1)).unwrap();
    }
    let mut fds = [PollFd::from_borrowed_fd(channel.as_fd(), PollFlags::IN)];
    assert_eq!(poll(&mut fds, Some(&Timespec { tv_sec: 20, tv_nsec: 0 })).unwrap(), 1);
    let mut found =
        vec![channel.wait(LONG).unwrap().unwrap(), channel.wait(LONG).unwrap().unwrap()];
    assert!(found.contains(&queues[0]) && found.contains(&queues[1]));
    assert!(!is_readable(&channel));
    found.clear();
    assert_eq!(channel.try_wait().unwrap(), None);
}

#[test]
fn a_queue_that_rests_is_told_of_a_post() {
    let board = Board::new();
    let policy = WaitPolicy {
        spin: Duration::ZERO,
        yielding: Duration::ZERO,
        sleep: Duration::from_secs(3600),
    };
    let channel = board.context.completion_channel().wait_policy(policy).build().unwrap();
    let cq = board.queue(&channel);
    let mut qp: QueuePair = connected(&board.pd, &cq, 16);
    for wr_id in 0..50 {
        cq.notify().unwrap();
        if wr_id % 2 == 0 {
            thread::sleep(Duration::from_micros(100 * (wr_id % 8)));
        }
        qp.post_send(&WorkRequest::new(wr_id)).unwrap();
        assert_eq!(channel.wait(LONG).unwrap().as_ref(), Some(&cq), "request {wr_id}");
        assert_eq!(cq.poll().next().map(|completion| completion.wr_id), Some(wr_id));
    }
}

#[test]
fn flushed_requests_are_events_and_so_are_failures_of_the_card() {
    let board = Board::new();
    let channel = board.context.completion_channel().build().unwrap();
    let cq = board.queue(&channel);
    let mut qp: QueuePair = connected(&board.pd, &cq, 16);
    board.card.state().budget = Some(0);
    cq.notify().unwrap();
    qp.post_send(&WorkRequest::new(1)).unwrap();
    qp.connect(&peer()).unwrap();
    assert!(channel.wait(LONG).unwrap().is_some());
    assert_eq!(common::polled(&cq), [(1, Status::WrFlushError)]);
    cq.notify().unwrap();
    qp.post_send(&WorkRequest::new(2)).unwrap();
    board.card.state().broken = true;
    let error = channel.wait(LONG).unwrap_err().to_string();
    assert_eq!(error, "the card failed: broken");
    assert!(channel.wait(LONG).unwrap().is_some(), "whoever else waits is woken");
}

#[test]
fn channels_and_queues_go_in_any_order() {
    for order in 0..6 {
        let board = Board::new();
        let channel = board.context.completion_channel().build().unwrap();
        let cq = board.queue(&channel);
        let mut qp: QueuePair = connected(&board.pd, &cq, 16);
        cq.notify().unwrap();
        qp.post_send(&WorkRequest::new(1)).unwrap();
        let (mut channel, mut cq, mut qp) = (Some(channel), Some(cq), Some(qp));
        for step in 0..3 {
            match (order + step * (1 + order / 3)) % 3 {
                0 => drop(channel.take()),
                1 => drop(cq.take()),
                _ => drop(qp.take()),
            }
        }
    }
    // A channel without a completion queue that was armed, and the context's own.
    let (context, _) = open();
    drop(context.completion_channel().build().unwrap());
    let cq = context.completion_queue().build().unwrap();
    cq.notify().unwrap();
    assert_eq!(cq.channel().unwrap().try_wait().unwrap(), None);
    drop(context);
    drop(cq);
}

/// Opens a simulated card, with queue pairs of which each has a completion queue of its own.
fn soft(count: u32) -> (Context, Vec<(CompletionQueue, QueuePair<'static>)>) {
    let network = Network::new();
    let card = libdrdma::open_on("soft:", &network).unwrap();
    let options = Options::new(MacAddress([2, 0, 0, 0, 0, 1]), [10, 0, 0, 1].into());
    let context = Context::open(card, options).unwrap();
    let pd = context.protection_domain();
    let queues = (0..count).map(|i| {
        let qpn = 17 + i;
        let config = PeerConfig::new(Transport::Rc, 0x0200_0000_0002, 0x0a00_0002, 33 + i, qpn);
        network.add_peer(config);
        let cq = context.completion_queue().entries(64).build().unwrap();
        let mut qp = pd.queue_pair(&cq).qpn(qpn).build().unwrap();
        let attributes = QueuePairAttributes::new().path_mtu(1024).dest_qpn(33 + i).start_psn(0);
        let attributes = attributes.dest_mac(MacAddress([2, 0, 0, 0, 0, 2]));
        qp.connect(&attributes.dest_ip([10, 0, 0, 2].into())).unwrap();
        (cq, qp)
    });
    let queues = queues.collect();
    (context, queues)
}

#[test]
fn a_simulated_card_goes_on_while_everybody_sleeps() {
    let (_context, mut queues) = soft(1);
    let (cq, qp) = &mut queues[0];
    for wr_id in 0..20 {
        cq.notify().unwrap();
        qp.post_send(&WorkRequest::new(wr_id)).unwrap();
        assert_eq!(cq.channel().unwrap().wait(LONG).unwrap().as_ref(), Some(&*cq));
        assert_eq!(common::polled(cq), [(wr_id, Status::Success)]);
    }
}

/// Runs a future, and sleeps while it is not ready.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut TaskContext::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn completions_are_awaited_under_any_executor() {
    let (_context, mut queues) = soft(1);
    let (cq, qp) = &mut queues[0];
    block_on(async {
        for wr_id in 0..100 {
            qp.post_send(&WorkRequest::new(wr_id)).unwrap();
            assert_eq!(cq.next().await.unwrap().wr_id, wr_id);
        }
    });
}

#[test]
fn tasks_of_tokio_await_completions_beside_its_timers() {
    let (_context, queues) = soft(4);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let tasks: Vec<_> = queues
            .into_iter()
            .map(|(cq, mut qp)| {
                tokio::spawn(async move {
                    let mut completions = cq.completions();
                    for wr_id in 0..50 {
                        qp.post_send(&WorkRequest::new(wr_id)).unwrap();
                        let next = std::future::poll_fn(|task| {
                            std::pin::Pin::new(&mut completions).poll_next(task)
                        });
                        assert_eq!(next.await.unwrap().unwrap().wr_id, wr_id);
                    }
                })
            })
            .collect();
        for task in tasks {
            tokio::time::timeout(LONG, task).await.unwrap().unwrap();
        }
        // Nothing is posted here: the timer must not be delayed.
    });
}

#[test]
fn a_task_is_told_of_a_card_that_fails() {
    let board = Board::new();
    let channel = board.context.completion_channel().build().unwrap();
    let cq = board.queue(&channel);
    let mut qp: QueuePair = connected(&board.pd, &cq, 16);
    board.card.state().budget = Some(0);
    qp.post_send(&WorkRequest::new(1)).unwrap();
    let breaks = thread::spawn({
        let card = board.card.clone();
        move || {
            thread::sleep(Duration::from_millis(5));
            card.state().broken = true;
        }
    });
    let error = block_on(cq.next()).unwrap_err();
    assert_eq!(error.to_string(), "the card failed: broken");
    breaks.join().unwrap();
}

#[test]
fn threads_post_and_poll_at_once_and_lose_nothing() {
    let board = Board::new();
    let own = (0..4).map(|_| {
        let cq = board.context.completion_queue().entries(64).build().unwrap();
        let qp: QueuePair<'static> = connected(&board.pd, &cq, 64);
        (cq, qp)
    });
    for (context, queues) in [soft(4), (board.context.clone(), own.collect())] {
        let before = context.statistics();
        thread::scope(|scope| {
            for (cq, mut qp) in queues {
                scope.spawn(move || {
                    let mut next = 0;
                    for wr_id in 0..300 {
                        qp.post_send(&WorkRequest::new(wr_id)).unwrap();
                        if wr_id % 7 == 0 {
                            for completion in cq.poll() {
                                assert_eq!(completion.wr_id, next);
                                next += 1;
                            }
                        }
                        if wr_id + 1 - next > 31 {
                            for completion in cq.wait(10, LONG).unwrap() {
                                assert_eq!(
                                    (completion.wr_id, completion.status),
                                    (next, Status::Success)
                                );
                                next += 1;
                            }
                        }
                    }
                    for completion in cq.wait(300 - next as usize, LONG).unwrap() {
                        assert_eq!(completion.wr_id, next);
                        next += 1;
                    }
                    assert_eq!(next, 300);
                });
            }
        });
        let after = context.statistics();
        assert_eq!(after.work_requests - before.work_requests, 1200, "those of closed queues, too");
        assert_eq!(after.doorbells - before.doorbells, 1200);
    }
}

#[test]
fn posting_to_a_board_waits_for_nobody() {
    let board = Board::new();
    let cq = board.context.completion_queue().build().unwrap();
    let mut qp: QueuePair<'static> = connected(&board.pd, &cq, 16);
    let memory = Arc::new(board.pd.allocate(8).unwrap());
    let regions = [Contiguous::new(memory).build().unwrap()];
    // Another thread is in the card for long: it reads a register, which does not return.
    board.card.state().stall = true;
    let reader = thread::spawn({
        let context = board.context.clone();
        move || context.counters().map(|_| ())
    });
    let start = Instant::now();
    while !board.card.state().stalled {
        assert!(start.elapsed() < LONG);
        thread::yield_now();
    }
    qp.post_send(&WorkRequest::new(1).regions(&regions)).unwrap();
    let completions = cq.wait(1, LONG).unwrap();
    assert_eq!(completions.len(), 1);
    assert!(!reader.is_finished());
    board.card.state().stall = false;
    reader.join().unwrap().unwrap();
}
