//! Completion queues and channels, queue pairs, shared send queues.

use std::{
    ffi::{c_char, c_int, c_void},
    os::fd::{AsFd, AsRawFd},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use libdrdma::{
    CompletionChannel, CompletionQueue, MacAddress, QueuePair, QueuePairAttributes, QueuePairState,
    SharedSendQueue, Transport, VlanTag,
};

use crate::{
    device::{drdma_context, drdma_pd},
    error::{Failure, count, destroy, get, object, status},
};

/// Where events of completion queues arrive.
pub struct drdma_comp_channel {
    channel: CompletionChannel,
    /// The completion queues that were made with it, and are not destroyed.
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
            // One that was destroyed meanwhile has no events.
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

/// What C gave to be given back.
struct Cookie(*mut c_void);

// SAFETY: it is never looked at.
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

/// A completion.
#[repr(C)]
pub struct drdma_wc {
    /// The request's name.
    pub wr_id: u64,
    /// Payload bytes of all its messages; 0 unless the status is DRDMA_WC_SUCCESS.
    pub byte_len: u64,
    /// A `drdma_wc_status`.
    pub status: u32,
    /// The number of the send queue: drdma_qp_queue, drdma_ssq_queue.
    pub queue: u16,
    /// The destination that failed: its index in the request.
    pub destination: u16,
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
                let entry = drdma_wc {
                    wr_id: completion.wr_id,
                    byte_len: completion.bytes,
                    status: completion.status as u32,
                    queue: completion.queue,
                    destination: completion.destination,
                };
                // SAFETY: C promises so many places.
                unsafe { wc.add(taken).write(entry) };
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

/// The transport of a queue pair.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum drdma_qp_type {
    /// Reliable connection.
    DRDMA_QPT_RC = 0,
    /// Unreliable connection.
    DRDMA_QPT_UC = 1,
    /// Unreliable datagram.
    DRDMA_QPT_UD = 2,
}

/// How a queue pair is made.
#[repr(C)]
pub struct drdma_qp_init_attr {
    /// Where its requests complete.
    pub send_cq: *mut drdma_cq,
    /// A `drdma_qp_type`.
    pub qp_type: u32,
    /// Its number on the wire, 24 bits; 0: chosen.
    pub qp_num: u32,
    /// Room in its send queue in blocks of 64 bytes, 1 to 65,536; 0: 256.
    pub max_send_blocks: u32,
}

/// A queue pair.
pub struct drdma_qp {
    pair: Mutex<QueuePair<'static>>,
}

impl drdma_qp {
    pub(crate) fn lock(&self) -> MutexGuard<'_, QueuePair<'static>> {
        self.pair.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a queue pair, in state DRDMA_QPS_RESET.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_create_qp(
    pd: *mut drdma_pd,
    attr: *const drdma_qp_init_attr,
) -> *mut drdma_qp {
    object(|| {
        // SAFETY: C promises objects.
        let (pd, attr) = unsafe { (&get(pd, "pd")?.pd, get(attr, "attr")?) };
        // SAFETY: likewise.
        let cq = &unsafe { get(attr.send_cq, "send_cq") }?.queue;
        let transport = match attr.qp_type {
            0 => Transport::Rc,
            1 => Transport::Uc,
            2 => Transport::Ud,
            other => {
                let text = format!("qp_type is {other}: it must be 0 to 2");
                return Err(Failure::new(libc::EINVAL, text));
            }
        };
        let mut builder = pd.queue_pair(cq).transport(transport);
        if attr.qp_num != 0 {
            builder = builder.qpn(attr.qp_num);
        }
        if attr.max_send_blocks != 0 {
            builder = builder.send_blocks(attr.max_send_blocks);
        }
        Ok(drdma_qp { pair: Mutex::new(builder.build()?) })
    })
}

/// Destroys a queue pair, and takes back what is posted: it gets no completion.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_destroy_qp(qp: *mut drdma_qp) -> c_int {
    // SAFETY: C promises an object, and that it is used no longer.
    unsafe { destroy(qp, "qp") }
}

/// The queue pair's number on the wire; 0 if `qp` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_qp_num(qp: *const drdma_qp) -> u32 {
    // SAFETY: C promises an object.
    unsafe { qp.as_ref() }.map_or(0, |qp| qp.lock().qpn())
}

/// The number of its send queue, as completions tell it; 0 if `qp` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_qp_queue(qp: *const drdma_qp) -> u16 {
    // SAFETY: C promises an object.
    unsafe { qp.as_ref() }.map_or(0, |qp| qp.lock().queue())
}

/// The states of a queue pair.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum drdma_qp_state {
    /// Newly made.
    DRDMA_QPS_RESET = 0,
    /// Set up.
    DRDMA_QPS_INIT = 1,
    /// The peer is known.
    DRDMA_QPS_RTR = 2,
    /// Work requests are executed.
    DRDMA_QPS_RTS = 3,
    /// A request failed: all further ones are flushed.
    DRDMA_QPS_ERR = 4,
}

