//! The state machine of queue pairs, and the entries that the card is given.

mod common;

use std::net::Ipv4Addr;

use common::{open, open_all, peer};
use drdma_abi::register::{
    CONTROL, IP, MAC_HIGH, MAC_LOW, MAX_READ, MERGE_THRESHOLD, QUEUE_PAIRS, QueuePairEntry,
    READ_BALANCE, SEND_QUEUES, SendQueueEntry,
};
use drdma_driver::Card as _;
use libdrdma::{
    Context, MacAddress, Options, PostError, QueuePair, QueuePairAttributes,
    QueuePairState::{self, Error, Init, ReadyToReceive, ReadyToSend, Reset},
    ResolveError, Resolver, Transport, VlanTag, WorkRequest,
};

fn to(state: QueuePairState) -> QueuePairAttributes {
    QueuePairAttributes::new().state(state)
}

/// Attributes of the transition to a state from the one before it.
fn step(state: QueuePairState, transport: Transport) -> QueuePairAttributes {
    match state {
        Init if transport == Transport::Ud => to(Init).pkey(0xffff).qkey(0x1111),
        Init => to(Init).pkey(0xffff),
        ReadyToReceive => to(ReadyToReceive)
            .path_mtu(4096)
            .dest_qpn(0xabcdef)
            .dest_mac(MacAddress([2, 0, 0, 0, 0, 9]))
            .dest_ip([10, 0, 0, 9].into()),
        ReadyToSend => to(ReadyToSend).start_psn(0xfffffe),
        state => to(state),
    }
}

fn bring(qp: &mut QueuePair, state: QueuePairState) {
    qp.modify(&to(Reset)).unwrap();
    let path: &[_] = match state {
        Reset => &[],
        Init => &[Init],
        ReadyToReceive => &[Init, ReadyToReceive],
        ReadyToSend => &[Init, ReadyToReceive, ReadyToSend],
        Error => &[Init, Error],
    };
    for state in path {
        qp.modify(&step(*state, qp.transport())).unwrap();
    }
    assert_eq!(qp.state(), state);
}

#[test]
fn every_pair_of_states_is_a_transition_or_is_explained() {
    let (_, _, pd, cq) = open_all();
    let allowed = [
        (Reset, Reset),
        (Reset, Init),
        (Init, Reset),
        (Init, Init),
        (Init, ReadyToReceive),
        (Init, Error),
        (ReadyToReceive, Reset),
        (ReadyToReceive, ReadyToSend),
        (ReadyToReceive, Error),
        (ReadyToSend, Reset),
        (ReadyToSend, Error),
        (Error, Reset),
        (Error, Error),
    ];
    for transport in Transport::ALL {
        let mut qp = pd.queue_pair(&cq).transport(transport).build().unwrap();
        for from in QueuePairState::ALL {
            for next in QueuePairState::ALL {
                bring(&mut qp, from);
                let result = qp.modify(&step(next, transport));
                if allowed.contains(&(from, next)) {
                    result.unwrap();
                    assert_eq!(qp.state(), next);
                } else {
                    let error = result.unwrap_err().to_string();
                    let start = format!("there is no transition from {from} to {next};");
                    assert!(error.starts_with(&start), "{error}");
                    assert_eq!(qp.state(), from, "unchanged");
                }
            }
        }
    }
}

