//! `drdma run` sends the packets that one computes by hand.

mod support;

use std::{fs, os::unix::net::UnixDatagram, time::Duration};

use drdma_tests::{
    expect::{hex, unhex},
    frame::{self, Endpoint, Transport},
};
use serde_json::{Value, json};
use support::Folder;

/// A packet as one writes it down: receiver, opcode, PSN, whether an acknowledgement is asked for,
/// the headers behind the BTH and the payload.
type Packet<'a> = (&'a str, u8, u32, bool, &'a str, String);

const QPS: [(&str, u32, u32); 4] =
    [("red", 17, 33), ("blue", 18, 34), ("green", 19, 35), ("mail", 20, 36)];

/// Buffer `t` holds 00 01 02 ... ff; `b` has the bits 0, 4, 5 and 7 set; `p` holds partition ids. `red` and `blue` are
/// RC, `green` is UC, `mail` is UD; their MTU is 256.
fn job(posts: Value) -> Value {
    let bytes: Vec<u8> = (0..=255).collect();
    let qps: Vec<Value> = QPS
        .iter()
        .zip(["rc", "rc", "uc", "ud"])
        .enumerate()
        .map(|(i, ((name, qpn, dest_qpn), transport))| {
            let mut qp = json!({
                "name": name, "transport": transport, "qpn": qpn, "dest_qpn": dest_qpn,
                "start_psn": if *name == "green" { 0xffffff } else { 100 }, "mtu": 256,
                "dest_mac": format!("02:00:00:00:00:1{i}"), "dest_ip": format!("10.0.0.1{i}"),
            });
            if transport == "ud" {
                qp["qkey"] = json!(0x11111111);
            }
            qp
        })
        .collect();
    json!({
        "buffers": [{"name": "t", "hex": hex(&bytes)}, {"name": "b", "hex": "b1"},
                    {"name": "z", "size": 1024}, {"name": "p", "hex": "00010200010005"}],
        "local": {"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"},
        "qps": qps,
        "posts": posts,
    })
}

fn frame((name, opcode, psn, ack, headers, payload): &Packet) -> Vec<u8> {
    let i = QPS.iter().position(|(other, ..)| other == name).unwrap();
    let (_, qpn, dest_qpn) = QPS[i];
    let (opcode, psn, ack) = (*opcode, *psn, *ack);
    frame::build(
        &Endpoint::of(&json!("02:00:00:00:00:01"), &json!("10.0.0.1")),
        &Endpoint::of(&json!(format!("02:00:00:00:00:1{i}")), &json!(format!("10.0.0.1{i}"))),
        &Transport { qpn, dest_qpn, opcode, ack, psn, service: (0, 64), vlan: None },
        &unhex(&headers.replace(' ', "")),
        &unhex(&payload.replace(' ', "")),
    )
}

/// Runs posts and compares completions and, queue pair by queue pair, packets.
fn claim(posts: Value, completions: &[(u64, &str, u64)], packets: &[Packet]) {
    let run = Folder::new().run(&job(posts));
    let failed = completions.iter().any(|(_, status, _)| *status != "success");
    assert_eq!(run.code, i32::from(failed), "{}", run.stderr);
    assert_eq!(run.stdout.lines().count(), completions.len());
    for (line, (wr_id, status, bytes)) in run.stdout.lines().zip(completions) {
        let mut found: Value = serde_json::from_str(line).unwrap();
        let reason = found.as_object_mut().unwrap().shift_remove("reason");
        assert_eq!(found, json!({"wr_id": wr_id, "status": status, "bytes": bytes}));
        assert_eq!(reason.is_some(), *status != "success", "{line}");
    }
    let frames = run.frames.unwrap();
    for (name, _, dest_qpn) in QPS {
        let expected: Vec<String> =
            packets.iter().filter(|packet| packet.0 == name).map(|p| hex(&frame(p))).collect();
        let found: Vec<String> = frames
            .iter()
            .filter(|frame| frame::dest_qpn(frame) == dest_qpn)
            .map(|frame| hex(frame))
            .collect();
        assert_eq!(found, expected, "packets to {name}");
    }
    assert_eq!(frames.len(), packets.len());
}

