//! Functions that build a kernel's code, which `#[hdl_gen]` calls.

pub use rust_hdl_core::ast::{VerilogOp, VerilogOpUnary};

use rust_hdl_core::ast::{
    VerilogBlock, VerilogBlockOrConditional as Otherwise, VerilogCase, VerilogConditional,
    VerilogExpression as Expression, VerilogLink, VerilogLinkDetails, VerilogMatch,
    VerilogStatement as Statement,
};
use rust_hdl_core::prelude::*;

/// Prefix of the comment that lists the enums of a kernel.
const STATES: &str = "states ";

/// Prefix of the comment that names the kernel's file.
const FILE: &str = "file ";

/// Prefix of the comment with the line of the next statement.
const LINE: &str = "line ";

/// A number that Rust computes, as a value in a kernel. Integers take the width of what they meet.
#[diagnostic::on_unimplemented(message = "`{Self}` is no value in Verilog")]
pub trait Value {
    /// The value as a literal; one of 64 bits has no width of its own.
    fn literal(&self) -> VerilogLiteral;
}

macro_rules! integers {
    ($($name: ident),*) => {
        $(impl Value for $name {
            fn literal(&self) -> VerilogLiteral {
                (*self as u64).into()
            }
        })*
    };
}
integers!(u8, u16, u32, u64, usize);

impl Value for i32 {
    fn literal(&self) -> VerilogLiteral {
        let value = u64::try_from(*self).unwrap_or_else(|_| panic!("{self} in a kernel"));
        value.into()
    }
}

impl Value for bool {
    fn literal(&self) -> VerilogLiteral {
        (*self).into()
    }
}

impl<const N: usize> Value for Bits<N> {
    fn literal(&self) -> VerilogLiteral {
        (*self).into()
    }
}

pub fn value(of: &impl Value) -> Expression {
    Expression::Literal(of.literal())
}

pub fn signal(name: impl Into<String>) -> Expression {
    Expression::Signal(name.into())
}

pub fn paren(e: Expression) -> Expression {
    Expression::Paren(Box::new(e))
}

pub fn binary(l: Expression, op: VerilogOp, r: Expression) -> Expression {
    Expression::Binary(Box::new(l), op, Box::new(r))
}

pub fn unary(op: VerilogOpUnary, e: Expression) -> Expression {
    Expression::Unary(op, Box::new(e))
}

pub fn cast(e: Expression, width: usize) -> Expression {
    Expression::Cast(Box::new(e), width)
}

pub fn signed(e: Expression) -> Expression {
    Expression::Signed(Box::new(e))
}

pub fn unsigned(e: Expression) -> Expression {
    Expression::Unsigned(Box::new(e))
}

pub fn slice(e: Expression, width: usize, offset: Expression) -> Expression {
    Expression::Slice(Box::new(e), width, Box::new(offset))
}

pub fn index(e: Expression, at: Expression) -> Expression {
    Expression::Index(Box::new(e), Box::new(at))
}

pub fn replace(e: Expression, at: Expression, bit: Expression) -> Expression {
    Expression::IndexReplace(Box::new(e), Box::new(at), Box::new(bit))
}

pub fn assign(to: impl Into<String>, value: Expression) -> Statement {
    Statement::Assignment(signal(to), value)
}

pub fn conditional(test: Expression, then: VerilogBlock, otherwise: Otherwise) -> Statement {
    Statement::If(VerilogConditional { test, then, otherwise })
}

pub fn otherwise_none() -> Otherwise {
    Otherwise::None
}

pub fn otherwise(code: VerilogBlock) -> Otherwise {
    Otherwise::Block(code)
}

pub fn otherwise_if(code: Statement) -> Otherwise {
    Otherwise::Conditional(Box::new(code))
}

pub fn choice(test: Expression, cases: Vec<(&str, VerilogBlock)>) -> Statement {
    let cases = cases.into_iter();
    let case = |(condition, block): (&str, _)| VerilogCase { condition: condition.into(), block };
    Statement::Match(VerilogMatch { test, cases: cases.map(case).collect() })
}

/// `from` drives `to`: see [`Stream::join`](crate::prelude::Stream::join).
pub fn join(from: impl Into<String>, to: impl Into<String>) -> Statement {
    Statement::Link(vec![VerilogLink::Forward(VerilogLinkDetails {
        my_name: String::new(),
        owner_name: from.into(),
        other_name: to.into(),
    })])
}

/// `to` gets the fields that it has in common with `from`: see [`Share`](crate::prelude::Share).
pub fn share(from: impl Into<String>, to: impl Into<String>) -> Statement {
    Statement::Link(vec![VerilogLink::Bidirectional(VerilogLinkDetails {
        my_name: String::new(),
        owner_name: from.into(),
        other_name: to.into(),
    })])
}

/// The code of a part of a kernel.
#[derive(Debug)]
pub struct Part(pub VerilogBlock);

/// The statements of a part, where it is called.
pub fn part(part: Part) -> Statement {
    Statement::Macro(part.0)
}

/// The variants of an enum that a kernel names.
pub fn states<T: Synth>() -> Statement {
    match T::descriptor().kind {
        TypeKind::Enum(variants) => Statement::Comment(format!("{STATES}{}", variants.join(" "))),
        _ => panic!("{} is not an enum", T::descriptor().name),
    }
}

/// The file that a kernel stands in.
pub fn file(name: &str) -> Statement {
    Statement::Comment(format!("{FILE}{name}"))
}

/// The line of the kernel's file on which the next statement stands.
pub fn at(line: u32) -> Statement {
    Statement::Comment(format!("{LINE}{line}"))
}

/// The file that [`file`] recorded.
pub(crate) fn file_of(code: &VerilogBlock) -> Option<&str> {
    code.iter().find_map(|statement| match statement {
        Statement::Comment(text) => named_file(text),
        _ => None,
    })
}

/// The file that a comment of [`file`] names.
pub(crate) fn named_file(comment: &str) -> Option<&str> {
    comment.strip_prefix(FILE)
}

/// The line that a comment of [`at`] names.
pub(crate) fn line_of(comment: &str) -> Option<&str> {
    comment.strip_prefix(LINE)
}

/// The enums that a kernel and its parts name: names with `$`, values, widths.
pub(crate) fn named_states(code: &VerilogBlock) -> Vec<(String, usize, usize)> {
    code.iter().flat_map(states_in).collect()
}

fn states_in(statement: &Statement) -> Vec<(String, usize, usize)> {
    match statement {
        Statement::Comment(text) => text.strip_prefix(STATES).map(variants).unwrap_or_default(),
        Statement::Macro(code) => named_states(code),
        Statement::Loop(each) => named_states(&each.block),
        Statement::Match(choice) => {
            choice.cases.iter().flat_map(|case| named_states(&case.block)).collect()
        }
        Statement::If(conditional) => {
            let mut states = named_states(&conditional.then);
            states.extend(match &conditional.otherwise {
                Otherwise::None => Vec::new(),
                Otherwise::Block(code) => named_states(code),
                Otherwise::Conditional(next) => states_in(next),
            });
            states
        }
        _ => Vec::new(),
    }
}

/// Names with `$`, values and widths of the variants that a comment lists.
fn variants(text: &str) -> Vec<(String, usize, usize)> {
    let variants: Vec<_> = text.split(' ').collect();
    let width = clog2(variants.len());
    let entry = move |(value, name): (usize, &str)| (name.replace("::", "$"), value, width);
    variants.into_iter().enumerate().map(entry).collect()
}