#[test]
fn a_refused_transition_says_what_is_missing_or_too_much() {
    let (_, _, pd, cq) = open_all();
    let mut qp = pd.queue_pair(&cq).build().unwrap();
    let mut refused = |attributes| qp.modify(&attributes).unwrap_err().to_string();
    assert_eq!(refused(QueuePairAttributes::new()), "no state to go to");
    assert_eq!(
        refused(to(ReadyToSend)),
        "there is no transition from Reset to RTS; from Reset, the next state can be Reset or Init"
    );
    assert_eq!(refused(to(Init)), "the transition from Reset to Init needs pkey");
    assert_eq!(
        refused(to(Init).pkey(1).qkey(2)),
        "the transition from Reset to Init does not take qkey"
    );
    qp.modify(&to(Init).pkey(1)).unwrap();
    let full = step(ReadyToReceive, Transport::Rc);
    let mut refused = |attributes| qp.modify(&attributes).unwrap_err().to_string();
    assert_eq!(
        refused(to(ReadyToReceive).dest_qpn(1)),
        "the transition from Init to RTR needs path_mtu"
    );
    assert_eq!(
        refused(to(ReadyToReceive).dest_qpn(1).path_mtu(256).dest_mac(MacAddress::default())),
        "the transition from Init to RTR needs dest_ip"
    );
    assert_eq!(
        refused(full.path_mtu(1500)),
        "path_mtu is 1500: it must be 256, 512, 1024, 2048 or 4096"
    );
    assert_eq!(
        refused(full.dest_qpn(1 << 24)),
        "dest_qpn is 16777216: it must be a number of 24 bits"
    );
    assert_eq!(
        refused(full.start_psn(1)),
        "the transition from Init to RTR does not take start_psn"
    );
    qp.modify(&full).unwrap();
    let mut refused = |attributes| qp.modify(&attributes).unwrap_err().to_string();
    assert_eq!(refused(to(ReadyToSend)), "the transition from RTR to RTS needs start_psn");
    assert_eq!(
        refused(to(ReadyToSend).start_psn(1 << 24)),
        "start_psn is 16777216: it must be a number of 24 bits"
    );
    qp.modify(&to(ReadyToSend).start_psn(1)).unwrap();
    let mut ud = pd.queue_pair(&cq).transport(Transport::Ud).build().unwrap();
    let error = ud.modify(&to(Init).pkey(1)).unwrap_err().to_string();
    assert_eq!(error, "the transition from Reset to Init needs qkey");
}

#[test]
fn the_card_gets_every_attribute_when_the_queue_pair_is_ready() {
    let (_, card, pd, cq) = open_all();
    let mut qp = pd.queue_pair(&cq).transport(Transport::Ud).qpn(17).build().unwrap();
    for state in [Init, ReadyToReceive] {
        let attributes = step(state, Transport::Ud);
        let tag = VlanTag { id: 7, priority: 3 };
        let tagged = state == ReadyToReceive;
        qp.modify(&if tagged { attributes.vlan(tag) } else { attributes }).unwrap();
        assert_eq!(card.entry::<QueuePairEntry>(QUEUE_PAIRS, qp.index()).state, 0);
    }
    qp.modify(&step(ReadyToSend, Transport::Ud)).unwrap();
    let queue: SendQueueEntry = card.entry(SEND_QUEUES, qp.queue().into());
    assert_eq!((queue.enable, queue.shared, queue.qp), (1, 0, qp.index()));
    assert_eq!(queue.log_blocks, 8);
    let expected = QueuePairEntry {
        pd: queue.pd,
        vlan: 0x6007,
        tagged: 1,
        dest_mac: 0x0200_0000_0009,
        dest_ip: 0x0a00_0009,
        qpn: 17,
        dest_qpn: 0xabcdef,
        qkey: 0x1111,
        pkey: 0xffff,
        transport: 2,
        log_mtu: 12,
        start_psn: 0xfffffe,
        state: 1,
        tos: 0,
        ttl: 64,
        ..Default::default()
    };
    assert_eq!(card.entry::<QueuePairEntry>(QUEUE_PAIRS, qp.index()), expected);
    let (index, number) = (qp.index(), qp.queue().into());
    qp.modify(&to(Error)).unwrap();
    assert_eq!(card.entry::<SendQueueEntry>(SEND_QUEUES, number).enable, 0);
    qp.connect(&peer()).unwrap();
    drop(qp);
    assert_eq!(card.entry::<QueuePairEntry>(QUEUE_PAIRS, index), QueuePairEntry::default());
    assert_eq!(card.entry::<SendQueueEntry>(SEND_QUEUES, number), SendQueueEntry::default());
}

