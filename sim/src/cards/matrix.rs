//! Every region type, operation and transport, against an oracle that is written without the model.

use drdma_abi::{completion::Status, roce::Transport, work_request::Opcode};

use super::rig::{Rig, Simulated, contiguous, send, to};
use drdma_semantics::{
    region::{Column, Extent, Region, RowMask},
    request::Request,
    testing::{self, BASE, CONTROL, LKEY},
};
use drdma_soft::wire::MessageKind;

/// One region of each type, of lengths and places that are not aligned.
pub fn regions() -> [Region; 4] {
    let pattern = vec![
        Extent { offset: 3, len: 5 },
        Extent { offset: 90, len: 70 },
        Extent { offset: 0, len: 1 },
        Extent { offset: 17, len: 8 },
    ];
    let column = |offset, width| Column { base: BASE + offset, width, lkey: LKEY };
    [
        contiguous(77, 1111),
        Region::Strided {
            base: BASE + 1,
            period: 37,
            count: 30,
            lkey: LKEY,
            pattern: pattern.clone(),
        },
        Region::Bitmapped {
            bitmap: CONTROL + 0x401,
            rows: 75,
            lkey: LKEY,
            columns: vec![column(9, 4), column(0x500, 1), column(0x801, 30), column(0x1100, 2)],
            fetch_rows: None,
        },
        Region::PointerMapped {
            pointers: CONTROL,
            count: 20,
            lkey: LKEY,
            target_lkey: LKEY,
            pattern,
        },
    ]
}

/// Sends every combination over queue pairs 1 (RC), 2 (UC) and 3 (UD) of a card, each with the queue
/// of its number, from just below the end of the sequence numbers.
pub fn exercise<C: drdma_driver::Card>(rig: &mut Rig<C>) {
    let transports = [Transport::Rc, Transport::Uc, Transport::Ud];
    let peers: Vec<_> = (1..)
        .zip(transports)
        .map(|(index, transport)| {
            rig.add_queue(index, Some(index));
            rig.add_queue_pair(index, transport, 0xff_fff0)
        })
        .collect();
    let memory = testing::memory();
    let mut wr_id = 0;
    for ((opcode, region), (qp, transport)) in Opcode::ALL
        .into_iter()
        .flat_map(|opcode| regions().map(|region| (opcode, region)))
        .flat_map(|case| (1..).zip(transports).map(move |to| (case.clone(), to)))
    {
        let datagrams = transport == Transport::Ud;
        if datagrams && (opcode.is_write() || matches!(region, Region::Contiguous { .. })) {
            continue;
        }
        let peer = peers[qp as usize - 1];
        let rows_per_message = if datagrams { 1 } else { 7 };
        let units = testing::units(std::slice::from_ref(&region), RowMask::Period, &memory);
        let expected = testing::messages(&units, rows_per_message);
        let request = Request {
            opcode,
            imm: 0xfeed,
            rows_per_message,
            ..send(wr_id, vec![to(qp, vec![region])])
        };
        rig.post(qp, &request);
        let total: usize = expected.iter().map(Vec::len).sum();
        let completion = rig.run_until_completed(1)[0];
        assert_eq!((completion.wr_id, completion.status), (wr_id, Status::Success as u8));
        assert_eq!((completion.queue, completion.bytes), (qp, total as u64));
        let mut remote_addr = 0x1000;
        let received = rig.network.with_peer(peer, |peer| peer.take_messages());
        assert_eq!(received.len(), expected.len(), "{request:?}");
        for (message, bytes) in received.iter().zip(expected) {
            let kind = match opcode.is_write() {
                true => MessageKind::Write { remote_addr, rkey: 7 },
                false => MessageKind::Send,
            };
            assert_eq!(message.kind, kind);
            assert_eq!(message.imm, opcode.has_imm().then_some(0xfeed));
            assert_eq!(message.bytes, bytes, "{request:?}");
            remote_addr += bytes.len() as u64;
        }
        wr_id += 1;
    }
    assert_eq!(wr_id, 16 * 3 - 8 - 2, "every combination but datagrams that do not fit");
    assert_eq!(rig.network.errors(), []);
}

fn every_region_operation_and_transport_is_sent_as_the_semantics_say<C: Simulated>() {
    exercise(&mut Rig::<C>::new());
}

on_every_card! { every_region_operation_and_transport_is_sent_as_the_semantics_say }
