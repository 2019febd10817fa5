//! A cluster: workers of the engine, each with a card `soft:`, and a coordinator that plans.

use std::{
    fmt,
    num::NonZeroUsize,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use datafusion::{
    arrow::{array::AsArray, record_batch::RecordBatch},
    common::Result as DataFusionResult,
    execution::SessionStateBuilder,
    physical_plan::ExecutionPlan,
    prelude::{CsvReadOptions, ParquetReadOptions, SessionConfig, SessionContext},
};
use datafusion_distributed::{
    DistributedExt, RouteTasksEvent, SessionStateBuilderExt, WorkerResolver, display_plan_ascii,
};
use drdma_fabric::{NetworkConfig, nodes::MAX_NODES};
use libdrdma::Arena;
use tokio::runtime::{Builder, Runtime};
use url::Url;

use crate::{
    Deployment, Error, Transport,
    codec::Codec,
    cpu::Usage,
    deployment::{self, Workers},
    exchange::Config,
    health::{Health, Lost},
    network::Totals,
    planner::{self, Routes},
    transport::SessionOptions,
    worker::Resolver,
};

/// Options of a cluster.
#[derive(Clone, Debug)]
pub struct Options {
    /// Workers, 1 to 254. On hosts there are as many as their directory has.
    pub workers: usize,
    /// The place where workers run.
    pub deployment: Deployment,
    /// Partitions that each task of a stage has (the engine's `target_partitions`).
    pub partitions: usize,
    /// Bytes of a table's files that are worth a partition of their own. 1 spreads every scan over all workers.
    pub scan_bytes: usize,
    /// What carries rows from worker to worker. `SET drdma.exchange = ...` changes it for later queries.
    pub transport: Transport,
    /// Memory and disk of exchanges. On hosts their directory says it.
    pub exchange: Config,
    /// How long a worker may leave a question without an answer, while a query runs, before the query fails.
    pub patience: Duration,
    /// The process's allocator, if it is an arena, so that cards read batches where they lie. Whatever lies
    /// elsewhere is copied before it is sent. Workers in processes have their own.
    pub memory: &'static Arena,
}

impl Options {
    /// Options for this many workers on threads, with 2 partitions a task, on a network of 100 Gb/s.
    pub fn new(workers: usize, memory: &'static Arena) -> Self {
        let (exchange, patience) = (Config::default(), Duration::from_secs(10));
        let deployment = Deployment::Threads(NetworkConfig::default());
        let transport = Transport::Drdma;
        let (partitions, scan_bytes) = (2, 1);
        Self { workers, deployment, partitions, scan_bytes, transport, exchange, patience, memory }
    }
}

/// Workers that run, and a session that plans for them.
///
/// ```no_run
/// use drdma_datafusion::{Cluster, Options};
/// use libdrdma::Arena;
///
/// /// What the engine computes lies where the cards read it.
/// #[global_allocator]
/// static MEMORY: Arena = Arena::new(4 << 30).threshold(4096);
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let cluster = Cluster::start(Options::new(3, &MEMORY))?;
/// cluster.register("orders", "orders.parquet")?;
/// let rows = cluster.query("select o_custkey, count(*) from orders group by o_custkey")?;
/// # let _ = rows;
/// # Ok(()) }
/// ```
pub struct Cluster {
    session: SessionContext,
    health: Health,
    coordinator: Option<Runtime>,
    workers: Mutex<Box<dyn Workers>>,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster").field("health", &self.health).finish_non_exhaustive()
    }
}