#[test]
fn connect_goes_all_the_way_or_nowhere() {
    let (_, card, pd, cq) = open_all();
    for transport in Transport::ALL {
        let mut qp = pd.queue_pair(&cq).transport(transport).build().unwrap();
        let missing = QueuePairAttributes::new().path_mtu(256);
        let error = qp.connect(&missing).unwrap_err().to_string();
        assert_eq!(error, "the transition from Init to RTR needs dest_qpn");
        assert_eq!(qp.state(), Reset);
        qp.connect(&peer()).unwrap();
        let psn = qp.connect(&peer().start_psn(1 << 24)).unwrap_err().to_string();
        assert_eq!(psn, "start_psn is 16777216: it must be a number of 24 bits");
        assert_eq!(qp.state(), ReadyToSend, "as it was");
        qp.connect(&peer().qkey(5)).unwrap();
        let entry: QueuePairEntry = card.entry(QUEUE_PAIRS, qp.index());
        assert_eq!(entry.pkey, 0xffff);
        assert_eq!(entry.qkey, if transport == Transport::Ud { 5 } else { 0 });
    }
}

#[test]
fn posting_needs_a_queue_pair_that_is_ready() {
    let (_, card, pd, cq) = open_all();
    let mut qp = pd.queue_pair(&cq).build().unwrap();
    for state in [Reset, Init, ReadyToReceive] {
        bring(&mut qp, state);
        let error = qp.post_send(&WorkRequest::new(1)).unwrap_err();
        assert!(matches!(error, PostError::State { state: found } if found == state));
    }
    assert_eq!(
        qp.post_send(&WorkRequest::new(1)).unwrap_err().to_string(),
        "the queue pair is in state RTR: it takes work requests in RTS or Error"
    );
    assert!(card.state().doorbells.is_empty());
}

#[test]
fn numbers_on_the_wire_are_unique_and_have_24_bits() {
    let (context, _, pd, cq) = open_all();
    let given = pd.queue_pair(&cq).qpn(3).build().unwrap();
    let chosen: Vec<_> = (0..3).map(|_| pd.queue_pair(&cq).build().unwrap()).collect();
    assert_eq!(chosen.iter().map(|qp| qp.qpn()).collect::<Vec<_>>(), [2, 4, 5]);
    let refused = |qpn| pd.queue_pair(&cq).qpn(qpn).build().unwrap_err().to_string();
    assert_eq!(refused(3), "queue pair number 0x3 is in use");
    assert_eq!(refused(1 << 24), "qpn is 16777216: it must be a number of 24 bits");
    drop(given);
    pd.queue_pair(&cq).qpn(3).build().unwrap();
    let other = open().0.completion_queue().build().unwrap();
    let error = pd.queue_pair(&other).build().unwrap_err().to_string();
    assert_eq!(error, "the completion queue belongs to another context than the protection domain");
    let size = |blocks| pd.queue_pair(&cq).send_blocks(blocks).build();
    assert_eq!(size(0).unwrap_err().to_string(), "send_blocks is 0: it must be 1 to 65536");
    assert!(size(65536).is_ok());
    assert!(size(65537).is_err());
    let entries = |entries| context.completion_queue().entries(entries).build();
    assert_eq!(entries(0).unwrap_err().to_string(), "entries is 0: it must be 1 to 65536");
    assert_eq!(entries(5).unwrap().capacity(), 8);
    assert!(entries(65537).is_err());
}

#[test]
fn the_cards_queues_are_used_up_and_come_back() {
    let (context, card, pd, cq) = open_all();
    let before = card.state().maps.len();
    let mut qps: Vec<_> =
        (0..4096).map(|_| pd.queue_pair(&cq).send_blocks(1).build().unwrap()).collect();
    let error = pd.queue_pair(&cq).build().unwrap_err().to_string();
    assert_eq!(error, "the card has no free queue pair: all 4096 are in use");
    let error = pd.shared_send_queue(&cq).build().unwrap_err().to_string();
    assert_eq!(error, "the card has no free send queue: all 4096 are in use");
    let mut indices: Vec<u32> = qps.iter().map(|qp| qp.index()).collect();
    indices.sort_unstable();
    assert!(indices.into_iter().eq(0..4096), "every entry of the table is used");
    qps.pop();
    drop(pd.queue_pair(&cq).build().unwrap());
    drop(pd.shared_send_queue(&cq).build().unwrap());
    drop(qps);
    assert_eq!(card.state().maps.len(), before, "every ring was unmapped");
    let cqs: Vec<_> = (0..1023).map(|_| context.completion_queue().build().unwrap()).collect();
    let error = context.completion_queue().build().unwrap_err().to_string();
    assert_eq!(error, "the card has no free completion queue: all 1024 are in use");
    drop(cqs);
    assert_eq!(card.state().maps.len(), before);
}

