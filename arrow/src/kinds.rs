//! Bits and strings as the card follows them from where they lie: [`Form::Kinds`](crate::Form::Kinds).

use std::sync::Arc;

use arrow_buffer::Buffer;
use libdrdma::{MemoryRegion, Values, ViewTable};

use crate::{
    Foreign, Passage, SendError, Why,
    header::{Header, LONG},
    layout::{LENGTH_WIDTH, VIEW_WIDTH},
    parts::{Bytes, INLINE},
    posts::{Post, Posts},
    selection::{Selection, for_each_row},
};

/// A column of a request.
pub(crate) struct Column {
    pub memory: Arc<MemoryRegion>,
    /// Bytes from one row's entry to the next one's; 0 of bits.
    pub width: u64,
    /// The values that entries lead to; `None` if entries are the values.
    pub values: Option<Values<'static>>,
}

/// The memory that strings are sent from.
pub(crate) enum Way {
    /// The card reads these buffers, whole ones. Those that lie in no registered arena are copied.
    Lies(Vec<Buffer>),
    /// Bytes lie in no registered arena: entries and bytes of these rows are copied.
    Copied,
}

impl Bytes {
    /// Offsets or views of all rows.
    pub fn entries(&self) -> Buffer {
        match self {
            Self::Offsets { offsets, .. } => offsets.buffer(),
            Self::Views { views, .. } => views.inner().clone(),
        }
    }

    /// Bytes that travel beside entries, of all rows.
    pub fn total(&self) -> usize {
        match self {
            Self::Offsets { offsets, .. } => offsets.all().len(),
            Self::Views { .. } => (0..self.rows()).map(|row| self.row(row).len()).sum(),
        }
    }

    /// The buffers that the card reads beside entries; those of views in the order of their indices.
    fn data(&self) -> Vec<Buffer> {
        match self {
            Self::Offsets { offsets, .. } if offsets.all().is_empty() => vec![],
            // Offsets count from the first byte on.
            Self::Offsets { offsets, values } => {
                vec![values.slice_with_length(0, offsets.all().end)]
            }
            Self::Views { views, buffers, .. } => {
                // Views of nulls are followed as well.
                let is_long = |view: &u128| *view as u32 as usize > INLINE;
                if views.iter().any(is_long) { buffers.clone() } else { vec![] }
            }
        }
    }

    /// Bytes of values, nulls' included: of all rows together, and of the longest one. 0 if there are no rows.
    fn lengths(&self) -> (usize, usize) {
        match self {
            Self::Offsets { offsets, .. } => {
                let longest = (0..self.rows()).map(|row| offsets.range(row).len()).max();
                (offsets.all().len(), longest.unwrap_or_default())
            }
            Self::Views { views, .. } => {
                let lengths = views.iter().map(|view| *view as u32);
                let longest = lengths.clone().max().unwrap_or_default();
                (lengths.map(u64::from).sum::<u64>() as usize, longest as usize)
            }
        }
    }

    /// How the bytes get to the card, where `is_foreign` says what must be copied: the buffers that lie in no
    /// registered arena, or all rows if these have fewer bytes.
    pub fn way(&self, is_foreign: impl Fn(&Buffer) -> bool) -> Way {
        let data = self.data();
        let foreign: usize = data.iter().filter(|buffer| is_foreign(buffer)).map(Buffer::len).sum();
        if foreign == 0 {
            return Way::Lies(data);
        }
        let entries = self.entries();
        let copied = foreign + if is_foreign(&entries) { entries.len() } else { 0 };
        if copied <= entries.len() {
            return Way::Lies(data);
        }
        let rows = self.total();
        // The copy of views has one buffer, which an offset of 4 B must reach.
        match copied > entries.len() + rows && rows <= u32::MAX as usize {
            true => Way::Copied,
            false => Way::Lies(data),
        }
    }

    /// Entries that lead to the bytes of these rows, one behind the other.
    fn new_entries(&self) -> Vec<u8> {
        let mut at = 0;
        let mut before = |row: usize| {
            let start = at;
            at += self.row(row).len();
            start
        };
        match self {
            Self::Offsets { offsets, .. } => offsets.counted_anew(),
            Self::Views { views, nulls, .. } => {
                let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
                let view = |(row, view): (usize, &u128)| {
                    let (start, len) = (before(row), *view as u32 as usize);
                    match len {
                        _ if is_null(row) => 0,
                        0..=INLINE => *view,
                        _ => *view & u128::from(u64::MAX) | (start as u128) << 96,
                    }
                };
                let views = views.iter().enumerate().map(view);
                views.flat_map(u128::to_le_bytes).collect()
            }
        }
    }

    /// How entries and bytes get on the wire, and how many bytes they are, for a plan. `lies` returns the passage of a
    /// buffer that is sent as it lies. Messages have `limit` bytes.
    pub fn planned(&self, limit: usize, lies: impl Fn(&[u8]) -> Passage) -> [(Passage, usize); 2] {
        if LENGTH_WIDTH + self.lengths().1 > limit {
            let total = (0..self.rows()).map(|row| self.value(row).len()).sum();
            let copied = |why| Passage::Copied { why };
            return [
                (copied(Why::Offsets), LENGTH_WIDTH * self.rows()),
                (copied(Why::Lengths), total),
            ];
        }
        let foreign = Passage::Copied { why: Why::Foreign };
        let (entries, total) = (self.entries(), self.total());
        let bytes = match self.way(|buffer| lies(buffer) == foreign) {
            Way::Copied => {
                let bytes = if total == 0 { Passage::LeftOut } else { foreign };
                return [(foreign, entries.len()), (bytes, total)];
            }
            _ if total == 0 => Passage::LeftOut,
            Way::Lies(data) => {
                let copied = data.iter().filter(|data| lies(data) == foreign);
                let copied: usize = copied.map(Buffer::len).sum();
                if copied > 0 {
                    return [(lies(&entries), entries.len()), (foreign, copied)];
                }
                match self {
                    // Their memory has a key of its own: else offsets would lead to all of the arena.
                    Self::Offsets { .. } => Passage::Registered,
                    Self::Views { .. }
                        if data.iter().all(|buffer| lies(buffer) == Passage::AsItLies) =>
                    {
                        Passage::AsItLies
                    }
                    Self::Views { .. } => Passage::Registered,
                }
            }
        };
        [(lies(&entries), entries.len()), (bytes, total)]
    }
}

