//! Kernel expressions in Verilog, with widths.

use super::names::{self, Loops};
use drdma_verilated::Origin;
use rust_hdl_core::ast::VerilogOpUnary as OpUnary;
use rust_hdl_core::ast::{VerilogExpression as Expression, VerilogLiteral, VerilogOp as Op};
use rust_hdl_core::type_descriptor::{TypeField, TypeKind};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A signal or constant that a name refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Signal {
    pub width: usize,
    pub signed: bool,
    /// Whether it is a constant.
    pub fixed: bool,
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub name: String,
    pub width: usize,
    pub signed: bool,
    pub inner: Vec<Part>,
}

/// The fields of a type that is a record.
pub(super) fn parts_of(kind: &TypeKind) -> Vec<Part> {
    let TypeKind::Composite(fields) = kind else { return Vec::new() };
    let part = |field: &TypeField| {
        let kind = &field.kind.kind;
        let signed = matches!(kind, TypeKind::Signed(_));
        Part { name: field.fieldname.clone(), width: width_of(kind), signed, inner: parts_of(kind) }
    };
    fields.iter().map(|field| part(field)).collect()
}

fn width_of(kind: &TypeKind) -> usize {
    match kind {
        TypeKind::Bits(bits) | TypeKind::Signed(bits) => *bits,
        TypeKind::Enum(variants) => rust_hdl_core::prelude::clog2(variants.len()),
        TypeKind::Composite(fields) => fields.iter().map(|f| width_of(&f.kind.kind)).sum(),
    }
}

/// Signals that a kernel's text refers to.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// A signal or constant.
    Whole(String, Signal),
    /// Bits of a signal from the one given on: a field of a record.
    Slice(String, usize, Signal),
    /// The signals of a bundle's record.
    Bundle(Vec<(String, Signal)>),
}

/// The names that a kernel can use, and the side results of printing.
#[derive(Default)]
pub(super) struct Scope {
    pub signals: HashMap<String, Signal>,
    /// The fields of signals that are records.
    pub records: HashMap<String, Vec<Part>>,
    /// The fields of bundles, handshake included.
    pub bundles: HashMap<String, Vec<String>>,
    pub enums: HashMap<String, (usize, usize)>,
    pub loops: Loops,
    /// Names that are read.
    pub reads: RefCell<BTreeSet<String>>,
    /// Functions for slices of expressions, by name.
    pub functions: RefCell<BTreeMap<String, String>>,
    /// Origin of the statement that is being printed.
    pub origin: Origin,
}

/// The text of an expression and its width.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub text: String,
    pub width: usize,
    /// Whether it is a name that may be sliced.
    name: bool,
    pub signed: bool,
}

impl Text {
    fn new(text: String, width: usize) -> Self {
        Self { text, width, name: false, signed: false }
    }
}

/// A stream's signals that are not of its record.
pub(super) const HANDSHAKE: [&str; 4] = ["valid", "ready", "tvalid", "tready"];

type Result<T> = std::result::Result<T, String>;

/// `value` as a literal of `width` bits.
fn literal(value: &str, width: usize) -> String {
    format!("{width}'h{value}")
}

/// Hexadecimal digits, own width, and whether it is an untyped integer.
fn parts(value: &VerilogLiteral) -> (String, usize, bool) {
    let text = format!("{value:x}");
    let (bits, digits) = text.split_once("'h").expect("lower hex has a base");
    let bits: usize = bits.parse().expect("a width");
    (digits.to_owned(), bits, bits == 32 || bits == 64)
}

fn bit_length(digits: &str) -> usize {
    let digits = digits.trim_start_matches('0');
    match digits.chars().next().and_then(|c| c.to_digit(16)) {
        Some(first) => 4 * (digits.len() - 1) + (32 - first.leading_zeros()) as usize,
        None => 0,
    }
}

impl Scope {
    /// Records the fields of a signal that is a record.
    pub fn add_record(&mut self, name: &str, kind: &TypeKind) {
        let parts = parts_of(kind);
        if !parts.is_empty() {
            self.records.insert(name.to_owned(), parts);
        }
    }

    /// Whether `name` is a signal, not a constant.
    pub fn varies(&self, name: &str) -> bool {
        self.signals.get(name).is_some_and(|signal| !signal.fixed)
    }

