//! Rewriting a file so that each of its mutants is behind a number.
//!
//! Of two mutants only one is on, so that the code of a mutant is the source as it is written, and only the
//! code that stands when none is on is rewritten further.

use std::collections::HashMap;
use std::ops::Range;

use anyhow::{Context as _, Result};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::edits::{Edits, Mutated, Number};
use crate::list::{Genre, Mutant, Place};

/// What came of a file.
pub(crate) struct Rewritten {
    pub(crate) mutated: Mutated,
    /// Those that are behind their number now.
    pub(crate) switched: Vec<Number>,
    /// Those that cannot compile: `||` beside `let`, and an arm less where none takes the rest.
    pub(crate) unviable: Vec<Number>,
}

/// Rewrites a file.
pub(crate) fn rewrite(source: &str, mutants: &[(Number, &Mutant)]) -> Result<Rewritten> {
    let file = syn::parse_file(source)?;
    let starts = line_starts(source);
    let mut wanted: HashMap<(Genre, usize), Vec<(Number, &Mutant)>> = HashMap::new();
    for &(number, mutant) in mutants {
        let at = byte_of(source, &starts, mutant.span.start).context("a place in the file")?;
        wanted.entry((mutant.genre, at)).or_default().push((number, mutant));
    }
    let mut rewriter = Rewriter {
        source,
        wanted,
        constant: false,
        edits: Edits::default(),
        switched: Vec::new(),
        unviable: Vec::new(),
    };
    rewriter.visit_file(&file);
    let Rewriter { edits, switched, unviable, .. } = rewriter;
    Ok(Rewritten { mutated: edits.apply(source), switched, unviable })
}

fn line_starts(source: &str) -> Vec<usize> {
    let ends = source.match_indices('\n').map(|(end, _)| end + 1);
    std::iter::once(0).chain(ends).collect()
}

fn byte_of(source: &str, starts: &[usize], place: Place) -> Option<usize> {
    let start = *starts.get(place.line.checked_sub(1)?)?;
    let before = source.get(start..)?.chars().take(place.column.checked_sub(1)?);
    Some(start + before.map(char::len_utf8).sum::<usize>())
}

/// Where something stands.
fn range(of: &impl Spanned) -> Range<usize> {
    of.span().byte_range()
}

/// The call that says whether a mutant is on.
fn on(number: Number) -> String {
    format!("::zten_switch::mutant({number})")
}

struct Rewriter<'s, 'm> {
    source: &'s str,
    wanted: HashMap<(Genre, usize), Vec<(Number, &'m Mutant)>>,
    /// What is computed as it is compiled cannot ask.
    constant: bool,
    edits: Edits,
    switched: Vec<Number>,
    unviable: Vec<Number>,
}

impl<'m> Rewriter<'_, 'm> {
    fn text(&self, of: &impl Spanned) -> String {
        self.source.get(range(of)).unwrap_or_default().to_owned()
    }

    /// The mutants of that genre that begin there.
    fn take(&mut self, genre: Genre, at: usize) -> Vec<(Number, &'m Mutant)> {
        if self.constant {
            return Vec::new();
        }
        let taken = self.wanted.remove(&(genre, at)).unwrap_or_default();
        self.switched.extend(taken.iter().map(|(number, _)| number));
        taken
    }

    fn in_constant(&mut self, constant: bool, visit: impl FnOnce(&mut Self)) {
        let around = std::mem::replace(&mut self.constant, constant);
        visit(self);
        self.constant = around;
    }

    /// What stands in the place of an expression: one of those, or itself, in which more may change.
    fn choose(
        &mut self,
        expression: Range<usize>,
        instead: Vec<(Number, String)>,
        visit: impl FnOnce(&mut Self),
    ) {
        let Range { start, end } = expression;
        let chosen = !instead.is_empty();
        if chosen {
            self.edits.open(start, "(".to_owned(), None);
            for (number, text) in instead {
                let text = format!("if {} {{ {text} }} else ", on(number));
                self.edits.open(start, text, Some(number));
            }
            self.edits.open(start, "{ ".to_owned(), None);
        }
        visit(self);
        if chosen {
            self.edits.close(end, " })".to_owned(), None);
        }
    }

