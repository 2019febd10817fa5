//! The node that sends the table.

use std::sync::Arc;

use drdma_abi::work_request::SPARK_SEED;
use drdma_semantics::murmur3;
use libdrdma::{
    KeyType, MemoryRegion, PartitionKeys, Partitioned, PartitionedRegion, ProtectionDomain, Values,
    ViewTable,
};

use super::{
    DemoError,
    table::{self, Batch, COLUMNS, KEY},
};

/// The receiver of each row: Spark's hash of its order key, as the card makes it.
pub fn owners(batch: &Batch, receivers: usize) -> Vec<u16> {
    let hashes = batch.keys().map(|key| murmur3::of_long(key, SPARK_SEED));
    hashes.map(|hash| murmur3::partition(hash, receivers as u32) as u16).collect()
}

/// A batch in memory that the card reads.
#[derive(Debug)]
pub struct Loaded {
    rows: u64,
    receivers: usize,
    /// Memory of each column: numbers or views.
    columns: Vec<Arc<MemoryRegion>>,
    /// For each column: memory of the strings outside of their views, if there are any.
    outside: Vec<Option<Arc<MemoryRegion>>>,
}

impl Loaded {
    /// Registers a batch of at least one row.
    pub fn new(pd: &ProtectionDomain, batch: &Batch, receivers: usize) -> Result<Self, DemoError> {
        let (mut columns, mut outside) = (Vec::new(), Vec::new());
        for values in batch.columns() {
            let (entries, bytes) = match values {
                table::Values::Numbers(bytes) => (bytes.clone(), Vec::new()),
                table::Values::Texts(texts) => views(texts),
            };
            columns.push(Arc::new(pd.register(entries)?));
            // Memory of 0 bytes cannot be registered.
            let bytes = (!bytes.is_empty()).then(|| pd.register(bytes)).transpose()?;
            outside.push(bytes.map(Arc::new));
        }
        Ok(Self { rows: batch.rows() as u64, receivers, columns, outside })
    }

    /// All rows, without columns so far. The card makes the partitions from the keys.
    fn partitioned(&self) -> Partitioned<'static, u16> {
        let key = &self.columns[KEY];
        let width = COLUMNS[KEY].1.width() as u64;
        let by = PartitionKeys::murmur3(self.receivers as u64);
        let by = by.key(key, 0, Values::fixed(width), KeyType::Integer);
        Partitioned::by(by).rows(self.rows)
    }

    /// All columns: numbers and views.
    pub fn rows(&self) -> Result<PartitionedRegion<'static, u16>, DemoError> {
        let columns = self.columns.iter().zip(COLUMNS);
        let region = columns.fold(self.partitioned(), |region, (column, (_, kind))| {
            region.column(column, 0, kind.width() as u64)
        });
        Ok(region.build()?)
    }

    /// The strings of a column; `None` if all stand in their views.
    pub fn strings(
        &self,
        pd: &ProtectionDomain,
        column: usize,
    ) -> Result<Option<PartitionedRegion<'static, u16>>, DemoError> {
        let Some(bytes) = &self.outside[column] else { return Ok(None) };
        let table = ViewTable::register(pd, [(bytes, 0, bytes.len() as u64)])?;
        let region =
            self.partitioned().typed_column(&self.columns[column], 0, Values::views(&table));
        Ok(Some(region.build()?))
    }
}

/// Views of strings, and the bytes of the strings that do not stand in their views.
fn views(texts: &[String]) -> (Vec<u8>, Vec<u8>) {
    let (mut views, mut bytes) = (Vec::new(), Vec::new());
    for text in texts {
        views.extend(table::view(text.as_bytes(), bytes.len()));
        if table::is_outside(text.len()) {
            bytes.extend(text.as_bytes());
        }
    }
    (views, bytes)
}
