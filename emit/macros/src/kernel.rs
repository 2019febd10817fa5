//! `#[hdl_gen]`.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use std::collections::BTreeMap;
use syn::spanned::Spanned;
use syn::{
    BinOp, Block, Error, Expr, ExprIf, ExprMatch, ExprMethodCall, FnArg, GenericArgument, Ident,
    ItemFn, Lit, Member, Pat, Path, PathArguments, Result, Stmt, UnOp,
};

/// The kernel's `hdl`, or the code of one of its parts.
pub fn expand(item: &ItemFn) -> Result<TokenStream> {
    let mut kernel = Kernel::default();
    let body = kernel.block(&item.block)?;
    let states = kernel.states.values();
    let code = quote! {
        use ::drdma_emit::code;
        let mut __code = ::std::vec::Vec::new();
        __code.push(code::file(::core::file!()));
        #(__code.push(code::states::<#states>());)*
        #body
    };
    if item.sig.ident == "update" {
        return Ok(quote! {
            #[automatically_derived]
            fn hdl(&self) -> ::drdma_emit::prelude::Verilog {
                #code
                ::drdma_emit::prelude::Verilog::Combinatorial(__code)
            }
        });
    }
    let (visibility, name) = (&item.vis, code_of(&item.sig.ident));
    let arguments = item.sig.inputs.iter().filter(|input| matches!(input, FnArg::Typed(_)));
    Ok(quote! {
        #[automatically_derived]
        #[doc(hidden)]
        #visibility fn #name(&self, #(#arguments),*) -> ::drdma_emit::code::Part {
            #code
            code::Part(__code)
        }
    })
}

/// The function that gives the code of a part.
fn code_of(part: &Ident) -> Ident {
    format_ident!("{part}_hdl")
}

fn fail<T>(at: &impl ToTokens, reason: &str) -> Result<T> {
    Err(Error::new_spanned(at, reason))
}

/// The line in the kernel's file that something begins on.
fn line(of: &impl ToTokens) -> u32 {
    let first = of.to_token_stream().into_iter().next();
    first.map_or(0, |token| token.span().unwrap().line() as u32)
}

/// Whether something depends on a signal: names `self`, and not for a field that starts with `_`.
fn has_signal(of: &impl ToTokens) -> bool {
    fn scan(tokens: TokenStream) -> bool {
        let tokens: Vec<_> = tokens.into_iter().collect();
        tokens.iter().enumerate().any(|(i, token)| match token {
            TokenTree::Ident(word) if word == "self" => match tokens.get(i + 2) {
                Some(TokenTree::Ident(field)) => !field.to_string().starts_with('_'),
                _ => true,
            },
            TokenTree::Group(group) => scan(group.stream()),
            _ => false,
        })
    }
    scan(of.to_token_stream())
}

/// Whether a value is computed in Rust as it stands: of constants and numbers with types, not of literals
/// alone, whose type is that of what they meet.
fn is_rust(e: &Expr) -> bool {
    fn scan(tokens: TokenStream) -> Option<bool> {
        let mut typed = false;
        for token in tokens {
            match token {
                TokenTree::Ident(word) if word == "into" || word == "to_bits" => return None,
                TokenTree::Ident(_) => typed = true,
                TokenTree::Literal(l) => typed |= l.to_string().contains(['u', 'i', '_']),
                TokenTree::Group(group) => typed |= scan(group.stream())?,
                TokenTree::Punct(_) => {}
            }
        }
        Some(typed)
    }
    !has_signal(e) && scan(e.to_token_stream()) == Some(true)
}

/// The name of a signal, in parts: text, and indices that Rust computes.
#[derive(Default)]
struct Name {
    format: String,
    indices: Vec<TokenStream>,
}

impl Name {
    fn push(&mut self, separator: char, part: &str) {
        if !self.format.is_empty() {
            self.format.push(separator);
        }
        self.format.push_str(part);
    }

