//! A flat netlist of Xilinx cells, as yosys writes it: its cells and its longest path.

use std::{
    collections::{BTreeMap, HashMap},
    io::Read,
    ops::{Add, Mul},
};

use serde::{Deserialize, Serialize};

/// Cells of an FPGA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cells {
    /// LUTs, also those used as memory or shift register.
    pub luts: u64,
    /// Number of registers.
    pub registers: u64,
    /// Halves of block RAMs of 36 Kibit.
    pub bram18: u64,
    /// Number of UltraRAMs.
    pub uram: u64,
    /// Number of multipliers.
    pub dsp: u64,
}

impl Add for Cells {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            luts: self.luts + other.luts,
            registers: self.registers + other.registers,
            bram18: self.bram18 + other.bram18,
            uram: self.uram + other.uram,
            dsp: self.dsp + other.dsp,
        }
    }
}

impl Mul<u64> for Cells {
    type Output = Self;

    fn mul(self, copies: u64) -> Self {
        Self {
            luts: self.luts * copies,
            registers: self.registers * copies,
            bram18: self.bram18 * copies,
            uram: self.uram * copies,
            dsp: self.dsp * copies,
        }
    }
}

#[derive(Deserialize)]
struct File {
    modules: HashMap<String, Netlist>,
}

/// A module without modules in it.
#[derive(Deserialize)]
pub struct Netlist {
    cells: BTreeMap<String, Cell>,
    netnames: BTreeMap<String, Net>,
}

#[derive(Deserialize)]
struct Cell {
    #[serde(rename = "type")]
    kind: String,
    port_directions: BTreeMap<String, String>,
    connections: BTreeMap<String, Vec<Bit>>,
}

#[derive(Deserialize)]
struct Net {
    bits: Vec<Bit>,
}

/// A net's number, or a constant.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
enum Bit {
    Net(u32),
    Constant(String),
}

impl Bit {
    fn net(&self) -> Option<u32> {
        match self {
            Self::Net(net) => Some(*net),
            Self::Constant(text) => {
                debug_assert!(text.len() == 1, "{text}");
                None
            }
        }
    }
}

/// Reads the module `name` of yosys' JSON.
pub fn read(json: impl Read, name: &str) -> Result<Netlist, String> {
    let mut file: File = serde_json::from_reader(json).map_err(|error| error.to_string())?;
    file.modules.remove(name).ok_or_else(|| format!("the netlist has no module {name}"))
}

/// Role of a cell in paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Paths lead from every input to every output, through this many levels.
    Gate(u32),
    /// Carry chain: one level, and none from one part of the chain to the next.
    Carry,
    /// Paths begin at its outputs and end at its inputs.
    Register,
    /// Memory in LUTs: a level from the address to the output; written with the clock.
    LutMemory,
}

/// Whether an input of a memory in LUTs is the address of an output. A memory that is read at two addresses has
/// an output for each, and is written at one of these.
fn reads(input: &str, output: &str) -> bool {
    match (input.strip_prefix("ADDR"), output.strip_prefix("DO")) {
        (Some(port), Some(of)) => port == of,
        _ if input.starts_with("DPRA") => output == "DPO",
        _ => input.starts_with('A') && output != "DPO",
    }
}

/// Role of a kind of cell, and the cells that it counts as.
fn kind(name: &str) -> Result<(Role, Cells), String> {
    let luts = |luts| Cells { luts, ..Cells::default() };
    let none = Cells::default();
    let one = |cells| Ok((Role::Register, cells));
    match name {
        "LUT1" => Ok((Role::Gate(0), luts(1))),
        "LUT2" | "LUT3" | "LUT4" | "LUT5" | "LUT6" => Ok((Role::Gate(1), luts(1))),
        "INV" | "MUXF7" | "MUXF8" | "MUXF9" | "BUF" => Ok((Role::Gate(0), none)),
        "CARRY4" | "CARRY8" => Ok((Role::Carry, none)),
        "FDRE" | "FDSE" | "FDCE" | "FDPE" => one(Cells { registers: 1, ..none }),
        "RAMB18E2" => one(Cells { bram18: 1, ..none }),
        "RAMB36E2" => one(Cells { bram18: 2, ..none }),
        "URAM288" => one(Cells { uram: 1, ..none }),
        "DSP48E2" => one(Cells { dsp: 1, ..none }),
        "SRL16E" | "SRLC16E" | "SRLC32E" => Ok((Role::LutMemory, luts(1))),
        "RAM32X1S" | "RAM64X1S" => Ok((Role::LutMemory, luts(1))),
        "RAM32X1D" | "RAM64X1D" | "RAM128X1S" => Ok((Role::LutMemory, luts(2))),
        "RAM32M" | "RAM64M" | "RAM128X1D" | "RAM256X1S" => Ok((Role::LutMemory, luts(4))),
        "RAM32M16" | "RAM64M8" | "RAM256X1D" | "RAM512X1S" => Ok((Role::LutMemory, luts(8))),
        // The cell is another block, which is synthesised by itself.
        block if block.starts_with("drdma_") => Ok((Role::Register, none)),
        other => Err(format!("what yosys calls {other} is not known here")),
    }
}

