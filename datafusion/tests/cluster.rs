//! Queries over three workers.

use drdma_datafusion::{Cluster, Options, cluster, tpch};
use libdrdma::Arena;

#[global_allocator]
static MEMORY: Arena = Arena::new(4 << 30).threshold(4096);

#[test]
fn a_query_over_three_workers_has_the_rows_of_one_process() {
    let directory = std::env::temp_dir().join(format!("drdma-engine-{}", std::process::id()));
    tpch::write_tables(&directory, 0.01, 6).unwrap();
    let cluster = Cluster::start(Options::new(3, &MEMORY)).unwrap();
    let one = cluster::one_process(2);
    for table in tpch::TABLES {
        let path = format!("{}/{table}/", directory.display());
        cluster.register(table, &path).unwrap();
        cluster.coordinator().block_on(cluster::register(&one, table, &path)).unwrap();
    }
    for number in [1, 3, 5] {
        let sql = tpch::QUERIES[number - 1];
        let rows = cluster.query(sql).unwrap();
        let expected = cluster
            .coordinator()
            .block_on(async { one.sql(sql).await.unwrap().collect().await.unwrap() });
        assert_eq!(tpch::rows_as_text(&rows).unwrap(), tpch::rows_as_text(&expected).unwrap());
    }
    std::fs::remove_dir_all(&directory).unwrap();
}
