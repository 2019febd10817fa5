//! The experiment finds what the paper and first principles say that it should.

use std::time::Duration;

use drdma_exchange::{
    Config, Design, Primitive,
    experiment::{self, Consumed, Consumers, ExperimentError, Found, Pattern, Share, Trial},
};
use drdma_fabric::{Fabric, NetworkConfig};

/// Rows of 12 B in three columns.
fn shares(nodes: usize, rows: usize) -> Vec<Share> {
    let share = |node: usize| {
        let numbers: Vec<u64> = (0..rows as u64).map(|row| row * 64 + node as u64).collect();
        let hash = |number: &u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let column = |width: usize, of: fn(u64) -> u64| {
            let bytes = numbers.iter().map(|number| of(*number).to_le_bytes());
            (width, bytes.flat_map(|bytes| bytes[..width].to_vec()).collect())
        };
        let columns = vec![column(8, |n| n), column(1, |n| n % 251), column(3, |n| !n)];
        Share { columns, hashes: numbers.iter().map(hash).collect() }
    };
    (0..nodes).map(share).collect()
}

fn trial(design: Design, regions: bool, pattern: Pattern) -> Trial {
    let config = Config { message: 1024, receive_buffers: 8, ..Config::new(design.primitive) };
    Trial { design, regions, pattern, threads: 2, config, pool: None, slow: (usize::MAX, 0) }
}

fn run(shares: &[Share], trial: &Trial) -> Result<Found, ExperimentError> {
    let mut fabric = Fabric::new(NetworkConfig::default(), shares.len()).unwrap();
    experiment::run(&mut fabric, shares, trial, Duration::from_secs(1))
}

#[test]
fn every_design_brings_every_row_to_its_nodes_in_every_pattern() {
    let shares = shares(4, 1500);
    for design in Design::ALL {
        for pattern in Pattern::ALL {
            for regions in [false, true] {
                if regions && design.primitive == Primitive::Read {
                    continue;
                }
                let found = run(&shares, &trial(design, regions, pattern));
                let found = found.unwrap_or_else(|error| panic!("{design}, {pattern}: {error}"));
                let each = if pattern == Pattern::Repartition { 4000..5000 } else { 8000..19000 };
                assert!(each.contains(&found.rows), "{design}, {pattern}: {found:?}");
                assert!(found.goodput() < found.wire() && found.wire() < 100.0, "{found:?}");
            }
        }
    }
}

#[test]
fn datagrams_need_a_queue_pair_a_thread_and_all_others_one_a_peer() {
    let shares = shares(4, 200);
    for design in Design::ALL {
        let found = run(&shares, &trial(design, false, Pattern::Repartition)).unwrap();
        let endpoints = design.endpoints(2);
        let each = if design.primitive == Primitive::Datagram { 1 } else { 3 };
        assert_eq!(found.queue_pairs, endpoints * each, "{design}");
    }
}

#[test]
fn one_slow_receiver_of_a_broadcast_slows_all_others_that_read() {
    let shares = shares(4, 3000);
    let design = Design { multiple_endpoints: false, primitive: Primitive::Read };
    let even = trial(design, false, Pattern::Broadcast);
    let slow = Trial { slow: (3, 20), ..even };
    let (even, slow) = (run(&shares, &even).unwrap(), run(&shares, &slow).unwrap());
    assert!(slow.first_done > 2 * even.first_done, "{:?}, {:?}", even.first_done, slow.first_done);
}

/// Six threads a node, which take `work` nanoseconds for a message of 4 KiB.
fn consume(work: [u64; 2], receive_buffers: u32, credit_every: u32, pool: bool) -> [Consumed; 2] {
    let mut fabric = Fabric::new(NetworkConfig::default(), 2).unwrap();
    let config = Config::new(Primitive::Datagram);
    let send_buffers = if pool { 2 } else { config.send_buffers };
    let config = Config { receive_buffers, send_buffers, credit_every, ..config };
    let pool = pool.then_some(2 << 20);
    let work = work.map(Duration::from_nanos);
    let trial = Consumers { threads: 6, messages: 2000, config, pool, work };
    experiment::consume(&mut fabric, &trial, Duration::from_secs(1)).unwrap()
}

#[test]
fn a_pool_is_as_fast_as_the_best_fixed_number_of_buffers_whatever_a_message_takes() {
    for work in [[900, 900], [2000, 2000], [4000, 4000], [900, 4000]] {
        let fixed =
            [1, 2, 4, 8, 16, 32].map(|buffers| consume(work, buffers, 2.min(buffers), false));
        let lent = consume(work, 2, 2, true);
        for node in 0..2 {
            let goodputs = fixed.iter().map(|found| found[node].goodput());
            let (least, best) =
                (goodputs.clone().fold(100.0, f64::min), goodputs.fold(0.0, f64::max));
            let found = lent[node].goodput();
            assert!(best > 1.2 * least, "{work:?}: any number would do: {fixed:?}");
            assert!(found > 0.95 * best, "{work:?}: {found} of {best} Gb/s: {lent:?}, {fixed:?}");
        }
    }
}