impl Netlist {
    /// Number of cells, by kind.
    ///
    /// # Errors
    /// A cell is of an unknown kind.
    pub fn cells(&self) -> Result<Cells, String> {
        let count = |sum: Cells, cell: &Cell| Ok(sum + kind(&cell.kind)?.1);
        self.cells.values().try_fold(Cells::default(), count)
    }

    /// The LUT levels of the longest path, and the names of the nets on it.
    ///
    /// # Errors
    /// A cell is of an unknown kind, or there is a loop.
    pub fn longest_path(&self) -> Result<(u32, Vec<String>), String> {
        let graph = Graph::new(self)?;
        let depths = graph.depths()?;
        let Some((mut net, deepest)) =
            depths.iter().max_by_key(|(net, (levels, _))| (*levels, std::cmp::Reverse(**net)))
        else {
            return Ok((0, Vec::new()));
        };
        let levels = deepest.0;
        let names = self.names();
        let mut path = Vec::new();
        loop {
            let name =
                names.get(net).map_or_else(|| format!("net {net}"), |name| (*name).to_owned());
            path.push(name);
            match &depths.get(net) {
                Some((_, Some(before))) => net = before,
                _ => break,
            }
        }
        path.reverse();
        Ok((levels, path))
    }

    /// A name for every net, the shortest that is not yosys' own.
    fn names(&self) -> HashMap<u32, &str> {
        let mut names: HashMap<u32, &str> = HashMap::new();
        for (name, net) in &self.netnames {
            for bit in net.bits.iter().filter_map(Bit::net) {
                let known = names.entry(bit).or_insert(name);
                let rank = |name: &str| (name.starts_with('$'), name.len());
                if rank(name) < rank(known) {
                    *known = name;
                }
            }
        }
        names
    }
}

/// Arcs between nets, each with its number of levels.
struct Graph {
    /// For every net that a gate drives: the nets that it depends on, and the levels between.
    arcs: HashMap<u32, Vec<(u32, u32)>>,
}

/// Levels to a net, and the net before it on the longest path.
type Depths = HashMap<u32, (u32, Option<u32>)>;

impl Graph {
    fn new(netlist: &Netlist) -> Result<Self, String> {
        let mut arcs: HashMap<u32, Vec<(u32, u32)>> = HashMap::new();
        for cell in netlist.cells.values() {
            let (role, _) = kind(&cell.kind)?;
            let is = |port: &str, way| cell.port_directions.get(port).is_some_and(|d| d == way);
            let ports = |way| cell.connections.iter().filter(move |(port, _)| is(port, way));
            for (output, to) in ports("output") {
                let mut inputs = Vec::new();
                for (input, from) in ports("input") {
                    let level = match role {
                        Role::Register => continue,
                        Role::Gate(level) => level,
                        Role::Carry => u32::from(input != "CI"),
                        Role::LutMemory if reads(input, output) => 1,
                        Role::LutMemory => continue,
                    };
                    inputs.extend(from.iter().filter_map(Bit::net).map(|net| (net, level)));
                }
                if inputs.is_empty() {
                    continue;
                }
                for net in to.iter().filter_map(Bit::net) {
                    arcs.entry(net).or_default().extend(&inputs);
                }
            }
        }
        Ok(Self { arcs })
    }

