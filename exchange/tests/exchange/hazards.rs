//! Hazards: an exchange that hangs, loses rows or grows.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use drdma_exchange::{Config, Error, Groups, Notice, Primitive, Rows, Shuffle};
use drdma_fabric::{Fabric, FaultConfig, NetworkConfig, Tap, Time};

use crate::lab::{Lab, endpoints, even, opening, small};

pub const NONE: FaultConfig = FaultConfig { loss: 0.0, duplicate: 0.0, reorder: 0.0, corrupt: 0.0 };

fn lab(primitive: Primitive, rows: &[usize]) -> Lab {
    lab_with(small(primitive), rows)
}

fn lab_with(config: Config, rows: &[usize]) -> Lab {
    let nodes = rows.len();
    let inputs: Vec<_> = rows.iter().map(|rows| even(*rows, nodes)).collect();
    Lab::new(config, NONE, |_| Groups::repartition(nodes), &inputs)
}

/// Where nothing is under way, up to 1 ms passes between two turns.
fn patient(primitive: Primitive) -> Config {
    Config { patience: Some(Duration::from_secs(1)), ..small(primitive) }
}

#[test]
fn a_slow_consumer_slows_and_loses_nothing() {
    for primitive in Primitive::ALL {
        let mut lab = lab_with(patient(primitive), &[300, 300, 300]);
        lab.engines[1].gets_every = 7;
        assert!(lab.run().unwrap(), "{primitive}");
        lab.check(false);
    }
}

#[test]
fn a_slow_producer_is_waited_for() {
    for primitive in Primitive::ALL {
        let mut lab = lab_with(patient(primitive), &[200, 5, 200]);
        lab.engines[0].puts_every = 3;
        assert!(lab.run().unwrap(), "{primitive}");
        lab.check(false);
    }
}

#[test]
fn a_consumer_that_never_starts_ends_in_an_error_that_names_it() {
    for primitive in Primitive::ALL {
        let mut lab = lab(primitive, &[0, 2000, 2000]);
        lab.engines[0].gets_every = 0;
        let (node, error) = lab.run().unwrap_err().exchange();
        assert!(node == 1 || node == 2, "{primitive}: {node}");
        let Error::Stalled { node: 0, waited, waiting } = error else {
            panic!("{primitive}: {error:?}")
        };
        assert_eq!(
            error.to_string(),
            format!("node 0 has taken nothing for {waited:?}: {waiting} messages wait for it")
        );
        // The endpoint stays failed.
        let endpoint = &mut lab.engines[node].endpoint;
        let expected = format!("the endpoint has failed: {error}");
        assert_eq!(endpoint.progress(Duration::ZERO).unwrap_err().to_string(), expected);
        assert_eq!(endpoint.finish().unwrap_err().to_string(), expected);
    }
}

#[test]
fn a_consumer_that_never_starts_holds_no_more_than_the_buffers_that_there_are() {
    for primitive in Primitive::ALL {
        let mut lab = lab(primitive, &[0, 100_000]);
        lab.engines[0].gets_every = 0;
        let pinned: Vec<_> = lab.engines.iter().map(|e| e.endpoint.pinned_bytes()).collect();
        let _ = lab.run().unwrap_err();
        let statistics = lab.engines[1].endpoint.statistics();
        let buffers = u64::from(small(primitive).send_buffers + small(primitive).receive_buffers);
        assert!(statistics.data_messages <= buffers, "{primitive}: {statistics:?}");
        let after: Vec<_> = lab.engines.iter().map(|e| e.endpoint.pinned_bytes()).collect();
        assert_eq!(pinned, after);
    }
}

