//! The card's rule.

use super::{
    BoundingBox, Fragment, LINE, Limits, Optimizer, Pages, Plan, PlanError, fragments::Run,
};

/// Reads through gaps of at most the given number of bytes, as the card does with its register
/// [`MERGE_THRESHOLD`](drdma_abi::register::MERGE_THRESHOLD). Unless that is 0, wider gaps are read
/// through as well if the needed bytes before and behind lie in one cache line ([`LINE`]), for
/// which two reads would wait one after the other. A sequence that is longer than a read may be is
/// cut as late as possible.
///
/// The card keeps track of words of 4 bytes in blocks of 256: it rounds its reads to words, and
/// reads through no gap that holds a whole block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold(
    /// The widest gap in bytes that is read through wherever it lies.
    pub u32,
);

impl Optimizer for Threshold {
    fn plan(&self, fragments: &[Fragment], limits: &Limits) -> Result<Plan, PlanError> {
        let longest = limits.longest()? as usize;
        let (mut boxes, mut reads) = (Vec::new(), Vec::new());
        for (page, runs) in Pages::of(fragments)?.iter() {
            self.page(runs, longest, &mut reads);
            for &(start, end) in &reads {
                boxes.push(BoundingBox { addr: page + start as u64, len: (end - start) as u32 });
            }
        }
        Ok(Plan::new(boxes, limits.window))
    }
}

impl Threshold {
    /// True if the gap from `end` to `start` is read through.
    fn goes_on(&self, end: usize, start: usize) -> bool {
        start - end <= self.0 as usize || (self.0 > 0 && (end - 1) / LINE == start / LINE)
    }

    /// Forms the reads of a page.
    pub(super) fn page(&self, runs: &[Run], longest: usize, reads: &mut Vec<Run>) {
        reads.clear();
        for &(mut start, end) in runs {
            if let Some(read) = reads.last_mut()
                && self.goes_on(read.1, start)
                && start - read.0 < longest
            {
                read.1 = end.min(read.0 + longest);
                start = read.1;
            }
            while start < end {
                let cut = end.min(start + longest);
                reads.push((start, cut));
                start = cut;
            }
        }
    }
}
