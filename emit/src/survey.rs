//! Survey of a block: its signals, sub-modules and code, collected in one visit.

use rust_hdl_core::prelude::*;
use rust_hdl_core::type_descriptor::{TypeDescriptor, TypeKind};

/// A signal or constant of a module.
#[derive(Clone, Debug)]
pub(super) struct Atom {
    pub name: String,
    pub kind: AtomKind,
    pub width: usize,
    pub signed: bool,
    pub clock: bool,
    pub kind_of: TypeKind,
    /// Whether a hand-written `connect` says that it is driven.
    pub driven: bool,
    /// The value, if it is a constant.
    pub value: String,
}

/// A module: its signals, its sub-modules, its code.
pub(super) struct Module {
    pub name: String,
    pub path: String,
    pub code: Verilog,
    pub atoms: Vec<Atom>,
    pub children: Vec<Module>,
    /// Ports that are bundles of signals, with the fields in order.
    pub bundles: Vec<(String, Vec<String>)>,
    /// Enum constants that its signals' types bring: (name with `$`, value, width).
    pub enums: Vec<(String, usize, usize)>,
}

#[derive(Default)]
struct Survey {
    open: Vec<(Module, Vec<String>)>,
    done: Option<Module>,
}

/// Visits `block` as `name`.
pub(super) fn survey(name: &str, block: &dyn Block) -> Module {
    let mut survey = Survey::default();
    block.accept(name, &mut survey);
    survey.done.expect("a block visits its own scope")
}

fn add_enums(into: &mut Vec<(String, usize, usize)>, descriptor: &TypeDescriptor) {
    match &descriptor.kind {
        TypeKind::Enum(variants) => {
            for (value, variant) in variants.iter().enumerate() {
                let entry = (variant.replace("::", "$"), value, clog2(variants.len()));
                if !into.contains(&entry) {
                    into.push(entry);
                }
            }
        }
        TypeKind::Composite(fields) => fields.iter().for_each(|f| add_enums(into, &f.kind)),
        TypeKind::Bits(_) | TypeKind::Signed(_) => {}
    }
}

/// A constant's value, of its own width.
fn constant(signal: &dyn rust_hdl_core::prelude::Atom) -> String {
    let text = format!("{:x}", signal.verilog());
    match text.split_once('\'') {
        Some((_, digits)) => format!("{}'{digits}", signal.bits()),
        None => text,
    }
}

impl Probe for Survey {
    fn visit_start_scope(&mut self, name: &str, node: &dyn Block) {
        let path = match self.open.last() {
            Some((parent, _)) => format!("{}.{name}", parent.path),
            None => name.to_owned(),
        };
        let module = Module {
            name: name.to_owned(),
            path,
            code: node.hdl(),
            atoms: Vec::new(),
            children: Vec::new(),
            bundles: Vec::new(),
            enums: Vec::new(),
        };
        self.open.push((module, Vec::new()));
    }

    fn visit_start_namespace(&mut self, name: &str, _: &dyn Block) {
        let (module, namespace) = self.open.last_mut().expect("inside a scope");
        namespace.push(name.to_owned());
        module.bundles.push((namespace.join("$"), Vec::new()));
    }

    fn visit_end_namespace(&mut self, _: &str, _: &dyn Block) {
        self.open.last_mut().expect("inside a scope").1.pop();
    }

    fn visit_atom(&mut self, name: &str, signal: &dyn rust_hdl_core::prelude::Atom) {
        let (module, namespace) = self.open.last_mut().expect("inside a scope");
        if let (false, Some((_, fields))) = (namespace.is_empty(), module.bundles.last_mut()) {
            fields.push(name.to_owned());
        }
        let name = [namespace.as_slice(), &[name.to_owned()]].concat().join("$");
        let descriptor = signal.descriptor();
        add_enums(&mut module.enums, &descriptor);
        let kind = signal.kind();
        module.atoms.push(Atom {
            name,
            kind,
            width: signal.bits(),
            signed: matches!(descriptor.kind, TypeKind::Signed(_)),
            clock: descriptor.name == "clock",
            value: match kind {
                AtomKind::Constant => constant(signal),
                _ => String::new(),
            },
            kind_of: descriptor.kind,
            driven: signal.connected(),
        });
    }

    fn visit_end_scope(&mut self, _: &str, _: &dyn Block) {
        let (module, _) = self.open.pop().expect("a scope was started");
        match self.open.last_mut() {
            Some((parent, _)) => {
                for entry in &module.enums {
                    if !parent.enums.contains(entry) {
                        parent.enums.push(entry.clone());
                    }
                }
                parent.children.push(module);
            }
            None => self.done = Some(module),
        }
    }
}
