//! Memory regions: keys, aliases, slices, and what the card is told.

mod common;

use std::collections::HashSet;

use common::{open, open_all};
use drdma_abi::register::{MEMORY_REGIONS, MemoryRegionEntry};
use libdrdma::{DmaMemory, MemoryRegion};

fn entry(card: &common::Fake, lkey: u32) -> MemoryRegionEntry {
    card.entry(MEMORY_REGIONS, lkey & 0xfff)
}

#[test]
fn the_card_knows_a_region_until_it_is_dropped() {
    let (context, card, pd, _) = open_all();
    let foreign = context.protection_domain().allocate(1).unwrap();
    let before = card.state().maps.len();
    let memory = pd.allocate(5000).unwrap();
    let (addr, lkey) = (memory.addr(), memory.lkey());
    let pd = entry(&card, pd.allocate(1).unwrap().lkey()).pd;
    assert_ne!(pd, entry(&card, foreign.lkey()).pd);
    let expected = MemoryRegionEntry { addr, len: 5000, lkey, pd, valid: 1, ..Default::default() };
    assert_eq!(entry(&card, lkey), expected);
    assert_eq!(card.state().maps[&addr].len(), 5000);
    drop(memory);
    assert_eq!(entry(&card, lkey), MemoryRegionEntry::default());
    assert_eq!(card.state().maps.len(), before);
}

#[test]
fn an_alias_has_its_own_key_and_keeps_the_memory_alive() {
    let (_, card, pd, _) = open_all();
    let mut arena = pd.allocate(8192).unwrap();
    arena.write_at(4096, b"hello");
    let alias = arena.alias(4096..4101).unwrap();
    assert_eq!((alias.addr(), alias.len()), (arena.addr() + 4096, 5));
    assert_ne!(alias.lkey(), arena.lkey());
    let (addr, lkey) = (arena.addr(), arena.lkey());
    drop(arena);
    assert_eq!(entry(&card, lkey).valid, 0);
    assert_eq!(entry(&card, alias.lkey()).valid, 1);
    assert!(card.state().maps.contains_key(&addr));
    let nested = alias.alias(1..3).unwrap();
    let mut bytes = [0; 2];
    nested.read_at(0, &mut bytes);
    assert_eq!(&bytes, b"el");
    drop((alias, nested));
    assert!(!card.state().maps.contains_key(&addr));
}

#[test]
fn ranges_that_are_empty_or_outside_are_refused() {
    let (_, _, pd, _) = open_all();
    let memory = pd.allocate(100).unwrap();
    let refused = |range| memory.alias(range).unwrap_err().to_string();
    assert_eq!(refused(90..101), "bytes 90..101 are outside the memory region of 100 B");
    #[allow(clippy::reversed_empty_ranges)]
    let reversed = 9..8;
    assert_eq!(refused(reversed), "bytes 9..8 are outside the memory region of 100 B");
    assert_eq!(refused(7..7), "a memory region of 0 B");
    assert_eq!(pd.allocate(0).unwrap_err().to_string(), "a memory region of 0 B");
}

#[test]
fn a_slice_is_lent_only_of_memory_that_nobody_shares() {
    let (_, _, pd, _) = open_all();
    let mut memory = pd.allocate(100).unwrap();
    memory.as_slice_mut().unwrap()[99] = 7;
    let alias = memory.alias(0..10).unwrap();
    let error = memory.as_slice_mut().unwrap_err().to_string();
    assert_eq!(error, "the memory of 100 B is shared with another memory region or handle");
    drop(alias);
    assert_eq!(memory.as_slice_mut().unwrap().len(), 100);
    let mut byte = [0];
    memory.read_at(99, &mut byte);
    assert_eq!(byte, [7]);
    let outside = DmaMemory::new(64).unwrap();
    let mut registered = pd.register(outside.clone()).unwrap();
    assert!(registered.as_slice_mut().is_err());
    outside.write(3, b"x");
    registered.read_at(3, &mut byte);
    assert_eq!(&byte, b"x");
}

#[test]
#[should_panic(expected = "bytes 5..+6 are outside the memory region of 10 B")]
fn bytes_outside_are_not_written_even_where_memory_is_mapped() {
    let (_, _, pd, _) = open_all();
    pd.allocate(10).unwrap().write_at(5, &[0; 6]);
}

#[test]
fn keys_differ_in_their_tags_and_a_full_table_is_an_error() {
    let (context, _) = open();
    let pd = context.protection_domain();
    let memory = pd.allocate(64).unwrap();
    let mut aliases: Vec<MemoryRegion> = (0..4095).map(|_| memory.alias(0..1).unwrap()).collect();
    let indexes: HashSet<u32> = aliases.iter().map(|alias| alias.lkey() & 0xfff).collect();
    assert_eq!(indexes.len(), 4095);
    let tags: HashSet<u32> = aliases.iter().map(|alias| alias.lkey() >> 12).collect();
    assert!(tags.len() > 1000 && !tags.contains(&0), "{} tags", tags.len());
    let error = memory.alias(0..1).unwrap_err().to_string();
    assert_eq!(error, "the card has no free memory region: all 4096 are in use");
    let old = aliases.pop().unwrap().lkey();
    let new = memory.alias(0..1).unwrap().lkey();
    assert_eq!(old & 0xfff, new & 0xfff);
    assert_ne!(old, new, "an old key does not fit a new region");
}

#[test]
fn keys_are_others_in_every_context() {
    let keys = [0, 1].map(|_| {
        let (_, _, pd, _) = open_all();
        let memory = pd.allocate(64).unwrap();
        (0..8).map(|_| memory.alias(0..1).unwrap().lkey()).collect::<Vec<u32>>()
    });
    assert_ne!(keys[0], keys[1]);
}
