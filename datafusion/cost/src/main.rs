//! What a row that goes to another worker costs the sending processor: ids and posts, against what the engine does
//! by itself: take, coalesce, Flight, socket. `cargo xtask engine --measure`.
//!
//! All figures are CPU time of the sending thread, in one run, the least of some rounds. The card is `soft:`, in whose
//! own work nothing of this is counted. Flight is without compression, which is to its advantage here.

use std::{
    error::Error,
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    sync::Arc,
    thread,
    time::Duration,
};

use arrow_flight::encode::FlightDataEncoderBuilder;
use datafusion::{
    arrow::{
        array::{ArrayRef, Int32Array, UInt32Array},
        compute::{BatchCoalescer, take_arrays},
        datatypes::{DataType, Field, Schema},
        record_batch::RecordBatch,
    },
    common::hash_utils::create_hashes,
    physical_expr::{PhysicalExpr, expressions::Column},
    physical_plan::repartition::REPARTITION_RANDOM_STATE,
};
use drdma_arrow::{Arena, Foreign, Format, Receiver, Selection, Sender};
use drdma_datafusion::{
    cpu,
    exchange::{gather::Gather, partition_ids},
    tpch,
};
use drdma_fabric::{Fabric, NetworkConfig};
use futures::{StreamExt as _, stream};
use libdrdma::{Access, QueuePair, QueuePairAttributes, Status};
use prost::Message as _;

#[global_allocator]
static MEMORY: libdrdma::Arena = libdrdma::Arena::new(8 << 30).threshold(4096);

/// Rows of a batch.
const ROWS: usize = 8192;
/// Batches of a round.
const BATCHES: usize = 24;
/// Rounds.
const ROUNDS: usize = 5;
/// Destinations.
const PARTITIONS: usize = 16;
/// Bytes of a message.
const MESSAGE: usize = 16 << 10;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    println!(
        "ns of CPU a row of the sender, {PARTITIONS} destinations, batches of {ROWS} rows unless told\n"
    );
    println!(
        "| rows | B a row | gather | ids | posts | together | take | coalesce | Flight | socket | together | ratio |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
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
    for (name, batches) in [
        ("5 x Int32", integers(ROWS)?),
        ("5 x Int32, batches of 256 rows", integers(256)?),
        ("LINEITEM, fixed width", fixed),
        ("LINEITEM", lineitem(None)?),
    ] {
        let card = by_card(&batches)?;
        let socket = by_socket(&batches)?;
        let (ours, theirs) = (card.iter().sum::<f64>(), socket.iter().sum::<f64>());
        let [gather, ids, posts] = card;
        let [take, coalesce, flight, wire] = socket;
        let bytes = row_bytes(&batches);
        println!(
            "| {name} | {bytes:.0} | {gather:.1} | {ids:.1} | {posts:.1} | {ours:.1} | {take:.1} | {coalesce:.1} | {flight:.1} | {wire:.1} | {theirs:.1} | {:.1} |",
            theirs / ours
        );
    }
    Ok(())
}

/// As many rows in all, whatever the batches have.
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
fn now() -> f64 {
    cpu::now().as_nanos() as f64
}

/// The least of each figure over some rounds, a row.
fn least<const N: usize>(
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

/// Gathering small batches, ids, posts.
fn by_card(batches: &[RecordBatch]) -> Result<[f64; 3]> {
    let mut fabric = Fabric::new(NetworkConfig::default(), 2)?;
    let [from, to] = [0, 1].map(|node| fabric.node(node).clone());
    let [pd, pd_to] = [&from, &to].map(|node| node.context().protection_domain());
    let (cq, cq_to) =
        (from.context().completion_queue().build()?, to.context().completion_queue().build()?);
    let format = Format::new(batches[0].schema(), MESSAGE)?;
    let arena = Arena::over(&pd, &MEMORY)?;
    let mut receiver = Receiver::new(format.clone(), &pd_to, 4096)?;
    let mut pairs: Vec<QueuePair<'static>> = Vec::new();
    let mut ends = Vec::new();
    for _ in 0..PARTITIONS {
        let mut pair = pd.queue_pair(&cq).send_blocks(1).build()?;
        let end = pd_to.queue_pair(&cq_to).send_blocks(1).shared_receive_queue(receiver.queue());
        let mut end = end.build()?;
        pair.connect(&attributes(&to, end.qpn()))?;
        end.connect(&attributes(&from, pair.qpn()))?;
        pairs.push(pair);
        ends.push(end);
    }
    let mut queue = pd.shared_send_queue(&cq).build()?;
    let mut sender = Sender::new(format, &pd, &arena, Foreign::Copy);
    let exprs: Vec<Arc<dyn PhysicalExpr>> = vec![key(batches)];
    let to: Vec<_> = (0..).zip(&pairs).collect();
    least(batches, || {
        let mut times = [0.0; 3];
        let mut gather = Gather::new(batches[0].schema(), 1);
        let start = now();
        let mut gathered = Vec::new();
        for batch in batches {
            gathered.extend(gather.push(0, batch.clone())?);
        }
        gathered.extend(gather.flush()?.into_iter().map(|(_, batch)| batch));
        times[0] += now() - start;
        for batch in &gathered {
            let start = now();
            let ids = Selection::from(partition_ids(&exprs, batch, PARTITIONS)?);
            let middle = now();
            let sent = sender.send(&mut queue, 1, batch, &ids, &to)?;
            times[1] += middle - start;
            times[2] += now() - middle;
            let (mut left, mut rows) = (sent.completions, batch.num_rows());
            let arrived = fabric.run_until(Duration::from_secs(1), |_| {
                for completion in cq.poll() {
                    assert_eq!(completion.status, Status::Success);
                    left -= 1;
                }
                while let Some(received) = receiver.poll()? {
                    rows -= received.batch.num_rows();
                }
                Ok::<_, Box<dyn Error>>(left == 0 && rows == 0)
            })?;
            assert!(arrived, "{rows} rows did not arrive");
        }
        Ok(times)
    })
}

fn attributes(peer: &drdma_fabric::Node, qpn: u32) -> QueuePairAttributes {
    QueuePairAttributes::new()
        .path_mtu(4096)
        .dest_qpn(qpn)
        .dest_mac(peer.mac())
        .dest_ip(peer.ip())
        .start_psn(0)
        .rq_psn(0)
        .access(Access::empty())
        .min_rnr_timer(1)
        .timeout(14)
        .retry_cnt(7)
        .rnr_retry(7)
        .max_rd_atomic(1)
        .max_dest_rd_atomic(1)
}

fn key(batches: &[RecordBatch]) -> Arc<dyn PhysicalExpr> {
    Arc::new(Column::new(batches[0].schema().field(0).name(), 0))
}

/// Hash and take, coalesce, Flight, socket.
fn by_socket(batches: &[RecordBatch]) -> Result<[f64; 4]> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut socket = TcpStream::connect(listener.local_addr()?)?;
    let (mut other, _) = listener.accept()?;
    let reader = thread::spawn(move || {
        let mut bytes = vec![0; 1 << 20];
        while other.read(&mut bytes).is_ok_and(|read| read > 0) {}
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
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
            let messages = runtime.block_on(async {
                let mut encoder = FlightDataEncoderBuilder::new()
                    .with_max_flight_data_size(usize::MAX)
                    .build(stream::iter(full.into_iter().map(Ok)));
                let mut messages = Vec::new();
                while let Some(data) = encoder.next().await {
                    messages.push(data?.encode_to_vec());
                }
                Ok::<_, arrow_flight::error::FlightError>(messages)
            })?;
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
