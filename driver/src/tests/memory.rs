use super::*;

/// Rows that ascend.
fn ascending(rows: &[u32]) -> Ascending<'_> {
    Ascending::new(rows).unwrap()
}

#[test]
fn bytes_come_back_whatever_their_alignment() {
    let memory = DmaMemory::new(64).unwrap();
    for offset in 0..17 {
        for len in 0..33 {
            let bytes: Vec<u8> = (0..len).map(|i| (offset * 37 + i + 1) as u8).collect();
            memory.write(0, &[0xee; 64]);
            memory.write(offset, &bytes);
            let mut all = [0; 64];
            memory.read(0, &mut all);
            assert_eq!(all[offset..offset + len], bytes);
            assert!(all[..offset].iter().chain(&all[offset + len..]).all(|b| *b == 0xee));
            let mut back = vec![0; len];
            memory.read(offset, &mut back);
            assert_eq!(back, bytes);
        }
    }
}

#[test]
fn values_are_copied_as_one_by_one() {
    let memory = DmaMemory::new(PAGE).unwrap();
    let all: Vec<u8> = (0..PAGE).map(|i| (i * 37 / 5) as u8).collect();
    let rows = [3, 4, 9, 10];
    for width in 1..20 {
        for (offset, step) in [(0, width), (8, 24), (5, 20), (4, 2 * width)] {
            let (pitch, count) = (width + offset % 3, rows.len());
            memory.write(0, &all);
            let mut out = vec![0xee; (count - 1) * pitch + width];
            let mut right = out.clone();
            for (k, row) in rows.iter().enumerate() {
                let at = offset + (*row - rows[0]) as usize * step;
                right[k * pitch..][..width].copy_from_slice(&all[at..at + width]);
            }
            assert!(memory.read_values(offset, (step, width), ascending(&rows), &mut out, pitch));
            assert_eq!(out, right, "{width} B at {offset}, {step} B apart");

            assert!(memory.write_values(offset, (width, count), &out, pitch));
            let mut right = all.clone();
            for k in 0..count {
                let at = offset + k * width;
                right[at..at + width].copy_from_slice(&out[k * pitch..][..width]);
            }
            let mut written = vec![0; PAGE];
            memory.read(0, &mut written);
            assert_eq!(written, right, "{width} B at {offset}");
        }
    }
}

#[test]
#[should_panic(expected = "they do not fit")]
fn values_are_not_read_behind_the_end() {
    let memory = DmaMemory::new(64).unwrap();
    memory.read_values(0, (8, 8), ascending(&[0, 1]), &mut [0; 23], 16);
}

#[test]
#[should_panic(expected = "2 values")]
fn values_are_not_written_from_behind_the_end() {
    let memory = DmaMemory::new(64).unwrap();
    memory.write_values(0, (8, 2), &[0; 23], usize::MAX);
}

#[test]
fn memory_that_is_soon_written_stays_as_it_is_whatever_is_said_of_it() {
    let memory = of_vector(8, &[1, 2, 3, 4], true);
    for (offset, len) in [(0, 64), (8, 4), (9, 0), (100, 7), (usize::MAX, 1), (3, usize::MAX)] {
        memory.prefetch_for_write(offset, len);
    }
    let mut out = [0; 4];
    memory.read(8, &mut out);
    assert_eq!(out, [1, 2, 3, 4]);
}

#[test]
fn values_that_are_not_all_usable_are_not_copied_at_all() {
    let memory = of_vector(8, &[1, 2, 3, 4, 5, 6, 7, 8], true);
    let mut out = [0; 8];
    for (offset, step, rows) in [(8, 4, [0, 2]), (4, 4, [0, 1]), (8, usize::MAX, [0, 2])] {
        let rows = ascending(&rows);
        assert!(!memory.read_values(offset, (step, 4), rows, &mut out, 4), "{offset} {step}");
    }
    assert_eq!(out, [0; 8]);
    assert!(memory.read_values(8, (4, 4), ascending(&[7, 8]), &mut out, 4));
    assert_eq!(out, [1, 2, 3, 4, 5, 6, 7, 8]);
    for (offset, width, count) in [(4, 4, 2), (12, 4, 2), (8, usize::MAX, 2)] {
        assert!(!memory.write_values(offset, (width, count), &[9; 8], 4), "{offset} {width}");
    }
    let read_only = of_vector(8, &[1, 2, 3, 4], false);
    assert!(!read_only.write_values(8, (4, 1), &[9; 4], 4));
    memory.read(8, &mut out);
    assert_eq!(out, [1, 2, 3, 4, 5, 6, 7, 8]);
    let none = memory.read_values(0, (0, 4), ascending(&[]), &mut [], 4);
    assert!(none, "of no rows nothing is outside");
    assert_eq!(Ascending::new(&[7, 9, 8]), None, "their places would not be known to be inside");
}