impl Cluster {
    /// Starts the workers, or finds those on hosts.
    ///
    /// # Errors
    /// A number of workers that is not possible, or what the system or a card refuses.
    pub fn start(options: Options) -> Result<Self, Error> {
        if options.partitions == 0 {
            let (what, value, expected) = ("partitions", "0".to_owned(), "at least 1");
            return Err(Error::Options { what, value, expected });
        }
        let possible = 1..=MAX_NODES;
        let is_told = !matches!(options.deployment, Deployment::Hosts(_));
        if is_told && !possible.contains(&options.workers) {
            let (what, value, expected) = ("workers", options.workers.to_string(), "1 to 254");
            return Err(Error::Options { what, value, expected });
        }
        options.exchange.check()?;
        let workers = deployment::start(&options)?;
        let members = workers.members().to_vec();
        let urls = members.iter().map(|member| member.url.clone()).collect();
        let session = session(&options, urls)?;
        let coordinator = Some(runtime("drdma-coordinator")?);
        let health = Health::new(members, options.patience);
        let cluster = Self { session, health, coordinator, workers: Mutex::new(workers) };
        // Workers on hosts may not be there at all, or be others.
        let directory = match &options.deployment {
            Deployment::Hosts(directory) => Some(directory),
            _ => None,
        };
        cluster.coordinator().block_on(cluster.health.identify(directory))?;
        Ok(cluster)
    }

    /// The coordinator's session.
    pub fn session(&self) -> &SessionContext {
        &self.session
    }

    /// What the cards of all workers have sent. A worker that does not answer is left out.
    pub fn totals(&self) -> Totals {
        let statuses = self.coordinator().block_on(self.health.statuses());
        statuses.into_iter().flatten().map(|status| status.totals).sum()
    }

    /// What all workers together have used since they started.
    ///
    /// # Errors
    /// A worker does not answer.
    pub fn usage(&self) -> Result<Usage, Error> {
        let statuses = self.coordinator().block_on(self.health.statuses());
        let mut usage = Usage::default();
        for (worker, status) in statuses.into_iter().enumerate() {
            let Some(status) = status else {
                return Err(self.loss((worker, "it does not answer".into())));
            };
            usage += status.usage;
        }
        Ok(usage)
    }

    /// The threads that queries are coordinated on.
    pub fn coordinator(&self) -> &Runtime {
        self.coordinator.as_ref().expect("it is there until the cluster is dropped")
    }

    /// Makes files a table: CSV with a header if `path` ends with `.csv`, Parquet otherwise. A directory is all of
    /// its Parquet files.
    ///
    /// # Errors
    /// DataFusion cannot read the files.
    pub fn register(&self, table: &str, path: &str) -> Result<(), Error> {
        self.coordinator().block_on(register(&self.session, table, path))
    }

    /// Runs a query and collects its rows.
    ///
    /// # Errors
    /// The query is not possible, an exchange failed, or a worker is lost.
    pub fn query(&self, sql: &str) -> Result<Vec<RecordBatch>, Error> {
        let work = async { Ok(self.session.sql(sql).await?.collect().await?) };
        self.coordinator().block_on(self.watched(work))
    }

    /// Runs `work`, which needs the workers. Fails as soon as one of them has not answered for [`Options::patience`];
    /// an error of the work itself that comes with the loss of a worker names that worker.
    ///
    /// # Errors
    /// The error of the work, or [`Error::Lost`].
    pub async fn watched<R>(
        &self,
        work: impl Future<Output = Result<R, Error>>,
    ) -> Result<R, Error> {
        let error = tokio::select! {
            done = work => match done {
                Ok(done) => return Ok(done),
                Err(error) => error,
            },
            lost = self.health.watch() => return Err(self.loss(lost)),
        };
        let lost = self.health.lost().await;
        Err(lost.map_or(error, |lost| self.loss(lost)))
    }

    /// The error that names a worker that is lost.
    fn loss(&self, (worker, reason): Lost) -> Error {
        let fate = self.workers().fate(worker);
        let reason = fate.map_or_else(|| reason.clone(), |fate| format!("{fate} ({reason})"));
        Error::Lost { worker: self.health.name_of(worker), reason }
    }

    fn workers(&self) -> std::sync::MutexGuard<'_, Box<dyn Workers>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The plan of a query.
    ///
    /// # Errors
    /// The query is not possible.
    pub fn plan(&self, sql: &str) -> Result<Arc<dyn ExecutionPlan>, Error> {
        self.coordinator()
            .block_on(async { Ok(self.session.sql(sql).await?.create_physical_plan().await?) })
    }

