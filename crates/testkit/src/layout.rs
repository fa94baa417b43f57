//! How the modules of a crate lie on each other: which uses which, and where they form a circle.
//!
//! A module is a file. It uses another one if a path in it leads to an item that the other one
//! *defines*: re-exports are followed to where the item is, so a facade is no dependency,
//! neither up nor down. Naming a module, or declaring it, is no use; calling a method is none
//! either, as no path leads there. What is compiled for tests alone does not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Modules by their paths below the root, `cat::print`, which is `crate`; and whose items each
/// of them uses, itself left out.
pub type Uses = BTreeMap<String, BTreeSet<String>>;

/// The root of a crate, as [`Uses`] spells it.
pub const ROOT: &str = "crate";

/// Reads the modules of the crate whose root is that file, as their declarations lead from one to
/// the next.
pub fn uses(root: &Path) -> Uses {
    let mut sources = Sources::default();
    sources.read(&Segments::new(), root, &folder(root));
    let mut found = Uses::new();
    for (module, source) in &sources.modules {
        let others = found.entry(spelled(&source.file)).or_default();
        for path in &source.paths {
            others.extend(sources.definers(module, path).iter().map(spelled));
        }
    }
    for (module, others) in &mut found {
        others.remove(module);
    }
    found
}

/// The circles: modules each of which uses all others, directly or through others.
pub fn circles(uses: &Uses) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        uses.keys().map(|module| (module, reach(uses, module))).collect();
    let mut circles = BTreeSet::new();
    for (module, ahead) in &reached {
        let circle: BTreeSet<String> = ahead
            .iter()
            .filter(|other| reached.get(*other).is_some_and(|back| back.contains(module)))
            .map(|other| (*other).clone())
            .collect();
        if !circle.is_empty() {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

/// The same modules, seen from one folder: the children of `parent`, each with all that is below
/// it, and what they use of each other.
pub fn siblings(uses: &Uses, parent: &str) -> Uses {
    let prefix = if parent == ROOT { String::new() } else { format!("{parent}::") };
    let child = |module: &str| {
        let below = module.strip_prefix(&prefix).filter(|_| module != ROOT)?;
        Some(format!("{prefix}{}", below.split("::").next()?))
    };
    let mut folded = Uses::new();
    for (module, used) in uses {
        let Some(own) = child(module) else { continue };
        let others = used.iter().filter_map(|other| child(other)).filter(|other| *other != own);
        folded.entry(own.clone()).or_default().extend(others);
    }
    folded
}

/// All that can be reached from a module, itself only through others.
fn reach<'u>(uses: &'u Uses, module: &str) -> BTreeSet<&'u String> {
    let mut reached = BTreeSet::new();
    let mut ahead: Vec<&String> = uses.get(module).into_iter().flatten().collect();
    while let Some(next) = ahead.pop() {
        if reached.insert(next) {
            ahead.extend(uses.get(next).into_iter().flatten());
        }
    }
    reached
}

/// The names on a path, from the root of the crate on.
type Segments = Vec<String>;

fn spelled(module: &Segments) -> String {
    if module.is_empty() { ROOT.to_owned() } else { module.join("::") }
}

/// One module, or one that stands inline in it.
#[derive(Debug, Default)]
struct Source {
    /// The module whose file it stands in.
    file: Segments,
    /// Modules that are declared in it.
    children: BTreeSet<String>,
    /// Names that `use` brings in, and the paths that they stand for.
    imports: BTreeMap<String, Vec<Segments>>,
    /// What `use …::*` brings in.
    globs: Vec<Segments>,
    /// All paths in it, those of `use` included.
    paths: Vec<Segments>,
}

#[derive(Debug, Default)]
struct Sources {
    modules: BTreeMap<Segments, Source>,
}

/// Where the modules lie that a file declares.
fn folder(file: &Path) -> PathBuf {
    match file.file_stem().and_then(|stem| stem.to_str()) {
        Some("main" | "lib" | "mod") => file.with_file_name(""),
        _ => file.with_extension(""),
    }
}

