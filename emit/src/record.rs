//! Records, and ports that are made of them.
//!
//! A [`Record`] is a struct of fields. [`Signals`] is one with a signal a field, [`Stream`] has `valid`
//! and `ready` beside them, [`Channel`] is a stream that any record fits. In Verilog the field
//! `bytes` of the stream `token` is the port `token$bytes`, and `token_bytes` at the top module.

use num_bigint::BigUint;
use rust_hdl_core::prelude::*;
use std::ops::{Deref, DerefMut};

/// The most bits of a record.
const MOST_BITS: usize = 4096;

/// A direction that signals can have in a bundle, and that of those which go against it.
pub trait Flow: Direction {
    /// The other way.
    type Back: Flow;
}

impl Flow for In {
    type Back = Out;
}

impl Flow for Out {
    type Back = In;
}

impl Flow for Local {
    type Back = Local;
}

/// A struct of fields; derived.
pub trait Record: Synth {
    /// Its fields, a signal each.
    type Signals<D: Flow>: Block + Default;
}

/// Bits that are a record of one field, `data`.
pub struct Plain<D: Flow, T: Synth> {
    /// The bits.
    pub data: Signal<D, T>,
}

impl<D: Flow, T: Synth> Default for Plain<D, T> {
    fn default() -> Self {
        Self { data: Signal::default() }
    }
}

impl<const N: usize> Record for Bits<N> {
    type Signals<D: Flow> = Plain<D, Self>;
}

impl Record for Bit {
    type Signals<D: Flow> = Plain<D, Self>;
}

/// A record as signals of their own: `self.x.field.val()`, `self.x.field.next = ..`.
///
/// As a whole, `self.x.val()` is the record and `self.x.next = record` writes every field.
pub struct Signals<D: Flow, R: Record> {
    /// What the whole record becomes, in a kernel.
    pub next: R,
    fields: R::Signals<D>,
}

/// A stream of records: [`Signals`] with a handshake.
///
/// A record passes in each cycle in which `valid` and `ready` are both set. `valid` does not wait for
/// `ready`, and stays with the same record until it passes.
pub struct Stream<D: Flow, R: Record> {
    /// A record is offered.
    pub valid: Signal<D, Bit>,
    /// It is accepted in this cycle.
    pub ready: Signal<D::Back, Bit>,
    /// What the whole record becomes, in a kernel.
    pub next: R,
    fields: R::Signals<D>,
}

/// A stream whose record is one signal, `data`: what FIFOs and slices have, whatever the record.
pub struct Channel<D: Flow, T: Synth> {
    /// A record is offered.
    pub valid: Signal<D, Bit>,
    /// It is accepted in this cycle.
    pub ready: Signal<D::Back, Bit>,
    /// The record.
    pub data: Signal<D, T>,
}

/// What another bundle of the same record can be joined to.
pub trait Bundle<T> {}

impl<D: Flow, R: Record> Bundle<(R, bool)> for Signals<D, R> {}
impl<D: Flow, R: Record> Bundle<R> for Stream<D, R> {}
impl<D: Flow, T: Synth> Bundle<T> for Channel<D, T> {}

impl<D: Flow, R: Record> Signals<D, R> {
    /// The whole record.
    pub fn val(&self) -> R {
        R::default()
    }

    /// In a kernel: these fields drive those of `to`.
    pub fn join<B: Bundle<(R, bool)>>(&mut self, _to: &mut B) {}
}

impl<D: Flow, R: Record> Stream<D, R> {
    /// The whole record.
    pub fn val(&self) -> R {
        R::default()
    }

    /// In a kernel: what comes here goes on to `to`, whose `ready` drives the one here.
    ///
    /// Joins an own input to a sub-block's, an output of one to the input of another, and an output
    /// of one to an own one.
    pub fn join<B: Bundle<R>>(&mut self, _to: &mut B) {}
}

impl<D: Flow, T: Synth> Channel<D, T> {
    /// In a kernel: as [`Stream::join`].
    pub fn join<B: Bundle<T>>(&mut self, _to: &mut B) {}
}

impl<D: Flow, R: Record> Default for Signals<D, R> {
    fn default() -> Self {
        Self { next: R::default(), fields: R::Signals::default() }
    }
}

impl<D: Flow, R: Record> Default for Stream<D, R> {
    fn default() -> Self {
        Self {
            valid: Signal::default(),
            ready: Signal::default(),
            next: R::default(),
            fields: R::Signals::default(),
        }
    }
}

impl<D: Flow, T: Synth> Default for Channel<D, T> {
    fn default() -> Self {
        Self { valid: Signal::default(), ready: Signal::default(), data: Signal::default() }
    }
}

macro_rules! fields_of {
    ($name: ident) => {
        impl<D: Flow, R: Record> Deref for $name<D, R> {
            type Target = R::Signals<D>;

            fn deref(&self) -> &Self::Target {
                &self.fields
            }
        }

        impl<D: Flow, R: Record> DerefMut for $name<D, R> {
            fn deref_mut(&mut self) -> &mut Self::Target {
                &mut self.fields
            }
        }
    };
}
fields_of!(Signals);
fields_of!(Stream);

/// The visits of a bundle; it has no logic, and is never run.
macro_rules! bundle {
    ($name: ident, $bound: ident, $($field: ident),*) => {
        impl<D: Flow, R: $bound> Logic for $name<D, R> {
            fn update(&mut self) {}
        }

        impl<D: Flow, R: $bound> Block for $name<D, R> {
            fn connect_all(&mut self) {}

            fn update_all(&mut self) {}

            fn has_changed(&self) -> bool {
                false
            }

            fn accept(&self, name: &str, probe: &mut dyn Probe) {
                probe.visit_start_namespace(name, self);
                $(self.$field.accept(stringify!($field), probe);)*
                probe.visit_end_namespace(name, self);
            }
        }
    };
}
bundle!(Signals, Record, fields);
bundle!(Stream, Record, valid, ready, fields);
bundle!(Channel, Synth, valid, ready, data);

impl<D: Flow, T: Synth> Logic for Plain<D, T> {
    fn update(&mut self) {}
}

impl<D: Flow, T: Synth> Block for Plain<D, T> {
    fn connect_all(&mut self) {}

    fn update_all(&mut self) {}

    fn has_changed(&self) -> bool {
        false
    }

    fn accept(&self, _: &str, probe: &mut dyn Probe) {
        self.data.accept("data", probe);
    }
}

/// What a derived record says of its type.
#[doc(hidden)]
pub fn descriptor(name: &str, fields: Vec<(String, TypeDescriptor)>) -> TypeDescriptor {
    let field = |(fieldname, kind)| Box::new(TypeField { fieldname, kind });
    let fields = fields.into_iter().map(field).collect();
    TypeDescriptor { name: name.to_owned(), kind: TypeKind::Composite(fields) }
}

/// A derived record's value, of its fields' widths and values, the first one lowest.
///
/// # Panics
/// The record has more than 4,096 bits.
#[doc(hidden)]
pub fn literal(fields: &[(usize, VerilogLiteral)]) -> VerilogLiteral {
    let (mut whole, mut at) = (BigUint::ZERO, 0);
    for (width, value) in fields {
        let text = format!("{value:x}");
        let (_, digits) = text.split_once("'h").expect("lower hex has a base");
        let digits = BigUint::parse_bytes(digits.as_bytes(), 16).expect("it has digits");
        whole |= digits << at;
        at += width;
    }
    assert!(at <= MOST_BITS, "a record of {at} bits");
    Bits::<MOST_BITS>::from(whole).into()
}