    /// The value of an expression of literals and loop variables.
    pub fn constant(&self, e: &Expression) -> Option<i64> {
        Some(match e {
            Expression::Literal(value) => i64::from_str_radix(&parts(value).0, 16).ok()?,
            Expression::Signal(name) => {
                self.loops.iter().rev().find(|(n, _)| n == name).map(|(_, value)| *value)?
            }
            Expression::Paren(e) => self.constant(e)?,
            Expression::Binary(l, op, r) => {
                let (l, r) = (self.constant(l)?, self.constant(r)?);
                match op {
                    Op::Add => l + r,
                    Op::Sub => l - r,
                    Op::Mul => l * r,
                    Op::Shl => l << r,
                    Op::Shr => l >> r,
                    _ => return None,
                }
            }
            _ => return None,
        })
    }

    /// The result of a comparison of literals and loop variables. Branches that it rules out are
    /// not printed: what is read there alone would not make `always @(*)` run.
    pub fn decided(&self, e: &Expression) -> Option<bool> {
        match e {
            Expression::Paren(e) => self.decided(e),
            Expression::Binary(l, op, r) => {
                let (l, r) = (self.constant(l)?, self.constant(r)?);
                Some(match op {
                    Op::Eq => l == r,
                    Op::Ne => l != r,
                    Op::Lt => l < r,
                    Op::Le => l <= r,
                    Op::Gt => l > r,
                    Op::Ge => l >= r,
                    _ => return None,
                })
            }
            _ => None,
        }
    }

    /// The width that an expression has by itself; none for integers.
    fn width(&self, e: &Expression) -> Result<Option<usize>> {
        if self.constant(e).is_some() {
            return Ok(match e {
                Expression::Literal(value) => match parts(value) {
                    (_, _, true) => None,
                    (_, bits, false) => Some(bits),
                },
                _ => None,
            });
        }
        Ok(match e {
            Expression::Literal(value) => match parts(value) {
                (_, _, true) => None,
                (_, bits, false) => Some(bits),
            },
            Expression::Signal(name) => Some(match self.place(name)? {
                Place::Whole(_, signal) | Place::Slice(_, _, signal) => signal.width,
                Place::Bundle(signals) => signals.iter().map(|(_, s)| s.width).sum(),
            }),
            Expression::Cast(_, bits) | Expression::Slice(_, bits, _) => Some(*bits),
            Expression::Index(..) => Some(1),
            Expression::Signed(e) | Expression::Unsigned(e) | Expression::Paren(e) => {
                self.width(e)?
            }
            Expression::IndexReplace(e, _, _) => self.width(e)?,
            Expression::Unary(OpUnary::Not | OpUnary::Neg, e) => self.width(e)?,
            Expression::Unary(..) => Some(1),
            Expression::Binary(l, op, r) => match op {
                Op::Add | Op::Sub | Op::BitXor | Op::BitAnd | Op::BitOr => {
                    self.width(l)?.max(self.width(r)?)
                }
                Op::Mul => match (self.width(l)?, self.width(r)?) {
                    (Some(l), Some(r)) => Some(l + r),
                    (l, r) => l.or(r),
                },
                Op::Shl | Op::Shr => self.width(l)?,
                _ => Some(1),
            },
        })
    }

    pub fn place(&self, text: &str) -> Result<Place> {
        let name = names::resolve(text, &self.loops)?;
        if let Some(signal) = self.signals.get(&name) {
            return Ok(Place::Whole(name, *signal));
        }
        if let Some(&(_, width)) = self.enums.get(&name) {
            return Ok(Place::Whole(name, Signal { width, signed: false, fixed: true }));
        }
        if self.bundles.contains_key(&name) {
            return Ok(Place::Bundle(self.payload(&name)));
        }
        if let Some((base, path)) = name.split_once('.') {
            return self.field(base, path);
        }
        Err(format!(
            "`{}` is not a signal here: a const generic or `const` item has no name in Verilog \
             (use a `Constant` field), and an enum is written `State::Variant`",
            text.replace('$', ".")
        ))
    }

    /// The signals of a bundle's record.
    pub fn payload(&self, bundle: &str) -> Vec<(String, Signal)> {
        let fields =
            self.bundles[bundle].iter().filter(|field| !HANDSHAKE.contains(&field.as_str()));
        let named = fields.map(|field| format!("{bundle}${field}"));
        named.map(|name| (name.clone(), self.signals[&name])).collect()
    }

