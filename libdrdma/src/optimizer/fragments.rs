//! Fragments put in order, page by page.

use super::{Fragment, PlanError, READ_BOUNDARY};

/// A run of needed bytes in a page of [`READ_BOUNDARY`] bytes: its first byte and its end.
pub(super) type Run = (usize, usize);

/// The needed bytes of every page that has some, by address. As no read crosses a page's end, each
/// page is planned for itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Pages {
    runs: Vec<Run>,
    /// Address of each page and where its runs end.
    pages: Vec<(u64, usize)>,
}

impl Pages {
    /// Sorts fragments, joins those that touch or overlap, and cuts them at the ends of pages.
    pub fn of(fragments: &[Fragment]) -> Result<Self, PlanError> {
        let mut sorted = Vec::with_capacity(fragments.len());
        for &Fragment { addr, len } in fragments {
            let last = len.checked_sub(1).and_then(|more| addr.checked_add(more));
            sorted.push((addr, last.ok_or(PlanError::Fragment { addr, len })?));
        }
        sorted.sort_unstable();
        sorted.dedup_by(|next, joined| {
            let touches = next.0 <= joined.1.saturating_add(1);
            if touches {
                joined.1 = joined.1.max(next.1);
            }
            touches
        });
        let mut pages = Self::default();
        for (first, last) in sorted {
            pages.push(first, last);
        }
        Ok(pages)
    }

    fn push(&mut self, mut first: u64, last: u64) {
        loop {
            let page = first - first % READ_BOUNDARY;
            let page_last = page + (READ_BOUNDARY - 1);
            let end = (last.min(page_last) - page) as usize + 1;
            self.runs.push(((first - page) as usize, end));
            match self.pages.last_mut() {
                Some((addr, runs)) if *addr == page => *runs = self.runs.len(),
                _ => self.pages.push((page, self.runs.len())),
            }
            if last <= page_last {
                return;
            }
            first = page_last + 1;
        }
    }

    /// Each page's address and its runs, which neither touch nor overlap.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &[Run])> {
        let starts = std::iter::once(0).chain(self.pages.iter().map(|(_, end)| *end));
        starts.zip(&self.pages).map(|(start, &(addr, end))| (addr, &self.runs[start..end]))
    }
}
