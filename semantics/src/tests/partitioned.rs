use super::*;
use crate::{
    memory::Segments,
    region::RowMask,
    request::{Destination, Request, encode},
    rows::{Fragment, Limit, Units},
    testing,
};
use drdma_abi::work_request::{
    Destination as DestinationHead, GRANULE, MessageLayout, Opcode, WqeHeader, flags,
};
use proptest::prelude::*;

fn columns(widths: &[u32]) -> Vec<Column> {
    let column =
        |(i, width): (usize, &u32)| Column { base: 1000 * (i as u64 + 1), width: *width, lkey: 1 };
    widths.iter().enumerate().map(column).collect()
}

fn walk(region: &Partitioned, partition: u16, memory: &Segments) -> Vec<Vec<(u64, u32)>> {
    let mut units = Units::of_partition(region, partition, Limit::default());
    let (mut unit, mut all) = (Vec::<Fragment>::new(), Vec::new());
    while units.next(memory, &mut unit).unwrap() {
        all.push(unit.iter().map(|fragment| (fragment.addr, fragment.len)).collect());
    }
    all
}

#[test]
fn each_row_goes_to_the_partition_whose_id_it_carries() {
    let memory = Segments::new().with(50, [0, 2, 0, 1, 9, 2]);
    let region = Partitioned {
        ids: 50,
        width: 1,
        rows: 6,
        lkey: 1,
        columns: columns(&[4, 1]),
        entries: vec![],
        by: None,
    };
    assert_eq!(region.row_len(), 5);
    let row = |r: u64| vec![(1000 + 4 * r, 4), (2000 + r, 1)];
    assert_eq!(walk(&region, 0, &memory), [row(0), row(2)]);
    assert_eq!(walk(&region, 1, &memory), [row(3)]);
    assert_eq!(walk(&region, 2, &memory), [row(1), row(5)]);
    assert!(walk(&region, 3, &memory).is_empty());
    let counts = region.count(&memory, None).unwrap();
    assert_eq!((counts.len(), counts.iter().sum::<u64>()), (256, 6));
    assert_eq!([counts[0], counts[1], counts[2], counts[9]], [2, 1, 2, 1]);
}

#[test]
fn ids_of_two_bytes_are_little_endian_and_may_lie_at_odd_addresses() {
    let memory = Segments::new().with(51, [1, 0, 0, 1, 1, 1, 0, 1]);
    let region = Partitioned {
        ids: 51,
        width: 2,
        rows: 4,
        lkey: 1,
        columns: columns(&[1]),
        entries: vec![],
        by: None,
    };
    assert_eq!(walk(&region, 1, &memory).concat(), [(1000, 1)]);
    assert_eq!(walk(&region, 0x100, &memory).concat(), [(1001, 1), (1003, 1)]);
    assert_eq!(walk(&region, 0x101, &memory).concat(), [(1002, 1)]);
    let counts = region.count(&memory, None).unwrap();
    assert_eq!((counts.len(), counts[0x100]), (1 << 16, 2));
}

#[test]
fn ids_of_several_chunks_are_read_to_their_end() {
    for width in 1..=2 {
        let mut ids = vec![7u8; 3 * CHUNK + 6];
        let rows = ids.len() / width;
        let ours = [0, CHUNK / width - 1, CHUNK / width, rows - 1];
        for row in ours {
            ids[width * row..width * (row + 1)].fill(5);
        }
        let memory = Segments::new().with(99, ids);
        let region = Partitioned {
            entries: vec![],
            by: None,
            ids: 99,
            width: width as u64,
            rows: rows as u32,
            lkey: 1,
            columns: columns(&[1]),
        };
        let id = if width == 1 { 5 } else { 0x505 };
        assert_eq!(walk(&region, id, &memory).concat(), ours.map(|row| (1000 + row as u64, 1)));
        assert_eq!(region.count(&memory, None).unwrap()[usize::from(id)], 4);
    }
}

#[test]
fn unreadable_ids_fault() {
    let memory = Segments::new().with(99, [0; 9]);
    let region = Partitioned {
        ids: 99,
        width: 2,
        rows: 5,
        lkey: 1,
        columns: columns(&[1]),
        entries: vec![],
        by: None,
    };
    let fault = Fault { addr: 99, len: 10 };
    assert_eq!(region.count(&memory, None), Err(fault));
    assert_eq!(
        Units::of_partition(&region, 0, Limit::default()).next(&memory, &mut Vec::new()),
        Err(fault)
    );
    let none = Partitioned { rows: 0, ..region };
    assert_eq!(none.count(&Segments::new(), None).unwrap(), vec![0; 1 << 16]);
    assert!(walk(&none, 0, &Segments::new()).is_empty());
}