    fn code(&self) -> TokenStream {
        let Self { format, indices } = self;
        if indices.is_empty() {
            quote!(#format)
        } else {
            quote!(::std::format!(#format, #(#indices),*))
        }
    }
}

/// The name of a signal. `.val()` gives a value, whose fields follow behind a dot.
fn name(of: &Expr) -> Result<Name> {
    match of {
        Expr::Paren(e) => name(&e.expr),
        e if is_self(e) => Ok(Name::default()),
        Expr::Field(field) => {
            let Member::Named(member) = &field.member else {
                return fail(field, "a field has a name");
            };
            let mut base = name(&field.base)?;
            let dot = base.format.contains('.') || is_value(&field.base);
            base.push(if dot { '.' } else { '$' }, &member.to_string());
            Ok(base)
        }
        Expr::Index(index) => {
            if has_signal(&index.index) {
                return fail(
                    &index.index,
                    "an index must not depend on a signal: compare in a loop, or slice",
                );
            }
            let mut base = name(&index.expr)?;
            base.push('$', "{}");
            let index = &index.index;
            base.indices.push(quote!(#index));
            Ok(base)
        }
        Expr::MethodCall(call) if call.method == "val" => name(&call.receiver),
        _ => fail(of, "not a signal"),
    }
}

fn is_self(e: &Expr) -> bool {
    matches!(e, Expr::Path(path) if path.path.is_ident("self"))
}

fn is_value(e: &Expr) -> bool {
    match e {
        Expr::MethodCall(call) => call.method == "val",
        Expr::Paren(e) => is_value(&e.expr),
        _ => false,
    }
}

/// The target of an assignment: what stands before `.next`, and the record's fields behind it.
fn target(of: &Expr) -> Result<Name> {
    match of {
        Expr::Field(field) => {
            let Member::Named(member) = &field.member else {
                return fail(field, "a field has a name");
            };
            if member == "next" {
                return name(&field.base);
            }
            let mut base = target(&field.base)?;
            base.push('.', &member.to_string());
            Ok(base)
        }
        Expr::Index(index) => {
            let mut base = target(&index.expr)?;
            base.push('$', "{}");
            let index = &index.index;
            base.indices.push(quote!(#index));
            Ok(base)
        }
        _ => fail(of, "an assignment goes to a signal's `.next`"),
    }
}

#[derive(Default)]
struct Kernel {
    /// Enums that the kernel names, by their text.
    states: BTreeMap<String, Path>,
}

impl Kernel {
    /// Statements that push a block's code.
    fn block(&mut self, block: &Block) -> Result<TokenStream> {
        let statements = block.stmts.iter().map(|statement| {
            let code = match statement {
                Stmt::Expr(e, _) => self.statement(e),
                _ => fail(statement, "a kernel has no `let` and no items: use a `Local` signal"),
            }?;
            let line = line(statement);
            Ok(quote!(__code.push(code::at(#line)); #code))
        });
        let statements: Vec<_> = statements.collect::<Result<_>>()?;
        Ok(quote!(#(#statements)*))
    }

    /// An expression that is a block's code.
    fn inner(&mut self, block: &Block) -> Result<TokenStream> {
        let code = self.block(block)?;
        Ok(quote!({
            let mut __code = ::std::vec::Vec::new();
            #code
            __code
        }))
    }

    fn statement(&mut self, e: &Expr) -> Result<TokenStream> {
        match e {
            Expr::Assign(assign) => {
                let to = target(&assign.left)?.code();
                let value = self.value(&assign.right)?;
                Ok(quote!(__code.push(code::assign(#to, #value));))
            }
            Expr::If(conditional) => {
                if has_signal(&conditional.cond) {
                    let code = self.conditional(conditional)?;
                    return Ok(quote!(__code.push(#code);));
                }
                // The condition is decided while the block is printed.
                let test = &conditional.cond;
                let then = self.block(&conditional.then_branch)?;
                let other = match &conditional.else_branch {
                    None => TokenStream::new(),
                    Some((_, other)) => self.statement(other)?,
                };
                Ok(quote!(if #test { #then } else { #other }))
            }
            Expr::Block(block) => self.block(&block.block),
            Expr::Match(choice) => self.choice(choice),
            Expr::ForLoop(each) => {
                let (variable, range) = (&each.pat, &each.expr);
                let body = self.block(&each.body)?;
                Ok(quote!(for #variable in #range { #body }))
            }
            Expr::MethodCall(call) if call.method == "join" || call.method == "share" => {
                let from = name(&call.receiver)?.code();
                let [Expr::Reference(to)] = &call.args.iter().collect::<Vec<_>>()[..] else {
                    return fail(call, "write `self.a.out.join(&mut self.b.input)`, or `share`");
                };
                let to = name(&to.expr)?.code();
                let method = &call.method;
                Ok(quote!(__code.push(code::#method(#from, #to));))
            }
            Expr::MethodCall(call) if is_self(&call.receiver) => {
                if let Some(argument) = call.args.iter().find(has_signal) {
                    return fail(
                        argument,
                        "what a part is called with must not depend on a signal",
                    );
                }
                let (part, arguments) = (code_of(&call.method), call.args.iter());
                Ok(quote!(__code.push(code::part(self.#part(#(#arguments),*)));))
            }
            _ => fail(
                e,
                "a statement is an assignment, `if`, `match`, `for`, `join`, `share` or the call of a part",
            ),
        }
    }

    fn conditional(&mut self, conditional: &ExprIf) -> Result<TokenStream> {
        let test = self.value(&conditional.cond)?;
        let then = self.inner(&conditional.then_branch)?;
        let otherwise = match &conditional.else_branch {
            None => quote!(code::otherwise_none()),
            Some((_, other)) => match &**other {
                Expr::If(next) if has_signal(&next.cond) => {
                    let next = self.conditional(next)?;
                    quote!(code::otherwise_if(#next))
                }
                other => {
                    let other = self.statement(other)?;
                    quote!(code::otherwise({
                        let mut __code = ::std::vec::Vec::new();
                        #other
                        __code
                    }))
                }
            },
        };
        Ok(quote!(code::conditional(#test, #then, #otherwise)))
    }

    fn choice(&mut self, choice: &ExprMatch) -> Result<TokenStream> {
        let test = self.value(&choice.expr)?;
        let mut cases = Vec::new();
        for arm in &choice.arms {
            if let Some((_, guard)) = &arm.guard {
                return fail(guard, "an arm has no condition of its own");
            }
            let pattern = self.pattern(&arm.pat)?;
            let body = self.statement(&arm.body)?;
            cases.push(quote!((#pattern, {
                let mut __code = ::std::vec::Vec::new();
                #body
                __code
            })));
        }
        Ok(quote!(__code.push(code::choice(#test, ::std::vec![#(#cases),*]));))
    }

    fn pattern(&mut self, pattern: &Pat) -> Result<String> {
        match pattern {
            Pat::Path(path) => self.variant(&path.path),
            Pat::Wild(_) => Ok("default".to_owned()),
            Pat::Paren(pattern) => self.pattern(&pattern.pat),
            Pat::Or(patterns) => {
                let patterns = patterns.cases.iter().map(|p| self.pattern(p));
                Ok(patterns.collect::<Result<Vec<_>>>()?.join("|"))
            }
            _ => fail(pattern, "a pattern is `State::Variant` or `_`"),
        }
    }

    /// The text of `State::Variant`, and note that the kernel names `State`.
    fn variant(&mut self, path: &Path) -> Result<String> {
        let mut of = path.clone();
        let Some(variant) = of.segments.pop() else {
            return fail(path, "write `State::Variant`");
        };
        of.segments.pop_punct();
        let Some(last) = of.segments.last() else {
            return fail(path, "write `State::Variant`");
        };
        let text = format!("{}${}", last.ident, variant.value().ident);
        self.states.insert(of.to_token_stream().to_string(), of);
        Ok(text)
    }

    fn value(&mut self, e: &Expr) -> Result<TokenStream> {
        if let Some(value) = self.structure(e)? {
            return Ok(value);
        }
        if has_signal(e) {
            return fail(e, "the printer does not know this");
        }
        Ok(quote_spanned!(e.span()=> code::value(&(#e))))
    }

    /// The code of an expression that has a form of its own in Verilog; `None` for others.
    fn structure(&mut self, e: &Expr) -> Result<Option<TokenStream>> {
        Ok(Some(match e {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Int(digits) if digits.suffix().is_empty() => {
                    let digits: u64 = digits.base10_parse()?;
                    quote!(code::value(&#digits))
                }
                _ => return Ok(None),
            },
            Expr::Group(e) => self.value(&e.expr)?,
            Expr::Paren(e) => {
                let e = self.value(&e.expr)?;
                quote!(code::paren(#e))
            }
            Expr::Path(path) => {
                let shouts = |word: String| !word.chars().any(char::is_lowercase);
                let segments = &path.path.segments;
                let last = segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
                let capital = last.starts_with(char::is_uppercase);
                if segments.len() < 2 || shouts(last) || !capital {
                    return Ok(None);
                }
                let variant = self.variant(&path.path)?;
                quote!(code::signal(#variant))
            }
            Expr::Field(_) | Expr::Index(_) if has_signal(e) => {
                let name = name(e)?.code();
                quote!(code::signal(#name))
            }
            Expr::Binary(_) if is_rust(e) => return Ok(None),
            Expr::Binary(binary) => {
                let (l, r) = (self.value(&binary.left)?, self.value(&binary.right)?);
                let operator = match &binary.op {
                    BinOp::Add(_) => quote!(Add),
                    BinOp::Sub(_) => quote!(Sub),
                    BinOp::Mul(_) => quote!(Mul),
                    BinOp::And(_) => quote!(LogicalAnd),
                    BinOp::Or(_) => quote!(LogicalOr),
                    BinOp::BitXor(_) => quote!(BitXor),
                    BinOp::BitAnd(_) => quote!(BitAnd),
                    BinOp::BitOr(_) => quote!(BitOr),
                    BinOp::Shl(_) => quote!(Shl),
                    BinOp::Shr(_) => quote!(Shr),
                    BinOp::Eq(_) => quote!(Eq),
                    BinOp::Lt(_) => quote!(Lt),
                    BinOp::Le(_) => quote!(Le),
                    BinOp::Ne(_) => quote!(Ne),
                    BinOp::Ge(_) => quote!(Ge),
                    BinOp::Gt(_) => quote!(Gt),
                    _ if has_signal(e) => return fail(e, "an operator without hardware"),
                    _ => return Ok(None),
                };
                quote!(code::binary(#l, code::VerilogOp::#operator, #r))
            }
            Expr::Unary(unary) => {
                let inner = self.value(&unary.expr)?;
                match &unary.op {
                    UnOp::Not(_) => quote!(code::unary(code::VerilogOpUnary::Not, #inner)),
                    UnOp::Neg(_) => quote!(code::unary(code::VerilogOpUnary::Neg, #inner)),
                    _ => return Ok(None),
                }
            }
            Expr::Call(call) => {
                let Expr::Path(function) = &*call.func else { return Ok(None) };
                let Some(function) = function.path.segments.last() else { return Ok(None) };
                let function_name = function.ident.to_string();
                let Some(argument) = call.args.first() else { return Ok(None) };
                match function_name.as_str() {
                    "bit_cast" | "bits" => {
                        let Some(width) = first_generic(&function.arguments) else {
                            return fail(call, "the width is missing: `bit_cast::<TO, FROM>(x)`");
                        };
                        let argument = self.value(argument)?;
                        quote!(code::cast(#argument, #width))
                    }
                    "unsigned_cast" => {
                        let argument = self.value(argument)?;
                        quote!(code::unsigned(#argument))
                    }
                    "signed_bit_cast" | "signed_cast" => {
                        let argument = self.value(argument)?;
                        quote!(code::signed(#argument))
                    }
                    _ => return Ok(None),
                }
            }
            Expr::MethodCall(call) => return self.method(call, e),
            _ => return Ok(None),
        }))
    }

    fn method(&mut self, call: &ExprMethodCall, e: &Expr) -> Result<Option<TokenStream>> {
        let method = call.method.to_string();
        if matches!(method.as_str(), "into" | "to_bits" | "index") {
            return self.value(&call.receiver).map(Some);
        }
        if !has_signal(e) {
            return Ok(None);
        }
        if method == "val" {
            let name = name(&call.receiver)?.code();
            return Ok(Some(quote!(code::signal(#name))));
        }
        let receiver = self.value(&call.receiver)?;
        let arguments = call.args.iter().map(|a| self.value(a)).collect::<Result<Vec<_>>>()?;
        Ok(Some(match (method.as_str(), &arguments[..]) {
            ("get_bits", [offset]) => {
                let turbofish = call.turbofish.as_ref();
                let Some(width) = turbofish.and_then(|t| generic(t.args.first()?)) else {
                    return fail(call, "the width is missing: `x.get_bits::<WIDTH>(offset)`");
                };
                quote!(code::slice(#receiver, #width, #offset))
            }
            ("get_bit", [index]) => quote!(code::index(#receiver, #index)),
            ("replace_bit", [index, bit]) => quote!(code::replace(#receiver, #index, #bit)),
            ("all", []) => quote!(code::unary(code::VerilogOpUnary::All, #receiver)),
            ("any", []) => quote!(code::unary(code::VerilogOpUnary::Any, #receiver)),
            ("xor", []) => quote!(code::unary(code::VerilogOpUnary::Xor, #receiver)),
            ("to_signed_bits", []) => quote!(code::signed(#receiver)),
            _ => return fail(call, "a method without hardware"),
        }))
    }
}

fn first_generic(arguments: &PathArguments) -> Option<TokenStream> {
    match arguments {
        PathArguments::AngleBracketed(list) => generic(list.args.first()?),
        _ => None,
    }
}

fn generic(argument: &GenericArgument) -> Option<TokenStream> {
    match argument {
        GenericArgument::Type(name) => Some(quote!(#name)),
        GenericArgument::Const(e) => Some(quote!(#e)),
        _ => None,
    }
}
