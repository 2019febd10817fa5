//! Figures of a measurement: rates, percentiles and histograms.

use serde::Serialize;

/// Figures of one size.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Payload bytes of a transfer.
    pub bytes: u64,
    /// Messages of a transfer.
    pub messages: u64,
    /// Work requests of a transfer.
    pub requests: u64,
    /// Number of transfers.
    pub iterations: u64,
    /// Rates of the transfers, if there is a clock.
    pub rates: Option<Rates>,
    /// Latency of the transfers, if there is a clock, and each waited for the one before.
    pub latency: Option<Latency>,
    /// Counts of the card's work, for all transfers together.
    pub cost: Cost,
}

/// Counts of a card's work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// Number of packets.
    pub packets: u64,
    /// Payload bytes of the packets.
    pub payload_bytes: u64,
    /// Bytes of work requests, as posted.
    pub request_bytes: u64,
    /// Number of DMA reads of payload.
    pub data_reads: u64,
    /// Bytes of the reads of payload.
    pub data_read_bytes: u64,
    /// Number of DMA reads of work requests, bitmaps and pointers.
    pub control_reads: u64,
    /// Bytes of the reads of work requests, bitmaps and pointers.
    pub control_read_bytes: u64,
}

/// Bars of a histogram, without the last one, of all longer times.
const BARS: u64 = 20;
/// Part of the transfers that the peak rate is measured over: one in this many.
const WINDOWS: usize = 10;

/// Rates of transfers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rates {
    /// Time from the first doorbell to the last completion, in nanoseconds.
    pub ns: f64,
    /// Payload in Gb/s over that time.
    pub average_gbps: f64,
    /// Payload in Gb/s over the fastest tenth of consecutive transfers.
    pub peak_gbps: f64,
    /// Messages per second.
    pub messages_per_s: f64,
}

impl Rates {
    /// Rates from the times at which transfers were complete, in nanoseconds since the first doorbell; all have
    /// `bytes` and `messages`. `None` if no time passed.
    pub fn of(completed_ns: &[f64], bytes: u64, messages: u64) -> Option<Self> {
        let (count, ns) = (completed_ns.len(), *completed_ns.last()?);
        if ns <= 0.0 {
            return None;
        }
        let gbps = |transfers: usize, ns: f64| transfers as f64 * bytes as f64 * 8.0 / ns;
        let average_gbps = gbps(count, ns);
        let window = (count / WINDOWS).max(1);
        // Completions that were taken at the same time are no window.
        let windows =
            completed_ns.windows(window + 1).map(|window| window[window.len() - 1] - window[0]);
        let peak = windows.filter(|ns| *ns > 0.0).map(|ns| gbps(window, ns));
        let messages_per_s = (count as u64 * messages) as f64 / ns * 1e9;
        Some(Self {
            ns,
            average_gbps,
            peak_gbps: peak.fold(average_gbps, f64::max),
            messages_per_s,
        })
    }
}

/// Latency of transfers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// Number of transfers.
    pub count: usize,
    /// Shortest time in nanoseconds.
    pub min_ns: f64,
    /// Time in nanoseconds that half of the transfers did not exceed.
    pub median_ns: f64,
    /// Time in nanoseconds that 99 of 100 transfers did not exceed.
    pub p99_ns: f64,
    /// Time in nanoseconds that 999 of 1,000 transfers did not exceed.
    pub p999_ns: f64,
    /// Longest time in nanoseconds.
    pub max_ns: f64,
    /// Histogram of the times.
    pub histogram: Vec<Bar>,
}

/// A bar of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bar {
    /// Least time of the bar in nanoseconds.
    pub from_ns: f64,
    /// Time at which the bar ends, exclusive, in nanoseconds; the last bar has no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_ns: Option<f64>,
    /// Number of transfers.
    pub count: usize,
}

impl Latency {
    /// Latency from the times of all transfers, in nanoseconds; `None` if there are none.
    pub fn of(mut taken_ns: Vec<f64>) -> Option<Self> {
        taken_ns.sort_by(f64::total_cmp);
        let (min_ns, max_ns) = (*taken_ns.first()?, *taken_ns.last()?);
        let p999_ns = percentile(&taken_ns, 999, 1000);
        Some(Self {
            count: taken_ns.len(),
            min_ns,
            median_ns: percentile(&taken_ns, 1, 2),
            p99_ns: percentile(&taken_ns, 99, 100),
            p999_ns,
            max_ns,
            histogram: histogram(&taken_ns, p999_ns),
        })
    }
}