impl Posts<'_> {
    /// True if the buffer lies in no registered arena, and must be copied.
    fn is_foreign(&self, buffer: &Buffer) -> bool {
        self.foreign == Foreign::Copy && !buffer.is_empty() && !self.pd.is_in_arena(buffer)
    }

    /// A column of strings: offsets or views, and what they lead to.
    pub(crate) fn strings(&mut self, bytes: &Bytes, path: &str) -> Result<Column, SendError> {
        let (entries, data) = match bytes.way(|buffer| self.is_foreign(buffer)) {
            Way::Lies(data) => (bytes.entries(), data),
            Way::Copied => {
                let entries = self.copier.copy(Why::Foreign, &bytes.new_entries())?;
                let data = self.copier.gather_all(Why::Foreign, bytes)?;
                (entries, if data.is_empty() { vec![] } else { vec![data] })
            }
        };
        let memory = self.register(entries, path)?;
        let (width, values) = match bytes {
            Bytes::Offsets { offsets, .. } => {
                let data = self.alone(data.into_iter().next(), path)?;
                match offsets.width() {
                    4 => (4, Values::offsets_32(data, 0)),
                    width => (width, Values::offsets_64(data, 0)),
                }
            }
            Bytes::Views { .. } => {
                let mut table = Vec::with_capacity(data.len());
                for buffer in data {
                    let len = buffer.len() as u64;
                    // Memory of 0 bytes cannot be registered.
                    let place =
                        if len == 0 { memory.clone() } else { self.register(buffer, path)? };
                    table.push((place, 0, len));
                }
                let table = ViewTable::register(self.pd, table)?;
                (VIEW_WIDTH as u64, Values::views(&table))
            }
        };
        Ok(Column { memory, width, values: Some(values) })
    }

    /// Registers a buffer (a byte, if it is empty) as memory whose key gives access to nothing else.
    fn alone(
        &mut self,
        buffer: Option<Buffer>,
        path: &str,
    ) -> Result<Arc<MemoryRegion>, SendError> {
        let buffer = match buffer {
            Some(buffer) => buffer,
            None => self.copier.place(&[0])?,
        };
        let memory = self.register(buffer, path)?;
        Ok(match memory.has_own_key() {
            true => memory,
            false => Arc::new(memory.alias(0..memory.len())?),
        })
    }

    /// How many rows of strings share a message: as many as fit into every message of every destination. `None` if a
    /// value does not fit in a message.
    pub(crate) fn string_rows(&self, bytes: &Bytes, selection: &Selection) -> Option<u32> {
        let limit = self.format.message_bytes();
        let len = |row: usize| LENGTH_WIDTH + bytes.len(row);
        let (total, longest) = bytes.lengths();
        let (total, longest) = (total + LENGTH_WIDTH * bytes.rows(), longest + LENGTH_WIDTH);
        let whole = bytes.rows().min(u32::MAX as usize);
        if total <= limit {
            return Some(whole as u32);
        }
        if longest > limit {
            return None;
        }
        let by_mean = (limit / (total / bytes.rows()).max(1)).clamp(1, whole);
        // Values of about the same length need no look at each message: so many always fit.
        let by_longest = (limit / longest).clamp(1, whole);
        let mut rows = if 2 * by_longest >= by_mean { by_longest } else { by_mean };
        while rows > by_longest {
            // Of each destination: the rows and the bytes of the message that is filled.
            let mut filled = vec![(0, 0); self.targets.partitions().len()];
            let mut fits = true;
            for_each_row(selection, bytes.rows(), self.targets, |destination, row| {
                let (count, sum) = &mut filled[destination];
                if *count == rows {
                    (*count, *sum) = (0, 0);
                }
                (*count, *sum) = (*count + 1, *sum + len(row));
                fits &= *sum <= limit;
            });
            if fits {
                break;
            }
            rows = (rows / 2).max(by_longest);
        }
        Some(rows as u32)
    }

    /// Requests for strings of which one is longer than a message: their lengths, then their bytes, which are copied.
    pub(crate) fn long_strings(
        &mut self,
        (level, number): (usize, usize),
        selected: &[Arc<MemoryRegion>],
        (destinations, headers): (&[usize], &mut [Header]),
        posts: &mut Vec<Post>,
    ) -> Result<(), SendError> {
        let (format, parts, selection) = (self.format, self.parts, &self.shares.selections[level]);
        let (bytes, path) = (&parts.bytes[number], &format.layout.bytes[number].path);
        let lengths = self.copier.value_lengths(bytes, path)?;
        let memory = self.register(lengths, path)?;
        let lengths = Column { memory, width: LENGTH_WIDTH as u64, values: None };
        let rows = (format.message_bytes() / LENGTH_WIDTH) as u32;
        posts.push(self.group(level, selected, &[lengths], destinations, rows)?);
        let gathered = self.copier.gather_values(bytes, selection, self.targets)?;
        self.byte_column(gathered, path, destinations, posts, |destination, bytes| {
            headers[destination].bytes[number] = LONG | bytes;
        })
    }
}
