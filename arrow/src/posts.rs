//! The requests of a batch.

use std::{ops::Range, sync::Arc};

use arrow_buffer::Buffer;
use libdrdma::{
    Bitmapped, Contiguous, MemoryRegion, Partitioned, PartitionedRegion, ProtectionDomain, Region,
    RowMask, Strided,
};

use crate::{
    Foreign, Format, SendError,
    copy::Copier,
    header::Header,
    memory,
    parts::{Bytes, Parts, Source},
    selection::{Selection, Shares, Targets},
};

/// A request, with the indices of its destinations.
pub(crate) enum Post {
    /// Regions for each destination.
    Shared { shares: Vec<(usize, Vec<Region<'static>>)>, row_mask: RowMask, rows_per_message: u32 },
    /// Rows by ids of one byte.
    Ids { region: PartitionedRegion<'static, u8>, destinations: Vec<usize>, rows_per_message: u32 },
    /// Rows by ids of two bytes.
    WideIds {
        region: PartitionedRegion<'static, u16>,
        destinations: Vec<usize>,
        rows_per_message: u32,
    },
}

/// What requests are made of.
pub(crate) struct Posts<'a> {
    pub format: &'a Format,
    pub pd: &'a ProtectionDomain,
    pub foreign: Foreign,
    pub parts: &'a Parts,
    pub shares: &'a Shares,
    pub targets: &'a Targets,
    pub copier: &'a mut Copier,
}

impl Posts<'_> {
    /// The requests of a batch, in the order in which receivers expect the messages: the header; then level
    /// by level the groups of columns, then the byte columns.
    pub fn of_batch(mut self, mut headers: Vec<Header>) -> Result<Vec<Post>, SendError> {
        let mut posts = Vec::new();
        for level in 0..self.parts.levels.len() {
            let destinations = self.destinations(level);
            if destinations.is_empty() {
                continue;
            }
            self.columns(level, &destinations, &mut posts)?;
            self.byte_columns(level, &destinations, &mut posts, &mut headers)?;
        }
        let destinations = self.destinations(0);
        if !destinations.is_empty() {
            posts.insert(0, self.headers(&headers, &destinations)?);
        }
        Ok(posts)
    }

    /// The destinations that get rows of a level.
    fn destinations(&self, level: usize) -> Vec<usize> {
        let rows = self.shares.rows[level].iter().enumerate();
        rows.filter(|(_, rows)| **rows > 0).map(|(destination, _)| destination).collect()
    }

    fn register(&mut self, buffer: Buffer, path: &str) -> Result<Arc<MemoryRegion>, SendError> {
        memory::register(self.pd, buffer, self.foreign, self.copier, path)
    }

    fn headers(&mut self, headers: &[Header], destinations: &[usize]) -> Result<Post, SendError> {
        let fingerprint = self.format.fingerprint;
        let encode = |destination: &usize| headers[*destination].encode(fingerprint);
        let bytes: Vec<Vec<u8>> = destinations.iter().map(encode).collect();
        let len = bytes[0].len() as u64;
        // They are new: nothing of the batch's is copied here.
        let block = self.copier.place(&bytes.concat())?;
        let memory = self.register(block, "header")?;
        let mut shares = Vec::with_capacity(destinations.len());
        for (i, destination) in (0..).zip(destinations) {
            let region = Contiguous::new(&memory).offset(i * len).len(len).build()?;
            shares.push((*destination, vec![region]));
        }
        Ok(Post::Shared { shares, row_mask: RowMask::Period, rows_per_message: 1 })
    }

    /// The groups of a level's columns.
    fn columns(
        &mut self,
        level: usize,
        destinations: &[usize],
        posts: &mut Vec<Post>,
    ) -> Result<(), SendError> {
        let (shares, parts) = (self.shares, self.parts);
        let selection = &shares.selections[level];
        let count = parts.levels[level].count as u64;
        let mut selected = Vec::new();
        for buffer in selection.buffers() {
            selected.push(self.register(buffer, "selection")?);
        }
        let format = self.format;
        for group in format.groups(level, |column| parts.columns[column].is_some()) {
            let mut columns = Vec::with_capacity(group.len());
            for column in &group {
                columns.push((self.column(*column)?, format.layout.columns[*column].width as u64));
            }
            let rows_per_message = format.rows_per_message(&group) as u32;
            posts.push(self.group(
                selection,
                &selected,
                count,
                &columns,
                destinations,
                rows_per_message,
            )?);
        }
        Ok(())
    }

    /// The memory of a column's values.
    fn column(&mut self, column: usize) -> Result<Arc<MemoryRegion>, SendError> {
        let path = &self.format.layout.columns[column].path;
        let buffer = match self.parts.columns[column].as_ref().expect("a column that is there") {
            Source::Lies(buffer) => buffer.clone(),
            Source::Bits(bits) => self.copier.bits(bits)?,
            Source::Lengths(offsets) => self.copier.lengths(offsets, path)?,
        };
        self.register(buffer, path)
    }

    /// The request for columns whose rows go to destinations as a selection says.
    fn group(
        &self,
        selection: &Selection,
        selected: &[Arc<MemoryRegion>],
        rows: u64,
        columns: &[(Arc<MemoryRegion>, u64)],
        destinations: &[usize],
        rows_per_message: u32,
    ) -> Result<Post, SendError> {
        let partitions = self.targets.partitions();
        Ok(match selection {
            Selection::Ids(_) => {
                let region = Partitioned::<u8>::new(&selected[0]).rows(rows);
                let region = columns
                    .iter()
                    .fold(region, |region, (memory, width)| region.column(memory, 0, *width))
                    .build()?;
                Post::Ids { region, destinations: destinations.to_vec(), rows_per_message }
            }
            Selection::WideIds(_) => {
                let region = Partitioned::<u16>::new(&selected[0]).rows(rows);
                let region = columns
                    .iter()
                    .fold(region, |region, (memory, width)| region.column(memory, 0, *width))
                    .build()?;
                Post::WideIds { region, destinations: destinations.to_vec(), rows_per_message }
            }
            Selection::Bitmaps(_) => {
                let mut shares = Vec::with_capacity(destinations.len());
                for destination in destinations {
                    let bitmap = &selected[usize::from(partitions[*destination])];
                    let region = Bitmapped::new(bitmap).rows(rows);
                    let region = columns
                        .iter()
                        .fold(region, |region, (memory, width)| region.column(memory, 0, *width))
                        .build()?;
                    shares.push((*destination, vec![region]));
                }
                Post::Shared { shares, row_mask: RowMask::Period, rows_per_message }
            }
            Selection::All => {
                let regions: Vec<_> = columns
                    .iter()
                    .map(|(memory, width)| {
                        Strided::new(memory).period(*width).count(rows).extent(0, *width).build()
                    })
                    .collect::<Result<_, _>>()?;
                let shares = destinations.iter().map(|index| (*index, regions.clone())).collect();
                // Row by row, and not one column after the other.
                Post::Shared { shares, row_mask: RowMask::Element, rows_per_message }
            }
        })
    }

    /// The byte columns of a level. Each destination's bytes are told to its header.
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
            let (buffer, ranges) = self.gather(bytes, selection)?;
            let mut shares = Vec::with_capacity(destinations.len());
            let mut memory = None;
            for destination in destinations {
                let range = ranges[*destination].clone();
                headers[*destination].bytes[number] = range.len() as u64;
                if range.is_empty() {
                    continue;
                }
                if memory.is_none() {
                    memory = Some(self.register(buffer.clone(), &column.path)?);
                }
                let memory = memory.as_ref().expect("it was made");
                shares.push((*destination, run(memory, range, format.message_bytes())?));
            }
            if !shares.is_empty() {
                let row_mask = RowMask::Period;
                posts.push(Post::Shared { shares, row_mask, rows_per_message: 1 });
            }
        }
        Ok(())
    }

    /// The bytes of a byte column, and where each destination's are.
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
            Bytes::Views { .. } => self.copier.gather_all(bytes)?,
        };
        let range = 0..buffer.len();
        Ok((buffer, vec![range; self.targets.partitions().len()]))
    }
}

/// A run of bytes in messages of so many, of which the last may be shorter.
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
