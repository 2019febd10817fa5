use drdma_sim::wire::Network;
use drdma_soft::SoftCard;

use super::{rig::Shape, *};

fn point(size: u32, stride: u32, ns: f64) -> Point {
    let read_bytes = f64::from(size.max(4));
    Point { size, stride, read_bytes, cycles: ns / 4.0, ns, spread: 0.0 }
}

fn rig(network: &Network, patience: Duration) -> Rig {
    network.add_peer(peer());
    let context = Context::open(Box::new(SoftCard::new(network.clone())), options()).unwrap();
    Rig::new(&context, patience).unwrap()
}

#[test]
fn every_row_is_one_read_of_the_size_that_is_measured() {
    let network = Network::new();
    let mut rig = rig(&network, Duration::from_secs(9));
    for (size, stride) in grid() {
        for rows in [1, 100] {
            let run = rig.run(size, stride, rows).unwrap();
            assert_eq!(run.end.reads, u64::from(rows), "{size} every {stride}");
            assert_eq!(run.read_bytes, u64::from(rows * size), "{size} every {stride}");
        }
    }
    assert_eq!(network.errors(), []);
}

#[test]
fn rows_have_their_size_and_gaps_that_a_card_can_read_through() {
    for size in SIZES {
        let shape = Shape::of(size);
        let offsets: Vec<u32> = shape.offsets().collect();
        assert_eq!(offsets[0], 0);
        assert!(offsets.is_sorted_by(|a, b| a < b));
        // The card joins neighbouring blocks of 256 B only.
        assert!(offsets.windows(2).all(|pair| pair[1] / 256 - pair[0] / 256 <= 1), "{size}");
        // The next row is further away than any gap in this one, unless it touches it.
        assert!(shape.gap < size);
    }
}

#[test]
fn costs_follow_from_the_points() {
    let mut points = vec![
        point(1, 64, 19.0),
        point(4, 64, 20.0),
        point(4, 128, 21.0),
        // Half of the reads wait for the other half.
        point(4, 32, 45.0),
        point(64, 64, 24.0),
        point(4096, 4096, 429.2),
    ];
    points[3].spread = 0.03;
    let calibration = Calibration::of("rtl:", 4.0, points.clone()).unwrap();
    let bytes: Vec<u32> = calibration.costs.reads().iter().map(|read| read.bytes).collect();
    assert_eq!(bytes, [4, 64, 4096]);
    // Reads of 1 B are words of 4.
    assert_eq!(calibration.costs.read(4), 20.0);
    assert_eq!(calibration.costs.same_line_ns(), 50.0);
    // 0.1 ns a byte, 19.6 ns a request.
    assert_eq!(calibration.merge_threshold, 196);
    let text = render(&calibration);
    assert!(text.contains("│           4096 ┆"), "{text}");
    assert!(text.contains("429.2"), "{text}");
    assert!(text.contains("differ by at most 3.0 %"), "{text}");
    assert!(text.contains("A gap of 196 B costs as much as a request"), "{text}");

    points.clear();
    assert_eq!(Calibration::of("rtl:", 4.0, points), Err(CostError::Empty));
}

#[test]
fn counters_that_stand_still_are_no_cost() {
    // A read every 5 cycles.
    let sample = |at: u64| Sample { cycles: 1000 + 5 * at, reads: at };
    let run = |looks| Run {
        samples: (0..looks).map(sample).collect(),
        end: sample(100),
        read_bytes: 400,
    };
    let good = Point::of(4, 64, &run(100), 4.0).unwrap();
    assert_eq!((good.cycles, good.ns, good.read_bytes), (5.0, 20.0, 4.0));
    assert!(good.spread < 1e-9);
    let error = Point::of(4, 64, &run(20), 4.0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "reads of 4 B every 64 B cannot be told: 20 looks at the counters while 100 of them took \
         1500 cycles"
    );
}

#[test]
fn a_card_that_refuses_or_does_nothing_is_told_of() {
    let network = Network::new();
    let mut rig = rig(&network, Duration::from_secs(9));
    let error = rig.run_at(4096, u32::MAX, 4, 64, 8).unwrap_err().to_string();
    assert_eq!(error, "reads of 4 B every 64 B ended with local_protection_error");

    let network = Network::new();
    let mut rig = self::rig(&network, Duration::ZERO);
    let error = rig.measure(4, 64).unwrap_err().to_string();
    assert_eq!(error, "reads of 4 B every 64 B did not end within 0 s");
}
