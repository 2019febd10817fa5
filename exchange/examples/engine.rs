//! An engine that repartitions its rows, as a whole program: `cargo run --release --package drdma-exchange --example
//! engine`.
//!
//! Each node has a thread, a card `soft:`, and a UDP socket that the card is plugged into. Nodes share nothing but a
//! [`Meeting`], through which they tell each other some bytes: an engine has calls between its processes for that.
//! With a socket that its peers reach, a node is a process of any host.

use std::{
    error::Error,
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use drdma_exchange::{Config, EndpointAddress, Groups, Member, Opening, Primitive, Shuffle};
use drdma_fabric::WiredNode;
use drdma_wire::udp::Udp;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Bytes of a row: a key and a value.
const ROW: usize = 16;
/// How long a card's thread sleeps where nothing is under way.
const NAP: Duration = Duration::from_millis(100);

fn main() -> Result<()> {
    let (nodes, rows) = (4, 1_000_000);
    let start = Instant::now();
    let counts = run(nodes, rows)?;
    println!("rows of each node: {counts:?}, in {:.2} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// Repartitions `rows` rows of each node, and returns the number of rows that each has afterwards.
pub fn run(nodes: usize, rows: u64) -> Result<Vec<u64>> {
    let meeting = Meeting::new(nodes);
    thread::scope(|scope| {
        let node = |number| {
            scope.spawn({
                let meeting = &meeting;
                move || node(number, rows, meeting)
            })
        };
        let nodes: Vec<_> = (0..nodes).map(node).collect();
        nodes.into_iter().map(|node| node.join().expect("a node does not panic")).collect()
    })
}

/// Work of one node: opens its card and endpoint, and repartitions its rows.
fn node(number: usize, rows: u64, meeting: &Meeting) -> Result<u64> {
    // A card, and the network that it is plugged into.
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let ports = meeting.tell(number, socket.local_addr()?.port().to_le_bytes().to_vec());
    let nodes = ports.len();
    let others = ports.iter().enumerate().filter(|(other, _)| *other != number);
    let port = |port: &[u8]| u16::from_le_bytes(port.try_into().expect("two bytes"));
    let others = others.map(|(_, at)| SocketAddr::from((Ipv4Addr::LOCALHOST, port(at))));
    let wire = Udp::over(socket, &others.collect::<Vec<_>>())?;
    let card = Card::start(WiredNode::open(Box::new(wire), number)?);

    // 1. and 2.: an endpoint, connected to those of all nodes.
    let member = Member { node: number, nodes, mac: card.node.mac(), ip: card.node.ip() };
    // Cards go with the machine's clock here: a packet is sent again after 0.27 s, as a thread may have to wait for its
    // turn.
    let config = Config { timeout: 16, ..Config::new(Primitive::SendReceive) };
    let opening = Opening::new(card.node.context(), member, config)?;
    let addresses = meeting.tell(number, opening.address().to_bytes());
    let addresses = addresses.iter().map(|bytes| EndpointAddress::from_bytes(bytes));
    let mut endpoint = opening.connect(&addresses.collect::<std::result::Result<Vec<_>, _>>()?)?;
    meeting.wait();

    // 3. to 5.: rows go to the node of their key, and those of this node come.
    let start = Instant::now();
    let mut shuffle = Some(Shuffle::new(&endpoint, Groups::repartition(nodes), 1)?);
    let mut input = (0..rows).map(|i| (i * nodes as u64 + number as u64, i)).peekable();
    let mut batch = Vec::new();
    while !endpoint.is_done() {
        endpoint.progress(start.elapsed())?;
        while let (Some(out), Some((key, value))) = (&mut shuffle, input.peek()) {
            let row = [key.to_le_bytes(), value.to_le_bytes()].concat();
            if !out.push(&mut endpoint, node_of(*key, nodes), &row)? {
                break; // No buffer now: the same row again, next time.
            }
            input.next();
        }
        if input.peek().is_none()
            && let Some(out) = shuffle.take()
        {
            out.finish(&mut endpoint, true)?;
        }
        card.kick();
        while let Some(rows) = endpoint.get() {
            rows.append_to(&mut batch);
            endpoint.release(rows)?;
        }
    }

    // The rows that were received have keys of this node.
    for row in batch.chunks_exact(ROW) {
        let key = u64::from_le_bytes(row[..8].try_into()?);
        assert_eq!(node_of(key, nodes), number, "key {key} at node {number}");
    }
    // 6.: no node closes its endpoint before all are done.
    meeting.wait();
    Ok((batch.len() / ROW) as u64)
}

/// The node of a key.
fn node_of(key: u64, nodes: usize) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % nodes
}

/// A card, and the thread that lets its time pass.
struct Card {
    node: drdma_fabric::Node,
    wake: drdma_fabric::Wake,
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<std::io::Result<()>>>,
}

impl Card {
    fn start(mut card: WiredNode) -> Self {
        let (node, wake) = (card.node().clone(), card.wake());
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                if !card.turn()? {
                    card.wait(NAP)?;
                }
            }
            Ok(())
        });
        Self { node, wake, stop, thread: Some(thread) }
    }

    /// Wakes the card's thread: something may have been posted.
    fn kick(&self) {
        self.wake.kick();
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.kick();
        if let Some(Ok(Err(error))) = self.thread.take().map(thread::JoinHandle::join) {
            eprintln!("the wire failed: {error}");
        }
    }
}

/// A meeting point, at which nodes exchange bytes.
struct Meeting {
    told: Mutex<Vec<Vec<u8>>>,
    barrier: Barrier,
}

impl Meeting {
    fn new(nodes: usize) -> Self {
        Self { told: Mutex::new(vec![Vec::new(); nodes]), barrier: Barrier::new(nodes) }
    }

    /// Gives all nodes these bytes, and returns the bytes of each.
    fn tell(&self, number: usize, bytes: Vec<u8>) -> Vec<Vec<u8>> {
        self.told.lock().expect("no node panics")[number] = bytes;
        self.wait();
        let heard = self.told.lock().expect("no node panics").clone();
        self.wait();
        heard
    }

    /// Waits for all nodes.
    fn wait(&self) {
        self.barrier.wait();
    }
}
