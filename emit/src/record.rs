//! Records, and ports that are made of them.
//!
//! A [`Record`] is a struct of fields. [`Signals`] is one with a signal a field; [`Stream`] has `valid` and `ready`
//! beside them, [`AxiStream`] `tvalid` and `tready`, [`Flow`] `valid` alone; [`Channel`] is a stream that any record
//! fits. In Verilog the field `bytes` of the stream `token` is the port `token$bytes`, and `token_bytes` at the top
//! module.

use num_bigint::BigUint;
use rust_hdl_core::prelude::*;
use std::ops::{Deref, DerefMut};

/// The most bits of a record.
const MOST_BITS: usize = 4096;

/// A direction that signals can have in a bundle, and that of those which go against it.
pub trait Directed: Direction {
    /// The opposite direction.
    type Back: Directed;
}

impl Directed for In {
    type Back = Out;
}

impl Directed for Out {
    type Back = In;
}

impl Directed for Local {
    type Back = Local;
}

/// A struct of fields; derived.
pub trait Record: Synth {
    /// Bundle with a signal for each field of the record.
    type Signals<D: Directed>: Block + Default;
}

/// Bits that are a record of one field, `data`.
pub struct Plain<D: Directed, T: Synth> {
    /// The bits of the record.
    pub data: Signal<D, T>,
}

impl<D: Directed, T: Synth> Default for Plain<D, T> {
    fn default() -> Self {
        Self { data: Signal::default() }
    }
}

impl<const N: usize> Record for Bits<N> {
    type Signals<D: Directed> = Plain<D, Self>;
}

impl Record for Bit {
    type Signals<D: Directed> = Plain<D, Self>;
}

/// A record as signals of their own: `self.x.field.val()`, `self.x.field.next = ..`.
///
/// As a whole, `self.x.val()` is the record and `self.x.next = record` writes every field.
pub struct Signals<D: Directed, R: Record> {
    /// Assignment to the whole record, in a kernel.
    pub next: R,
    fields: R::Signals<D>,
}

/// A stream of records: [`Signals`] with a handshake.
///
/// A record passes in each cycle in which `valid` and `ready` are both set. `valid` does not wait for
/// `ready`, and stays with the same record until it passes.
pub struct Stream<D: Directed, R: Record> {
    /// True while a record is offered.
    pub valid: Signal<D, Bit>,
    /// True if the record is accepted in this cycle.
    pub ready: Signal<D::Back, Bit>,
    /// Assignment to the whole record, in a kernel.
    pub next: R,
    fields: R::Signals<D>,
}

/// A stream that is never stalled: [`Signals`] with `valid`.
pub struct Flow<D: Directed, R: Record> {
    /// True if there is a record in this cycle.
    pub valid: Signal<D, Bit>,
    /// Assignment to the whole record, in a kernel.
    pub next: R,
    fields: R::Signals<D>,
}

/// A [`Stream`] with the names of AXI4-Stream, for ports that others name.
pub struct AxiStream<D: Directed, R: Record> {
    /// True while a record is offered.
    pub tvalid: Signal<D, Bit>,
    /// True if the record is accepted in this cycle.
    pub tready: Signal<D::Back, Bit>,
    /// Assignment to the whole record, in a kernel.
    pub next: R,
    fields: R::Signals<D>,
}

/// A stream whose record is one signal, `data`: the form of FIFOs and slices, whatever the record.
pub struct Channel<D: Directed, T: Synth> {
    /// True while a record is offered.
    pub valid: Signal<D, Bit>,
    /// True if the record is accepted in this cycle.
    pub ready: Signal<D::Back, Bit>,
    /// The record that is offered.
    pub data: Signal<D, T>,
}

/// A bundle of the record `R` with the handshake `H`, as an end of a join.
pub trait Bundle<R, H> {}

/// The handshake of a bundle without one.
pub struct Bare;
/// The handshake with `valid` alone.
pub struct Unstalled;
/// The handshake with `valid` and `ready`.
pub struct Stalled;

