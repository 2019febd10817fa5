//! The requests of a batch.

use std::{ops::Range, sync::Arc};

use arrow_buffer::{BooleanBuffer, Buffer};
use libdrdma::{
    Bitmapped, Contiguous, MemoryRegion, MessageLayout, Partitioned, PartitionedRegion,
    ProtectionDomain, Region, RowMask, Strided, Values,
};

use crate::{
    Foreign, Format, SendError, Why,
    copy::Copier,
    header::Header,
    kinds::Column,
    memory,
    parts::{Bytes, Parts, Source},
    selection::{Selection, Shares, Targets},
};

/// A request, with the indices of its destinations.
pub(crate) enum Post {
    /// Regions for each destination.
    Shared { shares: Vec<(usize, Vec<Region<'static>>)>, row_mask: RowMask, messages: Messages },
    /// Rows by ids of one byte.
    Ids { region: PartitionedRegion<'static, u8>, destinations: Vec<usize>, messages: Messages },
    /// Rows by ids of two bytes.
    WideIds {
        region: PartitionedRegion<'static, u16>,
        destinations: Vec<usize>,
        messages: Messages,
    },
}

/// The messages of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Messages {
    pub rows: u32,
    pub layout: MessageLayout,
}

impl Messages {
    /// Messages of one row each.
    const OF_A_ROW: Self = Self { rows: 1, layout: MessageLayout::Rows };
}

/// A batch, and what its requests are made with.
pub(crate) struct Posts<'a> {
    pub format: &'a Format,
    pub pd: &'a ProtectionDomain,
    pub foreign: Foreign,
    pub parts: &'a Parts,
    pub shares: &'a Shares,
    pub targets: &'a Targets,
    pub copier: &'a mut Copier,
    /// Bytes of validity for columns without nulls; see [`Sender`](crate::Sender).
    pub ones: &'a mut Option<Buffer>,
}

impl Posts<'_> {
    /// The requests of a batch, in the order in which receivers expect the messages: the header, unless rows are
    /// appended; then level by level the groups of columns, then the byte columns.
    pub fn of_batch(mut self, mut headers: Vec<Header>) -> Result<Vec<Post>, SendError> {
        let mut posts = Vec::new();
        for level in 0..self.parts.levels.len() {
            let destinations = self.destinations(level);
            if destinations.is_empty() {
                continue;
            }
            let mut selected = Vec::new();
            for buffer in self.shares.selections[level].buffers() {
                selected.push(self.register(buffer, "selection")?);
            }
            self.columns(level, &selected, &destinations, &mut posts)?;
            match self.format.layout.kinds {
                true => {
                    let to = (&*destinations, &mut *headers);
                    self.string_columns(level, &selected, to, &mut posts)?;
                }
                false => self.byte_columns(level, &destinations, &mut posts, &mut headers)?,
            }
        }
        let destinations = self.destinations(0);
        if !destinations.is_empty() && !self.format.layout.appended {
            posts.insert(0, self.headers(&headers, &destinations)?);
        }
        Ok(posts)
    }

    /// The destinations that get rows of a level.
    fn destinations(&self, level: usize) -> Vec<usize> {
        let rows = self.shares.rows[level].iter().enumerate();
        rows.filter(|(_, rows)| **rows > 0).map(|(destination, _)| destination).collect()
    }

    pub(crate) fn register(
        &mut self,
        buffer: Buffer,
        path: &str,
    ) -> Result<Arc<MemoryRegion>, SendError> {
        memory::register(self.pd, buffer, self.foreign, self.copier, path)
    }

    fn headers(&mut self, headers: &[Header], destinations: &[usize]) -> Result<Post, SendError> {
        let fingerprint = self.format.fingerprint;
        let encode = |destination: &usize| headers[*destination].encode(fingerprint);
        let bytes: Vec<Vec<u8>> = destinations.iter().map(encode).collect();
        let len = bytes[0].len() as u64;
        // Headers are new bytes, so they do not count as copied.
        let block = self.copier.place(&bytes.concat())?;
        let memory = self.register(block, "header")?;
        let mut shares = Vec::with_capacity(destinations.len());
        for (i, destination) in (0..).zip(destinations) {
            let region = Contiguous::new(&memory).offset(i * len).len(len).build()?;
            shares.push((*destination, vec![region]));
        }
        let (row_mask, messages) = (RowMask::Period, Messages::OF_A_ROW);
        Ok(Post::Shared { shares, row_mask, messages })
    }

    /// The groups of a level's columns.
    fn columns(
        &mut self,
        level: usize,
        selected: &[Arc<MemoryRegion>],
        destinations: &[usize],
        posts: &mut Vec<Post>,
    ) -> Result<(), SendError> {
        let (format, parts) = (self.format, self.parts);
        let layout = &format.layout;
        for group in
            format.groups(level, |column| layout.appended || parts.columns[column].is_some())
        {
            if let (Selection::All, true) = (&self.shares.selections[level], format.is_bits(&group))
            {
                posts.push(self.all_bits(&group, destinations)?);
                continue;
            }
            let mut columns = Vec::with_capacity(group.len());
            for column in &group {
                columns.push(self.column(*column)?);
            }
            let rows = format.rows_per_message(&group) as u32;
            posts.push(self.group(level, selected, &columns, destinations, rows)?);
        }
        Ok(())
    }