/// Hexadecimal of consecutive bytes of buffer `t`.
fn t(start: u8, len: u8) -> String {
    hex(&(start..start + len).collect::<Vec<u8>>())
}

#[test]
fn a_strided_region_sends_one_message_a_period() {
    claim(
        json!([{"verb": "post_send", "qp": "red", "wr_id": 1, "op": "send", "regions": [
            {"type": "strided", "buffer": "t", "offset": 0, "period": 16, "count": 2,
             "pattern": [{"offset": 0, "len": 8}, {"offset": 12, "len": 4}]}]}]),
        &[(1, "success", 24)],
        &[
            ("red", 0x04, 100, true, "", "0001020304050607 0c0d0e0f".into()),
            ("red", 0x04, 101, true, "", "1011121314151617 1c1d1e1f".into()),
        ],
    );
}

#[test]
fn patterns_need_not_be_sorted_and_may_overlap_and_reach_beyond_the_period() {
    claim(
        json!([{"verb": "post_send", "qp": "red", "wr_id": 1, "op": "send",
                "rows_per_message": 3, "regions": [
            {"type": "strided", "buffer": "t", "offset": 1, "period": 2, "count": 3,
             "pattern": [{"offset": 4, "len": 3}, {"offset": 0, "len": 2}]}]}]),
        &[(1, "success", 15)],
        &[("red", 0x04, 100, true, "", "0506070102 0708090304 090a0b0506".into())],
    );
}

#[test]
fn a_bitmap_selects_rows_and_a_write_carries_address_key_and_length() {
    claim(
        json!([{"verb": "post_ssq_send", "wr_id": 2, "op": "write", "row_mask": "element",
                "rows_per_message": 64, "destinations": [
            {"qp": "red", "remote_addr": 4096, "rkey": 7, "regions": [
                {"type": "bitmapped", "bitmap": {"buffer": "b", "offset": 0}, "rows": 8,
                 "columns": [{"buffer": "t", "offset": 0, "width": 4}]}]}]}]),
        &[(2, "success", 16)],
        &[(
            "red",
            0x0a,
            100,
            true,
            "0000000000001000 00000007 00000010",
            "00010203 10111213 14151617 1c1d1e1f".into(),
        )],
    );
}

#[test]
fn several_columns_of_a_selected_row_stand_one_behind_the_other() {
    claim(
        json!([{"verb": "post_send", "qp": "blue", "wr_id": 3, "op": "write", "remote_addr": 16,
                "rkey": 1, "rows_per_message": 3, "regions": [
            {"type": "bitmapped", "bitmap": {"buffer": "b", "offset": 0}, "rows": 7,
             "columns": [{"buffer": "t", "offset": 128, "width": 1},
                         {"buffer": "t", "offset": 1, "width": 2}]}]}]),
        &[(3, "success", 9)],
        &[(
            "blue",
            0x0a,
            100,
            true,
            "0000000000000010 00000001 00000009",
            "80 0102 84 090a 85 0b0c".into(),
        )],
    );
}

#[test]
fn pointers_are_followed_and_every_message_carries_the_immediate_data() {
    claim(
        json!([{"verb": "post_send", "qp": "red", "wr_id": 3, "op": "send_imm", "imm": 5,
                "regions": [
            {"type": "pointer_mapped", "pointers": [["t", 64], ["t", 0]],
             "pattern": [{"offset": 0, "len": 4}]},
            {"type": "contiguous", "buffer": "t", "offset": 8, "len": 100}]}]),
        &[(3, "success", 108)],
        &[
            ("red", 0x05, 100, true, "00000005", "40414243".into()),
            ("red", 0x05, 101, true, "00000005", "00010203".into()),
            ("red", 0x05, 102, true, "00000005", t(8, 100)),
        ],
    );
}

#[test]
fn pointers_may_lead_to_several_buffers() {
    claim(
        json!([{"verb": "post_send", "qp": "red", "wr_id": 3, "op": "send",
                "rows_per_message": 9, "regions": [
            {"type": "pointer_mapped", "pointers": [["t", 254], ["b", 0], ["t", 1]],
             "pattern": [{"offset": 0, "len": 1}]}]}]),
        &[(3, "success", 3)],
        &[("red", 0x04, 100, true, "", "fe b1 01".into())],
    );
}