impl<D: Directed, R: Record> Bundle<R, Bare> for Signals<D, R> {}
impl<D: Directed, R: Record> Bundle<R, Unstalled> for Flow<D, R> {}
impl<D: Directed, R: Record> Bundle<R, Stalled> for Stream<D, R> {}
impl<D: Directed, R: Record> Bundle<R, Stalled> for AxiStream<D, R> {}
impl<D: Directed, T: Synth> Bundle<T, Stalled> for Channel<D, T> {}

macro_rules! whole {
    ($name: ident, $handshake: ident) => {
        impl<D: Directed, R: Record> $name<D, R> {
            /// The whole record.
            pub fn val(&self) -> R {
                R::default()
            }

            /// In a kernel: passes the records of this bundle on to `to`, whose `ready` drives the one here.
            ///
            /// Joins an own input to a sub-block's, an output of one to the input of another, and an
            /// output of one to an own one.
            pub fn join<B: Bundle<R, $handshake>>(&mut self, _to: &mut B) {}
        }
    };
}
whole!(Signals, Bare);
whole!(Flow, Unstalled);
whole!(Stream, Stalled);
whole!(AxiStream, Stalled);

impl<D: Directed, T: Synth> Channel<D, T> {
    /// In a kernel: joins like [`Stream::join`].
    pub fn join<B: Bundle<T, Stalled>>(&mut self, _to: &mut B) {}
}

/// Fields of one record that another one has too.
pub trait Share {
    /// In a kernel: writes the fields of `to` that have the name of a field here. Not the handshake.
    fn share<B: Share>(&mut self, _to: &mut B) {}
}

impl<D: Directed, R: Record> Share for Signals<D, R> {}
impl<D: Directed, R: Record> Share for Flow<D, R> {}
impl<D: Directed, R: Record> Share for Stream<D, R> {}
impl<D: Directed, R: Record> Share for AxiStream<D, R> {}
impl<D: Directed, R: Record> Share for Channel<D, R> {}
impl<D: Direction, R: Record> Share for Signal<D, R> {}

macro_rules! defaults {
    ($name: ident, $bound: ident, $($field: ident),*) => {
        impl<D: Directed, R: $bound> Default for $name<D, R> {
            fn default() -> Self {
                Self { $($field: Default::default()),* }
            }
        }
    };
}
defaults!(Signals, Record, next, fields);
defaults!(Flow, Record, valid, next, fields);
defaults!(Stream, Record, valid, ready, next, fields);
defaults!(AxiStream, Record, tvalid, tready, next, fields);
defaults!(Channel, Synth, valid, ready, data);

macro_rules! fields_of {
    ($name: ident) => {
        impl<D: Directed, R: Record> Deref for $name<D, R> {
            type Target = R::Signals<D>;

            fn deref(&self) -> &Self::Target {
                &self.fields
            }
        }

        impl<D: Directed, R: Record> DerefMut for $name<D, R> {
            fn deref_mut(&mut self) -> &mut Self::Target {
                &mut self.fields
            }
        }
    };
}
fields_of!(Signals);
fields_of!(Flow);
fields_of!(Stream);
fields_of!(AxiStream);

/// Implements the visits of a bundle, which has no logic and is never run.
macro_rules! bundle {
    ($name: ident, $bound: ident, $($field: ident),*) => {
        impl<D: Directed, R: $bound> Logic for $name<D, R> {
            fn update(&mut self) {}
        }

        impl<D: Directed, R: $bound> Block for $name<D, R> {
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
bundle!(Flow, Record, valid, fields);
bundle!(Stream, Record, valid, ready, fields);
bundle!(AxiStream, Record, tvalid, tready, fields);
bundle!(Channel, Synth, valid, ready, data);

impl<D: Directed, T: Synth> Logic for Plain<D, T> {
    fn update(&mut self) {}
}

impl<D: Directed, T: Synth> Block for Plain<D, T> {
    fn connect_all(&mut self) {}

    fn update_all(&mut self) {}

    fn has_changed(&self) -> bool {
        false
    }

    fn accept(&self, _: &str, probe: &mut dyn Probe) {
        self.data.accept("data", probe);
    }
}

/// Type descriptor of a derived record.
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
