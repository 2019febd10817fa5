//! Walks a region with kinds, unit by unit: periods, selected rows, records behind pointers, chains.

use std::ops::Range;

use super::{Chunk, Limit, Link, POINTER, WrongValue, columns};
use crate::{
    kinds::{self, Kinds, Selection, Value, ValueError},
    memory::{Fault, HostMemory},
    region::RowMask,
};

/// Position of a cursor in a region with kinds.
pub(super) struct At<'a> {
    pub row_mask: RowMask,
    pub next: &'a mut u64,
    pub chunk: &'a mut Chunk,
    pub link: &'a mut Option<Link>,
    pub limit: &'a Limit,
}

impl At<'_> {
    /// Appends the values of the next unit of a region with kinds.
    pub fn next_of_kinds<M: HostMemory + ?Sized>(
        &mut self,
        region: &Kinds,
        memory: &M,
        out: &mut Vec<Value>,
    ) -> Result<bool, WrongValue> {
        let n = region.entries.len();
        match region.rows {
            Selection::Periods { base, period, count, .. } => {
                let (row, which) = match self.row_mask {
                    RowMask::Period => (*self.next, 0..n),
                    RowMask::Element => {
                        let element = (*self.next % n as u64) as usize;
                        (*self.next / n as u64, element..element + 1)
                    }
                };
                if row >= u64::from(count) {
                    return Ok(false);
                }
                let start = base.wrapping_add(row.wrapping_mul(period));
                self.extents(region, row, start, which, memory, out)?;
            }
            Selection::Bitmap { bitmap, first, rows, .. } => {
                let first = u64::from(first);
                let mut at = first + *self.next;
                let found = self.chunk.set_bit(memory, bitmap, first + u64::from(rows), &mut at);
                let Some(found) = found.map_err(|fault| self.unread(fault))? else {
                    *self.next = rows.into();
                    return Ok(false);
                };
                *self.next = at - first;
                columns(&region.entries, found - first, self.limit, memory, out)?;
                return Ok(true);
            }
            Selection::Pointers { pointers, count, .. } => {
                let row = *self.next;
                let Some(pointer) = self.pointer(pointers, count, memory)? else {
                    return Ok(false);
                };
                self.extents(region, row, pointer, 0..n, memory, out)?;
            }
            Selection::Chains { pointers, count, chain, .. } => {
                let Some(link) = self.next_link(pointers, count, chain.end, memory)? else {
                    return Ok(false);
                };
                let row = *self.next;
                if link.before == chain.limit {
                    let error = ValueError::TooLong { limit: chain.limit };
                    return Err(WrongValue { row, element: 0, error });
                }
                self.extents(region, row, link.pointer, 0..n, memory, out)?;
                let at = u128::from(link.pointer) + u128::from(chain.next);
                let wrong = |error| WrongValue { row, element: 0, error };
                let mut pointer = [0; POINTER as usize];
                self.within(at, at + u128::from(POINTER)).map_err(wrong)?;
                memory.read(at as u64, &mut pointer).map_err(|fault| self.unread(fault))?;
                let pointer = u64::from_le_bytes(pointer);
                *self.link = Some(Link { pointer, before: link.before + 1 });
                return Ok(true);
            }
        }
        *self.next += 1;
        Ok(true)
    }

    fn unread(&self, fault: Fault) -> WrongValue {
        WrongValue { row: *self.next, element: 0, error: ValueError::Fault(fault) }
    }

    /// Checks that these addresses are where records may be.
    fn within(&self, start: u128, end: u128) -> Result<(), ValueError> {
        match &self.limit.records {
            Some(limit) if start < limit.start || end > limit.end => {
                Err(ValueError::Outside { start, end })
            }
            _ => Ok(()),
        }
    }

    /// Returns the next pointer of an array; `None` behind its end.
    fn pointer<M: HostMemory + ?Sized>(
        &mut self,
        pointers: u64,
        count: u32,
        memory: &M,
    ) -> Result<Option<u64>, WrongValue> {
        let (row, count) = (*self.next, u64::from(count));
        if row >= count {
            return Ok(None);
        }
        let bytes = self.chunk.at(memory, pointers, count * POINTER, row * POINTER);
        let unread = |fault| WrongValue { row, element: 0, error: ValueError::Fault(fault) };
        let bytes = bytes.map_err(unread)?;
        Ok(Some(u64::from_le_bytes(bytes[..8].try_into().expect("8 bytes"))))
    }

    /// Returns the position of the next record: in the current chain, or else of the next one that
    /// is not empty.
    fn next_link<M: HostMemory + ?Sized>(
        &mut self,
        pointers: u64,
        count: u32,
        end: u64,
        memory: &M,
    ) -> Result<Option<Link>, WrongValue> {
        loop {
            let link = match *self.link {
                Some(link) => link,
                None => match self.pointer(pointers, count, memory)? {
                    Some(pointer) => Link { pointer, before: 0 },
                    None => return Ok(None),
                },
            };
            if link.pointer != end {
                return Ok(Some(link));
            }
            *self.link = None;
            *self.next += 1;
        }
    }

    /// Appends the values of some extents of the period or record at `start`.
    fn extents<M: HostMemory + ?Sized>(
        &self,
        region: &Kinds,
        row: u64,
        start: u64,
        which: Range<usize>,
        memory: &M,
        out: &mut Vec<Value>,
    ) -> Result<(), WrongValue> {
        for element in which {
            let entry = &region.entries[element];
            let wrong = |error| WrongValue { row, element, error };
            let from = u128::from(start) + u128::from(entry.offset);
            self.within(from, from + u128::from(entry.kind.entry_len())).map_err(wrong)?;
            let source = self.limit.sources.get(element).unwrap_or(&kinds::Source::Checked);
            kinds::values_of(&entry.kind, from as u64, source, memory, out).map_err(wrong)?;
        }
        Ok(())
    }
}
