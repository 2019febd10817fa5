//! The rows of a partitioned request, dealt to its destinations once, and copied column by column.
//!
//! [`Units`](drdma_semantics::rows::Units) is what a destination's rows mean: it looks at every id, row by row, for each
//! destination. With many destinations a processor has better things to do. What is sent is the same, as long as the host leaves the ids alone.

use std::{ops::Range, sync::Arc};

use drdma_semantics::{
    memory::{CHUNK, Fault, HostMemory, Values},
    partitioned::Partitioned,
    region::Column,
    request::Request,
};

/// Rows of a request that are dealt, at most: 16 MiB of their numbers.
const MOST_ROWS: u32 = 1 << 22;

/// The rows of a request by their ids.
#[derive(Debug)]
pub struct Deal {
    columns: Vec<Column>,
    row_len: usize,
    /// Rows with the first id, with the second, and so on; each id's ascend.
    rows: Vec<u32>,
    /// The end of each id's rows.
    ends: Vec<usize>,
}

impl Deal {
    /// Deals the rows of a request; `None` if it has no ids in memory, elements with kinds, or too many rows.
    ///
    /// # Errors
    /// Ids that cannot be read.
    pub fn of<M: HostMemory + ?Sized>(
        request: &Request,
        memory: &M,
    ) -> Result<Option<Arc<Self>>, Fault> {
        let Some(region) = &request.partitioned else { return Ok(None) };
        let has_ids = region.by.is_none() && region.entries.is_empty();
        let has_bytes = region.columns.iter().all(|column| column.width > 0);
        if !has_ids || !has_bytes || region.rows > MOST_ROWS {
            return Ok(None);
        }
        let ids = ids(region, memory)?;
        let mut ends = vec![0; usize::from(region.max_id()) + 1];
        ids.iter().for_each(|id| ends[usize::from(*id)] += 1);
        let mut sum = 0;
        for end in &mut ends {
            // The first place of the id for now.
            (sum, *end) = (sum + *end, sum);
        }
        let mut rows = vec![0; ids.len()];
        for (row, id) in (0..).zip(&ids) {
            let place = &mut ends[usize::from(*id)];
            rows[*place] = row;
            *place += 1;
        }
        let columns = region.columns.clone();
        Ok(Some(Arc::new(Self { columns, row_len: region.row_len() as usize, rows, ends })))
    }

    fn rows_of(&self, id: u16) -> Range<usize> {
        let id = usize::from(id);
        let start = id.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..self.ends[id]
    }
}

/// The ids of all rows.
fn ids<M: HostMemory + ?Sized>(region: &Partitioned, memory: &M) -> Result<Vec<u16>, Fault> {
    let mut ids = Vec::with_capacity(region.rows as usize);
    let mut chunk = [0; CHUNK];
    let size = region.size();
    for offset in (0..size).step_by(CHUNK) {
        let bytes = &mut chunk[..(size - offset).min(CHUNK as u64) as usize];
        memory.read(region.ids.wrapping_add(offset), bytes)?;
        match region.width {
            1 => ids.extend(bytes.iter().map(|id| u16::from(*id))),
            _ => ids.extend(bytes.as_chunks().0.iter().map(|id| u16::from_le_bytes(*id))),
        }
    }
    Ok(ids)
}

/// The rows of a destination as a stream of bytes.
#[derive(Debug)]
pub struct Hand {
    deal: Arc<Deal>,
    /// Rows that are not sent.
    rows: Range<usize>,
    /// Bytes of the first one that were sent.
    within: usize,
}

impl Hand {
    /// At the first row with that id.
    pub fn new(deal: &Arc<Deal>, id: u16) -> Self {
        Self { deal: deal.clone(), rows: deal.rows_of(id), within: 0 }
    }

    /// Fills `out` with the next bytes.
    ///
    /// # Errors
    /// Memory that is not there, or no more rows.
    pub fn fill<M: HostMemory + ?Sized>(
        &mut self,
        memory: &M,
        mut out: &mut [u8],
    ) -> Result<(), Fault> {
        let row_len = self.deal.row_len;
        while !out.is_empty() {
            let whole = out.len() / row_len;
            if self.within > 0 || whole == 0 {
                let len = self.fill_part(memory, out)?;
                out = &mut out[len..];
                continue;
            }
            let rows = &self.deal.rows[self.rows.clone()];
            let rows = rows.get(..whole).ok_or(Fault { addr: 0, len: out.len() })?;
            let mut from = 0;
            for column in &self.deal.columns {
                memory.read_values(values(column), rows, &mut out[from..], row_len)?;
                from += column.width as usize;
            }
            self.rows.start += whole;
            out = &mut out[whole * row_len..];
        }
        Ok(())
    }