#[test]
fn words_are_little_endian() {
    let memory = DmaMemory::new(64).unwrap();
    memory.write_words(8, &[0x0102_0304_0506_0708, 9]);
    let mut bytes = [0; 9];
    memory.read(8, &mut bytes);
    assert_eq!(bytes, [8, 7, 6, 5, 4, 3, 2, 1, 9]);
    assert_eq!(memory.load_u64(8), 0x0102_0304_0506_0708);
    assert_eq!(memory.load_u32(12), 0x0102_0304);
}

#[test]
fn large_memory_has_as_many_bytes_as_asked_for_whatever_its_pages() {
    let len = 2 * LARGE_PAGE + 5000;
    let memory = DmaMemory::new(len).unwrap();
    assert_eq!((memory.len(), memory.mapped_len()), (len, 2 * LARGE_PAGE + 8192));
    memory.write(len - 3, &[1, 2, 3]);
    let mut end = [9; 4];
    memory.read(len - 3, &mut end);
    assert_eq!(end, [1, 2, 3, 0]);
}

#[test]
fn children_of_this_process_do_not_share_the_pages() {
    for len in [1, 2 * LARGE_PAGE] {
        let memory = DmaMemory::new(len).unwrap();
        let start = memory.as_ptr() as u64;
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let holds = |line: &&str| {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let number = |text| u64::from_str_radix(text, 16).ok();
            range.is_some_and(|(from, to)| {
                number(from).is_some_and(|from| from <= start)
                    && number(to).is_some_and(|to| to > start)
            })
        };
        let mut lines = maps.lines().skip_while(|line| !holds(line));
        let flags = lines.find(|line| line.starts_with("VmFlags:")).expect("its flags");
        assert!(flags.split(' ').any(|flag| flag == "dc"), "{flags}");
    }
}

#[test]
fn memory_of_a_file_is_seen_by_whoever_else_maps_it_and_has_parts() {
    let file = tempfile::tempfile().unwrap();
    assert!(DmaMemory::shared(&file).is_err(), "an empty file has no page");
    file.set_len(3 * PAGE as u64 + 5).unwrap();
    let one = DmaMemory::shared(&file).unwrap();
    let other = DmaMemory::shared(&file).unwrap();
    assert_eq!(one.mapped_len(), 3 * PAGE, "the last page is not whole");
    let part = one.part(PAGE, 2 * PAGE).unwrap();
    part.write(PAGE - 1, &[7, 8]);
    let mut bytes = [0; 2];
    other.read(2 * PAGE - 1, &mut bytes);
    assert_eq!(bytes, [7, 8]);
    let inner = part.part(PAGE, PAGE).unwrap();
    assert!(one.is_shared() && !other.is_shared());
    drop((one, part));
    assert_eq!(inner.load_u32(0), 8, "a part keeps the mapping alive");
    for (offset, len) in [(0, 0), (8, PAGE), (0, 8), (PAGE, PAGE), (usize::MAX & !4095, 8192)] {
        assert!(inner.part(offset, len).is_none(), "{offset} {len}");
    }
}

/// `len` bytes of a vector, `lead` bytes behind the start of a page, as memory.
fn of_vector(lead: usize, bytes: &[u8], writable: bool) -> DmaMemory {
    let mut owner = vec![0xaa_u8; 3 * PAGE];
    let first = owner.as_ptr().addr().next_multiple_of(PAGE) - owner.as_ptr().addr() + lead;
    owner[first..first + bytes.len()].copy_from_slice(bytes);
    let pointer = owner.as_mut_ptr().wrapping_add(first);
    // SAFETY: the bytes are the vector's, which nobody else has.
    unsafe { DmaMemory::from_raw(pointer, bytes.len(), writable, Arc::new(owner)) }.unwrap()
}