#[test]
fn a_long_message_is_cut_at_the_mtu_and_sequence_numbers_wrap() {
    let region = json!({"type": "contiguous", "buffer": "z", "offset": 0, "len": 600});
    claim(
        json!([{"verb": "post_send", "qp": "green", "wr_id": 9, "op": "write_imm",
                "imm": 0x01020304, "remote_addr": 0xffff_ffff_ffff_ff00u64, "rkey": 0xaabbccddu32,
                "rows_per_message": 1, "regions": [region, region]}]),
        &[(9, "success", 1200)],
        &[
            (
                "green",
                0x26,
                0xffffff,
                false,
                "ffffffffffffff00 aabbccdd 00000258",
                "00".repeat(256),
            ),
            ("green", 0x27, 0, false, "", "00".repeat(256)),
            ("green", 0x29, 1, false, "01020304", "00".repeat(88)),
            ("green", 0x26, 2, false, "0000000000000158 aabbccdd 00000258", "00".repeat(256)),
            ("green", 0x27, 3, false, "", "00".repeat(256)),
            ("green", 0x29, 4, false, "01020304", "00".repeat(88)),
        ],
    );
}

#[test]
fn datagrams_carry_the_queue_key_and_the_senders_number() {
    claim(
        json!([{"verb": "post_send", "qp": "mail", "wr_id": 1, "op": "send_imm", "imm": 9,
                "rows_per_message": 2, "regions": [
            {"type": "strided", "buffer": "t", "offset": 3, "period": 4, "count": 3,
             "pattern": [{"offset": 0, "len": 1}]}]}]),
        &[(1, "success", 3)],
        &[
            ("mail", 0x65, 100, false, "11111111 00000014 00000009", "03 07".into()),
            ("mail", 0x65, 101, false, "11111111 00000014 00000009", "0b".into()),
        ],
    );
}

#[test]
fn with_the_element_mask_the_regions_advance_together() {
    claim(
        json!([{"verb": "post_send", "qp": "red", "wr_id": 1, "op": "send",
                "row_mask": "element", "regions": [
            {"type": "strided", "buffer": "t", "offset": 0, "period": 8, "count": 1,
             "pattern": [{"offset": 0, "len": 2}, {"offset": 4, "len": 1}]},
            {"type": "strided", "buffer": "t", "offset": 128, "period": 3, "count": 2,
             "pattern": [{"offset": 0, "len": 3}]}]}]),
        &[(1, "success", 9)],
        &[
            ("red", 0x04, 100, true, "", "0001 808182".into()),
            ("red", 0x04, 101, true, "", "04 838485".into()),
        ],
    );
}

#[test]
fn a_shared_send_queue_sends_each_destination_its_own_rows() {
    let bits = |buffer: &str, rows: u32| {
        json!([{"type": "bitmapped", "bitmap": {"buffer": buffer, "offset": 0}, "rows": rows,
                "columns": [{"buffer": "t", "offset": 16, "width": 2}]}])
    };
    claim(
        json!([
            {"verb": "post_ssq_send", "wr_id": 1, "op": "send", "rows_per_message": 3,
             "destinations": [{"qp": "red", "regions": bits("b", 8)},
                              {"qp": "blue", "regions": bits("b", 4)},
                              {"qp": "green", "regions": bits("z", 100)}]},
            {"verb": "post_send", "qp": "red", "wr_id": 2, "op": "send", "regions":
             [{"type": "contiguous", "buffer": "t", "offset": 255, "len": 1}]}]),
        &[(1, "success", 10), (2, "success", 1)],
        &[
            ("red", 0x04, 100, true, "", "1011 1819 1a1b".into()),
            ("red", 0x04, 101, true, "", "1e1f".into()),
            ("blue", 0x04, 100, true, "", "1011".into()),
            ("red", 0x04, 102, true, "", "ff".into()),
        ],
    );
}

