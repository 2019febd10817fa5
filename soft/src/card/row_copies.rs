//! The rows of a request, found once and copied column by column.
//!
//! [`Units`](drdma_semantics::rows::Units) finds a destination's rows one by one, reads every id
//! for each destination, and reads memory value by value. That is too slow for an endpoint
//! ([`SimulatedCard::endpoint`](crate::simulated::SimulatedCard::endpoint)). The packets are the
//! same, as long as the host does not change ids and bitmaps during the request.

use std::{borrow::Cow, ops::Range, sync::Arc};

use drdma_semantics::{
    memory::{CHUNK, Fault, HostMemory, Values},
    partitioned::Partitioned,
    region::{Column, Extent, Region},
    request::Request,
};

/// Largest number of rows of a region whose numbers are kept: 16 MiB of them.
const MOST_ROWS: u32 = 1 << 22;

/// Number of bytes that are read ahead if rows end within packets. They are in the processor's first
/// cache until they are sent.
const AHEAD: usize = 12 << 10;

/// The rows of a region.
#[derive(Debug)]
struct Rows {
    /// Values of a row, in the order in which they are sent.
    values: Vec<Values>,
    row_len: usize,
    /// Numbers of the rows that are sent, in their order; `None`: all rows.
    numbers: Option<Arc<Vec<u32>>>,
}

impl Rows {
    /// Makes the rows; `None` if a row has no value, or one of no bytes.
    fn new(
        values: impl Iterator<Item = Values>,
        numbers: Option<Arc<Vec<u32>>>,
    ) -> Option<Arc<Self>> {
        let values: Vec<_> = values.collect();
        let row_len = values.iter().map(|values| values.width).sum();
        let good = !values.is_empty() && values.iter().all(|values| values.width > 0);
        good.then(|| Arc::new(Self { values, row_len, numbers }))
    }

    /// Returns the numbers of some rows that are sent; `None` if there are fewer.
    fn numbers(&self, range: Range<usize>) -> Option<Cow<'_, [u32]>> {
        match &self.numbers {
            Some(numbers) => numbers.get(range).map(Cow::Borrowed),
            None => Some((range.start as u32..range.end as u32).collect()),
        }
    }
}

/// The rows of a destination as a stream of bytes.
#[derive(Debug)]
pub struct RowCopies {
    rows: Arc<Rows>,
    /// Range, among the rows that are sent, of those of the destination that are left.
    left: Range<usize>,
    /// Bytes of rows that were read ahead, and how many of them were sent. These rows are not in
    /// `left` any more.
    ahead: Vec<u8>,
    sent: usize,
}

/// Returns the rows of each destination of a request that was checked. `None` if they must be found
/// unit by unit, because they have kinds, lie behind pointers, belong to several regions, are too
/// many, or cannot be read. `last` is the last sorting of ids.
pub fn of_request<M: HostMemory + ?Sized>(
    request: &Request,
    memory: &M,
    last: &mut LastDealt,
) -> Vec<Option<RowCopies>> {
    let destinations = &request.destinations;
    match &request.partitioned {
        Some(region) => {
            let dealt = deal(region, memory, last).ok().flatten();
            let ids = destinations.iter().map(|destination| destination.partition);
            ids.map(|id| dealt.as_ref().map(|dealt| dealt.of_id(id))).collect()
        }
        None => destinations
            .iter()
            .map(|destination| of_regions(&destination.regions, memory).ok().flatten())
            .collect(),
    }
}

/// The rows of a partitioned region sorted by their ids, those of one id in their order.
struct Dealt {
    rows: Arc<Rows>,
    /// Index behind the last row of each id.
    ends: Arc<Vec<usize>>,
}

impl Dealt {
    fn of_id(&self, id: u16) -> RowCopies {
        let id = usize::from(id);
        let start = id.checked_sub(1).map_or(0, |before| self.ends[before]);
        RowCopies {
            rows: self.rows.clone(),
            left: start..self.ends[id],
            ahead: Vec::new(),
            sent: 0,
        }
    }
}

