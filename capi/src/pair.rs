//! Queue pairs.

use std::{
    ffi::c_int,
    sync::{Mutex, MutexGuard, PoisonError},
};

use libdrdma::{MacAddress, QueuePair, QueuePairAttributes, QueuePairState, Transport, VlanTag};

use crate::{
    completion::drdma_cq,
    device::drdma_pd,
    error::{Failure, destroy, get, object, status},
    memory::access_of,
    shared::drdma_srq,
};

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
    /// Where its receives complete; NULL: it has no receive queue of its own.
    pub recv_cq: *mut drdma_cq,
    /// The shared receive queue that it takes its receives from, or NULL. Not together with `recv_cq`.
    pub srq: *mut drdma_srq,
    /// Room in its receive queue in blocks of 64 bytes, 1 to 65,536; 0: 256.
    pub max_recv_blocks: u32,
}

/// A queue pair.
pub struct drdma_qp {
    pair: Mutex<QueuePair<'static>>,
    /// The queue pair has a receive queue, or uses a shared one.
    receives: bool,
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
        if !attr.recv_cq.is_null() && !attr.srq.is_null() {
            let text = "recv_cq and srq: a queue pair has receives of its own or shared ones";
            return Err(Failure::new(libc::EINVAL, text));
        }
        if attr.recv_cq.is_null() && attr.max_recv_blocks != 0 {
            let text = format!("max_recv_blocks is {}: there is no recv_cq", attr.max_recv_blocks);
            return Err(Failure::new(libc::EINVAL, text));
        }
        // SAFETY: likewise.
        if let Some(cq) = unsafe { attr.recv_cq.as_ref() } {
            builder = builder.receive(&cq.queue);
            if attr.max_recv_blocks != 0 {
                builder = builder.receive_blocks(attr.max_recv_blocks);
            }
        }
        // SAFETY: likewise.
        if let Some(srq) = unsafe { attr.srq.as_ref() } {
            builder = builder.shared_receive_queue(&srq.lock());
        }
        let receives = !attr.recv_cq.is_null() || !attr.srq.is_null();
        Ok(drdma_qp { pair: Mutex::new(builder.build()?), receives })
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

/// The number of its receive queue, as completions tell it; 0 if `qp` is NULL or has none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_qp_receive_queue(qp: *const drdma_qp) -> u16 {
    // SAFETY: C promises an object.
    unsafe { qp.as_ref() }.and_then(|qp| qp.lock().receive_queue()).unwrap_or(0)
}

/// The queue pair's index, as completions of receives tell it; 0 if `qp` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_qp_index(qp: *const drdma_qp) -> u32 {
    // SAFETY: C promises an object.
    unsafe { qp.as_ref() }.map_or(0, |qp| qp.lock().index())
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
    /// `qp_access_flags`: Reset to Init.
    DRDMA_QP_ACCESS_FLAGS = 128,
    /// `rq_psn`: Init to RTR, RC and UC.
    DRDMA_QP_RQ_PSN = 256,
    /// `min_rnr_timer`: Init to RTR, RC.
    DRDMA_QP_MIN_RNR_TIMER = 512,
    /// `max_dest_rd_atomic`: Init to RTR, RC.
    DRDMA_QP_MAX_DEST_RD_ATOMIC = 1024,
    /// `timeout`: RTR to RTS, RC.
    DRDMA_QP_TIMEOUT = 2048,
    /// `retry_cnt`: RTR to RTS, RC.
    DRDMA_QP_RETRY_CNT = 4096,
    /// `rnr_retry`: RTR to RTS, RC.
    DRDMA_QP_RNR_RETRY = 8192,
    /// `max_rd_atomic`: RTR to RTS, RC.
    DRDMA_QP_MAX_QP_RD_ATOMIC = 16384,
}

/// Mask of all attributes.
const KNOWN: u32 = (1 << 15) - 1;

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
    /// `drdma_access_flags`: what the peer may do.
    pub qp_access_flags: u32,
    /// The sequence number of the peer's first packet.
    pub rq_psn: u32,
    /// What an RNR NAK asks the peer to wait: a code, 0 to 31 (IBTA table 45).
    pub min_rnr_timer: u8,
    /// READs and atomics of the peer that may be in progress, 0 to 16.
    pub max_dest_rd_atomic: u8,
    /// How long an acknowledgement is waited for: 4.096 us times 2 to the power of it, up to 31; 0: for ever.
    pub timeout: u8,
    /// How often packets are sent again that nobody acknowledges, 0 to 7.
    pub retry_cnt: u8,
    /// How often they are sent again after an RNR NAK, 0 to 6; 7: for ever.
    pub rnr_retry: u8,
    /// READs and atomics that may be in progress, 0 to 16.
    pub max_rd_atomic: u8,
}

