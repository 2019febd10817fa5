//! Each way in which a frame can be wrong, or another's, for itself.

use drdma_abi::roce::{cnp, operation};
use drdma_semantics::icrc;

use super::frames::{
    ALIKE, Fate, IDLE, RC, Sent, UC, UD, check, check_ack, congested, fate, fix_checksum, fix_icrc,
    frame, notified,
};
use super::{Pace, Wire, library};

/// Returns the fate of one frame, sent between two right ones.
fn becomes(wire: &mut Wire<'_>, sent: &Sent) -> Fate {
    let good = Sent::good(frame(operation::SEND_ONLY, None, &[], &[1; 100]));
    let outcome = wire.pass(&[good.clone(), sent.clone(), good.clone()]);
    let (packets, host) = (outcome.packets.len(), outcome.host.len());
    check(&outcome.packets[0], &good.bytes);
    check(&outcome.packets[packets - 1], &good.bytes);
    assert_eq!(outcome.congested, Vec::from_iter(congested(sent)));
    let told = (outcome.acks.len(), outcome.notified.len());
    match (packets, host, outcome.dropped, outcome.left, told) {
        (2, 1, 0, left @ 0..=1, (0, 0)) => {
            assert_eq!(outcome.host, [(sent.bytes.clone(), sent.user)]);
            [Fate::Host, Fate::Left][left as usize]
        }
        (2, 0, 1, 0, (0, 0)) => Fate::Dropped,
        (2, 0, 0, 0, (1, 0)) => {
            check_ack(outcome.acks[0].0, &sent.bytes);
            Fate::Ack
        }
        (2, 0, 0, 0, (0, 1)) => {
            assert_eq!(Some(outcome.notified[0]), notified(sent));
            Fate::Notification
        }
        (3, 0, 0, 0, (0, 0)) => {
            check(&outcome.packets[1], &sent.bytes);
            Fate::Packet
        }
        counts => panic!("{counts:?}"),
    }
}

/// A WRITE with a change, and the sums made right behind it.
fn changed(vlan: Option<u16>, change: impl FnOnce(&mut Vec<u8>)) -> Sent {
    let mut bytes = frame(operation::WRITE_ONLY, vlan, &[3; 16], &[4; 90]);
    change(&mut bytes);
    fix_checksum(&mut bytes);
    fix_icrc(&mut bytes);
    Sent::good(bytes)
}

/// A WRITE with a change, and with the checksums of the frame before the change.
fn spoiled(change: impl FnOnce(&mut Vec<u8>)) -> Sent {
    let mut bytes = frame(operation::WRITE_ONLY, None, &[3; 16], &[4; 90]);
    change(&mut bytes);
    Sent::good(bytes)
}

/// Like [`spoiled`], with a right ICRC, lengths that are `more` bytes larger, and `behind` bytes behind the frame.
fn claims(more: i16, behind: usize) -> Sent {
    let mut sent = spoiled(|f| resize(f, more));
    fix_checksum(&mut sent.bytes);
    let crc = icrc::of_frame(&sent.bytes).to_le_bytes();
    let at = sent.bytes.len() - crc.len();
    sent.bytes[at..].copy_from_slice(&crc);
    sent.bytes.extend(vec![0; behind]);
    sent
}