    /// Depths of all nets, found depth first without recursion, as paths are long.
    fn depths(&self) -> Result<Depths, String> {
        let mut depths = Depths::new();
        let mut open: HashMap<u32, ()> = HashMap::new();
        let mut starts: Vec<u32> = self.arcs.keys().copied().collect();
        starts.sort_unstable();
        for start in starts {
            let mut stack = vec![start];
            while let Some(&net) = stack.last() {
                if depths.contains_key(&net) {
                    stack.pop();
                    continue;
                }
                let arcs = self.arcs.get(&net).map_or(&[][..], |arcs| arcs);
                let missing: Vec<u32> = arcs
                    .iter()
                    .map(|(from, _)| *from)
                    .filter(|from| !depths.contains_key(from))
                    .collect();
                if missing.is_empty() {
                    // The first of the deepest nets is taken.
                    let deepest = arcs
                        .iter()
                        .rev()
                        .map(|(from, level)| (depths[from].0 + level, Some(*from)))
                        .max_by_key(|(levels, _)| *levels);
                    depths.insert(net, deepest.unwrap_or((0, None)));
                    stack.pop();
                } else if open.insert(net, ()).is_some() {
                    return Err(format!("net {net} depends on itself"));
                } else {
                    stack.extend(missing);
                }
            }
        }
        Ok(depths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ports of one bit, and their nets.
    type Ports<'a> = &'a [(&'a str, u32)];

    /// Cells {kind, inputs, outputs}.
    fn netlist(cells: &[(&str, Ports<'_>, Ports<'_>)]) -> Netlist {
        let cell = |(kind, inputs, outputs): &(&str, Ports<'_>, Ports<'_>)| {
            let ports = || {
                let ins = inputs.iter().map(|port| (port, "input"));
                ins.chain(outputs.iter().map(|port| (port, "output")))
            };
            Cell {
                kind: (*kind).to_owned(),
                port_directions: ports().map(|((p, _), d)| ((*p).into(), d.into())).collect(),
                connections: ports()
                    .map(|((port, net), _)| ((*port).into(), vec![Bit::Net(*net)]))
                    .collect(),
            }
        };
        let cells = cells.iter().enumerate().map(|(i, c)| (i.to_string(), cell(c))).collect();
        let net = |net: u32| Net { bits: vec![Bit::Net(net)] };
        let names = (0..20).map(|number| (format!("n{number}"), net(number)));
        Netlist { cells, netnames: names.collect() }
    }

    #[test]
    fn a_path_goes_from_register_to_register() {
        let netlist = netlist(&[
            ("FDRE", &[("D", 3)], &[("Q", 1)]),
            ("LUT2", &[("I0", 1), ("I1", 9)], &[("O", 2)]),
            ("MUXF7", &[("I0", 2)], &[("O", 4)]),
            ("LUT6", &[("I0", 4), ("I1", 1)], &[("O", 3)]),
            ("FDRE", &[("D", 5)], &[("Q", 6)]),
            ("LUT3", &[("I0", 6)], &[("O", 7)]),
        ]);
        let (levels, path) = netlist.longest_path().unwrap();
        assert_eq!((levels, &path[..]), (2, &["n1", "n2", "n4", "n3"].map(String::from)[..]));
        let cells = netlist.cells().unwrap();
        assert_eq!(cells, Cells { luts: 3, registers: 2, ..Cells::default() });
    }

    #[test]
    fn a_carry_chain_is_one_level_however_long() {
        let netlist = netlist(&[
            ("LUT2", &[("I0", 0)], &[("O", 1)]),
            ("CARRY4", &[("S", 1)], &[("CO", 2)]),
            ("CARRY4", &[("CI", 2), ("S", 0)], &[("CO", 3)]),
            ("CARRY4", &[("CI", 3)], &[("O", 4)]),
        ]);
        assert_eq!(netlist.longest_path().unwrap().0, 2);
    }

    #[test]
    fn memory_in_luts_is_read_in_a_level_and_written_with_the_clock() {
        let netlist = netlist(&[
            ("LUT2", &[("I0", 0)], &[("O", 1)]),
            ("RAM32M", &[("ADDRA", 0), ("DIA", 1)], &[("DOA", 2)]),
            ("RAMB36E2", &[("ADDRARDADDR", 2)], &[("DOUTADOUT", 3)]),
            ("LUT2", &[("I0", 3)], &[("O", 4)]),
        ]);
        assert_eq!(netlist.longest_path().unwrap().0, 1);
        let cells = netlist.cells().unwrap();
        assert_eq!(cells, Cells { luts: 6, bram18: 2, ..Cells::default() });
    }

    #[test]
    fn where_a_memory_in_luts_is_written_is_no_matter_to_what_is_read_elsewhere() {
        let levels = |address: &str, output: &str| {
            let netlist = netlist(&[
                ("LUT2", &[("I0", 0)], &[("O", 1)]),
                ("LUT2", &[("I0", 1)], &[("O", 2)]),
                ("RAM64X1D", &[(address, 2)], &[(output, 3)]),
                ("RAM32M", &[("ADDRD", 2), ("ADDRA", 1)], &[("DOA", 4)]),
            ]);
            netlist.longest_path().unwrap().0
        };
        assert_eq!((levels("A0", "SPO"), levels("DPRA0", "DPO")), (3, 3));
        assert_eq!((levels("A0", "DPO"), levels("DPRA0", "SPO")), (2, 2));
    }

    #[test]
    fn loops_and_unknown_cells_are_errors() {
        let turn =
            netlist(&[("LUT2", &[("I0", 2)], &[("O", 1)]), ("LUT2", &[("I0", 1)], &[("O", 2)])]);
        assert!(turn.longest_path().unwrap_err().contains("depends on itself"));
        let strange = netlist(&[("LATCH", &[("D", 2)], &[("Q", 1)])]);
        assert_eq!(strange.cells().unwrap_err(), "what yosys calls LATCH is not known here");
    }

    #[test]
    fn what_yosys_writes_is_read() {
        let json = r#"{"creator": "", "modules": {"m": {"ports": {}, "cells": {"c": {"type": "LUT1",
            "port_directions": {"I0": "input", "O": "output"},
            "connections": {"I0": ["0"], "O": [7]}}}, "netnames": {"x": {"bits": [7, "x"]}}}}}"#;
        assert_eq!(read(json.as_bytes(), "m").unwrap().cells().unwrap().luts, 1);
        assert!(read(json.as_bytes(), "n").is_err());
    }
}