#[test]
fn a_partitioned_region_sends_each_row_where_its_id_says() {
    // Rows 0, 3 and 5 are of partition 0, 1 and 4 of partition 1; 2 and 6 have no destination.
    claim(
        json!([
            {"verb": "post_ssq_send", "wr_id": 1, "op": "write", "rows_per_message": 2,
             "partitioned": {"ids": {"buffer": "p", "offset": 0, "width": 1}, "rows": 7,
                             "columns": [{"buffer": "t", "offset": 128, "width": 1},
                                         {"buffer": "t", "offset": 1, "width": 2}]},
             "destinations": [
                {"qp": "red", "partition": 1, "remote_addr": 16, "rkey": 7},
                {"qp": "blue", "partition": 0, "remote_addr": 4096, "rkey": 8},
                {"qp": "green", "partition": 255, "remote_addr": 0, "rkey": 9}]}]),
        &[(1, "success", 15)],
        &[
            (
                "red",
                0x0a,
                100,
                true,
                "0000000000000010 00000007 00000006",
                "81 0304 84 090a".into(),
            ),
            (
                "blue",
                0x0a,
                100,
                true,
                "0000000000001000 00000008 00000006",
                "80 0102 83 0708".into(),
            ),
            ("blue", 0x0a, 101, true, "0000000000001006 00000008 00000003", "85 0b0c".into()),
        ],
    );
}

#[test]
fn ids_of_two_bytes_are_little_endian_wherever_they_lie() {
    // 0x0201, 0x0100 and 0x0500.
    claim(
        json!([
            {"verb": "post_ssq_send", "wr_id": 1, "op": "send_imm", "imm": 5,
             "row_mask": "element",
             "partitioned": {"ids": {"buffer": "p", "offset": 1, "width": 2}, "rows": 3,
                             "columns": [{"buffer": "t", "offset": 32, "width": 4}]},
             "destinations": [{"qp": "mail", "partition": 0x0500},
                              {"qp": "red", "partition": 0x0201}]},
            {"verb": "post_send", "qp": "red", "wr_id": 2, "op": "send", "regions":
             [{"type": "contiguous", "buffer": "t", "offset": 255, "len": 1}]}]),
        &[(1, "success", 8), (2, "success", 1)],
        &[
            ("mail", 0x65, 100, false, "11111111 00000014 00000005", "28292a2b".into()),
            ("red", 0x05, 100, true, "00000005", "20212223".into()),
            ("red", 0x04, 101, true, "", "ff".into()),
        ],
    );
}

#[test]
fn a_partitioned_region_out_of_bounds_halts_its_queue_and_no_queue_pair() {
    let post = |wr_id: u64, width: u32, rows: u32, column: u32| {
        json!({"verb": "post_ssq_send", "wr_id": wr_id, "op": "send", "rows_per_message": 9,
               "partitioned": {"ids": {"buffer": "p", "offset": 0, "width": width}, "rows": rows,
                               "columns": [{"buffer": "t", "offset": column, "width": 1}]},
               "destinations": [{"qp": "red", "partition": 0}]})
    };
    let own = json!({"verb": "post_send", "qp": "red", "wr_id": 9, "op": "send", "regions":
                     [{"type": "contiguous", "buffer": "t", "offset": 255, "len": 1}]});
    let refused = [(1, "local_protection_error", 0), (2, "wr_flush_error", 0), (9, "success", 1)];
    let sent = ("red", 0x04, 100, true, "", "ff".to_owned());
    for post_1 in [post(1, 1, 8, 0), post(1, 2, 4, 0), post(1, 1, 7, 250)] {
        claim(json!([post_1, post(2, 1, 7, 0), own]), &refused, std::slice::from_ref(&sent));
    }
    // One row fewer is inside.
    claim(
        json!([post(1, 1, 7, 249)]),
        &[(1, "success", 3)],
        &[("red", 0x04, 100, true, "", "f9fcfe".into())],
    );
}

#[test]
fn requests_without_rows_send_nothing_and_succeed() {
    claim(
        json!([
            {"verb": "post_send", "qp": "red", "wr_id": 1, "op": "send", "regions": []},
            {"verb": "post_send", "qp": "red", "wr_id": 2, "op": "send", "regions": [
                {"type": "strided", "buffer": "t", "offset": 4096, "period": 1, "count": 0,
                 "pattern": [{"offset": 0, "len": 1}]},
                {"type": "pointer_mapped", "pointers": [], "pattern": [{"offset": 0, "len": 1}]},
                {"type": "bitmapped", "bitmap": {"buffer": "z", "offset": 0}, "rows": 8,
                 "columns": [{"buffer": "t", "offset": 0, "width": 1}]}]}]),
        &[(1, "success", 0), (2, "success", 0)],
        &[],
    );
}

