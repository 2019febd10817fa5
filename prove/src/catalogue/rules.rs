//! The rules of streams, for every output stream of a block of the card.

use crate::streams::Rules;

use super::{of_card, places::AROUND_WINDOWS};

/// The blocks, and whether their rules take so long that they are only proved with `--all`.
const BLOCKS: [(&str, bool); 8] = [
    ("control", false),
    ("host_read", true),
    ("queue", true),
    ("decoder", true),
    ("windows", false),
    ("boxes", false),
    ("placer_boxes", true),
    ("reader", true),
];

/// Further assumptions about a block's inputs, in Verilog.
fn assumed(block: &str) -> String {
    match block {
        // The placer becomes busy with the beats that it takes. What a request says of its reads is written before its
        // first beat; the registers stay as they are while a beat waits. Whoever writes them meanwhile withdraws it.
        "windows" => format!(
            "{AROUND_WINDOWS}    reg [25:0] settings;
    always @(posedge clk) settings <= {{max_read, merge_threshold}};
    always @* if (beat_waits) assume (settings == {{max_read, merge_threshold}});
    always @* if (beat_valid) assume (!fetch_write_valid);
    reg idle = 1'b0;
    always @(posedge clk) idle <= !placer_busy && !(row_valid && row_ready) && !rst;
    always @* if (idle) assume (!placer_busy);
    // A row that has been offered stays one: its end came too late for the last window of columns, or the placer,
    // which is at work, opens a later one.
    reg row_waits = 1'b0;
    always @(posedge clk) row_waits <= row_valid && !row_ready && !rst;
    always @* if (row_waits) assume (!end_accepted);
    // A window that is granted stays so until it is opened: see windows.ring. (Here memories bring anything.)
    reg stays = 1'b0;
    always @(posedge clk) stays <= granted && !opens && !rst;
    always @* if (stays) assume (granted);
"
        ),
        _ => String::new(),
    }
}

/// The rules, block by block.
pub(super) fn all() -> Vec<Rules> {
    let rules = |&(block, long): &(&str, bool)| {
        let rules = Rules::new(block, &of_card(block), &assumed(block));
        if long { rules.long() } else { rules }
    };
    BLOCKS.iter().map(rules).collect()
}
