//! Buffers that endpoints borrow.

use std::{
    sync::{Arc, atomic::AtomicU64, atomic::Ordering},
    time::Duration,
};

use drdma_exchange::{BufferPool, Config, Error, Groups, MAX_POOL_BUFFERS, Opening, Primitive};
use drdma_fabric::{Fabric, FaultConfig, NetworkConfig};
use proptest::prelude::*;

use crate::{
    hazards::{NONE, Refusals},
    lab::{Engine, Input, Lab, even, member, pooled_endpoints, pools, small},
};

const PRIMITIVES: [Primitive; 2] = [Primitive::SendReceive, Primitive::Datagram];

/// A configuration with two receive buffers of its own a peer, and one send buffer a group.
fn lean(primitive: Primitive, groups: usize) -> Config {
    let send_buffers = groups as u32;
    Config { receive_buffers: 2, send_buffers, most_buffers: 16, ..small(primitive) }
}

/// Receives for credits, on the primitive where credits take receives.
fn for_credits(config: &Config, peers: u32) -> u32 {
    if config.primitive == Primitive::Datagram { 2 * peers } else { 0 }
}

/// Checks that the pools are short of exactly the buffers that endpoints have, which are within their limits.
fn accounts(engines: &[Engine], pools: &[BufferPool]) {
    for (engine, pool) in engines.iter().zip(pools) {
        let (endpoint, peers) = (&engine.endpoint, engines.len() as u32 - 1);
        let config = endpoint.config();
        let (sends, receives) = (endpoint.send_buffers(), endpoint.receive_buffers());
        let least = config.receive_buffers;
        let most = least.max(config.most_buffers);
        assert!((peers * least..=peers * most).contains(&receives), "{receives} receive buffers");
        let least = config.send_buffers;
        assert!((least..=least.max(config.most_buffers)).contains(&sends), "{sends} send buffers");
        let used = sends + receives + for_credits(config, peers);
        assert_eq!(pool.buffers() - pool.free(), used, "{sends} + {receives} of {pool:?}");
    }
}

fn lab(config: Config, buffers: u32, inputs: &[Input]) -> Lab {
    let groups = |_| Groups::repartition(inputs.len());
    let mut lab = Lab::with_pools(config, Some(buffers), NONE, groups, inputs);
    lab.watch = accounts;
    lab
}

/// Checks that all buffers are in the pools once the endpoints are gone.
fn check_returned(mut lab: Lab) {
    lab.engines.clear();
    for pool in &lab.pools {
        assert_eq!(pool.free(), pool.buffers());
    }
}

#[test]
fn credits_are_never_exceeded_with_a_pool() {
    for primitive in PRIMITIVES {
        for every in 1..=2 {
            let inputs: Vec<_> = (0..3).map(|_| even(1500, 3)).collect();
            let patience = Some(Duration::from_secs(1));
            let config = Config { credit_every: every, patience, ..lean(primitive, 3) };
            let mut lab = lab(config, 60, &inputs);
            lab.engines[0].gets_every = 3;
            let refusals = Arc::new(AtomicU64::new(0));
            lab.fabric.network_mut().set_tap(Box::new(Refusals(refusals.clone())));
            assert!(lab.run().unwrap(), "{primitive}");
            lab.check(false);
            assert_eq!(refusals.load(Ordering::Relaxed), 0, "{primitive}");
            check_returned(lab);
        }
    }
}

#[test]
fn a_consumer_that_never_starts_ends_in_an_error_and_holds_no_more_than_its_share() {
    for primitive in PRIMITIVES {
        let mut lab = lab(lean(primitive, 2), 100, &[vec![], vec![0; 100_000]]);
        lab.engines[0].gets_every = 0;
        let (node, error) = lab.run().unwrap_err().exchange();
        assert!(node == 1 && matches!(error, Error::Stalled { node: 0, .. }), "{error}");
        let used = lab.pools.iter().map(BufferPool::most_used);
        // Each endpoint has its own buffers, and no more than `most_buffers` of a kind.
        assert!(used.clone().all(|used| used <= 16 + 16 + 2), "{:?}", used.collect::<Vec<_>>());
        // Buffers with messages that no consumer took are free once the endpoints are gone.
        lab.engines.clear();
        assert!(lab.pools.iter().all(|pool| pool.free() == pool.buffers()), "{:?}", lab.pools);
    }
}

