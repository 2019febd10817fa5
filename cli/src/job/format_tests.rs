use std::{fs, path::Path};

use clap::ValueEnum as _;
use serde_json::json;

use super::*;
use crate::job::{
    ExampleKind, Job, example,
    schema_check::{self as check, errors},
};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/job.schema.json");

fn examples() -> Vec<Value> {
    let text = |kind: &ExampleKind| example(*kind, "./drdma-job.schema.json");
    ExampleKind::value_variants().iter().map(|k| serde_json::from_str(&text(k)).unwrap()).collect()
}

#[test]
fn the_published_schema_is_that_of_the_types() {
    let text = format!("{:#}\n", schema());
    let published = fs::read_to_string(FILE).unwrap_or_default();
    assert!(
        published == text,
        "docs/job.schema.json is old: `drdma schema > docs/job.schema.json`"
    );
}

#[test]
fn what_the_reader_refuses_by_shape_does_not_fit_the_schema() {
    let root = schema();
    let good = examples().pop().expect("the one with everything");
    for (pointer, value) in [
        ("/qps/0/qpn", json!(0)),
        ("/qps/0/mtu", json!(1500)),
        ("/qps/0/qkey", json!(null)),
        ("/qps/0/transport", json!("tcp")),
        ("/posts/0/verb", json!("post")),
        ("/posts/0/rows_per_message", json!(0)),
        ("/posts/0/regions/0/type", json!("sparse")),
        ("/posts/0/regions/0/len", json!(0)),
        ("/posts/1/regions/0/pattern", json!([])),
        ("/posts/4/destinations", json!([])),
        ("/posts/4/partitioned/ids/width", json!(4)),
        ("/local/nonsense", json!(1)),
    ] {
        let mut job = good.clone();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        job.pointer_mut(parent).unwrap()[name] = value;
        assert!(!errors(&root, &root, &job).is_empty(), "the schema has {pointer}");
        assert!(
            Job::parse(&job.to_string(), Path::new(".")).is_err(),
            "the reader takes {pointer}"
        );
    }
}

#[test]
fn examples_are_jobs_and_fit_the_schema() {
    let root = schema();
    for job in examples() {
        assert_eq!(errors(&root, &root, &job), Vec::<String>::new());
        let read = Job::parse(&job.to_string(), Path::new(".")).expect("a job");
        assert!(!read.posts.is_empty());
    }
}

#[test]
fn the_reader_and_the_schema_know_the_same_fields() {
    let parse = |text: &str| Job::parse(text, Path::new(".")).map(drop);
    let compared = check::same_fields(&schema(), &examples().pop().expect("all kinds"), &parse);
    assert!(compared >= 40, "{compared}");
}
