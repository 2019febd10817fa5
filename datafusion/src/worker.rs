//! A worker: the engine's server for plans, and ours for rows.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use datafusion::{
    arrow::record_batch::RecordBatch,
    common::Result as DataFusionResult,
    error::DataFusionError,
    execution::{SessionState, SessionStateBuilder, TaskContext},
    physical_plan::metrics::ExecutionPlanMetricsSet,
};
use datafusion_distributed::{
    ChannelResolver, CoordinatorToWorkerMsg, DistributedExt, ExecuteTaskRequest,
    GetWorkerInfoRequest, GetWorkerInfoResponse, MaybeEncoded, ProducerHead, SetPlanRequest,
    TaskKey, Worker, WorkerChannel, WorkerQueryContext, WorkerToCoordinatorMsg,
    grpc::DefaultChannelResolver,
};
use futures::stream::BoxStream;
use http::HeaderMap;
use tokio::{
    io::{AsyncRead, AsyncWrite, BufReader},
    net::TcpListener,
    runtime::{Builder, Handle, Runtime},
    sync::{
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
        watch,
    },
};
use tonic::transport::{Server, server::TcpIncoming};
use url::Url;
use uuid::Uuid;

use crate::{
    Error,
    codec::Codec,
    exchange::{
        consumer::{self, Wanted},
        control::{self, Status, Task, ToConsumer, ToProducer},
        producer::{Event, Producer},
        site::{Ends, Member, Site},
    },
    network::Totals,
    node::{Head, Kind},
    planner,
};

/// Address of any free port of this machine.
pub(crate) const HERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// Interval at which the engine's cache of plans is used while exchanges are under way.
const SWEEP: Duration = Duration::from_millis(500);

/// The head of a task's plan, in the configuration of its session: it is filled in when the plan is decoded.
#[derive(Debug, Default)]
pub(crate) struct TaskHead(OnceLock<Head>);

impl TaskHead {
    pub fn set(&self, head: Head) {
        // A plan has one head; a plan that is decoded again has the same one.
        let _ = self.0.set(head);
    }
}

/// Sockets of a worker that does not serve yet.
#[derive(Debug)]
pub(crate) struct Sockets {
    engine: TcpListener,
    exchange: TcpListener,
}

impl Sockets {
    /// Binds sockets at these addresses; for port 0, at a free port.
    pub async fn bind(engine: SocketAddr, exchange: SocketAddr) -> Result<Self, Error> {
        let bind = async |at: SocketAddr| {
            let what = || format!("a worker cannot listen at {at}");
            TcpListener::bind(at).await.map_err(|source| Error::System { what: what(), source })
        };
        Ok(Self { engine: bind(engine).await?, exchange: bind(exchange).await? })
    }

    /// Sockets of this machine, at ports that are free.
    pub async fn bind_here() -> Result<Self, Error> {
        Self::bind(HERE, HERE).await
    }

    /// The addresses at which the engine and the consumers reach the worker.
    pub fn addresses(&self) -> Result<(SocketAddr, SocketAddr), Error> {
        let at = |socket: &TcpListener| {
            let failed = |source| Error::System { what: "a socket of a worker".into(), source };
            socket.local_addr().map_err(failed)
        };
        Ok((at(&self.engine)?, at(&self.exchange)?))
    }
}

/// A runtime of one thread, for work that must not wait for the engine.
///
/// The engine computes on the threads of its own runtime, without a pause for as long as a batch takes.
struct Aside(Option<Runtime>);

