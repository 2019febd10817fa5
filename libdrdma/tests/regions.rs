//! Regions are checked when they are built, and errors name the values.

mod common;

use common::open_all;
use libdrdma::{
    Bitmapped, Column, Contiguous, Extent, MemoryRegion, PointerMapped, Region, RegionError,
    Strided,
    optimizer::{Fragment, Lane},
};

fn memory() -> (libdrdma::ProtectionDomain, MemoryRegion) {
    let (_, _, pd, _) = open_all();
    let memory = pd.allocate_shared(65536).unwrap();
    (pd, memory)
}

fn refused(region: Result<Region, RegionError>) -> String {
    region.map(|_| ()).expect_err("a refused region").to_string()
}

#[test]
fn a_strided_region_outside_its_memory_names_byte_and_period() {
    let (_, m) = memory();
    let region = Strided::new(&m).period(5001).count(16).extent(0, 8).extent(10000, 5);
    assert_eq!(
        refused(region.build()),
        "strided region: byte 70012 is outside the memory region of 65536 B (period 12 of 16)"
    );
    let region = Strided::new(&m).offset(40000).period(5003).count(16).extent(30016, 8);
    assert_eq!(
        refused(region.build()),
        "strided region: byte 70016 is outside the memory region of 65536 B (period 0 of 16)"
    );
}

#[test]
fn a_strided_region_may_end_with_the_last_byte() {
    let (_, m) = memory();
    let region = |len| Strided::new(&m).offset(1).period(4096).count(16).extent(4000, len).build();
    assert!(region(95).is_ok());
    assert_eq!(
        refused(region(96)),
        "strided region: byte 65536 is outside the memory region of 65536 B (period 15 of 16)"
    );
}

#[test]
fn the_first_period_outside_is_named_whichever_extent_it_is() {
    let (_, m) = memory();
    let region = Strided::new(&m).period(10000).count(100).extent(0, 1).extent(20000, 1);
    assert_eq!(
        refused(region.build()),
        "strided region: byte 70000 is outside the memory region of 65536 B (period 5 of 100)"
    );
}

#[test]
fn no_arithmetic_overflows() {
    let (_, m) = memory();
    let region = Strided::new(&m).period(u64::MAX).count(u32::MAX.into()).extent(0, 1);
    assert_eq!(
        refused(region.build()),
        format!(
            "strided region: byte {} is outside the memory region of 65536 B (period 1 of {})",
            u64::MAX,
            u32::MAX
        )
    );
    let region = Strided::new(&m).offset(u64::MAX).period(1).count(1).extent(u64::MAX, 1);
    assert!(refused(region.build()).contains(&format!("byte {}", 2 * u128::from(u64::MAX))));
    assert!(Contiguous::new(&m).offset(u64::MAX).len(1).build().is_err());
    assert!(Contiguous::new(&m).offset(1).len(u32::MAX.into()).build().is_err());
    assert!(Bitmapped::new(&m).offset(u64::MAX).rows(1).column(&m, 0, 1).build().is_err());
    assert!(Bitmapped::new(&m).rows(8).column(&m, u64::MAX, 1).build().is_err());
    assert!(PointerMapped::new(&m, &m).offset(u64::MAX).count(1).extent(0, 1).build().is_err());
}

#[test]
fn a_region_of_no_rows_covers_nothing() {
    let (_, m) = memory();
    assert!(Strided::new(&m).offset(u64::MAX).period(1).extent(u64::MAX, 1).build().is_ok());
    assert!(Bitmapped::new(&m).offset(70000).column(&m, 70000, 4).build().is_ok());
    assert!(PointerMapped::new(&m, &m).offset(70000).extent(0, 70000).build().is_ok());
}

