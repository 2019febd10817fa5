//! Protection domains: groups of memory regions and queues that may be used together.

use std::{
    any::{Any, TypeId},
    sync::{Arc, PoisonError, RwLock},
};

use drdma_driver::DmaMemory;

use crate::{
    Access, AppendRegionBuilder, Arena, CompletionQueue, Context, DescribedKey, KeptRegionError,
    MemoryRegion, MemoryRegionError, Owner, Region, Sharing, memory_region::Key,
    queue_pair::QueuePairBuilder, shared_receive_queue::SharedReceiveQueueBuilder,
    shared_send_queue::SharedSendQueueBuilder,
};

/// A group of memory regions and queues that may be used with one another (IBTA 1.4 section
/// 10.2.3). Clones are handles to the same domain.
#[derive(Clone, Debug)]
pub struct ProtectionDomain {
    pub(crate) context: Context,
    pub(crate) id: u32,
    /// Keys of registered arenas.
    arenas: Arc<RwLock<Vec<Arc<Key>>>>,
}

impl ProtectionDomain {
    pub(crate) fn new(context: Context, id: u32) -> Self {
        Self { context, id, arenas: Arc::default() }
    }

    /// Returns the key of the arena that bytes lie in, and their offset there.
    pub(crate) fn find(&self, pointer: *const u8, len: usize) -> Option<(Arc<Key>, usize)> {
        let arenas = self.arenas.read().unwrap_or_else(PoisonError::into_inner);
        arenas.iter().find_map(|key| Some((key.clone(), key.find(pointer, len)?)))
    }

    /// Allocates `len` zero bytes that the card can read and registers them. From 2 MiB on, they are
    /// made of large pages where the host has some.
    ///
    /// # Errors
    /// `MemoryRegionError::Empty` if `len` is 0, `Allocation` without memory, `NoKey` without a
    /// free key, or `Card` if the card failed.
    pub fn allocate(&self, len: usize) -> Result<MemoryRegion, MemoryRegionError> {
        MemoryRegion::allocate(self, len, Sharing::Exclusive, Access::empty())
    }

    /// Allocates memory as [`allocate`](Self::allocate) does, but such that
    /// [`MemoryRegion::store_at`] may write to it while regions and queues have it. It lends no
    /// slices.
    ///
    /// # Errors
    /// The errors of [`allocate`](Self::allocate).
    pub fn allocate_shared(&self, len: usize) -> Result<MemoryRegion, MemoryRegionError> {
        MemoryRegion::allocate(self, len, Sharing::Shared, Access::empty())
    }

    /// Registers memory of the application in place; [`Owner`] lists the types that are possible.
    /// The memory region keeps the owner until it is dropped and the card does not read the memory
    /// any longer, or [`MemoryRegion::into_owner`] gives it back.
    ///
    /// A board's IOMMU maps whole pages, so that the card could reach what else lies in the first and
    /// the last one; the key lets it reach the owner's bytes only. Memory that lies in a [registered
    /// arena](Self::register_arena) is mapped already: it costs neither a mapping nor a key.
    ///
    /// # Errors
    /// `MemoryRegionError::Empty` for empty memory, `NoKey` without a free key, or `Card` if the
    /// card failed; the owner is dropped then.
    pub fn register<O: Owner>(&self, owner: O) -> Result<MemoryRegion, MemoryRegionError> {
        MemoryRegion::register(self, owner, Access::empty())
    }

    /// Allocates memory as [`allocate`](Self::allocate) does, with the additional rights `access`.
    ///
    /// # Errors
    /// The errors of [`allocate`](Self::allocate), or `Unsupported` from a card that does not
    /// receive.
    pub fn allocate_with(
        &self,
        len: usize,
        access: Access,
    ) -> Result<MemoryRegion, MemoryRegionError> {
        MemoryRegion::allocate(self, len, Sharing::Exclusive, access)
    }

    /// Registers memory as [`register`](Self::register) does, with the additional rights `access`.
    /// It has a mapping and a key of its own. As long as the card may write to it, it lends no
    /// slices: [`MemoryRegion::read_at`] copies out, and [`MemoryRegion::into_owner`] gives it
    /// back.
    ///
    /// # Errors
    /// The errors of [`register`](Self::register), `Immutable` for immutable memory that the card
    /// might write to, or `Unsupported` from a card that does not receive; the owner is dropped
    /// then.
    pub fn register_with<O: Owner>(
        &self,
        owner: O,
        access: Access,
    ) -> Result<MemoryRegion, MemoryRegionError> {
        MemoryRegion::register(self, owner, access)
    }

    /// Registers `len` bytes at `pointer`, which `owner` keeps there: it is dropped when the card does
    /// not read them any longer. The memory region lends no slices of them.
    ///
    /// ```
    /// # use libdrdma::{Context, Options};
    /// # let options = Options::new("02:00:00:00:00:01".parse()?, [10, 0, 0, 1].into());
    /// # let card = libdrdma::open("soft:")?;
    /// # let pd = Context::open(card, options)?.protection_domain();
    /// // A buffer of some engine's.
    /// let mut buffer = b"some rows".to_vec();
    /// let (pointer, len) = (buffer.as_mut_ptr(), buffer.len());
    /// // SAFETY: the vector keeps the bytes where they are, and nobody else has it.
    /// let memory = unsafe { pd.register_raw(pointer, len, buffer)? };
    /// let mut bytes = [0; 4];
    /// memory.read_at(5, &mut bytes);
    /// assert_eq!(&bytes, b"rows");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `MemoryRegionError::Empty` for no byte, `Address` for bytes that cannot be memory, `NoKey`
    /// without a free key, or `Card` if the card failed; the owner is dropped then.
    ///
    /// # Safety
    /// The bytes are initialised, can be read and written, and stay where they are until `owner` is
    /// dropped. While a request reads them, nobody writes to them but by atomic accesses; while
    /// [`MemoryRegion::write_at`] writes to them, nobody accesses them otherwise.
    #[allow(unsafe_code)]
    pub unsafe fn register_raw(
        &self,
        pointer: *mut u8,
        len: usize,
        owner: impl Any + Send + Sync,
    ) -> Result<MemoryRegion, MemoryRegionError> {
        // SAFETY: the caller's promise.
        unsafe { self.register_raw_with(pointer, len, owner, Access::empty()) }
    }

