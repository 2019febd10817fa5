//! The CPU time of whole queries: with the engine's own exchange, and with the workers' cards.
//!
//! Both run on the same workers, one after the other in turns, since the load of the machine changes times more than
//! the exchange does. What is compared are the medians of one run.

use std::{fmt, thread, time::Duration};

use datafusion::arrow::record_batch::RecordBatch;

use crate::{Cluster, Error, Transport, cpu::Usage, tpch};

/// Time after a query in which workers drop what is left of it.
const REST: Duration = Duration::from_millis(50);
/// Interval at which workers are asked whether exchanges have ended.
const PAUSE: Duration = Duration::from_millis(10);
/// Times that workers are asked, at most: 5 s.
const PAUSES: usize = 500;

/// A way in which a query's rows travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The engine's own exchange as it is by default: with compression (LZ4).
    Flight,
    /// The engine's own exchange without compression.
    Plain,
    /// The workers' cards.
    Drdma,
}

/// The ways, in the order of the columns.
const WAYS: [Way; 3] = [Way::Flight, Way::Plain, Way::Drdma];

impl Way {
    /// Makes the cluster's session use this way from now on.
    fn choose(self, cluster: &Cluster) -> Result<(), Error> {
        let (transport, compression) = match self {
            Self::Flight => (Transport::Flight, "lz4"),
            Self::Plain => (Transport::Flight, "none"),
            // What the coordinator gets still goes by the engine's own exchange.
            Self::Drdma => (Transport::Drdma, "lz4"),
        };
        cluster.query(&format!("set drdma.exchange = '{transport}'"))?;
        cluster.query(&format!("set distributed.compression = '{compression}'"))?;
        Ok(())
    }
}

/// CPU time of the workers for a query, medians of several runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// With the engine's own exchange.
    pub flight: Duration,
    /// With the engine's own exchange, without compression.
    pub plain: Duration,
    /// With the cards; the time that simulates them is left out.
    pub drdma: Duration,
    /// With the cards; the time that simulates them is counted.
    pub with_card: Duration,
    /// Rows from worker to worker by the cards.
    pub rows: u64,
    /// Bytes of these rows in memory.
    pub bytes: u64,
}

impl std::ops::AddAssign for Comparison {
    fn add_assign(&mut self, other: Self) {
        self.flight += other.flight;
        self.plain += other.plain;
        self.drdma += other.drdma;
        self.with_card += other.with_card;
        self.rows += other.rows;
        self.bytes += other.bytes;
    }
}

impl Comparison {
    /// The names of the columns that [`Display`](fmt::Display) prints, behind four characters for the query.
    pub const TITLE: &str = "          rows sent   MB sent    flight     plain     drdma  and card   \
                             drdma/flight  drdma/plain  and card/flight";
    /// What the columns are.
    pub const LEGEND: &str = "CPU time of all workers in ms: `flight` is the engine's own exchange with its default \
                              compression, `plain` without compression,\n`drdma` is by the cards without the time that \
                              simulates them, `and card` with it.";
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let ratio = |part: Duration, whole: Duration| part.as_secs_f64() / whole.as_secs_f64();
        let Self { flight, plain, drdma, with_card, rows, bytes } = *self;
        write!(f, "{rows:>15} {:>9.1}", bytes as f64 / 1e6)?;
        for time in [flight, plain, drdma, with_card] {
            write!(f, " {:>9.1}", ms(time))?;
        }
        let (by_flight, by_plain) = (ratio(drdma, flight), ratio(drdma, plain));
        let with_card = ratio(with_card, flight);
        write!(f, "   {by_flight:>12.2}  {by_plain:>11.2}  {with_card:>15.2}")
    }
}

/// Measures a query `times` times in each way, after one run in each that is not counted. `expected` are the rows that
/// every run must have, as text.
///
/// # Errors
/// The query fails, rows differ, or a worker does not answer.
///
/// # Panics
/// If `times` is 0.
pub fn compare(
    cluster: &Cluster,
    sql: &str,
    times: usize,
    expected: &[String],
) -> Result<Comparison, Error> {
    let mut used: [Vec<Usage>; WAYS.len()] = Default::default();
    for time in 0..=times {
        // No way is always the first one.
        for at in (0..WAYS.len()).map(|at| (at + time) % WAYS.len()) {
            let usage = run(cluster, WAYS[at], sql, expected)?;
            if time > 0 {
                used[at].push(usage);
            }
        }
    }
    WAYS[2].choose(cluster)?;
    let [flight, plain, drdma] = used;
    let counts = drdma[0];
    Ok(Comparison {
        flight: median(flight.iter().map(|used| used.process)),
        plain: median(plain.iter().map(|used| used.process)),
        drdma: median(drdma.iter().map(Usage::without_card)),
        with_card: median(drdma.iter().map(|used| used.process)),
        rows: counts.rows,
        bytes: counts.bytes,
    })
}

/// Runs a query once, and returns what all workers have used for it.
fn run(cluster: &Cluster, way: Way, sql: &str, expected: &[String]) -> Result<Usage, Error> {
    way.choose(cluster)?;
    let before = cluster.usage()?;
    let rows = cluster.query(sql)?;
    comes_to_rest(cluster);
    let used = cluster.usage()? - before;
    check(way, &rows, expected)?;
    Ok(used)
}

/// Waits until the workers have done with a query.
fn comes_to_rest(cluster: &Cluster) {
    thread::sleep(REST);
    for _ in 0..PAUSES {
        if cluster.exchange_ends() == 0 {
            return;
        }
        thread::sleep(PAUSE);
    }
}

fn check(way: Way, rows: &[RecordBatch], expected: &[String]) -> Result<(), Error> {
    let rows = tpch::rows_as_text(rows)?;
    if rows == expected {
        return Ok(());
    }
    let what = format!(
        "{} rows by {way:?}, {} in one process, and they differ",
        rows.len(),
        expected.len()
    );
    Err(Error::Protocol { peer: "the cluster".into(), what })
}

fn median(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<_> = times.collect();
    times.sort_unstable();
    times[times.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_has_its_ratios_below_its_columns() {
        let ms = Duration::from_millis;
        let mut sum = Comparison::default();
        let one = Comparison {
            flight: ms(100),
            plain: ms(80),
            drdma: ms(60),
            with_card: ms(110),
            rows: 1000,
            bytes: 5_000_000,
        };
        sum += one;
        sum += one;
        let line = sum.to_string();
        let words: Vec<_> = line.split_whitespace().collect();
        let expected = ["2000", "10.0", "200.0", "160.0", "120.0", "220.0", "0.60", "0.75", "1.10"];
        assert_eq!(words, expected);
        assert_eq!(line.len() + "q1  ".len(), Comparison::TITLE.len());
    }

    #[test]
    fn the_median_is_the_one_in_the_middle() {
        let ms = Duration::from_millis;
        assert_eq!(median([ms(9), ms(1), ms(3)].into_iter()), ms(3));
        assert_eq!(median([ms(7)].into_iter()), ms(7));
    }
}
