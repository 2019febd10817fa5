//! The planner: this crate's operators in place of the engine's, and the workers that tasks run at.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use datafusion::{
    catalog::Session,
    common::{
        Result,
        tree_node::{Transformed, TreeNode},
    },
    execution::{SessionStateBuilder, context::QueryPlanner},
    logical_expr::LogicalPlan,
    physical_plan::{ChildrenPropertiesMode, ExecutionPlan, ReplaceChildrenOptions},
};
use datafusion_distributed::{
    NetworkBroadcastExec, NetworkShuffleExec, RouteTasksEvent, RouteTasksEventResponse,
};
use url::Url;

use crate::{
    node::DrdmaSendExec,
    transport::{Transport, transport},
};

/// Prefix of a URL's fragment if the rows of its stage go by the card.
const FRAGMENT: &str = "drdma-";

/// Plans as the engine does, then puts [`DrdmaSendExec`] at the heads of stages, unless the session keeps the engine's
/// own exchange.
#[derive(Debug)]
struct Planner {
    engine: Option<Arc<dyn QueryPlanner + Send + Sync>>,
}

/// Makes a session plan for the card.
pub(crate) fn with_planner(mut builder: SessionStateBuilder) -> SessionStateBuilder {
    let engine = builder.query_planner().take();
    builder.with_query_planner(Arc::new(Planner { engine }))
}

#[async_trait]
impl QueryPlanner for Planner {
    async fn create_physical_plan(
        &self,
        logical_plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let engine = self.engine.as_ref().expect("the session has the engine's planner");
        let plan = engine.create_physical_plan(logical_plan, session).await?;
        match transport(session.config_options()) {
            Transport::Drdma => Ok(plan.transform_up(with_card)?.data),
            Transport::Flight => Ok(plan),
        }
    }
}

/// Replaces a shuffle or broadcast of the engine by one whose rows go by the card, if that is possible.
fn with_card(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    if !plan.is::<NetworkShuffleExec>() && !plan.is::<NetworkBroadcastExec>() {
        return Ok(Transformed::no(plan));
    }
    let Some(head) = plan.children().first().and_then(|head| DrdmaSendExec::of_head(head)) else {
        return Ok(Transformed::no(plan));
    };
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);
    Ok(Transformed::yes(plan.replace_children(vec![Arc::new(head)], options)?))
}

/// Assigns tasks to workers in turns. The URLs of a stage whose rows go by the card are marked.
#[derive(Debug)]
pub(crate) struct Routes {
    pub workers: Vec<Url>,
    stages: AtomicUsize,
}

impl Routes {
    pub fn new(workers: Vec<Url>) -> Self {
        Self { workers, stages: AtomicUsize::new(0) }
    }

    pub fn route(&self, event: &RouteTasksEvent<'_>) -> RouteTasksEventResponse {
        let stage = self.stages.fetch_add(1, Ordering::Relaxed);
        // A stage with one task does not always run at the first worker.
        let first = if event.task_count == 1 { stage } else { 0 };
        let is_ours = event.plan.is::<DrdmaSendExec>();
        let url = |task: usize| {
            let mut url = self.workers[(first + task) % self.workers.len()].clone();
            // No two stages have the same URLs: a worker that asks itself would take the engine's short cut.
            url.set_fragment(is_ours.then(|| format!("{FRAGMENT}{stage}")).as_deref());
            url
        };
        RouteTasksEventResponse::new((0..event.task_count).map(url).collect())
    }
}

/// True if the rows of a task at that URL go by the card.
pub(crate) fn goes_by_card(url: &Url) -> bool {
    url.fragment().is_some_and(|fragment| fragment.starts_with(FRAGMENT))
}

/// The worker of a task at that URL.
pub(crate) fn worker_of(url: &Url) -> Url {
    let mut url = url.clone();
    url.set_fragment(None);
    url
}
