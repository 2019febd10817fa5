//! Receives.

use std::ffi::c_int;

use libdrdma::{PostError, ReceiveRequest};

use crate::{
    error::{Failure, get, status},
    pair::drdma_qp,
    post::build,
    region::drdma_region,
    shared::drdma_srq,
};

/// A receive: where the bytes of a message go. The memory must allow DRDMA_ACCESS_LOCAL_WRITE.
#[repr(C)]
pub struct drdma_recv_wr {
    /// Its name in the completion.
    pub wr_id: u64,
    /// The next one, or NULL.
    pub next: *const drdma_recv_wr,
    /// What a message fills, one region after the other, row by row: up to 16. A datagram comes behind 40
    /// bytes for its route.
    pub regions: *const drdma_region,
    /// Entries of `regions`; 0: only messages of no bytes, and WRITEs with immediate data, fit.
    pub num_regions: u32,
}

/// Posts a list of receives by `post`; on failure `bad_wr`, if it is not NULL, is the first that was not posted.
///
/// # Safety
/// C promises what is behind the pointers.
unsafe fn post_all(
    wr: *const drdma_recv_wr,
    bad_wr: *mut *const drdma_recv_wr,
    mut post: impl FnMut(&ReceiveRequest<'_, 'static>) -> Result<(), PostError>,
) -> Result<(), Failure> {
    if wr.is_null() {
        return Err(Failure::null("wr"));
    }
    let mut at = wr;
    // SAFETY: C promises a list.
    while let Some(request) = unsafe { at.as_ref() } {
        // SAFETY: C promises what it points to.
        let posted = unsafe { build(request.regions, request.num_regions) }
            .and_then(|regions| Ok(post(&ReceiveRequest::new(request.wr_id).regions(&regions))?));
        if let Err(failure) = posted {
            if !bad_wr.is_null() {
                // SAFETY: C promises the place.
                unsafe { *bad_wr = at };
            }
            return Err(failure);
        }
        at = request.next;
    }
    Ok(())
}

/// Posts receives to the queue pair's own receive queue, one behind the other. On failure, `bad_wr` (which may be
/// NULL) is the first that was not posted. The memory of their regions stays registered until they are
/// polled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_post_recv(
    qp: *mut drdma_qp,
    wr: *const drdma_recv_wr,
    bad_wr: *mut *const drdma_recv_wr,
) -> c_int {
    status(|| {
        // SAFETY: C promises an object.
        let mut qp = unsafe { get(qp, "qp") }?.lock();
        // SAFETY: C promises the list.
        unsafe { post_all(wr, bad_wr, |request| qp.post_recv(request)) }
    })
}

/// Posts receives to a shared receive queue; else as drdma_post_recv.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_post_srq_recv(
    srq: *mut drdma_srq,
    wr: *const drdma_recv_wr,
    bad_wr: *mut *const drdma_recv_wr,
) -> c_int {
    status(|| {
        // SAFETY: C promises an object.
        let mut srq = unsafe { get(srq, "srq") }?.lock();
        // SAFETY: C promises the list.
        unsafe { post_all(wr, bad_wr, |request| srq.post_recv(request)) }
    })
}