impl drdma_qp_attr {
    /// Mask of the attributes for drdma_connect_qp.
    fn connecting(&self, transport: Transport, receives: bool) -> u32 {
        use drdma_qp_attr_mask as flag;
        let datagrams = transport == Transport::Ud;
        let answers = receives || self.qp_access_flags != 0;
        let left_out = [
            (flag::DRDMA_QP_PKEY, self.pkey == 0),
            (flag::DRDMA_QP_QKEY, !datagrams),
            (flag::DRDMA_QP_ACCESS_FLAGS, self.qp_access_flags == 0),
            (flag::DRDMA_QP_RQ_PSN, self.rq_psn == 0 && (datagrams || !answers)),
            (flag::DRDMA_QP_MIN_RNR_TIMER, self.min_rnr_timer == 0),
            (flag::DRDMA_QP_MAX_DEST_RD_ATOMIC, self.max_dest_rd_atomic == 0),
            (flag::DRDMA_QP_TIMEOUT, self.timeout == 0),
            (flag::DRDMA_QP_RETRY_CNT, self.retry_cnt == 0),
            (flag::DRDMA_QP_RNR_RETRY, self.rnr_retry == 0),
            (flag::DRDMA_QP_MAX_QP_RD_ATOMIC, self.max_rd_atomic == 0),
        ];
        let out = left_out.iter().filter(|(_, out)| *out);
        out.fold(KNOWN, |mask, (flag, _)| mask & !(*flag as u32))
    }

    fn attributes(&self, mask: u32) -> Result<QueuePairAttributes, Failure> {
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
        if has(flag::DRDMA_QP_ACCESS_FLAGS) {
            attributes = attributes.access(access_of(self.qp_access_flags, "qp_access_flags")?);
        }
        if has(flag::DRDMA_QP_RQ_PSN) {
            attributes = attributes.rq_psn(self.rq_psn);
        }
        if has(flag::DRDMA_QP_MIN_RNR_TIMER) {
            attributes = attributes.min_rnr_timer(self.min_rnr_timer);
        }
        if has(flag::DRDMA_QP_MAX_DEST_RD_ATOMIC) {
            attributes = attributes.max_dest_rd_atomic(self.max_dest_rd_atomic);
        }
        if has(flag::DRDMA_QP_TIMEOUT) {
            attributes = attributes.timeout(self.timeout);
        }
        if has(flag::DRDMA_QP_RETRY_CNT) {
            attributes = attributes.retry_cnt(self.retry_cnt);
        }
        if has(flag::DRDMA_QP_RNR_RETRY) {
            attributes = attributes.rnr_retry(self.rnr_retry);
        }
        if has(flag::DRDMA_QP_MAX_QP_RD_ATOMIC) {
            attributes = attributes.max_rd_atomic(self.max_rd_atomic);
        }
        Ok(attributes)
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
        if mask & drdma_qp_attr_mask::DRDMA_QP_STATE as u32 == 0 || mask & !KNOWN != 0 {
            let text = format!("attr_mask is {mask:#x}: DRDMA_QP_STATE and others of it");
            return Err(Failure::new(libc::EINVAL, text));
        }
        let state = QueuePairState::ALL.get(attr.qp_state as usize).copied();
        let state = state.ok_or_else(|| {
            Failure::new(libc::EINVAL, format!("qp_state is {}: it must be 0 to 4", attr.qp_state))
        })?;
        Ok(qp.lock().modify(&attr.attributes(mask)?.state(state))?)
    })
}

/// Reset, Init, RTR, RTS in one go, with all attributes of `attr` but `qp_state`. A `pkey` of 0 is the
/// default one; `qkey` counts on UD alone. Of the fields from `qp_access_flags` on, those that are 0 are left out,
/// except `rq_psn` of an RC or UC queue pair that has receives or allows its peer anything.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_connect_qp(qp: *mut drdma_qp, attr: *const drdma_qp_attr) -> c_int {
    status(|| {
        // SAFETY: C promises objects.
        let (qp, attr) = unsafe { (get(qp, "qp")?, get(attr, "attr")?) };
        let mut pair = qp.lock();
        let mask = attr.connecting(pair.transport(), qp.receives);
        Ok(pair.connect(&attr.attributes(mask)?)?)
    })
}