#[test]
fn an_endpoint_whose_consumer_never_starts_does_not_hold_up_others_of_the_pool() {
    for primitive in PRIMITIVES {
        let config = Config { patience: None, ..lean(primitive, 2) };
        let mut lab = lab(config, 24, &[even(600, 2), even(600, 2)]);
        lab.watch = |_, _| {};
        // The stuck endpoint has filled what it could borrow before the others begin.
        let mut stuck = pooled_endpoints(&lab.fabric, config, &lab.pools);
        while let Some(mut buffer) = stuck[0].acquire() {
            assert!(buffer.append(b"rows that nobody gets"));
            stuck[0].put(buffer, &[0]).unwrap();
        }
        assert!(lab.pools[0].free() < 6, "{primitive}: {:?}", lab.pools[0]);
        assert!(lab.run().unwrap(), "{primitive}");
        lab.check(false);
    }
}

#[test]
fn a_pool_lends_as_many_buffers_as_it_has_and_no_more() {
    let config = Config { send_buffers: 3, most_buffers: 64, ..lean(Primitive::SendReceive, 1) };
    for (buffers, expected) in [(5, 3), (6, 4), (20, 18), (66, 64), (80, 64)] {
        let fabric = Fabric::new(NetworkConfig::default(), 2).unwrap();
        let pools = pools(&fabric, config.message, buffers);
        let mut ends = pooled_endpoints(&fabric, config, &pools);
        let mut taken: Vec<_> = std::iter::from_fn(|| ends[0].acquire()).collect();
        assert_eq!(taken.len(), expected, "of {buffers}");
        assert_eq!(ends[0].send_buffers() as usize, expected);
        // Empty buffers that were borrowed go back to the pool.
        taken.drain(..).for_each(|buffer| ends[0].put(buffer, &[]).unwrap());
        assert_eq!(ends[0].send_buffers(), 3, "of {buffers}");
        assert_eq!(pools[0].free(), buffers - 5);
        drop(ends);
        assert_eq!(pools[0].free(), buffers);
    }
}

#[test]
fn the_source_that_has_rows_is_lent_buffers_and_the_others_are_not() {
    for primitive in PRIMITIVES {
        let inputs = [vec![], vec![0; 4000], vec![], vec![]];
        let mut lab = lab(lean(primitive, 4), 80, &inputs);
        assert!(!lab.run_for(Duration::from_micros(40)).unwrap(), "{primitive}: too fast");
        // Three peers have two each at least.
        let lent = lab.engines[0].endpoint.receive_buffers() - 6;
        assert!((4..=14).contains(&lent), "{primitive}: {lent}");
        assert_eq!(lab.engines[2].endpoint.receive_buffers(), 6, "{primitive}");
        assert!(lab.run().unwrap());
        lab.check(false);
        check_returned(lab);
    }
}

#[test]
fn a_consumer_that_leaves_messages_lying_gives_receive_buffers_back() {
    for primitive in PRIMITIVES {
        let patience = Some(Duration::from_secs(1));
        let config = Config { patience, ..lean(primitive, 2) };
        let mut lab = lab(config, 60, &[vec![], vec![0; 8000]]);
        assert!(!lab.run_for(Duration::from_micros(40)).unwrap(), "{primitive}: too fast");
        let fast = lab.engines[0].endpoint.receive_buffers();
        lab.engines[0].gets_every = 4;
        let got = |lab: &Lab| lab.engines[0].got[&1].len();
        // The node gets another 100 messages.
        let before = got(&lab);
        while got(&lab) < before + 1000 {
            assert!(!lab.run_for(Duration::from_micros(50)).unwrap(), "{primitive}: too fast");
        }
        let slow = lab.engines[0].endpoint.receive_buffers();
        assert!(fast >= 6 && slow <= 4, "{primitive}: {fast}, then {slow}");
        lab.engines[0].gets_every = 1;
        assert!(lab.run().unwrap());
        lab.check(false);
    }
}

