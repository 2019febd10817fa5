//! Functions that make the ids of partitioned requests.

use super::reader::{Reader, Stop};
use super::regions::Range;
use super::requests::{Function, Key};
use drdma_abi::Layout;
use drdma_abi::work_request::{
    ElementKind, ElementSource, KeyType, KindElement, MAX_ELEMENTS, MAX_PARTITIONS, MAX_SPLITTERS,
    PartitionBy, PartitionFunction, PartitionKey, RegionHeader,
};

/// The function of a partitioned region and its keys, and the memory that they need. Refused is also what the card
/// does not have: keys that are bytes or lead elsewhere, and ranges of numbers of 16 B.
pub(super) fn keys(
    reader: &mut Reader,
    header: RegionHeader,
) -> Result<(Function, Vec<Range>), Stop> {
    let head = PartitionFunction::decode(&reader.take()?);
    let code = PartitionBy::from_code(head.function).ok_or(Stop::Shape)?;
    let range = code == PartitionBy::Range;
    let (most_keys, most) =
        if range { (1, MAX_SPLITTERS + 1) } else { (MAX_ELEMENTS as u8, MAX_PARTITIONS) };
    let splits = range && head.partitions > 1;
    let good = (1..=most_keys).contains(&head.keys)
        && (1..=most).contains(&head.partitions)
        && head.group > 0
        && head.reserved == 0
        && (!range || head.seed == 0)
        && (splits || (header.addr, header.lkey) == (0, 0));
    if !good {
        return Err(Stop::Shape);
    }
    let PartitionFunction { partitions, group, seed, .. } = head;
    let mut function = Function { range, partitions, group, seed, keys: Vec::new() };
    let mut ranges = Vec::new();
    let mut add = |lkey, start: u64, len| ranges.push(Range { lkey, start: start.into(), len });
    let rows = u128::from(header.count);
    for _ in 0..head.keys {
        let entry = KindElement::decode(&reader.take()?);
        let bytes = match ElementKind::from_code(entry.kind) {
            Some(ElementKind::Fixed) if matches!(entry.width, 1 | 2 | 4 | 8 | 16) => {
                Some(entry.width)
            }
            Some(ElementKind::Bits) if entry.width < 8 => None,
            _ => return Err(Stop::Shape),
        };
        if entry.log_entry != 0 {
            return Err(Stop::Shape);
        }
        if splits {
            let len = u128::from(partitions - 1) * u128::from(bytes.unwrap_or(0));
            add(header.lkey, header.addr, len);
        }
        let of = ElementSource::decode(&reader.take()?);
        if (of.addr, of.count, of.lkey) != (0, 0, 0) {
            return Err(Stop::Shape);
        }
        let bits = |first: u128| (first + rows).div_ceil(8);
        let len = bytes.map_or(bits(entry.width.into()), |bytes| rows * u128::from(bytes));
        add(entry.lkey, entry.offset, len);
        let key = PartitionKey::decode(&reader.take()?);
        let number = matches!(bytes, Some(1 | 2 | 4 | 8));
        let known = |known: KeyType| key.key_type == known as u8;
        let good = (known(KeyType::Integer) && number)
            || (known(KeyType::Unsigned) && number && range)
            || (known(KeyType::Float) && matches!(bytes, Some(4 | 8)))
            || (known(KeyType::Boolean) && matches!(bytes, None | Some(1)) && !range)
            || (known(KeyType::Decimal) && bytes == Some(16) && !range);
        let nullable = key.has_validity == 1;
        if !good
            || key.reserved != 0
            || (!nullable && (key.validity, key.lkey, key.first) != (0, 0, 0))
        {
            return Err(Stop::Shape);
        }
        if nullable {
            add(key.lkey, key.validity, bits(key.first.into()));
        }
        function.keys.push(Key {
            addr: entry.offset,
            bytes,
            first: if bytes.is_none() { entry.width as u8 } else { 0 },
            key_type: key.key_type,
            validity: nullable.then_some((key.validity, key.first)),
        });
    }
    Ok((function, ranges))
}
