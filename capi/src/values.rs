//! What the entries of columns and extents lead to, and partitions that are made from keys.

use std::ffi::c_int;

use libdrdma::{KeyType, PartitionKeys, Values, ViewTable};

use crate::{
    device::drdma_pd,
    error::{Failure, array, destroy, get, object},
    memory::drdma_mr,
};

/// How an entry leads to its value.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum drdma_values_type {
    /// It is the value, of `width` bytes.
    DRDMA_VALUES_FIXED = 0,
    /// It is a bit, of a column alone: row 0's is bit `first_bit`, 0 (the least significant) to 7, of the byte at the
    /// column's offset.
    DRDMA_VALUES_BITS = 1,
    /// It is two offsets of `width` bytes (4 or 8), one behind the other, between which the value lies in `data`,
    /// counted from byte `offset` on. A column has an offset more than rows.
    DRDMA_VALUES_OFFSETS = 2,
    /// It is a view of 16 bytes, into the buffers of `views`.
    DRDMA_VALUES_VIEWS = 3,
    /// It is an index of `width` bytes (1, 2, 4 or 8) of one of the `count` values of `value_width` bytes in `data`,
    /// from byte `offset` on.
    DRDMA_VALUES_DICTIONARY = 4,
}

/// How the entries of a column or an extent lead to their values. Fields that the type does not name are not looked
/// at. A value of variable length is sent as its length, of 4 bytes, and its bytes. Other types than fixed are for
/// cards that do them (drdma_query_features).
#[repr(C)]
pub struct drdma_values {
    /// A `drdma_values_type`.
    pub values_type: u32,
    /// Bytes of a value, an offset or an index.
    pub width: u32,
    /// The place of row 0's bit.
    pub first_bit: u32,
    /// Bytes of a dictionary's value.
    pub value_width: u32,
    /// Values of a dictionary.
    pub count: u64,
    /// The data, or the dictionary.
    pub data: *const drdma_mr,
    /// Its first byte in that memory.
    pub offset: u64,
    /// The buffers of views.
    pub views: *const drdma_view_table,
}

impl drdma_values {
    /// # Safety
    /// C promises what is behind the pointers.
    pub(crate) unsafe fn build(&self) -> Result<Values<'static>, Failure> {
        use drdma_values_type as kind;
        // SAFETY: the caller's promise.
        let data = || Ok::<_, Failure>(&unsafe { get(self.data, "a value's data") }?.memory);
        let wrong = |field: &str, value: u32, possible: &str| {
            Failure::new(libc::EINVAL, format!("{field} is {value}: it must be {possible}"))
        };
        match self.values_type {
            t if t == kind::DRDMA_VALUES_FIXED as u32 => Ok(Values::fixed(self.width.into())),
            t if t == kind::DRDMA_VALUES_BITS as u32 => {
                let first = u8::try_from(self.first_bit);
                Ok(Values::bits(first.map_err(|_| wrong("first_bit", self.first_bit, "0 to 7"))?))
            }
            t if t == kind::DRDMA_VALUES_OFFSETS as u32 => match self.width {
                4 => Ok(Values::offsets_32(data()?, self.offset)),
                8 => Ok(Values::offsets_64(data()?, self.offset)),
                other => Err(wrong("width of offsets", other, "4 or 8")),
            },
            t if t == kind::DRDMA_VALUES_VIEWS as u32 => {
                // SAFETY: the caller's promise.
                Ok(Values::views(&unsafe { get(self.views, "views") }?.table))
            }
            t if t == kind::DRDMA_VALUES_DICTIONARY as u32 => {
                let index = u8::try_from(self.width);
                let index = index.map_err(|_| wrong("width of indices", self.width, "1 to 8"))?;
                let width = self.value_width.into();
                Ok(Values::dictionary(index, data()?, self.offset, width, self.count))
            }
            other => Err(wrong("values_type", other, "0 to 4")),
        }
    }
}

/// A part of memory that views point into.
#[repr(C)]
pub struct drdma_view_buffer {
    /// The memory.
    pub mr: *const drdma_mr,
    /// Its first byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
}

/// The buffers that views point into.
pub struct drdma_view_table {
    table: ViewTable<'static>,
}

/// Makes a table of up to 4,096 buffers, which views name by their index. It takes a key of the card, and keeps the
/// memory registered. NULL on failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_create_view_table(
    pd: *mut drdma_pd,
    buffers: *const drdma_view_buffer,
    num_buffers: u32,
) -> *mut drdma_view_table {
    object(|| {
        // SAFETY: C promises an object, and an array.
        let (pd, buffers) = unsafe { (get(pd, "pd")?, array(buffers, num_buffers, "buffers")?) };
        let mut list = Vec::with_capacity(buffers.len());
        for buffer in buffers {
            // SAFETY: C promises what it points to.
            let memory = &unsafe { get(buffer.mr, "a buffer's mr") }?.memory;
            list.push((memory.clone(), buffer.offset, buffer.length));
        }
        Ok(drdma_view_table { table: ViewTable::register(&pd.pd, list)? })
    })
}

