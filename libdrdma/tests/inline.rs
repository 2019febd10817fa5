//! Payloads that stand in the request: what is written into the ring, what arrives, and what is refused.

mod common;

use common::{connected, open_all, polled};
use drdma_abi::{
    Layout as _,
    work_request::{Destination, GRANULE, WqeHeader, flags},
};
use libdrdma::{Contiguous, MAX_INLINE, Operation, PostError, Region, Status, WorkRequest};

const OK: Status = Status::Success;

#[test]
fn the_payload_stands_behind_the_destination_and_is_free_when_the_post_returns() {
    let (context, card, pd, cq) = open_all();
    let mut qp = connected(&pd, &cq, 4);
    let payload: Vec<u8> = (1..=64).collect();
    for len in [0, 1, 8, 15, 16, 17, 63, 64] {
        let mut bytes = payload[..len].to_vec();
        let write = Operation::Write { remote_addr: 0x1234, rkey: 5 };
        let request = WorkRequest::new(len as u64).operation(write).inline(&bytes);
        qp.post_send(&request).unwrap();
        bytes.fill(0xee);
        context.progress().unwrap();
        assert_eq!(polled(&cq), [(len as u64, OK)]);
        let state = card.state();
        let logged = state.log.last().unwrap();
        assert_eq!(logged.header.flags, flags::INLINE);
        assert_eq!(logged.header.granules as usize, 4 + len.div_ceil(GRANULE));
        let behind = &logged.bytes[WqeHeader::SIZE..];
        let expected = Destination {
            qp: qp.index(),
            remote_addr: 0x1234,
            rkey: 5,
            inline_bytes: len as u8,
            ..Destination::default()
        };
        assert_eq!(Destination::decode(behind), expected);
        let (found, padding) = behind[Destination::SIZE..].split_at(len);
        assert_eq!(found, &payload[..len]);
        assert!(padding.iter().all(|byte| *byte == 0));
    }
}

#[test]
fn a_payload_that_no_entry_takes_is_refused() {
    let (_, _, pd, cq) = open_all();
    let mut qp = connected(&pd, &cq, 64);
    let long = [0; MAX_INLINE + 1];
    let error = qp.post_send(&WorkRequest::new(1).inline(&long)).unwrap_err();
    assert!(matches!(error, PostError::InlineBytes { bytes: 65, limit: 64 }));
    assert_eq!(error.to_string(), "an inline payload of 65 B: at most 64 B are possible");
    let memory = pd.register(vec![0_u8; 64]).unwrap();
    let regions: [Region; 1] = [Contiguous::new(&memory).build().unwrap()];
    let mut qp = qp.release().unwrap();
    qp.connect(&common::peer()).unwrap();
    let both = WorkRequest::new(1).regions(&regions).inline(&[1]);
    let error = qp.post_send(&both).unwrap_err();
    assert_eq!(
        error.to_string(),
        "an inline payload and 1 regions: a request sends one or the other"
    );
    assert_eq!(cq.outstanding(), 0);
    drop(qp);
}
