//! What C receives, between two cards in one simulated time.

use std::{
    ffi::{CStr, c_void},
    ptr,
};

use libdrdma::{Context, Features, MacAddress, Options, simulated::SimulatedCard};

use super::*;
use crate::drdma_wr_opcode as code;

mod typed;

/// A card, and the objects that C has made of it.
struct Node {
    card: SimulatedCard,
    context: *mut drdma_context,
    pd: *mut drdma_pd,
    cq: *mut drdma_cq,
}

impl Node {
    fn new(number: u8) -> Self {
        let card = SimulatedCard::new();
        let mut options =
            Options::new(MacAddress([2, 0, 0, 0, 0, number]), [10, 0, 0, number].into());
        options.ack_timeout = 0;
        let context = Context::open(card.card(), options).unwrap();
        let context = Box::into_raw(Box::new(drdma_context { context }));
        // SAFETY: all of them come from here, and are destroyed at the end.
        let (pd, cq) = unsafe {
            (
                drdma_alloc_pd(context),
                drdma_create_cq(context, 64, ptr::null_mut(), ptr::null_mut()),
            )
        };
        assert!(!pd.is_null() && !cq.is_null());
        Self { card, context, pd, cq }
    }

    fn memory(&self, bytes: &mut [u8], access: drdma_access_flags) -> *mut drdma_mr {
        let (address, access) = (bytes.as_mut_ptr().cast::<c_void>(), access as i32);
        // SAFETY: every test keeps its bytes until it is over.
        let mr = unsafe { drdma_reg_mr(self.pd, address, bytes.len(), access) };
        assert!(!mr.is_null(), "{}", last_error());
        mr
    }

    fn polled(&self) -> Vec<drdma_wc> {
        let mut room = Vec::with_capacity(16);
        // SAFETY: there is room for 16, and so many are written as it says.
        unsafe {
            let count = drdma_poll_cq(self.cq, 16, room.as_mut_ptr());
            room.set_len(usize::try_from(count).unwrap());
        }
        room
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // SAFETY: they came from here.
        unsafe {
            drdma_destroy_cq(self.cq);
            drdma_dealloc_pd(self.pd);
            drdma_close_device(self.context);
        }
    }
}

fn last_error() -> String {
    // SAFETY: no error comes between.
    unsafe { CStr::from_ptr(drdma_last_error()) }.to_str().unwrap().to_owned()
}

/// Advances the time until no event is due.
fn run(nodes: &[Node; 2]) {
    while let Some(now) = nodes.iter().filter_map(|node| node.card.next_event_ns()).min() {
        for (node, other) in [(&nodes[0], &nodes[1]), (&nodes[1], &nodes[0])] {
            node.card.advance_to(now);
            for frame in node.card.take_sent() {
                other.card.deliver(frame.bytes, frame.time_ns + 500);
            }
        }
    }
}

/// Two queue pairs that know each other; the second one may use a shared receive queue.
fn connected(nodes: &[Node; 2], kind: drdma_qp_type, srq: *mut drdma_srq) -> [*mut drdma_qp; 2] {
    let make = |i: usize| {
        let srq = if i == 1 { srq } else { ptr::null_mut() };
        let own = if srq.is_null() { nodes[i].cq } else { ptr::null_mut() };
        let attr = drdma_qp_init_attr {
            send_cq: nodes[i].cq,
            qp_type: kind as u32,
            qp_num: 0,
            max_send_blocks: 0,
            recv_cq: own,
            srq,
            max_recv_blocks: 0,
        };
        // SAFETY: all of them come from here.
        let qp = unsafe { drdma_create_qp(nodes[i].pd, &raw const attr) };
        assert!(!qp.is_null(), "{}", last_error());
        qp
    };
    let pairs = [make(0), make(1)];
    for (i, qp) in pairs.iter().enumerate() {
        let peer = 2 - i as u8;
        // SAFETY: as above.
        unsafe {
            let mut attr: drdma_qp_attr = std::mem::zeroed();
            attr.path_mtu = 256;
            attr.dest_qp_num = drdma_qp_num(pairs[1 - i]);
            attr.dest_mac = [2, 0, 0, 0, 0, peer];
            attr.dest_ip = [10, 0, 0, peer];
            attr.sq_psn = 7;
            attr.qkey = 0x77;
            if !matches!(kind, drdma_qp_type::DRDMA_QPT_UD) {
                attr.rq_psn = 7;
                attr.qp_access_flags = 15;
            }
            if matches!(kind, drdma_qp_type::DRDMA_QPT_RC) {
                (attr.max_rd_atomic, attr.max_dest_rd_atomic) = (4, 4);
                (attr.timeout, attr.retry_cnt, attr.rnr_retry) = (14, 7, 7);
            }
            assert_eq!(drdma_connect_qp(*qp, &raw const attr), 0, "{}", last_error());
        }
    }
    pairs
}