#[test]
fn a_producer_that_never_ends_its_stream_ends_in_an_error_that_names_it() {
    for primitive in Primitive::ALL {
        let fabric = Fabric::new(NetworkConfig::default(), 2).unwrap();
        let mut fabric = fabric;
        let mut ends = endpoints(&fabric, small(primitive));
        let mut buffer = ends[1].acquire().unwrap();
        assert!(buffer.append(b"some rows"));
        ends[1].put(buffer, &[0]).unwrap();
        let mut got = 0;
        let ended = fabric.run_until(Duration::from_secs(1), |now| {
            ends[1].progress(now).map_err(Failed::of)?;
            ends[0].progress(now).map_err(Failed::of)?;
            while let Some(rows) = ends[0].get() {
                got += rows.len();
                ends[0].release(rows).map_err(Failed::of)?;
            }
            Ok(false)
        });
        let Err(Failed(error)) = ended else { panic!("{primitive}: {ended:?}") };
        assert_eq!(got, 9);
        let first = "has sent nothing for ";
        assert!(error.contains(first) && error.ends_with("the end was not told"), "{error}");
    }
}

#[derive(Debug)]
struct Failed(String);

impl Failed {
    fn of(error: Error) -> Self {
        Self(error.to_string())
    }
}

impl From<drdma_fabric::SimulationError> for Failed {
    fn from(error: drdma_fabric::SimulationError) -> Self {
        Self(error.to_string())
    }
}

#[test]
fn a_node_that_is_lost_ends_in_an_error_that_names_it() {
    for primitive in Primitive::ALL {
        let mut lab = lab(primitive, &[3000, 3000, 3000]);
        // A while later node 2 closes its endpoint: its queue pairs answer nothing any more.
        assert!(!lab.run_for(Duration::from_micros(20)).unwrap(), "{primitive}: too fast");
        lab.engines.truncate(2);
        let (node, error) = lab.run().unwrap_err().exchange();
        assert!(node < 2);
        let lost = match error {
            Error::Lost { node, .. } | Error::Stalled { node, .. } | Error::Silent { node, .. } => {
                node
            }
            error => panic!("{primitive}: {error}"),
        };
        assert_eq!(lost, 2, "{primitive}");
    }
}

#[test]
fn all_rows_for_one_node_reach_it() {
    for primitive in Primitive::ALL {
        let inputs: Vec<_> = (0..4).map(|_| vec![2; 400]).collect();
        let config = small(primitive);
        let mut lab = Lab::new(config, NONE, |_| Groups::repartition(4), &inputs);
        assert!(lab.run().unwrap(), "{primitive}");
        lab.check(false);
        assert_eq!(lab.engines[2].got.values().map(Vec::len).sum::<usize>(), 1600);
    }
}

#[test]
fn an_empty_input_ends_and_so_does_a_single_node() {
    for primitive in Primitive::ALL {
        let mut empty = lab(primitive, &[0, 0, 0]);
        assert!(empty.run().unwrap(), "{primitive}");
        empty.check(true);
        let mut alone = lab(primitive, &[500]);
        assert!(alone.run().unwrap(), "{primitive}");
        alone.check(true);
        assert_eq!(alone.fabric.counters(0).sent_frames, 0, "what stays is not sent");
    }
}

#[test]
fn one_buffer_of_each_kind_is_enough() {
    for primitive in Primitive::ALL {
        let inputs: Vec<_> = (0..2).map(|_| vec![0; 100]).collect();
        let config =
            Config { send_buffers: 1, receive_buffers: 1, credit_every: 1, ..small(primitive) };
        let mut lab = Lab::new(config, NONE, |own| Groups::broadcast(2, own), &inputs);
        assert!(lab.run().unwrap(), "{primitive}");
        lab.check(true);
    }
}

#[test]
fn an_endpoint_is_used_again() {
    for primitive in Primitive::ALL {
        let mut lab = lab(primitive, &[150, 250]);
        for rows in [100, 0, 333] {
            assert!(lab.run().unwrap(), "{primitive}");
            lab.check(false);
            lab.engines.iter_mut().for_each(|engine| engine.restart(even(rows, 2)));
        }
        let early = lab.engines[0].endpoint.restart().unwrap_err();
        assert_eq!(early.to_string(), "the endpoint of node 0 is not done with its last streams");
    }
}

