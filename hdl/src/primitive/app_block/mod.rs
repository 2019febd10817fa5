//! The published top: `mqnic_app_block`, exactly as Corundum instances it.
//!
//! A text leaf, because the kernel language has neither module parameters nor `initial` checks. It holds no logic: it
//! connects the card's core to those of Corundum's ports that the core names, in the core's fixed widths, passes
//! through what the card does not use, and ties off the rest. The port and parameter tables beside this file state
//! Corundum's interface (public tree, snapshot of December 2023). Corundum sets every parameter; the defaults are those
//! of a U50, so that the file also elaborates alone.

use std::fmt::Write;

use drdma_verilated::{Direction, Port};

use crate::emit::{Emitted, with_initial_values};

/// The port table: name, direction, width as an expression over the parameters.
const PORTS: &str = include_str!("ports.csv");
/// The parameter table: name, default.
const PARAMETERS: &str = include_str!("parameters.csv");

/// Name of the published module.
pub const NAME: &str = "mqnic_app_block";

/// The application id that Corundum's build must be configured with.
pub const APP_ID: u32 = 0x4452_444d;

/// Streams that pass straight through, for all ports of the shell.
const PASS: [&str; 6] =
    ["direct_tx_cpl_", "direct_tx_", "direct_rx_", "sync_tx_cpl_", "sync_tx_", "sync_rx_"];

/// Streams whose first interface the core handles; further interfaces pass through.
const SHARED: [&str; 3] = ["if_tx_cpl_", "if_tx_", "if_rx_"];

/// Parameters that must be at least what the core needs: name, smallest value.
const AT_LEAST: [(&str, u32); 4] = [
    ("DMA_TAG_WIDTH", 8),
    ("RAM_ADDR_WIDTH", 17),
    ("RAM_SEG_ADDR_WIDTH", 10),
    ("AXIL_APP_CTRL_ADDR_WIDTH", 20),
];

/// Segments of the DMA engine's memories.
const SEGMENTS: u32 = 2;

/// Parameters that must have one value: name, value.
const EXACTLY: [(&str, u32); 6] = [
    ("DMA_ADDR_WIDTH", 64),
    ("RAM_SEG_COUNT", SEGMENTS),
    ("RAM_SEG_DATA_WIDTH", 512),
    ("AXIL_APP_CTRL_DATA_WIDTH", 32),
    ("AXIS_IF_DATA_WIDTH", 512),
    ("DMA_LEN_WIDTH", 16),
];

/// One row of the port table.
#[derive(Clone, Copy, Debug)]
struct ShellPort {
    name: &'static str,
    output: bool,
    width: &'static str,
}

fn shell_ports() -> Vec<ShellPort> {
    let rows = PORTS.lines().skip(1);
    let row = |line: &'static str| {
        let mut cells = line.splitn(3, ',');
        let mut next = || cells.next().expect("three cells a row").trim();
        ShellPort { name: next(), output: next() == "output", width: next() }
    };
    rows.filter(|line| !line.trim().is_empty()).map(row).collect()
}

/// The parameters and their defaults: the card's own `APP_ID`, a U50's values, else Corundum's.
fn shell_parameters() -> Vec<(&'static str, String)> {
    let rows = PARAMETERS.lines().skip(1).filter(|line| !line.trim().is_empty());
    rows.map(|line| {
        let (name, default) = line.split_once(',').expect("two cells a row");
        let on_u50 = U50.iter().find(|(changed, _)| *changed == name);
        let default = match on_u50 {
            _ if name == "APP_ID" => format!("32'h{APP_ID:08x}"),
            Some((_, value)) => value.to_string(),
            None => default.trim().trim_matches('"').to_owned(),
        };
        (name, default)
    })
    .collect()
}

/// The values of the parameters on a U50 (100G, application configuration) that differ from
/// Corundum's defaults; widths that follow from others follow. The published module's defaults.
pub const U50: &[(&str, u64)] = &[
    ("DMA_TAG_WIDTH", 14),
    ("RAM_SEL_WIDTH", 1),
    ("RAM_SEG_DATA_WIDTH", 512),
    ("RAM_ADDR_WIDTH", 17),
    ("AXIL_APP_CTRL_ADDR_WIDTH", 24),
    ("AXIL_CTRL_ADDR_WIDTH", 24),
    ("AXIS_IF_TX_ID_WIDTH", 13),
    ("AXIS_IF_RX_DEST_WIDTH", 9),
];

/// The ports of the published module under given parameter values, for a simulator.
pub fn ports(values: &[(&str, u64)]) -> Vec<Port> {
    let parameters = shell_parameters();
    let parameters: Vec<_> =
        parameters.iter().map(|(name, default)| (*name, default.as_str())).collect();
    let scope = evaluate::Scope::new(&parameters, values);
    let port = |port: ShellPort| {
        let width = scope.value(port.width) as usize;
        match port.output {
            true => Port::output(port.name, width),
            false => Port::input(port.name, width),
        }
    };
    shell_ports().into_iter().map(port).collect()
}

