//! Shared send queues and shared receive queues.

use std::{
    ffi::c_int,
    sync::{Mutex, MutexGuard, PoisonError},
};

use libdrdma::{SharedReceiveQueue, SharedSendQueue};

use crate::{
    completion::drdma_cq,
    device::drdma_pd,
    error::{destroy, get, object, status},
};

/// A shared send queue: several queue pairs' data, planned together.
pub struct drdma_ssq {
    queue: Mutex<SharedSendQueue<'static>>,
}

impl drdma_ssq {
    pub(crate) fn lock(&self) -> MutexGuard<'_, SharedSendQueue<'static>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a shared send queue, with room for `max_send_blocks` blocks of 64 bytes; 0: 8,192.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_create_ssq(
    pd: *mut drdma_pd,
    send_cq: *mut drdma_cq,
    max_send_blocks: u32,
) -> *mut drdma_ssq {
    object(|| {
        // SAFETY: C promises objects.
        let (pd, cq) = unsafe { (&get(pd, "pd")?.pd, &get(send_cq, "send_cq")?.queue) };
        let mut builder = pd.shared_send_queue(cq);
        if max_send_blocks != 0 {
            builder = builder.send_blocks(max_send_blocks);
        }
        Ok(drdma_ssq { queue: Mutex::new(builder.build()?) })
    })
}

/// Destroys a shared send queue, and waits until the card has sent what it has begun; what is posted gets
/// no completion.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_destroy_ssq(ssq: *mut drdma_ssq) -> c_int {
    // SAFETY: C promises an object, and that it is used no longer.
    unsafe { destroy(ssq, "ssq") }
}

/// Completes what is still posted with DRDMA_WC_WR_FLUSH_ERR, and makes the queue ready again after an
/// error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_reset_ssq(ssq: *mut drdma_ssq) -> c_int {
    // SAFETY: C promises an object.
    status(|| Ok(unsafe { get(ssq, "ssq") }?.lock().reset()?))
}

/// The queue's number, as completions tell it; 0 if `ssq` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_ssq_queue(ssq: *const drdma_ssq) -> u16 {
    // SAFETY: C promises an object.
    unsafe { ssq.as_ref() }.map_or(0, |ssq| ssq.lock().queue())
}

/// A shared receive queue: receives that any of several queue pairs may use.
pub struct drdma_srq {
    queue: Mutex<SharedReceiveQueue<'static>>,
}

impl drdma_srq {
    pub(crate) fn lock(&self) -> MutexGuard<'_, SharedReceiveQueue<'static>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a shared receive queue, whose receives complete to `cq`, with room for `max_blocks` blocks of 64 bytes; 0:
/// 256.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_create_srq(
    pd: *mut drdma_pd,
    cq: *mut drdma_cq,
    max_blocks: u32,
) -> *mut drdma_srq {
    object(|| {
        // SAFETY: C promises objects.
        let (pd, cq) = unsafe { (&get(pd, "pd")?.pd, &get(cq, "cq")?.queue) };
        let mut builder = pd.shared_receive_queue(cq);
        if max_blocks != 0 {
            builder = builder.blocks(max_blocks);
        }
        Ok(drdma_srq { queue: Mutex::new(builder.build()?) })
    })
}

/// Destroys a shared receive queue, and takes back what is posted: it gets no completion. The queue pairs
/// that use it find no receive from then on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_destroy_srq(srq: *mut drdma_srq) -> c_int {
    // SAFETY: C promises an object, and that it is used no longer.
    unsafe { destroy(srq, "srq") }
}

/// The queue's number, as completions tell it; 0 if `srq` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_srq_queue(srq: *const drdma_srq) -> u16 {
    // SAFETY: C promises an object.
    unsafe { srq.as_ref() }.map_or(0, |srq| srq.lock().number())
}