#[test]
fn what_is_out_of_bounds_is_refused_and_what_is_behind_it_is_flushed() {
    let one = |len: u32| json!([{"type": "contiguous", "buffer": "t", "offset": 250, "len": len}]);
    claim(
        json!([
            {"verb": "post_send", "qp": "red", "wr_id": 1, "op": "send", "regions": one(6)},
            {"verb": "post_send", "qp": "red", "wr_id": 2, "op": "send", "regions": one(7)},
            {"verb": "post_send", "qp": "red", "wr_id": 3, "op": "send", "regions": one(6)},
            {"verb": "post_send", "qp": "blue", "wr_id": 4, "op": "send", "regions": one(6)},
            {"verb": "post_ssq_send", "wr_id": 5, "op": "send", "destinations":
             [{"qp": "blue", "regions": one(1)}, {"qp": "red", "regions": one(1)}]}]),
        &[
            (1, "success", 6),
            (2, "local_protection_error", 0),
            (3, "wr_flush_error", 0),
            (4, "success", 6),
            (5, "wr_flush_error", 0),
        ],
        &[
            ("red", 0x04, 100, true, "", "fafbfcfdfeff".into()),
            ("blue", 0x04, 100, true, "", "fafbfcfdfeff".into()),
        ],
    );
}

#[test]
fn unsignaled_posts_are_told_of_only_if_they_fail() {
    let post = |wr_id: u64, qp: &str, len: u32, signaled: bool| {
        json!({"verb": "post_send", "qp": qp, "wr_id": wr_id, "op": "send", "signaled": signaled,
               "regions": [{"type": "contiguous", "buffer": "t", "offset": 250, "len": len}]})
    };
    claim(
        json!([
            post(1, "red", 1, false),
            post(2, "blue", 2, false),
            post(3, "red", 7, false),
            post(4, "red", 1, false),
            post(5, "blue", 3, true),
            post(6, "red", 1, true)
        ]),
        &[
            (3, "local_protection_error", 0),
            (4, "wr_flush_error", 0),
            (5, "success", 3),
            (6, "wr_flush_error", 0),
        ],
        &[
            ("red", 0x04, 100, true, "", "fa".into()),
            ("blue", 0x04, 100, true, "", "fafb".into()),
            ("blue", 0x04, 101, true, "", "fafbfc".into()),
        ],
    );
}

#[test]
fn a_record_outside_its_own_buffer_is_refused_even_if_another_buffer_is_there() {
    claim(
        json!([{"verb": "post_send", "qp": "red", "wr_id": 1, "op": "send", "regions": [
            {"type": "pointer_mapped", "pointers": [["z", 0], ["t", 4096]],
             "pattern": [{"offset": 0, "len": 1}]}]}]),
        &[(1, "local_protection_error", 0)],
        &[],
    );
}

#[test]
fn a_datagram_longer_than_the_mtu_is_an_error_and_nothing_of_the_request_is_sent() {
    claim(
        json!([{"verb": "post_send", "qp": "mail", "wr_id": 1, "op": "send", "regions": [
            {"type": "contiguous", "buffer": "z", "offset": 0, "len": 256},
            {"type": "contiguous", "buffer": "z", "offset": 0, "len": 257}]}]),
        &[(1, "local_length_error", 0)],
        &[],
    );
}

#[test]
fn a_message_of_more_than_two_gigabytes_is_an_error() {
    // 2^31 bytes would be the limit: 2^23 periods of 256 bytes, and one more.
    let mut job = job(json!([{"verb": "post_send", "qp": "red", "wr_id": 1, "op": "send",
            "rows_per_message": u32::MAX, "regions": [
        {"type": "strided", "buffer": "large", "offset": 0, "period": 1, "count": (1 << 23) + 1,
         "pattern": [{"offset": 0, "len": 256}]}]}]));
    let buffers = job["buffers"].as_array_mut().unwrap();
    buffers.push(json!({"name": "large", "size": (1 << 23) + 256}));
    let run = Folder::new().run(&job);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let completion: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(completion["status"], "local_length_error");
    assert_eq!(
        completion["reason"],
        "posts[0]: a message of up to 4294967295 rows has 2147483904 B; 2147483648 B are the limit of any \
         message"
    );
    assert_eq!(run.frames.unwrap().len(), 0);
}

