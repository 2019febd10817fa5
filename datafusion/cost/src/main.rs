//! What a row that goes to another worker costs the processors of both ends: by the card, against what the engine does
//! by itself: take, coalesce, Flight, socket. `cargo xtask engine --measure`.
//!
//! All figures are CPU time of one thread, in one run, the least of some rounds. The card is `soft:`, in whose own work
//! nothing of this is counted. Flight is without compression, which is to its advantage here, and without gRPC's work.

mod card;
mod socket;

use std::{error::Error, sync::Arc};

use datafusion::arrow::{
    array::{ArrayRef, Int32Array},
    datatypes::{DataType, Field, Schema},
    record_batch::RecordBatch,
};
use drdma_arrow::Form;
use drdma_datafusion::{cpu, passage, tpch};

#[global_allocator]
static MEMORY: libdrdma::Arena = libdrdma::Arena::new(8 << 30).threshold(4096);

/// Rows of a batch.
const ROWS: usize = 8192;
/// Batches of a round.
const BATCHES: usize = 24;
/// Rounds.
const ROUNDS: usize = 7;
/// Destinations.
const PARTITIONS: usize = 16;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    println!(
        "ns of CPU a row, {PARTITIONS} destinations, batches of {ROWS} rows by default\n\nthe sender:\n"
    );
    println!(
        "| rows | B a row | form | gather | ids | posts | together | take | coalesce | Flight | socket | together | ratio |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    let lineitem = |columns: Option<&[usize]>| -> Result<Vec<RecordBatch>> {
        let batches = tpch::batches("lineitem", 0.1, 1, 1).take(BATCHES);
        batches
            .map(|batch| {
                let batch = batch?;
                Ok(columns.map_or(Ok(batch.clone()), |columns| batch.project(columns))?)
            })
            .collect()
    };
    // Keys, number, quantity, price, discount, tax, three dates.
    let fixed = lineitem(Some(&[0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12]))?;
    let mut receivers = Vec::new();
    for (name, batches) in [
        ("5 x Int32", integers(ROWS)?),
        ("5 x Int32, batches of 256 rows", integers(256)?),
        ("LINEITEM, fixed width", fixed),
        ("LINEITEM", lineitem(None)?),
    ] {
        let socket = socket::by_socket(&batches)?;
        let theirs = socket.iter().sum::<f64>();
        let from_socket = socket::from_socket(&batches)?;
        let [take, coalesce, flight, wire] = socket;
        let bytes = row_bytes(&batches);
        // As the engine chooses, and then as it does where that is not possible.
        let appended = passage::appended_format(&batches[0].schema()).map(|_| Form::Appended);
        for form in appended.into_iter().chain([Form::Columns]) {
            let (card, received) = card::by_card(&batches, form)?;
            let ours = card.iter().sum::<f64>();
            let [gather, ids, posts] = card;
            let form = format!("{form:?}").to_lowercase();
            println!(
                "| {name} | {bytes:.0} | {form} | {gather:.1} | {ids:.1} | {posts:.1} | {ours:.1} | {take:.1} | {coalesce:.1} | {flight:.1} | {wire:.1} | {theirs:.1} | {:.1} |",
                theirs / ours
            );
            receivers.push((name, bytes, form, received, from_socket));
        }
    }
    println!("\nthe receiver:\n");
    println!("| rows | B a row | form | by the card | socket | Flight | together | ratio |");
    println!("|---|---|---|---|---|---|---|---|");
    for (name, bytes, form, ours, [socket, flight]) in receivers {
        let theirs = socket + flight;
        println!(
            "| {name} | {bytes:.0} | {form} | {ours:.1} | {socket:.1} | {flight:.1} | {theirs:.1} | {:.1} |",
            theirs / ours
        );
    }
    Ok(())
}

/// Batches of five columns of integers, with `rows` rows each: as many rows in all, whatever a batch has.
fn integers(rows: usize) -> Result<Vec<RecordBatch>> {
    let fields: Vec<_> =
        (0..5).map(|i| Field::new(format!("c{i}"), DataType::Int32, false)).collect();
    let schema = Arc::new(Schema::new(fields));
    let column = |batch: usize, column: i32| -> ArrayRef {
        let value = |row: usize| (batch * rows + row) as i32 ^ column << 20;
        Arc::new(Int32Array::from_iter_values((0..rows).map(value)))
    };
    let batch = |batch| {
        let columns = (0..5).map(|c| column(batch, c)).collect();
        Ok(RecordBatch::try_new(schema.clone(), columns)?)
    };
    (0..BATCHES * ROWS / rows).map(batch).collect()
}

fn row_bytes(batches: &[RecordBatch]) -> f64 {
    let bytes = |array: &ArrayRef| array.to_data().get_slice_memory_size().unwrap_or(0);
    let bytes: usize = batches.iter().flat_map(RecordBatch::columns).map(bytes).sum();
    bytes as f64 / rows(batches)
}

fn rows(batches: &[RecordBatch]) -> f64 {
    batches.iter().map(RecordBatch::num_rows).sum::<usize>() as f64
}

/// CPU time of this thread, in ns.
pub(crate) fn now() -> f64 {
    cpu::now().as_nanos() as f64
}

/// The least of each figure over some rounds, a row.
pub(crate) fn least<const N: usize>(
    batches: &[RecordBatch],
    mut round: impl FnMut() -> Result<[f64; N]>,
) -> Result<[f64; N]> {
    let mut best = [f64::INFINITY; N];
    for _ in 0..ROUNDS {
        let times = round()?;
        for (best, time) in best.iter_mut().zip(times) {
            *best = best.min(time / rows(batches));
        }
    }
    Ok(best)
}