    /// The field `path` of the record `base`; a path's parts are joined by dots.
    fn field(&self, base: &str, path: &str) -> Result<Place> {
        if self.bundles.contains_key(base) {
            // The field may be a record itself.
            return self.place(&format!("{base}${path}"));
        }
        let unknown = || format!("`{base}` has no field `{path}`");
        let mut parts = self.records.get(base).ok_or_else(unknown)?;
        let (mut lo, mut found) = (0, None);
        for name in path.split('.') {
            let at = parts.iter().position(|part| part.name == name).ok_or_else(unknown)?;
            lo += parts[..at].iter().map(|part| part.width).sum::<usize>();
            found = Some(&parts[at]);
            parts = &parts[at].inner;
        }
        let part = found.ok_or_else(unknown)?;
        let signal = Signal { width: part.width, signed: part.signed, fixed: false };
        if part.width == self.signals[base].width {
            return Ok(Place::Whole(base.to_owned(), signal));
        }
        Ok(Place::Slice(base.to_owned(), lo, signal))
    }

    /// The place that an assignment writes to.
    pub fn target(&self, e: &Expression) -> Result<Place> {
        match e {
            Expression::Signal(text) => self.place(text),
            _ => Err("an assignment must go to a signal's `.next`".to_owned()),
        }
    }

    /// The text of `e`; an integer takes the width `wanted`.
    pub fn print(&self, e: &Expression, wanted: Option<usize>) -> Result<Text> {
        if let (Some(value), None) = (self.constant(e), self.width(e)?) {
            let width = wanted.unwrap_or(32);
            let value = u64::try_from(value).map_err(|_| format!("{value} is negative"))?;
            return self.sized(&format!("{value:x}"), width);
        }
        match e {
            Expression::Literal(value) => {
                let (digits, bits, integer) = parts(value);
                self.sized(&digits, if integer { wanted.unwrap_or(bits) } else { bits })
            }
            Expression::Signal(text) => {
                let place = self.place(text)?;
                let mut reads = self.reads.borrow_mut();
                Ok(match place {
                    Place::Whole(name, Signal { width, signed, .. }) => {
                        reads.insert(name.clone());
                        Text { text: name, width, name: true, signed }
                    }
                    Place::Slice(name, lo, Signal { width, signed, .. }) => {
                        reads.insert(name.clone());
                        let text = match width {
                            1 => format!("{name}[{lo}]"),
                            _ => format!("{name}[{}:{lo}]", lo + width - 1),
                        };
                        let text = if signed { format!("$signed({text})") } else { text };
                        Text { text, width, name: false, signed }
                    }
                    Place::Bundle(signals) => {
                        reads.extend(signals.iter().map(|(name, _)| name.clone()));
                        let names: Vec<_> = signals.iter().rev().map(|(n, _)| n.as_str()).collect();
                        let width = signals.iter().map(|(_, s)| s.width).sum();
                        Text::new(format!("{{{}}}", names.join(", ")), width)
                    }
                })
            }
            Expression::Paren(e) => self.print(e, wanted),
            Expression::Cast(e, bits) => self.cast(e, *bits),
            Expression::Signed(e) => {
                let inner = self.print(e, wanted)?;
                let text = format!("$signed({})", inner.text);
                Ok(Text { signed: true, ..Text::new(text, inner.width) })
            }
            Expression::Unsigned(e) => {
                let inner = self.print(e, wanted)?;
                Ok(Text::new(format!("$unsigned({})", inner.text), inner.width))
            }
            Expression::Unary(op, e) => {
                let (sign, reduces) = match op {
                    OpUnary::Not => ("~", false),
                    OpUnary::Neg => ("-", false),
                    OpUnary::All => ("&", true),
                    OpUnary::Any => ("|", true),
                    OpUnary::Xor => ("^", true),
                };
                let inner = self.print(e, if reduces { None } else { wanted })?;
                let width = if reduces { 1 } else { inner.width };
                let signed = inner.signed && !reduces;
                Ok(Text { signed, ..Text::new(format!("({sign}{})", inner.text), width) })
            }
            Expression::Binary(l, op, r) => self.binary(l, op, r, wanted),
            Expression::Index(e, index) => self.slice(e, 1, index),
            Expression::Slice(e, width, offset) => self.slice(e, *width, offset),
            Expression::IndexReplace(e, index, bit) => {
                let (e, bit) = (self.print(e, wanted)?, self.print(bit, Some(1))?);
                let index = self.index(index, clog2(e.width))?;
                let width = e.width;
                let bit = extend(&bit.text, 1, width);
                let one = literal("1", width);
                let text = format!("(({} & ~({one} << {index})) | ({bit} << {index}))", e.text);
                Ok(Text::new(text, width))
            }
        }
    }