#[test]
fn zeros_are_refused_and_named() {
    let (_, m) = memory();
    assert_eq!(refused(Contiguous::new(&m).len(0).build()), "contiguous region: length is 0");
    assert_eq!(
        refused(Contiguous::new(&m).offset(65536).build()),
        "contiguous region: length is 0"
    );
    assert_eq!(
        refused(Strided::new(&m).count(1).extent(0, 1).build()),
        "strided region: period is 0"
    );
    assert_eq!(
        refused(Strided::new(&m).period(8).extent(0, 1).extent(4, 0).build()),
        "strided region: length of extent 1 is 0"
    );
    assert_eq!(
        refused(Bitmapped::new(&m).column(&m, 0, 0).build()),
        "bitmapped region: width of column 0 is 0"
    );
    assert_eq!(
        refused(PointerMapped::new(&m, &m).extent(0, 0).build()),
        "pointer-mapped region: length of extent 0 is 0"
    );
}

#[test]
fn one_to_sixteen_elements_are_possible() {
    let (_, m) = memory();
    let strided = |n| (0..n).fold(Strided::new(&m).period(1).count(1), |r, i| r.extent(i, 1));
    assert_eq!(refused(strided(0).build()), "strided region: 0 extents, 1 to 16 are possible");
    assert_eq!(strided(16).build().unwrap().descriptor_len(), 18 * 16);
    assert_eq!(refused(strided(17).build()), "strided region: 17 extents, 1 to 16 are possible");
    let bitmapped = |n| (0..n).fold(Bitmapped::new(&m), |r, i| r.column(&m, i, 1));
    assert_eq!(refused(bitmapped(0).build()), "bitmapped region: 0 columns, 1 to 16 are possible");
    assert!(bitmapped(16).build().is_ok());
    assert_eq!(
        refused(bitmapped(18).build()),
        "bitmapped region: 18 columns, 1 to 16 are possible"
    );
    let mapped = |n| (0..n).fold(PointerMapped::new(&m, &m), |r, i| r.extent(i, 1));
    assert!(refused(mapped(0).build()).contains("0 extents"));
    assert!(mapped(16).build().is_ok());
    assert!(refused(mapped(17).build()).contains("17 extents"));
}

#[test]
fn values_beyond_32_bits_are_refused() {
    let (_, m) = memory();
    let large = 1 << 32;
    assert_eq!(
        refused(Contiguous::new(&m).len(large).build()),
        "contiguous region: length is 4294967296, more than 4294967295"
    );
    assert_eq!(
        refused(Strided::new(&m).period(1).count(large).extent(0, 1).build()),
        "strided region: count is 4294967296, more than 4294967295"
    );
    assert!(refused(Strided::new(&m).period(1).extent(0, large).build()).contains("extent 0"));
    assert!(refused(Bitmapped::new(&m).rows(large).column(&m, 0, 1).build()).contains("rows"));
    assert!(refused(Bitmapped::new(&m).column(&m, 0, large).build()).contains("column 0"));
    let mapped = PointerMapped::new(&m, &m).count(large).extent(0, 1);
    assert!(refused(mapped.build()).contains("count"));
}

#[test]
fn a_contiguous_region_outside_its_memory_names_its_bytes() {
    let (_, m) = memory();
    assert!(Contiguous::new(&m).offset(65535).len(1).build().is_ok());
    assert_eq!(
        refused(Contiguous::new(&m).offset(65000).len(537).build()),
        "contiguous region: byte 65536 is outside the memory region of 65536 B (bytes 65000..+537)"
    );
}

#[test]
fn bitmap_and_columns_are_checked_to_their_last_row() {
    let (pd, m) = memory();
    let bits = pd.allocate(3).unwrap();
    let region =
        |rows, offset| Bitmapped::new(&bits).offset(1).rows(rows).column(&m, offset, 4).build();
    assert!(region(16, 65536 - 64).is_ok());
    assert_eq!(
        refused(region(17, 0)),
        "bitmapped region: byte 3 is outside the memory region of 3 B (bitmap)"
    );
    assert_eq!(
        refused(region(16, 65536 - 63)),
        "bitmapped region: byte 65536 is outside the memory region of 65536 B (column 0)"
    );
}

