//! Rows that wait on disk: the engine's own spill files, a queue of them for each partition.
//!
//! Files are those of the worker's `DiskManager`, in Arrow's IPC format, as the engine's sorts and joins write them. One is
//! removed when its last batch was read, or when nobody wants its rows any more.

use std::{
    collections::HashMap,
    future::poll_fn,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    task::Poll,
};

use datafusion::{
    arrow::{datatypes::SchemaRef, record_batch::RecordBatch},
    common::Result as DataFusionResult,
    error::DataFusionError,
    execution::{
        SendableRecordBatchStream, TaskContext,
        runtime_env::{RuntimeEnv, RuntimeEnvBuilder},
    },
    physical_plan::{
        metrics::{ExecutionPlanMetricsSet, SpillMetrics},
        spill::{
            SpillManager,
            spill_pool::{SpillPoolSink, spsc_channel},
        },
    },
};

use crate::Error;

/// Rows of a task's partitions that lie on disk.
pub(super) struct Spill {
    env: Arc<RuntimeEnv>,
    manager: Arc<SpillManager>,
    /// Bytes of a file, at which the next one is begun.
    file_bytes: usize,
    queues: HashMap<u16, Queue>,
    /// The stage and task, for errors.
    task: (usize, usize),
}

/// Batches of a partition: what is written at one end is read at the other.
struct Queue {
    write: SpillPoolSink,
    read: SendableRecordBatchStream,
}

impl Spill {
    /// For rows of that schema, on the disk that the task's session may use.
    pub fn new(
        context: &TaskContext,
        metrics: &ExecutionPlanMetricsSet,
        schema: SchemaRef,
        task: (usize, usize),
    ) -> Self {
        let env = context.runtime_env();
        let file_bytes = context.session_config().options().execution.max_spill_file_size_bytes;
        // What is counted is the task's, not a partition's.
        let metrics = SpillMetrics::new(metrics, 0);
        let manager = Arc::new(SpillManager::new(env.clone(), metrics, schema));
        Self { env, manager, file_bytes: file_bytes.get(), queues: HashMap::new(), task }
    }

    /// Writes rows behind those of the partition that are there.
    ///
    /// # Errors
    /// The system, or [`Config::disk`](super::Config::disk) is used up.
    pub fn push(&mut self, partition: u16, rows: &RecordBatch) -> Result<(), Error> {
        let (bytes, manager) = (self.file_bytes, &self.manager);
        let queue = self.queues.entry(partition).or_insert_with(|| {
            let (write, read) = spsc_channel(bytes, manager.clone());
            Queue { write, read }
        });
        let pushed = queue.write.push_batch(rows);
        pushed.map_err(|source| self.failed(source))
    }

    /// The next batch of any of these partitions, all of which have some.
    ///
    /// # Errors
    /// The system, or a file that is not what was written.
    pub async fn next(&mut self, partitions: &[u16]) -> Result<(u16, RecordBatch), Error> {
        let next = poll_fn(|context| {
            for partition in partitions {
                let Some(queue) = self.queues.get_mut(partition) else { continue };
                if let Poll::Ready(batch) = queue.read.as_mut().poll_next(context) {
                    return Poll::Ready((*partition, batch));
                }
            }
            Poll::Pending
        });
        let (partition, batch) = next.await;
        let batch: DataFusionResult<RecordBatch> = batch.unwrap_or_else(|| {
            let what = format!("a file of partition {partition} ends too early");
            Err(DataFusionError::Execution(what))
        });
        batch.map(|batch| (partition, batch)).map_err(|source| self.failed(source))
    }

    /// Removes the files of a partition.
    pub fn forget(&mut self, partition: u16) {
        self.queues.remove(&partition);
    }

    fn failed(&self, source: DataFusionError) -> Error {
        let (stage, task) = self.task;
        let disk = &self.env.disk_manager;
        let (used, limit) = (disk.used_disk_space(), disk.max_temp_directory_size());
        Error::Spill { stage, task, used, limit, source }
    }
}

/// The directory of a worker's files, which is removed with it.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// The path of a worker's directory. Workers of a machine differ in where their engines serve, which is part of it.
    pub fn path(engine: SocketAddr, directory: Option<&Path>) -> PathBuf {
        let directory = directory.map_or_else(std::env::temp_dir, Path::to_owned);
        directory.join(format!("drdma-spill-{}-{}", engine.ip(), engine.port()))
    }

    /// Makes the directory. What is there was left by a worker of that address that was killed, and is removed.
    ///
    /// # Errors
    /// The system.
    pub fn new(path: PathBuf) -> Result<Self, Error> {
        remove(&path);
        let made = std::fs::create_dir_all(&path);
        let what = || format!("a directory for spilled rows at {}", path.display());
        made.map_err(|source| Error::System { what: what(), source })?;
        Ok(Self(path))
    }

    /// What the engine runs tasks with: it spills into this directory, so many bytes at most.
    ///
    /// # Errors
    /// The system.
    pub fn runtime(&self, disk: u64) -> Result<Arc<RuntimeEnv>, Error> {
        let builder = RuntimeEnvBuilder::new().with_temp_file_path(&self.0);
        Ok(builder.with_max_temp_directory_size(disk).build_arc()?)
    }

    /// Removes the directory, though somebody may still have files in it.
    pub fn remove(&self) {
        remove(&self.0);
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Removes a worker's directory, if it is there.
pub(crate) fn remove(path: &Path) {
    // Nobody is left to be told of what cannot be removed.
    let _ = std::fs::remove_dir_all(path);
}

#[cfg(test)]
mod tests;
