//! Rows as the engine sends them: taken, coalesced, encoded as Flight, through a TCP socket of this machine.

use std::{
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    thread,
};

use arrow_flight::{FlightData, decode::FlightRecordBatchStream, encode::FlightDataEncoderBuilder};
use datafusion::{
    arrow::{
        array::UInt32Array,
        compute::{BatchCoalescer, take_arrays},
        record_batch::RecordBatch,
    },
    common::hash_utils::create_hashes,
    physical_plan::repartition::REPARTITION_RANDOM_STATE,
};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use prost::{Message as _, bytes::Bytes};
use tokio::runtime::{Builder, Runtime};

use crate::{PARTITIONS, ROWS, Result, least, now};

/// Costs of a row at the sender, in ns: hash and take, coalesce, Flight, socket.
pub fn by_socket(batches: &[RecordBatch]) -> Result<[f64; 4]> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut socket = TcpStream::connect(listener.local_addr()?)?;
    let (mut other, _) = listener.accept()?;
    let reader = thread::spawn(move || {
        let mut bytes = vec![0; 1 << 20];
        while other.read(&mut bytes).is_ok_and(|read| read > 0) {}
    });
    let runtime = Builder::new_current_thread().build()?;
    let times = least(batches, || {
        let mut times = [0.0; 4];
        let mut coalescers: Vec<_> =
            (0..PARTITIONS).map(|_| BatchCoalescer::new(batches[0].schema(), ROWS)).collect();
        let mut full: Vec<Vec<RecordBatch>> = vec![Vec::new(); PARTITIONS];
        for batch in batches {
            let start = now();
            let parts = take(batch)?;
            let middle = now();
            for ((part, coalescer), full) in parts.into_iter().zip(&mut coalescers).zip(&mut full) {
                coalescer.push_batch(part)?;
                full.extend(std::iter::from_fn(|| coalescer.next_completed_batch()));
            }
            times[0] += middle - start;
            times[1] += now() - middle;
        }
        let start = now();
        for (coalescer, full) in coalescers.iter_mut().zip(&mut full) {
            coalescer.finish_buffered_batch()?;
            full.extend(std::iter::from_fn(|| coalescer.next_completed_batch()));
        }
        times[1] += now() - start;
        for full in full {
            let start = now();
            let messages = encode(&runtime, full)?;
            let middle = now();
            for message in messages {
                socket.write_all(&message)?;
            }
            times[2] += middle - start;
            times[3] += now() - middle;
        }
        Ok(times)
    });
    drop(socket);
    reader.join().expect("it only reads");
    times
}

/// Costs of a row at the receiver, in ns: socket, Flight.
pub fn from_socket(batches: &[RecordBatch]) -> Result<[f64; 2]> {
    let runtime = Builder::new_current_thread().build()?;
    // Messages of each partition, encoded once.
    let mut coalescers: Vec<_> =
        (0..PARTITIONS).map(|_| BatchCoalescer::new(batches[0].schema(), ROWS)).collect();
    for batch in batches {
        for (part, coalescer) in take(batch)?.into_iter().zip(&mut coalescers) {
            coalescer.push_batch(part)?;
        }
    }
    let mut partitions = Vec::new();
    for coalescer in &mut coalescers {
        coalescer.finish_buffered_batch()?;
        let full = std::iter::from_fn(|| coalescer.next_completed_batch()).collect();
        partitions.push(encode(&runtime, full)?);
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut socket = TcpStream::connect(listener.local_addr()?)?;
    let (mut other, _) = listener.accept()?;
    let counts: Vec<usize> = partitions.iter().map(Vec::len).collect();
    let writer = thread::spawn(move || {
        // Round after round, until the reader is gone.
        loop {
            for message in partitions.iter().flatten() {
                let len = (message.len() as u64).to_le_bytes();
                if other.write_all(&len).and_then(|()| other.write_all(message)).is_err() {
                    return;
                }
            }
        }
    });
    let times = least(batches, || {
        let (mut times, mut rows) = ([0.0; 2], 0);
        for count in &counts {
            let start = now();
            let mut messages = Vec::with_capacity(*count);
            for _ in 0..*count {
                let mut len = [0; 8];
                socket.read_exact(&mut len)?;
                let mut bytes = Vec::with_capacity(u64::from_le_bytes(len) as usize);
                (&mut socket).take(u64::from_le_bytes(len)).read_to_end(&mut bytes)?;
                messages.push(bytes);
            }
            let middle = now();
            let data =
                messages.into_iter().map(|bytes| Ok(FlightData::decode(Bytes::from(bytes))?));
            let data = stream::iter(data.collect::<Vec<_>>());
            let stream = FlightRecordBatchStream::new_from_flight_data(data);
            let received: Vec<RecordBatch> = runtime.block_on(stream.try_collect())?;
            rows += received.iter().map(RecordBatch::num_rows).sum::<usize>();
            drop(received);
            times[0] += middle - start;
            times[1] += now() - middle;
        }
        assert_eq!(rows, batches.iter().map(RecordBatch::num_rows).sum::<usize>());
        Ok(times)
    });
    drop(socket);
    writer.join().expect("it only writes");
    times
}

/// The messages of a stream of batches.
fn encode(runtime: &Runtime, batches: Vec<RecordBatch>) -> Result<Vec<Vec<u8>>> {
    let mut encoder = FlightDataEncoderBuilder::new()
        .with_max_flight_data_size(usize::MAX)
        .build(stream::iter(batches.into_iter().map(Ok)));
    let messages = runtime.block_on(async {
        let mut messages = Vec::new();
        while let Some(data) = encoder.next().await {
            messages.push(data?.encode_to_vec());
        }
        Ok::<_, arrow_flight::error::FlightError>(messages)
    })?;
    Ok(messages)
}

/// A batch for each partition, as the engine's `BatchPartitioner` makes them: indices, one take, slices.
fn take(batch: &RecordBatch) -> Result<Vec<RecordBatch>> {
    let mut hashes = vec![0; batch.num_rows()];
    let key = &batch.columns()[..1];
    create_hashes(key, REPARTITION_RANDOM_STATE.random_state(), &mut hashes)?;
    let mut indices = vec![Vec::new(); PARTITIONS];
    for (row, hash) in (0_u32..).zip(&hashes) {
        indices[(hash % PARTITIONS as u64) as usize].push(row);
    }
    let all = UInt32Array::from(indices.concat());
    let columns = take_arrays(batch.columns(), &all, None)?;
    let taken = RecordBatch::try_new(batch.schema(), columns)?;
    let mut first = 0;
    let slice = |rows: &Vec<u32>| {
        let slice = taken.slice(first, rows.len());
        first += rows.len();
        slice
    };
    Ok(indices.iter().map(slice).collect())
}