fn region(mr: *mut drdma_mr, offset: u64, length: u64) -> drdma_region {
    drdma_region {
        region_type: drdma_region_type::DRDMA_REGION_CONTIGUOUS as u32,
        num_extents: 0,
        num_columns: 0,
        mr,
        offset,
        length,
        period: 0,
        count: 0,
        extents: ptr::null(),
        columns: ptr::null(),
        target: ptr::null(),
        chase: ptr::null(),
        first_bit: 0,
    }
}

fn request(wr_id: u64, opcode: code, regions: &[drdma_region]) -> drdma_send_wr {
    drdma_send_wr {
        wr_id,
        next: ptr::null(),
        opcode: opcode as u32,
        row_mask: 0,
        rows_per_message: 1,
        imm_data: 0,
        remote_addr: 0,
        rkey: 0,
        num_regions: regions.len() as u32,
        regions: regions.as_ptr(),
        send_flags: 0,
        inline_length: 0,
        inline_data: ptr::null(),
        compare_add: 0,
        swap: 0,
        ah: ptr::null(),
        message_layout: 0,
        num_remote_columns: 0,
        remote_columns: ptr::null(),
    }
}

fn receive(wr_id: u64, regions: &[drdma_region]) -> drdma_recv_wr {
    let (num_regions, regions) = (regions.len() as u32, regions.as_ptr());
    drdma_recv_wr { wr_id, next: ptr::null(), regions, num_regions }
}

fn send(qp: *mut drdma_qp, wr: &drdma_send_wr) {
    // SAFETY: every test's request and regions are right.
    let code = unsafe { drdma_post_send(qp, wr, ptr::null_mut()) };
    assert_eq!(code, 0, "{}", last_error());
}

fn destroy(pairs: [*mut drdma_qp; 2], memories: &[*mut drdma_mr]) {
    // SAFETY: they came from here, and everything was polled.
    unsafe {
        pairs.iter().for_each(|qp| assert_eq!(drdma_destroy_qp(*qp), 0));
        memories.iter().for_each(|mr| assert_eq!(drdma_dereg_mr(*mr), 0, "{}", last_error()));
    }
}

const LOCAL: drdma_access_flags = drdma_access_flags::DRDMA_ACCESS_LOCAL_WRITE;

#[test]
fn receives_in_a_list_are_filled_and_say_what_came() {
    let (mut source, mut target) = ([0x5a; 300], [0; 600]);
    let nodes = [Node::new(1), Node::new(2)];
    // SAFETY: everything comes from here.
    unsafe {
        assert_eq!(drdma_query_features(nodes[0].context) & 31, 31);
        let out = nodes[0].memory(&mut source, LOCAL);
        let into = nodes[1].memory(&mut target, LOCAL);
        let pairs = connected(&nodes, drdma_qp_type::DRDMA_QPT_RC, ptr::null_mut());
        let places = [region(into, 0, 300), region(into, 300, 300)];
        let second = receive(2, &places[1..]);
        let first = drdma_recv_wr { next: &raw const second, ..receive(1, &places[..1]) };
        assert_eq!(drdma_post_recv(pairs[1], &raw const first, ptr::null_mut()), 0);
        let all = [region(out, 0, 300)];
        let imm = drdma_send_wr { imm_data: 9, ..request(3, code::DRDMA_WR_SEND_WITH_IMM, &all) };
        send(pairs[0], &request(2, code::DRDMA_WR_SEND, &all));
        send(pairs[0], &imm);
        run(&nodes);
        let sent = nodes[0].polled();
        assert!(sent.iter().all(|wc| (wc.status, wc.opcode) == (0, 0)) && sent.len() == 2);
        let received = nodes[1].polled();
        let found: Vec<_> = received
            .iter()
            .map(|wc| (wc.wr_id, wc.byte_len, wc.opcode, wc.wc_flags, wc.imm_data))
            .collect();
        assert_eq!(found, [(1, 300, 128, 0, 0), (2, 300, 128, 2, 9)]);
        assert_eq!(received[0].queue, drdma_qp_receive_queue(pairs[1]));
        assert_eq!(received[0].qp_index, drdma_qp_index(pairs[1]));
        destroy(pairs, &[out, into]);
    }
    assert_eq!(target, [0x5a; 600]);
}