/// The last sorting of rows by ids. Requests that send a batch's columns one by one have the same
/// ids: these are read for each request, and sorted for the first one.
#[derive(Debug, Default)]
pub struct LastDealt {
    /// The array of ids, and the size of an id in bytes.
    ids: Vec<u8>,
    width: u64,
    /// Numbers of the rows sorted by their ids, and the index behind the last row of each id.
    numbers: Arc<Vec<u32>>,
    ends: Arc<Vec<usize>>,
}

/// Largest number of bytes of ids that are remembered.
const REMEMBERED: usize = 1 << 18;

/// Sorts the rows of a region by id; `None` if it has no ids in memory, elements with kinds, or too
/// many rows.
fn deal<M: HostMemory + ?Sized>(
    region: &Partitioned,
    memory: &M,
    last: &mut LastDealt,
) -> Result<Option<Dealt>, Fault> {
    if region.by.is_some() || !region.entries.is_empty() || region.rows > MOST_ROWS {
        return Ok(None);
    }
    let mut ids = vec![0; region.size() as usize];
    for (offset, bytes) in (0..).step_by(CHUNK).zip(ids.chunks_mut(CHUNK)) {
        memory.read(region.ids.wrapping_add(offset), bytes)?;
    }
    if ids != last.ids || region.width != last.width {
        let max_id = usize::from(region.max_id());
        let (numbers, ends) = match region.width {
            1 => by_id(ids.iter().map(|id| usize::from(*id)), max_id),
            _ => by_id(ids.as_chunks().0.iter().map(|id| u16::from_le_bytes(*id).into()), max_id),
        };
        let (numbers, ends) = (Arc::new(numbers), Arc::new(ends));
        *last = LastDealt { ids, width: region.width, numbers, ends };
    }
    let rows = Rows::new(region.columns.iter().map(column), Some(last.numbers.clone()));
    let dealt = rows.map(|rows| Dealt { rows, ends: last.ends.clone() });
    if last.ids.len() > REMEMBERED {
        *last = LastDealt::default();
    }
    Ok(dealt)
}

/// Returns the numbers of rows sorted by their ids, those of one id in their order, and the index
/// behind the last row of each id.
fn by_id(
    ids: impl ExactSizeIterator<Item = usize> + Clone,
    max_id: usize,
) -> (Vec<u32>, Vec<usize>) {
    let mut numbers = vec![0; ids.len()];
    let mut ends = vec![0; max_id + 1];
    ids.clone().for_each(|id| ends[id] += 1);
    let mut sum = 0;
    for end in &mut ends {
        // Index of the id's first row; it moves to the end as the rows are placed below.
        (sum, *end) = (sum + *end, sum);
    }
    for (row, id) in (0..).zip(ids) {
        numbers[ends[id]] = row;
        ends[id] += 1;
    }
    (numbers, ends)
}

/// Returns the rows of a destination's regions. With one region, either row mask sends the same
/// values in the same order.
fn of_regions<M: HostMemory + ?Sized>(
    regions: &[Region],
    memory: &M,
) -> Result<Option<RowCopies>, Fault> {
    let [region] = regions else { return Ok(None) };
    let (rows, count) = match region {
        Region::Strided { base, period, count, pattern, .. } => {
            let extent = |extent: &Extent| Values {
                base: base.wrapping_add(extent.offset),
                step: *period,
                width: extent.len as usize,
            };
            (Rows::new(pattern.iter().map(extent), None), *count as usize)
        }
        Region::Bitmapped { bitmap, rows, columns, .. } if *rows <= MOST_ROWS => {
            let numbers = selected(*bitmap, *rows, memory)?;
            let count = numbers.len();
            (Rows::new(columns.iter().map(column), Some(Arc::new(numbers))), count)
        }
        _ => return Ok(None),
    };
    Ok(rows.map(|rows| RowCopies { rows, left: 0..count, ahead: Vec::new(), sent: 0 }))
}

