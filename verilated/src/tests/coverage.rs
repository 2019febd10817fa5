use super::*;
use crate::{Options, Port, Source};

/// An adder with a branch for 3, and one for sums of more than three bits.
const TEXT: &str =
    "module adder(input wire clk, input wire rst, input wire [3:0] a, output reg [3:0] sum);
    reg [3:0] more;
    always @(*) begin
        more = sum;
        if (a == 4'd3) begin
            more = sum + 4'd1;
        end
        if (a[3]) begin
            more = 4'd0;
        end else begin
            more = more + 4'd1;
        end
    end
    always @(posedge clk) begin
        sum <= more;
    end
endmodule
";

/// The adder; with `origins`, as if the lines of the second branch stood in a file of their own.
fn source(origins: bool) -> Source {
    let source = Source::new("adder").verilog("adder.v", TEXT).ports([
        Port::input("clk", 1),
        Port::input("rst", 1),
        Port::input("a", 4),
        Port::output("sum", 4),
    ]);
    let origin = |(index, line): (usize, &str)| Origin {
        block: if (7..12).contains(&index) { "second.rs" } else { "first.rs" }.to_owned(),
        // Both assignments of a sum are printed from one statement.
        statement: match line.trim().split_once(" = ") {
            Some((_, value)) if value.contains('+') => "sums".to_owned(),
            Some((_, value)) => value.to_owned(),
            None => String::new(),
        },
    };
    match origins {
        true => source.origins(TEXT.lines().enumerate().map(origin)),
        false => source,
    }
}

/// Runs several instances of an adder with these inputs, and reads the counts in `folder`.
fn counted(folder: &Path, origins: bool, inputs: &[&[u64]]) -> Coverage {
    let options = Options { coverage: Counting::StatementsAndBits, ..Options::default() };
    let library = source(origins).build_counting(&options, folder).unwrap();
    for inputs in inputs {
        let mut model = library.instance(1);
        let reset = (1, 8);
        for (reset, input) in [reset].into_iter().chain(inputs.iter().map(|&input| (0, input))) {
            model.set("rst", reset);
            model.set("a", input);
            model.cycle();
        }
    }
    Coverage::read(folder).unwrap()
}

#[test]
fn lines_that_run_are_told_from_those_that_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let block = &counted(folder.path(), false, &[&[8, 0, 1, 2]]).blocks["adder.v"];
    assert_eq!(block.statements["6"], 0, "{block:?}");
    for line in ["9", "11"] {
        assert!(block.statements[line] > 0, "line {line} of {block:?}");
    }
    // Statements that run in any case are not counted.
    for line in ["4", "15"] {
        assert!(!block.statements.contains_key(line), "line {line} of {block:?}");
    }
    // The branch is taken: the same line has run.
    let folder = tempfile::tempdir().unwrap();
    let block = &counted(folder.path(), false, &[&[8, 0, 1, 3]]).blocks["adder.v"];
    assert!(block.statements["6"] > 0, "{block:?}");
}

#[test]
fn counts_of_several_instances_and_processes_are_added_by_origin() {
    let folder = tempfile::tempdir().unwrap();
    let coverage = counted(folder.path(), true, &[&[0], &[1], &[2]]);
    assert_eq!(coverage.blocks["first.rs"].statements["sums"], 0, "{coverage:?}");
    let before = coverage.blocks["second.rs"].statements["sums"];
    assert!(before >= 3, "{coverage:?}");
    assert_eq!(coverage.blocks["second.rs"].statements["4'd0;"], 0, "{coverage:?}");
    // Another library, as in another process, with a file of its own.
    let coverage = counted(folder.path(), true, &[&[3], &[9]]);
    assert!(coverage.blocks["second.rs"].statements["sums"] > before, "{coverage:?}");
    assert!(coverage.blocks["first.rs"].statements["sums"] > 0, "{coverage:?}");
    assert!(coverage.blocks["second.rs"].statements["4'd0;"] > 0, "{coverage:?}");
}

