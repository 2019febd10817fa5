//! The operators at the head of a stage whose rows go by the card.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use datafusion::{
    arrow::datatypes::SchemaRef,
    common::{Result, internal_err, plan_err, tree_node::TreeNodeRecursion},
    execution::{SendableRecordBatchStream, TaskContext},
    physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr},
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
        coalesce_partitions::CoalescePartitionsExec,
        metrics::{ExecutionPlanMetricsSet, MetricsSet},
        repartition::RepartitionExec,
    },
};
use datafusion_distributed::BroadcastExec;
use tokio::sync::watch;

use drdma_arrow::Form;

use crate::passage;

/// Partitions of an exchange, at most: a partition's id is a byte.
pub const MAX_PARTITIONS: usize = 256;

/// Distribution of rows to consumers.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// Each row goes to the partition that the hash of these expressions determines; and the number of partitions.
    Shuffle(Vec<Arc<dyn PhysicalExpr>>, usize),
    /// Each row goes to all consumers; and their number.
    Broadcast(usize),
}

/// The head of a stage whose rows go by the card: `DrdmaShuffleExec` or `DrdmaBroadcastExec`.
///
/// It stands where the engine has a `RepartitionExec` or a `BroadcastExec`, but does nothing with the rows: it
/// passes its input's batches on as they are. The worker that runs the stage finds the partition of each row and
/// hands it to the card; the metrics are those of the exchange.
#[derive(Debug)]
pub struct DrdmaSendExec {
    input: Arc<dyn ExecutionPlan>,
    kind: Kind,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    executed: Vec<AtomicBool>,
    alive: Arc<watch::Sender<()>>,
}

/// What a worker that runs a stage knows of its head. It is in the session's configuration.
#[derive(Debug)]
pub(crate) struct Head {
    /// Distribution of the rows.
    pub kind: Kind,
    /// Metrics of the exchange.
    pub metrics: ExecutionPlanMetricsSet,
    /// Changes, or is closed, when the query is over and the plan is dropped.
    pub alive: watch::Receiver<()>,
}

impl DrdmaSendExec {
    /// The node that stands for the head of a stage. `None`: the engine's own transport has these rows to carry,
    /// as they are of types that have no form in messages, or have no columns, or there are too many partitions.
    pub fn of_head(head: &Arc<dyn ExecutionPlan>) -> Option<Self> {
        let can = |partitions| {
            partitions <= MAX_PARTITIONS
                && passage::format(&head.schema(), Form::Columns).is_ok_and(|f| f.is_some())
        };
        if let Some(repartition) = head.downcast_ref::<RepartitionExec>() {
            let Partitioning::Hash(exprs, partitions) = repartition.partitioning() else {
                return None;
            };
            let kind = Kind::Shuffle(exprs.clone(), *partitions);
            return can(*partitions).then(|| Self::new(repartition.input().clone(), kind));
        }
        let broadcast = head.downcast_ref::<BroadcastExec>()?;
        let consumers = broadcast.consumer_task_count();
        can(consumers * broadcast.input_partition_count())
            .then(|| Self::new(broadcast.input().clone(), Kind::Broadcast(consumers)))
    }

    pub(crate) fn new(input: Arc<dyn ExecutionPlan>, kind: Kind) -> Self {
        let partitions = match kind {
            Kind::Shuffle(..) => 1,
            Kind::Broadcast(_) => input.output_partitioning().partition_count(),
        };
        let properties = PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            Partitioning::UnknownPartitioning(partitions),
            input.pipeline_behavior(),
            input.boundedness(),
        );
        Self {
            input,
            kind,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
            executed: (0..partitions).map(|_| AtomicBool::new(false)).collect(),
            alive: Arc::new(watch::Sender::new(())),
        }
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The head, for the worker that runs the stage.
    pub(crate) fn head(&self) -> Head {
        let (kind, metrics) = (self.kind.clone(), self.metrics.clone());
        Head { kind, metrics, alive: self.alive.subscribe() }
    }
}

impl DisplayAs for DrdmaSendExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Shuffle(exprs, partitions) => {
                let exprs: Vec<_> = exprs.iter().map(ToString::to_string).collect();
                write!(f, "{}: hash=[{}], partitions={partitions}", self.name(), exprs.join(", "))?;
            }
            Kind::Broadcast(consumers) => {
                let partitions = self.properties.partitioning.partition_count();
                write!(f, "{}: consumers={consumers}, partitions={partitions}", self.name())?;
            }
        }
        write!(f, ", {}", passage::Passages::of(&self.schema()))
    }
}

impl DrdmaSendExec {
    fn is_broadcast(&self) -> bool {
        matches!(self.kind, Kind::Broadcast(_))
    }
}

impl ExecutionPlan for DrdmaSendExec {
    fn name(&self) -> &str {
        match self.kind {
            Kind::Shuffle(..) => "DrdmaShuffleExec",
            Kind::Broadcast(_) => "DrdmaBroadcastExec",
        }
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let Kind::Shuffle(exprs, _) = &self.kind else { return Ok(TreeNodeRecursion::Continue) };
        for expr in exprs {
            if f(expr)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (Some(input), true) = (children.pop(), children.is_empty()) else {
            return plan_err!("{} has one child", self.name());
        };
        Ok(Arc::new(Self::new(input, self.kind.clone())))
    }

    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let Some(executed) = self.executed.get(partition) else {
            return internal_err!("{} has no partition {partition}", self.name());
        };
        // Rows that were sent cannot be sent again.
        if executed.swap(true, Ordering::Relaxed) {
            return internal_err!("partition {partition} of {} was executed before", self.name());
        }
        let inputs = self.input.output_partitioning().partition_count();
        if self.is_broadcast() || inputs == 1 {
            return self.input.execute(partition, context);
        }
        CoalescePartitionsExec::new(self.input.clone()).execute(0, context)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
