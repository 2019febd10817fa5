//! Whole LINEITEM, strings and all, from one card into columns at others.
//!
//! One request sends numbers and views: the receivers' cards append them to columns. Where strings do not stand in
//! their views, one more a column writes them to memory of the receivers, each behind its length.

mod check;
mod receiver;
mod report;
mod sender;
mod table;

use std::time::{Duration, Instant};

use drdma_fabric::{Fabric, NetworkConfig, Node};
use drdma_sim::clock::NS_PER_CYCLE;
use libdrdma::{
    Access, CompletionQueue, PartitionDestination, PartitionedRegion, PartitionedWorkRequest,
    ProtectionDomain, QueuePair, QueuePairAttributes, SharedOperation, SharedSendQueue, Status,
};
use serde::Serialize;

use super::{Cost, DemoError, Options, cost, lineitem, shuffle};
use crate::device::Kind;
pub use check::{ColumnsError, Verified};
use receiver::Receiver;
pub use report::render;
use sender::Loaded;
use table::{Batch, COLUMNS, ROW};

/// RNR timer: waits of 10 us where a receive or free rows are missing.
const MIN_RNR_TIMER: u8 = 1;
/// Timeout of 67 ms: nothing is lost here.
const TIMEOUT: u8 = 14;
const RETRIES: u8 = 7;
/// Receives are posted anew at once, and all rows are free when a batch begins, so that some waits are enough.
const RNR_RETRIES: u8 = 6;
/// Simulated time without a packet and a completion in which a card may still be at work: some, and for each row and
/// receiver as long as looking at its ids and strings beforehand takes, several times over.
const SILENCE: Duration = Duration::from_millis(1);
const SILENCE_A_ROW: Duration = Duration::from_nanos(200);
/// Interval at which time is advanced where no event is due.
const IDLE: Duration = Duration::from_micros(1);
/// The node that sends; receivers follow.
const SENDER: usize = 0;
/// Entries of the sender's completion queue: one request is under way at a time.
const COMPLETIONS: u32 = 16;

/// Results for rows that are sent whole.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Outcome {
    /// Costs of sending numbers and views.
    pub rows: Cost,
    /// Costs of the columns that have strings outside of their views.
    pub strings: Vec<Strings>,
    /// Number of rows of each receiver.
    pub receivers: Vec<u64>,
    /// Counts of what was compared, of all receivers.
    pub verified: Verified,
}

/// Costs of the strings of a column.
#[derive(Clone, Debug, Serialize)]
pub struct Strings {
    /// The column's name.
    pub column: &'static str,
    /// Costs of sending the strings.
    #[serde(flatten)]
    pub cost: Cost,
}

/// Sends the first rows of the table to receivers, and checks every value there.
///
/// # Errors
/// See [`DemoError`].
pub fn run(options: &Options, device: &str) -> Result<Outcome, DemoError> {
    let mut shuffle = Shuffle::new(options, device)?;
    let mut outcome = Outcome { receivers: vec![0; options.receivers], ..Outcome::default() };
    for batch in &batches(options) {
        let rows = shuffle.send(batch, &mut outcome)?;
        for (number, (receiver, rows)) in shuffle.receivers.iter_mut().zip(&rows).enumerate() {
            outcome.verified += check::arrived(number, batch, rows, &receiver.arrays()?)?;
            outcome.receivers[number] += rows.len() as u64;
            receiver.give_back()?;
        }
    }
    Ok(outcome)
}

/// The table's first rows, in batches.
fn batches(options: &Options) -> Vec<Batch> {
    let mut batches: Vec<Batch> = Vec::new();
    let mut left = options.whole_rows;
    // An error of `items` only says that there are enough rows.
    let _ = lineitem::items(options.scale_factor, |item| {
        if left == 0 {
            return Err(());
        }
        left -= 1;
        match batches.last_mut().filter(|batch| batch.rows() < options.batch_rows) {
            Some(batch) => batch.push(item),
            None => {
                let mut batch = Batch::new();
                batch.push(item);
                batches.push(batch);
            }
        }
        Ok(())
    });
    batches
}

/// Cards behind a switch, one of which sends.
struct Shuffle<'a> {
    options: &'a Options,
    /// True if the simulated hardware has a clock.
    has_clock: bool,
    fabric: Fabric,
    pd: ProtectionDomain,
    cq: CompletionQueue,
    ssq: SharedSendQueue<'static>,
    qps: Vec<QueuePair<'static>>,
    receivers: Vec<Receiver>,
}

impl<'a> Shuffle<'a> {
    fn new(options: &'a Options, device: &str) -> Result<Self, DemoError> {
        let cards = (0..=options.receivers).map(|_| shuffle::card(device));
        let fabric =
            Fabric::with_cards(NetworkConfig::default(), cards.collect::<Result<_, _>>()?)?;
        let context = fabric.node(SENDER).context();
        let pd = context.protection_domain();
        let cq = context.completion_queue().entries(COMPLETIONS).build()?;
        let ssq = pd.shared_send_queue(&cq).build()?;
        let (mut qps, mut receivers) = (Vec::new(), Vec::new());
        let capacity = options.whole_rows.min(options.batch_rows);
        for number in 0..options.receivers {
            let node = fabric.node(SENDER + 1 + number);
            let mut receiver = Receiver::new(number, node, capacity)?;
            let mut qp = pd.queue_pair(&cq).build()?;
            qp.connect(&attributes(options, node, receiver.qpn()))?;
            receiver.connect(&attributes(options, fabric.node(SENDER), qp.qpn()))?;
            qps.push(qp);
            receivers.push(receiver);
        }
        let has_clock = Kind::of(device) == Kind::Rtl;
        Ok(Self { options, has_clock, fabric, pd, cq, ssq, qps, receivers })
    }

