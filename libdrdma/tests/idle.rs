//! Processor time of waiting. The test is alone in its process, whose processor time it measures.

mod common;

use std::time::Duration;

use common::{Fake, connected};
use libdrdma::{Context, MacAddress, Options, QueuePair, WaitPolicy, WorkRequest};
use rustix::time::{ClockId, clock_gettime};

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[test]
fn an_idle_wait_costs_next_to_no_processor() {
    let card = Fake::with_window();
    card.state().budget = Some(0);
    let options = Options::new(MacAddress([2, 0, 0, 0, 0, 1]), [10, 0, 0, 1].into());
    let context = Context::open(Box::new(card), options).unwrap();
    let pd = context.protection_domain();
    let channel = context.completion_channel().build().unwrap();
    let cq = context.completion_queue().channel(&channel).build().unwrap();
    let mut qp: QueuePair = connected(&pd, &cq, 16);
    let wait = Duration::from_millis(600);
    let cost = |work: &dyn Fn()| {
        let start = cpu_time();
        work();
        cpu_time() - start
    };
    cq.notify().unwrap();
    let nothing_posted = cost(&|| assert_eq!(channel.wait(wait).unwrap(), None));
    qp.post_send(&WorkRequest::new(1)).unwrap();
    let posted = cost(&|| assert_eq!(channel.wait(wait).unwrap(), None));
    let own = cost(&|| assert_eq!(cq.poll_timeout(wait).unwrap(), None));
    // In the last two, a thread looks every 10 ms: less than a hundredth of a processor.
    println!("of {wait:?}: {nothing_posted:?} with nothing posted, {posted:?}, {own:?}");
    for cost in [nothing_posted, posted, own] {
        assert!(cost < wait / 10, "{nothing_posted:?} {posted:?} {own:?}");
    }
    let busy = context.completion_queue().wait_policy(WaitPolicy::BUSY).build().unwrap();
    let busy = cost(&|| assert_eq!(busy.poll_timeout(wait / 4).unwrap(), None));
    assert!(busy > cpu_time() / 10, "the measurement itself");
}