    /// The plan of a query as text, stage by stage.
    ///
    /// # Errors
    /// The query is not possible.
    pub fn explain(&self, sql: &str) -> Result<String, Error> {
        Ok(display_plan_ascii(self.plan(sql)?.as_ref(), false))
    }

    /// Runs a query, and returns its plan as text, with the metrics of each operator and each exchange.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn analyze(&self, sql: &str) -> Result<String, Error> {
        let rows = self.query(&format!("explain analyze {sql}"))?;
        let text = rows.first().map(|batch| batch.column(1).as_string::<i32>().value(0).to_owned());
        Ok(text.unwrap_or_default())
    }

    /// Ends of exchanges that are under way at all workers that answer: 0 when no query runs.
    pub fn exchange_ends(&self) -> usize {
        let statuses = self.coordinator().block_on(self.health.statuses());
        statuses.into_iter().flatten().map(|status| status.ends).sum()
    }

    /// The most bytes of batches that ever waited in a worker's memory to be sent, among all workers that answer.
    pub fn most_waiting(&self) -> usize {
        let statuses = self.coordinator().block_on(self.health.statuses());
        statuses.into_iter().flatten().map(|status| status.most_waiting).max().unwrap_or_default()
    }

    /// Stops a worker, as if its machine were lost: all of its connections are closed at once. One on another host
    /// goes on.
    ///
    /// # Panics
    /// If there is no such worker.
    pub fn stop_worker(&self, worker: usize) {
        self.workers().stop(worker);
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.coordinator.take().into_iter().for_each(Runtime::shutdown_background);
    }
}

/// Makes files a table of a session, as [`Cluster::register`] does.
///
/// # Errors
/// DataFusion cannot read the files.
pub async fn register(session: &SessionContext, table: &str, path: &str) -> Result<(), Error> {
    match path.ends_with(".csv") {
        true => session.register_csv(table, path, CsvReadOptions::new()).await?,
        false => session.register_parquet(table, path, ParquetReadOptions::default()).await?,
    }
    Ok(())
}

/// A session of one process, which plans as a cluster's does but for the network: what answers are compared with.
pub fn one_process(partitions: usize) -> SessionContext {
    SessionContext::new_with_config(SessionConfig::new().with_target_partitions(partitions))
}

/// Threads of a worker.
pub(crate) fn runtime(name: &str) -> Result<Runtime, Error> {
    let threads = thread::available_parallelism().map_or(2, NonZeroUsize::get).clamp(2, 4);
    let built = Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_stack_size(8 << 20)
        .thread_name(name)
        .enable_all()
        .build();
    built.map_err(|source| Error::System { what: format!("the threads of {name}"), source })
}

#[derive(Debug)]
struct Urls(Vec<Url>);

impl WorkerResolver for Urls {
    fn get_urls(&self) -> DataFusionResult<Vec<Url>> {
        Ok(self.0.clone())
    }
}

fn session(options: &Options, urls: Vec<Url>) -> Result<SessionContext, Error> {
    let own = SessionOptions { exchange: options.transport };
    let config =
        SessionConfig::new().with_target_partitions(options.partitions).with_option_extension(own);
    let routes = Routes::new(urls.clone());
    let builder = SessionStateBuilder::new()
        .with_default_features()
        .with_config(config)
        .with_distributed_planner()
        .with_distributed_worker_resolver(Urls(urls))
        .with_distributed_channel_resolver(Resolver::new(None))
        .with_distributed_user_codec(Codec)
        .with_distributed_route_tasks_handler(move |event: RouteTasksEvent<'_>| {
            Some(Ok(routes.route(&event)))
        })
        .with_distributed_file_scan_config_bytes_per_partition(options.scan_bytes)?;
    Ok(SessionContext::new_with_state(planner::with_planner(builder).build()))
}