    /// Fills the front of `out` with what is left of the first row, as far as it goes: so many bytes.
    fn fill_part<M: HostMemory + ?Sized>(
        &mut self,
        memory: &M,
        out: &mut [u8],
    ) -> Result<usize, Fault> {
        let deal = &self.deal;
        let row = *deal.rows[self.rows.clone()].first().ok_or(Fault { addr: 0, len: out.len() })?;
        let (mut skip, mut done) = (self.within, 0);
        for column in &deal.columns {
            let width = column.width as usize;
            let before = skip.min(width);
            skip -= before;
            let part = (width - before).min(out.len() - done);
            let addr = values(column).at(row).wrapping_add(before as u64);
            memory.read(addr, &mut out[done..done + part])?;
            done += part;
        }
        self.within += done;
        if self.within == deal.row_len {
            self.within = 0;
            self.rows.start += 1;
        }
        Ok(done)
    }
}

fn values(column: &Column) -> Values {
    Values { base: column.base, step: column.width.into(), width: column.width as usize }
}

#[cfg(test)]
mod tests {
    use drdma_abi::work_request::Opcode;
    use drdma_semantics::{
        memory::Segments,
        region::RowMask,
        rows::{Limit, Units},
    };
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn request(region: Partitioned) -> Request {
        Request {
            wr_id: 0,
            opcode: Opcode::Send,
            signaled: true,
            imm: 0,
            rows_per_message: 1,
            row_mask: RowMask::Period,
            fetch: None,
            inline: None,
            partitioned: Some(region),
            destinations: Vec::new(),
        }
    }

    /// Ids from 0 to 3 at 0x10, and columns of these widths from 0x1001 on, a KiB each.
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
        let bytes: Vec<u8> = (0..0x4000u32).map(|i| (i * 131 / 7) as u8).collect();
        Segments::new().with(0x10, ids).with(0x1001, bytes)
    }

    /// What the units of an id are.
    fn meant(region: &Partitioned, id: u16, memory: &Segments) -> Vec<u8> {
        let mut units = Units::of_partition(region, id, Limit::default());
        let (mut unit, mut bytes) = (Vec::new(), Vec::new());
        while units.next(memory, &mut unit).unwrap() {
            for fragment in &unit {
                let from = bytes.len();
                bytes.resize(from + fragment.len as usize, 0);
                memory.read(fragment.addr, &mut bytes[from..]).unwrap();
            }
        }
        bytes
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
            let deal = Deal::of(&request(region.clone()), &memory).unwrap().unwrap();
            for id in 0..5 {
                let right = meant(&region, id, &memory);
                let mut hand = Hand::new(&deal, id);
                let mut left = right.clone();
                left.fill(0);
                let (mut at, mut pieces) = (0, pieces.iter().cycle());
                while at < left.len() {
                    let end = left.len().min(at + pieces.next().unwrap());
                    hand.fill(&memory, &mut left[at..end]).unwrap();
                    at = end;
                }
                prop_assert_eq!(left, right, "id {}", id);
                prop_assert!(hand.fill(&memory, &mut [0]).is_err(), "there are no more");
            }
        }
    }

    #[test]
    fn what_cannot_be_dealt_is_left_to_its_units() {
        let (ids, far) = ([0, 1], memory(&[0, 1]));
        let plain = region(&ids, 1, &[4]);
        assert!(Deal::of(&request(plain.clone()), &far).unwrap().is_some());
        let unread = Partitioned { ids: 0x11, ..plain.clone() };
        let fault = Fault { addr: 0x11, len: 2 };
        assert_eq!(Deal::of(&request(unread), &far).unwrap_err(), fault);
        for other in
            [Partitioned { rows: MOST_ROWS + 1, ..plain.clone() }, region(&ids, 1, &[4, 0])]
        {
            assert!(Deal::of(&request(other), &far).unwrap().is_none());
        }
        let none = Request { partitioned: None, ..request(plain) };
        assert!(Deal::of(&none, &far).unwrap().is_none());
    }

    #[test]
    fn memory_that_is_not_there_is_a_fault() {
        let ids = [0; 40];
        let region = Partitioned {
            columns: vec![Column { base: 0x4ff0, width: 4, lkey: 1 }],
            ..region(&ids, 1, &[4])
        };
        let memory = memory(&ids);
        let deal = Deal::of(&request(region), &memory).unwrap().unwrap();
        let mut hand = Hand::new(&deal, 0);
        hand.fill(&memory, &mut [0; 16]).unwrap();
        let fault = Fault { addr: 0x5000, len: 4 };
        assert_eq!(hand.fill(&memory, &mut [0; 8]).unwrap_err(), fault);
    }
}
