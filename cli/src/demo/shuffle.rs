//! The designs of a shuffling operator, side by side: rows of LINEITEM among the nodes of a fabric.

use std::{convert::Infallible, time::Duration};

use comfy_table::{CellAlignment, Table, presets::UTF8_FULL_CONDENSED};
use drdma_exchange::{
    Config, Design, Error, Primitive,
    experiment::{self, ExperimentError, Found, Pattern, Share, Trial},
};
use drdma_fabric::{Fabric, FabricCard, FabricError, NetworkConfig, SlotCard};
use drdma_sim::wire::Network as Wire;
use drdma_soft::{simulated::SimulatedCard, uri::DeviceUri};
use serde_json::{Value, json};

use super::lineitem::{self, COLUMNS, ROW, ROWS_PER_SCALE_FACTOR, Row};
use crate::device::{self, DeviceError, Kind};

/// Simulated time that an exchange may take.
const LIMIT: Duration = Duration::from_secs(10);

/// Options of the comparison.
#[derive(Clone, Debug)]
pub struct Options {
    /// URI of the cards.
    pub device: String,
    /// Number of nodes, 2 to 64.
    pub nodes: usize,
    /// Threads of a node.
    pub threads: usize,
    /// Rows of a node.
    pub rows: usize,
    /// Bytes of a message, at most 4,096.
    pub message: u32,
}

/// Why the comparison has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShuffleError {
    /// A card was not opened.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The URI asks for a waveform, which only one card can write.
    #[error(
        "{device}: `trace` writes the waveform of one card, and here each of {nodes} nodes has one, anew for every line of the table"
    )]
    Trace {
        /// URI of the cards.
        device: String,
        /// Number of nodes.
        nodes: usize,
    },
    /// The fabric was not made.
    #[error(transparent)]
    Fabric(#[from] FabricError),
    /// An exchange failed.
    #[error("{design}, {}, {pattern}: {error}", way(*regions))]
    Exchange {
        /// Design of the exchange.
        design: Design,
        /// Rows were to be sent from where they lie.
        regions: bool,
        /// Pattern of the exchange.
        pattern: Pattern,
        /// Error of the exchange.
        error: ExperimentError,
    },
}

/// A line of the table: a design with a pattern.
#[derive(Debug)]
pub struct Line {
    design: Design,
    regions: bool,
    pattern: Pattern,
    /// Costs of the exchange, or the reason why the card cannot do it.
    found: Result<Found, String>,
}

/// Name of the way in which rows get into messages.
fn way(regions: bool) -> &'static str {
    if regions { "regions" } else { "copy" }
}

/// Tries all designs in all patterns; `told` is called before each.
///
/// # Errors
/// See [`ShuffleError`]. That the cards do not do what a design needs is none.
pub fn run(
    options: &Options,
    told: &mut dyn FnMut(Design, &str, Pattern),
) -> Result<Vec<Line>, ShuffleError> {
    if device::has_option(&options.device, "trace") {
        let (device, nodes) = (options.device.clone(), options.nodes);
        return Err(ShuffleError::Trace { device, nodes });
    }
    let shares = shares(options.nodes, options.rows);
    let mut lines = Vec::new();
    for pattern in Pattern::ALL {
        for design in Design::ALL {
            for regions in [false, true] {
                // There is no key to rows with gaps.
                if regions && design.primitive == Primitive::Read {
                    continue;
                }
                told(design, way(regions), pattern);
                let found = exchange(options, &shares, design, regions, pattern)?;
                lines.push(Line { design, regions, pattern, found });
            }
        }
    }
    Ok(lines)
}

fn exchange(
    options: &Options,
    shares: &[Share],
    design: Design,
    regions: bool,
    pattern: Pattern,
) -> Result<Result<Found, String>, ShuffleError> {
    let cards = (0..options.nodes).map(|_| card(&options.device)).collect::<Result<_, _>>()?;
    let mut fabric = Fabric::with_cards(NetworkConfig::default(), cards)?;
    let config = Config { message: options.message, ..Config::new(design.primitive) };
    let trial = Trial {
        design,
        regions,
        pattern,
        threads: options.threads,
        config,
        pool: None,
        slow: (0, 0),
    };
    match experiment::run(&mut fabric, shares, &trial, LIMIT) {
        Ok(found) => Ok(Ok(found)),
        Err(ExperimentError::Exchange { error: Error::Unsupported { reason, .. }, .. }) => {
            Ok(Err(reason.to_owned()))
        }
        Err(error) => Err(ShuffleError::Exchange { design, regions, pattern, error }),
    }
}

/// Opens a card whose time has not begun.
///
/// # Errors
/// See [`DeviceError`].
pub fn card(uri: &str) -> Result<Box<dyn FabricCard>, DeviceError> {
    if Kind::of(uri) == Kind::Rtl {
        let wire = Wire::new();
        let slot = device::open_slot(&device::with_option(uri, "cycles", 1), &wire)?;
        return Ok(Box::new(SlotCard::new(slot, wire)));
    }
    let parsed: DeviceUri = uri.parse().map_err(DeviceError::Uri)?;
    // `soft:` makes the error for other schemes and options.
    drdma_soft::open(&parsed.to_string(), Wire::new()).map_err(DeviceError::Uri)?;
    Ok(Box::new(SimulatedCard::new()))
}

