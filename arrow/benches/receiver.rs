//! What a row costs both ends of batches, the receiver above all: `cargo bench --package drdma-arrow --bench receiver`.
//!
//! Sixteen connections bring batches of 11 columns of fixed width, 104 B a row, as LINEITEM's are: in messages of a column,
//! and as rows that the card appends. The card, `soft:`, works in between: what is counted is posting requests at
//! one end; taking completions, putting batches together, and posting receives again at the other.

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
        let Cost { send, receive, messages, batches } = measure(&format, &batch)?;
        let rows = (ROWS * BATCHES) as f64;
        println!(
            "{form:?}, messages of {message} B: {:.2} ns a row to send, {:.2} to receive: {:.0} a message, {messages} messages, {batches} batches",
            send / rows,
            receive / rows,
            receive / messages as f64,
        );
    }
    Ok(())
}

/// Cost of a round at each end, in ns, and its messages and batches.
struct Cost {
    send: f64,
    receive: f64,
    messages: usize,
    batches: usize,
}

fn measure(format: &Format, batch: &RecordBatch) -> Result<Cost, Box<dyn Error>> {
    let mut fabric = Fabric::new(NetworkConfig::default(), 2)?;
    let [from, to] = [0, 1].map(|node| fabric.node(node).clone());
    let mut rig = Rig::new(&from, &to, format)?;
    let mut cost = Cost { send: f64::INFINITY, receive: f64::INFINITY, messages: 0, batches: 0 };
    for _ in 0..ROUNDS {
        let start = processor_ns();
        let mut left = rig.post()?;
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
        cost.batches = batches;
    }
    let row_bytes = batch.columns().iter().map(|column| column.get_buffer_memory_size() / ROWS);
    let of_rows = (ROWS / PARTITIONS).div_ceil(format.message_bytes() / row_bytes.sum::<usize>());
    let a_batch = if format.form() == Form::Appended { of_rows } else { batch.num_columns() + 1 };
    cost.messages = BATCHES * PARTITIONS * a_batch;
    Ok(cost)
}