#[test]
fn an_applications_bytes_lie_anywhere_in_whole_pages() {
    for (lead, pages) in [(0, 1), (5, 1), (4000, 2)] {
        let bytes: Vec<u8> = (1..=120).collect();
        let memory = of_vector(lead, &bytes, true);
        assert_eq!((memory.offset(), memory.len()), (lead, 120));
        assert_eq!(memory.mapped_len(), pages * PAGE);
        assert!(memory.as_ptr().addr().is_multiple_of(PAGE) && memory.is_foreign());
        memory.write(lead + 7, &[0xff; 9]);
        let mut back = vec![0; 120];
        memory.read(lead, &mut back);
        assert_eq!(
            (&back[..7], &back[7..16], &back[16..]),
            (&bytes[..7], &[0xff; 9][..], &bytes[16..])
        );
    }
}

#[test]
fn what_is_beside_an_applications_bytes_is_neither_read_nor_written() {
    let memory = of_vector(9, &[1, 2, 3, 4, 5], true);
    let mut bytes = [7; 12];
    memory.read(6, &mut bytes);
    assert_eq!(bytes, [0, 0, 0, 1, 2, 3, 4, 5, 0, 0, 0, 0]);
    memory.read(100, &mut bytes);
    assert_eq!(bytes, [0; 12]);
    let part = of_vector(4094, &[1, 2, 3, 4], true).part(PAGE, PAGE).unwrap();
    part.read(0, &mut bytes[..4]);
    assert_eq!(bytes[..4], [3, 4, 0, 0]);
    for (offset, len) in [(8, 1), (13, 2), (14, 1)] {
        let write = std::panic::AssertUnwindSafe(|| memory.write(offset, &vec![0; len]));
        let error = std::panic::catch_unwind(write).unwrap_err();
        let text = format!("bytes {offset}..+{len} are beside the memory at 9..14");
        assert_eq!(error.downcast_ref::<String>(), Some(&text));
    }
}

#[test]
fn the_owner_is_kept_until_the_last_handle_goes() {
    let memory = of_vector(0, &[1], true);
    let weak = Arc::downgrade(&memory.clone().into_owner());
    let clone = memory.clone();
    drop(memory);
    assert!(weak.upgrade().is_some());
    drop(clone);
    assert!(weak.upgrade().is_none());
}

#[test]
fn memory_is_written_by_the_card_unless_it_is_said_not_to_be() {
    let memory = DmaMemory::new(1).unwrap();
    assert!(memory.is_written_by_card());
    assert!(!memory.read_by_card().is_written_by_card());
    assert!(!of_vector(0, &[1], false).is_written_by_card());
    let memory = DmaMemory::new(1).unwrap().read_by_card();
    memory.write(0, &[1]);
    let card = std::panic::AssertUnwindSafe(|| memory.for_card().write(0, &[2]));
    assert!(std::panic::catch_unwind(card).is_err(), "a card that writes all the same");
}

#[test]
#[should_panic(expected = "the memory of 2 B is read-only")]
fn read_only_memory_is_not_written() {
    of_vector(1, &[1, 2], false).write(1, &[0]);
}

#[test]
fn no_bytes_and_bytes_beyond_all_addresses_are_refused() {
    let owner = || Arc::new(()) as Arc<dyn Any + Send + Sync>;
    let fails = |pointer: *mut u8, len| {
        // SAFETY: this is refused.
        unsafe { DmaMemory::from_raw(pointer, len, true, owner()) }.unwrap_err().to_string()
    };
    assert_eq!(fails(std::ptr::null_mut(), 8), "8 B at 0x0 are no memory");
    assert_eq!(fails(std::ptr::without_provenance_mut(64), 0), "0 B at 0x40 are no memory");
    let last = std::ptr::without_provenance_mut(usize::MAX - 5);
    assert_eq!(fails(last, 8), "8 B at 0xfffffffffffffffa are no memory");
    assert_eq!(fails(last, 3), "3 B at 0xfffffffffffffffa are no memory");
}

#[test]
fn more_than_there_is_is_refused() {
    assert!(DmaMemory::new(usize::MAX).is_err());
    assert!(DmaMemory::new(usize::MAX >> 1).is_err());
}

#[test]
#[should_panic(expected = "bytes 4090..+7 are outside the memory of 4096 B")]
fn bytes_outside_are_refused() {
    DmaMemory::new(1).unwrap().write(4090, &[0; 7]);
}

#[test]
#[should_panic(expected = "outside the memory")]
fn offsets_do_not_wrap() {
    DmaMemory::new(1).unwrap().read(usize::MAX, &mut [0; 2]);
}
