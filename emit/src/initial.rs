//! Initial values for simulators with unknown values.

use std::fmt::Write;

/// Name of the process that sets the initial values.
const PROCESS: &str = "initial_values";
/// Name of the process's loop variable.
const INDEX: &str = "initial_index";

/// Every module of `verilog` with initial values of 0 for its registers and memories, where the
/// text is simulated by something else than Verilator.
///
/// A table without a reset that is only counted up is right on an FPGA, where it starts with
/// anything, but never becomes known where it starts as `x`. A synthesis tool does not see the
/// values (`SYNTHESIS`), so that they demand nothing of a memory's kind; nor does Verilator
/// (`VERILATOR`), where registers start with random bits, so that nothing comes to depend on them.
pub fn with_initial_values(verilog: &str) -> String {
    let mut text = String::with_capacity(verilog.len() * 2);
    let mut state = State::default();
    for line in verilog.lines() {
        if line.starts_with("module ") {
            state = State::default();
        }
        if line == "endmodule" {
            text.push_str(&state.process());
        }
        state.line(line);
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// Registers and memories of a module, as far as it was read.
#[derive(Debug, Default)]
struct State {
    /// Memories and their last words.
    memories: Vec<(String, usize)>,
    /// Targets of non-blocking assignments, memories among them, in order.
    assigned: Vec<String>,
}

impl State {
    fn line(&mut self, line: &str) {
        if let Some(memory) = memory(line) {
            self.memories.push(memory);
        }
        if let Some(target) = assigned(line)
            && !self.assigned.iter().any(|known| known == target)
        {
            self.assigned.push(target.to_owned());
        }
    }

    fn process(&self) -> String {
        if self.assigned.is_empty() {
            return String::new();
        }
        let mut text =
            format!("`ifndef SYNTHESIS\n`ifndef VERILATOR\n    initial begin : {PROCESS}\n");
        let last = |name: &str| self.memories.iter().find(|(memory, _)| memory == name);
        if self.assigned.iter().any(|name| last(name).is_some()) {
            let _ = writeln!(text, "        integer {INDEX};");
        }
        for name in &self.assigned {
            // Not blocking: every process waits for changes already, and sees this one.
            let _ = match last(name) {
                Some((_, last)) => writeln!(
                    text,
                    "        for ({INDEX} = 0; {INDEX} <= {last}; {INDEX} = {INDEX} + 1)\n            \
                     {name}[{INDEX}] <= 0;"
                ),
                None => writeln!(text, "        {name} <= 0;"),
            };
        }
        text.push_str("    end\n`endif\n`endif\n");
        text
    }
}

/// The memory that a line declares, and its last word.
fn memory(line: &str) -> Option<(String, usize)> {
    let (_, declaration) = line.strip_suffix("];")?.split_once("reg ")?;
    let (before, last) = declaration.rsplit_once(" [0:")?;
    let name = before.rsplit(' ').next()?;
    Some((name.to_owned(), last.parse().ok()?))
}

/// The register or memory to which a line of a module assigns at the clock's edge.
pub fn assigned(line: &str) -> Option<&str> {
    let statement = line.trim_start();
    // The statement may stand behind the label of a case.
    let statement = match statement.split_once(": ") {
        Some((label, rest)) if !label.contains(' ') => rest,
        _ => statement,
    };
    let statement = statement.strip_prefix("else ").unwrap_or(statement);
    let statement = match statement.strip_prefix("if (") {
        Some(condition) => behind_parenthesis(condition)?.trim_start(),
        None => statement,
    };
    let end = statement.find(|c: char| !(c.is_ascii_alphanumeric() || "_$".contains(c)))?;
    let (name, rest) = statement.split_at(end);
    let assigned = rest.starts_with(" <= ") || rest.starts_with('[') && rest.contains("] <= ");
    (!name.is_empty() && assigned).then_some(name)
}

/// The text behind the parenthesis that closes one which is open in front of `text`.
fn behind_parenthesis(text: &str) -> Option<&str> {
    let mut open = 1;
    let close = text.find(|c| {
        open += i32::from(c == '(') - i32::from(c == ')');
        open == 0
    })?;
    Some(&text[close + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = "\
module sample(
    input wire clk,
    output reg [3:0] data
);
    (* ram_style = \"block\" *) reg [3:0] memory [0:15];
    reg state$q;
    reg [3:0] shifted;
    wire small = data <= 4'd3;
    always @(posedge clk) begin
        state$q <= small;
        if ((data <= 4'd2) && small) memory[data] <= {data[2:0], small};
        else data <= 4'd0;
        if (data <= 4'd3) begin
            data[1:0] <= 2'd0;
        end
        case (data)
            4'd1: shifted <= data;
            default: shifted <= 4'd0;
        endcase
    end
endmodule
";

    #[test]
    fn registers_and_memories_get_values_and_comparisons_do_not() {
        let text = with_initial_values(SAMPLE);
        let process = "\
`ifndef SYNTHESIS
`ifndef VERILATOR
    initial begin : initial_values
        integer initial_index;
        state$q <= 0;
        for (initial_index = 0; initial_index <= 15; initial_index = initial_index + 1)
            memory[initial_index] <= 0;
        data <= 0;
        shifted <= 0;
    end
`endif
`endif
";
        assert_eq!(text, SAMPLE.replace("endmodule", &format!("{process}endmodule")));
    }

    #[test]
    fn a_module_without_registers_stays_as_it_is() {
        let text = "module wires(\n    input wire a\n);\n    wire b = a <= 1'b0;\nendmodule\n";
        assert_eq!(with_initial_values(text), text);
    }
}