#[test]
fn an_endpoint_goes_to_another_thread() {
    fn moves<T: Send>(_: &T) {}
    let fabric = Fabric::new(NetworkConfig::default(), 1).unwrap();
    let mut ends = endpoints(&fabric, small(Primitive::SendReceive));
    moves(&ends[0]);
    moves(&ends[0].acquire());
}

/// Counts the RNR NAKs that pass the switch: messages that found no receive.
pub struct Refusals(pub Arc<AtomicU64>);

impl Tap for Refusals {
    fn frame(&mut self, _at: Time, frame: &[u8]) {
        let is_acknowledgement = frame.get(42) == Some(&0x11);
        if is_acknowledgement && frame[54] >> 5 == 1 {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn credits_are_never_exceeded() {
    // On UD a datagram without a receive would be gone, and the exchange would not end.
    for primitive in [Primitive::SendReceive, Primitive::Datagram] {
        for every in 1..=4 {
            let inputs: Vec<_> = (0..3).map(|_| even(600, 3)).collect();
            let config = Config { credit_every: every, ..patient(primitive) };
            let mut lab = Lab::new(config, NONE, |_| Groups::repartition(3), &inputs);
            lab.engines[0].gets_every = 3;
            let refusals = Arc::new(AtomicU64::new(0));
            lab.fabric.network_mut().set_tap(Box::new(Refusals(refusals.clone())));
            assert!(lab.run().unwrap(), "{primitive}");
            lab.check(false);
            assert_eq!(refusals.load(Ordering::Relaxed), 0, "{primitive}");
        }
    }
}

#[test]
fn a_lost_datagram_is_noticed() {
    let inputs: Vec<_> = (0..2).map(|_| even(3000, 2)).collect();
    let faults = FaultConfig { loss: 0.02, ..NONE };
    let config = small(Primitive::Datagram);
    let mut lab = Lab::new(config, faults, |_| Groups::repartition(2), &inputs);
    let (node, error) = lab.run().unwrap_err().exchange();
    let other = 1 - node;
    match error {
        Error::Missing { node, sent, received } => assert!(node == other && sent > received),
        // The lost datagrams were credits, or so many messages that none is left.
        Error::Stalled { node, .. } | Error::Silent { node, .. } => assert_eq!(node, other),
        error => panic!("{error}"),
    }
}

#[test]
fn what_cannot_be_is_refused_with_its_values() {
    let fabric = Fabric::new(NetworkConfig::default(), 2).unwrap();
    let config = small(Primitive::SendReceive);
    let refused = |config| opening(&fabric, 0, config).unwrap_err().to_string();
    assert_eq!(
        refused(Config { credit_every: 5, ..config }),
        "credit_every is 5: it must be 1 to 4"
    );
    // Rows from where they lie need credit for two messages at a time.
    assert_eq!(
        refused(Config { credit_every: 4, regions: true, ..config }),
        "credit_every is 4: it must be 1 to 3"
    );
    assert_eq!(refused(Config { message: 8, ..config }), "message is 8: it must be 16 to 1048576");
    assert_eq!(
        refused(Config { message: 300, ..small(Primitive::Datagram) }),
        "message is 300: it must be 16 to 256"
    );
    assert_eq!(
        refused(Config { send_buffers: 0, ..config }),
        "send_buffers is 0: it must be 1 to 4096"
    );
    let mut ends = endpoints(&fabric, config);
    let end = &mut ends[0];
    let shuffle = Shuffle::new(end, Groups::repartition(2), 9).unwrap_err();
    assert_eq!(shuffle.to_string(), "send_buffers is 16: 9 writers with 2 groups each need 18");
    let mut shuffle = Shuffle::new(end, Groups::repartition(2), 1).unwrap();
    let error = shuffle.push(end, 2, b"row").unwrap_err();
    assert_eq!(error.to_string(), "a row for group 2: there are 2 groups");
    let error = shuffle.push(end, 1, &[0; 257]).unwrap_err();
    assert_eq!(error.to_string(), "a row of 257 B does not fit a message of 256 B");
    let put = |to: &[usize], end: &mut drdma_exchange::Endpoint| {
        let mut buffer = end.acquire().unwrap();
        assert!(buffer.append(b"row"));
        end.put(buffer, to).unwrap_err().to_string()
    };
    assert_eq!(put(&[2], end), "node 2: there are 2 nodes, and 256 are possible");
    assert_eq!(put(&[1, 1], end), "node 1 is named twice as a destination");
    end.finish().unwrap();
    assert_eq!(put(&[1], end), "a message to node 1 after the end of the stream");
    // No refused call kept its buffer.
    assert!((0..16).all(|_| end.acquire().is_some()));
    let twice = Groups::new(vec![vec![0], vec![1, 1]], 2).unwrap_err();
    assert_eq!(twice.to_string(), "node 1 is named twice as a destination");
}

#[test]
fn rows_that_cannot_be_sent_from_where_they_lie_are_refused_with_their_values() {
    let fabric = Fabric::new(NetworkConfig::default(), 2).unwrap();
    let config = Config { regions: true, ..small(Primitive::SendReceive) };
    let reads = opening(&fabric, 0, Config { regions: true, ..small(Primitive::Read) });
    let text = reads.unwrap_err().to_string();
    assert_eq!(text, "MQ/RD is not possible: rows are not sent from where they lie on it");
    let mut ends = endpoints(&fabric, config);
    let pd = ends[0].protection_domain().clone();
    let memory = |bytes: Vec<u8>| Arc::new(pd.register(bytes).unwrap());
    let mut refused = |rows: Rows| {
        let groups = Groups::repartition(2);
        ends[0].put_rows(&rows, &groups).unwrap_err().to_string()
    };
    let ids = Rows::by_group(memory(vec![0, 1, 2]));
    let column = memory(vec![0; 24]);
    assert_eq!(
        refused(ids.clone().column(column.clone(), 0, 8)),
        "a row for group 2: there are 2 groups"
    );
    assert_eq!(refused(ids.clone()), "a row of 0 B does not fit a message of 256 B");
    let ids = Rows::by_group(memory(vec![0, 1, 1]));
    let wide = refused(ids.clone().column(column.clone(), 0, 300));
    assert_eq!(wide, "a row of 300 B does not fit a message of 256 B");
    let outside = refused(ids.clone().column(column.clone(), 1, 8));
    assert!(outside.contains("byte 24 is outside the memory region of 24 B"), "{outside}");
    let many = (0..17).fold(ids, |rows, _| rows.column(column.clone(), 0, 1));
    assert_eq!(refused(many), "rows of 17 columns: 16 are possible");
    // No refused call left anything behind.
    assert!(ends[0].is_batch_sent());
}

#[test]
fn every_notice_costs_the_messages_that_it_should() {
    // Of data, and beside: an entry for a buffer, one for its notice, or a credit for every two.
    for (primitive, beside) in [
        (Primitive::SendReceive, 0.5),
        (Primitive::Datagram, 0.5),
        (Primitive::Read, 3.0),
        (Primitive::Write(Notice::PollBuffer), 1.0),
        (Primitive::Write(Notice::PollQueue), 2.0),
        (Primitive::Write(Notice::PollCompletion), 1.0),
    ] {
        let mut lab = lab(primitive, &[4000, 4000]);
        assert!(lab.run().unwrap());
        let all = lab.engines.iter().map(|engine| engine.endpoint.statistics());
        let (data, control) = all.fold((0, 0), |sum, statistics| {
            (sum.0 + statistics.data_messages, sum.1 + statistics.control_messages)
        });
        let found = (control - 2) as f64 / data as f64;
        assert!((found - beside).abs() < 0.05, "{primitive}: {control} beside {data}");
    }
}
