//! The jobs that are replayed in Corundum's shell: the simulated card sends what the reference model sends.

mod support;

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use drdma_tests::capture;
use support::Folder;

/// Place of the queue pair number in a frame: behind Ethernet, IPv4, UDP and 5 bytes of the BTH.
const QPN: std::ops::Range<usize> = 47..50;

/// The frames that a card sends for the job, by queue pair, in order.
fn frames(folder: &Folder, device: &str) -> BTreeMap<Vec<u8>, Vec<Vec<u8>>> {
    let output = folder.drdma(&["run", "job.json", "--device", device, "--pcap", "out.pcap"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut by_queue_pair = BTreeMap::<_, Vec<_>>::new();
    for frame in capture::frames(&fs::read(folder.file("out.pcap")).unwrap()) {
        by_queue_pair.entry(frame[QPN].to_vec()).or_default().push(frame);
    }
    by_queue_pair
}

#[test]
fn rows_that_the_card_puts_together_are_those_of_the_reference_model() {
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../bitstreams/shell-test/kinds_job.py");
    for (kind, queue_pairs) in [("strings", 4), ("bits", 4), ("keys", 4), ("chains", 1)] {
        let folder = Folder::new();
        let made = Command::new("python3").arg(&script).arg(kind).output();
        let made = made.unwrap_or_else(|error| panic!("python3 (cargo xtask setup): {error}"));
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        fs::write(folder.file("job.json"), made.stdout).unwrap();
        let [expected, sent] = ["soft:", "rtl:"].map(|device| frames(&folder, device));
        assert_eq!(expected.len(), queue_pairs, "{kind}");
        assert!(expected == sent, "{kind}");
    }
}
