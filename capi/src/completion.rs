//! Completion channels, completion queues, completions.

use std::{
    ffi::{c_char, c_int, c_void},
    os::fd::{AsFd, AsRawFd},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use libdrdma::{CompletionChannel, CompletionOpcode, CompletionQueue, WorkCompletion};

use crate::{
    device::drdma_context,
    error::{Failure, count, destroy, get, object, status},
};

/// Where events of completion queues arrive.
pub struct drdma_comp_channel {
    channel: CompletionChannel,
    /// Completion queues that were made with the channel, and are not destroyed, each with its
    /// address in C.
    queues: Mutex<Vec<(CompletionQueue, usize)>>,
}

impl drdma_comp_channel {
    fn queues(&self) -> MutexGuard<'_, Vec<(CompletionQueue, usize)>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a completion channel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_create_comp_channel(
    context: *mut drdma_context,
) -> *mut drdma_comp_channel {
    object(|| {
        // SAFETY: C promises an object.
        let context = unsafe { get(context, "context") }?;
        let channel = context.context.completion_channel().build();
        let channel = channel
            .map_err(|error| Failure::new(error.raw_os_error().unwrap_or(libc::ENOMEM), error))?;
        Ok(drdma_comp_channel { channel, queues: Mutex::default() })
    })
}

/// Destroys a completion channel. EBUSY: a completion queue has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_destroy_comp_channel(channel: *mut drdma_comp_channel) -> c_int {
    let busy = status(|| {
        // SAFETY: C promises an object.
        match unsafe { get(channel, "channel") }?.queues().is_empty() {
            true => Ok(()),
            false => Err(Failure::new(libc::EBUSY, "a completion queue has the channel")),
        }
    });
    // SAFETY: C promises an object, and that it is used no longer.
    if busy != 0 { busy } else { unsafe { destroy(channel, "channel") } }
}

/// The file descriptor, readable while there are events; -1 if `channel` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_comp_channel_fd(channel: *const drdma_comp_channel) -> c_int {
    // SAFETY: C promises an object.
    unsafe { channel.as_ref() }.map_or(-1, |channel| channel.channel.as_fd().as_raw_fd())
}

/// Waits for an event, and takes it: the completion queue and what it was made with. `timeout_ms` is -1
/// for ever, 0 not at all; EAGAIN: there was none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_get_cq_event(
    channel: *mut drdma_comp_channel,
    cq: *mut *mut drdma_cq,
    cq_context: *mut *mut c_void,
    timeout_ms: c_int,
) -> c_int {
    status(|| {
        // SAFETY: C promises an object.
        let channel = unsafe { get(channel, "channel") }?;
        if cq.is_null() || cq_context.is_null() {
            return Err(Failure::null("cq or cq_context"));
        }
        loop {
            let timeout = match u64::try_from(timeout_ms) {
                Ok(timeout) => Duration::from_millis(timeout),
                // Again and again.
                Err(_) => Duration::from_secs(3600),
            };
            let Some(event) = channel.channel.wait(timeout)? else {
                if timeout_ms < 0 {
                    continue;
                }
                return Err(Failure::new(libc::EAGAIN, "there is no event"));
            };
            let queues = channel.queues();
            // A queue that was destroyed since has no events.
            let Some((_, address)) = queues.iter().find(|(queue, _)| *queue == event) else {
                continue;
            };
            let found = *address as *mut drdma_cq;
            // SAFETY: it is not destroyed while `queues` is locked; C promises the results' places.
            unsafe {
                *cq = found;
                *cq_context = (*found).context.0;
            }
            return Ok(());
        }
    })
}

/// Pointer of C that events return unchanged.
struct Cookie(*mut c_void);

// SAFETY: it is never dereferenced.
unsafe impl Send for Cookie {}
// SAFETY: likewise.
unsafe impl Sync for Cookie {}

/// A completion queue.
pub struct drdma_cq {
    pub(crate) queue: CompletionQueue,
    context: Cookie,
    channel: *mut drdma_comp_channel,
}