#[test]
fn bits_that_change_are_told_from_those_that_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let coverage = counted(folder.path(), true, &[&[8, 0, 8, 0, 1, 0]]);
    let toggles = &coverage.blocks["first.rs"].toggles;
    let changed = |bit: &str| toggles[bit] > 0;
    let told = ["a[0]", "a[1]", "a[2]", "a[3]", "sum[0]", "sum[3]"].map(changed);
    assert_eq!(told, [true, false, false, true, true, false], "{toggles:?}");
}

#[test]
fn what_runs_before_the_first_clock_edge_is_not_counted() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { coverage: Counting::StatementsAndBits, ..Options::default() };
    let library = source(false).build_counting(&options, folder.path()).unwrap();
    let ran = |inputs: &[u64]| {
        let mut model = library.instance(1);
        for &input in inputs {
            model.set("a", input);
            model.cycle();
        }
        drop(model);
        Coverage::read(folder.path()).unwrap().blocks["adder.v"].statements["6"] > 0
    };
    assert!(!ran(&[3, 0]));
    assert!(ran(&[3, 3, 0]));
}

#[test]
fn statements_alone_are_counted_on_demand_also_where_there_are_none() {
    let options = Options { coverage: Counting::Statements, ..Options::default() };
    let folder = tempfile::tempdir().unwrap();
    let mut model = source(false).build_counting(&options, folder.path()).unwrap().instance(1);
    model.set("a", 0);
    (0..3).for_each(|_| model.cycle());
    drop(model);
    let block = &Coverage::read(folder.path()).unwrap().blocks["adder.v"];
    assert!(block.toggles.is_empty() && block.statements["6"] == 0, "{block:?}");

    let text = "module wires(input wire clk, input wire a, output wire b);
        assign b = a ^ clk;
    endmodule";
    let wires = Source::new("wires").verilog("wires.v", text).ports([
        Port::input("clk", 1),
        Port::input("a", 1),
        Port::output("b", 1),
    ]);
    let origin = Origin { block: "wires.rs".to_owned(), statement: String::new() };
    let folder = tempfile::tempdir().unwrap();
    let wires = wires.origins([origin]);
    let mut model = wires.build_counting(&options, folder.path()).unwrap().instance(1);
    model.cycle();
    drop(model);
    let blocks = Coverage::read(folder.path()).unwrap().blocks;
    assert_eq!(blocks, [("wires.rs".to_owned(), Block::default())].into());
}

#[test]
fn a_file_that_no_model_wrote_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    counted(folder.path(), true, &[&[0]]);
    let counts = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path());
    let counts = counts.filter(|path| path.extension().is_some_and(|e| e == COUNTS));
    for path in counts {
        fs::write(path, [1, 2, 3]).unwrap();
    }
    let message = Coverage::read(folder.path()).unwrap_err().to_string();
    assert!(message.ends_with("not what a counting model writes"), "{message}");
}

/// A branch that takes back what its condition reads runs all the same.
#[test]
fn a_branch_that_changes_its_own_condition_is_counted() {
    let text = "module pulse(input wire clk, input wire [3:0] a, output reg seen, output reg over);
    reg go;
    reg seen_next;
    reg over_next;
    always @(*) begin
        seen_next = seen;
        over_next = 1'b0;
        go = a[0];
        if (go && a[1]) begin
            go = 1'b0;
            over_next = 1'b1;
        end
        if (go) begin
            seen_next = 1'b1;
        end
    end
    always @(posedge clk) begin
        seen <= seen_next;
        over <= over_next;
    end
endmodule
";
    let source = Source::new("pulse").verilog("pulse.v", text).ports([
        Port::input("clk", 1),
        Port::input("a", 4),
        Port::output("seen", 1),
        Port::output("over", 1),
    ]);
    let folder = tempfile::tempdir().unwrap();
    let options = Options { coverage: Counting::Statements, ..Options::default() };
    let mut model = source.build_counting(&options, folder.path()).unwrap().instance(1);
    for input in [0, 3, 3] {
        model.set("a", input);
        model.cycle();
    }
    assert_eq!(model.get("over"), 1);
    drop(model);
    let block = &Coverage::read(folder.path()).unwrap().blocks["pulse.v"];
    let ran = ["10", "11", "14"].map(|line| block.statements[line] > 0);
    assert_eq!(ran, [true, true, false], "{block:?}");
}