/// Returns the rows that a bitmap selects.
fn selected<M: HostMemory + ?Sized>(bitmap: u64, rows: u32, memory: &M) -> Result<Vec<u32>, Fault> {
    let mut numbers = Vec::new();
    let mut chunk = [0; CHUNK];
    let size = u64::from(rows).div_ceil(8);
    for offset in (0..size).step_by(CHUNK) {
        let bytes = &mut chunk[..(size - offset).min(CHUNK as u64) as usize];
        memory.read(bitmap.wrapping_add(offset), bytes)?;
        for (byte, first) in bytes.iter().zip((offset as u32 * 8..).step_by(8)) {
            let mut bits = *byte;
            while bits != 0 {
                numbers.push(first + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
    }
    // Bits at and above the end are ignored.
    numbers.truncate(numbers.partition_point(|row| *row < rows));
    Ok(numbers)
}

fn column(column: &Column) -> Values {
    Values { base: column.base, step: column.width.into(), width: column.width as usize }
}

impl RowCopies {
    /// Fills `out` with the next bytes.
    ///
    /// # Errors
    /// [`Fault`] if memory is not mapped, or there are no more rows.
    pub fn fill<M: HostMemory + ?Sized>(
        &mut self,
        memory: &M,
        mut out: &mut [u8],
    ) -> Result<(), Fault> {
        let row_len = self.rows.row_len;
        while !out.is_empty() {
            let ahead = &self.ahead[self.sent..];
            if !ahead.is_empty() {
                let len = ahead.len().min(out.len());
                out[..len].copy_from_slice(&ahead[..len]);
                self.sent += len;
                out = &mut out[len..];
                continue;
            }
            let whole = out.len() / row_len;
            if whole * row_len == out.len() {
                let numbers = self.next(whole, out.len())?;
                memory.read_rows(&self.rows.values, &numbers, out, row_len)?;
                self.left.start += whole;
                return Ok(());
            }
            // What is behind the packet's rows may be missing in memory: it is not needed yet.
            let most = (AHEAD / row_len).max(whole + 1).min(self.left.len());
            self.read_ahead(memory, most).or_else(|_| self.read_ahead(memory, 1))?;
        }
        Ok(())
    }

    /// Reads the next `count` rows ahead, when all that were read before are sent.
    fn read_ahead<M: HostMemory + ?Sized>(
        &mut self,
        memory: &M,
        count: usize,
    ) -> Result<(), Fault> {
        let row_len = self.rows.row_len;
        let mut ahead = std::mem::take(&mut self.ahead);
        self.sent = 0;
        ahead.resize(count * row_len, 0);
        let numbers = self.next(count.max(1), ahead.len())?;
        memory.read_rows(&self.rows.values, &numbers, &mut ahead, row_len)?;
        self.left.start += count;
        self.ahead = ahead;
        Ok(())
    }

    /// Returns the numbers of the next `count` rows, for `len` bytes.
    fn next(&self, count: usize, len: usize) -> Result<Cow<'_, [u32]>, Fault> {
        let range = self.left.start..self.left.start + count;
        let there = range.end <= self.left.end;
        there.then(|| self.rows.numbers(range)).flatten().ok_or(Fault { addr: 0, len })
    }
}

#[cfg(test)]
mod tests {
    use drdma_abi::work_request::{MessageLayout, Opcode};
    use drdma_semantics::{
        memory::Segments,
        region::RowMask,
        request::Destination,
        rows::{Limit, Units},
    };
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn request(
        partitioned: Option<Partitioned>,
        destinations: impl IntoIterator<Item = Destination>,
    ) -> Request {
        Request {
            wr_id: 0,
            opcode: Opcode::Send,
            signaled: true,
            imm: 0,
            rows_per_message: 1,
            row_mask: RowMask::Period,
            fetch: None,
            inline: None,
            partitioned,
            destinations: destinations.into_iter().collect(),
        }
    }

    fn destination(partition: u16, regions: Vec<Region>) -> Destination {
        Destination {
            qp: 0,
            remote_addr: 0,
            rkey: 0,
            partition,
            layout: MessageLayout::Rows,
            remote_columns: Vec::new(),
            regions,
        }
    }

    /// Makes a region with ids from 0 to 3 at 0x10, and columns of these widths from 0x1001 on, a
    /// KiB each.
    fn region(ids: &[u8], width: u64, widths: &[u32]) -> Partitioned {
        let column =
            |(i, width): (u64, &u32)| Column { base: 0x1001 + i * 0x400, width: *width, lkey: 1 };
        Partitioned {
            ids: 0x10,
            width,
            rows: (ids.len() as u64 / width) as u32,
            lkey: 1,
            by: None,
            columns: (0..).zip(widths).map(column).collect(),
            entries: Vec::new(),
        }
    }

    fn memory(ids: &[u8]) -> Segments {
        let bytes: Vec<u8> = (0..0x5000u32).map(|i| (i * 131 / 7) as u8).collect();
        Segments::new().with(0x10, ids).with(0x1001, bytes)
    }

    /// Checks that copies in pieces of these lengths equal the units, and then end.
    fn check(
        mut copies: RowCopies,
        mut units: Units,
        memory: &Segments,
        pieces: &[usize],
    ) -> Result<(), TestCaseError> {
        let (mut unit, mut right) = (Vec::new(), Vec::new());
        while units.next(memory, &mut unit).unwrap() {
            for fragment in &unit {
                let from = right.len();
                right.resize(from + fragment.len as usize, 0);
                memory.read(fragment.addr, &mut right[from..]).unwrap();
            }
        }
        let mut bytes = vec![0; right.len()];
        let (mut at, mut pieces) = (0, pieces.iter().cycle());
        while at < bytes.len() {
            let end = bytes.len().min(at + pieces.next().unwrap());
            copies.fill(memory, &mut bytes[at..end]).unwrap();
            at = end;
        }
        prop_assert_eq!(bytes, right);
        prop_assert!(copies.fill(memory, &mut [0]).is_err(), "there are no more");
        Ok(())
    }

    proptest! {
        #[test]
        fn every_destination_gets_the_bytes_of_its_units(
            ids in vec(0u8..4, 0..60),
            two in any::<bool>(),
            widths in vec(1u32..17, 1..=16),
            pieces in vec(1usize..200, 1..20),
        ) {
            let width = 1 + u64::from(two);
            let ids: Vec<u8> = match two {
                true => ids.iter().flat_map(|id| [*id, 0]).collect(),
                false => ids,
            };
            let (region, memory) = (region(&ids, width, &widths), memory(&ids));
            let request = request(Some(region.clone()), (0..5).map(|id| destination(id, vec![])));
            for (id, copies) in (0..).zip(of_request(&request, &memory, &mut LastDealt::default())) {
                let units = Units::of_partition(&region, id, Limit::default());
                check(copies.unwrap(), units, &memory, &pieces)?;
            }
        }

        #[test]
        fn a_region_s_rows_are_the_bytes_of_its_units(
            bits in vec(any::<u8>(), 1..12),
            spare in 0u32..8,
            (period, count) in (0u64..100, 0u32..60),
            extents in vec((0u64..90, 1u32..30), 1..=16),
            element in any::<bool>(),
            pieces in vec(1usize..200, 1..20),
        ) {
            let memory = memory(&bits);
            let columns = region(&[], 1, &extents.iter().map(|(_, len)| *len).collect::<Vec<_>>());
            let rows = bits.len() as u32 * 8 - spare;
            let bitmapped = Region::Bitmapped { bitmap: 0x10, rows, lkey: 1, columns: columns.columns, fetch_rows: None };
            let pattern = extents.iter().map(|(offset, len)| Extent { offset: *offset, len: *len });
            let strided = Region::Strided { base: 0x1001, period, count, lkey: 1, pattern: pattern.collect() };
            let regions = [bitmapped, strided];
            let to = regions.iter().map(|region| destination(0, vec![region.clone()]));
            let row_mask = if element { RowMask::Element } else { RowMask::Period };
            let request = Request { row_mask, ..request(None, to) };
            for (region, copies) in regions.iter().zip(of_request(&request, &memory, &mut LastDealt::default())) {
                let units = Units::new(std::slice::from_ref(region), row_mask);
                check(copies.unwrap(), units, &memory, &pieces)?;
            }
        }
    }

    #[test]
    fn ids_that_were_dealt_before_are_dealt_as_they_are_now() {
        let mut last = LastDealt::default();
        let all = [[0, 1, 0, 1], [0, 1, 0, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 1, 1, 1]];
        for (ids, width) in all.into_iter().flat_map(|ids| [(ids, 1), (ids, 2), (ids, 1)]) {
            let (region, memory) = (region(&ids, width, &[4, 8]), memory(&ids));
            let request = request(Some(region.clone()), (0..2).map(|id| destination(id, vec![])));
            for (id, copies) in (0..).zip(of_request(&request, &memory, &mut last)) {
                let units = Units::of_partition(&region, id, Limit::default());
                check(copies.unwrap(), units, &memory, &[100]).unwrap();
            }
        }
        assert_eq!(last.ids, [1; 4]);
        let many = vec![0; REMEMBERED + 1];
        let region = Partitioned { rows: many.len() as u32, ..region(&[], 1, &[4]) };
        let memory = Segments::new().with(0x10, many);
        assert!(
            of_request(&request(Some(region), [destination(0, vec![])]), &memory, &mut last)[0]
                .is_some()
        );
        assert!(last.ids.is_empty() && last.numbers.is_empty());
    }

    #[test]
    fn what_is_not_found_at_once_is_left_to_its_units() {
        let (ids, memory) = ([0, 1], memory(&[0, 1]));
        let plain = region(&ids, 1, &[4]);
        let one = |region: Partitioned| {
            of_request(
                &request(Some(region), [destination(0, vec![])]),
                &memory,
                &mut LastDealt::default(),
            )
            .remove(0)
        };
        assert!(one(plain.clone()).is_some());
        assert!(one(Partitioned { ids: 0x11, ..plain.clone() }).is_none(), "an id is not there");
        assert!(one(Partitioned { rows: MOST_ROWS + 1, ..plain.clone() }).is_none());
        assert!(one(region(&ids, 1, &[4, 0])).is_none(), "a value of no bytes");

        let of = |regions| {
            let request = request(None, [destination(0, regions)]);
            of_request(&request, &memory, &mut LastDealt::default()).remove(0)
        };
        let Partitioned { columns, .. } = plain;
        let bits = |bitmap, rows| {
            let (columns, fetch_rows) = (columns.clone(), None);
            Region::Bitmapped { bitmap, rows, lkey: 1, columns, fetch_rows }
        };
        let contiguous = Region::Contiguous { addr: 0x1001, len: 8, lkey: 1 };
        assert!(of(vec![bits(0x10, 16)]).is_some());
        assert!(of(vec![bits(0x11, 16)]).is_none(), "a bit is not there");
        assert!(of(vec![bits(0x10, MOST_ROWS + 1)]).is_none());
        assert!(of(vec![contiguous.clone()]).is_none());
        assert!(of(vec![bits(0x10, 16), contiguous]).is_none());
        assert!(of(vec![]).is_none());
    }

    #[test]
    fn memory_that_is_not_there_is_a_fault() {
        let ids = [0; 40];
        let columns = vec![Column { base: 0x5ff1, width: 4, lkey: 1 }];
        let region = Partitioned { columns, ..region(&ids, 1, &[4]) };
        let memory = memory(&ids);
        let request = request(Some(region), [destination(0, vec![])]);
        let mut copies =
            of_request(&request, &memory, &mut LastDealt::default()).remove(0).unwrap();
        copies.fill(&memory, &mut [0; 16]).unwrap();
        let fault = Fault { addr: 0x6001, len: 4 };
        assert_eq!(copies.fill(&memory, &mut [0; 8]).unwrap_err(), fault);
        // Rows that are read ahead are not there: those before them are sent all the same.
        let mut copies =
            of_request(&request, &memory, &mut LastDealt::default()).remove(0).unwrap();
        copies.fill(&memory, &mut [0; 6]).unwrap();
        copies.fill(&memory, &mut [0; 9]).unwrap();
        copies.fill(&memory, &mut [0; 1]).unwrap();
        assert_eq!(copies.fill(&memory, &mut [0; 1]).unwrap_err(), fault);
    }
}