    /// The memory of a column's values.
    fn column(&mut self, column: usize) -> Result<Column, SendError> {
        let of = &self.format.layout.columns[column];
        let (buffer, values) = match &self.parts.columns[column] {
            // The column is validity that every batch has, of a field without nulls here.
            None => (self.ones(of.width * self.parts.levels[of.level].count)?, None),
            Some(Source::Lies(buffer)) => (buffer.clone(), None),
            Some(Source::Bits(bits)) if of.bits => {
                let (buffer, first) = bytes_of(bits);
                (buffer, Some(Values::bits(first)))
            }
            Some(Source::Bits(bits)) => (self.copier.bits(bits)?, None),
            Some(Source::Lengths(offsets)) => (self.copier.lengths(offsets, &of.path)?, None),
        };
        Ok(Column { memory: self.register(buffer, &of.path)?, width: of.width as u64, values })
    }

    /// A buffer of this many bytes that are 1, made once and kept.
    fn ones(&mut self, bytes: usize) -> Result<Buffer, SendError> {
        if let Some(ones) = self.ones.as_ref().filter(|ones| ones.len() >= bytes) {
            return Ok(ones.slice_with_length(0, bytes));
        }
        let ones = self.copier.place(&vec![1; bytes.next_power_of_two()])?;
        Ok(self.ones.insert(ones).slice_with_length(0, bytes))
    }

    /// The bits of all rows, for everybody: bytes like others.
    fn all_bits(&mut self, group: &[usize], destinations: &[usize]) -> Result<Post, SendError> {
        let path = &self.format.layout.columns[group[0]].path;
        let Some(Source::Bits(bits)) = &self.parts.columns[group[0]] else {
            unreachable!("a column of bits")
        };
        let (mut buffer, first) = bytes_of(bits);
        if first > 0 {
            (buffer, _) = bytes_of(&self.copier.align(bits)?);
        }
        let len = buffer.len();
        let memory = self.register(buffer, path)?;
        let message = self.format.rows_per_message(group).div_ceil(8);
        let regions = run(&memory, 0..len, message)?;
        let shares = destinations.iter().map(|index| (*index, regions.clone())).collect();
        Ok(Post::Shared { shares, row_mask: RowMask::Period, messages: Messages::OF_A_ROW })
    }

    /// Requests for the strings of a level, each column with its lengths. Adds the rows of a message to the headers.
    fn string_columns(
        &mut self,
        level: usize,
        selected: &[Arc<MemoryRegion>],
        (destinations, headers): (&[usize], &mut [Header]),
        posts: &mut Vec<Post>,
    ) -> Result<(), SendError> {
        let (format, parts, shares) = (self.format, self.parts, self.shares);
        let columns = format.layout.bytes.iter().zip(&parts.bytes).enumerate();
        for (number, (column, bytes)) in columns.filter(|(_, (column, _))| column.level == level) {
            let Some(rows) = self.string_rows(bytes, &shares.selections[level]) else {
                let to = (destinations, &mut *headers);
                self.long_strings((level, number), selected, to, posts)?;
                continue;
            };
            let strings = self.strings(bytes, &column.path)?;
            posts.push(self.group(level, selected, &[strings], destinations, rows)?);
            for destination in destinations {
                headers[*destination].bytes[number] = rows.into();
            }
        }
        Ok(())
    }

    /// The request for columns whose rows go to destinations as the level's selection says.
    pub(crate) fn group(
        &self,
        level: usize,
        selected: &[Arc<MemoryRegion>],
        columns: &[Column],
        destinations: &[usize],
        rows_per_message: u32,
    ) -> Result<Post, SendError> {
        /// Adds the columns to a builder.
        macro_rules! with_columns {
            ($region:expr) => {
                columns.iter().fold($region, |region, column| match &column.values {
                    None => region.column(&column.memory, 0, column.width),
                    Some(values) => region.typed_column(&column.memory, 0, values.clone()),
                })
            };
        }
        let partitions = self.targets.partitions();
        let rows = self.parts.levels[level].count as u64;
        let layout = match columns.iter().any(|column| column.values.is_some()) {
            true => MessageLayout::Columns,
            false => MessageLayout::Rows,
        };
        let messages = Messages { rows: rows_per_message, layout };
        Ok(match &self.shares.selections[level] {
            Selection::Ids(_) => {
                let region = Partitioned::<u8>::new(&selected[0]).rows(rows);
                let region = with_columns!(region).build()?;
                Post::Ids { region, destinations: destinations.to_vec(), messages }
            }
            Selection::WideIds(_) => {
                let region = Partitioned::<u16>::new(&selected[0]).rows(rows);
                let region = with_columns!(region).build()?;
                Post::WideIds { region, destinations: destinations.to_vec(), messages }
            }
            Selection::Bitmaps(_) => {
                let mut shares = Vec::with_capacity(destinations.len());
                for destination in destinations {
                    let bitmap = &selected[usize::from(partitions[*destination])];
                    let region = with_columns!(Bitmapped::new(bitmap).rows(rows)).build()?;
                    shares.push((*destination, vec![region]));
                }
                Post::Shared { shares, row_mask: RowMask::Period, messages }
            }
            Selection::All => {
                let region = |Column { memory, width, values }: &Column| {
                    let region = Strided::new(memory).period(*width).count(rows);
                    match values {
                        None => region.extent(0, *width).build(),
                        Some(values) => region.typed_extent(0, values.clone()).build(),
                    }
                };
                let regions: Vec<_> = columns.iter().map(region).collect::<Result<_, _>>()?;
                let shares = destinations.iter().map(|index| (*index, regions.clone())).collect();
                // Row by row, and not one column after the other.
                Post::Shared { shares, row_mask: RowMask::Element, messages }
            }
        })
    }

