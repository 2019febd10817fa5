//! Memory regions: memory that the card may read, and the key that says so.

use std::{
    any::{Any, TypeId},
    ops::Range,
    slice,
    sync::Arc,
};

use bytemuck::{AnyBitPattern, NoUninit};
use drdma_driver::{CardError, DmaMemory};

use crate::{Access, Owner, ProtectionDomain, Sharing, context::ContextInner};

mod error;
mod key;

pub use error::MemoryRegionError;
use error::misfit;
pub(crate) use key::Key;

/// Registered memory: `len` bytes that the card sees at [`addr`](Self::addr), under the key
/// [`lkey`](Self::lkey).
///
/// It is made of new memory ([`ProtectionDomain::allocate`]) or of memory that the application has
/// anyway ([`ProtectionDomain::register`]), which [`into_owner`](Self::into_owner) gives back.
///
/// Regions borrow it or share it ([`Memory`](crate::Memory)), and so do queues that they were posted to, so that
/// it is neither dropped nor written to by this process while the card may read it. Bytes can be
/// copied out at any time. The card only reads it, unless its [`Access`] says otherwise: memory
/// that the card may write to lends no slices ([`Sharing::Shared`]) until it is given back.
///
/// A memory region whose memory is its own is written to through `&mut` alone, so that slices of
/// either kind can be lent:
///
/// ```
/// # use libdrdma::{Context, Options};
/// # let options = Options::new("02:00:00:00:00:01".parse()?, [10, 0, 0, 1].into());
/// # let card = libdrdma::open("soft:")?;
/// # let pd = Context::open(card, options)?.protection_domain();
/// let mut prices = pd.register(vec![10_u32, 20, 30])?;
/// prices.view_mut::<u32>()?[1] = 21;
/// assert_eq!(prices.view::<u32>()?, [10, 21, 30]);
/// assert_eq!(prices.as_slice()?[4], 21);
/// let back: Vec<u32> = prices.into_owner()?;
/// assert_eq!(back, [10, 21, 30]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// ```compile_fail,E0502
/// # use libdrdma::MemoryRegion;
/// # fn example(mut memory: MemoryRegion) -> Result<(), Box<dyn std::error::Error>> {
/// let first = &memory.as_slice()?[0];
/// memory.write_at(0, b"x"); // `first` would change
/// println!("{first}");
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct MemoryRegion {
    // The key must be dropped before the memory.
    key: Arc<Key>,
    span: Arc<Span>,
    /// The first byte, counted from the first page that is mapped.
    offset: usize,
    len: usize,
}

/// The right to access bytes: the holder of its only handle may write to them, unless others may
/// access them as well.
#[derive(Debug)]
pub(crate) struct Span {
    context: Arc<ContextInner>,
    sharing: Sharing,
    /// Owner of the bytes, if the mapping does not own them.
    owner: Option<Arc<dyn Any + Send + Sync>>,
    /// The owner's type.
    kind: TypeId,
}

impl Drop for Span {
    fn drop(&mut self) {
        if let Some(owner) = self.owner.take() {
            self.context.keep_until_settled(owner);
        }
    }
}

impl MemoryRegion {
    /// Allocates zeroed memory.
    pub(crate) fn allocate(
        pd: &ProtectionDomain,
        len: usize,
        sharing: Sharing,
        access: Access,
    ) -> Result<Self, MemoryRegionError> {
        if len == 0 {
            return Err(MemoryRegionError::Empty);
        }
        let memory =
            DmaMemory::new(len).map_err(|source| MemoryRegionError::Allocation { len, source })?;
        Self::whole(pd, memory, sharing, TypeId::of::<()>(), access)
    }