#[test]
fn what_a_card_that_fails_was_given_is_taken_back() {
    let (context, card, pd, cq) = open_all();
    let before = card.state().maps.len();
    card.state().broken = true;
    assert!(context.completion_queue().build().is_err());
    assert!(pd.shared_send_queue(&cq).build().is_err());
    assert!(pd.allocate(64).is_err());
    card.state().broken = false;
    assert_eq!(card.state().maps.len(), before);
    let cqs: Vec<_> = (0..63).map(|_| context.completion_queue().build().unwrap()).collect();
    let ssqs: Vec<_> = (0..256)
        .map(|_| pd.shared_send_queue(&cq).send_blocks(1).build().expect("a send queue"))
        .collect();
    drop((cqs, ssqs));
}

#[test]
fn a_card_is_set_up_when_opened_and_disabled_with_its_last_user() {
    let card = common::Fake::default();
    let mut options =
        Options::new(MacAddress([0x02, 0x11, 0x22, 0x33, 0x44, 0x55]), [10, 1, 2, 3].into());
    options.max_read = Some(100);
    let error = Context::open(Box::new(card.clone()), options).unwrap_err().to_string();
    assert_eq!(error, "max_read is 100: it must be a power of two from 64 to 4096");
    options.max_read = Some(1024);
    options.merge_threshold = Some(4097);
    let error = Context::open(Box::new(card.clone()), options).unwrap_err().to_string();
    assert_eq!(error, "merge_threshold is 4097: it must be 0 to 4096");
    options.merge_threshold = Some(4096);
    card.clone().write(READ_BALANCE.offset, 256).unwrap();
    let context = Context::open(Box::new(card.clone()), options).unwrap();
    assert_eq!(card.word(MAC_LOW.offset), 0x2233_4455);
    assert_eq!(card.word(MAC_HIGH.offset), 0x0211);
    assert_eq!(card.word(IP.offset), 0x0a01_0203);
    assert_eq!(card.word(MAX_READ.offset), 1024);
    assert_eq!(card.word(MERGE_THRESHOLD.offset), 4096);
    assert_eq!(card.word(READ_BALANCE.offset), 0, "the threshold is the host's");
    assert_eq!(card.word(CONTROL.offset), 1);
    let cq = context.completion_queue().build().unwrap();
    let qp = context.protection_domain().queue_pair(&cq).build().unwrap();
    drop(context);
    drop(cq);
    assert_eq!(card.word(CONTROL.offset), 1, "the queue pair still uses it");
    drop(qp);
    assert_eq!(card.word(CONTROL.offset), 0);
    assert!(card.state().maps.is_empty());
}

#[test]
fn the_optimizer_is_set_while_the_card_is_open() {
    let card = common::Fake::default();
    let options = Options::new(MacAddress([2, 0, 0, 0, 0, 1]), [10, 0, 0, 1].into());
    let context = Context::open(Box::new(card.clone()), options).unwrap();
    context.set_max_read(2048).unwrap();
    card.clone().write(READ_BALANCE.offset, 256).unwrap();
    context.set_merge_threshold(0).unwrap();
    assert_eq!(card.word(READ_BALANCE.offset), 0);
    for bytes in [0, 32, 100, 8192] {
        let error = context.set_max_read(bytes).unwrap_err().to_string();
        let expected = "it must be a power of two from 64 to 4096";
        assert_eq!(error, format!("max_read is {bytes}: {expected}"));
    }
    let error = context.set_merge_threshold(5000).unwrap_err().to_string();
    assert_eq!(error, "merge_threshold is 5000: it must be 0 to 4096");
    assert_eq!(card.word(MAX_READ.offset), 2048);
    assert_eq!(card.word(MERGE_THRESHOLD.offset), 0);
    card.state().broken = true;
    assert!(context.set_max_read(64).is_err());
    assert!(context.set_merge_threshold(64).is_err());
}

