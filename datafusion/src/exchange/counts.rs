//! Metrics of a task's output.

use std::collections::BTreeMap;

use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder, Time};
use drdma_arrow::Why;

/// Metrics of a task's output.
pub(super) struct Counts {
    pub rows: Count,
    pub appended: Count,
    pub bytes: Count,
    pub local_rows: Count,
    pub local_batches: Count,
    pub posts: Count,
    pub coalesced: Count,
    pub waits: Count,
    pub kept: Count,
    copied: BTreeMap<Why, Count>,
    metrics: ExecutionPlanMetricsSet,
    pub hashing: Time,
    pub posting: Time,
}

impl Counts {
    pub fn new(metrics: &ExecutionPlanMetricsSet) -> Self {
        let counter = |name: &'static str| MetricBuilder::new(metrics).global_counter(name);
        Self {
            rows: counter("sent_rows"),
            appended: counter("appended_rows"),
            bytes: counter("sent_bytes"),
            local_rows: counter("local_rows"),
            local_batches: counter("local_batches"),
            posts: counter("posts"),
            coalesced: counter("coalesced_batches"),
            waits: counter("waits_for_credit"),
            kept: counter("kept_send_queues"),
            copied: BTreeMap::new(),
            metrics: metrics.clone(),
            hashing: MetricBuilder::new(metrics).subset_time("ids_time", 0),
            posting: MetricBuilder::new(metrics).subset_time("post_time", 0),
        }
    }

    /// Counts bytes that were copied for this reason.
    pub fn copied(&mut self, why: Why, bytes: u64) {
        let name = match why {
            Why::Bits => "copied_bytes_bits",
            Why::Offsets => "copied_bytes_offsets",
            Why::Lengths => "copied_bytes_long_values",
            Why::Elements => "copied_bytes_element_ids",
            Why::Unaligned => "copied_bytes_unaligned",
            Why::Foreign => "copied_bytes_not_registered",
        };
        let metrics = &self.metrics;
        let count = self.copied.entry(why);
        let count = count.or_insert_with(|| MetricBuilder::new(metrics).global_counter(name));
        count.add(bytes as usize);
    }
}
