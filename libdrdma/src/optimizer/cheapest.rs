//! The dynamic program.

use super::{
    BoundingBox, CostTable, Fragment, Limits, Optimizer, Pages, Plan, PlanError, READ_BOUNDARY,
    fragments::Run,
};

/// Bytes of a page.
const PAGE: usize = READ_BOUNDARY as usize;

/// Finds the reads of least cost under a table, over all groupings of the fragments into reads. A
/// read begins and ends with a needed byte, and ends inside a run of them only where its length
/// reaches the limit.
///
/// Time is proportional to the fragments times those that fit a longest read.
#[derive(Clone, Copy, Debug)]
pub struct Cheapest<'a>(
    /// Costs of reads.
    pub &'a CostTable,
);

impl Optimizer for Cheapest<'_> {
    fn plan(&self, fragments: &[Fragment], limits: &Limits) -> Result<Plan, PlanError> {
        let longest = limits.longest()? as usize;
        let mut program = Program::new(self.0, longest);
        let (mut boxes, mut reads) = (Vec::new(), Vec::new());
        for (page, runs) in Pages::of(fragments)?.iter() {
            program.solve(runs, &mut reads);
            // Tracing back yields the last read first.
            for &(start, end) in reads.iter().rev() {
                boxes.push(BoundingBox { addr: page + start as u64, len: (end - start) as u32 });
            }
        }
        Ok(Plan::new(boxes, limits.window))
    }
}

/// Best way to read everything before a byte of a page.
#[derive(Clone, Copy)]
struct Before {
    /// The least cost; infinite if no read begins at this byte.
    cost: f64,
    /// The last read of that way.
    last: Run,
}

const UNREACHED: Before = Before { cost: f64::INFINITY, last: (0, 0) };

/// The program for one page at a time: no read crosses a page's end, and none after it is in the
/// cache line of one before.
struct Program<'a> {
    costs: &'a CostTable,
    longest: usize,
    /// Cost of a read by its length.
    by_length: Vec<f64>,
    /// For every byte at which a read may begin, and for the page's end.
    before: Vec<Before>,
}

impl<'a> Program<'a> {
    fn new(costs: &'a CostTable, longest: usize) -> Self {
        let by_length = (0..=longest).map(|len| costs.read(len as u32)).collect();
        Self { costs, longest, by_length, before: vec![UNREACHED; PAGE + 1] }
    }

    /// Finds the reads of a page, the last one first.
    fn solve(&mut self, runs: &[Run], reads: &mut Vec<Run>) {
        reads.clear();
        self.before.fill(UNREACHED);
        self.before[runs[0].0].cost = 0.0;
        for (index, &(first, end)) in runs.iter().enumerate() {
            let mut last_end = index.checked_sub(1).map(|before| runs[before].1);
            for start in first..end {
                if self.before[start].cost < f64::INFINITY {
                    self.extend(&runs[index..], start, last_end);
                }
                // A read that begins further inside the run continues one that was cut.
                last_end = Some(start + 1);
            }
        }
        let mut at = PAGE;
        while at != runs[0].0 {
            let read = self.before[at].last;
            reads.push(read);
            at = read.0;
        }
    }

    /// Tries every read that begins at `start`, in the first of `runs`, where all before `last_end`
    /// has been read.
    fn extend(&mut self, runs: &[Run], start: usize, last_end: Option<usize>) {
        let limit = start + self.longest;
        let cost = self.before[start].cost + self.costs.shared_line(last_end, start);
        for (index, &(first, end)) in runs.iter().enumerate() {
            if first >= limit && index > 0 {
                return;
            }
            let cut = end.min(limit);
            let next = match end <= limit {
                true => runs.get(index + 1).map_or(PAGE, |run| run.0),
                false => cut,
            };
            let cost = cost + self.by_length[cut - start];
            if cost < self.before[next].cost {
                self.before[next] = Before { cost, last: (start, cut) };
            }
            if cut < end {
                return;
            }
        }
    }
}
