//! Kernel statements in Verilog.

use super::expression::Scope;
use rust_hdl_core::ast::{
    VerilogBlock, VerilogBlockOrConditional as Otherwise, VerilogConditional,
    VerilogExpression as Expression, VerilogStatement as Statement,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

type Result<T> = std::result::Result<T, String>;

/// A kernel, printed.
#[derive(Default)]
pub(super) struct Kernel {
    /// Continuous assignments, `always` blocks.
    pub text: String,
    /// Signals that a continuous assignment drives.
    pub wires: BTreeSet<String>,
    /// Clock inputs of sub-modules and the signal that each one is.
    pub clocks: BTreeMap<String, String>,
}

/// A top-level statement, printed, with what it reads and writes.
struct Piece {
    text: String,
    reads: BTreeSet<String>,
    writes: BTreeSet<String>,
    /// Target and value, if it is a whole assignment.
    assignment: Option<(String, String)>,
}

/// Prints `code`; `is_clock` tells the clock inputs of sub-modules.
pub(super) fn print(
    scope: &mut Scope,
    code: &VerilogBlock,
    is_clock: &dyn Fn(&str) -> bool,
) -> Result<Kernel> {
    let mut pieces = Vec::new();
    collect(scope, code, &mut pieces)?;
    let mut kernel = Kernel::default();
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
        group.iter().for_each(|piece| kernel.text.push_str(&piece.text));
        kernel.text.push_str("    end\n");
    }
    Ok(kernel)
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
                // The earlier one is the root, so that groups come out in order.
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
        match statement {
            Statement::Loop(_) => unroll(scope, statement, &mut |s, b| collect(s, b, into))?,
            Statement::Macro(code) => collect(scope, code, into)?,
            Statement::Comment(_) => {}
            statement => {
                let before = std::mem::take(&mut *scope.reads.borrow_mut());
                let mut writes = BTreeSet::new();
                let mut text = String::new();
                print_statement(scope, statement, 2, &mut text, &mut writes)?;
                let assignment = match statement {
                    Statement::Assignment(..) => text
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
    let pad = "    ".repeat(depth);
    match statement {
        Statement::Assignment(target, value) => {
            let (name, signal) = scope.target(target)?;
            let value = value_of(scope, &name, signal.width, signal.signed, value)?;
            let _ = writeln!(out, "{pad}{name} = {value};");
            writes.insert(name);
        }
        Statement::SliceAssignment { base, width, offset, replacement } => {
            let (name, signal) = scope.target(base)?;
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
            let _ = writeln!(out, "{pad}{name}{range} = {value};");
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
                let label = match scope.enums.contains_key(&case.condition) {
                    // Rust has checked that the arms cover every value.
                    _ if i == last => "default".to_owned(),
                    true => {
                        scope.reads.borrow_mut().insert(case.condition.clone());
                        case.condition.clone()
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
        Statement::Macro(code) => print_block(scope, code, depth, out, writes)?,
        Statement::Comment(_) => {}
        Statement::Link(_) => {
            return Err("interface links are not supported: assign the signals".to_owned());
        }
    }
    Ok(())
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