/// LINEITEM's first rows, dealt to the nodes in turn.
fn shares(nodes: usize, rows: usize) -> Vec<Share> {
    let empty = || Share {
        columns: COLUMNS.iter().map(|(_, width)| (*width, Vec::new())).collect(),
        hashes: Vec::new(),
    };
    let mut shares: Vec<Share> = (0..nodes).map(|_| empty()).collect();
    let all = nodes * rows;
    // The factor gives more rows than needed, as orders differ in their numbers of rows.
    let factor = (1.1 * all as f64 / ROWS_PER_SCALE_FACTOR).max(0.001);
    let mut dealt = 0;
    let done = lineitem::batches(factor, all.max(1), |batch: &[Row]| {
        for row in &batch[..batch.len().min(all - dealt)] {
            let share = &mut shares[dealt % nodes];
            row.values().for_each(|(column, value)| share.columns[column].1.extend(value));
            let hash = (row.orderkey() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            share.hashes.push(hash);
            dealt += 1;
        }
        Ok::<_, Infallible>(())
    });
    match done {
        Ok(()) => shares,
    }
}

/// The table as text, for people.
pub fn render(lines: &[Line], options: &Options) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header([
        "pattern",
        "design",
        "rows",
        "Gb/s",
        "wire",
        "messages",
        "others",
        "requests",
        "pinned KiB",
        "QPs",
        "ns a row",
    ]);
    for line in lines {
        let mut cells =
            vec![line.pattern.to_string(), line.design.to_string(), way(line.regions).to_owned()];
        match &line.found {
            Ok(found) => cells.extend([
                format!("{:.1}", found.goodput()),
                format!("{:.1}", found.wire()),
                found.data_messages.to_string(),
                found.control_messages.to_string(),
                found.posts.to_string(),
                (found.pinned / 1024).to_string(),
                found.queue_pairs.to_string(),
                format!("{:.0}", found.core_ns()),
            ]),
            Err(reason) => cells.push(reason.clone()),
        }
        table.add_row(cells);
    }
    for column in table.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let Options { device, nodes, threads, rows, message } = options;
    format!(
        "{table}\n\
         {nodes} nodes ({device}), {threads} threads each, {rows} rows of {ROW} B a node, messages of up to {message} B.\n\
         Gb/s: rows that a node sent to others; wire: what its link carried. Both in simulated time, in which\n\
         the hosts' code takes none. Others: credits, entries, ends of streams, READ requests. Pinned KiB\n\
         and QPs are a node's. ns a row: core time of both ends, the simulated card's registers included.\n\n\
         Every row was compared at every node that it was for, and none came twice.\n"
    )
}

/// The table as JSON, for programs.
pub fn object(lines: &[Line], options: &Options) -> Value {
    let line = |line: &Line| {
        let mut object = json!({
            "pattern": line.pattern.to_string(), "design": line.design.to_string(),
            "rows": way(line.regions),
        });
        match &line.found {
            Ok(found) => {
                object["gbps"] = json!(found.goodput());
                object["wire_gbps"] = json!(found.wire());
                object["simulated_ns"] = json!(found.time.as_nanos() as u64);
                object["row_count"] = json!(found.rows);
                object["messages"] = json!(found.data_messages);
                object["other_messages"] = json!(found.control_messages);
                object["requests"] = json!(found.posts);
                object["pinned_bytes"] = json!(found.pinned);
                object["queue_pairs"] = json!(found.queue_pairs);
                object["core_ns_per_row"] = json!(found.core_ns());
            }
            Err(reason) => object["unsupported"] = json!(reason),
        }
        object
    };
    json!({
        "device": options.device, "nodes": options.nodes, "threads": options.threads,
        "rows_per_node": options.rows, "row_bytes": ROW, "message": options.message,
        "designs": lines.iter().map(line).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(device: &str) -> Options {
        Options { device: device.to_owned(), nodes: 3, threads: 2, rows: 300, message: 1024 }
    }

    #[test]
    fn the_rows_of_lineitem_are_dealt_to_the_nodes() {
        let shares = shares(3, 300);
        let counts: Vec<_> = shares.iter().map(|share| share.hashes.len()).collect();
        assert_eq!(counts, [300, 300, 300]);
        assert_eq!(shares[0].row_bytes(), ROW);
        // The first order's first row goes to node 0, its second row to node 1.
        assert_eq!(shares[0].columns[0].1[..8], 1_u64.to_le_bytes());
        assert_eq!(shares[1].columns[0].1[..8], 1_u64.to_le_bytes());
    }

    #[test]
    fn every_design_stands_in_the_table_with_what_it_cost() {
        let options = options("soft:");
        let mut told = 0;
        let lines = run(&options, &mut |_, _, _| told += 1).unwrap();
        // 8 designs, 6 of them in two ways, in 3 patterns.
        assert_eq!((lines.len(), told), (42, 42));
        assert!(lines.iter().all(|line| line.found.is_ok()));
        let table = render(&lines, &options);
        assert!(table.contains("ME MQ/SR") && table.contains("broadcast"), "{table}");
        let object = object(&lines, &options);
        assert_eq!(object["designs"].as_array().unwrap().len(), 42);
        assert!(object["designs"][0]["gbps"].as_f64().unwrap() > 1.0, "{object}");
    }

    #[test]
    fn a_waveform_of_all_cards_is_refused() {
        let refused = run(&options("rtl:?stall=0.1&trace=x.fst"), &mut |_, _, _| {}).unwrap_err();
        let text = "rtl:?stall=0.1&trace=x.fst: `trace` writes the waveform of one card, and here each of 3 nodes has one, anew for every line of the table";
        assert_eq!(refused.to_string(), text);
    }

    #[test]
    fn what_is_no_simulated_card_is_refused() {
        let refused = run(&options("hard:"), &mut |_, _, _| {}).unwrap_err();
        assert!(matches!(refused, ShuffleError::Device(_)), "{refused}");
    }
}
