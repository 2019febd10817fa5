//! Memory regions.

use std::{
    ffi::{c_int, c_void},
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use libdrdma::{Context, MemoryRegion};

use crate::{
    device::drdma_pd,
    error::{Failure, get, object, status},
};

/// How long memory is waited for that the card is still reading.
const PATIENCE: Duration = Duration::from_secs(10);

/// Registered memory.
pub struct drdma_mr {
    pub(crate) memory: Arc<MemoryRegion>,
    context: Context,
    /// Gone when the card does not reach the memory any longer.
    reached: Weak<()>,
}

/// Registers `length` bytes at `addr`, wherever they lie. The memory stays the caller's; it must not be
/// freed before drdma_dereg_mr has returned 0, nor be written to while a request that reads it is in
/// progress. `access` is 0: the card only reads it.
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
        if access != 0 {
            return Err(Failure::new(libc::EINVAL, format!("access is {access:#x}: it must be 0")));
        }
        let owner = Arc::new(());
        let reached = Arc::downgrade(&owner);
        // SAFETY: C promises the memory, as this function says.
        let memory = unsafe { pd.register_raw(addr.cast(), length, owner) }?;
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

/// Where the card sees the first byte: what the pointers of a pointer-mapped region count from. 0 if `mr`
/// is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_mr_iova(mr: *const drdma_mr) -> u64 {
    // SAFETY: C promises an object.
    unsafe { mr.as_ref() }.map_or(0, |mr| mr.memory.addr())
}