#[test]
fn fetch_rows_are_checked_to_their_last_row() {
    let (pd, m) = memory();
    let bits = pd.allocate(3).unwrap();
    let region = |rows, offset| {
        Bitmapped::new(&m).fetch_rows(&bits, offset).rows(rows).column(&m, 0, 4).build()
    };
    assert_eq!(region(16, 1).unwrap().descriptor_len(), 3 * 16);
    assert!(region(24, 0).is_ok());
    assert!(region(0, u64::MAX).is_ok(), "none of no rows");
    assert_eq!(
        refused(region(17, 1)),
        "bitmapped region: byte 3 is outside the memory region of 3 B (fetch rows)"
    );
    assert!(region(1, u64::MAX).is_err());
}

#[test]
fn the_pointer_array_is_checked_and_the_records_length() {
    let (pd, m) = memory();
    let pointers = pd.allocate(24).unwrap();
    let region = |count, len| {
        PointerMapped::new(&pointers, &m).offset(8).count(count).extent(5, len).build()
    };
    assert!(region(2, 65536).is_ok());
    assert_eq!(
        refused(region(3, 1)),
        "pointer-mapped region: byte 24 is outside the memory region of 24 B (pointers)"
    );
    let pointer = PointerMapped::new(&pointers, &m).count(1).extent(0, 1);
    assert!(pointer.clone().offset(16).build().is_ok());
    assert!(pointer.offset(17).build().is_err());
    assert_eq!(
        refused(region(1, 65537)),
        "pointer-mapped region: byte 65536 is outside the memory region of 65536 B (extent 0)"
    );
}

#[test]
fn one_region_stays_in_one_protection_domain() {
    let (context, _, pd, _) = open_all();
    let ours = pd.allocate(64).unwrap();
    let theirs = context.protection_domain().allocate(64).unwrap();
    assert_eq!(
        refused(Bitmapped::new(&ours).rows(8).column(&ours, 0, 1).column(&theirs, 0, 1).build()),
        "bitmapped region: column 1 is in another protection domain"
    );
    assert_eq!(
        refused(Bitmapped::new(&ours).fetch_rows(&theirs, 0).rows(8).column(&ours, 0, 1).build()),
        "bitmapped region: fetch rows is in another protection domain"
    );
    assert_eq!(
        refused(PointerMapped::new(&ours, &theirs).count(1).extent(0, 1).build()),
        "pointer-mapped region: target is in another protection domain"
    );
}

#[test]
fn unchecked_regions_are_only_limited_in_their_elements() {
    let extents = [Extent { offset: u64::MAX, len: 0 }; 17];
    let columns = [Column { addr: 1, width: 0, lkey: 2 }; 17];
    assert!(Region::unchecked_strided(u64::MAX, 1, 0, 9, &extents[..16]).is_ok());
    assert!(Region::unchecked_bitmapped(1, 2, 3, &columns[..16]).is_ok());
    assert!(Region::unchecked_pointer_mapped(1, 2, 3, 4, &[]).is_ok());
    assert!(refused(Region::unchecked_strided(0, 1, 0, 9, &extents)).contains("17 extents"));
    assert!(refused(Region::unchecked_bitmapped(1, 2, 3, &columns)).contains("17 columns"));
    let mapped = Region::unchecked_pointer_mapped(1, 2, 3, 4, &extents);
    assert!(refused(mapped).contains("17 extents"));
}

/// Returns a region's fragments as addresses relative to the memory's start, and lengths.
fn fragments(region: &Region, m: &MemoryRegion) -> Vec<(u64, u64)> {
    let relative = |f: Fragment| (f.addr - m.addr(), f.len);
    region.fragments(&[m]).unwrap().map(relative).collect()
}