/// The layout of the module documentation of `drdma_abi::work_request`, granule by granule.
#[test]
fn the_region_stands_once_in_front_of_the_destinations() {
    let region = Partitioned {
        ids: 50,
        width: 2,
        rows: 6,
        lkey: 9,
        columns: columns(&[4, 1, 8]),
        entries: vec![],
        by: None,
    };
    let to = |qp, partition| Destination {
        qp,
        remote_addr: 0x77,
        rkey: 8,
        partition,
        layout: MessageLayout::Rows,
        remote_columns: vec![],
        regions: vec![],
    };
    let request = Request {
        wr_id: 1,
        opcode: Opcode::Write,
        imm: 0,
        row_mask: RowMask::Period,
        rows_per_message: 2,
        signaled: true,
        fetch: None,
        inline: None,
        partitioned: Some(region.clone()),
        destinations: vec![to(3, 300), to(4, 0)],
    };
    let entry = encode(&request, 0);
    let head = WqeHeader::decode(&entry);
    assert_eq!((head.flags, head.granules), (flags::PARTITIONED, 2 + 5 + 4));
    let (read, rest) = Partitioned::decode(&entry[WqeHeader::SIZE..]).unwrap();
    assert_eq!(read, region);
    for (i, expected) in [(3, 300), (4, 0)].into_iter().enumerate() {
        let found = DestinationHead::decode(&rest[2 * GRANULE * i..]);
        assert_eq!((found.qp, found.partition), expected);
        assert_eq!((found.regions, found.types, found.remote_addr), (0, 0, 0x77));
    }
}

#[test]
fn the_shape_is_that_of_a_region_with_ids_of_one_or_two_bytes() {
    let good = Partitioned {
        ids: 50,
        width: 2,
        rows: 6,
        lkey: 9,
        columns: columns(&[4]),
        entries: vec![],
        by: None,
    };
    let decoded = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = Vec::new();
        good.encode(&mut bytes);
        change(&mut bytes);
        Partitioned::decode(&bytes).map(|(region, _)| region)
    };
    assert_eq!(decoded(&|_| ()).as_ref(), Ok(&good));
    assert_eq!(decoded(&|b| b[16] = 1), Ok(Partitioned { width: 1, ..good.clone() }));
    assert_eq!(decoded(&|b| b[16] = 0), Err(ShapeError::IdWidth(0)));
    assert_eq!(decoded(&|b| b[16] = 3), Err(ShapeError::IdWidth(3)));
    assert_eq!(decoded(&|b| b[20] = 1), Err(ShapeError::IdWidth((1 << 32) + 2)));
    assert_eq!(decoded(&|b| b[24] = 1), Err(ShapeError::NotZero("target_lkey", NAME)));
    assert_eq!(decoded(&|b| b[30] = 1), Err(ShapeError::NotZero("flags", NAME)));
    assert_eq!(decoded(&|b| b[28] = 0), Err(ShapeError::Elements(0)));
    assert_eq!(decoded(&|b| b[28] = 17), Err(ShapeError::Elements(17)));
    assert_eq!(decoded(&|b| b[40] = 0), Err(ShapeError::EmptyElement(0)));
    assert_eq!(decoded(&|b| b.truncate(32)), Err(ShapeError::Truncated));
}

proptest! {
    #[test]
    fn partitions_hold_the_rows_that_the_semantics_say(
        region in testing::partitioned(),
        pick in any::<prop::sample::Index>(),
    ) {
        let bytes = testing::memory();
        let memory = Segments::new().with(testing::BASE, bytes.clone());
        let mut ids = testing::ids(&region, &bytes);
        ids.push(3);
        let partition = ids[pick.index(ids.len())];
        let expected = testing::partition(&region, partition, &bytes);
        let counts = region.count(&memory, None).unwrap();
        prop_assert_eq!(counts[usize::from(partition)], expected.len() as u64);
        let rows: Vec<Vec<u8>> = walk(&region, partition, &memory)
            .iter()
            .map(|unit| {
                unit.iter()
                    .flat_map(|(addr, len)| {
                        let start = (addr - testing::BASE) as usize;
                        bytes[start..start + *len as usize].to_vec()
                    })
                    .collect()
            })
            .collect();
        prop_assert_eq!(rows, expected);
    }
}