/// The state of a queue pair, as far as completions were polled; DRDMA_QPS_RESET if `qp` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_query_qp_state(qp: *const drdma_qp) -> u32 {
    // SAFETY: C promises an object.
    unsafe { qp.as_ref() }.map_or(0, |qp| qp.lock().state() as u32)
}

#[cfg(test)]
mod tests {
    use libdrdma::Access;

    use super::*;

    const EMPTY: drdma_qp_attr = drdma_qp_attr {
        qp_state: 0,
        path_mtu: 0,
        qkey: 0,
        dest_qp_num: 0,
        sq_psn: 0,
        pkey: 0,
        dest_mac: [0; 6],
        dest_ip: [0; 4],
        traffic_class: 0,
        hop_limit: 0,
        vlan_priority: 0,
        vlan_id: 0,
        qp_access_flags: 0,
        rq_psn: 0,
        min_rnr_timer: 0,
        max_dest_rd_atomic: 0,
        timeout: 0,
        retry_cnt: 0,
        rnr_retry: 0,
        max_rd_atomic: 0,
    };

    #[test]
    fn connecting_leaves_out_what_is_zero() {
        use drdma_qp_attr_mask as flag;
        let has = |mask: u32, flag: flag| mask & flag as u32 != 0;
        let silent = EMPTY.connecting(Transport::Rc, false);
        assert!(!has(silent, flag::DRDMA_QP_RQ_PSN) && !has(silent, flag::DRDMA_QP_TIMEOUT));
        assert!(has(silent, flag::DRDMA_QP_AV) && !has(silent, flag::DRDMA_QP_QKEY));
        assert!(
            has(EMPTY.connecting(Transport::Uc, true), flag::DRDMA_QP_RQ_PSN),
            "a receiver's is 0"
        );
        assert!(!has(EMPTY.connecting(Transport::Ud, true), flag::DRDMA_QP_RQ_PSN));
        let all = drdma_qp_attr {
            qp_access_flags: 2,
            timeout: 14,
            retry_cnt: 7,
            rnr_retry: 7,
            max_rd_atomic: 1,
            max_dest_rd_atomic: 2,
            min_rnr_timer: 3,
            ..EMPTY
        };
        let mask = all.connecting(Transport::Rc, false);
        assert_eq!(mask, KNOWN & !(flag::DRDMA_QP_PKEY as u32 | flag::DRDMA_QP_QKEY as u32));
        let found = all.attributes(mask & !(flag::DRDMA_QP_AV as u32)).unwrap();
        let expected = QueuePairAttributes::new()
            .path_mtu(0)
            .dest_qpn(0)
            .start_psn(0)
            .access(Access::REMOTE_WRITE)
            .rq_psn(0)
            .min_rnr_timer(3)
            .max_dest_rd_atomic(2)
            .timeout(14)
            .retry_cnt(7)
            .rnr_retry(7)
            .max_rd_atomic(1);
        assert_eq!(found, expected);
        let wrong = drdma_qp_attr { qp_access_flags: 32, ..EMPTY };
        assert!(wrong.attributes(flag::DRDMA_QP_ACCESS_FLAGS as u32).is_err());
    }

    #[test]
    fn what_is_zero_in_an_address_vector_is_left_out() {
        let mut attr = drdma_qp_attr { dest_ip: [10, 0, 0, 2], vlan_priority: 5, ..EMPTY };
        let mask = drdma_qp_attr_mask::DRDMA_QP_AV as u32;
        let address = QueuePairAttributes::new().dest_ip([10, 0, 0, 2].into()).dscp(0).ecn(0);
        assert_eq!(attr.attributes(mask).unwrap(), address);
        (attr.dest_mac, attr.traffic_class, attr.hop_limit) = ([2, 0, 0, 0, 0, 2], 46 << 2 | 1, 9);
        let address = address.dest_mac(MacAddress([2, 0, 0, 0, 0, 2])).dscp(46).ecn(1).ttl(9);
        assert_eq!(attr.attributes(mask).unwrap(), address);
        attr.vlan_id = 7;
        assert_eq!(attr.attributes(mask).unwrap(), address.vlan(VlanTag { id: 7, priority: 5 }));
    }
}
