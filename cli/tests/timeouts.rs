//! A device that makes no progress does not hold a run for ever.

use std::{path::Path, time::Duration};

use drdma_cli::{
    device,
    job::Job,
    run::{self, RunError},
};
use drdma_sim::wire::{Behaviour, Network, PeerConfig};
use libdrdma::WorkCompletion;

#[test]
fn a_run_gives_up_when_nothing_happens_and_names_the_post() {
    let post = |wr_id: u32| {
        format!(
            r#"{{"verb": "post_send", "qp": "red", "wr_id": {wr_id}, "op": "send", "regions":
                 [{{"type": "contiguous", "buffer": "t", "offset": 0, "len": 4}}]}}"#
        )
    };
    let text = format!(
        r#"{{"buffers": [{{"name": "t", "size": 4}}],
            "local": {{"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"}},
            "qps": [{{"name": "red", "transport": "rc", "qpn": 17, "dest_qpn": 33,
                      "start_psn": 100, "mtu": 1024, "dest_mac": "02:00:00:00:00:02",
                      "dest_ip": "10.0.0.2"}}],
            "posts": [{}, {}]}}"#,
        post(7),
        post(8)
    );
    let job = Job::parse(&text, Path::new(".")).unwrap();
    let network = Network::new();
    let qp = &job.qps[0];
    network.add_peer(PeerConfig {
        behaviour: Behaviour::Dead,
        ..PeerConfig::new(qp.transport, qp.dest_mac, qp.dest_ip, qp.dest_qpn, qp.qpn)
    });
    let card = device::open("soft:", &network).unwrap();
    let context = device::set_up(card, job.local).unwrap();
    let mut completions: Vec<WorkCompletion> = Vec::new();
    let patience = Duration::from_millis(200);
    let error = run::run(&job, &context, patience, &mut completions).unwrap_err();
    assert!(matches!(error, RunError::TimedOut { post: 0, wr_id: 7, others: 1, .. }), "{error}");
    assert_eq!(
        error.to_string(),
        "no completion for 0.2 s: posts[0] (wr_id 7) is not complete, nor are 1 posts behind it"
    );
    assert!(completions.is_empty());
}