    fn sized(&self, digits: &str, width: usize) -> Result<Text> {
        if bit_length(digits) > width {
            return Err(format!("the literal 0x{digits} does not fit {width} bits"));
        }
        Ok(Text::new(literal(digits, width), width))
    }

    fn binary(
        &self,
        l: &Expression,
        op: &Op,
        r: &Expression,
        wanted: Option<usize>,
    ) -> Result<Text> {
        let natural = self.width(l)?.max(self.width(r)?);
        let (sign, result) = match op {
            Op::Add => ("+", None),
            Op::Sub => ("-", None),
            Op::BitXor => ("^", None),
            Op::BitAnd => ("&", None),
            Op::BitOr => ("|", None),
            Op::Mul => return self.product(l, r, wanted),
            Op::Shl => return self.shift(l, "<<", r, wanted),
            Op::Shr => return self.shift(l, ">>", r, wanted),
            Op::LogicalAnd => ("&&", Some(1)),
            Op::LogicalOr => ("||", Some(1)),
            Op::Eq => ("==", Some(1)),
            Op::Lt => ("<", Some(1)),
            Op::Le => ("<=", Some(1)),
            Op::Ne => ("!=", Some(1)),
            Op::Ge => (">=", Some(1)),
            Op::Gt => (">", Some(1)),
        };
        let wanted = natural.or(if result.is_none() { wanted } else { None });
        let (l, mut r) = (self.print(l, wanted)?, self.print(r, wanted)?);
        if matches!(op, Op::Add) && r.width == 1 {
            // `Bits<N> + bool`
            r = Text::new(extend(&r.text, 1, l.width), l.width);
        }
        if l.width != r.width && !(l.signed && r.signed) {
            return Err(format!(
                "`{} {sign} {}` has operands of {} and {} bits",
                l.text, r.text, l.width, r.width
            ));
        }
        let signed = l.signed && r.signed && result.is_none();
        let width = result.unwrap_or(l.width);
        Ok(Text { signed, ..Text::new(format!("({} {sign} {})", l.text, r.text), width) })
    }

    fn product(&self, l: &Expression, r: &Expression, wanted: Option<usize>) -> Result<Text> {
        let (wl, wr) = (self.width(l)?, self.width(r)?);
        let wanted = wl.or(wr).or(wanted);
        let (l, r) = (self.print(l, wanted)?, self.print(r, wanted)?);
        if l.signed && r.signed {
            let text = format!("({} * {})", l.text, r.text);
            return Ok(Text { signed: true, ..Text::new(text, l.width + r.width) });
        }
        if wl.is_none() || wr.is_none() {
            return Ok(Text::new(format!("({} * {})", l.text, r.text), l.width));
        }
        let width = l.width + r.width;
        let (l, r) = (extend(&l.text, l.width, width), extend(&r.text, r.width, width));
        Ok(Text::new(format!("({l} * {r})"), width))
    }

    fn shift(
        &self,
        l: &Expression,
        sign: &str,
        r: &Expression,
        wanted: Option<usize>,
    ) -> Result<Text> {
        let l = self.print(l, wanted)?;
        let r = match self.constant(r) {
            Some(amount) => amount.to_string(),
            None => self.print(r, None)?.text,
        };
        Ok(Text { signed: l.signed, ..Text::new(format!("({} {sign} {r})", l.text), l.width) })
    }

    fn cast(&self, e: &Expression, bits: usize) -> Result<Text> {
        let inner = self.print(e, Some(bits))?;
        if inner.width <= bits {
            return Ok(Text {
                name: inner.name && inner.width == bits,
                ..Text::new(extend(&inner.text, inner.width, bits), bits)
            });
        }
        self.cut(&inner, bits, 0)
    }