    /// Registers memory as [`register_raw`](Self::register_raw) does, with the additional rights
    /// `access`.
    ///
    /// # Errors
    /// The errors of [`register_raw`](Self::register_raw), or `Unsupported` from a card that does
    /// not receive; the owner is dropped then.
    ///
    /// # Safety
    /// The requirements of [`register_raw`](Self::register_raw). While a request or a peer may
    /// write to the bytes, nobody accesses them but by atomic accesses.
    #[allow(unsafe_code)]
    pub unsafe fn register_raw_with(
        &self,
        pointer: *mut u8,
        len: usize,
        owner: impl Any + Send + Sync,
        access: Access,
    ) -> Result<MemoryRegion, MemoryRegionError> {
        let (owner, kind) = (Arc::new(owner), TypeId::of::<()>());
        // SAFETY: the caller's promise.
        unsafe { MemoryRegion::of_owner(self, pointer, len, Sharing::Shared, owner, kind, access) }
    }

    /// Registers the memory of the process's allocator once: memory in it that
    /// [`register`](Self::register) is given from now on uses its mapping and its key. Registering
    /// it again changes nothing. The domain and its memory regions keep it registered.
    ///
    /// ```
    /// # use libdrdma::{Arena, Context, Options};
    /// # static ARENA: Arena = Arena::new(1 << 20);
    /// # let options = Options::new("02:00:00:00:00:01".parse()?, [10, 0, 0, 1].into());
    /// # let card = libdrdma::open("soft:")?;
    /// # let pd = Context::open(card, options)?.protection_domain();
    /// pd.register_arena(&ARENA)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `MemoryRegionError::Allocation` without memory, `NoKey` without a free key, or `Card` if the
    /// card failed.
    #[allow(unsafe_code)]
    pub fn register_arena(&self, arena: &'static Arena) -> Result<(), MemoryRegionError> {
        let len = arena.capacity();
        let memory =
            arena.memory().map_err(|source| MemoryRegionError::Allocation { len, source })?;
        let mut arenas = self.arenas.write().unwrap_or_else(PoisonError::into_inner);
        if arenas.iter().any(|key| key.find(memory, len).is_some()) {
            return Ok(());
        }
        // SAFETY: the pages are never unmapped, and zero until they are written to. Only bytes of
        // owners are read, for which their memory regions answer.
        let memory = unsafe { DmaMemory::from_raw(memory, len, true, Arc::new(())) };
        let memory = memory.map_err(MemoryRegionError::Address)?;
        arenas.push(Key::over(self, memory, Access::empty())?);
        Ok(())
    }

    /// True if all of the bytes lie in one [registered arena](Self::register_arena): then an
    /// [`Owner`] of them is registered without a mapping and without a key.
    ///
    /// ```
    /// # use libdrdma::{Arena, Context, Options};
    /// # static ARENA: Arena = Arena::new(1 << 20);
    /// # let options = Options::new("02:00:00:00:00:01".parse()?, [10, 0, 0, 1].into());
    /// # let card = libdrdma::open("soft:")?;
    /// # let pd = Context::open(card, options)?.protection_domain();
    /// pd.register_arena(&ARENA)?;
    /// assert!(!pd.is_in_arena(b"somewhere else"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_in_arena(&self, bytes: &[u8]) -> bool {
        self.find(bytes.as_ptr(), bytes.len()).is_some()
    }

    /// Starts a queue pair whose requests complete to `cq`.
    pub fn queue_pair<'a>(&'a self, cq: &'a CompletionQueue) -> QueuePairBuilder<'a> {
        QueuePairBuilder::new(self, cq)
    }

    /// Starts a shared send queue whose requests complete to `cq` (D-RDMA section 3.3).
    pub fn shared_send_queue<'a>(&'a self, cq: &'a CompletionQueue) -> SharedSendQueueBuilder<'a> {
        SharedSendQueueBuilder::new(self, cq)
    }

    /// Starts a shared receive queue whose receives complete to `cq`.
    pub fn shared_receive_queue<'a>(
        &'a self,
        cq: &'a CompletionQueue,
    ) -> SharedReceiveQueueBuilder<'a> {
        SharedReceiveQueueBuilder::new(self, cq)
    }

    /// Makes a key with which peers WRITE to and READ a region as if its bytes lay one after the other.
    ///
    /// # Errors
    /// `KeptRegionError::Unsupported` from a card without described keys, `Rights` for others than
    /// [`Access::REMOTE_READ`] and [`Access::REMOTE_WRITE`], `ProtectionDomain` for a region of
    /// another protection domain, `Kinds` for one with kinds, `Exhausted` without a free key, or
    /// `Card` if the card failed.
    pub fn described_key<'m>(
        &self,
        region: Region<'m>,
        access: Access,
    ) -> Result<DescribedKey<'m>, KeptRegionError> {
        DescribedKey::new(self, region, access)
    }

    /// Starts an append region: columns that the messages of receives fill row after row.
    pub fn append_region<'m>(&self) -> AppendRegionBuilder<'_, 'm> {
        AppendRegionBuilder::new(self)
    }

    /// The context that the domain belongs to.
    pub fn context(&self) -> &Context {
        &self.context
    }
}
