//! Modules in Verilog.

use super::expression::{Scope, Signal};
use super::survey::{Atom, Module};
use super::{EmitError, Emitted, code, kernel, names, origins};
use drdma_verilated::{Direction, Port};
use rust_hdl_core::prelude::*;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;

type Result<T> = std::result::Result<T, EmitError>;

/// Prints `top` and everything below it.
pub(super) fn print(name: &str, top: &Module) -> Result<Emitted> {
    let mut printer = Printer::default();
    let ports: Vec<&Atom> = top.atoms.iter().filter(|a| a.kind.is_parameter()).collect();
    let plain = |atom: &Atom| Port {
        name: atom.name.replace('$', "_"),
        direction: match atom.kind {
            AtomKind::InputParameter => Direction::Input,
            _ => Direction::Output,
        },
        width: atom.width,
    };
    let outer: Vec<Port> = ports.iter().map(|atom| plain(atom)).collect();
    if ports.iter().any(|atom| atom.name.contains('$')) {
        printer.shell = Some(name.to_owned());
        let inner = printer.module(top, &format!("{name}_core"))?;
        let list: Vec<_> =
            outer.iter().map(|p| declare_port(p.direction, "wire", p.width, &p.name)).collect();
        let links: Vec<_> = ports
            .iter()
            .zip(&outer)
            .map(|(a, p)| format!("        .{}({})", a.name, p.name))
            .collect();
        printer.text.push_str(&origins::module(Some(""), &[]));
        let _ = write!(
            printer.text,
            "module {name}(\n{}\n);\n    {inner} core(\n{}\n    );\nendmodule\n",
            list.join(",\n"),
            links.join(",\n")
        );
    } else {
        // The top module must have its own name even if a sub-module has the same text.
        printer.top = true;
        printer.module(top, name)?;
    }
    for core in &printer.cores {
        printer.text.push_str(&origins::module(None, &[]));
        printer.text.push_str(core);
        printer.text.push('\n');
    }
    let (verilog, origins) = origins::split(&printer.text);
    Ok(Emitted { name: name.to_owned(), verilog, ports: outer, origins })
}

#[derive(Default)]
struct Printer {
    text: String,
    /// Module names by text.
    known: HashMap<String, String>,
    names: HashSet<String>,
    /// Texts of black boxes and wrappers.
    cores: Vec<String>,
    top: bool,
    /// Name of the top module, if the module that is printed first stands inside of it.
    shell: Option<String>,
}

fn signal(atom: &Atom) -> Signal {
    let fixed = atom.kind == AtomKind::Constant;
    Signal { width: atom.width, signed: atom.signed, fixed }
}

fn range(width: usize) -> String {
    if width == 1 { String::new() } else { format!("[{}:0] ", width - 1) }
}

fn declare_port(direction: Direction, kind: &str, width: usize, name: &str) -> String {
    let direction = match direction {
        Direction::Input => "input",
        Direction::Output => "output",
    };
    format!("    {direction} {kind} {}{name}", range(width))
}

fn fail(module: &Module) -> impl Fn(String) -> EmitError + '_ {
    |reason| EmitError { path: module.path.clone(), reason }
}

/// A RustHDL `DFF`, which is printed as a register of its parent.
fn is_register(module: &Module) -> bool {
    let Verilog::Custom(code) = &module.code else { return false };
    let mut names: Vec<_> = module.atoms.iter().map(|a| a.name.as_str()).collect();
    names.sort_unstable();
    names == ["clock", "d", "q"] && code.contains("always @(posedge clock) begin\n   q <= d;\nend")
}

/// Clocks and resets that a kernel does not mention come from the module's own.
const CLOCKS: [&str; 2] = ["clk", "clock"];
const RESET: &str = "rst";

