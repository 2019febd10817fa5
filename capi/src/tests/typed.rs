//! Typed columns, chains and partitions from keys, as C says them.

use super::*;

fn values(values_type: drdma_values_type, width: u32) -> drdma_values {
    drdma_values {
        values_type: values_type as u32,
        width,
        first_bit: 0,
        value_width: 0,
        count: 0,
        data: ptr::null(),
        offset: 0,
        views: ptr::null(),
    }
}

fn column(mr: *const drdma_mr, offset: u64, values: &drdma_values) -> drdma_column {
    drdma_column { mr, offset, width: 0, values }
}

/// Sends one region from the first node to the second; gives what arrives, or the errno.
fn sent(nodes: &[Node; 2], region: drdma_region) -> Result<Vec<u8>, (i32, String)> {
    let mut target = [0xee; 64];
    let into = nodes[1].memory(&mut target, LOCAL);
    let pairs = connected(nodes, drdma_qp_type::DRDMA_QPT_RC, ptr::null_mut());
    let places = [super::region(into, 0, 64)];
    let regions = [region];
    // SAFETY: everything comes from here.
    let code = unsafe {
        assert_eq!(drdma_post_recv(pairs[1], &raw const *receives(&places), ptr::null_mut()), 0);
        let wr = request(1, code::DRDMA_WR_SEND, &regions);
        let wr = drdma_send_wr { rows_per_message: 64, ..wr };
        drdma_post_send(pairs[0], &raw const wr, ptr::null_mut())
    };
    let error = last_error();
    run(nodes);
    let length = nodes[1].polled().first().map_or(0, |wc| wc.byte_len);
    let statuses: Vec<_> = nodes[0].polled().iter().map(|wc| wc.status).collect();
    destroy(pairs, &[into]);
    match code {
        0 => {
            assert_eq!(statuses, [0]);
            Ok(target[..length as usize].to_vec())
        }
        code => Err((code, error)),
    }
}

fn receives(places: &[drdma_region]) -> Box<drdma_recv_wr> {
    Box::new(receive(1, places))
}

#[test]
fn columns_of_every_kind_and_chains_arrive() {
    use drdma_region_type as region_type;
    use drdma_values_type as kind;
    let nodes = [Node::new(1), Node::new(2)];
    let words = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    // 0: three offsets, 12: text, 17: the bitmap from bit 7 on, 19: flags, 20: two views, 52: two indices,
    // 54: a dictionary, 58: the text of a view.
    let mut bytes = [words(&[0, 2, 5]), b"abcde".to_vec(), vec![0b1000_0000, 0b1, 0b10]].concat();
    bytes.extend([words(&[1]), b"v".to_vec(), vec![0; 11], words(&[13, 0, 0, 0])].concat());
    bytes.extend(b"\x01\0XXYYa long string");
    let mr = nodes[0].memory(&mut bytes, LOCAL);
    let buffer = drdma_view_buffer { mr, offset: 58, length: 13 };
    // SAFETY: everything comes from here.
    let views = unsafe { drdma_create_view_table(nodes[0].pd, &raw const buffer, 1) };
    assert!(!views.is_null(), "{}", last_error());
    let text = drdma_values { data: mr, offset: 12, ..values(kind::DRDMA_VALUES_OFFSETS, 4) };
    let flags = values(kind::DRDMA_VALUES_BITS, 0);
    let seen = drdma_values { views, ..values(kind::DRDMA_VALUES_VIEWS, 0) };
    let index = drdma_values {
        data: mr,
        offset: 54,
        value_width: 2,
        count: 2,
        ..values(kind::DRDMA_VALUES_DICTIONARY, 1)
    };
    let columns = [
        column(mr, 0, &text),
        column(mr, 20, &seen),
        column(mr, 52, &index),
        column(mr, 19, &flags),
    ];
    let bitmapped = || drdma_region {
        region_type: region_type::DRDMA_REGION_BITMAPPED as u32,
        num_columns: 4,
        columns: columns.as_ptr(),
        count: 2,
        first_bit: 7,
        ..region(mr, 17, 0)
    };
    let rows = b"\x02\0\0\0ab\x01\0\0\0vYY\0\x03\0\0\0cde\x0d\0\0\0a long stringXX\x01";
    assert_eq!(sent(&nodes, bitmapped()).unwrap(), rows);
    let wide = drdma_region { first_bit: 8, ..bitmapped() };
    let (code, text) = sent(&nodes, wide).unwrap_err();
    assert_eq!(
        (code, text.contains("first bit of the bitmap is 8")),
        (libc::EINVAL, true),
        "{text}"
    );
    // SAFETY: it came from here.
    assert_eq!(unsafe { drdma_destroy_view_table(views) }, 0);

    // Two records of 16 bytes; the second one leads to the first.
    let mut records = [[0_u64; 2]; 2];
    (records[0][1], records[1][1]) = (0x41, 0x42);
    let bytes = records.as_mut_ptr().cast::<u8>();
    // SAFETY: so many bytes, which nobody else uses.
    let of = unsafe { std::slice::from_raw_parts_mut(bytes, 32) };
    let target = nodes[0].memory(of, LOCAL);
    // SAFETY: it came from here; the card reads later.
    unsafe { bytes.add(16).cast::<u64>().write(drdma_mr_iova(target)) };
    // SAFETY: it came from here.
    let mut heads = unsafe { drdma_mr_iova(target) + 16 }.to_le_bytes();
    let pointers = nodes[0].memory(&mut heads, LOCAL);
    let extent = drdma_extent { offset: 8, length: 1, values: ptr::null() };
    let chase = |limit| drdma_chase { next: 0, end: 0, limit };
    let two = chase(2);
    let chains = |chase: &drdma_chase| drdma_region {
        region_type: region_type::DRDMA_REGION_POINTER_MAPPED as u32,
        num_extents: 1,
        extents: &raw const extent,
        count: 1,
        target,
        chase,
        ..region(pointers, 0, 0)
    };
    assert_eq!(sent(&nodes, chains(&two)).unwrap(), b"BA");
    let none = chase(0);
    let (code, text) = sent(&nodes, chains(&none)).unwrap_err();
    assert_eq!(code, libc::EINVAL);
    assert!(text.contains("number of records of a chain is 0, 1 to 16777216"), "{text}");
    // SAFETY: they came from here, and everything was polled.
    unsafe { [pointers, target, mr].iter().for_each(|mr| assert_eq!(drdma_dereg_mr(*mr), 0)) };
}

