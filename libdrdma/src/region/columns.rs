//! Columns, as the builders of bitmapped and partitioned regions take them.

use super::{KindColumn, List, Part, RegionError, Values, Words, outside, positive, values::Typed};
use crate::{Memory, memory::Hold};

/// Columns as given: memory, offset of row 0's value or entry, width. Kinds are kept apart.
#[derive(Clone, Debug)]
pub(super) struct Columns<'m> {
    list: List<(Memory<'m>, u64, u64)>,
    typed: Typed<'m>,
}

/// Defines the methods of a builder that add to its `columns`.
macro_rules! column_methods {
    () => {
        /// Adds a column: values of `width` bytes one behind the other, from byte `offset` of
        /// `memory` on.
        #[inline]
        pub fn column(mut self, memory: impl Into<Memory<'m>>, offset: u64, width: u64) -> Self {
            self.columns.push(memory.into(), offset, width);
            self
        }

        /// Adds a column whose entries lead to its values, as `values` say; row 0's entry is at `offset` in
        /// `memory`. It needs a card with [`Features::VARLEN`](crate::Features::VARLEN), or
        /// [`Features::BITS`](crate::Features::BITS) for bits.
        pub fn typed_column(
            mut self,
            memory: impl Into<Memory<'m>>,
            offset: u64,
            values: Values<'m>,
        ) -> Self {
            self.columns.push_typed(memory.into(), offset, values);
            self
        }
    };
}
pub(super) use column_methods;

impl<'m> Columns<'m> {
    pub fn new() -> Self {
        Self { list: List::new(), typed: Typed::default() }
    }

    #[inline]
    pub fn push(&mut self, memory: Memory<'m>, offset: u64, width: u64) {
        self.list.push((memory, offset, width));
    }

    pub fn push_typed(&mut self, memory: Memory<'m>, offset: u64, values: Values<'m>) {
        self.typed.push(&self.list, values);
        self.list.push((memory, offset, 0));
    }

    /// True if some columns have kinds.
    #[inline]
    pub fn have_kinds(&self) -> bool {
        !self.typed.is_empty()
    }

    /// Returns the number of columns, or an error if there are none or too many.
    #[inline]
    pub fn check(&self, region: &'static str) -> Result<usize, RegionError> {
        self.list.check(region, "columns")?;
        Ok(self.list.given)
    }

    /// Returns the shared memory of the columns and of `others`.
    pub fn hold<'a>(&'a self, others: impl IntoIterator<Item = &'a Memory<'m>>) -> Hold
    where
        'm: 'a,
    {
        let columns = self.list.iter().map(|(memory, ..)| memory);
        let hold = Hold::of(columns.chain(others));
        if self.typed.is_empty() { hold } else { self.typed.hold(hold) }
    }

    /// Appends the columns, all of fixed width, of a region of `rows` rows in protection domain
    /// `pd`, or returns the error of one of them.
    #[inline]
    pub fn describe(
        &self,
        region: &'static str,
        pd: u32,
        rows: u64,
        words: &mut Words,
    ) -> Result<(), RegionError> {
        for (i, &(ref memory, offset, width)) in self.list.iter().enumerate() {
            let what = Part::Column(i);
            let value = positive(region, Part::ColumnWidth(i), width)?;
            let end = u128::from(offset) + u128::from(rows) * u128::from(width);
            if rows > 0 && end > memory.len() as u128 {
                return Err(outside(region, offset.into(), memory, what));
            }
            if memory.pd() != pd {
                return Err(RegionError::ProtectionDomain { region, what });
            }
            words.element(memory.addr().wrapping_add(offset), value, memory.lkey());
        }
        Ok(())
    }

    /// Describes the columns, of which some have kinds, for the card.
    pub fn kinds(
        &self,
        region: &'static str,
        pd: u32,
        rows: u64,
    ) -> Result<Vec<KindColumn>, RegionError> {
        let column = |(index, (memory, offset, width)): (usize, &(Memory<'m>, u64, u64))| {
            let (values, what) = (self.typed.of(index, *width), (Part::Column(index), index));
            values.check_column(region, what, (memory, *offset), rows, pd)
        };
        self.list.iter().enumerate().map(column).collect()
    }
}
