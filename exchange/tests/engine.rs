//! The example of a whole engine.

#[allow(dead_code)]
#[path = "../examples/engine.rs"]
mod engine;

#[test]
fn an_engine_over_udp_has_every_row_at_the_node_of_its_key() {
    let counts = engine::run(3, 20_000).unwrap();
    assert_eq!(counts.iter().sum::<u64>(), 60_000);
    assert!(counts.iter().all(|count| *count > 15_000), "{counts:?}");
}
