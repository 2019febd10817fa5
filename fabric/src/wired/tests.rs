use std::{
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    os::fd::BorrowedFd,
    sync::atomic::AtomicU64,
    thread::{self, JoinHandle},
};

use drdma_wire::{Sent, udp::Udp};
use libdrdma::{
    Access, CompletionQueue, Contiguous, MemoryRegion, QueuePair, QueuePairAttributes,
    ReceiveRequest, Status, WorkCompletion, WorkRequest,
};

use super::*;

/// Length of a message in bytes.
const LEN: usize = 100_000;
/// Longest time that a test waits for something.
const PATIENCE: Duration = Duration::from_secs(60);

/// A wire that loses one of a number of frames; which ones is random, as a loss at regular
/// intervals could always meet the same packet.
struct Lossy {
    wire: Udp,
    one_of: u32,
    random: u32,
}

impl Wire for Lossy {
    fn fd(&self) -> BorrowedFd<'_> {
        self.wire.fd()
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<Sent> {
        self.random = self.random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        match self.random / 2 < (1 << 31) / self.one_of {
            true => Ok(Sent::Lost),
            false => self.wire.send(frame),
        }
    }

    fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> io::Result<bool> {
        self.wire.receive(take)
    }
}

/// A node whose time a thread advances.
struct Running {
    node: Node,
    wake: Wake,
    stop: Arc<AtomicBool>,
    lost: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    fn new(wire: Box<dyn Wire>, number: usize) -> Self {
        let mut wired = WiredNode::open(wire, number).unwrap();
        let (node, wake) = (wired.node().clone(), wired.wake());
        let (stop, lost) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, counted) = (stop.clone(), lost.clone());
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                if !wired.turn().unwrap() {
                    wired.wait(Duration::from_millis(100)).unwrap();
                }
                counted.store(wired.traffic().lost, Ordering::Relaxed);
            }
        });
        Self { node, wake, stop, lost, thread: Some(thread) }
    }

    fn next(&self, cq: &CompletionQueue) -> WorkCompletion {
        let started = Instant::now();
        loop {
            if let Some(completion) = cq.poll().next() {
                return completion;
            }
            assert!(started.elapsed() < PATIENCE, "no completion");
            thread::sleep(Duration::from_micros(100));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.wake.kick();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// Two nodes with a queue pair each, whose wires lose frames.
struct Lab {
    nodes: [Running; 2],
    qps: [QueuePair<'static>; 2],
    cqs: [CompletionQueue; 2],
    // The memory must live as long as the queue pairs, which have posted requests with it.
    from: &'static MemoryRegion,
    to: &'static MemoryRegion,
}

impl Lab {
    fn new(one_of: u32, timeout: u8) -> Self {
        let here = (Ipv4Addr::LOCALHOST, 0);
        let sockets = [(); 2].map(|()| UdpSocket::bind(here).unwrap());
        let at: [SocketAddr; 2] = sockets.each_ref().map(|socket| socket.local_addr().unwrap());
        let [a, b] = sockets;
        let wire = |socket, remote| -> Box<dyn Wire> {
            Box::new(Lossy { wire: Udp::over(socket, &[remote]).unwrap(), one_of, random: 7 })
        };
        let nodes = [Running::new(wire(a, at[1]), 0), Running::new(wire(b, at[0]), 1)];
        let pds = nodes.each_ref().map(|of| of.node.context().protection_domain());
        let cqs = nodes.each_ref().map(|of| of.node.context().completion_queue().build().unwrap());
        let bytes = (0..LEN).map(|i| (i % 251) as u8).collect::<Vec<_>>();
        let from = Box::leak(Box::new(pds[0].register(bytes).unwrap()));
        let to = pds[1].allocate_with(LEN, Access::LOCAL_WRITE).unwrap();
        let to = Box::leak(Box::new(to));
        let mut qps = [0, 1].map(|i| pds[i].queue_pair(&cqs[i]).receive(&cqs[i]).build().unwrap());
        let qpns = qps.each_ref().map(QueuePair::qpn);
        for (i, qp) in qps.iter_mut().enumerate() {
            let peer = &nodes[1 - i].node;
            let attributes = QueuePairAttributes::new().path_mtu(1024).dest_qpn(qpns[1 - i]);
            let attributes = attributes.dest_mac(peer.mac()).dest_ip(peer.ip()).start_psn(0);
            let attributes = attributes.rq_psn(0).timeout(timeout).retry_cnt(7).rnr_retry(7);
            qp.connect(&attributes).unwrap();
        }
        Self { nodes, qps, cqs, from, to }
    }

    fn send(&mut self) {
        let regions = [Contiguous::new(self.from).build().unwrap()];
        self.qps[0].post_send(&WorkRequest::new(2).regions(&regions)).unwrap();
        self.nodes[0].wake.kick();
    }

    fn receive(&mut self) {
        let regions = [Contiguous::new(self.to).build().unwrap()];
        self.qps[1].post_recv(&ReceiveRequest::new(1).regions(&regions)).unwrap();
    }
}

fn message_arrives(one_of: u32) -> Lab {
    let mut lab = Lab::new(one_of, 8);
    lab.receive();
    lab.send();
    assert_eq!(lab.nodes[0].next(&lab.cqs[0]).status, Status::Success);
    let received = lab.nodes[1].next(&lab.cqs[1]);
    assert_eq!(received.status, Status::Success);
    assert_eq!(received.bytes, LEN as u64);
    let mut bytes = vec![0; LEN];
    lab.to.read_at(0, &mut bytes);
    assert!(bytes.iter().enumerate().all(|(i, byte)| *byte == (i % 251) as u8));
    lab
}

#[test]
fn a_message_goes_by_udp() {
    message_arrives(u32::MAX);
}

#[test]
fn frames_that_the_wire_loses_are_sent_again() {
    let lab = message_arrives(17);
    assert!(lab.nodes[0].lost.load(Ordering::Relaxed) > 0);
}

#[test]
fn a_peer_that_is_gone_fails_a_request_after_its_retries() {
    let mut lab = Lab::new(u32::MAX, 8);
    lab.nodes[1].stop.store(true, Ordering::Relaxed);
    lab.nodes[1].wake.kick();
    lab.nodes[1].thread.take().unwrap().join().unwrap();
    let started = Instant::now();
    lab.send();
    assert_eq!(lab.nodes[0].next(&lab.cqs[0]).status, Status::RetryExceeded);
    // 4.096 us * 2^8, eight times: no faster than the machine's clock.
    assert!(started.elapsed() > Duration::from_millis(8), "{:?}", started.elapsed());
}

#[test]
fn there_are_as_many_nodes_as_addresses() {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let wire = Box::new(Udp::over(socket, &[]).unwrap());
    let error = WiredNode::open(wire, MAX_NODES).unwrap_err().to_string();
    assert_eq!(error, "a fabric of 255 nodes: 1 to 254 are possible");
}