    /// Requests for the byte columns of a level. Adds each destination's bytes to its header.
    fn byte_columns(
        &mut self,
        level: usize,
        destinations: &[usize],
        posts: &mut Vec<Post>,
        headers: &mut [Header],
    ) -> Result<(), SendError> {
        let (format, parts) = (self.format, self.parts);
        let selection = &self.shares.selections[level];
        let columns = format.layout.bytes.iter().zip(&parts.bytes).enumerate();
        for (number, (column, bytes)) in columns.filter(|(_, (column, _))| column.level == level) {
            let gathered = self.gather(bytes, selection)?;
            self.byte_column(gathered, &column.path, destinations, posts, |destination, bytes| {
                headers[destination].bytes[number] = bytes;
            })?;
        }
        Ok(())
    }

    /// The request for the bytes of a byte column, of which each destination gets a range. `note` is told how many
    /// bytes a destination gets.
    pub(crate) fn byte_column(
        &mut self,
        (buffer, ranges): (Buffer, Vec<Range<usize>>),
        path: &str,
        destinations: &[usize],
        posts: &mut Vec<Post>,
        mut note: impl FnMut(usize, u64),
    ) -> Result<(), SendError> {
        let mut shares = Vec::with_capacity(destinations.len());
        let mut memory = None;
        for destination in destinations {
            let range = ranges[*destination].clone();
            note(*destination, range.len() as u64);
            if range.is_empty() {
                continue;
            }
            if memory.is_none() {
                memory = Some(self.register(buffer.clone(), path)?);
            }
            let memory = memory.as_ref().expect("it was made");
            shares.push((*destination, run(memory, range, self.format.message_bytes())?));
        }
        if !shares.is_empty() {
            let (row_mask, messages) = (RowMask::Period, Messages::OF_A_ROW);
            posts.push(Post::Shared { shares, row_mask, messages });
        }
        Ok(())
    }

    /// The bytes of a byte column, and the range of each destination's.
    fn gather(
        &mut self,
        bytes: &Bytes,
        selection: &Selection,
    ) -> Result<(Buffer, Vec<Range<usize>>), SendError> {
        let Selection::All = selection else {
            return self.copier.gather(bytes, selection, self.targets);
        };
        let buffer = match bytes {
            Bytes::Offsets { offsets, values } => {
                let all = offsets.all();
                values.slice_with_length(all.start, all.len())
            }
            Bytes::Views { .. } => self.copier.gather_all(Why::Lengths, bytes)?,
        };
        let range = 0..buffer.len();
        Ok((buffer, vec![range; self.targets.partitions().len()]))
    }
}

/// The bytes that bits lie in, and the first one's place in the first byte.
pub(crate) fn bytes_of(bits: &BooleanBuffer) -> (Buffer, u8) {
    let (start, first) = (bits.offset() / 8, bits.offset() % 8);
    (bits.inner().slice_with_length(start, (first + bits.len()).div_ceil(8)), first as u8)
}

/// The regions of a run of bytes in messages of `message_bytes`, the last of which may be shorter.
fn run(
    memory: &Arc<MemoryRegion>,
    range: Range<usize>,
    message_bytes: usize,
) -> Result<Vec<Region<'static>>, SendError> {
    let message = message_bytes as u64;
    let (start, len) = (range.start as u64, range.len() as u64);
    let (whole, rest) = (len / message, len % message);
    let mut regions = Vec::with_capacity(2);
    if whole > 0 {
        let region = Strided::new(memory).offset(start).period(message).count(whole);
        regions.push(region.extent(0, message).build()?);
    }
    if rest > 0 {
        let offset = start + whole * message;
        regions.push(Contiguous::new(memory).offset(offset).len(rest).build()?);
    }
    Ok(regions)
}
