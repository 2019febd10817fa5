//! Destination of received bytes: the regions of a receive, a READ or an atomic, filled in their
//! order.

use drdma_abi::{
    completion::Status, described::DESCRIBED, receive::rights, register::MemoryRegionEntry,
};

use crate::{
    checks::{self, Directory, Keys},
    failure::{Reason, Which},
    memory::{Fault, HostMemory, WritableMemory},
    messages::Messages,
    region::{Region, RowMask},
    rows::{Fragment, Limit, Units},
};

/// True if a key allows queue pairs of protection domain `pd` to access `len` bytes at `addr` with
/// that right. The bytes of a described key begin at address 0; peers may read and write them.
pub fn allows(key: &MemoryRegionEntry, right: u32, pd: u32, addr: u64, len: u64) -> bool {
    let first = match key.valid {
        1 => key.addr,
        DESCRIBED if matches!(right, rights::REMOTE_READ | rights::REMOTE_WRITE) => 0,
        _ => return false,
    };
    let (start, end) = (u128::from(addr), u128::from(addr) + u128::from(len));
    let behind = u128::from(first) + u128::from(key.len);
    key.rights & right == right && key.pd == pd && u128::from(first) <= start && end <= behind
}

/// True if the keys of the written parts of a region allow [`rights::LOCAL_WRITE`]. A region
/// without rows has no such keys.
pub(crate) fn is_writable(region: &Region, directory: &dyn Directory) -> bool {
    let writable = |lkey: u32| {
        let key = directory.memory_region(lkey);
        key.is_some_and(|key| key.rights & rights::LOCAL_WRITE != 0)
    };
    match region {
        Region::Contiguous { lkey, .. } => writable(*lkey),
        Region::Strided { count: 0, .. }
        | Region::Bitmapped { rows: 0, .. }
        | Region::PointerMapped { count: 0, .. } => true,
        Region::Strided { lkey, .. } => writable(*lkey),
        Region::Bitmapped { columns, .. } => columns.iter().all(|column| writable(column.lkey)),
        Region::PointerMapped { target_lkey, .. } => writable(*target_lkey),
        Region::Kinds(_) => false,
    }
}

/// Regions that are checked, and may be written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    regions: Vec<Region>,
    limits: Vec<Limit>,
    row_mask: RowMask,
    /// Number of bytes that fit; 0 for an append region.
    pub capacity: u128,
    /// Number of the append region that takes the bytes instead of regions.
    pub append: Option<u32>,
}

impl Target {
    /// Checks regions that the card is to write to: first their memory as for sending, then that
    /// the keys of the written parts allow [`rights::LOCAL_WRITE`] in that protection domain, then
    /// bitmaps and pointers.
    ///
    /// # Errors
    /// The status of the request or receive that they belong to. A region whose elements have kinds
    /// cannot be filled: `local_qp_operation_error`.
    pub fn check<M: HostMemory + ?Sized>(
        regions: Vec<Region>,
        row_mask: RowMask,
        pd: u32,
        directory: &dyn Directory,
        memory: &M,
    ) -> Result<Self, Status> {
        let protection = |_: Reason| Status::LocalProtectionError;
        let keys = Keys { directory, pd };
        if regions.iter().any(|region| matches!(region, Region::Kinds(_))) {
            return Err(Status::LocalQpOperationError);
        }
        for (index, region) in regions.iter().enumerate() {
            checks::check_memory(Which::Own(index), region, keys).map_err(protection)?;
            if !is_writable(region, directory) {
                return Err(Status::LocalProtectionError);
            }
        }
        let (mut rows, mut limits) = (Vec::new(), Vec::new());
        for (index, region) in regions.iter().enumerate() {
            let (count, limit) =
                checks::count_rows(Which::Own(index), region, keys, memory).map_err(protection)?;
            rows.push(count);
            limits.push(limit);
        }
        let messages = Messages::new(&regions, &rows, row_mask, 1)
            .map_err(|_| Status::LocalQpOperationError)?;
        Ok(Self { capacity: messages.bytes(), regions, limits, row_mask, append: None })
    }

    /// The append region of that number, which is not checked yet.
    pub fn append(number: u32) -> Self {
        let (regions, limits, row_mask) = (Vec::new(), Vec::new(), RowMask::Period);
        Self { regions, limits, row_mask, capacity: 0, append: Some(number) }
    }

    /// Returns a cursor at the first byte.
    pub fn scatter(&self) -> Scatter {
        let units = Units::with_limits(&self.regions, self.row_mask, &self.limits);
        Scatter { units, unit: Vec::new(), at: 0, within: 0 }
    }
}

/// A cursor that fills regions.
#[derive(Clone, Debug)]
pub struct Scatter {
    units: Units,
    unit: Vec<Fragment>,
    at: usize,
    within: u32,
}

impl Scatter {
    /// Writes the next bytes to their places.
    ///
    /// # Errors
    /// [`Fault`] if memory is not mapped, or regions became shorter since they were checked. Bytes
    /// before it may have been written.
    pub fn write<M: WritableMemory + ?Sized>(
        &mut self,
        memory: &M,
        bytes: &[u8],
    ) -> Result<(), Fault> {
        self.advance(memory, bytes.len(), |addr, done, len| {
            memory.write(addr, &bytes[done..done + len])
        })
    }

    /// Skips the next bytes.
    ///
    /// # Errors
    /// The errors of [`write`](Self::write).
    pub fn skip<M: HostMemory + ?Sized>(&mut self, memory: &M, len: usize) -> Result<(), Fault> {
        self.advance(memory, len, |_, _, _| Ok(()))
    }

    /// Advances by `len` bytes: `visit(address, bytes before it, bytes)` for each run.
    fn advance<M: HostMemory + ?Sized>(
        &mut self,
        memory: &M,
        len: usize,
        mut visit: impl FnMut(u64, usize, usize) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut done = 0;
        while done < len {
            let Some(fragment) = self.unit.get(self.at) else {
                self.at = 0;
                if !self.units.next(memory, &mut self.unit)? {
                    return Err(Fault { addr: 0, len: len - done });
                }
                continue;
            };
            let addr = fragment.addr.wrapping_add(self.within.into());
            let part = (fragment.len - self.within).min((len - done) as u32);
            visit(addr, done, part as usize)?;
            done += part as usize;
            self.within += part;
            if self.within == fragment.len {
                self.at += 1;
                self.within = 0;
            }
        }
        Ok(())
    }
}