/// Makes a completion queue with room for `cqe` completions, 1 to 65,536. `channel` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_create_cq(
    context: *mut drdma_context,
    cqe: c_int,
    cq_context: *mut c_void,
    channel: *mut drdma_comp_channel,
) -> *mut drdma_cq {
    let cq = object(|| {
        // SAFETY: C promises an object.
        let context = unsafe { get(context, "context") }?;
        let Ok(entries) = u32::try_from(cqe) else {
            return Err(Failure::new(libc::EINVAL, format!("cqe is {cqe}")));
        };
        let mut builder = context.context.completion_queue().entries(entries);
        // SAFETY: C promises an object.
        if let Some(channel) = unsafe { channel.as_ref() } {
            builder = builder.channel(&channel.channel);
        }
        Ok(drdma_cq { queue: builder.build()?, context: Cookie(cq_context), channel })
    });
    // SAFETY: it was made above, and C promises the channel.
    if let (Some(made), Some(channel)) = unsafe { (cq.as_ref(), channel.as_ref()) } {
        channel.queues().push((made.queue.clone(), cq.expose_provenance()));
    }
    cq
}

/// Destroys a completion queue; queues that complete there go on doing so, unseen. Its channel must
/// still be there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_destroy_cq(cq: *mut drdma_cq) -> c_int {
    // SAFETY: C promises objects.
    if let Some(channel) = unsafe { cq.as_ref().and_then(|cq| cq.channel.as_ref()) } {
        channel.queues().retain(|(_, address)| *address != cq.addr());
    }
    // SAFETY: C promises an object, and that it is used no longer.
    unsafe { destroy(cq, "cq") }
}

/// How a request ended: the codes of `ibv_wc_status`.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum drdma_wc_status {
    /// Done: sent, and acknowledged where the transport does that.
    DRDMA_WC_SUCCESS = 0,
    /// A message does not fit.
    DRDMA_WC_LOC_LEN_ERR = 1,
    /// The request is malformed, or its queue pair cannot do it.
    DRDMA_WC_LOC_QP_OP_ERR = 2,
    /// A byte outside its memory region, or memory that could not be read.
    DRDMA_WC_LOC_PROT_ERR = 4,
    /// Not executed: its queue was in the error state.
    DRDMA_WC_WR_FLUSH_ERR = 5,
    /// The responder refused the request as invalid.
    DRDMA_WC_REM_INV_REQ_ERR = 9,
    /// The responder refused the remote key or its bounds.
    DRDMA_WC_REM_ACCESS_ERR = 10,
    /// The responder could not complete the request.
    DRDMA_WC_REM_OP_ERR = 11,
    /// No acknowledgement came.
    DRDMA_WC_RETRY_EXC_ERR = 12,
    /// The responder stayed not ready.
    DRDMA_WC_RNR_RETRY_EXC_ERR = 13,
}

/// What completed: the codes of `ibv_wc_opcode`.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum drdma_wc_opcode {
    /// SENDs, of whatever kind.
    DRDMA_WC_SEND = 0,
    /// WRITEs, of whatever kind.
    DRDMA_WC_RDMA_WRITE = 1,
    /// A READ.
    DRDMA_WC_RDMA_READ = 2,
    /// A compare and swap.
    DRDMA_WC_COMP_SWAP = 3,
    /// A fetch and add.
    DRDMA_WC_FETCH_ADD = 4,
    /// A receive that a SEND filled.
    DRDMA_WC_RECV = 128,
    /// A receive that a WRITE with immediate data used up; it was not written to.
    DRDMA_WC_RECV_RDMA_WITH_IMM = 129,
}

/// Bits of `wc_flags`.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum drdma_wc_flags {
    /// The first 40 bytes are those of a datagram's route: 20 that are not written, then the IPv4 header.
    DRDMA_WC_GRH = 1,
    /// `imm_data` came with the message.
    DRDMA_WC_WITH_IMM = 2,
    /// The message invalidated the key `invalidated_rkey`.
    DRDMA_WC_WITH_INV = 8,
}

/// A completion.
#[repr(C)]
pub struct drdma_wc {
    /// The request's name.
    pub wr_id: u64,
    /// Payload bytes of all its messages; 0 unless the status is DRDMA_WC_SUCCESS.
    pub byte_len: u64,
    /// A `drdma_wc_status`.
    pub status: u32,
    /// The number of the queue that it was posted to: of a send queue drdma_qp_queue or drdma_ssq_queue, of a
    /// receive queue drdma_qp_receive_queue or drdma_srq_queue.
    pub queue: u16,
    /// The destination that failed: its index in the request.
    pub destination: u16,
    /// A `drdma_wc_opcode`. Of what failed, only whether it is a receive (DRDMA_WC_RECV and above) holds.
    pub opcode: u32,
    /// `drdma_wc_flags`.
    pub wc_flags: u32,
    /// With DRDMA_WC_WITH_IMM: the sender's immediate data, in the host's byte order. Otherwise 0.
    pub imm_data: u32,
    /// With DRDMA_WC_WITH_INV: the key. Otherwise 0.
    pub invalidated_rkey: u32,
    /// Of a receive: drdma_qp_index of the queue pair that received. Otherwise 0.
    pub qp_index: u32,
    /// With DRDMA_WC_GRH: the sender's queue pair number. Otherwise 0.
    pub src_qp: u32,
}

