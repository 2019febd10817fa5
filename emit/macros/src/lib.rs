//! The macros of `drdma-emit`, which documents and re-exports them.

use proc_macro::TokenStream;
use quote::quote;
use syn::{DeriveInput, ItemFn, parse_macro_input};

mod defaults;
mod kernel;
mod record;

/// Turns a kernel into code that the printer prints.
///
/// The function itself stays as it is, for the compiler to check, and is never run. Expressions that do not
/// depend on a signal (loop variables, `const`s, const generics, fields that start with `_`) is
/// computed in Rust while the block is printed.
///
/// A kernel is the function `update` of `Logic`. Other functions with this attribute are parts of a kernel, which it
/// calls: `self.part()`, or `self.part(k)` with arguments that are computed in Rust. The part's statements are printed
/// in place of the call.
#[proc_macro_attribute]
pub fn hdl_gen(_: TokenStream, item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as ItemFn);
    match kernel::expand(&item) {
        Ok(hdl) => quote!(#[allow(unreachable_patterns)] #item #hdl).into(),
        Err(error) => error.to_compile_error().into(),
    }
}

/// Makes a struct a `Record`: the values of a stream, a register or a memory.
///
/// Its fields are signals' types or arrays of them; the first one is lowest. With it comes a struct of
/// the same name and `Signals` behind it, a signal a field. It also is `Default`: derive
/// `Copy, Clone, Debug, PartialEq` beside it.
#[proc_macro_derive(Record)]
pub fn record(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    record::expand(&item).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// `Default` of a block: of every field, in arrays of any length too.
///
/// `#[init(EXPRESSION)]` in front of a field is its value; `#[check(CONDITION, "MESSAGE {N}")]` in front
/// of the struct panics with the message where the condition is false.
#[proc_macro_derive(BlockDefault, attributes(init, check))]
pub fn block_default(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    defaults::expand(&item).unwrap_or_else(|error| error.to_compile_error()).into()
}