#[test]
fn service_and_time_to_live_are_attributes_and_have_limits() {
    let (_, card, pd, cq) = open_all();
    for transport in Transport::ALL {
        let mut qp = pd.queue_pair(&cq).transport(transport).build().unwrap();
        let mut refused =
            |attributes: QueuePairAttributes| qp.connect(&attributes).unwrap_err().to_string();
        assert_eq!(refused(peer().dscp(64)), "dscp is 64: it must be 0 to 63");
        assert_eq!(refused(peer().ecn(4)), "ecn is 4: it must be 0 to 3");
        assert_eq!(refused(peer().ttl(0)), "ttl is 0: it must be 1 to 255");
        for id in [0, 4095] {
            let expected = format!("vlan is {id}: it must be a VLAN of 1 to 4094");
            assert_eq!(refused(peer().vlan(VlanTag { id, priority: 3 })), expected);
        }
        assert_eq!(
            refused(peer().vlan(VlanTag { id: 7, priority: 8 })),
            "vlan is 8: it must be of a priority of 0 to 7"
        );
        qp.connect(&peer().dscp(46).ecn(1).ttl(3)).unwrap();
        let entry: QueuePairEntry = card.entry(QUEUE_PAIRS, qp.index());
        assert_eq!((entry.tos, entry.ttl), (46 << 2 | 1, 3));
        // An attribute that is not given has its default, not its last value.
        qp.connect(&peer()).unwrap();
        let entry: QueuePairEntry = card.entry(QUEUE_PAIRS, qp.index());
        assert_eq!((entry.tos, entry.ttl), (0, 64));
    }
}

/// A resolver that knows one address.
struct One;

impl Resolver for One {
    fn resolve(&self, ip: Ipv4Addr) -> Result<MacAddress, ResolveError> {
        match ip.octets() {
            [10, 0, 0, 7] => Ok(MacAddress([2, 0, 0, 0, 7, 7])),
            _ => Err(ResolveError::NoRoute { ip }),
        }
    }
}

#[test]
fn an_ethernet_address_that_is_left_out_is_resolved_and_one_that_is_given_wins() {
    let (context, card, pd, cq) = open_all();
    context.set_resolver(One);
    let mut qp = pd.queue_pair(&cq).build().unwrap();
    let without = QueuePairAttributes::new().path_mtu(1024).dest_qpn(33).start_psn(0);
    let mac = |qp: &QueuePair| card.entry::<QueuePairEntry>(QUEUE_PAIRS, qp.index()).dest_mac;
    qp.connect(&without.dest_ip([10, 0, 0, 7].into())).unwrap();
    assert_eq!(mac(&qp), 0x0200_0000_0707);
    let error = qp.connect(&without.dest_ip([10, 0, 0, 8].into())).unwrap_err().to_string();
    let text = "dest_mac is not given, and not known: 10.0.0.8: the host has no route to it";
    assert_eq!(error, text);
    assert_eq!(qp.state(), ReadyToSend, "as it was");
    let given = without.dest_mac(MacAddress([2, 0, 0, 0, 0, 1]));
    qp.connect(&given.dest_ip([10, 0, 0, 7].into())).unwrap();
    assert_eq!(mac(&qp), 0x0200_0000_0001);
    // The same transitions, one by one.
    qp.modify(&to(Reset)).unwrap();
    qp.modify(&step(Init, Transport::Rc)).unwrap();
    let ready = to(ReadyToReceive).path_mtu(256).dest_qpn(1);
    let error = qp.modify(&ready.dest_ip([10, 0, 0, 8].into())).unwrap_err().to_string();
    assert_eq!((error.as_str(), qp.state()), (text, Init));
    qp.modify(&ready.dest_ip([10, 0, 0, 7].into())).unwrap();
    qp.modify(&step(ReadyToSend, Transport::Rc)).unwrap();
    assert_eq!(mac(&qp), 0x0200_0000_0707);
    // Without an IPv4 address, nothing can be resolved.
    let error = qp.connect(&without).unwrap_err().to_string();
    assert_eq!(error, "the transition from Init to RTR needs dest_mac");
}
