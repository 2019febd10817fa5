//! Partition ids: the partition that each row goes to.

use std::sync::Arc;

use datafusion::{
    arrow::record_batch::RecordBatch, common::hash_utils::create_hashes,
    physical_expr::PhysicalExpr, physical_plan::repartition::REPARTITION_RANDOM_STATE,
};

use crate::Error;

/// The partition of each row, as the engine has it: the hash of the expressions, modulo the partitions, of which there
/// are at most 256.
///
/// # Errors
/// An expression that cannot be evaluated, or whose values have no hash.
#[inline]
pub fn partition_ids(
    exprs: &[Arc<dyn PhysicalExpr>],
    batch: &RecordBatch,
    partitions: usize,
) -> Result<Vec<u8>, Error> {
    let rows = batch.num_rows();
    let mut arrays = Vec::with_capacity(exprs.len());
    for expr in exprs {
        arrays.push(expr.evaluate(batch)?.into_array(rows)?);
    }
    let mut hashes = vec![0; rows];
    create_hashes(&arrays, REPARTITION_RANDOM_STATE.random_state(), &mut hashes)?;
    let modulo = Modulo::new(partitions as u64);
    Ok(hashes.iter().map(|hash| modulo.of(*hash) as u8).collect())
}

/// Remainders of a divisor that many numbers have, without a division each: the fraction of a quotient, times the
/// divisor (Lemire, Kaser and Kurz, *Faster remainder by direct computation*, 2019).
#[derive(Clone, Copy, Debug)]
struct Modulo {
    divisor: u64,
    /// 2^128 / divisor, rounded up; 0 stands for 2^128.
    inverse: u128,
}

impl Modulo {
    /// # Panics
    /// If the divisor is 0.
    fn new(divisor: u64) -> Self {
        Self { divisor, inverse: (u128::MAX / u128::from(divisor)).wrapping_add(1) }
    }

    #[inline]
    fn of(self, number: u64) -> u64 {
        if self.divisor.is_power_of_two() {
            return number & (self.divisor - 1);
        }
        // The fraction of number / divisor, in 2^-128.
        let fraction = self.inverse.wrapping_mul(u128::from(number));
        let (high, low) = (fraction >> 64, fraction & u128::from(u64::MAX));
        let divisor = u128::from(self.divisor);
        ((high * divisor + ((low * divisor) >> 64)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remainders_are_those_of_a_division() {
        let mut number = 1_u64;
        let random = (0..200).map(|_| {
            number = number.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            number
        });
        let mut numbers: Vec<u64> = random.collect();
        numbers.extend([0, 1, 2, u64::MAX, u64::MAX - 1, 1 << 63]);
        for divisor in 1..=256 {
            let modulo = Modulo::new(divisor);
            let edges = [divisor - 1, divisor, u64::MAX / divisor * divisor - 1];
            for number in numbers.iter().copied().chain(edges) {
                assert_eq!(modulo.of(number), number % divisor, "{number} % {divisor}");
            }
        }
    }
}
