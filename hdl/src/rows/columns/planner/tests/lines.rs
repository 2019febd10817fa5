//! Limits against their definition.

use crate::rows::columns::planner::lines::Lines;
use crate::testing;
use drdma_verilated::testbench::Random;

#[test]
fn a_limit_is_the_last_line_that_is_near_enough() {
    let library = testing::library("columns_planner_lines", Lines::default);
    let (mut model, mut random) = (library.instance(1), Random::new(1));
    for _ in 0..20_000 {
        let (lo, row, step) = (random.below(4096), random.below(4096), 1 + random.below(255));
        let max_read = 64 << random.below(7);
        model.set("enable", 1);
        model.set("row", row % 64);
        model.set("lo", lo % 64);
        model.set("step", step);
        model.set("triple", 3 * step % 64);
        model.cycle();
        // A row that is not taken changes nothing.
        model.set("enable", 0);
        for (port, most) in [("row", 64), ("lo", 64), ("step", 256), ("triple", 64)] {
            model.set(port, random.below(most));
        }
        if random.chance(0.3) {
            model.cycle();
        }
        model.set("end_row", row + (max_read - 1) / step);
        model.set("end_phase", 1 + (max_read - 1) % step);
        model.set("end_step", step);
        model.settle();
        let start = lo + row * step;
        let limit = (start + max_read) / 64 * 64 - lo;
        let given = (model.get("limit_row"), model.get("limit_phase"));
        assert_eq!(given, ((limit - 1) / step, 1 + (limit - 1) % step), "{row} {lo} {step}");
    }
}