#[test]
fn regions_with_different_numbers_of_elements_are_an_error_with_the_element_mask() {
    claim(
        json!([{"verb": "post_send", "qp": "red", "wr_id": 1, "op": "send",
                "row_mask": "element", "regions": [
            {"type": "contiguous", "buffer": "t", "offset": 0, "len": 2},
            {"type": "strided", "buffer": "t", "offset": 0, "period": 3, "count": 2,
             "pattern": [{"offset": 0, "len": 3}]}]}]),
        &[(1, "local_qp_operation_error", 0)],
        &[],
    );
}

/// Two posts to `mail`, whose peer is at the other end of a wire.
fn mail(folder: &Folder) {
    let posts: Vec<Value> = [0, 8]
        .iter()
        .map(|offset| {
            json!({"verb": "post_send", "qp": "mail", "wr_id": offset, "op": "send", "regions": [
                {"type": "contiguous", "buffer": "t", "offset": offset, "len": 8}]})
        })
        .collect();
    fs::write(folder.file("job.json"), job(json!(posts)).to_string()).unwrap();
}

#[test]
fn frames_leave_by_the_wire_and_are_those_of_the_capture() {
    let folder = Folder::new();
    mail(&folder);
    let other_end = UnixDatagram::bind(folder.file("b")).unwrap();
    other_end.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let args =
        ["run", "job.json", "--device", "soft:", "--pcap", "out.pcap", "--wire", "dgram:a,b"];
    let output = folder.drdma(&args);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let captured = drdma_tests::capture::frames(&fs::read(folder.file("out.pcap")).unwrap());
    assert_eq!(captured.len(), 2);
    for frame in captured {
        let mut buffer = vec![0; 9000];
        let bytes = other_end.recv(&mut buffer).unwrap();
        assert_eq!(hex(&buffer[..bytes]), hex(&frame));
    }
    assert!(!folder.file("a").exists(), "the socket goes with the program");
}

#[test]
fn a_wire_that_leads_nowhere_or_is_none_is_an_error() {
    let folder = Folder::new();
    mail(&folder);
    for (wire, code, text) in [
        ("dgram:a,b", 1, "error: 2 frames of the card were lost: nobody is at the other end"),
        ("dgram:no/where,b", 1, "error: the wire cannot be plugged in: "),
        ("dgram:a", 2, "error: invalid value 'dgram:a' for '--wire <WIRE>': `dgram:a` is no wire"),
        ("none", 2, "error: --wire takes dgram:LOCAL,REMOTE, tap:NAME or udp:LOCAL,REMOTE here"),
        ("pcap:x", 2, "error: --wire takes dgram:LOCAL,REMOTE, tap:NAME or udp:LOCAL,REMOTE here"),
    ] {
        let output = folder.drdma(&["run", "job.json", "--device", "soft:", "--wire", wire]);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{wire}: {stderr}");
        assert!(stderr.starts_with(text), "{wire}: {stderr}");
    }
}

#[test]
fn a_wire_whose_other_end_takes_no_frames_fails_in_the_end() {
    let folder = Folder::new();
    let region = json!({"type": "contiguous", "buffer": "t", "offset": 0, "len": 8});
    let posts: Vec<Value> = (0..1000)
        .map(|i| {
            json!({"verb": "post_send", "qp": "mail", "wr_id": i, "op": "send",
                   "regions": [region]})
        })
        .collect();
    fs::write(folder.file("job.json"), job(json!(posts)).to_string()).unwrap();
    let _full_some_day = UnixDatagram::bind(folder.file("b")).unwrap();
    let output = folder.drdma(&["run", "job.json", "--device", "soft:", "--wire", "dgram:a,b"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.starts_with("error: the wire failed: the other end of the wire takes no"),
        "{stderr}"
    );
}