#[test]
fn rows_are_partitioned_by_keys() {
    let nodes = [Node::new(1), Node::new(2)];
    let mut target = [0xee; 64];
    let into = nodes[1].memory(&mut target, LOCAL);
    // Longs that are in the partitions 69, 5 and 193 of 200, and their names.
    let mut bytes: Vec<u8> = [1_i64, 0, -1].iter().flat_map(|long| long.to_le_bytes()).collect();
    bytes.extend(b"abc");
    let mr = nodes[0].memory(&mut bytes, LOCAL);
    let pairs = connected(&nodes, drdma_qp_type::DRDMA_QPT_RC, ptr::null_mut());
    let key = |key_type: u32| drdma_key {
        mr,
        offset: 0,
        key_type,
        validity_bit: 0,
        values: values(drdma_values_type::DRDMA_VALUES_FIXED, 8),
        validity: ptr::null(),
        validity_offset: 0,
    };
    let by = |function: u32, group: u32, keys: &drdma_key| drdma_partition_by {
        function,
        partitions: 200,
        seed: 42,
        group,
        num_keys: 1,
        keys,
        splitters: ptr::null(),
        splitters_offset: 0,
    };
    let names = drdma_column { mr, offset: 24, width: 1, values: ptr::null() };
    let post = |ssq: *mut drdma_ssq, by: &drdma_partition_by, partition: u16| {
        let table = drdma_partitioned_region {
            ids: ptr::null(),
            offset: 0,
            id_width: 0,
            num_columns: 1,
            rows: 3,
            columns: &raw const names,
            by,
        };
        let to = drdma_destination {
            qp: pairs[0],
            remote_addr: 0,
            rkey: 0,
            partition,
            num_regions: 0,
            regions: ptr::null(),
            message_layout: 0,
            num_remote_columns: 0,
            remote_columns: ptr::null(),
        };
        let wr = drdma_ssq_wr {
            wr_id: 1,
            opcode: code::DRDMA_WR_SEND as u32,
            row_mask: 0,
            rows_per_message: 8,
            imm_data: 0,
            partitioned: &raw const table,
            num_destinations: 1,
            destinations: &raw const to,
            send_flags: 0,
        };
        // SAFETY: everything comes from here.
        let code = unsafe { drdma_post_ssq_send(ssq, &raw const wr) };
        (code, if code == 0 { String::new() } else { last_error() })
    };
    let places = [region(into, 0, 64)];
    // SAFETY: everything comes from here.
    unsafe {
        let ssq = drdma_create_ssq(nodes[0].pd, nodes[0].cq, 0);
        assert!(!ssq.is_null(), "{}", last_error());
        let integer = key(drdma_key_type::DRDMA_KEY_INTEGER as u32);
        assert_eq!(drdma_post_recv(pairs[1], &raw const *receives(&places), ptr::null_mut()), 0);
        // Partitions 0 to 99 and 100 to 199.
        assert_eq!(post(ssq, &by(0, 100, &integer), 0), (0, String::new()));
        for (wrong, said) in [
            (by(2, 100, &integer), "function is 2"),
            (by(0, 0, &integer), "group is 0"),
            (by(1, 100, &integer), "splitters is NULL"),
            (by(0, 1, &key(6)), "key_type is 6"),
            (by(0, 1, &key(drdma_key_type::DRDMA_KEY_UNSIGNED as u32)), "of type Unsigned"),
        ] {
            let (code, text) = post(ssq, &wrong, 0);
            assert_eq!((code, text.contains(said)), (libc::EINVAL, true), "{text}");
        }
        let (code, text) = post(ssq, &by(0, 100, &integer), 2);
        assert_eq!((code, text.contains("partition 2")), (libc::EINVAL, true), "{text}");
        run(&nodes);
        assert_eq!(nodes[1].polled()[0].byte_len, 2);
        assert_eq!(nodes[0].polled().len(), 1);
        assert_eq!(drdma_destroy_ssq(ssq), 0);
    }
    destroy(pairs, &[into, mr]);
    assert_eq!(target[..3], *b"ab\xee");
}