    fn body(&mut self, constant: bool, block: &syn::Block) {
        let Some(first) = block.stmts.first().map(|first| range(first).start) else { return };
        self.in_constant(constant, |this| {
            for (number, mutant) in this.take(Genre::FnValue, first) {
                let text = format!("if {} {{ return {}; }} ", on(number), mutant.replacement);
                this.edits.open(first, text, Some(number));
            }
        });
    }

    /// A guard that is `true`, `false`, or that of an arm that is not there.
    fn guard(&mut self, arm: &syn::Arm, deleted: &[(Number, &Mutant)]) {
        let Some((_, guard)) = &arm.guard else {
            let end = range(&arm.pat).end;
            for (number, _) in deleted {
                self.edits.close(end, format!(" if !{}", on(*number)), Some(*number));
            }
            return;
        };
        let Range { start, end } = range(&**guard);
        let replaced = self.take(Genre::MatchArmGuard, start);
        let deleted = deleted.iter().map(|(number, _)| (*number, false));
        let replaced =
            replaced.iter().map(|(number, mutant)| (*number, mutant.replacement == "true"));
        let mut closing = String::new();
        for (number, value) in deleted.chain(replaced) {
            let call = on(number);
            let text = if value { format!("{call} || (") } else { format!("!{call} && (") };
            self.edits.open(start, text, Some(number));
            closing.push(')');
        }
        self.visit_expr(guard);
        self.edits.close(end, closing, None);
    }
}

/// Whether it is a chain of conditions with a `let` among them.
fn has_let(expression: &syn::Expr) -> bool {
    match expression {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(chain) => {
            matches!(chain.op, syn::BinOp::And(_))
                && (has_let(&chain.left) || has_let(&chain.right))
        }
        _ => false,
    }
}

/// Visits what is computed as it is compiled.
macro_rules! in_constant {
    ($($visit:ident: $item:ident,)+) => {
        $(fn $visit(&mut self, item: &'ast syn::$item) {
            self.in_constant(true, |this| visit::$visit(this, item));
        })+
    };
}

impl<'ast> Visit<'ast> for Rewriter<'_, '_> {
    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        let mutants = self.take(Genre::BinaryOperator, range(&binary.op).start);
        if has_let(&binary.left) || has_let(&binary.right) {
            let numbers = mutants.iter().map(|(number, _)| *number);
            self.unviable.extend(numbers);
            visit::visit_expr_binary(self, binary);
            return;
        }
        let (left, right) = (self.text(&binary.left), self.text(&binary.right));
        let instead = mutants.iter().map(|(number, mutant)| {
            (*number, format!("({left}) {} ({right})", mutant.replacement))
        });
        let instead = instead.collect();
        self.choose(range(binary), instead, |this| visit::visit_expr_binary(this, binary));
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        let mutants = self.take(Genre::UnaryOperator, range(&unary.op).start);
        let operand = self.text(&unary.expr);
        let instead = mutants.iter().map(|(number, _)| (*number, operand.clone())).collect();
        self.choose(range(unary), instead, |this| visit::visit_expr_unary(this, unary));
    }

    fn visit_expr_struct(&mut self, value: &'ast syn::ExprStruct) {
        let Range { start, .. } = range(value);
        let mut instead = Vec::new();
        for (place, field) in value.fields.iter().enumerate() {
            for (number, _) in self.take(Genre::StructField, range(field).start) {
                let others = value.fields.iter().enumerate().filter(|(other, _)| *other != place);
                let others = others.map(|(_, other)| self.text(other) + ", ");
                let others: String = others.collect();
                let rest = value.rest.as_ref().map(|rest| self.text(rest)).unwrap_or_default();
                let path = self.text(&value.path);
                instead.push((number, format!("{path} {{ {others}..{rest} }}")));
            }
        }
        let end = range(value).end;
        self.choose(start..end, instead, |this| visit::visit_expr_struct(this, value));
    }

    fn visit_expr_match(&mut self, value: &'ast syn::ExprMatch) {
        self.visit_expr(&value.expr);
        let takes_rest =
            |arm: &syn::Arm| matches!(arm.pat, syn::Pat::Wild(_)) && arm.guard.is_none();
        let exhaustive = value.arms.iter().any(takes_rest);
        for arm in &value.arms {
            let mut deleted = self.take(Genre::MatchArm, range(arm).start);
            if !exhaustive {
                self.unviable.extend(deleted.drain(..).map(|(number, _)| number));
            }
            self.guard(arm, &deleted);
            self.visit_expr(&arm.body);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        let constant = function.sig.constness.is_some();
        self.body(constant, &function.block);
        self.in_constant(constant, |this| visit::visit_item_fn(this, function));
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        let constant = function.sig.constness.is_some();
        self.body(constant, &function.block);
        self.in_constant(constant, |this| visit::visit_impl_item_fn(this, function));
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.body(false, block);
        }
        self.in_constant(false, |this| visit::visit_trait_item_fn(this, function));
    }

    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        self.in_constant(false, |this| visit::visit_expr_closure(this, closure));
    }

    in_constant! {
        visit_item_const: ItemConst,
        visit_impl_item_const: ImplItemConst,
        visit_trait_item_const: TraitItemConst,
        visit_item_static: ItemStatic,
        visit_expr_const: ExprConst,
        visit_type_array: TypeArray,
        visit_variant: Variant,
        visit_generic_argument: GenericArgument,
    }

    fn visit_expr_repeat(&mut self, array: &'ast syn::ExprRepeat) {
        self.visit_expr(&array.expr);
        self.in_constant(true, |this| this.visit_expr(&array.len));
    }
}