/// Connects ports that have a default, and finds signals that nothing drives.
fn connect(module: &Module, kernel: &mut kernel::Kernel) -> Result<()> {
    let printed = matches!(module.code, Verilog::Combinatorial(_));
    let own = |name: &str, clock: bool| {
        module.atoms.iter().any(|a| a.name == name && a.clock == clock && a.width == 1)
    };
    let check = |path: &str, undriven: Vec<&str>| match &undriven[..] {
        [] => Ok(()),
        names => {
            let reason = format!("never driven: {}", names.join(", "));
            Err(EmitError { path: path.to_owned(), reason })
        }
    };
    let driven = |atom: &Atom| match atom.kind {
        AtomKind::InputParameter | AtomKind::Constant => true,
        _ if printed => kernel.writes.contains(&atom.name),
        _ => atom.driven,
    };
    let undriven = module.atoms.iter().filter(|atom| !driven(atom));
    check(&module.path, undriven.map(|atom| atom.name.as_str()).collect())?;
    for child in &module.children {
        let mut undriven = Vec::new();
        let inputs = child.atoms.iter().filter(|a| a.kind == AtomKind::InputParameter);
        for atom in inputs {
            let stub = format!("{}${}", child.name, atom.name);
            let driven = match printed {
                true => kernel.writes.contains(&stub) || kernel.clocks.contains_key(&stub),
                false => atom.driven,
            };
            if driven {
                continue;
            }
            if atom.clock && CLOCKS.contains(&atom.name.as_str()) && own("clk", true) {
                kernel.clocks.insert(stub, "clk".to_owned());
            } else if atom.name == RESET && atom.width == 1 && own(RESET, false) {
                kernel.clocks.insert(stub, RESET.to_owned());
            } else {
                undriven.push(atom.name.as_str());
            }
        }
        check(&child.path, undriven)?;
    }
    Ok(())
}

impl Printer {
    fn add_core(&mut self, text: &str) {
        if !self.cores.iter().any(|core| core == text) {
            self.cores.push(text.to_owned());
        }
    }

    /// Prints `module` unless one with the same text exists, and returns its name.
    fn module(&mut self, module: &Module, name: &str) -> Result<String> {
        if let Verilog::Blackbox(black_box) = &module.code {
            self.add_core(&black_box.code);
            return Ok(black_box.name.clone());
        }
        let is_top = std::mem::take(&mut self.top);
        for atom in &module.atoms {
            if names::is_reserved(&atom.name) {
                return Err(fail(module)(format!("`{}` is a reserved word", atom.name)));
            }
        }
        let shell = self.shell.take();
        let marked = self.body(module, shell.as_deref().unwrap_or(name))?;
        let body = origins::without(&marked);
        if let Some(known) = self.known.get(&body)
            && !is_top
        {
            return Ok(known.clone());
        }
        let mut unique = name.to_owned();
        while !self.names.insert(unique.clone()) {
            unique.push('x');
        }
        let file = match &module.code {
            Verilog::Combinatorial(code) => code::file_of(code),
            _ => None,
        };
        let ports = module.atoms.iter().filter(|atom| atom.kind.is_parameter());
        let ports: Vec<_> = ports.map(|atom| atom.name.as_str()).collect();
        self.text.push_str(&origins::module(file, &ports));
        let _ = writeln!(self.text, "module {unique}{marked}endmodule\n");
        self.known.insert(body, unique.clone());
        Ok(unique)
    }