/// The file `mqnic_app_block.v`: a comment that says what it is, the published module around `core`,
/// whose ports are `clk`, `rst` and any of Corundum's port names, and the core's modules, with
/// initial values for simulators with unknown values.
///
/// # Panics
/// If the core has a port that the shell does not know.
pub fn file(core: &Emitted) -> String {
    let head = "`resetall\n`timescale 1ns / 1ps\n`default_nettype none\n";
    let module = module(&core.name, &core.ports);
    let modules = with_initial_values(&core.verilog);
    format!("{}\n{head}\n{module}\n{modules}\n`resetall\n", comment())
}

/// Comment at the top of the file, which explains the file to a reader in a Corundum build.
fn comment() -> String {
    format!(
        "// D-RDMA {version}: a smart NIC that gathers non-contiguous regions and sends them as RoCEv2.\n\
         //\n\
         // The card as an application block of Corundum ({NAME}), complete in this file.\n\
         // Emitted from RustHDL by `drdma-verilog`: change the source, not this text.\n\
         //\n\
         // ABI hash: {abi:#018x}\n\
         // Corundum must be configured with APP_ID {APP_ID:#010x}, and with the parameters that the\n\
         // module checks; its defaults are those of an Alveo U50.\n\
         //\n\
         // SPDX-License-Identifier: MIT OR Apache-2.0\n",
        version = env!("CARGO_PKG_VERSION"),
        abi = drdma_abi::ABI_HASH,
    )
}

fn module(core: &str, core_ports: &[Port]) -> String {
    let ports = shell_ports();
    for port in core_ports {
        assert!(
            ports.iter().any(|shell| shell.name == port.name),
            "the shell has no port {}",
            port.name
        );
    }
    let mut text = header(&ports);
    let mut body = Body::default();
    for port in &ports {
        body.port(port, &ports, core_ports.iter().find(|core| core.name == port.name));
    }
    text.push_str(&checks());
    text.push_str(&body.declarations);
    write!(text, "\n    {core} core (\n{}\n    );\n", body.connections.join(",\n"))
        .expect("writing to a string");
    text.push_str(&body.assigns);
    write!(
        text,
        "\n    // What the card has no use for.\n    wire unused = &{{1'b0, {}}};\n\nendmodule\n",
        body.unused.join(",\n        ")
    )
    .expect("writing to a string");
    text
}

fn header(ports: &[ShellPort]) -> String {
    let parameters = shell_parameters();
    let mut text = format!("module {NAME} #(\n");
    let rows: Vec<_> =
        parameters.iter().map(|(name, value)| format!("    parameter {name} = {value}")).collect();
    writeln!(text, "{}\n) (", rows.join(",\n")).expect("writing to a string");
    let rows: Vec<_> = ports
        .iter()
        .map(|port| {
            let direction = if port.output { "output" } else { "input " };
            match port.width {
                "1" => format!("    {direction} wire {}", port.name),
                width => format!("    {direction} wire [{width}-1:0] {}", port.name),
            }
        })
        .collect();
    writeln!(text, "{}\n);\n", rows.join(",\n")).expect("writing to a string");
    text
}

/// Stops the simulation where a parameter is wrong. Each check is a generate block: with right parameters none exists,
/// and a synthesis tool does not meet `$error`.
fn checks() -> String {
    let mut text = String::new();
    let mut check = |condition: String, name: &str, wanted: String| {
        write!(
            text,
            "    generate if ({condition}) begin : wrong_{name}\n        \
             initial begin\n            \
             $error(\"{NAME}: {name} is %0d, but must be {wanted} (instance %m)\", {name});\n            \
             $finish;\n        end\n    end endgenerate\n"
        )
        .expect("writing to a string");
    };
    check(format!("APP_ID != 32'h{APP_ID:08x}"), "APP_ID", format!("{APP_ID}"));
    for (name, value) in AT_LEAST {
        check(format!("{name} < {value}"), name, format!("at least {value}"));
    }
    for (name, value) in EXACTLY {
        check(format!("{name} != {value}"), name, format!("{value}"));
    }
    text.push('\n');
    text
}

/// The inside of the module, port by port.
#[derive(Default)]
struct Body {
    declarations: String,
    connections: Vec<String>,
    assigns: String,
    unused: Vec<String>,
}