#[cfg(test)]
mod tests {
    use super::rewrite;
    use crate::list::{Genre, Mutant, Place, Span};

    const SOURCE: &str = "const TWO: u8 = 1 + 1;

fn of(n: u8) -> u8 {
    match n {
        1 if n > 0 => !n,
        _ => n + TWO,
    }
}
";

    /// A mutant of what stands at the `nth` place, counted from 0, where `text` stands.
    fn mutant(genre: Genre, text: &str, nth: usize, replacement: &str) -> Mutant {
        let (at, _) = SOURCE.match_indices(text).nth(nth).expect("it is there");
        let before = SOURCE.get(..at).expect("a place");
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        let start = Place { line: before.matches('\n').count() + 1, column: at - start + 1 };
        Mutant {
            name: String::new(),
            file: String::new(),
            genre,
            replacement: replacement.to_owned(),
            span: Span { start },
            function: None,
        }
    }

    #[test]
    fn each_mutant_is_behind_its_number() {
        let mutants = [
            mutant(Genre::FnValue, "match n", 0, "0"),
            mutant(Genre::BinaryOperator, "+", 1, "-"),
            mutant(Genre::UnaryOperator, "!n", 0, ""),
            mutant(Genre::MatchArm, "1 if", 0, ""),
            mutant(Genre::MatchArmGuard, "n > 0", 0, "true"),
            mutant(Genre::BinaryOperator, "+", 0, "*"),
        ];
        let mutants: Vec<_> = (0..).zip(&mutants).collect();
        let rewritten = rewrite(SOURCE, &mutants).expect("a file of Rust");
        let on = |number: u32| format!("::zten_switch::mutant({number})");
        let text = rewritten.mutated.text;
        for wanted in [
            format!("if {} {{ return 0; }} match n", on(0)),
            format!("(if {} {{ (n) - (TWO) }} else {{ n + TWO }})", on(1)),
            format!("(if {} {{ n }} else {{ !n }})", on(2)),
            format!("1 if !{} && ({} || (n > 0)) =>", on(3), on(4)),
            "const TWO: u8 = 1 + 1;".to_owned(),
        ] {
            assert!(text.contains(&wanted), "{wanted} in {text}");
        }
        let mut switched = rewritten.switched;
        switched.sort_unstable();
        assert_eq!((switched, rewritten.unviable), (vec![0, 1, 2, 3, 4], vec![]));
    }
}