#[test]
fn reads_and_atomics_bring_back_what_the_peer_has() {
    let (mut back, mut there) = ([0_u8; 64], [3_u8; 64]);
    let nodes = [Node::new(1), Node::new(2)];
    // SAFETY: everything comes from here.
    unsafe {
        let own = nodes[0].memory(&mut back, LOCAL);
        let address = there.as_mut_ptr().cast::<c_void>();
        let peers = drdma_reg_mr(nodes[1].pd, address, 64, 15);
        let pairs = connected(&nodes, drdma_qp_type::DRDMA_QPT_RC, ptr::null_mut());
        let (remote_addr, rkey) = (drdma_mr_iova(peers), drdma_mr_rkey(peers));
        let places = [region(own, 0, 48), region(own, 48, 8), region(own, 56, 8)];
        let at = |wr| drdma_send_wr { remote_addr, rkey, ..wr };
        send(pairs[0], &at(request(1, code::DRDMA_WR_RDMA_READ, &places[..1])));
        let add = request(2, code::DRDMA_WR_ATOMIC_FETCH_AND_ADD, &places[1..2]);
        send(pairs[0], &at(drdma_send_wr { compare_add: 1, ..add }));
        let swap = request(3, code::DRDMA_WR_ATOMIC_CMP_AND_SWP, &places[2..]);
        let compare_add = u64::from_le_bytes([3; 8]) + 1;
        let fence = drdma_send_flags::DRDMA_SEND_FENCE as u32;
        send(pairs[0], &at(drdma_send_wr { compare_add, swap: 5, send_flags: fence, ..swap }));
        run(&nodes);
        let found: Vec<_> =
            nodes[0].polled().iter().map(|wc| (wc.wr_id, wc.opcode, wc.status)).collect();
        assert_eq!(found, [(1, 2, 0), (2, 4, 0), (3, 3, 0)]);
        destroy(pairs, &[own, peers]);
    }
    assert_eq!(back[..48], [3; 48]);
    assert_eq!((&back[48..56], back[56]), (&[3; 8][..], 4));
    assert_eq!(there[..8], 5_u64.to_le_bytes());
}

#[test]
fn a_shared_receive_queue_serves_datagrams_that_name_where_they_go() {
    let mut target = [0; 200];
    let nodes = [Node::new(1), Node::new(2)];
    // SAFETY: everything comes from here.
    unsafe {
        let into = nodes[1].memory(&mut target, LOCAL);
        let srq = drdma_create_srq(nodes[1].pd, nodes[1].cq, 0);
        assert!(!srq.is_null(), "{}", last_error());
        let pairs = connected(&nodes, drdma_qp_type::DRDMA_QPT_UD, srq);
        let place = [region(into, 0, 200)];
        assert_eq!(drdma_post_srq_recv(srq, &receive(4, &place), ptr::null_mut()), 0);
        let ah = drdma_ah {
            dest_mac: [2, 0, 0, 0, 0, 2],
            traffic_class: 46 << 2,
            hop_limit: 0,
            dest_ip: [10, 0, 0, 2],
            remote_qpn: drdma_qp_num(pairs[1]),
            remote_qkey: 0x77,
        };
        let text = b"a datagram";
        let wr = drdma_send_wr {
            ah: &raw const ah,
            send_flags: drdma_send_flags::DRDMA_SEND_INLINE as u32
                | drdma_send_flags::DRDMA_SEND_SOLICITED as u32,
            inline_data: text.as_ptr().cast(),
            inline_length: text.len() as u32,
            ..request(5, code::DRDMA_WR_SEND, &[])
        };
        send(pairs[0], &wr);
        run(&nodes);
        assert_eq!(nodes[0].polled().len(), 1);
        let received = nodes[1].polled();
        assert_eq!((received[0].wr_id, received[0].byte_len, received[0].wc_flags), (4, 50, 1));
        assert_eq!(received[0].src_qp, drdma_qp_num(pairs[0]));
        assert_eq!(received[0].queue, drdma_srq_queue(srq));
        destroy(pairs, &[into]);
        assert_eq!(drdma_destroy_srq(srq), 0);
    }
    assert_eq!(&target[40..50], b"a datagram");
    assert_eq!(target[21], 46 << 2, "the header's type of service");
}

