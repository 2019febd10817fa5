//! What plans the payload of dense columns, in place of the transposer: written from what that promises.

use super::host::Run;
use drdma_verilated::testbench::{Beat, Bench, DriverId, MonitorId};
use std::collections::VecDeque;

/// Bytes of the frame store.
const STORE: u64 = 1 << 17;

/// Takes columns, reports plans, and keeps the runs of each value that are planned, in the order of the payload.
pub struct Transposer {
    target: MonitorId,
    planned: DriverId,
    columns: Vec<Beat>,
    jobs: VecDeque<Vec<Run>>,
    /// Jobs so far, and those that were dropped.
    pub count: usize,
    pub dropped: usize,
}

impl Transposer {
    pub fn new(bench: &mut Bench<'_>) -> Self {
        let (target, planned) = (bench.monitor("target"), bench.driver("planned"));
        let (columns, jobs) = (Vec::new(), VecDeque::new());
        Self { target, planned, columns, jobs, count: 0, dropped: 0 }
    }

    /// Plays the transposer after each cycle.
    pub fn step(&mut self, bench: &mut Bench<'_>) {
        for column in bench.take(self.target) {
            let (last, dropped) = (column.u64("last") == 1, column.u64("dropped") == 1);
            self.columns.push(column);
            if last {
                let columns = std::mem::take(&mut self.columns);
                assert!(columns.len() <= 16);
                match dropped {
                    true => self.dropped += 1,
                    false => self.plan(bench, &columns),
                }
            }
        }
    }

    fn plan(&mut self, bench: &mut Bench<'_>, columns: &[Beat]) {
        let of = |name: &str| columns[0].u64(name);
        for name in ["ram", "bytes", "column", "offset", "rows"] {
            assert!(columns.iter().all(|column| column.u64(name) == of(name)), "{name}");
        }
        let (mut ram, mut left, mut runs) = (of("ram"), of("bytes"), Vec::new());
        let (mut row, mut at, mut offset) = (0, of("column") as usize, of("offset"));
        assert!((1..=4096).contains(&left) && of("rows") > 0);
        while left > 0 && row < of("rows") {
            let width = columns[at].u64("width");
            assert!((1..=64).contains(&width) && offset < width, "byte {offset} of {width}");
            let len = (width - offset).min(left);
            let addr = columns[at].u64("addr").wrapping_add(row * width + offset);
            runs.push((addr, ram, len, false));
            (ram, left, offset) = ((ram + len) % STORE, left - len, offset + len);
            if offset == width {
                (at, offset) = (at + 1, 0);
            }
            if at == columns.len() {
                (at, row) = (0, row + 1);
            }
        }
        let plan = [
            ("bytes", of("bytes") - left),
            ("rows", row),
            ("column", at as u64),
            ("offset", offset),
            ("ends", u64::from(row == of("rows"))),
        ];
        bench.send(self.planned, Beat::from(plan));
        self.jobs.push_back(runs);
        self.count += 1;
    }

    /// The runs that an order of `column` stands for.
    pub fn runs(&mut self, order: &Beat) -> Vec<Run> {
        let mut runs = self.jobs.pop_front().expect("it was planned before");
        let bytes: u64 = runs.iter().map(|run| run.2).sum();
        assert_eq!(bytes, order.u64("bytes"));
        runs.last_mut().expect("a run").3 = order.u64("frame_end") == 1;
        runs
    }
}
