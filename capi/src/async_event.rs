//! Asynchronous events.

use std::{
    ffi::c_int,
    os::fd::{AsRawFd, BorrowedFd},
    time::Duration,
};

use libdrdma::AsyncEvent;

use crate::{
    device::drdma_context,
    error::{Failure, get, status},
    shared::drdma_srq,
};

/// What happened: the codes of `ibv_event_type`, of those that there are.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum drdma_event_type {
    /// The card has put a queue pair in the error state, and no completion says why: its peer has sent a WRITE, a READ
    /// or an atomic without a right key, or an invalid request.
    DRDMA_EVENT_QP_FATAL = 1,
    /// The card has stopped working; told once.
    DRDMA_EVENT_DEVICE_FATAL = 8,
    /// A shared receive queue has fewer receives than its limit, which is used up with this.
    DRDMA_EVENT_SRQ_LIMIT_REACHED = 15,
    /// A queue pair with a shared receive queue is in the error state, and takes no further receive from it: all
    /// completions of those that it has taken can be polled.
    DRDMA_EVENT_QP_LAST_WQE_REACHED = 16,
}

/// An asynchronous event. It need not be acknowledged: the events of an object end with it.
#[repr(C)]
pub struct drdma_async_event {
    /// A `drdma_event_type`. There may be others one day.
    pub event_type: u32,
    /// Of a queue pair: its number on the wire, drdma_qp_num. Otherwise 0.
    pub qp_num: u32,
    /// Of a queue pair: drdma_qp_index. Otherwise 0.
    pub qp_index: u32,
    /// Of a shared receive queue: drdma_srq_queue. Otherwise 0.
    pub srq_queue: u32,
}

impl drdma_async_event {
    fn new(event_type: drdma_event_type) -> Self {
        Self { event_type: event_type as u32, qp_num: 0, qp_index: 0, srq_queue: 0 }
    }

    fn of(event: &AsyncEvent) -> Option<Self> {
        use drdma_event_type::{
            DRDMA_EVENT_DEVICE_FATAL, DRDMA_EVENT_QP_FATAL, DRDMA_EVENT_QP_LAST_WQE_REACHED,
            DRDMA_EVENT_SRQ_LIMIT_REACHED,
        };
        Some(match *event {
            AsyncEvent::QueuePairFatal { queue_pair, qpn } => {
                let plain = Self::new(DRDMA_EVENT_QP_FATAL);
                Self { qp_num: qpn, qp_index: queue_pair, ..plain }
            }
            AsyncEvent::LastReceiveReached { queue_pair, qpn } => {
                let plain = Self::new(DRDMA_EVENT_QP_LAST_WQE_REACHED);
                Self { qp_num: qpn, qp_index: queue_pair, ..plain }
            }
            AsyncEvent::SharedReceiveQueueLimit { queue } => {
                Self { srq_queue: queue.into(), ..Self::new(DRDMA_EVENT_SRQ_LIMIT_REACHED) }
            }
            AsyncEvent::DeviceFatal { .. } => Self::new(DRDMA_EVENT_DEVICE_FATAL),
            _ => return None,
        })
    }
}

/// Waits for an asynchronous event, and takes it. `timeout_ms` is -1 for ever, 0 not at all; EAGAIN: there was none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_get_async_event(
    context: *mut drdma_context,
    event: *mut drdma_async_event,
    timeout_ms: c_int,
) -> c_int {
    status(|| {
        // SAFETY: C promises an object.
        let context = unsafe { get(context, "context") }?;
        if event.is_null() {
            return Err(Failure::null("event"));
        }
        loop {
            let timeout = match u64::try_from(timeout_ms) {
                Ok(timeout) => Duration::from_millis(timeout),
                // Again and again.
                Err(_) => Duration::from_secs(3600),
            };
            match context.context.wait_async_event(timeout) {
                Some(found) => {
                    let Some(found) = drdma_async_event::of(&found) else { continue };
                    // SAFETY: C promises the result's place.
                    unsafe { event.write(found) };
                    return Ok(());
                }
                None if timeout_ms < 0 => {}
                None => return Err(Failure::new(libc::EAGAIN, "there is no event")),
            }
        }
    })
}

/// A file descriptor that is readable while there are asynchronous events; -1 on failure, with errno. The first call
/// starts a thread that looks for them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_async_event_fd(context: *mut drdma_context) -> c_int {
    let mut fd = -1;
    status(|| {
        // SAFETY: C promises an object.
        let context = unsafe { get(context, "context") }?;
        let found: BorrowedFd<'_> = context
            .context
            .async_event_fd()
            .map_err(|error| Failure::new(error.raw_os_error().unwrap_or(libc::EIO), error))?;
        fd = found.as_raw_fd();
        Ok(())
    });
    fd
}

/// Asks for an event when fewer than `limit` receives of the queue are left, which may be now; 0 takes that back.
/// EINVAL: more than its blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_set_srq_limit(srq: *mut drdma_srq, limit: u32) -> c_int {
    // SAFETY: C promises an object.
    status(|| Ok(unsafe { get(srq, "srq") }?.lock().arm_limit(limit)?))
}
