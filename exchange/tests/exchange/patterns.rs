//! Every primitive, every pattern: each row at its nodes, once.

use drdma_exchange::{Config, Groups, Notice, Primitive};
use drdma_fabric::FaultConfig;
use proptest::prelude::*;

use crate::lab::{Lab, even, small};

const NONE: FaultConfig = FaultConfig { loss: 0.0, duplicate: 0.0, reorder: 0.0, corrupt: 0.0 };

/// True if a source's buffers come in their order.
fn ordered(primitive: Primitive) -> bool {
    !matches!(primitive, Primitive::Datagram | Primitive::Write(Notice::PollBuffer))
}

fn repartition(primitive: Primitive, faults: FaultConfig) {
    let inputs: Vec<_> = (0..4).map(|node| even(500 + node * 31, 4)).collect();
    let mut lab = Lab::new(small(primitive), faults, |_| Groups::repartition(4), &inputs);
    assert!(lab.run().unwrap_or_else(|e| panic!("{primitive}: {e:?}")), "{primitive}: not done");
    lab.check(ordered(primitive));
}

#[test]
fn send_receive_repartitions_rows_among_four_nodes() {
    repartition(Primitive::SendReceive, NONE);
}

#[test]
fn datagrams_repartition_rows_among_four_nodes() {
    repartition(Primitive::Datagram, NONE);
}

#[test]
fn reads_repartition_rows_among_four_nodes() {
    repartition(Primitive::Read, NONE);
}

#[test]
fn writes_repartition_rows_among_four_nodes_with_every_notice() {
    for notice in [Notice::PollBuffer, Notice::PollQueue, Notice::PollCompletion] {
        repartition(Primitive::Write(notice), NONE);
    }
}

#[test]
fn a_broadcast_brings_every_row_to_all_others_in_its_order() {
    for primitive in Primitive::ALL {
        let inputs: Vec<_> = (0..3).map(|_| even(200, 1)).collect();
        let mut lab = Lab::new(small(primitive), NONE, |own| Groups::broadcast(3, own), &inputs);
        assert!(lab.run().unwrap(), "{primitive}");
        lab.check(ordered(primitive));
    }
}

#[test]
fn on_rc_nothing_is_lost_where_the_network_loses_doubles_and_damages() {
    let faults = FaultConfig { loss: 0.02, duplicate: 0.02, reorder: 0.02, corrupt: 0.01 };
    for primitive in Primitive::ALL.into_iter().filter(|p| *p != Primitive::Datagram) {
        repartition(primitive, faults);
    }
}

#[test]
fn datagrams_that_overtake_or_come_twice_change_nothing() {
    let faults = FaultConfig { duplicate: 0.05, reorder: 0.2, ..NONE };
    repartition(Primitive::Datagram, faults);
}

/// Primitives that send rows from where they lie.
const REGIONS: [Primitive; 3] =
    [Primitive::SendReceive, Primitive::Datagram, Primitive::Write(Notice::PollCompletion)];

fn regions(primitive: Primitive) -> Config {
    Config { regions: true, ..small(primitive) }
}

#[test]
fn rows_are_repartitioned_from_where_they_lie() {
    for primitive in REGIONS {
        let inputs: Vec<_> = (0..4).map(|node| even(700 + node * 31, 4)).collect();
        let mut lab = Lab::new(regions(primitive), NONE, |_| Groups::repartition(4), &inputs);
        assert!(lab.run().unwrap(), "{primitive}");
        lab.check(false);
        let statistics = lab.engines[0].endpoint.statistics();
        // A message has 10 rows; a request brings every node some.
        let requests = statistics.posts - statistics.control_messages;
        assert!(statistics.bytes >= 500 * 24, "{primitive}: {statistics:?}");
        assert!(requests * 2 < statistics.data_messages, "{primitive}: {statistics:?}");
    }
}

#[test]
fn rows_are_broadcast_from_where_they_lie_in_their_order() {
    for primitive in REGIONS {
        let inputs: Vec<_> = (0..3).map(|_| even(500, 1)).collect();
        let groups = |own| Groups::broadcast(3, own);
        let mut lab = Lab::new(regions(primitive), NONE, groups, &inputs);
        assert!(lab.run().unwrap(), "{primitive}");
        lab.check(primitive != Primitive::Datagram);
    }
}

#[test]
fn rows_that_all_go_to_one_node_wait_for_its_credit() {
    for primitive in REGIONS {
        let inputs: Vec<_> = (0..3).map(|_| vec![1; 900]).collect();
        let mut lab = Lab::new(regions(primitive), NONE, |_| Groups::repartition(3), &inputs);
        lab.engines[1].gets_every = 3;
        assert!(lab.run().unwrap(), "{primitive}");
        lab.check(false);
    }
}

#[test]
fn rows_from_where_they_lie_get_credit_for_several_messages_at_a_time() {
    for primitive in REGIONS {
        for credit_every in [1, 2, 9] {
            let inputs: Vec<_> = (0..4).map(|_| even(4000, 1)).collect();
            let config = Config { receive_buffers: 16, credit_every, ..regions(primitive) };
            let groups = |own| Groups::broadcast(4, own);
            let mut lab = Lab::new(config, NONE, groups, &inputs);
            assert!(lab.run().unwrap(), "{primitive}, {credit_every}");
            lab.check(false);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Any groups, any number of rows to each, at any node.
    #[test]
    fn any_groups_get_their_rows(
        primitive in proptest::sample::select(Primitive::ALL.to_vec()),
        nodes in 1_usize..5,
        sets in proptest::collection::vec(proptest::collection::btree_set(0_usize..5, 0..5), 1..5),
        rows in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 5),
        loss in any::<bool>(),
        from_where_they_lie in any::<bool>(),
        (buffers, every) in (1_u32..12, 1_u32..12),
    ) {
        let lossy = loss && primitive != Primitive::Datagram;
        let regions = from_where_they_lie && REGIONS.contains(&primitive);
        let most = if regions { buffers - (buffers / 2).max(1) + 1 } else { buffers };
        let (receive_buffers, credit_every) = (buffers, every.min(most));
        let config = Config { regions, receive_buffers, credit_every, ..small(primitive) };
        let faults = FaultConfig { loss: if lossy { 0.01 } else { 0.0 }, ..NONE };
        let sets = sets.iter().map(|set| set.iter().copied().filter(|n| *n < nodes).collect());
        let groups = Groups::new(sets.collect(), nodes).unwrap();
        let count = groups.count();
        let input = |rows: &Vec<u8>| rows.iter().map(|row| usize::from(*row) % count).collect();
        let inputs: Vec<_> = rows[..nodes].iter().map(input).collect();
        let mut lab = Lab::new(config, faults, |_| groups.clone(), &inputs);
        prop_assert!(lab.run().unwrap());
        lab.check(ordered(primitive));
    }
}
