use libdrdma::{
    Access, CompletionQueue, MemoryRegion, Operation, QueuePair, QueuePairAttributes, Status,
    WorkRequest,
};

use super::*;
use crate::FaultConfig;

fn attributes(peer: &Node, qpn: u32) -> QueuePairAttributes {
    QueuePairAttributes::new()
        .path_mtu(1024)
        .dest_qpn(qpn)
        .dest_mac(peer.mac())
        .dest_ip(peer.ip())
        .start_psn(0)
        .rq_psn(0)
        .access(Access::REMOTE_WRITE)
        .timeout(4)
        .retry_cnt(7)
        .rnr_retry(7)
}

/// Two nodes, the first of which writes to memory of the second.
struct Lab {
    fabric: Fabric,
    cq: CompletionQueue,
    qps: [QueuePair<'static>; 2],
    target: MemoryRegion,
}

impl Lab {
    fn new(faults: FaultConfig) -> Self {
        let fabric = Fabric::new(NetworkConfig { faults, ..NetworkConfig::default() }, 2).unwrap();
        let made = [0, 1].map(|i| {
            let context = fabric.node(i).context();
            let (pd, cq) =
                (context.protection_domain(), context.completion_queue().build().unwrap());
            let qp: QueuePair<'static> = pd.queue_pair(&cq).build().unwrap();
            (pd, cq, qp)
        });
        let [(_, cq, mut a), (pd, _, mut b)] = made;
        let (qpn_a, qpn_b) = (a.qpn(), b.qpn());
        a.connect(&attributes(fabric.node(1), qpn_b)).unwrap();
        b.connect(&attributes(fabric.node(0), qpn_a)).unwrap();
        let target = pd.allocate_with(5000, Access::REMOTE_WRITE).unwrap();
        Self { fabric, cq, qps: [a, b], target }
    }

    fn write(&mut self) {
        let (remote_addr, rkey) = (self.target.addr(), self.target.rkey());
        let write = Operation::Write { remote_addr, rkey };
        self.qps[0].post_send(&WorkRequest::new(9).operation(write).inline(b"abcdef")).unwrap();
    }

    fn found(&self) -> [u8; 6] {
        let mut bytes = [0; 6];
        self.target.read_at(0, &mut bytes);
        bytes
    }
}

#[test]
fn nothing_moves_before_time_passes() {
    let mut lab = Lab::new(FaultConfig::default());
    lab.write();
    assert_eq!(lab.found(), [0; 6]);
    assert_eq!(lab.cq.poll().count(), 0);
    while lab.fabric.step().unwrap() {}
    assert_eq!(&lab.found(), b"abcdef");
    let completion = lab.cq.poll().next().unwrap();
    assert_eq!((completion.wr_id, completion.status), (9, Status::Success));
    assert_eq!(lab.fabric.counters(1).frames, 1);
}

#[test]
fn time_passes_as_far_as_it_is_told_and_no_further() {
    let mut lab = Lab::new(FaultConfig::default());
    lab.write();
    lab.fabric.advance(Duration::from_nanos(300)).unwrap();
    assert_eq!(lab.fabric.now(), Duration::from_nanos(300));
    assert_eq!(lab.found(), [0; 6], "two links take more than 1 us");
    lab.fabric.advance(Duration::from_micros(100)).unwrap();
    assert_eq!(lab.fabric.now(), Duration::from_nanos(100_300));
    assert_eq!(&lab.found(), b"abcdef");
    // Time passes even if no event is due.
    lab.fabric.advance(Duration::from_secs(1)).unwrap();
    assert_eq!(lab.fabric.now(), Duration::from_nanos(1_000_100_300));
}

#[test]
fn a_program_and_its_cards_work_in_turns() {
    let mut lab = Lab::new(FaultConfig { loss: 0.5, ..FaultConfig::default() });
    lab.write();
    let cq = lab.cq.clone();
    let mut found = None;
    let done = lab.fabric.run_until(Duration::from_secs(1), |_| {
        found = cq.poll().next();
        Ok::<_, SimulationError>(found.is_some())
    });
    assert!(done.unwrap());
    assert_eq!(found.unwrap().status, Status::Success);
    assert_eq!(&lab.found(), b"abcdef");
}

#[test]
fn who_waits_for_what_does_not_come_is_told_when_the_limit_has_passed() {
    let mut fabric = Fabric::new(NetworkConfig::default(), 1).unwrap();
    let mut told = Vec::new();
    let done = fabric.run_until(Duration::from_millis(5), |now| {
        told.push(now);
        Ok::<_, SimulationError>(false)
    });
    assert!(!done.unwrap());
    assert_eq!(fabric.now(), Duration::from_millis(5));
    assert_eq!(told.last(), Some(&fabric.now()));
    assert!(told.len() < 30, "the waits grow: {}", told.len());
}

#[test]
fn a_fabric_of_no_node_or_too_many_is_refused() {
    for nodes in [0, 255] {
        let error = Fabric::new(NetworkConfig::default(), nodes).unwrap_err();
        assert_eq!(error.to_string(), format!("a fabric of {nodes} nodes: 1 to 254 are possible"));
    }
}

#[test]
fn registers_are_those_of_different_cards() {
    let fabric = Fabric::new(NetworkConfig::default(), 3).unwrap();
    let macs: Vec<_> = fabric.nodes().iter().map(|node| node.mac().0[5]).collect();
    assert_eq!(macs, [1, 2, 3]);
    let made = fabric.nodes().iter().map(|node| {
        let pd = node.context().protection_domain();
        pd.register(vec![1_u8]).unwrap().lkey()
    });
    let keys: std::collections::HashSet<_> = made.collect();
    assert_eq!(keys.len(), 3, "every node draws its own keys");
}