    /// Registers memory of an owner.
    pub(crate) fn register<O: Owner>(
        pd: &ProtectionDomain,
        owner: O,
        access: Access,
    ) -> Result<Self, MemoryRegionError> {
        if let Some(memory) = (&owner as &dyn Any).downcast_ref::<DmaMemory>() {
            // Empty memory would still be given pages of its own.
            if memory.is_empty() {
                return Err(MemoryRegionError::Empty);
            }
            return Self::whole(pd, memory.clone(), O::SHARING, TypeId::of::<()>(), access);
        }
        let mut owner = Arc::new(owner);
        let (pointer, len) = Arc::get_mut(&mut owner).expect("nobody else has it").memory();
        // SAFETY: the owner promises it, and is kept where it is in the `Arc`. Whoever else accesses
        // the bytes does it as its `SHARING` says, which is what the memory region lends them by:
        // exclusive ones are written to through a mutable borrow of the only memory region, and read
        // by a simulated card for requests that exclude one; immutable ones are not written to.
        #[allow(unsafe_code)]
        unsafe {
            Self::of_owner(pd, pointer, len, O::SHARING, owner, TypeId::of::<O>(), access)
        }
    }

    /// Registers memory at an address.
    ///
    /// # Safety
    /// The requirements of [`DmaMemory::from_raw`], and the promise that `sharing` makes.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn of_owner(
        pd: &ProtectionDomain,
        pointer: *mut u8,
        len: usize,
        sharing: Sharing,
        owner: Arc<dyn Any + Send + Sync>,
        kind: TypeId,
        access: Access,
    ) -> Result<Self, MemoryRegionError> {
        if len == 0 {
            return Err(MemoryRegionError::Empty);
        }
        if access.writes() && sharing == Sharing::Immutable {
            return Err(MemoryRegionError::Immutable { len: len as u64 });
        }
        if access.is_empty()
            && let Some((key, offset)) = pd.find(pointer, len)
        {
            let context = pd.context.inner.clone();
            let span = Arc::new(Span { context, sharing, owner: Some(owner), kind });
            return Ok(Self { key, span, offset, len });
        }
        let writable = sharing != Sharing::Immutable;
        // SAFETY: the caller's promise.
        let memory = unsafe { DmaMemory::from_raw(pointer, len, writable, owner) };
        Self::whole(pd, memory.map_err(MemoryRegionError::Address)?, sharing, kind, access)
    }

    fn whole(
        pd: &ProtectionDomain,
        memory: DmaMemory,
        sharing: Sharing,
        kind: TypeId,
        access: Access,
    ) -> Result<Self, MemoryRegionError> {
        let key = Key::over(pd, memory, access)?;
        // Memory that the card may write to lends no slices.
        let sharing = if access.writes() { Sharing::Shared } else { sharing };
        let (offset, len) = (key.offset, key.len);
        let context = pd.context.inner.clone();
        let span = Arc::new(Span { context, sharing, owner: None, kind });
        Ok(Self { key, span, offset, len })
    }

    fn memory(&self) -> &DmaMemory {
        &self.key.allocation.memory
    }

    /// I/O virtual address of the first byte, as the card sees it. Pointers of a
    /// [`PointerMapped`](crate::PointerMapped) region are such addresses.
    #[inline]
    pub fn addr(&self) -> u64 {
        self.key.allocation.iova + self.offset as u64
    }

    /// Length in bytes, at least 1.
    #[allow(clippy::len_without_is_empty)]
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The local key: a table index in the low 12 bits, a random tag above.
    #[inline]
    pub fn lkey(&self) -> u32 {
        self.key.lkey
    }

    /// The key that peers name the memory by, with [`addr`](Self::addr): the same number as the
    /// local key.
    #[inline]
    pub fn rkey(&self) -> u32 {
        self.key.lkey
    }

    /// Rights of the memory region beside being sent from.
    pub fn access(&self) -> Access {
        self.key.access
    }

    /// True if the key gives access to no other bytes. The key of memory in a [registered
    /// arena](ProtectionDomain::register_arena) gives access to all of the arena;
    /// [`alias`](Self::alias) makes one that does not.
    #[inline]
    pub fn has_own_key(&self) -> bool {
        (self.key.offset, self.key.len) == (self.offset, self.len)
    }

    #[inline]
    pub(crate) fn pd(&self) -> u32 {
        self.key.pd
    }

    fn shared(&self) -> MemoryRegionError {
        MemoryRegionError::Shared { len: self.len as u64 }
    }

    /// A second memory region with a key of its own over the bytes `range` of this one. The memory
    /// lives until the last of them is dropped; as long as there are two, it is not written to through
    /// either of them, unless others write to it anyway ([`Sharing::Shared`]).
    ///
    /// # Errors
    /// `MemoryRegionError::Empty` for an empty range, `OutOfBounds` for one that is not inside,
    /// `NoKey` without a free key, or `Card` if the card failed.
    pub fn alias(&self, range: Range<usize>) -> Result<MemoryRegion, MemoryRegionError> {
        self.alias_with(range, self.access())
    }

    /// Like [`alias`](Self::alias), with rights of its own. The card may write to the alias only if
    /// it may write to this memory region.
    ///
    /// # Errors
    /// The errors of [`alias`](Self::alias), or `ReadOnly` for rights to write that this memory
    /// region does not have.
    pub fn alias_with(
        &self,
        range: Range<usize>,
        access: Access,
    ) -> Result<MemoryRegion, MemoryRegionError> {
        if access.writes() && !self.access().writes() {
            return Err(MemoryRegionError::ReadOnly { access });
        }
        let Range { start, end } = range;
        if end > self.len || start > end {
            let (start, end, len) = (start as u64, end as u64, self.len as u64);
            return Err(MemoryRegionError::OutOfBounds { start, end, len });
        }
        if start == end {
            return Err(MemoryRegionError::Empty);
        }
        let (offset, len) = (self.offset + start, end - start);
        let Key { allocation, pd, .. } = &*self.key;
        let key = Key::new(allocation.clone(), offset, len, *pd, access)?;
        Ok(Self { key, span: self.span.clone(), offset, len })
    }

    /// Copies bytes into the memory, from byte `offset` on.
    ///
    /// # Panics
    /// If they do not fit, or the memory may not be written to: it is immutable, or has an alias.
    pub fn write_at(&mut self, offset: usize, bytes: &[u8]) {
        self.check(offset, bytes.len());
        if let Err(error) = self.check_writable() {
            panic!("{error}");
        }
        self.memory().write(self.offset + offset, bytes);
    }

    /// Copies bytes into memory that others may write to as well ([`Sharing::Shared`]), while
    /// regions and queues have it. A concurrent read of the card may find a mixture of old and new
    /// bytes.
    ///
    /// # Panics
    /// If they do not fit, or the memory is not [`Sharing::Shared`].
    pub fn store_at(&self, offset: usize, bytes: &[u8]) {
        self.check(offset, bytes.len());
        let len = self.len;
        assert!(self.span.sharing == Sharing::Shared, "the memory of {len} B is not shared");
        self.memory().write(self.offset + offset, bytes);
    }

    /// Copies bytes out of the memory, from byte `offset` on.
    ///
    /// # Panics
    /// If the range is not inside the memory region.
    pub fn read_at(&self, offset: usize, bytes: &mut [u8]) {
        self.check(offset, bytes.len());
        self.memory().read(self.offset + offset, bytes);
    }

    fn check(&self, offset: usize, len: usize) {
        assert!(
            offset.checked_add(len).is_some_and(|end| end <= self.len),
            "bytes {offset}..+{len} are outside the memory region of {} B",
            self.len
        );
    }

    /// Refuses writing while somebody else may hold a slice.
    fn check_writable(&mut self) -> Result<(), MemoryRegionError> {
        let is_only = Arc::get_mut(&mut self.span).is_some();
        match self.span.sharing {
            Sharing::Immutable => Err(MemoryRegionError::Immutable { len: self.len as u64 }),
            Sharing::Exclusive if !is_only => Err(self.shared()),
            Sharing::Exclusive | Sharing::Shared => Ok(()),
        }
    }

    fn pointer(&self) -> *mut u8 {
        self.memory().as_ptr().wrapping_add(self.offset)
    }

    /// The memory as a slice.
    ///
    /// # Errors
    /// [`MemoryRegionError::Shared`] if others may write to the memory: [`Sharing::Shared`].
    #[allow(unsafe_code)]
    pub fn as_slice(&self) -> Result<&[u8], MemoryRegionError> {
        if self.span.sharing == Sharing::Shared {
            return Err(self.shared());
        }
        // SAFETY: the bytes are mapped and initialised as long as the memory region, which is
        // borrowed. Nobody writes to them meanwhile: not this process, which needs the only memory
        // region of them mutably for that, and not the card, which never does.
        Ok(unsafe { slice::from_raw_parts(self.pointer(), self.len) })
    }

    /// The memory as a mutable slice. The compiler checks that no region and no queue has it (or
    /// [`Arc::get_mut`] does, if it is shared with them); this function checks that no other memory
    /// region covers the same memory.
    ///
    /// # Errors
    /// `MemoryRegionError::Immutable` if the memory is immutable, or `Shared` if it is shared: with
    /// an [`alias`](Self::alias), or with others that may access it ([`Sharing::Shared`]).
    #[allow(unsafe_code)]
    pub fn as_slice_mut(&mut self) -> Result<&mut [u8], MemoryRegionError> {
        self.check_writable()?;
        if self.span.sharing == Sharing::Shared {
            return Err(self.shared());
        }
        // SAFETY: the bytes are mapped and initialised as long as the memory region, which is
        // borrowed mutably; no other one refers to them, and nothing else may access them
        // (`Exclusive`) but the card. That only reads them: for requests whose regions have the
        // memory region borrowed or shared, which excludes this; for those that were taken from it,
        // of which it sends nothing any longer; or for unchecked ones. It does so like any device,
        // without regard to what the process does with the memory.
        Ok(unsafe { slice::from_raw_parts_mut(self.pointer(), self.len) })
    }

    /// The memory as values.
    ///
    /// # Errors
    /// The errors of [`as_slice`](Self::as_slice), or `View` if the bytes are not a whole number of
    /// values or not aligned for them.
    pub fn view<T: AnyBitPattern>(&self) -> Result<&[T], MemoryRegionError> {
        let at = (self.len, self.pointer().addr());
        bytemuck::try_cast_slice(self.as_slice()?).map_err(|error| misfit::<T>(at, error))
    }

    /// The memory as values that can be written to.
    ///
    /// # Errors
    /// The errors of [`as_slice_mut`](Self::as_slice_mut), or `View` if the bytes are not a whole
    /// number of values or not aligned for them.
    pub fn view_mut<T: AnyBitPattern + NoUninit>(&mut self) -> Result<&mut [T], MemoryRegionError> {
        let at = (self.len, self.pointer().addr());
        bytemuck::try_cast_slice_mut(self.as_slice_mut()?).map_err(|error| misfit::<T>(at, error))
    }

    /// Gives back the owner that the memory region was [made](ProtectionDomain::register) of, whose
    /// memory the card does not reach any longer.
    ///
    /// # Errors
    /// An owner of another type, another memory region covers the same memory
    /// ([`alias`](Self::alias)), or the card may still be reading it ([`CardError::Busy`]): for
    /// requests that were taken from it. The memory region is dropped in any case, and the owner with
    /// it as soon as that is possible.
    pub fn into_owner<O: Owner>(self) -> Result<O, MemoryRegionError> {
        if self.span.kind != TypeId::of::<O>() {
            let name = std::any::type_name::<O>();
            return Err(MemoryRegionError::OtherOwner { name });
        }
        let shared = self.shared();
        let context = self.key.allocation.context.clone();
        let Self { key, span, .. } = self;
        let Some(mut span) = Arc::into_inner(span) else { return Err(shared) };
        let busy = || MemoryRegionError::Card(CardError::Busy { waited: Default::default() });
        let owner = match span.owner.take() {
            Some(owner) => {
                if !context.lock().settle()? {
                    context.keep_until_settled(owner);
                    return Err(busy());
                }
                owner
            }
            None => {
                let memory = key.allocation.memory.clone();
                drop(key);
                memory.into_owner()
            }
        };
        let owner = owner.downcast::<O>().expect("the owner's type");
        Arc::into_inner(owner).ok_or_else(busy)
    }
}
