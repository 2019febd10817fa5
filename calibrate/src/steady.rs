//! Cost of a read in steady state: the time of a read in the middle of a long run of them.
//!
//! A run begins with round trips in which nothing arrives, and with a burst, as many reads as may be
//! in flight being made at once; bursts come back together for a long time. It ends with the packets
//! that are on their way. So its length in reads and cycles says little: that of a run of a thousand
//! reads is wrong by a hundredth or two, also if that of a shorter one is taken from it. Instead the
//! card's counters are read again and again while a run is under way. A line through what they say
//! between the start and the end has the cost of a read as its slope, in which bursts cancel out.
//!
//! How exact that is can be seen without knowing the device: the slopes through the first and the
//! second half of the samples differ. Runs are made longer until they agree.

/// Reads of the first run, which determines how long a run must be.
const FIRST: u32 = 64;
/// Factor by which a run must be longer than one of a single read, at least.
const LENGTH: u64 = 12;
/// Samples that a slope needs, at least.
const SAMPLES: usize = 16;
/// Share by which the slopes of both halves may differ. The slope of all samples is several
/// times as exact.
const TOLERANCE: f64 = 0.01;

/// Values of the counters at some time of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Clock cycles since the doorbell.
    pub cycles: u64,
    /// Number of DMA reads of payload.
    pub reads: u64,
}

/// Measurement of one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Samples of the counters while the request was under way, in order.
    pub samples: Vec<Sample>,
    /// Sample of the counters when the request had completed.
    pub end: Sample,
    /// Bytes of the request's reads.
    pub read_bytes: u64,
}

/// Cost of a read, as a run shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// Cycles from one read to the next.
    pub cycles: f64,
    /// Share by which the slopes of both halves of the samples differ.
    pub spread: f64,
}

impl Run {
    /// Cost of a read in the middle of this run; `None` if there are too few samples, or if the counters
    /// stand still.
    pub fn slope(&self) -> Option<Slope> {
        let all = self.end.reads;
        // The first quarter of the reads is the start, the last twentieth the end.
        let middle = |sample: &&Sample| sample.reads * 4 >= all && sample.reads * 20 <= all * 19;
        let middle: Vec<Sample> = self.samples.iter().filter(middle).copied().collect();
        if middle.len() < SAMPLES {
            return None;
        }
        let (first, second) = middle.split_at(middle.len() / 2);
        let cycles = fit(&middle)?;
        let spread = (fit(first)? - fit(second)?).abs() / cycles;
        Some(Slope { cycles, spread })
    }
}

/// Cycles a read of the line with the least squared error, in reads, through the samples.
fn fit(samples: &[Sample]) -> Option<f64> {
    let count = samples.len() as f64;
    let mean = |get: fn(&Sample) -> u64| samples.iter().map(get).sum::<u64>() as f64 / count;
    let (cycles, reads) = (mean(|sample| sample.cycles), mean(|sample| sample.reads));
    let (mut squares, mut products) = (0.0, 0.0);
    for sample in samples {
        let apart = sample.cycles as f64 - cycles;
        squares += apart * apart;
        products += apart * (sample.reads as f64 - reads);
    }
    (squares > 0.0 && products > 0.0).then(|| squares / products)
}