    fn body(&mut self, module: &Module, name: &str) -> Result<String> {
        let wrapper = matches!(module.code, Verilog::Wrapper(_));
        let (registers, children): (Vec<_>, Vec<_>) =
            module.children.iter().partition(|child| is_register(child));
        let mut scope = Scope::default();
        for atom in &module.atoms {
            let signal = signal(atom);
            scope.signals.insert(atom.name.clone(), signal);
            scope.add_record(&atom.name, &atom.kind_of);
        }
        scope.bundles.extend(module.bundles.iter().cloned());
        let mut clocks: HashSet<String> = HashSet::new();
        for child in &module.children {
            for atom in child.atoms.iter().filter(|a| a.kind.is_parameter()) {
                let name = format!("{}${}", child.name, atom.name);
                let signal = signal(atom);
                if atom.clock && atom.kind == AtomKind::InputParameter {
                    clocks.insert(name.clone());
                }
                scope.add_record(&name, &atom.kind_of);
                scope.signals.insert(name, signal);
            }
            let bundles = child.bundles.iter();
            let bundles = bundles.map(|(name, f)| (format!("{}${name}", child.name), f.clone()));
            scope.bundles.extend(bundles);
        }
        let mut enums = module.enums.clone();
        if let Verilog::Combinatorial(code) = &module.code {
            for state in code::named_states(code) {
                if !enums.contains(&state) {
                    enums.push(state);
                }
            }
        }
        scope.enums = enums.iter().map(|(n, value, width)| (n.clone(), (*value, *width))).collect();
        let names: Vec<_> = registers.iter().map(|register| register.name.as_str()).collect();
        let mut kernel = match &module.code {
            Verilog::Combinatorial(code) => {
                let is_clock = |name: &str| clocks.contains(name);
                kernel::print(&mut scope, code, &is_clock, &names).map_err(fail(module))?
            }
            _ => kernel::Kernel::default(),
        };
        connect(module, &mut kernel)?;

        let mut out = String::from("(\n");
        let mut ports = Vec::new();
        for atom in module.atoms.iter().filter(|a| a.kind.is_parameter()) {
            let signed = if atom.signed { " signed" } else { "" };
            let (direction, kind) = match atom.kind {
                AtomKind::InputParameter => (Direction::Input, "wire"),
                AtomKind::OutputParameter if wrapper || kernel.wires.contains(&atom.name) => {
                    (Direction::Output, "wire")
                }
                AtomKind::OutputParameter => (Direction::Output, "reg"),
                _ => {
                    return Err(fail(module)(format!("`{}` is bidirectional", atom.name)));
                }
            };
            ports.push(declare_port(direction, &format!("{kind}{signed}"), atom.width, &atom.name));
        }
        out.push_str(&ports.join(",\n"));
        out.push_str("\n);\n");
        if wrapper {
            let Verilog::Wrapper(wrapped) = &module.code else { unreachable!("it is a wrapper") };
            self.add_core(&wrapped.cores);
            out.push_str(&wrapped.code);
            out.push('\n');
            return Ok(out);
        }
        let leaf = !matches!(module.code, Verilog::Combinatorial(_));
        let reads = scope.reads.borrow();
        for atom in module.atoms.iter().filter(|a| a.kind == AtomKind::Constant) {
            if leaf || reads.contains(&atom.name) {
                let range = range(atom.width);
                let _ = writeln!(out, "    localparam {range}{} = {};", atom.name, atom.value);
            }
        }
        for (name, value, width) in &enums {
            if leaf && !module.children.is_empty() || reads.contains(name) {
                let _ = writeln!(out, "    localparam {}{name} = {width}'d{value};", range(*width));
            }
        }
        let declare = |out: &mut String, kind: &str, atom: &Atom, name: &str| {
            let signed = if atom.signed { "signed " } else { "" };
            let _ = writeln!(out, "    {kind} {signed}{}{name};", range(atom.width));
        };
        // An output of a sub-module that the kernel does not read is left open.
        let is_open = |name: &str| !leaf && !reads.contains(name);
        let net = |name: &str| if kernel.wires.contains(name) { "wire" } else { "reg" };
        for atom in module.atoms.iter().filter(|a| a.kind == AtomKind::LocalSignal) {
            declare(&mut out, net(&atom.name), atom, &atom.name);
        }
        for child in &module.children {
            let register = is_register(child);
            for atom in child.atoms.iter().filter(|a| a.kind.is_parameter()) {
                let name = format!("{}${}", child.name, atom.name);
                let kind = match atom.kind {
                    AtomKind::InputParameter if kernel.clocks.contains_key(&name) => continue,
                    AtomKind::InputParameter => net(&name),
                    _ if register => "reg",
                    _ if is_open(&name) => continue,
                    _ => "wire",
                };
                declare(&mut out, kind, atom, &name);
            }
        }
        for child in children {
            let kind = self.module(child, &format!("{name}_{}", child.name.replace('$', "_")))?;
            let links = child.atoms.iter().filter(|a| a.kind.is_parameter()).map(|atom| {
                let stub = format!("{}${}", child.name, atom.name);
                let outside = match kernel.clocks.get(&stub) {
                    Some(clock) => clock.as_str(),
                    None if atom.kind == AtomKind::OutputParameter && is_open(&stub) => "",
                    None => &stub,
                };
                format!("        .{}({outside})", atom.name)
            });
            let links: Vec<_> = links.collect();
            let _ = writeln!(out, "    {kind} {}(\n{}\n    );", child.name, links.join(",\n"));
        }
        let mut by_clock: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for register in registers {
            let stub = format!("{}$clock", register.name);
            let clock = kernel.clocks.get(&stub).cloned().unwrap_or(stub);
            by_clock.entry(clock).or_default().push(&register.name);
        }
        for (clock, names) in by_clock {
            let _ = writeln!(out, "    always @(posedge {clock}) begin");
            for name in names {
                let _ = writeln!(out, "        {name}$q <= {name}$d;");
            }
            out.push_str("    end\n");
        }
        scope.functions.borrow().values().for_each(|text| out.push_str(text));
        out.push_str(&kernel.text);
        if let Verilog::Custom(code) = &module.code {
            out.push_str(code);
            out.push('\n');
        }
        Ok(out)
    }
}