#[test]
fn the_slower_of_two_consumers_is_lent_fewer_buffers() {
    let [fast, slow] = consume([900, 6000], 2, 2, true);
    assert!(2 * fast.usual > 3 * slow.usual, "{fast:?}, {slow:?}");
    // Of each of six threads: one that it works on, one that lies ready, two that come.
    assert!(slow.usual <= 6 * 4, "{slow:?}");
}

#[test]
fn a_pool_pins_less_than_buffers_for_every_peer() {
    // Long enough for buffers to be lent: one round trip after the other.
    let shares = shares(6, 100_000);
    for multiple_endpoints in [false, true] {
        for primitive in [Primitive::SendReceive, Primitive::Datagram] {
            let design = Design { multiple_endpoints, primitive };
            let config = Config { message: 4096, ..Config::new(primitive) };
            let fixed = Trial { config, ..trial(design, false, Pattern::Repartition) };
            let config = Config { receive_buffers: 2, most_buffers: 32, ..config };
            let pool = if multiple_endpoints { 384 << 10 } else { 320 << 10 };
            let lent = Trial { config, pool: Some(pool), ..fixed };
            let [fixed, lent] = [fixed, lent].map(|trial| run(&shares, &trial).unwrap());
            assert!(5 * lent.pinned < 4 * fixed.pinned, "{design}: {lent:?}, {fixed:?}");
            let (lent, fixed) = (lent.goodput(), fixed.goodput());
            // The few buffers that several endpoints have of their own fill the link, so that few are lent. Their
            // credits are for few messages each, and take some of it.
            let least = if multiple_endpoints { 0.8 } else { 0.9 };
            assert!(lent > least * fixed, "{design}: {lent}, {fixed}");
        }
    }
}

#[test]
fn datagrams_pin_less_as_their_messages_are_shorter() {
    let shares = shares(4, 200);
    let pinned = |primitive| {
        let design = Design { multiple_endpoints: true, primitive };
        let trial = trial(design, false, Pattern::Repartition);
        // Each primitive has the message length that is best for it.
        run(&shares, &Trial { config: Config::new(primitive), ..trial }).unwrap().pinned
    };
    let (queue_pair_a_peer, single) = (pinned(Primitive::SendReceive), pinned(Primitive::Datagram));
    assert!(8 * single < queue_pair_a_peer, "{single}, {queue_pair_a_peer} B");
}

#[test]
fn datagrams_are_ahead_though_no_context_misses() {
    let shares = shares(4, 20_000);
    for multiple_endpoints in [false, true] {
        let [connected, datagrams] =
            [Primitive::SendReceive, Primitive::Datagram].map(|primitive| {
                let design = Design { multiple_endpoints, primitive };
                let config = Config { message: 4096, ..Config::new(primitive) };
                let trial = Trial { config, ..trial(design, false, Pattern::Repartition) };
                run(&shares, &trial).unwrap().goodput()
            });
        assert!(datagrams > 1.02 * connected, "{datagrams}, {connected}");
    }
}

#[test]
fn more_buffers_carry_more_until_the_link_is_full() {
    let shares = shares(2, 40_000);
    let goodput = |receive_buffers| {
        let design = Design { multiple_endpoints: false, primitive: Primitive::SendReceive };
        let trial = Trial { threads: 32, ..trial(design, false, Pattern::Broadcast) };
        let config = Config { message: 4096, receive_buffers, credit_every: 1, ..trial.config };
        run(&shares, &Trial { config, ..trial }).unwrap().goodput()
    };
    let found = [1, 2, 4, 8, 16, 32, 64].map(goodput);
    // About 12 messages of 4 KiB are under way.
    assert!(found[..4].windows(2).all(|two| two[1] > 1.5 * two[0]), "{found:?}");
    assert!(found[4] > 1.3 * found[3] && found[6] < 1.1 * found[4], "{found:?}");
}

#[test]
fn rows_from_where_they_lie_need_fewer_buffers_and_requests() {
    let shares = shares(4, 3000);
    for primitive in [Primitive::SendReceive, Primitive::Datagram] {
        let design = Design { multiple_endpoints: true, primitive };
        let [copied, described] = [false, true]
            .map(|regions| run(&shares, &trial(design, regions, Pattern::Repartition)).unwrap());
        let requests = |found: &Found| found.posts - found.control_messages;
        assert!(requests(&described) * 4 < requests(&copied), "{copied:?}, {described:?}");
    }
}

#[test]
fn a_table_that_is_none_is_refused_with_its_values() {
    let mut shares = shares(2, 10);
    shares[1].columns[2].1.pop();
    let design = Design { multiple_endpoints: false, primitive: Primitive::SendReceive };
    let error = run(&shares, &trial(design, false, Pattern::Repartition)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a table of 3 columns, of which number 2 has 29 B for 10 rows: 1 to 16 whole columns are possible"
    );
}
