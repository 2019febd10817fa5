//! `#[derive(Record)]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Error, Expr, GenericParam, Ident, Result, Type};

use crate::defaults;

/// Names of a stream's own signals, which fields cannot have.
const TAKEN: [&str; 5] = ["valid", "ready", "tvalid", "tready", "next"];

struct Field<'a> {
    field: &'a syn::Field,
    name: &'a Ident,
    /// Type of one signal; and the number of signals, if the field is an array.
    element: &'a Type,
    length: Option<&'a Expr>,
}

impl Field<'_> {
    fn bits(&self) -> TokenStream {
        let element = self.element;
        let bits = quote!(<#element as ::drdma_emit::prelude::Synth>::BITS);
        match self.length {
            Some(length) => quote!((#length) * #bits),
            None => bits,
        }
    }

    fn kinds(&self) -> TokenStream {
        let (name, element) = (self.name.to_string(), self.element);
        let kind = quote!(<#element as ::drdma_emit::prelude::Synth>::descriptor());
        match self.length {
            Some(length) => quote! {
                for k in 0..#length {
                    fields.push((::std::format!("{}${}", #name, k), #kind));
                }
            },
            None => quote!(fields.push((#name.to_owned(), #kind));),
        }
    }

    fn values(&self) -> TokenStream {
        let name = self.name;
        match self.length {
            Some(_) => quote! {
                for part in self.#name {
                    values.push((part.bits(), part.verilog()));
                }
            },
            None => quote!(values.push((self.#name.bits(), self.#name.verilog()));),
        }
    }

    fn signal(&self) -> TokenStream {
        let (name, element) = (self.name, self.element);
        let docs = self.field.attrs.iter().filter(|a| a.path().is_ident("doc"));
        let vis = &self.field.vis;
        let signal = quote!(::drdma_emit::prelude::Signal<FlowOf, #element>);
        match self.length {
            Some(length) => quote!(#(#docs)* #vis #name: [#signal; #length]),
            None => quote!(#(#docs)* #vis #name: #signal),
        }
    }
}

pub fn expand(item: &DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &item.data else {
        return Err(Error::new_spanned(item, "a record is a struct"));
    };
    let mut fields = Vec::new();
    for field in &data.fields {
        let Some(name) = &field.ident else {
            return Err(Error::new_spanned(field, "a record's fields have names"));
        };
        if TAKEN.iter().any(|taken| name == taken) {
            return Err(Error::new_spanned(
                name,
                format!("`{name}` is a name of the stream's own"),
            ));
        }
        let (element, length) = match &field.ty {
            Type::Array(array) => (&*array.elem, Some(&array.len)),
            element => (element, None),
        };
        fields.push(Field { field, name, element, length });
    }
    let (name, vis) = (&item.ident, &item.vis);
    let signals = format_ident!("{name}Signals");
    let (generics, types, bounds) = item.generics.split_for_impl();
    let parameters = &item.generics.params;
    let arguments = item.generics.params.iter().map(|parameter| match parameter {
        GenericParam::Type(p) => p.ident.clone(),
        GenericParam::Const(p) => p.ident.clone(),
        GenericParam::Lifetime(p) => p.lifetime.ident.clone(),
    });
    let arguments: Vec<_> = arguments.collect();
    let own = quote!(<FlowOf: ::drdma_emit::prelude::Directed, #parameters>);
    let own_types = quote!(<FlowOf, #(#arguments),*>);
    let names: Vec<_> = fields.iter().map(|f| f.name).collect();
    let texts: Vec<_> = names.iter().map(ToString::to_string).collect();
    let bits = fields.iter().map(Field::bits);
    let kinds = fields.iter().map(Field::kinds);
    let values = fields.iter().map(Field::values);
    let members = fields.iter().map(Field::signal);
    let own_defaults = data.fields.iter().map(|field| defaults::value(&field.ty));
    let defaults = data.fields.iter().map(|field| defaults::value(&field.ty));
    let text = name.to_string();
    let about = format!("The fields of a [`{name}`], a signal each.");
    Ok(quote! {
        #[automatically_derived]
        impl #generics ::std::default::Default for #name #types #bounds {
            fn default() -> Self {
                Self { #(#names: #own_defaults),* }
            }
        }

        #[automatically_derived]
        impl #generics ::drdma_emit::prelude::Synth for #name #types #bounds {
            const BITS: usize = 0 #(+ #bits)*;

            fn descriptor() -> ::drdma_emit::prelude::TypeDescriptor {
                let mut fields = ::std::vec::Vec::new();
                #(#kinds)*
                ::drdma_emit::record::descriptor(#text, fields)
            }

            fn vcd(self) -> ::drdma_emit::prelude::VCDValue {
                ::drdma_emit::prelude::VCDValue::Composite(::std::vec::Vec::new())
            }

            fn verilog(self) -> ::drdma_emit::prelude::VerilogLiteral {
                let mut values = ::std::vec::Vec::new();
                #(#values)*
                ::drdma_emit::record::literal(&values)
            }
        }

        #[automatically_derived]
        impl #generics ::drdma_emit::prelude::Record for #name #types #bounds {
            type Signals<FlowOf: ::drdma_emit::prelude::Directed> = #signals #own_types;
        }

        #[doc = #about]
        #vis struct #signals #own {
            #(#members),*
        }

        #[automatically_derived]
        impl #own ::std::default::Default for #signals #own_types {
            fn default() -> Self {
                Self { #(#names: #defaults),* }
            }
        }

        #[automatically_derived]
        impl #own ::drdma_emit::prelude::Logic for #signals #own_types {
            fn update(&mut self) {}
        }

        #[automatically_derived]
        impl #own ::drdma_emit::prelude::Block for #signals #own_types {
            fn connect_all(&mut self) {}

            fn update_all(&mut self) {}

            fn has_changed(&self) -> bool {
                false
            }

            fn accept(&self, _: &str, probe: &mut dyn ::drdma_emit::prelude::Probe) {
                #(self.#names.accept(#texts, probe);)*
            }
        }
    })
}
