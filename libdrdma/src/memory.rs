//! Memory as the builders of regions take it.

use std::{ops::Deref, sync::Arc};

use crate::{MemoryRegion, append_region};

/// A memory region as the builders of regions take it: borrowed, which costs nothing, or shared.
///
/// A region of borrowed memory (`&'m MemoryRegion`) lives no longer than that, and a queue that it was
/// posted to keeps the memory borrowed as long as it lives. That suits memory that is made before the
/// queues.
///
/// A region of shared memory (`Arc<MemoryRegion>`) has no lifetime. A queue that it was posted to
/// holds it until the request's completion was polled. That suits memory that comes and goes while the
/// queues stay:
///
/// ```
/// use std::sync::Arc;
///
/// use libdrdma::{CompletionQueue, Contiguous, ProtectionDomain, QueuePair, WorkRequest};
///
/// /// Connected once.
/// struct Connection {
///     pd: ProtectionDomain,
///     cq: CompletionQueue,
///     qp: QueuePair<'static>,
/// }
///
/// impl Connection {
///     /// Sends a result, which is freed when it has left.
///     fn send(&mut self, rows: Vec<u64>) -> Result<(), Box<dyn std::error::Error>> {
///         let memory = Arc::new(self.pd.register(rows)?);
///         let regions = [Contiguous::new(memory).build()?];
///         Ok(self.qp.post_send(&WorkRequest::new(1).regions(&regions))?)
///     }
/// }
/// ```
///
/// Borrowed memory cannot be posted there:
///
/// ```compile_fail,E0597
/// # use libdrdma::{Contiguous, ProtectionDomain, QueuePair, WorkRequest};
/// # fn example(qp: &mut QueuePair<'static>, pd: &ProtectionDomain)
/// # -> Result<(), Box<dyn std::error::Error>> {
/// let memory = pd.allocate(64)?;
/// let regions = [Contiguous::new(&memory).build()?];
/// qp.post_send(&WorkRequest::new(1).regions(&regions))?; // `memory` does not live long enough
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub enum Memory<'m> {
    /// Memory that outlives every region and queue that refers to it.
    Borrowed(&'m MemoryRegion),
    /// Memory that regions and queues keep.
    Shared(Arc<MemoryRegion>),
}

impl<'m> From<&'m MemoryRegion> for Memory<'m> {
    #[inline]
    fn from(memory: &'m MemoryRegion) -> Self {
        Self::Borrowed(memory)
    }
}

impl From<Arc<MemoryRegion>> for Memory<'_> {
    #[inline]
    fn from(memory: Arc<MemoryRegion>) -> Self {
        Self::Shared(memory)
    }
}

impl From<&Arc<MemoryRegion>> for Memory<'_> {
    #[inline]
    fn from(memory: &Arc<MemoryRegion>) -> Self {
        Self::Shared(memory.clone())
    }
}

impl Deref for Memory<'_> {
    type Target = MemoryRegion;

    #[inline]
    fn deref(&self) -> &MemoryRegion {
        match self {
            Self::Borrowed(memory) => memory,
            Self::Shared(memory) => memory,
        }
    }
}

/// The shared memory of a region.
#[derive(Clone, Debug, Default)]
pub(crate) enum Hold {
    /// No memory is shared.
    #[default]
    Nothing,
    /// One memory region.
    One(Arc<MemoryRegion>),
    /// Several.
    Several(Arc<[Arc<MemoryRegion>]>),
    /// The memory of an append region.
    Append(Arc<append_region::Shared>),
}

impl Hold {
    /// True if nothing is held.
    #[inline]
    pub fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing)
    }

    /// Joins several holds into one.
    pub fn all(holds: Vec<Self>) -> Self {
        let mut shared = Vec::new();
        for hold in holds {
            match hold {
                Self::Nothing => {}
                Self::One(memory) => shared.push(memory),
                Self::Several(memories) => shared.extend(memories.iter().cloned()),
                // A receive that appends has no regions beside its append region.
                Self::Append(_) => debug_assert!(false, "no region holds an append region"),
            }
        }
        match shared.len() {
            0 => Self::Nothing,
            1 => Self::One(shared.swap_remove(0)),
            _ => Self::Several(shared.into()),
        }
    }

    /// Holds those parts of `memory` that are shared.
    #[inline]
    pub fn of<'a, 'm: 'a>(memory: impl IntoIterator<Item = &'a Memory<'m>>) -> Self {
        let mut shared = Vec::new();
        for memory in memory {
            if let Memory::Shared(memory) = memory
                && !shared.iter().any(|other| Arc::ptr_eq(other, memory))
            {
                shared.push(memory.clone());
            }
        }
        match shared.len() {
            0 => Self::Nothing,
            1 => Self::One(shared.swap_remove(0)),
            _ => Self::Several(shared.into()),
        }
    }
}