impl drdma_wc {
    fn of(completion: &WorkCompletion) -> Self {
        use drdma_wc_flags as flag;
        use drdma_wc_opcode as code;
        let opcode = match completion.opcode {
            CompletionOpcode::Send => code::DRDMA_WC_SEND,
            CompletionOpcode::Write => code::DRDMA_WC_RDMA_WRITE,
            CompletionOpcode::Read => code::DRDMA_WC_RDMA_READ,
            CompletionOpcode::CompareAndSwap => code::DRDMA_WC_COMP_SWAP,
            CompletionOpcode::FetchAndAdd => code::DRDMA_WC_FETCH_ADD,
            CompletionOpcode::Receive => code::DRDMA_WC_RECV,
            CompletionOpcode::ReceiveWithImm => code::DRDMA_WC_RECV_RDMA_WITH_IMM,
        };
        let flag = |has: bool, flag: flag| if has { flag as u32 } else { 0 };
        Self {
            wr_id: completion.wr_id,
            byte_len: completion.bytes,
            status: completion.status as u32,
            queue: completion.queue,
            destination: completion.destination,
            opcode: opcode as u32,
            wc_flags: flag(completion.global_route, flag::DRDMA_WC_GRH)
                | flag(completion.imm.is_some(), flag::DRDMA_WC_WITH_IMM)
                | flag(completion.invalidated.is_some(), flag::DRDMA_WC_WITH_INV),
            imm_data: completion.imm.unwrap_or(0),
            invalidated_rkey: completion.invalidated.unwrap_or(0),
            qp_index: completion.qp.unwrap_or(0),
            src_qp: completion.source_qp.unwrap_or(0),
        }
    }
}

/// Takes up to `num_entries` completions, without waiting; returns their number, or a negative error
/// number. A simulated card works in this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_poll_cq(
    cq: *mut drdma_cq,
    num_entries: c_int,
    wc: *mut drdma_wc,
) -> c_int {
    count(|| {
        // SAFETY: C promises an object.
        let queue = &unsafe { get(cq, "cq") }?.queue;
        let Ok(room) = usize::try_from(num_entries) else {
            return Err(Failure::new(libc::EINVAL, format!("num_entries is {num_entries}")));
        };
        if room > 0 && wc.is_null() {
            return Err(Failure::null("wc"));
        }
        let take = || {
            let mut taken = 0;
            for completion in queue.poll().take(room) {
                // SAFETY: C promises so many places.
                unsafe { wc.add(taken).write(drdma_wc::of(&completion)) };
                taken += 1;
            }
            taken
        };
        match take() {
            0 => {
                queue.progress()?;
                Ok(take())
            }
            taken => Ok(taken),
        }
    })
}

/// Asks for an event on the queue's channel as soon as there is something to poll, which may be now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_req_notify_cq(cq: *mut drdma_cq) -> c_int {
    status(|| {
        // SAFETY: C promises an object.
        let cq = unsafe { get(cq, "cq") }?;
        if cq.channel.is_null() {
            return Err(Failure::new(libc::EINVAL, "the completion queue has no channel"));
        }
        Ok(cq.queue.notify()?)
    })
}

/// A status in words: a constant.
#[unsafe(no_mangle)]
pub extern "C" fn drdma_wc_status_str(status: u32) -> *const c_char {
    let text = match status {
        0 => c"success",
        1 => c"local length error",
        2 => c"local QP operation error",
        4 => c"local protection error",
        5 => c"work request flushed",
        9 => c"remote invalid request error",
        10 => c"remote access error",
        11 => c"remote operation error",
        12 => c"transport retry counter exceeded",
        13 => c"RNR retry counter exceeded",
        _ => c"unknown",
    };
    text.as_ptr()
}