/// Two columns of four rows, written to two places of the peer's by the queue pair's own queue and by a shared one.
#[test]
fn a_write_by_columns_goes_to_the_columns_own_places() {
    let nodes = [Node::new(1), Node::new(2)];
    let mut bytes = *b"abcdAABBCCDD\x0d";
    let mut there = [b'.'; 32];
    {
        let mr = nodes[0].memory(&mut bytes, LOCAL);
        let address = there.as_mut_ptr().cast::<c_void>();
        // SAFETY: the bytes are there until the end.
        let peers = unsafe { drdma_reg_mr(nodes[1].pd, address, there.len(), 15) };
        let pairs = connected(&nodes, drdma_qp_type::DRDMA_QPT_RC, ptr::null_mut());
        let columns = [(0, 1), (4, 2)].map(|(offset, width)| drdma_column {
            mr,
            offset,
            width,
            values: ptr::null(),
        });
        let rows = drdma_region {
            region_type: drdma_region_type::DRDMA_REGION_BITMAPPED as u32,
            num_columns: 2,
            columns: columns.as_ptr(),
            count: 4,
            ..super::region(mr, 12, 0)
        };
        let regions = [rows];
        // SAFETY: everything comes from here.
        unsafe {
            let (addr, rkey) = (drdma_mr_iova(peers), drdma_mr_rkey(peers));
            let at = |offset: u64| drdma_remote_column { remote_addr: addr + offset, rkey };
            let (own, shared) = ([at(0), at(8)], [at(16), at(24)]);
            let wr = drdma_send_wr {
                rows_per_message: 2,
                message_layout: drdma_message_layout::DRDMA_LAYOUT_COLUMNS as u32,
                num_remote_columns: 2,
                remote_columns: own.as_ptr(),
                ..request(1, code::DRDMA_WR_RDMA_WRITE, &regions)
            };
            send(pairs[0], &wr);
            let to = drdma_destination {
                qp: pairs[0],
                remote_addr: 0,
                rkey: 0,
                partition: 0,
                num_regions: 1,
                regions: regions.as_ptr(),
                message_layout: 1,
                num_remote_columns: 2,
                remote_columns: shared.as_ptr(),
            };
            let all = drdma_ssq_wr {
                wr_id: 2,
                opcode: code::DRDMA_WR_RDMA_WRITE as u32,
                row_mask: 0,
                rows_per_message: 4,
                imm_data: 0,
                partitioned: ptr::null(),
                num_destinations: 1,
                destinations: &raw const to,
                send_flags: 0,
            };
            let ssq = drdma_create_ssq(nodes[0].pd, nodes[0].cq, 0);
            assert_eq!(drdma_post_ssq_send(ssq, &raw const all), 0, "{}", last_error());
            run(&nodes);
            let found: Vec<_> =
                nodes[0].polled().iter().map(|wc| (wc.wr_id, wc.status, wc.byte_len)).collect();
            assert_eq!(found, [(1, 0, 9), (2, 0, 9)]);
            for (wr, said) in [
                (
                    drdma_send_wr { message_layout: 2, ..wr },
                    "message_layout is 2: it must be 0 or 1",
                ),
                (
                    drdma_send_wr { message_layout: 0, ..wr },
                    "message_layout is 0: it must be 1 with 2 remote_columns",
                ),
                (
                    drdma_send_wr { opcode: code::DRDMA_WR_SEND as u32, ..wr },
                    "remote columns in what is no WRITE",
                ),
                (drdma_send_wr { remote_columns: ptr::null(), ..wr }, "remote_columns is NULL"),
            ] {
                assert_eq!(drdma_post_send(pairs[0], &raw const wr, ptr::null_mut()), libc::EINVAL);
                assert_eq!(last_error(), said);
            }
            drdma_destroy_ssq(ssq);
        }
        destroy(pairs, &[mr, peers]);
    }
    assert_eq!(&there, b"acd.....AACCDD..acd.....AACCDD..");
}