impl Aside {
    fn new() -> std::io::Result<Self> {
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).enable_all().thread_name("drdma-control").build();
        runtime.map(|runtime| Self(Some(runtime)))
    }

    fn runtime(&self) -> &Runtime {
        self.0.as_ref().expect("it is there until it is dropped")
    }

    /// Makes a socket one of this runtime's.
    fn adopt(&self, socket: TcpListener) -> std::io::Result<TcpListener> {
        let _here = self.runtime().enter();
        TcpListener::from_std(socket.into_std()?)
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        // A task drops it, which must not block.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Serves plans and rows until it is aborted.
pub(crate) async fn serve(site: Arc<Site>, sockets: Sockets) -> Result<(), Error> {
    let resolver = Resolver::new(Some(site.clone()));
    let worker = Worker::from_session_builder(move |context: WorkerQueryContext| {
        let resolver = resolver.clone();
        async move { Ok::<SessionState, DataFusionError>(session(context, resolver)) }
    });
    let worker = worker.with_runtime_env(site.runtime.clone());
    let rows = Rows {
        site: site.clone(),
        worker: worker.clone(),
        tasks: Mutex::default(),
        consumers: AtomicU64::new(0),
        engine: Handle::current(),
    };
    let failed = |source| Error::System { what: "a thread for the rows' server".into(), source };
    let aside = Aside::new().map_err(failed)?;
    let exchange = aside.adopt(sockets.exchange).map_err(failed)?;
    aside.runtime().spawn(Arc::new(rows).serve(exchange));
    tokio::spawn(sweep(site.clone(), worker.clone()));
    let name = site.name_of(site.number);
    let served = Server::builder()
        .add_service(worker.into_worker_server())
        .serve_with_incoming(TcpIncoming::from(sockets.engine))
        .await;
    served.map_err(|error| Error::Protocol { peer: name, what: error.to_string() })
}

fn session(mut context: WorkerQueryContext, resolver: Resolver) -> SessionState {
    let config = context.builder.config().take().unwrap_or_default();
    let config = config.with_extension(Arc::new(TaskHead::default()));
    let builder: SessionStateBuilder = context.builder.with_config(config);
    builder.with_distributed_user_codec(Codec).with_distributed_channel_resolver(resolver).build()
}

/// Lets the engine drop the plans of queries that are over, as long as there may be any.
///
/// It keeps plans in a cache that drops what was taken out of it only when it is used again. Until then such a plan
/// has streams that nobody reads, whose producers wait.
async fn sweep(site: Arc<Site>, worker: Worker) {
    loop {
        tokio::time::sleep(SWEEP).await;
        if site.ends() == 0 {
            continue;
        }
        // No query has this name; asking for it uses the cache. The answer would take long, and is not waited for.
        let nobody = ExecuteTaskRequest {
            task_key: TaskKey { query_id: Uuid::nil(), stage_id: 0, task_number: 0 },
            target_partition_start: 0,
            target_partition_end: 0,
            producer_head: ProducerHead::None,
        };
        let _ = tokio::time::timeout(Duration::from_millis(1), worker.execute_task(nobody)).await;
    }
}

/// The server for rows: a connection for each consumer and task. Also answers health checks.
struct Rows {
    site: Arc<Site>,
    worker: Worker,
    tasks: Mutex<HashMap<Task, UnboundedSender<Event>>>,
    consumers: AtomicU64,
    /// Runtime that tasks run on.
    engine: Handle,
}

impl Rows {
    async fn serve(self: Arc<Self>, listener: TcpListener) {
        let mut own = self.site.serve_itself();
        loop {
            let (read, write): Ends = tokio::select! {
                accepted = listener.accept() => {
                    let Ok((connection, _)) = accepted else { return };
                    let _ = connection.set_nodelay(true);
                    let (read, write) = connection.into_split();
                    (Box::new(read), Box::new(write))
                }
                Some(ends) = own.recv() => ends,
            };
            tokio::spawn(self.clone().consumer(read, write));
        }
    }

    async fn consumer(
        self: Arc<Self>,
        read: impl AsyncRead + Send + Unpin,
        mut write: impl AsyncWrite + Send + Unpin + 'static,
    ) {
        let (replies, mut to_say) = unbounded_channel::<ToConsumer>();
        tokio::spawn(async move {
            while let Some(message) = to_say.recv().await {
                if control::write(&mut write, &message).await.is_err() {
                    return;
                }
            }
        });
        let mut read = BufReader::new(read);
        let refuse = |reason: String| {
            let _ = replies.send(ToConsumer::Error { reason });
        };
        let (task, start, end, partitions, from) = match control::read(&mut read).await {
            Ok(Some(ToProducer::Open { task, start, end, partitions, from })) => {
                (task, start, end, partitions, from)
            }
            Ok(Some(ToProducer::Status)) => {
                let totals = Totals::of(&self.site.port);
                let most_waiting = self.site.backlog.most();
                let usage = self.site.usage();
                let status = Status { ends: self.site.ends(), totals, most_waiting, usage };
                let _ = replies.send(ToConsumer::Status(status));
                return;
            }
            Ok(Some(ToProducer::Identify)) => {
                let _ = replies.send(ToConsumer::Identity(Box::new(self.site.identity())));
                return;
            }
            Ok(other) => return refuse(format!("a consumer begins with Open, not {other:?}")),
            Err(error) => return refuse(error.to_string()),
        };
        let consumer = self.consumers.fetch_add(1, Ordering::Relaxed);
        let events = self.clone().task(&task, (start, end), partitions);
        let _ = events.send(Event::Opened { start, end, partitions, from, replies, consumer });
        while let Ok(Some(message)) = control::read(&mut read).await {
            if events.send(Event::Said { consumer, message }).is_err() {
                break;
            }
        }
        let _ = events.send(Event::Gone { consumer });
    }

    /// The channel for events of a task's consumers. The first consumer starts the task.
    fn task(
        self: Arc<Self>,
        task: &Task,
        (start, end): (usize, usize),
        partitions: usize,
    ) -> UnboundedSender<Event> {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(events) = tasks.get(task) {
            return events.clone();
        }
        let (events, happening) = unbounded_channel();
        tasks.insert(task.clone(), events.clone());
        drop(tasks);
        let (rows, task) = (self.clone(), task.clone());
        self.engine.spawn(async move {
            match rows.producer(&task, end.saturating_sub(start), partitions).await {
                Ok((producer, alive)) => producer.run(happening, alive).await,
                Err(error) => refuse_all(happening, &error.to_string()).await,
            }
            rows.tasks.lock().unwrap_or_else(PoisonError::into_inner).remove(&task);
        });
        events
    }

    /// Starts the task's plan.
    async fn producer(
        &self,
        task: &Task,
        wanted: usize,
        partitions: usize,
    ) -> Result<(Producer, watch::Receiver<()>), Error> {
        let wrong =
            |what: String| Error::Protocol { peer: self.site.name_of(self.site.number), what };
        let query_id = Uuid::parse_str(&task.query).map_err(|error| wrong(error.to_string()))?;
        let request = |end| ExecuteTaskRequest {
            task_key: TaskKey { query_id, stage_id: task.stage, task_number: task.task },
            target_partition_start: 0,
            target_partition_end: end,
            producer_head: ProducerHead::None,
        };
        // No plan is executed yet; the kind of the head determines the number of its streams.
        let (_, context) = self.worker.execute_task(request(0)).await?;
        let head = context.session_config().get_extension::<TaskHead>();
        let Some(head) = head.as_ref().and_then(|head| head.0.get()) else {
            return Err(wrong(format!("the rows of {task:?} do not go by the card")));
        };
        let streams = match &head.kind {
            Kind::Shuffle(..) => 1,
            Kind::Broadcast(_) => wanted,
        };
        let (inputs, _) = self.worker.execute_task(request(streams)).await?;
        let at = (task.stage, task.task);
        let site = self.site.clone();
        let kind = match &head.kind {
            // The number of consumers is known when they ask.
            Kind::Broadcast(_) if wanted > 0 => Kind::Broadcast(partitions / wanted),
            kind => kind.clone(),
        };
        let producer = Producer::new(site, kind, &head.metrics, partitions, inputs, &context, at)?;
        Ok((producer, head.alive.clone()))
    }
}

/// Sends all consumers of a task the reason why it does not run, for as long as they come at once.
async fn refuse_all(mut events: UnboundedReceiver<Event>, reason: &str) {
    events.close();
    while let Some(event) = events.recv().await {
        if let Event::Opened { replies, .. } = event {
            let _ = replies.send(ToConsumer::Error { reason: reason.to_owned() });
        }
    }
}

/// Reaches workers: plans by the engine's gRPC, rows by the card where the planner said so.
#[derive(Clone)]
pub(crate) struct Resolver {
    grpc: Arc<DefaultChannelResolver>,
    /// The worker that asks. `None` for the coordinator, which has no card.
    site: Option<Arc<Site>>,
}

impl Resolver {
    pub fn new(site: Option<Arc<Site>>) -> Self {
        Self { grpc: Arc::new(DefaultChannelResolver::default()), site }
    }
}

#[async_trait]
impl ChannelResolver for Resolver {
    async fn get_worker_client_for_url(
        &self,
        url: &Url,
    ) -> DataFusionResult<Box<dyn WorkerChannel>> {
        let worker = planner::worker_of(url);
        let grpc = self.grpc.get_worker_client_for_url(&worker).await?;
        let Some(site) = self.site.clone().filter(|_| planner::goes_by_card(url)) else {
            return Ok(grpc);
        };
        let is_it = |member: &Member| member.url == worker;
        let Some(from) = site.members.iter().position(is_it) else {
            let what = "it is no worker of this cluster".into();
            return Err(Error::Protocol { peer: worker.to_string(), what }.into());
        };
        Ok(Box::new(Channel { grpc, site, from }))
    }
}

/// A worker whose rows come by the card.
struct Channel {
    grpc: Box<dyn WorkerChannel>,
    site: Arc<Site>,
    from: usize,
}

#[async_trait]
impl WorkerChannel for Channel {
    async fn coordinator_channel(
        &mut self,
        headers: HeaderMap,
        request: SetPlanRequest,
        messages: BoxStream<'static, CoordinatorToWorkerMsg>,
        metrics: ExecutionPlanMetricsSet,
        context: &Arc<TaskContext>,
    ) -> DataFusionResult<BoxStream<'static, DataFusionResult<WorkerToCoordinatorMsg>>> {
        self.grpc.coordinator_channel(headers, request, messages, metrics, context).await
    }

    async fn execute_task(
        &mut self,
        _: HeaderMap,
        request: ExecuteTaskRequest,
        metrics: ExecutionPlanMetricsSet,
        _: &Arc<TaskContext>,
    ) -> DataFusionResult<Vec<BoxStream<'static, DataFusionResult<RecordBatch>>>> {
        let (start, end) = (request.target_partition_start, request.target_partition_end);
        let partitions = match &request.producer_head {
            ProducerHead::RepartitionExec { partitioning } => match partitioning {
                MaybeEncoded::Decoded(partitioning) => partitioning.partition_count(),
                MaybeEncoded::Encoded(_) => {
                    let what = "its partitioning is encoded".into();
                    let peer = self.site.name_of(self.from);
                    return Err(Error::Protocol { peer, what }.into());
                }
            },
            ProducerHead::BroadcastExec { output_partitions } => *output_partitions,
            ProducerHead::None => end,
        };
        let TaskKey { query_id, stage_id, task_number } = request.task_key;
        let task = Task { query: query_id.to_string(), stage: stage_id, task: task_number };
        let wanted = Wanted { task, start, end, partitions, from: self.from };
        Ok(consumer::streams(self.site.clone(), wanted, &metrics))
    }

    async fn get_worker_info(
        &mut self,
        request: GetWorkerInfoRequest,
    ) -> DataFusionResult<GetWorkerInfoResponse> {
        self.grpc.get_worker_info(request).await
    }
}
