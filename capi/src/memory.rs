//! Memory regions.

use std::{
    ffi::{c_int, c_void},
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use libdrdma::{Access, Context, MemoryRegion};

use crate::{
    device::drdma_pd,
    error::{Failure, get, object, status},
};

/// Longest time that drdma_dereg_mr waits for memory that the card is still reading.
const PATIENCE: Duration = Duration::from_secs(10);

/// Registered memory.
pub struct drdma_mr {
    pub(crate) memory: Arc<MemoryRegion>,
    context: Context,
    /// Dropped when the card no longer reaches the memory.
    reached: Weak<()>,
}

/// What memory, and a queue pair, allow beside being sent from: the bits of `ibv_access_flags`.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum drdma_access_flags {
    /// The card writes to it for requests of this process: receives, READs, atomics.
    DRDMA_ACCESS_LOCAL_WRITE = 1,
    /// A peer may WRITE to it.
    DRDMA_ACCESS_REMOTE_WRITE = 2,
    /// A peer may READ it.
    DRDMA_ACCESS_REMOTE_READ = 4,
    /// A peer may execute atomics on it.
    DRDMA_ACCESS_REMOTE_ATOMIC = 8,
}

/// Converts the flags of C's `argument`.
pub(crate) fn access_of(flags: u32, argument: &str) -> Result<Access, Failure> {
    use drdma_access_flags as flag;
    let known = [
        (flag::DRDMA_ACCESS_LOCAL_WRITE, Access::LOCAL_WRITE),
        (flag::DRDMA_ACCESS_REMOTE_WRITE, Access::REMOTE_WRITE),
        (flag::DRDMA_ACCESS_REMOTE_READ, Access::REMOTE_READ),
        (flag::DRDMA_ACCESS_REMOTE_ATOMIC, Access::REMOTE_ATOMIC),
    ];
    if flags >> known.len() != 0 {
        let text = format!("{argument} is {flags:#x}: it must be 0 to 15");
        return Err(Failure::new(libc::EINVAL, text));
    }
    let given = known.iter().filter(|(flag, _)| flags & *flag as u32 != 0);
    Ok(given.map(|(_, access)| *access).collect())
}

/// Registers `length` bytes at `addr`, wherever they lie. The memory stays the caller's; it must not be
/// freed before drdma_dereg_mr has returned 0, nor be written to while a request that reads it is in
/// progress. `access` says what else than reading it for requests the card may do (`drdma_access_flags`); what it
/// may write to holds its bytes when the completion was polled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_reg_mr(
    pd: *mut drdma_pd,
    addr: *mut c_void,
    length: usize,
    access: c_int,
) -> *mut drdma_mr {
    object(|| {
        // SAFETY: C promises an object.
        let pd = &unsafe { get(pd, "pd") }?.pd;
        let access = access_of(access as u32, "access")?;
        let owner = Arc::new(());
        let reached = Arc::downgrade(&owner);
        // SAFETY: C promises the memory, as this function says.
        let memory = unsafe { pd.register_raw_with(addr.cast(), length, owner, access) }?;
        Ok(drdma_mr { memory: Arc::new(memory), context: pd.context().clone(), reached })
    })
}

/// Gives memory back: when this returns 0, the card does not read it any longer. EBUSY: a posted request
/// that was not polled needs it, and nothing has changed. ETIMEDOUT: the card goes on reading it for a
/// request that was taken from it; the region is gone, but its memory must stay.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_dereg_mr(mr: *mut drdma_mr) -> c_int {
    status(|| {
        // SAFETY: C promises an object.
        let used = Arc::strong_count(&unsafe { get(mr, "mr") }?.memory) > 1;
        if used {
            let text = "posted requests need the memory, until they are polled";
            return Err(Failure::new(libc::EBUSY, text));
        }
        // SAFETY: C promises an object, and that it is used no longer.
        let drdma_mr { memory, context, reached } = *unsafe { Box::from_raw(mr) };
        drop(memory);
        let start = Instant::now();
        while reached.strong_count() > 0 {
            if start.elapsed() > PATIENCE {
                let text = "the card goes on reading the memory";
                return Err(Failure::new(libc::ETIMEDOUT, text));
            }
            context.progress()?;
        }
        Ok(())
    })
}

/// The local key; 0 if `mr` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_mr_lkey(mr: *const drdma_mr) -> u32 {
    // SAFETY: C promises an object.
    unsafe { mr.as_ref() }.map_or(0, |mr| mr.memory.lkey())
}

/// The remote key, by which a peer names the memory; 0 if `mr` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_mr_rkey(mr: *const drdma_mr) -> u32 {
    // SAFETY: C promises an object.
    unsafe { mr.as_ref() }.map_or(0, |mr| mr.memory.rkey())
}

/// Where the card sees the first byte: what the pointers of a pointer-mapped region count from, and the address that a
/// peer has for it. 0 if `mr` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_mr_iova(mr: *const drdma_mr) -> u64 {
    // SAFETY: C promises an object.
    unsafe { mr.as_ref() }.map_or(0, |mr| mr.memory.addr())
}