    /// Sends a batch. Returns the rows that each receiver should have.
    fn send(&mut self, batch: &Batch, outcome: &mut Outcome) -> Result<Vec<Vec<usize>>, DemoError> {
        let receivers = self.options.receivers;
        let owners = sender::owners(batch, receivers);
        let mut rows = vec![Vec::new(); receivers];
        for (row, owner) in owners.iter().enumerate() {
            rows[usize::from(*owner)].push(row);
        }
        let loaded = Loaded::new(&self.pd, batch, receivers)?;
        // Strings are sent first, so that they are there when their rows have arrived.
        for (column, (name, _)) in COLUMNS.iter().enumerate() {
            let Some(region) = loaded.strings(&self.pd, column)? else { continue };
            let cost = self.post(&region, Some(column), batch.rows(), batch.rows())?;
            match outcome.strings.iter_mut().find(|strings| strings.column == *name) {
                Some(strings) => strings.cost += cost,
                None => outcome.strings.push(Strings { column: name, cost }),
            }
        }
        let packed = self.options.mtu as usize / ROW;
        outcome.rows += self.post(&loaded.rows()?, None, packed, batch.rows())?;
        let expected: Vec<usize> = rows.iter().map(Vec::len).collect();
        self.until(|shuffle| {
            let came = shuffle.receivers.iter().map(Receiver::rows);
            Ok(came.zip(&expected).all(|(came, expected)| came >= *expected))
        })?;
        Ok(rows)
    }

    /// Sends a region's rows to all receivers: WRITEs to the memory of a column's strings, or SENDs.
    fn post(
        &mut self,
        region: &PartitionedRegion<'static, u16>,
        strings_of: Option<usize>,
        rows_per_message: usize,
        rows: usize,
    ) -> Result<Cost, DemoError> {
        let context = self.fabric.node(SENDER).context().clone();
        let meter = cost::Meter::start(&context)?;
        let start = self.fabric.now();
        let started = Instant::now();
        let mut destinations = Vec::new();
        for (number, (qp, receiver)) in self.qps.iter().zip(&self.receivers).enumerate() {
            let destination = PartitionDestination::new(qp, number as u16);
            destinations.push(match strings_of.and_then(|column| receiver.strings(column)) {
                Some((addr, rkey)) => destination.remote(addr, rkey),
                None => destination,
            });
        }
        let operation = match strings_of {
            Some(_) => SharedOperation::Write,
            None => SharedOperation::Send,
        };
        let request = PartitionedWorkRequest::new(0, region)
            .operation(operation)
            .rows_per_message(rows_per_message as u32)
            .destinations(&destinations);
        let mut batch = self.ssq.batch();
        batch.post_ssq_send(&request)?;
        let posting = started.elapsed();
        batch.submit()?;
        self.until(Self::has_completed)?;
        let mut cost = meter.stop(&context, None, rows, posting)?;
        let ns = (self.fabric.now() - start).as_nanos() as f64;
        cost.cycles = self.has_clock.then_some((ns / NS_PER_CYCLE) as u64);
        Ok(cost)
    }

    /// True if the request that was posted has ended.
    fn has_completed(&mut self) -> Result<bool, DemoError> {
        let Some(completion) = self.cq.poll().next() else { return Ok(false) };
        let (wr_id, status) = (completion.wr_id, completion.status);
        match status {
            Status::Success => Ok(true),
            status => Err(DemoError::Status { wr_id, status }),
        }
    }

    /// Advances time until `is_done` returns true; receivers take what has arrived in between.
    fn until(
        &mut self,
        mut is_done: impl FnMut(&mut Self) -> Result<bool, DemoError>,
    ) -> Result<(), DemoError> {
        let rows = self.options.batch_rows.min(self.options.whole_rows) * self.options.receivers;
        let patience = SILENCE + SILENCE_A_ROW * rows as u32;
        let mut last = (self.fabric.now(), 0);
        loop {
            let mut any = false;
            for receiver in &mut self.receivers {
                any |= receiver.poll()?;
            }
            if is_done(self)? {
                return Ok(());
            }
            let frames = self.fabric.counters(SENDER).sent_frames;
            let now = self.fabric.now();
            if any || frames != last.1 {
                last = (now, frames);
            } else if now - last.0 >= patience {
                return Err(DemoError::Silent { waited: patience });
            }
            if !self.fabric.step()? {
                self.fabric.advance(IDLE)?;
            }
        }
    }
}

/// Attributes of a queue pair that is connected to that of a node.
fn attributes(options: &Options, node: &Node, qpn: u32) -> QueuePairAttributes {
    QueuePairAttributes::new()
        .path_mtu(options.mtu)
        .dest_mac(node.mac())
        .dest_ip(node.ip())
        .dest_qpn(qpn)
        .start_psn(0)
        .rq_psn(0)
        .access(Access::REMOTE_WRITE)
        .min_rnr_timer(MIN_RNR_TIMER)
        .timeout(TIMEOUT)
        .retry_cnt(RETRIES)
        .rnr_retry(RNR_RETRIES)
}

#[cfg(test)]
mod tests;
