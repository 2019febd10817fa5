//! A cluster with the tables of TPC-H, and one process that has them, too.

use std::{
    path::PathBuf,
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use datafusion::prelude::SessionContext;
use drdma_datafusion::{Cluster, Error, Options, cluster, tpch};

/// Makes joins shuffle both sides instead of broadcasting the shorter one.
const SHUFFLE_JOINS: [&str; 2] = [
    "set datafusion.optimizer.hash_join_single_partition_threshold = 0",
    "set datafusion.optimizer.hash_join_single_partition_threshold_rows = 0",
];

/// The tables, written once.
static TABLES: LazyLock<PathBuf> = LazyLock::new(|| {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("tpch-0.01");
    if !directory.join("done").exists() {
        tpch::write_tables(&directory, 0.01, 6).unwrap();
        std::fs::write(directory.join("done"), "").unwrap();
    }
    directory
});

/// Clusters run one after the other: a machine of two processors has enough to do with one.
static TURN: Mutex<()> = Mutex::new(());

pub struct Lab {
    pub cluster: Cluster,
    pub one: SessionContext,
    _turn: MutexGuard<'static, ()>,
}

impl Lab {
    /// Three workers.
    pub fn new() -> Self {
        Self::with(Options::new(3, &crate::MEMORY))
    }

    pub fn with(options: Options) -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let one = cluster::one_process(options.partitions);
        let cluster = Cluster::start(options).unwrap();
        for table in tpch::TABLES {
            let path = format!("{}/{table}/", TABLES.display());
            cluster.register(table, &path).unwrap();
            cluster.coordinator().block_on(cluster::register(&one, table, &path)).unwrap();
        }
        Self { cluster, one, _turn: turn }
    }

    /// Changes the lab so that joins shuffle both sides.
    pub fn shuffling_joins(self) -> Self {
        for set in SHUFFLE_JOINS {
            self.cluster.query(set).unwrap();
        }
        self
    }

    /// Checks that a query has the same rows on the cluster as in one process.
    #[track_caller]
    pub fn check(&self, sql: &str) {
        let rows = self.cluster.query(sql).unwrap_or_else(|error| panic!("{error}\n{sql}"));
        let expected = self
            .cluster
            .coordinator()
            .block_on(async { self.one.sql(sql).await.unwrap().collect().await.unwrap() });
        let rows = tpch::rows_as_text(&rows).unwrap();
        assert_eq!(rows, tpch::rows_as_text(&expected).unwrap(), "{sql}");
        assert!(!rows.is_empty(), "a query without rows shows nothing: {sql}");
    }

    /// The error of a query that must fail.
    #[track_caller]
    pub fn fails(&self, sql: &str) -> String {
        let started = Instant::now();
        let error: Error = self.cluster.query(sql).expect_err("it must fail");
        assert!(started.elapsed() < Duration::from_secs(30), "it took {:?}", started.elapsed());
        error.to_string()
    }

    /// Waits until no exchange is under way any longer.
    #[track_caller]
    pub fn comes_to_rest(&self) {
        let started = Instant::now();
        while self.cluster.exchange_ends() > 0 {
            let ends = self.cluster.exchange_ends();
            assert!(started.elapsed() < Duration::from_secs(20), "{ends} ends are left");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
