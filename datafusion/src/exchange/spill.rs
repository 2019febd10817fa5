//! Rows that wait on disk: the engine's own spill files, a queue of them for each partition.
//!
//! Files are those of the worker's `DiskManager`, in Arrow's IPC format, as the engine's sorts and joins write them.
//! One is removed when its last batch was read, or when its rows are not wanted any more.

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

/// Rows of a task that wait on disk, by partition.
pub(super) struct Spill {
    env: Arc<RuntimeEnv>,
    manager: Arc<SpillManager>,
    /// Bytes of a file after which the next one is begun.
    file_bytes: usize,
    queues: HashMap<u16, Queue>,
    /// Numbers of the stage and the task, for errors.
    task: (usize, usize),
}

/// Files of a partition: batches are written at one end and read at the other.
struct Queue {
    write: SpillPoolSink,
    read: SendableRecordBatchStream,
}

impl Spill {
    /// Makes a spill for rows of that schema, on the disk that the task's session may use.
    pub fn new(
        context: &TaskContext,
        metrics: &ExecutionPlanMetricsSet,
        schema: SchemaRef,
        task: (usize, usize),
    ) -> Self {
        let env = context.runtime_env();
        let file_bytes = context.session_config().options().execution.max_spill_file_size_bytes;
        // The metrics are the task's, so all partitions count as one.
        let metrics = SpillMetrics::new(metrics, 0);
        let manager = Arc::new(SpillManager::new(env.clone(), metrics, schema));
        Self { env, manager, file_bytes: file_bytes.get(), queues: HashMap::new(), task }
    }

    /// Writes rows behind those of the partition that are on disk.
    ///
    /// # Errors
    /// A file cannot be written, or [`Config::disk`](super::Config::disk) is used up.
    pub fn push(&mut self, partition: u16, rows: &RecordBatch) -> Result<(), Error> {
        let (bytes, manager) = (self.file_bytes, &self.manager);
        let queue = self.queues.entry(partition).or_insert_with(|| {
            let (write, read) = spsc_channel(bytes, manager.clone());
            Queue { write, read }
        });
        let pushed = queue.write.push_batch(rows);
        pushed.map_err(|source| self.failed(source))
    }

    /// Reads the next batch of one of these partitions, all of which have batches on disk.
    ///
    /// # Errors
    /// A file cannot be read, or does not have what was written.
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
    /// The path of a worker's directory. It contains the address that the engine serves at, which no two workers share.
    pub fn path(engine: SocketAddr, directory: Option<&Path>) -> PathBuf {
        let directory = directory.map_or_else(std::env::temp_dir, Path::to_owned);
        directory.join(format!("drdma-spill-{}-{}", engine.ip(), engine.port()))
    }

    /// Makes the directory. One that is there was left by a worker of that address that was killed, and is removed.
    ///
    /// # Errors
    /// The directory cannot be made, or an old one not removed.
    pub fn new(path: PathBuf) -> Result<Self, Error> {
        remove(&path);
        let made = std::fs::create_dir_all(&path);
        let what = || format!("a directory for spilled rows at {}", path.display());
        made.map_err(|source| Error::System { what: what(), source })?;
        Ok(Self(path))
    }

    /// The runtime that the engine executes tasks with: it spills into this directory, at most `disk` bytes.
    ///
    /// # Errors
    /// The runtime cannot be made.
    pub fn runtime(&self, disk: u64) -> Result<Arc<RuntimeEnv>, Error> {
        let builder = RuntimeEnvBuilder::new().with_temp_file_path(&self.0);
        Ok(builder.with_max_temp_directory_size(disk).build_arc()?)
    }

    /// Removes the directory, even if files in it are open.
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
    // A directory that cannot be removed stays: no caller is left to get the error.
    let _ = std::fs::remove_dir_all(path);
}

#[cfg(test)]
mod tests;
