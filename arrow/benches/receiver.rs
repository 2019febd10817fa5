//! What a row costs both ends of batches, the receiver above all: `cargo bench --package drdma-arrow --bench receiver`.
//!
//! Sixteen connections bring batches of 11 columns of fixed width, 104 B a row, as LINEITEM's are: in messages of a
//! column, and as rows that the card appends. Then batches with strings over 12 B, which are copied for each
//! destination ([`Form::Columns`]), or followed by the card ([`Form::Kinds`]). The card, `soft:`, works in between:
//! what is counted is posting requests at one end; taking completions, putting batches together, and posting receives
//! again at the other.

mod rig;

use std::{error::Error, time::Duration};

use arrow_array::RecordBatch;
use drdma_arrow::{Form, Format};
use drdma_fabric::{Fabric, NetworkConfig};
use rig::{BATCHES, PARTITIONS, ROUNDS, ROWS, Rig, processor_ns};

fn main() -> Result<(), Box<dyn Error>> {
    for (form, message) in
        [(Form::Columns, 16 << 10), (Form::Appended, 16 << 10), (Form::Appended, 64 << 10)]
    {
        let batch = rig::batch()?;
        let format = Format::with_form(batch.schema(), message, form)?;
        let Cost { send, receive, batches, .. } = measure(&format, &batch)?;
        let messages = messages(&format, &batch);
        let rows = (ROWS * BATCHES) as f64;
        println!(
            "{form:?}, messages of {message} B: {:.2} ns a row to send, {:.2} to receive: {:.0} a message, {messages} messages, {batches} batches",
            send / rows,
            receive / rows,
            receive / messages as f64,
        );
    }
    for form in [Form::Columns, Form::Kinds] {
        let batch = rig::strings()?;
        let format = Format::with_form(batch.schema(), 16 << 10, form)?;
        let Cost { send, receive, copied, .. } = measure(&format, &batch)?;
        let rows = (ROWS * BATCHES) as f64;
        println!(
            "strings, {form:?}: {:.1} ns a row to send, {:.1} to receive; {:.1} B a row copied to send",
            send / rows,
            receive / rows,
            copied as f64 / rows,
        );
    }
    Ok(())
}

/// Messages of a round.
fn messages(format: &Format, batch: &RecordBatch) -> usize {
    let row_bytes = batch.columns().iter().map(|column| column.get_buffer_memory_size() / ROWS);
    let of_rows = (ROWS / PARTITIONS).div_ceil(format.message_bytes() / row_bytes.sum::<usize>());
    let a_batch = if format.form() == Form::Appended { of_rows } else { batch.num_columns() + 1 };
    BATCHES * PARTITIONS * a_batch
}

/// Cost of a round at each end, in ns, its batches, and the bytes that its sender has copied.
struct Cost {
    send: f64,
    receive: f64,
    batches: usize,
    copied: u64,
}

fn measure(format: &Format, batch: &RecordBatch) -> Result<Cost, Box<dyn Error>> {
    let mut fabric = Fabric::new(NetworkConfig::default(), 2)?;
    let [from, to] = [0, 1].map(|node| fabric.node(node).clone());
    let mut rig = Rig::new(&from, &to, format, batch)?;
    let mut cost = Cost { send: f64::INFINITY, receive: f64::INFINITY, batches: 0, copied: 0 };
    for _ in 0..ROUNDS {
        let start = processor_ns();
        let (mut left, copied) = rig.post()?;
        cost.send = cost.send.min(processor_ns() - start);
        let sent = fabric.run_until(Duration::from_secs(1), |_| {
            left -= rig.completed();
            Ok::<_, Box<dyn Error>>(left == 0)
        })?;
        assert!(sent, "{left} requests did not complete");
        let start = processor_ns();
        let (rows, batches) = rig.receivers.take_all()?;
        cost.receive = cost.receive.min(processor_ns() - start);
        assert_eq!(rows, ROWS * BATCHES, "all rows are there when all requests are complete");
        (cost.batches, cost.copied) = (batches, copied);
    }
    Ok(cost)
}