/// The smallest value that at least `numerator / denominator` of the sorted values do not exceed
/// (nearest rank).
fn percentile(sorted: &[f64], numerator: usize, denominator: usize) -> f64 {
    sorted[(sorted.len() * numerator).div_ceil(denominator).max(1) - 1]
}

/// Bars of equal round widths from the shortest to beyond `top`, and one for everything longer.
/// Empty bars at either end are left out.
fn histogram(sorted: &[f64], top: f64) -> Vec<Bar> {
    let mut width = 1.0;
    let steps = [2.0, 2.5, 2.0];
    let first = |width: f64| (sorted[0] / width).floor();
    for step in steps.iter().cycle() {
        if (top / width).floor() - first(width) < BARS as f64 {
            break;
        }
        width *= step;
    }
    let (first, last) = (first(width), (top / width).floor());
    let mut bars = Vec::new();
    let mut rest = sorted;
    for bar in 0..=(last - first) as u64 {
        let (from, to) = ((first + bar as f64) * width, (first + bar as f64 + 1.0) * width);
        let count = rest.partition_point(|ns| *ns < to);
        bars.push(Bar { from_ns: from, to_ns: Some(to), count });
        rest = &rest[count..];
    }
    if !rest.is_empty() {
        bars.push(Bar { from_ns: (last + 1.0) * width, to_ns: None, count: rest.len() });
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let latency = Latency::of((1..=1000).rev().map(f64::from).collect()).unwrap();
        assert_eq!((latency.min_ns, latency.max_ns), (1.0, 1000.0));
        assert_eq!((latency.median_ns, latency.p99_ns, latency.p999_ns), (500.0, 990.0, 999.0));
        let few = Latency::of(vec![7.0, 3.0, 5.0]).unwrap();
        assert_eq!((few.median_ns, few.p99_ns, few.p999_ns), (5.0, 7.0, 7.0));
        assert_eq!(Latency::of(Vec::new()), None);
    }

    #[test]
    fn every_transfer_is_in_one_bar() {
        let mut taken: Vec<f64> = (0..2000).map(|i| 1000.0 + f64::from(i % 37)).collect();
        taken.push(1e9);
        let bars = Latency::of(taken.clone()).unwrap().histogram;
        assert_eq!(bars.iter().map(|bar| bar.count).sum::<usize>(), taken.len());
        assert!(bars.len() <= BARS as usize + 1, "{bars:?}");
        let (last, bars) = bars.split_last().unwrap();
        assert_eq!((last.to_ns, last.count), (None, 1));
        for bar in bars {
            let inside = |ns: &&f64| (bar.from_ns..bar.to_ns.unwrap()).contains(*ns);
            assert_eq!(taken.iter().filter(inside).count(), bar.count, "{bar:?}");
        }
        let alike = Latency::of(vec![64.0; 5]).unwrap().histogram;
        assert_eq!(alike, [Bar { from_ns: 64.0, to_ns: Some(65.0), count: 5 }]);
    }

    #[test]
    fn the_peak_is_the_fastest_tenth() {
        // 100 transfers of 1,000 B: 80 ns each, but 40 ns each from the 50th to the 59th.
        let mut at = 0.0;
        let completed: Vec<f64> = (0..100)
            .map(|i| {
                at += if (50..60).contains(&i) { 40.0 } else { 80.0 };
                at
            })
            .collect();
        let rates = Rates::of(&completed, 1000, 2).unwrap();
        assert_eq!(rates.ns, 7600.0);
        assert!((rates.average_gbps - 800_000.0 / 7600.0).abs() < 1e-9);
        assert_eq!(rates.peak_gbps, 200.0);
        assert!((rates.messages_per_s - 200.0 / 7.6e-6).abs() < 1.0);
        // All transfers were complete at the same time.
        let rates = Rates::of(&[10.0, 10.0], 5, 1).unwrap();
        assert_eq!((rates.average_gbps, rates.peak_gbps), (8.0, 8.0));
        assert_eq!(Rates::of(&[0.0], 5, 1), None);
        assert_eq!(Rates::of(&[], 5, 1), None);
    }
}
