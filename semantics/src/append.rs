//! Append regions: columns that messages fill row after row, whichever queue pair they come to
//! (docs/semantics.md, "Append regions").

use std::sync::Arc;

use drdma_abi::{
    Layout as _,
    described::{APPEND_REGIONS, AppendEnd, AppendHead, ENTRY_GRANULES},
    receive::rights,
    work_request::{Element, GRANULE, MAX_ELEMENTS},
};

use crate::{
    checks::{self, Directory, Keys},
    failure::Which,
    memory::Run,
    region::Column,
    rows::Fragment,
};

/// Reason why an append region cannot take a message now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRows {
    /// Too few rows are free, or a message of another queue pair is in progress; the message may
    /// fit later.
    Yet,
    /// The region has fewer rows than the message.
    Ever,
}

/// An append region: its columns, and the state of their rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Append {
    columns: Arc<[Column]>,
    /// Length of a row in bytes.
    row_len: u64,
    capacity: u32,
    /// No two columns have a byte in common.
    apart: bool,
    /// Number of the region's protection domain.
    pub pd: u32,
    /// Row of the columns that the next appended row becomes.
    next: u32,
    /// Number of rows that were appended and not given back.
    used: u32,
    /// Number of rows that were given back, modulo 2^32.
    given_back: u32,
    /// Queue pair whose message of several packets is in progress.
    taken: Option<u32>,
}

impl Append {
    /// An empty region.
    pub fn new(columns: Vec<Column>, capacity: u32, pd: u32) -> Self {
        let apart = are_apart(&columns, capacity);
        let row_len = columns.iter().map(|column| u64::from(column.width)).sum();
        let columns = columns.into();
        Self { columns, row_len, capacity, apart, pd, next: 0, used: 0, given_back: 0, taken: None }
    }

    /// Decodes an entry of [`APPEND_REGIONS`] into an empty region; `None` if the entry is not
    /// enabled or invalid.
    pub fn decode(entry: &[u8]) -> Option<Self> {
        let head = AppendHead::decode(entry.first_chunk::<{ AppendHead::SIZE }>()?);
        let (body, end) = entry.split_at_checked((ENTRY_GRANULES - 1) * GRANULE)?;
        let end = AppendEnd::decode(end.first_chunk::<{ AppendEnd::SIZE }>()?);
        let count = usize::from(head.columns);
        let columns: Vec<_> = body[AppendHead::SIZE..]
            .chunks_exact(Element::SIZE)
            .take(count)
            .map(|bytes| Column::of(&Element::decode(bytes)))
            .collect();
        let good = end.enable == 1
            && (1..=MAX_ELEMENTS).contains(&count)
            && columns.iter().all(|column| column.width > 0)
            && head.capacity > 0
            && head.reserved == 0
            && head.reserved2 == 0
            && end.reserved == 0
            && end.reserved2 == 0;
        good.then(|| Self::new(columns, head.capacity, head.pd))
    }

    /// Encodes the entry of a region, as software writes it.
    pub fn encode(columns: &[Column], capacity: u32, pd: u32) -> Vec<u8> {
        let count = columns.len() as u16;
        let head = AppendHead { capacity, columns: count, pd, ..AppendHead::default() };
        let mut bytes = head.to_bytes().to_vec();
        columns.iter().for_each(|column| bytes.extend(column.element().to_bytes()));
        bytes.resize((ENTRY_GRANULES - 1) * GRANULE, 0);
        bytes.extend(AppendEnd { enable: 1, ..AppendEnd::default() }.to_bytes());
        debug_assert_eq!(bytes.len(), APPEND_REGIONS.entry_size as usize);
        bytes
    }

    /// Length of a row in bytes.
    pub fn row_len(&self) -> u64 {
        self.row_len
    }

    /// True if all rows of every column are in the memory of their keys, which are of the region's
    /// protection domain and allow local writes.
    pub fn is_allowed(&self, directory: &dyn Directory) -> bool {
        let keys = Keys { directory, pd: self.pd };
        let writable = |column: &Column| {
            let key = directory.memory_region(column.lkey);
            key.is_some_and(|key| key.rights & rights::LOCAL_WRITE != 0)
        };
        checks::check_columns(Which::Own(0), &self.columns, self.capacity, keys).is_ok()
            && self.columns.iter().all(writable)
    }

    /// Returns the row that a message's first row becomes, if the region can take `len` bytes of it
    /// so far. From then on the region belongs to the queue pair, until that
    /// [`commit`](Self::commit)s or [`abandon`](Self::abandon)s it.
    ///
    /// # Errors
    /// [`NoRows`] if it cannot; nothing has changed then.
    pub fn take(&mut self, queue_pair: u32, len: u64) -> Result<u32, NoRows> {
        let rows = len.div_ceil(self.row_len());
        if rows > u64::from(self.capacity) {
            return Err(NoRows::Ever);
        }
        let taken = self.taken.is_some_and(|other| other != queue_pair);
        if taken || rows > u64::from(self.capacity - self.used) {
            return Err(NoRows::Yet);
        }
        self.taken = Some(queue_pair);
        Ok(self.next)
    }

    /// True if a message of that queue pair is in progress.
    pub fn is_taken_by(&self, queue_pair: u32) -> bool {
        self.taken == Some(queue_pair)
    }