#[test]
fn the_fragments_of_a_region_are_what_its_rows_are_gathered_from() {
    let (_, m) = memory();
    let region = Contiguous::new(&m).offset(3).len(5000).build().unwrap();
    assert_eq!(fragments(&region, &m), [(3, 5000)]);

    let region = Strided::new(&m).offset(8).period(16).count(2).extent(12, 4).extent(0, 8);
    let expected = [(20, 4), (8, 8), (36, 4), (24, 8)];
    assert_eq!(fragments(&region.build().unwrap(), &m), expected);

    m.store_at(7, &[0b0000_1010, 0b0000_0110]);
    let region = Bitmapped::new(&m).offset(7).rows(10).column(&m, 100, 4).column(&m, 200, 1);
    let expected = [(104, 4), (201, 1), (112, 4), (203, 1), (136, 4), (209, 1)];
    assert_eq!(fragments(&region.build().unwrap(), &m), expected);

    m.store_at(64, &[m.addr() + 900, m.addr() + 300].map(u64::to_le_bytes).concat());
    let region = PointerMapped::new(&m, &m).offset(64).count(2).extent(0, 2).extent(10, 6);
    let expected = [(900, 2), (910, 6), (300, 2), (310, 6)];
    assert_eq!(fragments(&region.build().unwrap(), &m), expected);
}

#[test]
fn the_lanes_of_a_region_are_what_all_rows_have_equally_far_apart() {
    let (_, m) = memory();
    let lane = |offset, len, step| Lane { addr: m.addr() + offset, len, step };
    let region = Strided::new(&m).offset(8).period(16).count(2).extent(12, 4).extent(0, 8);
    assert_eq!(region.build().unwrap().lanes(), Some(vec![lane(20, 4, 16), lane(8, 8, 16)]));

    let region = Bitmapped::new(&m).offset(7).rows(10).column(&m, 100, 4).column(&m, 200, 1);
    let columns = Some(vec![lane(100, 4, 4), lane(200, 1, 1)]);
    assert_eq!(region.build().unwrap().lanes(), columns);
    let region = Bitmapped::new(&m).offset(7).rows(10).column(&m, 100, 4).column(&m, 200, 1);
    assert_eq!(region.fetch_rows(&m, 24).build().unwrap().lanes(), columns);

    let contiguous = Contiguous::new(&m).len(64).build().unwrap();
    let pointers = PointerMapped::new(&m, &m).count(1).extent(0, 4).build().unwrap();
    assert_eq!((contiguous.lanes(), pointers.lanes()), (None, None));
}

#[test]
fn a_region_without_rows_has_no_fragments() {
    let (_, m) = memory();
    m.store_at(0, &[0; 8]);
    let strided = Strided::new(&m).period(1).count(0).extent(0, 1).build().unwrap();
    let bitmapped = Bitmapped::new(&m).rows(60).column(&m, 0, 4).build().unwrap();
    for region in [strided, bitmapped] {
        assert_eq!(fragments(&region, &m), []);
    }
    // Memory that is not read need not be given.
    let region = Bitmapped::new(&m).rows(0).column(&m, 0, 4).build().unwrap();
    assert_eq!(region.fragments(&[]).unwrap().count(), 0);
    let region = Region::unchecked_strided(0, 0, 1, u32::MAX, &[]).unwrap();
    assert_eq!(region.fragments(&[]).unwrap().count(), 0);
}

#[test]
fn fragments_need_the_memory_of_bitmap_and_pointers() {
    let (pd, m) = memory();
    let other = pd.allocate(65536).unwrap();
    let region = Bitmapped::new(&m).offset(16).rows(8).column(&m, 0, 4).build().unwrap();
    assert!(region.fragments(&[&other, &m]).is_ok());
    assert_eq!(
        region.fragments(&[&other]).unwrap_err().to_string(),
        format!("bitmapped region: the memory of the bitmap at {:#x} was not given", m.addr() + 16)
    );
    let region = PointerMapped::new(&m, &m).count(1).extent(0, 4).build().unwrap();
    assert_eq!(
        region.fragments(&[]).unwrap_err().to_string(),
        format!(
            "pointer-mapped region: the memory of the pointers at {:#x} was not given",
            m.addr()
        )
    );
    // The last pointer is outside.
    let end = m.addr() + 65536 - 8;
    let region = |count| Region::unchecked_pointer_mapped(end, m.lkey(), count, 0, &[]).unwrap();
    assert!(region(1).fragments(&[&m]).is_ok());
    assert!(region(2).fragments(&[&m]).is_err());
}
