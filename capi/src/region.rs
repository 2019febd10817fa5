//! Regions.

use libdrdma::{
    Bitmapped, Contiguous, Partitioned, PartitionedRegion, PointerMapped, Region, Strided,
};

use crate::{
    error::{Failure, array, get},
    memory::drdma_mr,
};

/// What a region is.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum drdma_region_type {
    /// `length` bytes at `offset` of `mr`.
    DRDMA_REGION_CONTIGUOUS = 0,
    /// The `extents` of each of `count` periods of `period` bytes, from `offset` of `mr` on.
    DRDMA_REGION_STRIDED = 1,
    /// The values of `columns` in those of `count` rows that the bitmap at `offset` of `mr` selects:
    /// bit `r` mod 8 of byte `r` / 8 selects row `r`.
    DRDMA_REGION_BITMAPPED = 2,
    /// The `extents` at each of the `count` pointers at `offset` of `mr`, which are 64-bit addresses as
    /// the card sees them (drdma_mr_iova) and lie in `target`.
    DRDMA_REGION_POINTER_MAPPED = 3,
}

/// A run of bytes inside a period or a record.
#[repr(C)]
pub struct drdma_extent {
    /// The first one.
    pub offset: u64,
    /// How many.
    pub length: u64,
}

/// A column: values one behind the other.
#[repr(C)]
pub struct drdma_column {
    /// The memory that it lies in.
    pub mr: *const drdma_mr,
    /// Row 0's value in it.
    pub offset: u64,
    /// Bytes of a value.
    pub width: u64,
}

/// What to send, described instead of listed. Fields that its type does not name are 0.
#[repr(C)]
pub struct drdma_region {
    /// A `drdma_region_type`.
    pub region_type: u32,
    /// Entries of `extents`.
    pub num_extents: u32,
    /// Entries of `columns`.
    pub num_columns: u32,
    /// The memory, or that of the bitmap, or that of the pointers.
    pub mr: *const drdma_mr,
    /// First byte in it.
    pub offset: u64,
    /// Bytes of a contiguous region.
    pub length: u64,
    /// Bytes from one period to the next.
    pub period: u64,
    /// Periods, rows or pointers.
    pub count: u64,
    /// Up to 16.
    pub extents: *const drdma_extent,
    /// Up to 16.
    pub columns: *const drdma_column,
    /// The memory that pointers point to.
    pub target: *const drdma_mr,
}

impl drdma_region {
    /// # Safety
    /// C promises what is behind the pointers.
    pub(crate) unsafe fn build(&self) -> Result<Region<'static>, Failure> {
        use drdma_region_type as kind;
        // SAFETY: the caller's promise.
        let memory = || Ok::<_, Failure>(&unsafe { get(self.mr, "mr") }?.memory);
        // SAFETY: the caller's promise.
        let extents = || unsafe { array(self.extents, self.num_extents, "extents") };
        let region = match self.region_type {
            t if t == kind::DRDMA_REGION_CONTIGUOUS as u32 => {
                Contiguous::new(memory()?).offset(self.offset).len(self.length).build()
            }
            t if t == kind::DRDMA_REGION_STRIDED as u32 => {
                let region = Strided::new(memory()?).offset(self.offset).period(self.period);
                let extents = extents()?.iter();
                extents.fold(region.count(self.count), |r, e| r.extent(e.offset, e.length)).build()
            }
            t if t == kind::DRDMA_REGION_BITMAPPED as u32 => {
                let mut region = Bitmapped::new(memory()?).offset(self.offset).rows(self.count);
                // SAFETY: the caller's promise.
                for column in unsafe { array(self.columns, self.num_columns, "columns") }? {
                    // SAFETY: the caller's promise.
                    let memory = &unsafe { get(column.mr, "a column's mr") }?.memory;
                    region = region.column(memory, column.offset, column.width);
                }
                region.build()
            }
            t if t == kind::DRDMA_REGION_POINTER_MAPPED as u32 => {
                // SAFETY: the caller's promise.
                let target = &unsafe { get(self.target, "target") }?.memory;
                let region = PointerMapped::new(memory()?, target).offset(self.offset);
                let extents = extents()?.iter();
                extents.fold(region.count(self.count), |r, e| r.extent(e.offset, e.length)).build()
            }
            other => {
                let text = format!("region_type is {other}: it must be 0 to 3");
                return Err(Failure::new(libc::EINVAL, text));
            }
        };
        Ok(region?)
    }
}

/// One region for all destinations of a request: each of `rows` rows goes to the destination whose
/// partition its id names.
#[repr(C)]
pub struct drdma_partitioned_region {
    /// The memory of the ids.
    pub ids: *const drdma_mr,
    /// The first id in it.
    pub offset: u64,
    /// Bytes of an id: 1 or 2 (little-endian).
    pub id_width: u32,
    /// Entries of `columns`.
    pub num_columns: u32,
    /// Rows, that is, ids.
    pub rows: u64,
    /// Up to 16.
    pub columns: *const drdma_column,
}

impl drdma_partitioned_region {
    /// # Safety
    /// C promises what is behind the pointers.
    pub(crate) unsafe fn build<I: libdrdma::PartitionId>(
        &self,
    ) -> Result<PartitionedRegion<'static, I>, Failure> {
        // SAFETY: the caller's promise.
        let ids = &unsafe { get(self.ids, "ids") }?.memory;
        let mut region = Partitioned::<I>::new(ids).offset(self.offset).rows(self.rows);
        // SAFETY: the caller's promise.
        for column in unsafe { array(self.columns, self.num_columns, "columns") }? {
            // SAFETY: the caller's promise.
            let memory = &unsafe { get(column.mr, "a column's mr") }?.memory;
            region = region.column(memory, column.offset, column.width);
        }
        Ok(region.build()?)
    }
}
