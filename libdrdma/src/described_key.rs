//! Described keys: regions that peers WRITE to and READ as if their bytes lay one after the other.

use std::{marker::PhantomData, sync::Arc};

use drdma_abi::{
    described::{DESCRIBED, KEY_REGIONS, KeyRegionEnd},
    register::{MEMORY_REGIONS, MemoryRegionEntry},
};
use drdma_driver::CardError;

use crate::{
    Access, Features, MemoryRegion, MemoryRegionError, ProtectionDomain, Region,
    context::ContextInner, encode::words, memory::Hold,
};

/// Error of making a described key or an append region.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeptRegionError {
    /// The card does not have the feature.
    #[error("{what} is not possible: {reason}")]
    Unsupported {
        /// Name of the operation that was asked for.
        what: &'static str,
        /// Description of what the card lacks.
        reason: &'static str,
    },
    /// A described key cannot give these rights.
    #[error(
        "a described key that allows {access:?}: REMOTE_READ and REMOTE_WRITE are all that is possible"
    )]
    Rights {
        /// Rights that were asked for.
        access: Access,
    },
    /// The region has a column of a kind that has no fixed places for its bytes.
    #[error("a described key of a region with kinds of columns: its bytes have no fixed places")]
    Kinds,
    /// There is no memory, or no key, for a table that the card reads.
    #[error(transparent)]
    Table(#[from] MemoryRegionError),
    /// The card may not write to the memory of a column.
    #[error("column {column} of an append region: its memory allows {access:?}, not LOCAL_WRITE")]
    ReadOnly {
        /// Index of the column, from 0.
        column: usize,
        /// Rights of the column's memory.
        access: Access,
    },
    /// The region belongs to another protection domain.
    #[error("the region belongs to another protection domain than the key")]
    ProtectionDomain,
    /// The region is invalid.
    #[error(transparent)]
    Region(#[from] crate::RegionError),
    /// All entries of the card's table are in use.
    #[error("the card has no free {what}: all {limit} are in use")]
    Exhausted {
        /// Name of the resource.
        what: &'static str,
        /// Number that the card has of it.
        limit: u32,
    },
    /// The card failed.
    #[error(transparent)]
    Card(#[from] CardError),
}

/// A key to a region with gaps. A peer that has the [`rkey`](Self::rkey) addresses the region's bytes from
/// 0 on, row after row, and WRITEs or READs any of them; the card scatters and gathers. The peer does
/// nothing that it would not do with other memory. Atomic operations are refused.
///
/// The region's memory must allow [`Access::LOCAL_WRITE`] if peers are to WRITE. What a bitmap selects, and
/// where pointers lead, counts when a packet comes: whatever they say then, no byte outside of the
/// region's memory is read or written. An access that the region refuses so breaks the queue pair (the
/// peer's request completes with `remote_operation_error`).
///
/// The card knows the key as long as this exists, which borrows the region's memory or keeps it
/// ([`Memory`](crate::Memory)).
///
/// ```
/// # use libdrdma::{Context, Options};
/// # let options = Options::new("02:00:00:00:00:01".parse()?, [10, 0, 0, 1].into());
/// # let card = libdrdma::open("soft:")?;
/// # let pd = Context::open(card, options)?.protection_domain();
/// use libdrdma::{Access, Strided};
///
/// // A column of 4 B of a table of rows.
/// let table = pd.allocate_with(4096, Access::LOCAL_WRITE)?;
/// let column = Strided::new(&table).period(16).count(256).extent(4, 4).build()?;
/// let key = pd.described_key(column, Access::REMOTE_READ | Access::REMOTE_WRITE)?;
/// // What a peer needs to know: bytes 0 to 1,023 of this key.
/// assert_eq!(key.len(), 1024);
/// println!("{:#x}", key.rkey());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DescribedKey<'m> {
    // The key must be dropped before the memory.
    entry: KeyEntry,
    len: u64,
    _hold: Hold,
    _memory: PhantomData<&'m MemoryRegion>,
}

/// A key and a region in the card's tables.
#[derive(Debug)]
struct KeyEntry {
    context: Arc<ContextInner>,
    rkey: u32,
    region: u32,
}

impl Drop for KeyEntry {
    fn drop(&mut self) {
        let mut hardware = self.context.lock();
        let index = self.rkey & (MEMORY_REGIONS.entries - 1);
        let invalid = MemoryRegionEntry::default();
        let result = hardware.device.write_entry(MEMORY_REGIONS, index, &invalid);
        hardware.note(result);
        hardware.memory_regions.put(index);
        hardware.key_regions.put(self.region);
    }
}

impl<'m> DescribedKey<'m> {
    pub(crate) fn new(
        pd: &ProtectionDomain,
        region: Region<'m>,
        access: Access,
    ) -> Result<Self, KeptRegionError> {
        let context = pd.context.inner.clone();
        if !(Access::REMOTE_READ | Access::REMOTE_WRITE).contains(access) {
            return Err(KeptRegionError::Rights { access });
        }
        if let Some(reason) = context.misses(Features::DESCRIBED_READS) {
            return Err(KeptRegionError::Unsupported { what: "a described key", reason });
        }
        if access.contains(Access::REMOTE_WRITE)
            && let Some(reason) = context.misses(Features::DESCRIBED_KEYS)
        {
            let what = "a described key that allows REMOTE_WRITE";
            return Err(KeptRegionError::Unsupported { what, reason });
        }
        if !region.belongs_to(pd.id) {
            return Err(KeptRegionError::ProtectionDomain);
        }
        if region.has_kinds() {
            return Err(KeptRegionError::Kinds);
        }
        let len = region.most_bytes();
        let exhausted = |what, limit| KeptRegionError::Exhausted { what, limit };
        let mut hardware = context.lock();
        let tag = hardware.next_tag()?;
        let limits = (hardware.memory_regions.limit(), hardware.key_regions.limit());
        let index = hardware.memory_regions.take().ok_or(exhausted("memory region", limits.0))?;
        let Some(at) = hardware.key_regions.take() else {
            hardware.memory_regions.put(index);
            return Err(exhausted("described key", limits.1));
        };
        let rkey = tag << MEMORY_REGIONS.index_bits() | index;
        let entry = MemoryRegionEntry {
            addr: at.into(),
            len,
            lkey: rkey,
            rights: access.bits(),
            pd: pd.id,
            valid: DESCRIBED,
        };
        let end = words!(KeyRegionEnd { kind: region.region_type() as u8, valid: 1u32 });
        let written = hardware
            .device
            .write_region(KEY_REGIONS, at, region.words(), end)
            .and_then(|()| hardware.device.write_entry(MEMORY_REGIONS, index, &entry));
        drop(hardware);
        // From here on, dropping the entry removes it from the card.
        let entry = KeyEntry { context, rkey, region: at };
        written?;
        Ok(Self { entry, len, _hold: region.hold, _memory: PhantomData })
    }

    /// The key that peers name the region by. It is no local key: requests of this process name the
    /// region itself.
    pub fn rkey(&self) -> u32 {
        self.entry.rkey
    }

    /// Number of bytes that can be addressed, from 0 on. For a bitmapped region it is the length
    /// with every row selected; with fewer selected, accesses beyond the selected rows are refused.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> u64 {
        self.len
    }
}
