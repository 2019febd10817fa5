use super::*;
use crate::{region::Extent, testing};
use proptest::prelude::*;

fn strided(count: u32, lens: &[u32]) -> Region {
    let pattern = lens.iter().map(|len| Extent { offset: 0, len: *len }).collect();
    Region::Strided { base: 0, period: 1, count, lkey: 1, pattern }
}

fn lengths(messages: &Messages) -> Vec<u128> {
    (0..messages.count()).map(|index| messages.message(index).len).collect()
}

#[test]
fn figure_5_is_two_messages_of_12_bytes_or_one_of_24() {
    let figure_5 = [strided(2, &[8, 4])];
    let one = Messages::new(&figure_5, &[2], RowMask::Period, 1).unwrap();
    assert_eq!(lengths(&one), [12, 12]);
    let packed = Messages::new(&figure_5, &[2], RowMask::Period, 64).unwrap();
    assert_eq!(lengths(&packed), [24]);
    assert_eq!(packed.bytes(), 24);
}

#[test]
fn packing_runs_across_regions_and_the_last_message_is_short() {
    let regions = [strided(3, &[4]), strided(0, &[1000]), strided(4, &[10])];
    let messages = Messages::new(&regions, &[3, 0, 4], RowMask::Period, 2).unwrap();
    assert_eq!(lengths(&messages), [8, 14, 20, 10]);
    assert_eq!(messages.longest(), 20);
}

#[test]
fn with_row_mask_element_a_unit_takes_one_element_of_each_region() {
    let regions = [strided(3, &[1, 2]), strided(2, &[10, 20, 30])];
    let messages = Messages::new(&regions, &[3, 2], RowMask::Element, 4).unwrap();
    // 1+10 2+20 1+30 2+10 | 1+20 2+30
    assert_eq!(lengths(&messages), [76, 53]);
    assert_eq!(messages.units(), 6);
}

#[test]
fn unequal_element_counts_are_refused_with_both_numbers() {
    let regions = [strided(3, &[1, 2]), strided(5, &[1])];
    let error = Messages::new(&regions, &[3, 5], RowMask::Element, 1).unwrap_err();
    assert_eq!(error, UnequalElements { region: 1, expected: 6, found: 5 });
    assert!(Messages::new(&regions, &[3, 5], RowMask::Period, 1).is_ok());
}

#[test]
fn no_unit_is_no_message() {
    for row_mask in [RowMask::Period, RowMask::Element] {
        let messages = Messages::new(&[], &[], row_mask, 3).unwrap();
        assert_eq!((messages.count(), messages.longest(), messages.bytes()), (0, 0, 0));
    }
}

#[test]
fn the_largest_request_is_measured_at_once() {
    let huge = strided(u32::MAX, &[u32::MAX; 16]);
    let regions = vec![huge; 16];
    for row_mask in [RowMask::Period, RowMask::Element] {
        let rows = [u64::from(u32::MAX); 16];
        let messages = Messages::new(&regions, &rows, row_mask, u32::MAX).unwrap();
        assert_eq!(messages.bytes(), u128::from(u32::MAX).pow(2) * 256);
        assert!(messages.longest() > 1 << 64);
    }
    // Patterns of 1 to 16 elements repeat together only after 720,720 units.
    let regions: Vec<Region> =
        (1..=16).map(|n| strided(720_720 / n * 7, &vec![1; n as usize])).collect();
    let rows: Vec<u64> = (1..=16).map(|n| 720_720 / n * 7).collect();
    let messages = Messages::new(&regions, &rows, RowMask::Element, 1).unwrap();
    assert_eq!(messages.longest(), 16);
}

proptest! {
    #[test]
    fn message_lengths_are_those_of_the_concatenated_units(
        regions in prop_oneof![
            proptest::collection::vec(testing::region(), 0..=16).prop_map(|r| (r, RowMask::Period)),
            testing::matched_regions().prop_map(|r| (r, RowMask::Element)),
        ],
        rows_per_message in prop_oneof![1u32..20, Just(u32::MAX)],
    ) {
        let (regions, row_mask) = regions;
        let bytes = testing::memory();
        let units = testing::units(&regions, row_mask, &bytes);
        let rows: Vec<u64> = regions
            .iter()
            .map(|region| {
                let one = std::slice::from_ref(region);
                testing::units(one, RowMask::Period, &bytes).len() as u64
            })
            .collect();
        let messages = Messages::new(&regions, &rows, row_mask, rows_per_message).unwrap();
        let expected = testing::messages(&units, rows_per_message);
        let expected: Vec<u128> = expected.iter().map(|message| message.len() as u128).collect();
        prop_assert_eq!(lengths(&messages), &expected[..]);
        prop_assert_eq!(messages.longest(), expected.iter().copied().max().unwrap_or(0));
        prop_assert_eq!(messages.bytes(), expected.iter().sum::<u128>());
    }
}