impl Sources {
    fn read(&mut self, module: &Segments, file: &Path, below: &Path) {
        let text = fs::read_to_string(file)
            .unwrap_or_else(|error| panic!("{} cannot be read: {error}", file.display()));
        let tokens = text
            .parse::<TokenStream>()
            .unwrap_or_else(|error| panic!("{} is not Rust: {error}", file.display()));
        let place = Place { module: module.clone(), file: module.clone(), below: below.to_owned() };
        self.walk(&place, tokens);
    }

    /// Takes the tokens of a module, or of a group in it.
    fn walk(&mut self, place: &Place, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        self.modules.entry(place.module.clone()).or_default().file.clone_from(&place.file);
        let mut attributes = Attributes::default();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token {
                TokenTree::Punct(mark) if mark.as_char() == '#' => {
                    if let Some(TokenTree::Group(group)) = tokens.get(at) {
                        attributes.note(&group.stream());
                    }
                }
                TokenTree::Ident(word) if word == "mod" => {
                    at += self.module(place, &tokens[at..], &attributes);
                    attributes = Attributes::default();
                }
                TokenTree::Ident(word) if word == "use" => {
                    let end = tokens[at..].iter().position(is_semicolon);
                    let tree = &tokens[at..end.map_or(at, |end| at + end)];
                    self.import(place, &Segments::new(), tree);
                    at += tree.len();
                    attributes = Attributes::default();
                }
                TokenTree::Ident(_) => {
                    let path = path(&tokens[at - 1..]);
                    at += path.len().saturating_sub(1) * 3;
                    if path.len() > 1 {
                        self.own(place).paths.push(path);
                    }
                }
                TokenTree::Group(group) => {
                    self.walk(place, group.stream());
                    if group.delimiter() == Delimiter::Brace {
                        attributes = Attributes::default();
                    }
                }
                TokenTree::Punct(mark) if mark.as_char() == ';' => {
                    attributes = Attributes::default();
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }

    fn own(&mut self, place: &Place) -> &mut Source {
        self.modules.entry(place.module.clone()).or_default()
    }

    /// A module, of which the name comes next. How many tokens it takes.
    fn module(&mut self, place: &Place, tokens: &[TokenTree], attributes: &Attributes) -> usize {
        let Some(TokenTree::Ident(name)) = tokens.first() else { return 0 };
        let name = name.to_string();
        let module: Segments = [place.module.as_slice(), std::slice::from_ref(&name)].concat();
        match tokens.get(1) {
            _ if attributes.test => {}
            Some(TokenTree::Group(group)) => {
                self.own(place).children.insert(name.clone());
                let (file, below) = (place.file.clone(), place.below.join(name));
                self.walk(&Place { module, file, below }, group.stream());
            }
            Some(token) if is_semicolon(token) => {
                self.own(place).children.insert(name.clone());
                if let Some(path) = &attributes.path {
                    // It is relative to the folder of the file that declares it.
                    let file = place.below.parent().unwrap_or(&place.below).join(path);
                    self.read(&module, &file, &folder(&file));
                } else {
                    let files = [format!("{name}.rs"), format!("{name}/mod.rs")];
                    let file = files.iter().map(|file| place.below.join(file));
                    let file = file.into_iter().find(|file| file.is_file());
                    let file = file.unwrap_or_else(|| panic!("{} has no file", spelled(&module)));
                    self.read(&module, &file, &folder(&file));
                }
            }
            _ => return 1,
        }
        2
    }

    /// The tree of a `use`, below the path that leads to it.
    fn import(&mut self, place: &Place, before: &[String], tree: &[TokenTree]) {
        for branch in tree.split(is_comma) {
            let mut path = before.to_vec();
            let mut name = None;
            for (at, token) in branch.iter().enumerate() {
                match token {
                    TokenTree::Ident(word) if word == "as" => {
                        name = branch.get(at + 1).map(ToString::to_string);
                        break;
                    }
                    TokenTree::Ident(word) => path.push(word.to_string()),
                    TokenTree::Group(group) => {
                        let tree: Vec<TokenTree> = group.stream().into_iter().collect();
                        self.import(place, &path, &tree);
                        path.clear();
                    }
                    TokenTree::Punct(mark) if mark.as_char() == '*' => {
                        self.own(place).globs.push(path.clone());
                        path.push("*".to_owned());
                    }
                    TokenTree::Punct(_) | TokenTree::Literal(_) => {}
                }
            }
            // `{self}` is what it stands in.
            if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
                path.pop();
            }
            let Some(last) = path.last().cloned() else { continue };
            let source = self.own(place);
            source.imports.entry(name.unwrap_or(last)).or_default().push(path.clone());
            source.paths.push(path);
        }
    }

    /// The modules in whose files the item is defined that a path leads to, from that module.
    fn definers(&self, module: &Segments, path: &[String]) -> BTreeSet<Segments> {
        let mut found = BTreeSet::new();
        let mut seen = BTreeSet::new();
        self.resolve(module, path, &mut found, &mut seen);
        found
    }

    /// Follows a path. `seen` keeps imports that lead to themselves from going on for ever.
    fn resolve(
        &self,
        module: &Segments,
        path: &[String],
        found: &mut BTreeSet<Segments>,
        seen: &mut BTreeSet<(Segments, Segments)>,
    ) {
        if !seen.insert((module.clone(), path.to_vec())) {
            return;
        }
        let Some((first, rest)) = path.split_first() else { return };
        match first.as_str() {
            "crate" => self.within(&Segments::new(), rest, found, seen),
            "self" => self.within(module, rest, found, seen),
            "super" => {
                let parent = module.split_last().map(|(_, parent)| parent.to_vec());
                let parent = parent.unwrap_or_default();
                match rest.first() {
                    Some(next) if next == "super" => self.resolve(&parent, rest, found, seen),
                    _ => self.within(&parent, rest, found, seen),
                }
            }
            name => {
                let source = self.modules.get(module);
                let known = source.is_some_and(|source| {
                    source.children.contains(name)
                        || source.imports.get(name).is_some_and(|imports| {
                            // `use name;` says that `name` is another crate.
                            imports.iter().any(|import| import.as_slice() != [name.to_owned()])
                        })
                });
                if known {
                    self.within(module, path, found, seen);
                }
            }
        }
    }

    /// Follows the rest of a path from the module that it has led to.
    fn within(
        &self,
        module: &Segments,
        rest: &[String],
        found: &mut BTreeSet<Segments>,
        seen: &mut BTreeSet<(Segments, Segments)>,
    ) {
        let Some((name, after)) = rest.split_first() else { return };
        let Some(source) = self.modules.get(module) else { return };
        if source.children.contains(name) {
            let child = [module.as_slice(), std::slice::from_ref(name)].concat();
            return self.within(&child, after, found, seen);
        }
        if let Some(imports) = source.imports.get(name) {
            for import in imports {
                let path = [import.as_slice(), after].concat();
                self.resolve(module, &path, found, seen);
            }
            return;
        }
        found.insert(source.file.clone());
    }
}

/// Where tokens stand.
#[derive(Clone, Debug)]
struct Place {
    module: Segments,
    /// The module whose file it is.
    file: Segments,
    /// Where the files lie of modules that are declared here.
    below: PathBuf,
}

/// What stands before an item.
#[derive(Debug, Default)]
struct Attributes {
    /// Whether it is there for tests alone.
    test: bool,
    /// The file that it names.
    path: Option<String>,
}

impl Attributes {
    fn note(&mut self, attribute: &TokenStream) {
        let text = attribute.to_string();
        let condition = text.replace(' ', "");
        self.test |= condition == "cfg(test)" || condition.starts_with("cfg(all(test,");
        if let Some(path) = text.strip_prefix("path").and_then(|text| text.split('"').nth(1)) {
            self.path = Some(path.to_owned());
        }
    }
}

fn is_semicolon(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(mark) if mark.as_char() == ';')
}

