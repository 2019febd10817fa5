//! Kernel statements in Verilog.

use super::expression::{HANDSHAKE, Place, Scope};
use super::{code, names, origins};
use rust_hdl_core::ast::{
    VerilogBlock, VerilogBlockOrConditional as Otherwise, VerilogConditional,
    VerilogExpression as Expression, VerilogLink as Link, VerilogStatement as Statement,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

type Result<T> = std::result::Result<T, String>;

/// A printed kernel, and its signals.
#[derive(Default)]
pub(super) struct Kernel {
    /// Continuous assignments, `always` blocks.
    pub text: String,
    /// Signals that a continuous assignment drives.
    pub wires: BTreeSet<String>,
    /// Clock inputs of sub-modules and the signal that each one is.
    pub clocks: BTreeMap<String, String>,
    /// Signals that the kernel assigns.
    pub writes: BTreeSet<String>,
}

/// A top-level statement, printed, with what it reads and writes.
struct Piece {
    text: String,
    reads: BTreeSet<String>,
    writes: BTreeSet<String>,
    /// Target and value, if it is a whole assignment.
    assignment: Option<(String, String)>,
}

/// Prints `code`; `is_clock` names the clock inputs of sub-modules, `registers` the sub-modules that are registers.
pub(super) fn print(
    scope: &mut Scope,
    code: &VerilogBlock,
    is_clock: &dyn Fn(&str) -> bool,
    registers: &[&str],
) -> Result<Kernel> {
    let mut pieces = Vec::new();
    collect(scope, code, &mut pieces)?;
    if let Some(name) = read_too_early(&pieces) {
        return Err(format!(
            "`{name}` is read before it is assigned: there it is what the register holds, not what it will be"
        ));
    }
    let held = holds(&pieces, registers);
    scope.reads.borrow_mut().extend(held.iter().flat_map(|piece| piece.reads.iter().cloned()));
    pieces.splice(0..0, held);
    let mut kernel = Kernel::default();
    kernel.writes.extend(pieces.iter().flat_map(|piece| piece.writes.iter().cloned()));
    pieces.retain(|piece| match &piece.assignment {
        Some((target, value)) if is_clock(target) => {
            kernel.clocks.insert(target.clone(), value.clone());
            false
        }
        _ => true,
    });
    if let Some(target) = pieces.iter().flat_map(|p| &p.writes).find(|w| is_clock(w)) {
        return Err(format!("the clock `{target}` must be assigned once, from a clock"));
    }
    for group in groups(&pieces) {
        if let [one] = group[..]
            && let Some((target, value)) = &one.assignment
        {
            let _ = writeln!(kernel.text, "    assign {target} = {value};");
            kernel.wires.insert(target.clone());
            continue;
        }
        // Without a signal to wait for, `always @(*)` would never run.
        let depends = |p: &Piece| p.reads.iter().any(|r| scope.varies(r) && !p.writes.contains(r));
        let constant = !group.iter().any(|p| depends(p));
        let head = if constant { "initial" } else { "always @(*)" };
        let _ = writeln!(kernel.text, "    {head} begin");
        for piece in group {
            match constant {
                // The statement runs before counting begins.
                true => kernel.text.push_str(&origins::without(&piece.text)),
                false => kernel.text.push_str(&piece.text),
            }
        }
        kernel.text.push_str("    end\n");
    }
    Ok(kernel)
}

/// A register's input that a statement reads before the first one that assigns it. Verilog's processes run in order, so
/// that this would be the register's output under another name.
fn read_too_early(pieces: &[Piece]) -> Option<&str> {
    let mut early: BTreeSet<&str> = BTreeSet::new();
    let mut written: BTreeSet<&str> = BTreeSet::new();
    for piece in pieces {
        if let Some(name) = piece.writes.iter().find(|name| early.contains(name.as_str())) {
            return Some(name);
        }
        written.extend(piece.writes.iter().map(String::as_str));
        let reads = piece.reads.iter().map(String::as_str);
        early.extend(reads.filter(|name| name.ends_with("$d") && !written.contains(name)));
    }
    None
}

/// Statements by which registers hold their values in a cycle in which they are not assigned.
///
/// One that is always assigned gets the statement too, which counts as a use of all its bits for who
/// looks for unused ones, unless the kernel begins with one, or drives the register's clock itself.
/// One that is never assigned gets none, and is refused for it.
fn holds(pieces: &[Piece], registers: &[&str]) -> Vec<Piece> {
    /// First way in which a kernel writes a register's input.
    #[derive(PartialEq)]
    enum First {
        Hold,
        Whole,
        Part,
    }
    let mut first: BTreeMap<&str, First> = BTreeMap::new();
    for piece in pieces {
        for target in &piece.writes {
            let how = || match (&piece.assignment, target.strip_suffix("$d")) {
                (Some((_, value)), Some(register)) if *value == format!("{register}$q") => {
                    First::Hold
                }
                (Some(_), _) if !piece.reads.contains(target) => First::Whole,
                _ => First::Part,
            };
            first.entry(target).or_insert_with(how);
        }
        for name in piece.reads.difference(&piece.writes) {
            first.entry(name).or_insert(First::Part);
        }
    }
    let written: BTreeSet<&str> =
        pieces.iter().flat_map(|piece| piece.writes.iter().map(String::as_str)).collect();
    let hold = |register: &&str| {
        let (d, q) = (format!("{register}$d"), format!("{register}$q"));
        let clocked = written.contains(format!("{register}$clock").as_str());
        let needed = match first.get(d.as_str())? {
            First::Hold => false,
            First::Whole => !clocked,
            First::Part => true,
        };
        (needed && written.contains(d.as_str())).then(|| Piece {
            text: format!("        {d} = {q};\n"),
            reads: [q.clone()].into(),
            writes: [d.clone()].into(),
            assignment: Some((d, q)),
        })
    };
    registers.iter().filter_map(hold).collect()
}

/// Statements that must stay in one process, in order: those that write a common signal, and
/// those that read a signal which a later statement of the kernel writes.
fn groups(pieces: &[Piece]) -> Vec<Vec<&Piece>> {
    fn root(parent: &mut [usize], mut i: usize) -> usize {
        while parent[i] != i {
            parent[i] = parent[parent[i]];
            i = parent[i];
        }
        i
    }
    let mut parent: Vec<usize> = (0..pieces.len()).collect();
    let mut writer: BTreeMap<&str, usize> = BTreeMap::new();
    for (i, piece) in pieces.iter().enumerate().rev() {
        for name in piece.writes.iter().chain(&piece.reads) {
            if let Some(&other) = writer.get(name.as_str()) {
                let (a, b) = (root(&mut parent, i), root(&mut parent, other));
                // The earlier one is the root, so that groups are in order.
                parent[a.max(b)] = a.min(b);
            }
        }
        for name in &piece.writes {
            writer.insert(name, i);
        }
    }
    let mut groups: BTreeMap<usize, Vec<&Piece>> = BTreeMap::new();
    for (i, piece) in pieces.iter().enumerate() {
        let root = root(&mut parent, i);
        groups.entry(root).or_default().push(piece);
    }
    groups.into_values().collect()
}

/// Top-level statements, with loops and macros opened.
fn collect(scope: &mut Scope, code: &VerilogBlock, into: &mut Vec<Piece>) -> Result<()> {
    for statement in code {
        if let Some(fields) = by_field(scope, statement)? {
            collect(scope, &fields, into)?;
            continue;
        }
        match statement {
            Statement::Loop(_) => unroll(scope, statement, &mut |s, b| collect(s, b, into))?,
            Statement::Macro(code) => {
                let origin = scope.origin.clone();
                collect(scope, code, into)?;
                scope.origin = origin;
            }
            Statement::Comment(text) => note(scope, text),
            statement => {
                let before = std::mem::take(&mut *scope.reads.borrow_mut());
                let mut writes = BTreeSet::new();
                let mut text = String::new();
                print_statement(scope, statement, 2, &mut text, &mut writes)?;
                let assignment = match statement {
                    Statement::Assignment(..) => origins::without(&text)
                        .trim()
                        .trim_end_matches(';')
                        .split_once(" = ")
                        .map(|(target, value)| (target.to_owned(), value.to_owned())),
                    _ => None,
                };
                let reads = std::mem::replace(&mut *scope.reads.borrow_mut(), before);
                scope.reads.borrow_mut().extend(reads.iter().cloned());
                if !text.is_empty() {
                    into.push(Piece { text, reads, writes, assignment });
                }
            }
        }
    }
    Ok(())
}

/// Handles a comment, which may name the kernel's file, enums or lines.
fn note(scope: &mut Scope, comment: &str) {
    if let Some(file) = code::named_file(comment) {
        file.clone_into(&mut scope.origin.block);
    } else if let Some(line) = code::line_of(comment) {
        line.clone_into(&mut scope.origin.statement);
    }
}

fn unroll(
    scope: &mut Scope,
    statement: &Statement,
    body: &mut dyn FnMut(&mut Scope, &VerilogBlock) -> Result<()>,
) -> Result<()> {
    let Statement::Loop(code) = statement else { unreachable!("only loops are unrolled") };
    for value in code.from.as_usize()..code.to.as_usize() {
        scope.loops.push((code.index.clone(), value as i64));
        body(scope, &code.block)?;
        scope.loops.pop();
    }
    Ok(())
}

fn print_block(
    scope: &mut Scope,
    code: &VerilogBlock,
    depth: usize,
    out: &mut String,
    writes: &mut BTreeSet<String>,
) -> Result<()> {
    code.iter().try_for_each(|s| print_statement(scope, s, depth, out, writes))
}

fn print_statement(
    scope: &mut Scope,
    statement: &Statement,
    depth: usize,
    out: &mut String,
    writes: &mut BTreeSet<String>,
) -> Result<()> {
    if let Some(fields) = by_field(scope, statement)? {
        return print_block(scope, &fields, depth, out, writes);
    }
    let pad = "    ".repeat(depth);
    match statement {
        Statement::Assignment(target, value) => {
            let (name, lo, signal) = match scope.target(target)? {
                Place::Whole(name, signal) => (name, None, signal),
                Place::Slice(name, lo, signal) => (name, Some(lo), signal),
                Place::Bundle(_) => return Err("only a record goes to a record".to_owned()),
            };
            let value = value_of(scope, &name, signal.width, signal.signed, value)?;
            let range = match lo {
                None => String::new(),
                Some(lo) if signal.width == 1 => format!("[{lo}]"),
                Some(lo) => format!("[{}:{lo}]", lo + signal.width - 1),
            };
            let from = origins::statement(&scope.origin);
            let _ = writeln!(out, "{pad}{name}{range} = {value};{from}");
            writes.insert(name);
        }
        Statement::SliceAssignment { base, width, offset, replacement } => {
            let Place::Whole(name, signal) = scope.target(base)? else {
                return Err("a slice of a whole signal is assigned".to_owned());
            };
            let value = value_of(scope, &name, *width, false, replacement)?;
            let range = match scope.constant(offset) {
                _ if *width == signal.width => String::new(),
                Some(lo) if *width == 1 => format!("[{lo}]"),
                Some(lo) => format!("[{}:{lo}]", lo + *width as i64 - 1),
                None => {
                    let bits = usize::BITS - (signal.width - 1).leading_zeros();
                    format!("[{} +: {width}]", scope.index(offset, bits as usize)?)
                }
            };
            let from = origins::statement(&scope.origin);
            let _ = writeln!(out, "{pad}{name}{range} = {value};{from}");
            writes.insert(name);
        }
        Statement::If(conditional) => match scope.decided(&conditional.test) {
            Some(true) => print_block(scope, &conditional.then, depth, out, writes)?,
            Some(false) => match &conditional.otherwise {
                Otherwise::None => {}
                Otherwise::Block(code) => print_block(scope, code, depth, out, writes)?,
                Otherwise::Conditional(next) => print_statement(scope, next, depth, out, writes)?,
            },
            None => {
                out.push_str(&pad);
                print_if(scope, conditional, depth, out, writes)?;
            }
        },
        Statement::Match(code) => {
            let test = scope.print(&code.test, None)?;
            let _ = writeln!(out, "{pad}case ({})", test.text);
            let last = code.cases.len() - 1;
            for (i, case) in code.cases.iter().enumerate() {
                let mut names = case.condition.split('|');
                let label = match names.all(|name| scope.enums.contains_key(name)) {
                    // Rust has checked that the arms cover every value.
                    _ if i == last => "default".to_owned(),
                    true => {
                        let names = case.condition.split('|').map(str::to_owned);
                        scope.reads.borrow_mut().extend(names);
                        case.condition.replace('|', ", ")
                    }
                    false if case.condition == "default" => case.condition.clone(),
                    false => {
                        return Err(format!(
                            "the pattern `{}` is not a variant: write `State::Variant`",
                            case.condition
                        ));
                    }
                };
                let _ = writeln!(out, "{pad}    {label}: begin");
                print_block(scope, &case.block, depth + 2, out, writes)?;
                let _ = writeln!(out, "{pad}    end");
            }
            let _ = writeln!(out, "{pad}endcase");
        }
        Statement::Loop(_) => {
            unroll(scope, statement, &mut |s, b| print_block(s, b, depth, out, writes))?;
        }
        Statement::Macro(code) => {
            let origin = scope.origin.clone();
            print_block(scope, code, depth, out, writes)?;
            scope.origin = origin;
        }
        Statement::Comment(text) => note(scope, text),
        Statement::Link(_) => {
            return Err("RustHDL's links are not supported: use `join`".to_owned());
        }
    }
    Ok(())
}

/// A statement about whole bundles as statements about their signals.
fn by_field(scope: &Scope, statement: &Statement) -> Result<Option<VerilogBlock>> {
    match statement {
        Statement::Assignment(Expression::Signal(to), value) => {
            let to = names::resolve(to, &scope.loops)?;
            if !scope.bundles.contains_key(&to) {
                return Ok(None);
            }
            let Expression::Signal(from) = value else {
                return Err(format!("`{to}` is a record: assign a signal's value, or each field"));
            };
            Ok(Some(copy(scope, &to, &names::resolve(from, &scope.loops)?)))
        }
        Statement::Link(links) => {
            let (link, whole) = match &links[..] {
                [Link::Forward(link)] => (link, true),
                [Link::Bidirectional(link)] => (link, false),
                _ => return Ok(None),
            };
            let from = names::resolve(&link.owner_name, &scope.loops)?;
            let to = names::resolve(&link.other_name, &scope.loops)?;
            if !whole {
                return share(scope, &from, &to).map(Some);
            }
            for name in [&from, &to] {
                if !scope.bundles.contains_key(name) {
                    return Err(format!("`{name}` is not a stream"));
                }
            }
            let mut code = copy(scope, &to, &from);
            let wire = |bundle: &str, name: &str| {
                let names = [name.to_owned(), format!("t{name}")];
                let field = scope.bundles[bundle].iter().find(|field| names.contains(field))?;
                Some(format!("{bundle}${field}"))
            };
            if let (Some(from), Some(to)) = (wire(&from, "valid"), wire(&to, "valid")) {
                code.push(assign(to, from));
            }
            if let (Some(from), Some(to)) = (wire(&from, "ready"), wire(&to, "ready")) {
                code.push(assign(from, to));
            }
            Ok(Some(code))
        }
        _ => Ok(None),
    }
}

/// The fields of a record in a signal or a bundle: names, and what each one is called in a kernel.
fn named_fields(scope: &Scope, of: &str) -> Result<Vec<(String, String)>> {
    if let Some(fields) = scope.bundles.get(of) {
        let data = format!("{of}$data");
        if scope.records.contains_key(&data) {
            return named_fields(scope, &data);
        }
        let fields = fields.iter().filter(|field| !HANDSHAKE.contains(&field.as_str()));
        return Ok(fields.map(|field| (field.clone(), format!("{of}${field}"))).collect());
    }
    let parts = scope.records.get(of).ok_or_else(|| format!("`{of}` is not a record"))?;
    Ok(parts.iter().map(|part| (part.name.clone(), format!("{of}.{}", part.name))).collect())
}

/// Assignments of the fields that two records have in common.
fn share(scope: &Scope, from: &str, to: &str) -> Result<VerilogBlock> {
    let (source, target) = (named_fields(scope, from)?, named_fields(scope, to)?);
    let common = target.into_iter().filter_map(|(field, to)| {
        let (_, from) = source.iter().find(|(name, _)| *name == field)?;
        Some(assign(to, from.clone()))
    });
    let common: VerilogBlock = common.collect();
    if common.is_empty() {
        return Err(format!("`{from}` and `{to}` have no field in common"));
    }
    Ok(common)
}

fn assign(to: String, from: String) -> Statement {
    Statement::Assignment(Expression::Signal(to), Expression::Signal(from))
}

/// Assignments of the record `from`, a bundle or a signal, to the bundle `to`.
fn copy(scope: &Scope, to: &str, from: &str) -> VerilogBlock {
    let fields = |bundle: &str| -> Option<Vec<&String>> {
        let fields = scope.bundles.get(bundle)?.iter();
        Some(fields.filter(|field| !HANDSHAKE.contains(&field.as_str())).collect())
    };
    let (source, target) = (fields(from), fields(to).unwrap_or_default());
    let each = |from: &dyn Fn(&str) -> String| {
        target.iter().map(|field| assign(format!("{to}${field}"), from(field))).collect()
    };
    if source.as_ref() == Some(&target) {
        return each(&|field| format!("{from}${field}"));
    }
    if target == ["data"] {
        return vec![assign(format!("{to}$data"), from.to_owned())];
    }
    // A record in one signal, which may be a channel's.
    let whole = if source.is_some() { format!("{from}$data") } else { from.to_owned() };
    each(&|field| format!("{whole}.{field}"))
}

fn value_of(
    scope: &Scope,
    target: &str,
    width: usize,
    signed: bool,
    value: &Expression,
) -> Result<String> {
    let value = scope.print(value, Some(width))?;
    if value.width == width || (signed && value.signed) {
        return Ok(value.text);
    }
    let (text, bits) = (value.text, value.width);
    Err(format!("`{target}` has {width} bits but is assigned `{text}` of {bits} bits"))
}

fn print_if(
    scope: &mut Scope,
    conditional: &VerilogConditional,
    depth: usize,
    out: &mut String,
    writes: &mut BTreeSet<String>,
) -> Result<()> {
    let pad = "    ".repeat(depth);
    let test = scope.print(&conditional.test, Some(1))?;
    let _ = writeln!(out, "if ({}) begin", test.text);
    print_block(scope, &conditional.then, depth + 1, out, writes)?;
    match &conditional.otherwise {
        Otherwise::None => {
            let _ = writeln!(out, "{pad}end");
        }
        Otherwise::Block(code) => {
            let _ = writeln!(out, "{pad}end else begin");
            print_block(scope, code, depth + 1, out, writes)?;
            let _ = writeln!(out, "{pad}end");
        }
        Otherwise::Conditional(statement) => match &**statement {
            Statement::If(inner) if scope.decided(&inner.test).is_some() => {
                let _ = writeln!(out, "{pad}end else begin");
                print_statement(scope, statement, depth + 1, out, writes)?;
                let _ = writeln!(out, "{pad}end");
            }
            Statement::If(inner) => {
                let _ = write!(out, "{pad}end else ");
                print_if(scope, inner, depth, out, writes)?;
            }
            _ => return Err("`else` must be followed by a block or `if`".to_owned()),
        },
    }
    Ok(())
}