/// Makes runs with more and more rows, each a read, until one is in steady state: it takes several times as
/// long as `one` read does, and the slopes of its halves agree. If none does, the last run has at
/// most `limit` rows and more than half as many.
///
/// # Errors
/// Those of `run`.
pub fn steady<E>(
    one: u64,
    limit: u32,
    mut run: impl FnMut(u32) -> Result<Run, E>,
) -> Result<Run, E> {
    let mut rows = u64::from(FIRST.min(limit));
    let limit = u64::from(limit);
    let mut first = run(rows as u32)?.end.cycles;
    // All of these reads may have been in flight at once.
    while first < 2 * one && 2 * rows <= limit {
        rows *= 2;
        first = run(rows as u32)?.end.cycles;
    }
    let more = first.saturating_sub(one).max(1);
    rows = (LENGTH * one).saturating_mul(rows).div_ceil(more).clamp(rows, limit);
    loop {
        let run = run(rows as u32)?;
        let settled = run.slope().is_some_and(|slope| slope.spread <= TOLERANCE);
        if settled || 2 * rows > limit {
            return Ok(run);
        }
        rows *= 2;
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// A device that makes no read for `startup` cycles and then `burst` of them at once, for each of
    /// which `per_read` cycles must pass before the next burst; a run ends `startup` cycles after its
    /// last read. For the first `cold` cycles of reading a cycle counts for nine tenths of one. It is
    /// looked at every `look` cycles.
    #[derive(Clone, Copy)]
    struct Device {
        startup: u64,
        per_read: f64,
        burst: u64,
        cold: f64,
        look: usize,
    }

    const DEVICE: Device = Device { startup: 1_000, per_read: 5.25, burst: 1, cold: 0.0, look: 20 };

    impl Device {
        fn run(self, rows: u32) -> Run {
            let all = u64::from(rows);
            let burst_cycles = self.burst as f64 * self.per_read;
            let last = (all.div_ceil(self.burst) - 1) as f64 * burst_cycles;
            let last = last + (last / 9.0).min(self.cold / 10.0);
            let end = Sample { cycles: 2 * self.startup + last as u64, reads: all };
            let sample = |cycles: u64| {
                let since = cycles.checked_sub(self.startup).map(|since| since as f64);
                let since = since.map(|since| since - since.min(self.cold) / 10.0);
                let bursts = since.map_or(0, |since| (since / burst_cycles) as u64 + 1);
                Sample { cycles, reads: all.min(bursts * self.burst) }
            };
            let samples = (0..end.cycles).step_by(self.look).map(sample).collect();
            Run { samples, end, read_bytes: 4 * all }
        }

        /// The cost that is found, and the rows of every run.
        fn measured(self, limit: u32) -> (Option<Slope>, Vec<u32>) {
            let mut made = Vec::new();
            let run = steady(self.run(1).end.cycles, limit, |rows| {
                made.push(rows);
                Ok::<_, Infallible>(self.run(rows))
            });
            (run.unwrap_or_else(|never| match never {}).slope(), made)
        }

        fn cost(self) -> f64 {
            self.measured(1 << 20).0.expect("a slope").cycles
        }
    }

    #[test]
    fn start_and_end_cost_a_read_nothing() {
        for startup in [10, 1_000, 100_000] {
            let found = Device { startup, ..DEVICE }.cost();
            assert!((found / 5.25 - 1.0).abs() < 1e-3, "{found} after a start of {startup}");
        }
    }

    #[test]
    fn reads_that_cost_a_hundredth_less_are_found_to() {
        for burst in [1, 48, 64, 100, 150] {
            let cost = |per_read| Device { per_read, burst, ..DEVICE }.cost();
            let (found, dearer) = (cost(5.284), cost(5.35));
            assert!((found / 5.284 - 1.0).abs() < 0.004, "{found}, {burst} at once");
            assert!(found < dearer, "{found} and {dearer}, {burst} at once");
        }
    }

    #[test]
    fn a_host_that_looks_seldom_makes_longer_runs() {
        let device = Device { look: 2_000, burst: 64, ..DEVICE };
        let (found, made) = device.measured(1 << 20);
        let cycles = found.expect("a slope").cycles;
        assert!((cycles / 5.25 - 1.0).abs() < 0.004, "{cycles}");
        assert!(made.len() > 2 && made.is_sorted(), "{made:?}");
    }

    #[test]
    fn a_device_that_is_slow_at_first_gets_longer_runs() {
        let found = Device { cold: 10_000.0, ..DEVICE }.cost();
        assert!((found / 5.25 - 1.0).abs() < 0.004, "{found}");
    }

    #[test]
    fn runs_end_where_memory_does() {
        let device = Device { look: 2_000, burst: 64, ..DEVICE };
        let (found, made) = device.measured(3_000);
        assert_eq!(found, None);
        assert!((1_500..=3_000).contains(made.last().expect("a run")), "{made:?}");
        assert_eq!(device.measured(8).1, [8, 8]);
    }

    #[test]
    fn counters_that_stand_still_have_no_slope() {
        let still = Sample { cycles: 9, reads: 5 };
        let run = |samples| Run { samples, end: Sample { cycles: 9, reads: 10 }, read_bytes: 40 };
        assert_eq!(run(vec![still; 99]).slope(), None);
        // Time passes, nothing is read.
        let samples = (0..99).map(|cycles| Sample { cycles, ..still }).collect();
        assert_eq!(run(samples).slope(), None);
    }
}
