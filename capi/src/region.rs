//! Regions.

use std::sync::Arc;

use libdrdma::{
    Bitmapped, Contiguous, MemoryRegion, Partitioned, PartitionedRegion, PointerMapped, Region,
    Strided, Values,
};

use crate::{
    error::{Failure, array, get},
    memory::drdma_mr,
    values::{drdma_partition_by, drdma_values},
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
    /// What the entry at `offset` leads to, instead of `length`; or NULL.
    pub values: *const drdma_values,
}

/// The records of a pointer-mapped region lead to further ones, which are rows as well.
#[repr(C)]
pub struct drdma_chase {
    /// Bytes from the start of a record to its pointer to the next one.
    pub next: u64,
    /// The pointer that ends a chain.
    pub end: u64,
    /// Records of a chain, at most: 1 to 2^24. One that has more, or no end, fails the request.
    pub limit: u64,
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
    /// What the entries from `offset` on lead to, instead of `width`; or NULL.
    pub values: *const drdma_values,
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
    /// How records lead to further ones; or NULL: they do not.
    pub chase: *const drdma_chase,
    /// The place of row 0's bit in the bitmap's first byte, 0 to 7.
    pub first_bit: u32,
}

/// Folds the columns of C into a builder.
///
/// # Safety
/// C promises what is behind the pointers.
unsafe fn with_columns<B>(
    mut builder: B,
    columns: &[drdma_column],
    plain: impl Fn(B, &Arc<MemoryRegion>, u64, u64) -> B,
    typed: impl Fn(B, &Arc<MemoryRegion>, u64, Values<'static>) -> B,
) -> Result<B, Failure> {
    for column in columns {
        // SAFETY: the caller's promise.
        let memory = &unsafe { get(column.mr, "a column's mr") }?.memory;
        // SAFETY: the caller's promise.
        let values = unsafe { column.values.as_ref() };
        // SAFETY: the caller's promise.
        let values = values.map(|values| unsafe { values.build() }).transpose()?;
        builder = match values {
            Some(values) => typed(builder, memory, column.offset, values),
            None => plain(builder, memory, column.offset, column.width),
        };
    }
    Ok(builder)
}

/// Folds the extents of C into a builder.
///
/// # Safety
/// C promises what is behind the pointers.
unsafe fn with_extents<B>(
    mut builder: B,
    extents: &[drdma_extent],
    plain: impl Fn(B, u64, u64) -> B,
    typed: impl Fn(B, u64, Values<'static>) -> B,
) -> Result<B, Failure> {
    for extent in extents {
        // SAFETY: the caller's promise.
        builder = match unsafe { extent.values.as_ref() } {
            // SAFETY: the caller's promise.
            Some(values) => typed(builder, extent.offset, unsafe { values.build() }?),
            None => plain(builder, extent.offset, extent.length),
        };
    }
    Ok(builder)
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
                let region = region.count(self.count);
                // SAFETY: the caller's promise.
                unsafe { with_extents(region, extents()?, Strided::extent, Strided::typed_extent) }?
                    .build()
            }
            t if t == kind::DRDMA_REGION_BITMAPPED as u32 => {
                let first = u8::try_from(self.first_bit).unwrap_or(u8::MAX);
                let region = Bitmapped::new(memory()?).offset(self.offset).rows(self.count);
                let region = region.first_bit(first);
                // SAFETY: the caller's promise.
                let columns = unsafe { array(self.columns, self.num_columns, "columns") }?;
                // SAFETY: the caller's promise.
                unsafe {
                    with_columns(
                        region,
                        columns,
                        |r, memory, offset, width| r.column(memory, offset, width),
                        |r, memory, offset, values| r.typed_column(memory, offset, values),
                    )
                }?
                .build()
            }
            t if t == kind::DRDMA_REGION_POINTER_MAPPED as u32 => {
                // SAFETY: the caller's promise.
                let target = &unsafe { get(self.target, "target") }?.memory;
                let region = PointerMapped::new(memory()?, target).offset(self.offset);
                let mut region = region.count(self.count);
                // SAFETY: the caller's promise.
                if let Some(chase) = unsafe { self.chase.as_ref() } {
                    region = region.chase(chase.next, chase.end, chase.limit);
                }
                let (plain, typed) = (PointerMapped::extent, PointerMapped::typed_extent);
                // SAFETY: the caller's promise.
                unsafe { with_extents(region, extents()?, plain, typed) }?.build()
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
    /// How the card makes ids, instead of `ids`, `offset` and `id_width`; or NULL.
    pub by: *const drdma_partition_by,
}

impl drdma_partitioned_region {
    /// # Safety
    /// C promises what is behind the pointers.
    pub(crate) unsafe fn build<I: libdrdma::PartitionId>(
        &self,
    ) -> Result<PartitionedRegion<'static, I>, Failure> {
        // SAFETY: the caller's promise.
        let ids = &unsafe { get(self.ids, "ids") }?.memory;
        let region = Partitioned::<I>::new(ids).offset(self.offset).rows(self.rows);
        // SAFETY: the caller's promise.
        unsafe { self.finish(region) }
    }

    /// Like [`build`](Self::build), with ids that the card makes.
    ///
    /// # Safety
    /// C promises what is behind the pointers.
    pub(crate) unsafe fn build_by(
        &self,
        by: &drdma_partition_by,
    ) -> Result<PartitionedRegion<'static, u16>, Failure> {
        // SAFETY: the caller's promise.
        unsafe { self.finish(Partitioned::by(by.build()?).rows(self.rows)) }
    }

    /// # Safety
    /// C promises what is behind the pointers.
    unsafe fn finish<I: libdrdma::PartitionId>(
        &self,
        region: Partitioned<'static, I>,
    ) -> Result<PartitionedRegion<'static, I>, Failure> {
        // SAFETY: the caller's promise.
        let columns = unsafe { array(self.columns, self.num_columns, "columns") }?;
        // SAFETY: the caller's promise.
        let region = unsafe {
            with_columns(
                region,
                columns,
                |r, memory, offset, width| r.column(memory, offset, width),
                |r, memory, offset, values| r.typed_column(memory, offset, values),
            )
        }?;
        Ok(region.build()?)
    }
}