#[test]
fn what_c_gives_wrong_is_said() {
    let mut bytes = [0; 64];
    let nodes = [Node::new(1), Node::new(2)];
    // SAFETY: what is wrong here is what must be refused.
    unsafe {
        let address = bytes.as_mut_ptr().cast::<c_void>();
        assert!(drdma_reg_mr(nodes[0].pd, address, 64, 16).is_null());
        assert_eq!(last_error(), "access is 0x10: it must be 0 to 15");
        let pairs = connected(&nodes, drdma_qp_type::DRDMA_QPT_RC, ptr::null_mut());
        let readable = drdma_reg_mr(nodes[0].pd, address, 64, 0);
        let places: Vec<_> = (0..17).map(|_| region(readable, 0, 1)).collect();
        let good = receive(1, &[]);
        let wrong = receive(2, &places);
        let list = drdma_recv_wr { next: &raw const wrong, ..good };
        let mut bad = ptr::null();
        assert_eq!(drdma_post_recv(pairs[0], &raw const list, &raw mut bad), libc::EINVAL);
        assert!(ptr::eq(bad, &raw const wrong), "the first that was not posted");
        assert_eq!(drdma_post_recv(pairs[0], ptr::null(), ptr::null_mut()), libc::EINVAL);
        assert_eq!(last_error(), "wr is NULL");
        let strange = drdma_send_wr { opcode: 7, ..request(1, code::DRDMA_WR_SEND, &[]) };
        assert_eq!(drdma_post_send(pairs[0], &strange, ptr::null_mut()), libc::EINVAL);
        assert_eq!(last_error(), "opcode is 7: it must be 0 to 6 or 9");
        let srq = drdma_create_srq(nodes[0].pd, nodes[0].cq, 0);
        let both = drdma_qp_init_attr {
            send_cq: nodes[0].cq,
            qp_type: 0,
            qp_num: 0,
            max_send_blocks: 0,
            recv_cq: nodes[0].cq,
            srq,
            max_recv_blocks: 0,
        };
        assert!(drdma_create_qp(nodes[0].pd, &raw const both).is_null());
        assert!(last_error().starts_with("recv_cq and srq"), "{}", last_error());
        let none = ptr::null_mut();
        let room =
            drdma_qp_init_attr { recv_cq: none, srq: ptr::null_mut(), max_recv_blocks: 4, ..both };
        assert!(drdma_create_qp(nodes[0].pd, &raw const room).is_null());
        assert_eq!(last_error(), "max_recv_blocks is 4: there is no recv_cq");
        drdma_destroy_srq(srq);
        destroy(pairs, &[readable]);
    }
}