fn add(frame: &mut [u8], at: usize, by: i16) {
    let value = u16::from_be_bytes([frame[at], frame[at + 1]]).wrapping_add_signed(by);
    frame[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Makes the IPv4 packet shorter or longer, in both headers.
fn resize(frame: &mut [u8], by: i16) {
    add(frame, 16, by);
    add(frame, 38, by);
}

#[test]
fn each_damage_drops_the_frame() {
    let mut wire = Wire::new(&library(), 1, Pace::FAST);
    let bad = Sent { user: 1, ..changed(None, |_| {}) };
    let cases: Vec<(&str, Sent)> = vec![
        ("marked bad by the MAC", bad),
        ("a bit of the payload", spoiled(|f| f[80] ^= 0x10)),
        ("the last bit that is covered", spoiled(|f| *f.iter_mut().rev().nth(4).unwrap() ^= 0x80)),
        ("a bit of the ICRC", spoiled(|f| *f.last_mut().unwrap() ^= 1)),
        ("a bit of the BTH", spoiled(|f| f[52] ^= 1)),
        ("an ACK with a bit too many", {
            let mut bytes = frame(operation::ACKNOWLEDGE, None, &[1, 2, 3, 4], &[]);
            bytes[56] ^= 1;
            Sent::good(bytes)
        }),
        ("an ACK of another partition", changed_ack(None, |f| f[45] ^= 1)),
        (
            "an ACK of two limited members",
            changed_ack(Some(5), |f| {
                f[51..54].copy_from_slice(&ALIKE.1.to_be_bytes()[1..]);
                f[48] = 0x7f;
            }),
        ),
        ("an ACK of another VLAN", changed_ack(Some(6), |_| {})),
        ("IPv4 checksum", spoiled(|f| f[24] ^= 1)),
        ("time to live without its checksum", spoiled(|f| f[22] ^= 1)),
        ("a lost beat", spoiled(|f| f.truncate(128))),
        ("a lost byte", spoiled(|f| f.truncate(f.len() - 1))),
        ("a lost second beat", spoiled(|f| f.truncate(64))),
        ("UDP length", changed(None, |f| add(f, 38, 4))),
        ("IPv4 length beyond the frame", changed(None, |f| resize(f, 4))),
        ("lengths of no whole words", changed(None, |f| resize(f, -2))),
        ("lengths without an ICRC", changed(None, |f| resize(f, -112))),
        ("no room for the BTH", changed(None, |f| resize(f, -120))),
        ("IPv4 length 0", changed(None, |f| f[16..18].fill(0))),
        ("UDP length 0", changed(None, |f| f[38..40].fill(0))),
        ("transport version", changed(None, |f| f[43] |= 1)),
        ("more padding than payload", changed(None, |f| resize(f, -92))),
        ("no room for the RETH", changed(None, |f| resize(f, -96))),
        ("an ICRC where the frame ends, its length beyond", claims(64, 0)),
        ("an ICRC where whole words end, its length beyond", claims(2, 2)),
        ("with a tag: a bit of the payload", {
            let mut sent = changed(Some(7), |_| {});
            sent.bytes[90] ^= 4;
            sent
        }),
    ];
    for (what, sent) in cases {
        assert_eq!(fate(&sent), Fate::Dropped, "{what}");
        assert_eq!(becomes(&mut wire, &sent), Fate::Dropped, "{what}");
    }
}

/// Bytes that the bus carries behind a frame's last one do not count, even if they are those that were cut off.
#[test]
fn bytes_that_are_not_there_do_not_complete_a_frame() {
    let mut wire = Wire::new(&library(), 1, Pace::FAST);
    let whole = changed(None, |_| {});
    for cut in [1, 2, 4, 20] {
        let mut sent = whole.clone();
        wire.behind = sent.bytes.split_off(sent.bytes.len() - cut);
        assert_eq!(becomes(&mut wire, &sent), Fate::Dropped, "{cut} B less");
    }
}

/// An ACK with a change, and the sums made right behind it.
fn changed_ack(vlan: Option<u16>, change: impl FnOnce(&mut Vec<u8>)) -> Sent {
    let mut bytes = frame(operation::ACKNOWLEDGE, vlan, &[0x1f, 2, 3, 4], &[]);
    change(&mut bytes);
    fix_icrc(&mut bytes);
    Sent::good(bytes)
}

#[test]
fn acknowledgements_are_told_and_leave_nothing() {
    let mut wire = Wire::new(&library(), 1, Pace::FAST);
    let alike = changed_ack(Some(5), |f| {
        f[51..54].copy_from_slice(&ALIKE.1.to_be_bytes()[1..]);
    });
    for sent in [changed_ack(None, |_| {}), changed_ack(None, |f| f[54] = 0x60), alike] {
        assert_eq!(fate(&sent), Fate::Ack);
        assert_eq!(becomes(&mut wire, &sent), Fate::Ack);
    }
    // More than the store has words: each gives its own back.
    let sent = changed_ack(None, |_| {});
    let outcome = wire.pass(&vec![sent; 5000]);
    assert_eq!((outcome.acks.len(), outcome.overrun), (5000, 0));
}

/// A congestion notification (IBTA 1.4 annex A17.9.3) for a queue pair, with a change and the sums made right behind
/// it.
fn notification(to: (u64, u32), change: impl FnOnce(&mut Vec<u8>)) -> Sent {
    let mut bytes = frame(cnp::OPCODE, None, &[], &[0; cnp::PAYLOAD]);
    bytes[46] = cnp::BECN;
    bytes[47..50].copy_from_slice(&to.1.to_be_bytes()[1..]);
    change(&mut bytes);
    fix_checksum(&mut bytes);
    fix_icrc(&mut bytes);
    Sent::good(bytes)
}

#[test]
fn congestion_notifications_are_for_connections_and_leave_nothing() {
    let mut wire = Wire::new(&library(), 1, Pace::FAST);
    // A mark of congestion on a notification itself is not reported.
    let marked = notification(RC, |f| f[15] |= 3);
    for sent in [notification(RC, |_| {}), notification(UC, |_| {}), marked.clone()] {
        assert_eq!(fate(&sent), Fate::Notification);
        assert_eq!(becomes(&mut wire, &sent), Fate::Notification);
    }
    let dropped = [
        ("of another partition", notification(RC, |f| f[45] ^= 1)),
        ("of another VLAN", notification(ALIKE, |_| {})),
        ("with a wrong ICRC", {
            let mut sent = notification(RC, |_| {});
            *sent.bytes.last_mut().unwrap() ^= 1;
            sent
        }),
        ("marked bad by the MAC", Sent { user: 1, ..notification(RC, |_| {}) }),
        ("of another version", notification(RC, |f| f[43] |= 1)),
    ];
    for (what, sent) in dropped {
        assert_eq!(fate(&sent), Fate::Dropped, "{what}");
        assert_eq!(becomes(&mut wire, &sent), Fate::Dropped, "{what}");
    }
    let left = [
        ("for datagrams", notification(UD, |_| {})),
        ("for a queue pair that takes nothing", notification(IDLE, |_| {})),
        ("for nobody", notification(RC, |f| f[49] ^= 1)),
        ("from another sender", notification(RC, |f| f[29] ^= 1)),
        ("with another opcode", notification(RC, |f| f[42] = 0x80)),
    ];
    for (what, sent) in left {
        assert_eq!(fate(&sent), Fate::Left, "{what}");
        assert_eq!(becomes(&mut wire, &sent), Fate::Left, "{what}");
    }
    // More than the store has words: each gives its own back.
    let outcome = wire.pass(&vec![marked; 5000]);
    assert_eq!((outcome.notified.len(), outcome.overrun), (5000, 0));
}

#[test]
fn packets_that_met_congestion_are_told_with_their_connections() {
    let mut wire = Wire::new(&library(), 1, Pace::FAST);
    let marked = |ecn: u8, opcode: u8, change: fn(&mut Vec<u8>)| {
        let mut bytes = frame(opcode, None, &[0; 8], &[5; 70]);
        bytes[15] = bytes[15] & !3 | ecn;
        change(&mut bytes);
        fix_checksum(&mut bytes);
        fix_icrc(&mut bytes);
        Sent::good(bytes)
    };
    let cases = [
        (marked(3, operation::SEND_ONLY, |_| {}), Some(RC.0)),
        (marked(3, 0x20 | operation::SEND_ONLY, |_| {}), Some(UC.0)),
        (marked(3, operation::ACKNOWLEDGE, |_| {}), Some(RC.0)),
        (marked(3, operation::READ_RESPONSE_ONLY, |_| {}), Some(RC.0)),
        (marked(3, 0x60 | operation::SEND_ONLY, |_| {}), None),
        (marked(3, operation::SEND_ONLY, |f| f[45] ^= 1), None),
        (marked(2, operation::SEND_ONLY, |_| {}), None),
        (marked(1, operation::SEND_ONLY, |_| {}), None),
        (marked(0, operation::SEND_ONLY, |_| {}), None),
    ];
    for (sent, qp) in cases {
        assert_eq!(congested(&sent), qp);
        assert_eq!(becomes(&mut wire, &sent), fate(&sent));
    }
}

/// Frames to the card's addresses that are for no queue pair are left to the host.
#[test]
fn frames_for_nobody_are_left_to_the_host_and_counted() {
    let mut wire = Wire::new(&library(), 1, Pace::FAST);
    let cases: Vec<(&str, Sent)> = vec![
        ("another number", changed(None, |f| f[49] ^= 1)),
        ("a number with the low bits of another", changed(None, |f| f[47] ^= 1)),
        (
            "a queue pair that takes nothing",
            changed(None, |f| {
                f[47..50].copy_from_slice(&IDLE.1.to_be_bytes()[1..]);
            }),
        ),
        ("another sender", changed(None, |f| f[29] ^= 1)),
        ("another transport", changed(None, |f| f[42] = 0x2a)),
        ("no transport", changed(None, |f| f[42] = 0x8a)),
        ("XRC", changed(None, |f| f[42] = 0xaa)),
        ("nothing behind the UDP header", spoiled(|f| f.truncate(42))),
        ("no whole BTH", spoiled(|f| f.truncate(53))),
        ("an ACK for nobody", changed_ack(None, |f| f[49] ^= 1)),
        ("marked bad", Sent { user: 1, ..changed(None, |f| f[49] ^= 1) }),
    ];
    for (what, sent) in cases {
        assert_eq!(fate(&sent), Fate::Left, "{what}");
        assert_eq!(becomes(&mut wire, &sent), Fate::Left, "{what}");
    }
}

#[test]
fn frames_of_others_are_the_hosts() {
    let mut wire = Wire::new(&library(), 1, Pace::FAST);
    let mut arp = vec![0xff; 6];
    arp.extend([2, 0, 0, 0, 0, 1, 8, 6]);
    arp.resize(60, 0);
    let cases: Vec<(&str, Sent)> = vec![
        ("ARP", Sent { bytes: arp, user: 0x55 }),
        ("another MAC address", changed(None, |f| f[5] ^= 1)),
        ("another IPv4 address", changed(None, |f| f[33] ^= 1)),
        ("another EtherType", changed(None, |f| f[13] = 6)),
        ("IPv6", changed(None, |f| f[12..15].copy_from_slice(&[0x86, 0xdd, 0x60]))),
        ("another version", changed(None, |f| f[14] = 0x65)),
        ("options", changed(None, |f| f[14] = 0x46)),
        ("a first fragment", changed(None, |f| f[20] |= 0x20)),
        ("a later fragment", changed(None, |f| f[21] = 1)),
        ("a far fragment", changed(None, |f| f[20] |= 0x10)),
        ("the reserved flag", changed(None, |f| f[20] |= 0x80)),
        ("TCP", changed(None, |f| f[23] = 6)),
        ("another port", changed(None, |f| f[37] ^= 1)),
        ("two tags", {
            let mut sent = changed(Some(3), |_| {});
            sent.bytes.splice(12..12, [0x81, 0, 0, 9]);
            sent
        }),
        ("no whole UDP header", spoiled(|f| f.truncate(41))),
        ("no whole UDP header behind a tag", {
            let mut sent = changed(Some(3), |_| {});
            sent.bytes.truncate(45);
            sent
        }),
        ("a byte", Sent { bytes: vec![1], user: 0 }),
        ("another's, marked bad", {
            let mut sent = changed(None, |f| f[37] ^= 1);
            sent.user = 1;
            sent
        }),
    ];
    for (what, sent) in cases {
        assert_eq!(fate(&sent), Fate::Host, "{what}");
        assert_eq!(becomes(&mut wire, &sent), Fate::Host, "{what}");
    }
}

#[test]
fn right_frames_of_every_opcode_and_length_become_packets() {
    let mut wire = Wire::new(&library(), 1, Pace::FAST);
    let mut sent = Vec::new();
    for opcode in 0..=255_u8 {
        for vlan in [None, Some(0xf123)] {
            let extended: Vec<u8> = (1..=40).map(|k| k ^ opcode).collect();
            sent.push(Sent::good(frame(opcode, vlan, &extended, &[opcode; 21])));
        }
    }
    for length in (0..300).chain(4080..4110).chain([8000, 60_000]) {
        let payload: Vec<u8> = (0..length).map(|k| (k * 7) as u8).collect();
        let vlan = (length % 3 == 0).then_some(5);
        sent.push(Sent::good(frame(operation::SEND_ONLY, vlan, &[], &payload)));
    }
    // Bytes behind the IPv4 packet are not examined, however many they are.
    for more in [2, 60, 64, 100, 5000, 140_000] {
        let mut bytes = frame(operation::SEND_ONLY, None, &[], &[8; 64]);
        bytes.extend(vec![0x77; more]);
        sent.push(Sent::good(bytes));
    }
    // Fields that routers may change do not matter.
    for (at, value) in [(15, 0xff), (15, 3), (22, 9), (40, 1), (41, 2), (46, 0xff)] {
        let mut bytes = frame(operation::SEND_ONLY, None, &[], &[8; 64]);
        bytes[at] ^= value;
        fix_checksum(&mut bytes);
        sent.push(Sent::good(bytes));
    }
    for chunk in sent.chunks(8) {
        let packets: Vec<_> = chunk.iter().filter(|sent| fate(sent) == Fate::Packet).collect();
        let outcome = wire.pass(chunk);
        assert_eq!(outcome.packets.len(), packets.len());
        let of = |fate_| chunk.iter().filter(|sent| fate(sent) == fate_).count();
        assert_eq!(outcome.dropped as usize, of(Fate::Dropped));
        assert_eq!((outcome.left as usize, outcome.host.len()), (of(Fate::Left), of(Fate::Left)));
        assert_eq!(outcome.acks.len(), of(Fate::Ack));
        assert_eq!(outcome.notified.len(), of(Fate::Notification));
        for (taken, sent) in outcome.packets.iter().zip(packets) {
            check(taken, &sent.bytes);
        }
    }
    let packets = sent.iter().filter(|sent| fate(sent) == Fate::Packet).count();
    // Three of eight transports are known, and acknowledgements are no packets, nor is a congestion notification.
    assert_eq!(sent.len() - packets, 5 * 32 * 2 + 2);
}

/// The block does not hang at frames that are longer than IPv4 allows, or that have no end of their own.
#[test]
fn what_is_longer_than_anything_is_dropped_and_the_next_one_is_right() {
    let mut wire = Wire::new(&library(), 1, Pace::FAST);
    let endless = changed(None, |f| {
        resize(f, 30_000);
        f.resize(29_000, 1);
    });
    assert_eq!(becomes(&mut wire, &endless), Fate::Dropped);
    // A beat's number does not begin anew.
    let endless = changed(None, |f| {
        f[16..18].copy_from_slice(&0xfffc_u16.to_be_bytes());
        f[38..40].copy_from_slice(&0xffe8_u16.to_be_bytes());
        f.resize(64 * 2100, 1);
    });
    assert_eq!(becomes(&mut wire, &endless), fate(&endless));
    let longest = frame(operation::SEND_ONLY, Some(4), &[], &vec![6; 65_488]);
    assert_eq!(becomes(&mut wire, &Sent::good(longest)), Fate::Packet);
}
