//! Partitions that are made from keys.

use drdma_abi::work_request::{KeyValues, MAX_ELEMENTS, MAX_PARTITIONS, MAX_SPLITTERS, SPARK_SEED};

use super::{
    memory::{Regions, bit, short},
    posts::meaningless,
};
use crate::job::{
    Column, Function, JobError, Key, KeyType, Kind, PartitionBy, Place, Problem, json::At,
};

/// The names of the types of keys in job files.
const KEY_TYPES: [(&str, KeyType); 6] = [
    ("integer", KeyType::Integer),
    ("unsigned", KeyType::Unsigned),
    ("float", KeyType::Float),
    ("boolean", KeyType::Boolean),
    ("bytes", KeyType::Bytes),
    ("decimal", KeyType::Decimal),
];

impl Regions<'_> {
    /// How partitions are made, and the place of the splitters.
    pub(super) fn partition_by(&self, at: &At) -> Result<(Place, PartitionBy), JobError> {
        let mut fields = at.object()?;
        let functions = [("murmur3", Function::Murmur3), ("range", Function::Range)];
        let function = fields.required("function")?.choice(&functions)?;
        let group = fields.optional("group").map_or(Ok(1), |at| at.integer(1, u16::MAX.into()))?;
        let keys_at = fields.required("keys")?;
        let mut place = Place { buffer: 0, offset: 0 };
        let mut unused = |name: &'static str, function: &str| match fields.optional(name) {
            Some(at) => Err(meaningless(&at, function)),
            None => Ok(()),
        };
        match function {
            Function::Murmur3 => unused("splitters", "murmur3")?,
            Function::Range => {
                unused("seed", "range")?;
                unused("partitions", "range")?;
            }
        }
        let (seed, partitions, most) = match function {
            Function::Murmur3 => {
                let seed = fields.optional("seed").map_or(Ok(SPARK_SEED), |at| at.u32(0))?;
                let partitions =
                    fields.required("partitions")?.integer(1, MAX_PARTITIONS.into())?;
                (seed, partitions as u32, MAX_ELEMENTS)
            }
            Function::Range => {
                let mut splitters = fields.required("splitters")?.object()?;
                place = self.place(&mut splitters)?;
                let count = splitters.required("count")?.integer(0, MAX_SPLITTERS.into())?;
                splitters.finish()?;
                (0, count as u32 + 1, 1)
            }
        };
        fields.finish()?;
        let list = keys_at.list_up_to(most, "keys")?;
        if list.is_empty() {
            return Err(keys_at.error(Problem::Empty { what: "key" }));
        }
        let keys = list.iter().map(|at| self.key(at, function));
        let keys = keys.collect::<Result<_, JobError>>()?;
        Ok((place, PartitionBy { function, seed, partitions, group: group as u16, keys }))
    }

    fn key(&self, at: &At, function: Function) -> Result<Key, JobError> {
        let mut fields = at.object()?;
        let type_at = fields.required("key_type")?;
        let key_type = type_at.choice(&KEY_TYPES)?;
        let column_at = fields.required("column")?;
        let column = self.column(&column_at)?;
        short(&column_at, "width", column.width)?;
        let bits = |at: At| -> Result<(Place, u8), JobError> {
            let mut fields = at.object()?;
            let place = self.place(&mut fields)?;
            let first = bit(&mut fields)?;
            fields.finish()?;
            Ok((place, first))
        };
        let validity = fields.optional("validity").map(bits).transpose()?;
        fields.finish()?;
        if !function.takes(key_type, values(&column)) {
            let key_type = KEY_TYPES.iter().find(|(_, found)| *found == key_type);
            return Err(type_at.error(Problem::KeyType {
                key_type: key_type.map_or("?", |(name, _)| name),
                values: described(&column),
                function: match function {
                    Function::Murmur3 => "murmur3",
                    Function::Range => "range",
                },
            }));
        }
        Ok(Key { column, key_type, validity })
    }
}

fn values(column: &Column) -> KeyValues {
    match &column.kind {
        Kind::Fixed => KeyValues::Fixed(column.width.into()),
        Kind::Dictionary { width, .. } => KeyValues::Fixed((*width).into()),
        Kind::Bits { .. } => KeyValues::Bits,
        Kind::Varlen { .. } | Kind::Views { .. } => KeyValues::Variable,
    }
}

/// Description of the values of a column.
fn described(column: &Column) -> String {
    match values(column) {
        KeyValues::Fixed(width) => format!("values of {width} B"),
        KeyValues::Variable => "values of variable length".to_owned(),
        KeyValues::Bits => "bits".to_owned(),
    }
}
