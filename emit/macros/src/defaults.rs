//! `#[derive(BlockDefault)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Expr, Result, Type};

pub fn expand(item: &DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &item.data else {
        return Err(Error::new_spanned(item, "a block is a struct"));
    };
    let checks = item.attrs.iter().filter(|a| a.path().is_ident("check"));
    let checks: Vec<TokenStream> = checks
        .map(|a| a.meta.require_list().map(|list| list.tokens.clone()))
        .collect::<Result<_>>()?;
    let mut values = Vec::new();
    for field in &data.fields {
        let init = field.attrs.iter().find(|a| a.path().is_ident("init"));
        let name = &field.ident;
        let value = match init {
            Some(init) => {
                let value: Expr = init.parse_args()?;
                quote!(#value)
            }
            None => value(&field.ty),
        };
        values.push(quote!(#name: #value));
    }
    let name = &item.ident;
    let (generics, types, bounds) = item.generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #generics ::std::default::Default for #name #types #bounds {
            fn default() -> Self {
                #(assert!(#checks);)*
                Self { #(#values),* }
            }
        }
    })
}

/// The default of a type.
pub fn value(of: &Type) -> TokenStream {
    match of {
        Type::Array(array) => {
            let element = value(&array.elem);
            quote!(::std::array::from_fn(|_| #element))
        }
        _ => quote!(::std::default::Default::default()),
    }
}