/// Which attributes of drdma_modify_qp are given.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum drdma_qp_attr_mask {
    /// `qp_state`, always.
    DRDMA_QP_STATE = 1,
    /// `pkey`: Reset to Init.
    DRDMA_QP_PKEY = 2,
    /// `qkey`: Reset to Init, UD.
    DRDMA_QP_QKEY = 4,
    /// `path_mtu`: Init to RTR.
    DRDMA_QP_PATH_MTU = 8,
    /// `dest_qp_num`: Init to RTR.
    DRDMA_QP_DEST_QPN = 16,
    /// `dest_mac`, `dest_ip`, `traffic_class`, `hop_limit`, `vlan_id` and `vlan_priority`: Init to RTR.
    DRDMA_QP_AV = 32,
    /// `sq_psn`: RTR to RTS.
    DRDMA_QP_SQ_PSN = 64,
}

/// What drdma_modify_qp changes.
#[repr(C)]
pub struct drdma_qp_attr {
    /// A `drdma_qp_state`: where to go.
    pub qp_state: u32,
    /// Bytes: 256, 512, 1024, 2048 or 4096.
    pub path_mtu: u32,
    /// Queue key.
    pub qkey: u32,
    /// The peer's queue pair number.
    pub dest_qp_num: u32,
    /// The first packet's sequence number.
    pub sq_psn: u32,
    /// Partition key.
    pub pkey: u16,
    /// The peer's Ethernet address, in the order of transmission; all zero: that which the host knows for
    /// `dest_ip`.
    pub dest_mac: [u8; 6],
    /// The peer's IPv4 address, in the order of transmission.
    pub dest_ip: [u8; 4],
    /// IPv4 type of service: DSCP in the upper 6 bits, ECN in the lower 2.
    pub traffic_class: u8,
    /// IPv4 time to live; 0 stands for 64.
    pub hop_limit: u8,
    /// Priority in the 802.1Q tag, 0 to 7.
    pub vlan_priority: u8,
    /// The VLAN, 1 to 4094, whose tag the frames have; 0: they have none.
    pub vlan_id: u16,
}

impl drdma_qp_attr {
    fn attributes(&self, mask: u32) -> QueuePairAttributes {
        use drdma_qp_attr_mask as flag;
        let has = |flag: flag| mask & flag as u32 != 0;
        let mut attributes = QueuePairAttributes::new();
        if has(flag::DRDMA_QP_PKEY) {
            attributes = attributes.pkey(self.pkey);
        }
        if has(flag::DRDMA_QP_QKEY) {
            attributes = attributes.qkey(self.qkey);
        }
        if has(flag::DRDMA_QP_PATH_MTU) {
            attributes = attributes.path_mtu(self.path_mtu);
        }
        if has(flag::DRDMA_QP_DEST_QPN) {
            attributes = attributes.dest_qpn(self.dest_qp_num);
        }
        if has(flag::DRDMA_QP_AV) {
            attributes = attributes.dest_ip(self.dest_ip.into());
            if self.dest_mac != [0; 6] {
                attributes = attributes.dest_mac(MacAddress(self.dest_mac));
            }
            attributes = attributes.dscp(self.traffic_class >> 2).ecn(self.traffic_class & 3);
            if self.hop_limit > 0 {
                attributes = attributes.ttl(self.hop_limit);
            }
            if self.vlan_id > 0 {
                let tag = VlanTag { id: self.vlan_id, priority: self.vlan_priority };
                attributes = attributes.vlan(tag);
            }
        }
        if has(flag::DRDMA_QP_SQ_PSN) {
            attributes = attributes.start_psn(self.sq_psn);
        }
        attributes
    }
}

