//! What a row costs if the cards are software: `cargo bench --package drdma-arrow --bench endpoint`.
//!
//! Two cards `soft:`, connected by UDP on this machine, and both of their ends are the work of one thread: posting, all
//! that the cards do, the system's UDP, and taking batches. Sixteen connections bring batches of 11 columns of fixed
//! width, 104 B a row, as LINEITEM's are. Beside it stands what an engine does instead, on one thread as well: each
//! destination's rows are taken and put together, encoded as Arrow IPC, sent over TCP on this machine, and decoded. And
//! what a copy of the columns costs.

mod rig;

use std::{
    error::Error,
    hint::black_box,
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket},
};

use arrow_array::{RecordBatch, UInt32Array};
use arrow_ipc::{reader::StreamReader, writer::StreamWriter};
use arrow_select::{coalesce::BatchCoalescer, take::take_record_batch};
use drdma_arrow::{Form, Format};
use drdma_fabric::WiredNode;
use drdma_wire::udp::Udp;
use rig::{BATCHES, PARTITIONS, ROUNDS, ROWS, Rig, processor_ns};

fn main() -> Result<(), Box<dyn Error>> {
    let batch = rig::batch()?;
    let rows = (ROWS * BATCHES) as f64;
    let copy = least(|| copy(&batch))? / rows;
    println!("memcpy: {copy:.1} ns a row");
    let engine = by_socket(&batch)? / rows;
    println!("take, coalesce, IPC, TCP: {engine:.1} ns a row, {:.0} times memcpy", engine / copy);
    for (form, message) in [(Form::Columns, 16 << 10), (Form::Appended, 64 << 10)] {
        let format = Format::with_form(batch.schema(), message, form)?;
        let cost = by_cards(&format, &batch)? / rows;
        println!(
            "{form:?}, messages of {message} B: {cost:.1} ns a row, {:.0} times memcpy, {:.2} of the engine's way",
            cost / copy,
            cost / engine
        );
    }
    Ok(())
}

/// The least time of a round, in ns.
fn least(mut round: impl FnMut() -> Result<(), Box<dyn Error>>) -> Result<f64, Box<dyn Error>> {
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = processor_ns();
        round()?;
        least = least.min(processor_ns() - start);
    }
    Ok(least)
}

/// Time of a round in ns, by cards `soft:`: posting, sending, receiving and taking the batches.
fn by_cards(format: &Format, batch: &RecordBatch) -> Result<f64, Box<dyn Error>> {
    let bind = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
    let (one, other) = (bind()?, bind()?);
    let ends = [one.local_addr()?, other.local_addr()?];
    let mut from = WiredNode::open(Box::new(Udp::over(one, &[ends[1]])?), 0)?;
    let mut to = WiredNode::open(Box::new(Udp::over(other, &[ends[0]])?), 1)?;
    let mut rig = Rig::new(from.node(), to.node(), format, batch)?;
    least(|| {
        let (mut left, mut received) = (rig.post()?.0, 0);
        while left > 0 || received < ROWS * BATCHES {
            from.turn()?;
            to.turn()?;
            left -= rig.completed();
            received += rig.receivers.take_all()?.0;
        }
        assert_eq!(received, ROWS * BATCHES);
        Ok(())
    })
}

/// Bytes that the system has room for between two ends of a connection.
const ON_THE_WAY: usize = 32 << 10;

/// Time of a round in ns, as an engine does it: over TCP, encoded as Arrow IPC.
fn by_socket(batch: &RecordBatch) -> Result<f64, Box<dyn Error>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut out = TcpStream::connect(listener.local_addr()?)?;
    out.set_nodelay(true)?;
    let (mut to, _) = listener.accept()?;
    let (mut encoded, mut arrived) = (Vec::new(), Vec::new());
    least(|| {
        let mut received = 0;
        for batches in taken(batch)? {
            encoded.clear();
            let mut writer = StreamWriter::try_new(&mut encoded, &batch.schema())?;
            batches.iter().try_for_each(|batch| writer.write(batch))?;
            writer.finish()?;
            drop(writer);
            arrived.resize(encoded.len(), 0);
            for (sent, got) in encoded.chunks(ON_THE_WAY).zip(arrived.chunks_mut(ON_THE_WAY)) {
                out.write_all(sent)?;
                to.read_exact(got)?;
            }
            for batch in StreamReader::try_new(&arrived[..], None)? {
                received += black_box(batch?).num_rows();
            }
        }
        assert_eq!(received, ROWS * BATCHES);
        Ok(())
    })
}

/// The rows of each destination, put together to batches of up to [`ROWS`].
fn taken(batch: &RecordBatch) -> Result<Vec<Vec<RecordBatch>>, Box<dyn Error>> {
    let mut coalescers: Vec<_> =
        (0..PARTITIONS).map(|_| BatchCoalescer::new(batch.schema(), ROWS)).collect();
    for _ in 0..BATCHES {
        let mut rows = vec![Vec::new(); PARTITIONS];
        (0..ROWS).for_each(|row| rows[rig::id(row)].push(row as u32));
        for (coalescer, rows) in coalescers.iter_mut().zip(rows) {
            coalescer.push_batch(take_record_batch(batch, &UInt32Array::from(rows))?)?;
        }
    }
    let finished = coalescers.into_iter().map(|mut coalescer| {
        coalescer.finish_buffered_batch()?;
        Ok(std::iter::from_fn(|| coalescer.next_completed_batch()).collect())
    });
    finished.collect()
}

/// Copies the columns of all batches.
fn copy(batch: &RecordBatch) -> Result<(), Box<dyn Error>> {
    let mut copy = Vec::with_capacity(batch.get_array_memory_size());
    for _ in 0..BATCHES {
        copy.clear();
        for column in batch.columns() {
            column.to_data().buffers().iter().for_each(|buffer| copy.extend_from_slice(buffer));
        }
        black_box(&copy);
    }
    Ok(())
}
