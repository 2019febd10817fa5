//! Host memory as a card sees it.

use std::collections::BTreeMap;

/// Number of bytes of a bitmap or an array of pointers or ids that are read at once.
pub const CHUNK: usize = 4096;

/// A run of bytes in host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fragment {
    /// Address of the first byte.
    pub addr: u64,
    /// Length in bytes.
    pub len: u32,
}

/// Error of a card's access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no memory for {len} B at {addr:#x}")]
pub struct Fault {
    /// Address of the first byte of the access.
    pub addr: u64,
    /// Length of the access in bytes.
    pub len: usize,
}

/// Values of one width, one in each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Values {
    /// Address of row 0's value, whether or not that row is read.
    pub base: u64,
    /// Distance in bytes from a row's value to the next row's.
    pub step: u64,
    /// Length of a value in bytes, at least 1.
    pub width: usize,
}

impl Values {
    /// Address of a row's value.
    pub fn at(&self, row: u32) -> u64 {
        self.base.wrapping_add(u64::from(row).wrapping_mul(self.step))
    }
}

/// Memory that a card reads, by I/O virtual address.
pub trait HostMemory {
    /// Reads `out.len()` bytes that start at `addr`.
    ///
    /// # Errors
    /// [`Fault`] if one of these bytes is not mapped.
    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), Fault>;

    /// Reads the values of some rows, each `pitch` bytes behind the one before in `out`; bytes
    /// between them in `out` stay.
    ///
    /// # Errors
    /// [`Fault`] if one of these bytes is not mapped. Others may have been read.
    fn read_values(
        &self,
        values: Values,
        rows: &[u32],
        out: &mut [u8],
        pitch: usize,
    ) -> Result<(), Fault> {
        read_each(self, values, rows, out, pitch)
    }

    /// Reads rows, each `pitch` bytes behind the one before in `out`: of each the values of
    /// `columns`, one behind the other.
    ///
    /// # Errors
    /// [`Fault`] if one of these bytes is not mapped. Others may have been read.
    fn read_rows(
        &self,
        columns: &[Values],
        rows: &[u32],
        out: &mut [u8],
        pitch: usize,
    ) -> Result<(), Fault> {
        let mut from = 0;
        for values in columns {
            self.read_values(*values, rows, &mut out[from..], pitch)?;
            from += values.width;
        }
        Ok(())
    }
}

/// Reads values one by one ([`HostMemory::read_values`]).
///
/// # Errors
/// The errors of [`HostMemory::read_values`].
pub fn read_each<M: HostMemory + ?Sized>(
    memory: &M,
    values: Values,
    rows: &[u32],
    out: &mut [u8],
    pitch: usize,
) -> Result<(), Fault> {
    for (row, place) in rows.iter().zip(out.chunks_mut(pitch)) {
        memory.read(values.at(*row), &mut place[..values.width])?;
    }
    Ok(())
}

impl<M: HostMemory + ?Sized> HostMemory for &M {
    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), Fault> {
        (**self).read(addr, out)
    }

    fn read_values(
        &self,
        values: Values,
        rows: &[u32],
        out: &mut [u8],
        pitch: usize,
    ) -> Result<(), Fault> {
        (**self).read_values(values, rows, out, pitch)
    }

    fn read_rows(
        &self,
        columns: &[Values],
        rows: &[u32],
        out: &mut [u8],
        pitch: usize,
    ) -> Result<(), Fault> {
        (**self).read_rows(columns, rows, out, pitch)
    }
}

/// Values of one width, one behind the other in host memory, which are `pitch` bytes apart in a
/// packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Address of the first value in host memory.
    pub addr: u64,
    /// Length of a value in bytes, at least 1.
    pub width: usize,
    /// Number of values.
    pub count: usize,
    /// Offset of the first value in the packet.
    pub from: usize,
    /// Distance in bytes from a value to the next one in the packet.
    pub pitch: usize,
}

/// Memory that a card also writes.
pub trait WritableMemory: HostMemory {
    /// Writes `bytes` from `addr` on: all of them, or none.
    ///
    /// # Errors
    /// [`Fault`] if one of these bytes cannot be written.
    fn write(&self, addr: u64, bytes: &[u8]) -> Result<(), Fault>;

    /// Writes the values of a run, given in `packet`.
    ///
    /// # Errors
    /// [`Fault`] if one of these bytes cannot be written. Others may have been.
    fn write_run(&self, run: Run, packet: &[u8]) -> Result<(), Fault> {
        write_each(self, run, packet)
    }

    /// Writes the values of several runs, given in `packet`, run by run.
    ///
    /// # Errors
    /// [`Fault`] if one of these bytes cannot be written. Others may have been.
    fn write_runs(&self, runs: &[Run], packet: &[u8]) -> Result<(), Fault> {
        runs.iter().try_for_each(|run| self.write_run(*run, packet))
    }
}

/// Writes the values of a run one by one ([`WritableMemory::write_run`]).
///
/// # Errors
/// The errors of [`WritableMemory::write_run`].
pub fn write_each<M: WritableMemory + ?Sized>(
    memory: &M,
    run: Run,
    packet: &[u8],
) -> Result<(), Fault> {
    for k in 0..run.count {
        let from = run.from + k * run.pitch;
        let addr = run.addr.wrapping_add((k * run.width) as u64);
        memory.write(addr, &packet[from..from + run.width])?;
    }
    Ok(())
}

/// Host memory made of a few byte vectors: for planning without a card, and for tests.
#[derive(Clone, Debug, Default)]
pub struct Segments {
    segments: BTreeMap<u64, Vec<u8>>,
}

impl Segments {
    /// Host memory without segments.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a segment: `bytes` at `addr`. Segments must not overlap.
    #[must_use]
    pub fn with(mut self, addr: u64, bytes: impl Into<Vec<u8>>) -> Self {
        self.segments.insert(addr, bytes.into());
        self
    }
}

impl HostMemory for Segments {
    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), Fault> {
        let fault = Fault { addr, len: out.len() };
        let (start, bytes) = self.segments.range(..=addr).next_back().ok_or(fault)?;
        let from = usize::try_from(addr - start).map_err(|_| fault)?;
        let end = from.checked_add(out.len()).ok_or(fault)?;
        out.copy_from_slice(bytes.get(from..end).ok_or(fault)?);
        Ok(())
    }
}