    fn slice(&self, e: &Expression, width: usize, offset: &Expression) -> Result<Text> {
        if let Some(text) = self.slice_of_field(e, width, offset)? {
            return Ok(text);
        }
        let inner = self.print(e, None)?;
        if let Some(offset) = self.constant(offset) {
            if offset == 0 && width > inner.width {
                // In a loop, where `bit_cast` cannot be used: zero extension.
                return Ok(Text::new(extend(&inner.text, inner.width, width), width));
            }
            let fits = offset >= 0 && offset as usize + width <= inner.width;
            if !fits {
                return Err(format!(
                    "bits {offset} to {} of `{}`, which has {} bits",
                    offset + width as i64 - 1,
                    inner.text,
                    inner.width
                ));
            }
            return self.cut(&inner, width, offset as usize);
        }
        if width == inner.width {
            return Ok(inner);
        }
        let bits = clog2(inner.width);
        let index = self.index(offset, bits)?;
        if inner.name {
            let text = match width {
                1 => format!("{}[{index}]", inner.text),
                _ => format!("{}[{index} +: {width}]", inner.text),
            };
            return Ok(Text::new(text, width));
        }
        let name = format!("select_{width}_of_{}", inner.width);
        let body = format!(
            "    function [{}:0] {name};\n        input [{}:0] from;\n        input [{}:0] at;\n        \
             {name} = from[at +: {width}];\n    endfunction\n",
            width - 1,
            inner.width - 1,
            bits - 1
        );
        self.functions.borrow_mut().insert(name.clone(), body);
        Ok(Text::new(format!("{name}({}, {index})", inner.text), width))
    }

    /// A slice of a record's field, which is one of the record.
    fn slice_of_field(
        &self,
        e: &Expression,
        width: usize,
        offset: &Expression,
    ) -> Result<Option<Text>> {
        let Expression::Signal(text) = e else { return Ok(None) };
        let Place::Slice(name, lo, signal) = self.place(text)? else { return Ok(None) };
        let range = match self.constant(offset) {
            Some(offset) if offset >= 0 && offset as usize + width <= signal.width => {
                let lo = lo + offset as usize;
                match width {
                    1 => format!("[{lo}]"),
                    _ => format!("[{}:{lo}]", lo + width - 1),
                }
            }
            Some(_) => return Ok(None),
            None if width == signal.width => return Ok(None),
            None => {
                let bits = clog2(self.signals[&name].width);
                let index = self.index(offset, bits)?;
                let lo = literal(&format!("{lo:x}"), bits);
                match width {
                    1 => format!("[{lo} + {index}]"),
                    _ => format!("[({lo} + {index}) +: {width}]"),
                }
            }
        };
        self.reads.borrow_mut().insert(name.clone());
        Ok(Some(Text::new(format!("{name}{range}"), width)))
    }

    /// Bits `offset..offset + width` of `inner`.
    fn cut(&self, inner: &Text, width: usize, offset: usize) -> Result<Text> {
        if width == inner.width {
            return Ok(inner.clone());
        }
        let range = match width {
            1 => format!("{offset}"),
            _ => format!("{}:{offset}", offset + width - 1),
        };
        if inner.name {
            return Ok(Text::new(format!("{}[{range}]", inner.text), width));
        }
        let name = format!("bits_{offset}_to_{}_of_{}", offset + width - 1, inner.width);
        let body = format!(
            "    function [{}:0] {name};\n        /* verilator lint_off UNUSEDSIGNAL */\n        \
             input [{}:0] from;\n        /* verilator lint_on UNUSEDSIGNAL */\n        \
             {name} = from[{range}];\n    endfunction\n",
            width - 1,
            inner.width - 1,
        );
        self.functions.borrow_mut().insert(name.clone(), body);
        Ok(Text::new(format!("{name}({})", inner.text), width))
    }

    /// An index of `bits` bits: signals in it are extended or cut to that width.
    pub fn index(&self, e: &Expression, bits: usize) -> Result<String> {
        if let Some(value) = self.constant(e) {
            return Ok(value.to_string());
        }
        match e {
            Expression::Paren(e) => self.index(e, bits),
            Expression::Binary(l, op @ (Op::Add | Op::Sub | Op::Mul), r) => {
                let sign = match op {
                    Op::Add => "+",
                    Op::Sub => "-",
                    _ => "*",
                };
                let operand = |e: &Expression| match self.constant(e) {
                    Some(value) => {
                        let digits = format!("{value:x}");
                        self.sized(&digits, bits).map(|t| t.text)
                    }
                    None => self.index(e, bits),
                };
                Ok(format!("({} {sign} {})", operand(l)?, operand(r)?))
            }
            e => {
                let inner = self.print(e, None)?;
                if inner.width <= bits {
                    return Ok(extend(&inner.text, inner.width, bits));
                }
                Ok(self.cut(&inner, bits, 0)?.text)
            }
        }
    }
}

/// Extends an expression by zeros to width `to`.
fn extend(text: &str, from: usize, to: usize) -> String {
    if from == to { text.to_owned() } else { format!("{{{}'h0, {text}}}", to - from) }
}

/// The bits that count to `n` values, at least 1.
fn clog2(n: usize) -> usize {
    (usize::BITS - n.saturating_sub(1).leading_zeros()).max(1) as usize
}