/// Gives a table back. What was posted with it keeps it until it is polled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_destroy_view_table(table: *mut drdma_view_table) -> c_int {
    // SAFETY: C promises an object.
    unsafe { destroy(table, "table") }
}

/// What the values of a key are.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum drdma_key_type {
    /// Signed integers of 1, 2, 4 or 8 bytes, of a range also of 16; dates and timestamps.
    DRDMA_KEY_INTEGER = 0,
    /// Unsigned integers of 1, 2, 4, 8 or 16 bytes, of a range alone.
    DRDMA_KEY_UNSIGNED = 1,
    /// Floating-point numbers of 4 or 8 bytes.
    DRDMA_KEY_FLOAT = 2,
    /// Bits, or bytes that are 0 or not, of a hash alone.
    DRDMA_KEY_BOOLEAN = 3,
    /// Bytes, or text, of a hash alone.
    DRDMA_KEY_BYTES = 4,
    /// Decimals of at most 18 digits, in integers of 16 bytes, of a hash alone.
    DRDMA_KEY_DECIMAL = 5,
}

/// A column that partitions are made from.
#[repr(C)]
pub struct drdma_key {
    /// The memory that it lies in.
    pub mr: *const drdma_mr,
    /// Row 0's entry in it.
    pub offset: u64,
    /// A `drdma_key_type`.
    pub key_type: u32,
    /// The place of row 0's bit of `validity` in its byte, 0 to 7.
    pub validity_bit: u32,
    /// Its values.
    pub values: drdma_values,
    /// A bit of each row, 0 where it is null, from byte `validity_offset` on; or NULL: no row is.
    pub validity: *const drdma_mr,
    /// Its first byte in that memory.
    pub validity_offset: u64,
}

/// How partitions are made.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum drdma_partition_function {
    /// Apache Spark's Murmur3 of all keys, modulo `partitions`, which is never negative.
    DRDMA_PARTITION_MURMUR3 = 0,
    /// The number of the `partitions` - 1 splitters that are less than the only key.
    DRDMA_PARTITION_RANGE = 1,
}

/// Partitions that the card makes from keys, instead of reading ids; for cards that do so (drdma_query_features).
#[repr(C)]
pub struct drdma_partition_by {
    /// A `drdma_partition_function`.
    pub function: u32,
    /// Partitions: 1 to 65,536, of a range to 256.
    pub partitions: u32,
    /// The seed of a hash; Spark's is 42.
    pub seed: u32,
    /// Neighbouring partitions that have one id, at least 1.
    pub group: u32,
    /// Entries of `keys`.
    pub num_keys: u32,
    /// Up to 16; one of a range.
    pub keys: *const drdma_key,
    /// The splitters of a range, which are as the values of the key; NULL of a hash.
    pub splitters: *const drdma_mr,
    /// The first one in that memory.
    pub splitters_offset: u64,
}

impl drdma_partition_by {
    /// # Safety
    /// C promises what is behind the pointers.
    pub(crate) unsafe fn build(&self) -> Result<PartitionKeys<'static>, Failure> {
        use drdma_partition_function as function;
        let by = match self.function {
            f if f == function::DRDMA_PARTITION_MURMUR3 as u32 => {
                PartitionKeys::murmur3(self.partitions.into()).seed(self.seed)
            }
            f if f == function::DRDMA_PARTITION_RANGE as u32 => {
                // SAFETY: the caller's promise.
                let splitters = &unsafe { get(self.splitters, "splitters") }?.memory;
                let Some(count) = self.partitions.checked_sub(1) else {
                    let text = "partitions is 0: it must be 1 to 256".to_owned();
                    return Err(Failure::new(libc::EINVAL, text));
                };
                PartitionKeys::range(splitters, self.splitters_offset, count.into())
            }
            other => {
                let text = format!("function is {other}: it must be 0 or 1");
                return Err(Failure::new(libc::EINVAL, text));
            }
        };
        let mut by = by.group(self.group.into());
        // SAFETY: the caller's promise.
        for key in unsafe { array(self.keys, self.num_keys, "keys") }? {
            // SAFETY: the caller's promise.
            let memory = &unsafe { get(key.mr, "a key's mr") }?.memory;
            // SAFETY: the caller's promise.
            let values = unsafe { key.values.build() }?;
            let key_type = u8::try_from(key.key_type).ok().and_then(KeyType::from_code);
            let key_type = key_type.ok_or_else(|| {
                let text = format!("key_type is {}: it must be 0 to 5", key.key_type);
                Failure::new(libc::EINVAL, text)
            })?;
            by = by.key(memory, key.offset, values, key_type);
            // SAFETY: the caller's promise.
            if let Some(validity) = unsafe { key.validity.as_ref() } {
                let first = u8::try_from(key.validity_bit).unwrap_or(u8::MAX);
                by = by.validity(&validity.memory, key.validity_offset, first);
            }
        }
        Ok(by)
    }
}