#[test]
fn features_have_the_bits_of_the_register() {
    use drdma_features::*;
    let bits = [
        (DRDMA_FEATURE_RECEIVES, Features::RECEIVES),
        (DRDMA_FEATURE_SCATTERS, Features::SCATTERS),
        (DRDMA_FEATURE_READS, Features::READS),
        (DRDMA_FEATURE_REQUESTS, Features::REQUESTS),
        (DRDMA_FEATURE_RETRANSMITS, Features::RETRANSMITS),
        (DRDMA_FEATURE_VARLEN, Features::VARLEN),
        (DRDMA_FEATURE_BITS, Features::BITS),
        (DRDMA_FEATURE_COLUMNS, Features::COLUMNS),
        (DRDMA_FEATURE_CHASE, Features::CHASE),
        (DRDMA_FEATURE_PARTITIONS, Features::PARTITIONS),
        (DRDMA_FEATURE_READ_ANSWERS, Features::READ_ANSWERS),
        (DRDMA_FEATURE_ATOMIC_ANSWERS, Features::ATOMIC_ANSWERS),
        (DRDMA_FEATURE_STRIDED_RECEIVES, Features::STRIDED_RECEIVES),
        (DRDMA_FEATURE_CONGESTION, Features::CONGESTION),
        (DRDMA_FEATURE_COLUMN_WRITES, Features::COLUMN_WRITES),
        (DRDMA_FEATURE_MAPPED_RECEIVES, Features::MAPPED_RECEIVES),
        (DRDMA_FEATURE_FIXED_KEYS, Features::FIXED_KEYS),
        (DRDMA_FEATURE_COLUMN_MESSAGES, Features::COLUMN_MESSAGES),
    ];
    assert!(bits.iter().all(|(ours, theirs)| *ours as u32 == theirs.bits()));
}

#[test]
fn asynchronous_events_are_taken_or_waited_for() {
    let nodes = [Node::new(1), Node::new(2)];
    // SAFETY: all of them come from here, and are destroyed at the end.
    unsafe {
        let srq = drdma_create_srq(nodes[1].pd, nodes[1].cq, 0);
        let pairs = connected(&nodes, drdma_qp_type::DRDMA_QPT_RC, srq);
        let mut event: drdma_async_event = std::mem::zeroed();
        let context = nodes[1].context;
        let mut take = || {
            let code = drdma_get_async_event(context, &raw mut event, 0);
            (code, event.event_type, event.qp_num, event.qp_index, event.srq_queue)
        };
        assert_eq!(take().0, libc::EAGAIN);
        let mut write = request(1, code::DRDMA_WR_RDMA_WRITE, &[]);
        let payload = [1];
        (write.send_flags, write.inline_length) = (drdma_send_flags::DRDMA_SEND_INLINE as u32, 1);
        (write.inline_data, write.rkey) = (payload.as_ptr().cast(), 0x1234_5678);
        send(pairs[0], &write);
        run(&nodes);
        let (number, index) = (drdma_qp_num(pairs[1]), drdma_qp_index(pairs[1]));
        let fatal = drdma_event_type::DRDMA_EVENT_QP_FATAL as u32;
        assert_eq!(take(), (0, fatal, number, index, 0));
        let last = drdma_event_type::DRDMA_EVENT_QP_LAST_WQE_REACHED as u32;
        assert_eq!(take(), (0, last, number, index, 0));
        assert_eq!(drdma_set_srq_limit(srq, 1), 0);
        let limit = drdma_event_type::DRDMA_EVENT_SRQ_LIMIT_REACHED as u32;
        assert_eq!(take(), (0, limit, 0, 0, drdma_srq_queue(srq).into()));
        assert_eq!(take().0, libc::EAGAIN);
        assert_eq!(drdma_set_srq_limit(srq, 1 << 20), libc::EINVAL);
        assert_eq!(last_error(), "limit is 1048576: it must be 0 to the blocks of the queue");
        let fd = drdma_async_event_fd(context);
        assert!(fd >= 0, "{}", last_error());
        let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        assert_eq!(drdma_set_srq_limit(srq, 1), 0);
        assert_eq!(libc::poll(&raw mut poll, 1, 20_000), 1, "the thread finds it");
        assert_eq!(take().1, limit);
        assert_eq!(drdma_async_event_fd(ptr::null_mut()), -1);
        assert_eq!(drdma_get_async_event(context, ptr::null_mut(), 0), libc::EINVAL);
        assert_eq!(last_error(), "event is NULL");
        nodes[0].polled();
        destroy(pairs, &[]);
        assert_eq!(drdma_destroy_srq(srq), 0);
    }
}