    /// Ends a queue pair's message of `len` bytes, whole rows, that has arrived; the region is free
    /// for others.
    pub fn commit(&mut self, queue_pair: u32, len: u64) {
        debug_assert!(self.is_taken_by(queue_pair));
        let rows = (len / self.row_len()) as u32;
        self.next = ((u64::from(self.next) + u64::from(rows)) % u64::from(self.capacity)) as u32;
        self.used += rows;
        self.taken = None;
    }

    /// Ends a message of that queue pair that will not arrive, if there is one: its rows stay free.
    pub fn abandon(&mut self, queue_pair: u32) {
        if self.is_taken_by(queue_pair) {
            self.taken = None;
        }
    }

    /// Sets the number of rows that the host has given back since the region was enabled, modulo
    /// 2^32. A number that advances by less than 1 row, or by more than are in use, is ignored.
    pub fn give_back(&mut self, total: u32) {
        let rows = total.wrapping_sub(self.given_back);
        if (1..=self.used).contains(&rows) {
            self.used -= rows;
            self.given_back = total;
        }
    }

    /// Places of bytes of a message whose first row became row `first`: `len` from `start` on.
    pub fn fragments(&self, first: u32, start: u64, len: u32) -> Vec<Fragment> {
        let mut found = Vec::with_capacity(self.columns.len());
        self.visit_fragments(first, start, len, |fragment| found.push(fragment));
        found
    }

    /// Like [`fragments`](Self::fragments), but visits the fragments one by one.
    fn visit_fragments(&self, first: u32, start: u64, len: u32, mut visit: impl FnMut(Fragment)) {
        let (mut row, mut skip) = (start / self.row_len(), start % self.row_len());
        let mut left = len;
        while left > 0 {
            let at = (u64::from(first) + row) % u64::from(self.capacity);
            for column in &*self.columns {
                let width = u64::from(column.width);
                let before = skip.min(width);
                skip -= before;
                let part = left.min((width - before) as u32);
                if part > 0 {
                    let addr = column.base.wrapping_add(at * width + before);
                    visit(Fragment { addr, len: part });
                    left -= part;
                }
            }
            row += 1;
        }
    }

    /// Like [`fragments`](Self::fragments), as runs of columns: the whole values of a column are
    /// one run, or two where the region wraps around, and a value that begins or ends in another
    /// part of the message is one. If columns have bytes in common, rows are written one by one, in
    /// their order.
    pub fn runs(&self, first: u32, start: u64, len: u32) -> Vec<Run> {
        let mut runs = Vec::with_capacity(self.columns.len() + 4);
        if !self.apart {
            let mut from = 0;
            self.visit_fragments(first, start, len, |Fragment { addr, len }| {
                let width = len as usize;
                runs.push(Run { addr, width, count: 1, from, pitch: width });
                from += width;
            });
            return runs;
        }
        if len == 0 {
            return runs;
        }
        // Places count from the beginning of the row that `start` is in.
        let (row_len, capacity) = (self.row_len(), u64::from(self.capacity));
        let (row, skip) = (start / row_len, start % row_len);
        let end = skip + u64::from(len);
        let (whole, tail) = (end / row_len, end % row_len);
        let start = (u64::from(first) + row) % capacity;
        let at = |row_behind: u64| match start + row_behind {
            place if place < capacity => place,
            place => place % capacity,
        };
        let pitch = row_len as usize;
        let mut begin = 0;
        for column in &*self.columns {
            let (width, behind) = (u64::from(column.width), begin + u64::from(column.width));
            let addr = |row: u64, skipped: u64| column.base.wrapping_add(row * width + skipped);
            let is_cut_at_start = begin < skip && skip < behind;
            if is_cut_at_start {
                let width = (behind.min(end) - skip) as usize;
                let addr = addr(at(0), skip - begin);
                runs.push(Run { addr, width, count: 1, from: 0, pitch });
            }
            let mut next = u64::from(begin < skip);
            let last = whole + u64::from(behind <= tail);
            while next < last {
                let place = at(next);
                let count = (last - next).min(capacity - place);
                runs.push(Run {
                    addr: addr(place, 0),
                    width: width as usize,
                    count: count as usize,
                    from: (next * row_len + begin - skip) as usize,
                    pitch,
                });
                next += count;
            }
            if begin < tail && tail < behind && !(whole == 0 && is_cut_at_start) {
                let from = (whole * row_len + begin - skip) as usize;
                let (addr, width) = (addr(at(whole), 0), (tail - begin) as usize);
                runs.push(Run { addr, width, count: 1, from, pitch });
            }
            begin = behind;
        }
        runs
    }
}

/// True if no two columns of `capacity` rows have a byte in common.
fn are_apart(columns: &[Column], capacity: u32) -> bool {
    let range = |column: &Column| {
        let (start, bytes) = (u128::from(column.base), column.width as u128 * capacity as u128);
        (start, start + bytes)
    };
    let mut ranges: Vec<_> = columns.iter().map(range).collect();
    ranges.sort_unstable();
    // A column that wraps around the address space counts as overlapping.
    let ends = |(_, end): &(u128, u128)| *end <= 1 << 64;
    ranges.iter().all(ends) && ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0)
}

#[cfg(test)]
#[path = "tests/append.rs"]
mod tests;