fn is_comma(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(mark) if mark.as_char() == ',')
}

/// The path that begins with the first token, which is a name: each further one stands behind
/// two colons.
fn path(tokens: &[TokenTree]) -> Segments {
    let is_colon = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Punct(mark)) if mark.as_char() == ':');
    let mut path: Segments = tokens.first().into_iter().map(ToString::to_string).collect();
    let mut rest = tokens.get(1..).unwrap_or_default();
    while is_colon(rest.first()) && is_colon(rest.get(1)) {
        let Some(TokenTree::Ident(word)) = rest.get(2) else { break };
        path.push(word.to_string());
        rest = &rest[3..];
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules(files: &[(&str, &str)]) -> Uses {
        let folder = std::env::temp_dir().join(format!("zten-layout-{}", std::process::id()));
        let folder = folder.join(files.len().to_string()).join(files[0].1.len().to_string());
        for (name, text) in files {
            let file = folder.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let uses = uses(&folder.join(files[0].0));
        fs::remove_dir_all(folder).unwrap();
        uses
    }

    fn used(uses: &Uses, module: &str) -> Vec<String> {
        uses[module].iter().cloned().collect()
    }

    #[test]
    fn an_item_is_used_where_it_is_defined() {
        let uses = modules(&[
            ("main.rs", "mod a; mod b; use other::{escape, json}; fn main() { b::run(); }"),
            ("a.rs", "pub use crate::b::{c::C, D}; use crate::escape; fn f() -> crate::json::J {}"),
            ("b.rs", "pub mod c; use c::C; use std::io; pub struct D; impl D { fn f(c: C) {} }"),
            ("b/c.rs", "use super::super::a; /* crate::x::Y */ fn f() { a::C; \"crate::b::D\" }"),
        ]);
        assert_eq!(used(&uses, ROOT), ["b"]);
        assert_eq!(used(&uses, "a"), ["b", "b::c"]);
        assert_eq!(used(&uses, "b"), ["b::c"]);
        assert!(uses["b::c"].is_empty(), "{uses:?}");
        assert!(circles(&uses).is_empty());
        assert_eq!(used(&siblings(&uses, ROOT), "a"), ["b"]);
    }

    #[test]
    fn circles_are_found() {
        let uses = modules(&[
            ("main.rs", "mod a; mod b; mod d;"),
            ("a.rs", "fn f() { vec![crate::b::g()]; }"),
            ("b.rs", "mod c; pub fn g() { c::C.run() } pub struct E;"),
            ("b/c.rs", "use crate::d::{self as e, D}; pub struct C; fn f(_: super::E) { e::h() }"),
            ("d.rs", "#[cfg(test)] mod tests { use crate::a::f; } use crate::a; pub struct D;"),
        ]);
        let circle = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let found: Vec<BTreeSet<String>> = circles(&uses);
        assert_eq!(found, [circle(&["b", "b::c"])]);
        assert!(circles(&siblings(&uses, ROOT)).is_empty());
        let back = modules(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::*;"),
            ("b.rs", "use crate::a::X;"),
        ]);
        assert_eq!(circles(&back), [circle(&["a", "b"])]);
    }

    #[test]
    fn modules_may_name_their_files() {
        let uses = modules(&[
            ("lib.rs", "mod a { pub mod b; fn f() { self::b::g() } } mod c;"),
            ("a/b.rs", "pub fn g() { super::super::c::D; crate::root() }"),
            ("c.rs", "#[path = \"other.rs\"] mod d; pub use d::D;"),
            ("other.rs", "pub struct D;"),
        ]);
        assert_eq!(used(&uses, ROOT), ["a::b"]);
        assert_eq!(used(&uses, "a::b"), ["c::d", ROOT]);
    }
}