#[test]
fn what_an_endpoint_does_not_release_stays_taken() {
    let config = lean(Primitive::SendReceive, 2);
    let mut fabric = Fabric::new(NetworkConfig::default(), 2).unwrap();
    let pools = pools(&fabric, config.message, 20);
    let mut ends = pooled_endpoints(&fabric, config, &pools);
    let mut buffer = ends[1].acquire().unwrap();
    assert!(buffer.append(b"rows"));
    ends[1].put(buffer, &[0]).unwrap();
    let mut rows = None;
    let got = fabric.run_until(Duration::from_millis(1), |now| {
        ends.iter_mut().try_for_each(|end| end.progress(now)).unwrap();
        rows = ends[0].get();
        Ok::<_, drdma_fabric::SimulationError>(rows.is_some())
    });
    assert!(got.unwrap());
    drop(ends);
    assert_eq!((pools[0].free(), pools[1].free()), (19, 20));
    let mut bytes = Vec::new();
    rows.unwrap().append_to(&mut bytes);
    assert_eq!(bytes, b"rows");
}

#[test]
fn a_pool_that_cannot_be_is_refused_with_its_values() {
    let fabric = Fabric::new(NetworkConfig::default(), 3).unwrap();
    let context = fabric.node(0).context();
    let refused =
        |message, bytes| BufferPool::new(context, message, bytes).unwrap_err().to_string();
    let buffers = format!("it must be 1 to {MAX_POOL_BUFFERS}");
    assert_eq!(refused(4096, 4135), format!("buffers of the pool is 0: {buffers}"));
    assert_eq!(refused(16, 1 << 30), format!("buffers of the pool is 19173961: {buffers}"));
    assert_eq!(refused(8, 4096), "message is 8: it must be 16 to 1048576");
    let pool = BufferPool::new(context, 256, 10 * 296).unwrap();
    assert_eq!((pool.buffers(), pool.pinned_bytes()), (10, 2960));
    let opening = |config| {
        let opening = Opening::with_pool(&pool, member(&fabric, 0), config);
        opening.unwrap_err().to_string()
    };
    let config = small(Primitive::SendReceive);
    assert_eq!(
        opening(Config { send_buffers: 11, ..config }),
        "the endpoint needs 11 buffers, 10 of the pool's 10 are free"
    );
    assert_eq!(
        opening(Config { send_buffers: 3, ..config }),
        "the endpoint needs 8 buffers, 7 of the pool's 10 are free"
    );
    assert_eq!(
        opening(Config { message: 255, ..config }),
        "message is 255: the pool's buffers are for messages of 256 B"
    );
    assert_eq!(
        opening(Config { most_buffers: 0, ..config }),
        "most_buffers is 0: it must be 1 to 4096"
    );
    assert_eq!(
        opening(small(Primitive::Read)),
        "MQ/RD is not possible: its buffers have fixed peers, and cannot be a pool's"
    );
    // No refused call kept buffers of the pool.
    assert_eq!(pool.free(), 10);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    /// Any sizes, any skew, a slow consumer: every row once, and the pools' accounts are right after every turn.
    #[test]
    fn any_groups_get_their_rows_from_any_pool(
        datagrams in any::<bool>(),
        nodes in 2_usize..5,
        (own, every, most, lendable) in (1_u32..10, 1_u32..10, 1_u32..24, 0_u32..60),
        rows in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..600), 5),
        skew in 0_u8..3,
        slow in 0_u64..5,
        loss in any::<bool>(),
        regions in any::<bool>(),
    ) {
        let primitive = PRIMITIVES[usize::from(datagrams)];
        let config = Config {
            receive_buffers: own,
            credit_every: every.min(if regions { own - (own / 2).max(1) + 1 } else { own }),
            most_buffers: most,
            regions,
            patience: Some(Duration::from_secs(1)),
            ..lean(primitive, nodes)
        };
        let peers = nodes as u32 - 1;
        let needed = config.send_buffers + peers * own + for_credits(&config, peers);
        let group = |row: &u8| if row % 3 < skew { 0 } else { usize::from(*row) % nodes };
        let inputs: Vec<Input> =
            rows[..nodes].iter().map(|rows| rows.iter().map(group).collect()).collect();
        let faults = FaultConfig { loss: if loss && !datagrams { 0.01 } else { 0.0 }, ..NONE };
        let groups = |_| Groups::repartition(nodes);
        let mut lab = Lab::with_pools(config, Some(needed + lendable), faults, groups, &inputs);
        lab.watch = accounts;
        lab.engines[0].gets_every = slow.max(1);
        for input in [inputs.clone(), inputs.iter().rev().cloned().collect()] {
            prop_assert!(lab.run().unwrap());
            lab.check(false);
            let engines = lab.engines.iter_mut().zip(input);
            engines.for_each(|(engine, input)| engine.restart(input));
        }
        check_returned(lab);
    }
}
