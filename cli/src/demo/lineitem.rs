//! TPC-H's LINEITEM: the columns of queries 1 and 3, with the widths that a column store would
//! give them.

use tpchgen::{
    distribution::Distributions,
    generators::{LineItem, LineItemGenerator},
    text::TextPool,
};

/// Columns and their bytes: `l_orderkey`, `l_quantity`, `l_extendedprice`, `l_discount`, `l_tax`
/// (all decimals in hundredths), `l_returnflag`, `l_linestatus`, `l_shipdate` (days since 1970).
pub const COLUMNS: [(&str, usize); 8] = [
    ("l_orderkey", 8),
    ("l_quantity", 2),
    ("l_extendedprice", 4),
    ("l_discount", 1),
    ("l_tax", 1),
    ("l_returnflag", 1),
    ("l_linestatus", 1),
    ("l_shipdate", 4),
];

/// Bytes of a row.
pub const ROW: usize = {
    let (mut size, mut i) = (0, 0);
    while i < COLUMNS.len() {
        size += COLUMNS[i].1;
        i += 1;
    }
    size
};

/// LINEITEM rows in scale factor 1, about.
pub const ROWS_PER_SCALE_FACTOR: f64 = 6_001_215.0;

/// Bytes of the text that comments are pieces of: a smaller pool than TPC-H's 300 MB.
const TEXT_POOL: i32 = 1 << 20;

/// A row: its values, little-endian, one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row(pub [u8; ROW]);

impl Row {
    fn of(item: &LineItem) -> Self {
        let mut row = [0; ROW];
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            row[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        put(&item.l_orderkey.to_le_bytes());
        put(&(item.l_quantity as i16 * 100).to_le_bytes());
        put(&(item.l_extendedprice.into_inner() as i32).to_le_bytes());
        put(&[item.l_discount.into_inner() as u8]);
        put(&[item.l_tax.into_inner() as u8]);
        put(&item.l_returnflag.as_bytes()[..1]);
        put(&item.l_linestatus.as_bytes()[..1]);
        put(&item.l_shipdate.to_unix_epoch().to_le_bytes());
        Self(row)
    }

    /// The order that the row belongs to.
    pub fn orderkey(&self) -> i64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        i64::from_le_bytes([a, b, c, d, e, f, g, h])
    }

    /// The destination of the row in a shuffle by order key.
    pub fn destination(&self, destinations: usize) -> usize {
        let hash = (self.orderkey() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        hash as usize % destinations
    }

    /// Every value and the index of its column.
    pub fn values(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let mut rest = self.0.as_slice();
        COLUMNS.iter().enumerate().map(move |(column, (_, width))| {
            let (value, after) = rest.split_at(*width);
            rest = after;
            (column, value)
        })
    }
}

/// Generates a scale factor's rows one by one.
///
/// # Errors
/// The first error of `each`, which ends the generation.
pub fn items<E>(
    scale_factor: f64,
    mut each: impl FnMut(&LineItem<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let distributions = Distributions::static_default();
    let text = TextPool::new(TEXT_POOL, distributions);
    let generator = LineItemGenerator::new_with_distributions_and_text_pool(
        scale_factor,
        1,
        1,
        distributions,
        &text,
    );
    generator.iter().try_for_each(|item| each(&item))
}

/// Generates a scale factor's rows and hands them over in batches of at most `size`.
///
/// # Errors
/// The first error of `each`.
pub fn batches<E>(
    scale_factor: f64,
    size: usize,
    mut each: impl FnMut(&[Row]) -> Result<(), E>,
) -> Result<(), E> {
    let mut batch = Vec::with_capacity(size);
    items(scale_factor, |item| {
        batch.push(Row::of(item));
        if batch.len() == size {
            each(&batch)?;
            batch.clear();
        }
        Ok(())
    })?;
    if batch.is_empty() { Ok(()) } else { each(&batch) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_row_is_that_of_tpc_h() {
        let mut rows = Vec::new();
        let result = batches(0.001, 100, |batch| {
            rows.extend_from_slice(batch);
            Ok::<(), ()>(())
        });
        assert_eq!(result, Ok(()));
        // 1|...|17|...price depends on the scale factor...|0.04|0.02|N|O|1996-03-13|
        let values: Vec<&[u8]> = rows[0].values().map(|(_, value)| value).collect();
        assert_eq!(values[0], 1i64.to_le_bytes());
        assert_eq!(values[1], 1700i16.to_le_bytes());
        assert_eq!(values[3..7], [&[4u8][..], &[2], b"N", b"O"]);
        assert_eq!(values[7], 9568i32.to_le_bytes());
        assert_eq!(rows.len(), 6005);
    }
}
