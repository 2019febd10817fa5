//! Explanations as text, for people.

use comfy_table::{CellAlignment, Table, presets::UTF8_FULL_CONDENSED};

use super::{Explanation, Fetch, Placed, Rule};

/// Explanations as tables.
pub fn render(explanations: &[Explanation]) -> String {
    explanations.iter().map(post).collect::<Vec<_>>().join("\n")
}

fn post(explanation: &Explanation) -> String {
    let mut text = format!(
        "wr_id {}: {}, a work request of {} B\n",
        explanation.wr_id, explanation.status, explanation.request_bytes
    );
    if let Some(reason) = &explanation.reason {
        text += &format!("  {reason}\n");
        return text;
    }
    if let Some(Rule { max_read, merge_threshold }) = explanation.fetch {
        text += &format!(
            "fetched as it says: reads of at most {max_read} B, through gaps of at most \
             {merge_threshold} B\n"
        );
    }
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header([
        "destination",
        "rows",
        "units",
        "fragments",
        "messages",
        "packets",
        "bytes sent",
        "DMA reads",
        "bytes fetched",
        "fetched / sent",
    ]);
    let amplification = |fetch: &Fetch, sent: u64| match sent {
        0 => "-".to_owned(),
        _ => format!("{:.2}", fetch.read_bytes as f64 / sent as f64),
    };
    for share in &explanation.destinations {
        table.add_row([
            share.qp.clone(),
            share.rows.to_string(),
            share.units.to_string(),
            share.fragments.to_string(),
            share.messages.to_string(),
            share.packets.to_string(),
            share.sent_bytes.to_string(),
            share.alone.reads.to_string(),
            share.alone.read_bytes.to_string(),
            amplification(&share.alone, share.sent_bytes),
        ]);
    }
    let sum = |value: fn(&super::Share) -> u64| {
        explanation.destinations.iter().map(value).sum::<u64>().to_string()
    };
    table.add_row([
        "together".to_owned(),
        sum(|s| s.rows),
        sum(|s| s.units),
        sum(|s| s.fragments),
        sum(|s| s.messages),
        sum(|s| s.packets),
        explanation.sent_bytes.to_string(),
        explanation.together.reads.to_string(),
        explanation.together.read_bytes.to_string(),
        amplification(&explanation.together, explanation.sent_bytes),
    ]);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    text += &format!("{table}\n");
    if !explanation.boxes.is_empty() {
        let listed = explanation.boxes.len() as u64;
        let boxes =
            explanation.boxes.iter().map(|b| format!("{}+{}:{}", b.buffer, b.offset, b.len));
        text += &format!("bounding boxes: {}", boxes.collect::<Vec<_>>().join(" "));
        if listed < explanation.together.reads {
            let more = explanation.together.reads - listed;
            text += &format!(" and {more} more (--all lists them)");
        }
        text.push('\n');
        let (card, cheapest) = (&explanation.together, &explanation.cheapest);
        text += &format!(
            "cost of the reads: the card's {}, {} B, {:.1} ns; the cheapest {}, {} B, {:.1} ns\n",
            card.reads,
            card.read_bytes,
            explanation.cost_ns,
            cheapest.reads,
            cheapest.read_bytes,
            cheapest.cost_ns
        );
    }
    text += &explanation.placement.iter().map(gathering).collect::<String>();
    text
}

/// Text on how the payload is gathered.
fn gathering(placed: &Placed) -> String {
    let pace = format!("{:.1} words of 4 B a cycle, of 16", placed.words_per_cycle);
    match placed.window_rows {
        None => format!("gathered row by row: {pace}\n"),
        Some(rows) => {
            let banks: Vec<_> = placed.lanes.iter().map(|lane| lane.bank.to_string()).collect();
            let banks = banks.join(" ");
            format!("gathered from windows of {rows} rows, columns from banks {banks}: {pace}\n")
        }
    }
}