impl Body {
    fn port(&mut self, port: &ShellPort, all: &[ShellPort], core: Option<&Port>) {
        let pass = PASS.iter().any(|group| through(port.name, group).is_some());
        let shared = SHARED.iter().find_map(|group| through(port.name, group));
        match (core, shared.clone()) {
            (Some(core), shared) => {
                assert_eq!(
                    core.direction == Direction::Output,
                    port.output,
                    "the direction of {}",
                    port.name
                );
                let lanes = if shared.is_some() { "IF_COUNT" } else { "1" };
                self.connect(port, core, lanes);
                if let (Some(partner), true) = (shared, port.output) {
                    assert!(all.iter().any(|other| other.name == partner));
                    self.further(port, &partner);
                }
            }
            (None, Some(partner)) if port.output => self.assign(port.name, &partner),
            (None, None) if pass && port.output => {
                let partner = PASS.iter().find_map(|group| through(port.name, group));
                self.assign(port.name, &partner.expect("a partner of a passing port"));
            }
            _ if port.name == "jtag_tdo" => self.assign("jtag_tdo", "jtag_tdi"),
            _ if port.output => {
                // Outputs `ready` are 1, all others 0: beats are accepted and ignored.
                let value = if port.name.ends_with("ready") { "1'b1" } else { "1'b0" };
                writeln!(
                    self.assigns,
                    "    assign {} = {{({}){{{value}}}}};",
                    port.name, port.width
                )
                .expect("writing to a string");
            }
            _ if pass || shared.is_some() => {}
            _ => self.unused.push(port.name.to_string()),
        }
    }

    fn assign(&mut self, to: &str, from: &str) {
        writeln!(self.assigns, "    assign {to} = {from};").expect("writing to a string");
    }

    /// Connects the core's port to the first of `lanes` equal parts of the shell's, cutting or
    /// filling with zeros where the widths differ. A port that packs one field for each segment of the
    /// DMA memories does so segment by segment.
    fn connect(&mut self, port: &ShellPort, core: &Port, lanes: &str) {
        let (name, width) = (port.name, core.width);
        if width == 1 && port.width == "1" {
            self.connections.push(format!("        .{name}({name})"));
            return;
        }
        self.connections.push(format!("        .{name}(core_{name})"));
        writeln!(self.declarations, "    wire [{width}-1:0] core_{name};")
            .expect("writing to a string");
        if let Some(field) = port.width.strip_prefix("RAM_SEG_COUNT*") {
            let segments = SEGMENTS as usize;
            assert_eq!(width % segments, 0, "{name}: {width} bits for {segments} segments");
            let width = width / segments;
            for k in 0..segments {
                let core = format!("core_{name}[{}:{}]", (k + 1) * width - 1, k * width);
                let shell = format!("{name}[{k}*({field}) +: {field}]");
                self.fit(port, &format!("wide_{name}_{k}"), (&core, width), (&shell, field));
            }
            return;
        }
        let part = if lanes == "1" {
            format!("({})", port.width)
        } else {
            format!("(({})/{lanes})", port.width)
        };
        let shell = if lanes == "1" { name.to_string() } else { format!("{name}[{part}-1:0]") };
        self.fit(port, &format!("wide_{name}"), (&format!("core_{name}"), width), (&shell, &part));
    }

    /// Connects a signal of the core with one of the shell, each with its width, through the wire `wide`.
    fn fit(&mut self, port: &ShellPort, wide: &str, core: (&str, usize), shell: (&str, &str)) {
        let core = (core.0, core.1.to_string());
        let shell = (shell.0, shell.1.to_string());
        let ((from, from_width), (to, to_width)) =
            if port.output { (core, shell) } else { (shell, core) };
        write!(
            self.declarations,
            "    wire [{from_width}+{to_width}-1:0] {wide} = {{{{({to_width}){{1'b0}}}}, {from}}};\n    \
             assign {to} = {wide}[{to_width}-1:0];\n"
        )
        .expect("writing to a string");
        self.unused.push(wide.to_string());
    }

    /// Passes the parts of further interfaces through.
    fn further(&mut self, port: &ShellPort, partner: &str) {
        let (name, width) = (port.name, port.width);
        write!(
            self.assigns,
            "    generate if (IF_COUNT > 1) begin : pass_{name}\n        \
             assign {name}[{width}-1:({width})/IF_COUNT] = {partner}[{width}-1:({width})/IF_COUNT];\n    \
             end endgenerate\n"
        )
        .expect("writing to a string");
    }
}

/// The port at the other side of a pass-through: `m_axis_x_data` of `s_axis_x_data` and back.
fn through(name: &str, group: &str) -> Option<String> {
    let rest = name.strip_prefix("s_axis_").or_else(|| name.strip_prefix("m_axis_"))?;
    let field = rest.strip_prefix(group)?;
    if field.contains('_') {
        return None;
    }
    let side = if name.starts_with("s_") { "m" } else { "s" };
    Some(format!("{side}_axis_{group}{field}"))
}

mod evaluate;
#[cfg(test)]
mod tests;
