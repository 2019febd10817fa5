//! A cluster in one process: workers of the engine, each with a card `soft:`, and a coordinator that plans.

use std::{fmt, num::NonZeroUsize, sync::Arc, thread};

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
use drdma_fabric::NetworkConfig;
use libdrdma::Arena;
use tokio::runtime::{Builder, Runtime};
use url::Url;

use crate::{
    Error,
    codec::Codec,
    exchange::{
        Config,
        site::{Member, Site},
    },
    network::{Network, Port},
    planner::{self, Routes},
    worker::{self, Resolver, Sockets},
};

/// How a cluster is made.
#[derive(Clone, Debug)]
pub struct Options {
    /// Workers, 1 to 254.
    pub workers: usize,
    /// Partitions that each task of a stage has (the engine's `target_partitions`).
    pub partitions: usize,
    /// Bytes of a table's files that are worth a partition of their own. 1 spreads every scan over all workers.
    pub scan_bytes: usize,
    /// How much memory exchanges take.
    pub exchange: Config,
    /// The network of the cards.
    pub network: NetworkConfig,
    /// The process's allocator, if it is an arena, so that cards read batches where they lie. Whatever lies
    /// elsewhere is copied before it is sent.
    pub memory: &'static Arena,
}

impl Options {
    /// So many workers, with 2 partitions a task, on a network of 100 Gb/s.
    pub fn new(workers: usize, memory: &'static Arena) -> Self {
        let (exchange, network) = (Config::default(), NetworkConfig::default());
        Self { workers, partitions: 2, scan_bytes: 1, exchange, network, memory }
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
    /// Each worker has threads of its own. `None`: it was stopped.
    workers: Vec<Option<Runtime>>,
    sites: Vec<Arc<Site>>,
    coordinator: Option<Runtime>,
    // The cards go last.
    network: Network,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster").field("network", &self.network).finish_non_exhaustive()
    }
}

impl Cluster {
    /// Starts workers on this machine, each on threads of its own.
    ///
    /// # Errors
    /// A number of workers that is not possible, or what the system or a card refuses.
    pub fn start(options: Options) -> Result<Self, Error> {
        if options.partitions == 0 {
            let (what, value, expected) = ("partitions", "0".to_owned(), "at least 1");
            return Err(Error::Options { what, value, expected });
        }
        let network = Network::new(options.network.clone(), options.workers)?;
        let mut started = Vec::new();
        for number in 0..options.workers {
            let runtime = runtime(&format!("drdma-worker-{number}"))?;
            let sockets = runtime.block_on(Sockets::bind())?;
            started.push((runtime, sockets));
        }
        let member = |(_, sockets): &(Runtime, Sockets)| Member {
            url: sockets.url.clone(),
            exchange: sockets.exchange_at,
        };
        let members: Vec<Member> = started.iter().map(member).collect();
        let urls = members.iter().map(|member| member.url.clone()).collect();
        let (mut workers, mut sites) = (Vec::new(), Vec::new());
        for (number, (runtime, sockets)) in started.into_iter().enumerate() {
            let port = &network.ports()[number];
            let members = members.clone();
            let site = Site::new(number, options.exchange, port, options.memory, members)?;
            let site = Arc::new(site);
            sites.push(site.clone());
            runtime.spawn(worker::serve(site, sockets));
            workers.push(Some(runtime));
        }
        let session = session(&options, urls)?;
        let coordinator = Some(runtime("drdma-coordinator")?);
        Ok(Self { session, workers, sites, coordinator, network })
    }

    /// The coordinator's session.
    pub fn session(&self) -> &SessionContext {
        &self.session
    }

    /// The cards of the workers.
    pub fn ports(&self) -> &[Port] {
        self.network.ports()
    }

    /// The threads that queries are coordinated on.
    pub fn coordinator(&self) -> &Runtime {
        self.coordinator.as_ref().expect("it is there until the cluster is dropped")
    }

    /// Makes files a table: CSV with a header if `path` ends with `.csv`, Parquet otherwise. A directory is all of
    /// its Parquet files.
    ///
    /// # Errors
    /// What DataFusion says of them.
    pub fn register(&self, table: &str, path: &str) -> Result<(), Error> {
        self.coordinator().block_on(register(&self.session, table, path))
    }

    /// Runs a query and collects its rows.
    ///
    /// # Errors
    /// What DataFusion says, or an exchange that failed.
    pub fn query(&self, sql: &str) -> Result<Vec<RecordBatch>, Error> {
        self.coordinator().block_on(async { Ok(self.session.sql(sql).await?.collect().await?) })
    }

    /// The plan of a query.
    ///
    /// # Errors
    /// What DataFusion says.
    pub fn plan(&self, sql: &str) -> Result<Arc<dyn ExecutionPlan>, Error> {
        self.coordinator()
            .block_on(async { Ok(self.session.sql(sql).await?.create_physical_plan().await?) })
    }

    /// The plan of a query as text, stage by stage.
    ///
    /// # Errors
    /// What DataFusion says.
    pub fn explain(&self, sql: &str) -> Result<String, Error> {
        Ok(display_plan_ascii(self.plan(sql)?.as_ref(), false))
    }

    /// Runs a query; its plan as text, with what each operator and each exchange did.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn analyze(&self, sql: &str) -> Result<String, Error> {
        let rows = self.query(&format!("explain analyze {sql}"))?;
        let text = rows.first().map(|batch| batch.column(1).as_string::<i32>().value(0).to_owned());
        Ok(text.unwrap_or_default())
    }

    /// Ends of exchanges that are under way at all workers: 0 when no query runs.
    pub fn exchange_ends(&self) -> usize {
        self.sites.iter().map(|site| site.ends()).sum()
    }

    /// Stops a worker, as if its machine were lost: all of its connections are closed at once.
    ///
    /// # Panics
    /// If there is no such worker.
    pub fn stop_worker(&mut self, worker: usize) {
        if let Some(runtime) = self.workers[worker].take() {
            runtime.shutdown_background();
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let workers = self.workers.iter_mut().filter_map(Option::take);
        workers.chain(self.coordinator.take()).for_each(Runtime::shutdown_background);
    }
}

/// Makes files a table of a session, as [`Cluster::register`] does.
///
/// # Errors
/// What DataFusion says of them.
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
fn runtime(name: &str) -> Result<Runtime, Error> {
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
struct Workers(Vec<Url>);

impl WorkerResolver for Workers {
    fn get_urls(&self) -> DataFusionResult<Vec<Url>> {
        Ok(self.0.clone())
    }
}

fn session(options: &Options, urls: Vec<Url>) -> Result<SessionContext, Error> {
    let config = SessionConfig::new().with_target_partitions(options.partitions);
    let routes = Routes::new(urls.clone());
    let builder = SessionStateBuilder::new()
        .with_default_features()
        .with_config(config)
        .with_distributed_planner()
        .with_distributed_worker_resolver(Workers(urls))
        .with_distributed_channel_resolver(Resolver::new(None))
        .with_distributed_user_codec(Codec)
        .with_distributed_route_tasks_handler(move |event: RouteTasksEvent<'_>| {
            Some(Ok(routes.route(&event)))
        })
        .with_distributed_file_scan_config_bytes_per_partition(options.scan_bytes)?;
    Ok(SessionContext::new_with_state(planner::with_planner(builder).build()))
}