/// Goes to another state, with the attributes that `attr_mask` names (`drdma_qp_attr_mask`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_modify_qp(
    qp: *mut drdma_qp,
    attr: *const drdma_qp_attr,
    attr_mask: c_int,
) -> c_int {
    status(|| {
        // SAFETY: C promises objects.
        let (qp, attr) = unsafe { (get(qp, "qp")?, get(attr, "attr")?) };
        let mask = attr_mask as u32;
        if mask & drdma_qp_attr_mask::DRDMA_QP_STATE as u32 == 0 || mask >> 7 != 0 {
            let text = format!("attr_mask is {mask:#x}: DRDMA_QP_STATE and others of it");
            return Err(Failure::new(libc::EINVAL, text));
        }
        let state = QueuePairState::ALL.get(attr.qp_state as usize).copied();
        let state = state.ok_or_else(|| {
            Failure::new(libc::EINVAL, format!("qp_state is {}: it must be 0 to 4", attr.qp_state))
        })?;
        Ok(qp.lock().modify(&attr.attributes(mask).state(state))?)
    })
}

/// Reset, Init, RTR, RTS in one go, with all attributes of `attr` but `qp_state`. A `pkey` of 0 is the
/// default one; `qkey` counts on UD alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_connect_qp(qp: *mut drdma_qp, attr: *const drdma_qp_attr) -> c_int {
    status(|| {
        // SAFETY: C promises objects.
        let (qp, attr) = unsafe { (get(qp, "qp")?, get(attr, "attr")?) };
        let mut pair = qp.lock();
        use drdma_qp_attr_mask as flag;
        let mut mask = u32::MAX;
        if attr.pkey == 0 {
            mask &= !(flag::DRDMA_QP_PKEY as u32);
        }
        if pair.transport() != Transport::Ud {
            mask &= !(flag::DRDMA_QP_QKEY as u32);
        }
        Ok(pair.connect(&attr.attributes(mask))?)
    })
}

/// The state of a queue pair, as far as completions were polled; DRDMA_QPS_RESET if `qp` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_query_qp_state(qp: *const drdma_qp) -> u32 {
    // SAFETY: C promises an object.
    unsafe { qp.as_ref() }.map_or(0, |qp| qp.lock().state() as u32)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_zero_in_an_address_vector_is_left_out() {
        let mut attr = drdma_qp_attr {
            qp_state: 0,
            path_mtu: 0,
            qkey: 0,
            dest_qp_num: 0,
            sq_psn: 0,
            pkey: 0,
            dest_mac: [0; 6],
            dest_ip: [10, 0, 0, 2],
            traffic_class: 0,
            hop_limit: 0,
            vlan_priority: 5,
            vlan_id: 0,
        };
        let mask = drdma_qp_attr_mask::DRDMA_QP_AV as u32;
        let address = QueuePairAttributes::new().dest_ip([10, 0, 0, 2].into()).dscp(0).ecn(0);
        assert_eq!(attr.attributes(mask), address);
        (attr.dest_mac, attr.traffic_class, attr.hop_limit) = ([2, 0, 0, 0, 0, 2], 46 << 2 | 1, 9);
        let address = address.dest_mac(MacAddress([2, 0, 0, 0, 0, 2])).dscp(46).ecn(1).ttl(9);
        assert_eq!(attr.attributes(mask), address);
        attr.vlan_id = 7;
        assert_eq!(attr.attributes(mask), address.vlan(VlanTag { id: 7, priority: 5 }));
    }
}
