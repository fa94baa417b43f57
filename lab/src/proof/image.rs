//! Linked images: which function calls which.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget, SymbolKind};
use wasmparser::{KnownCustom, Name, Operator, Parser, Payload, TypeRef};

/// The functions of an image by name, with the functions that each calls directly, or in an ELF image also refers to.
pub type Calls = BTreeMap<String, BTreeSet<String>>;

/// Returns a name without hashes and crate ids, which depend on the compiler.
fn plain(name: &str) -> String {
    let name = format!("{:#}", rustc_demangle::demangle(name));
    // The newer mangling gives names such as `core[0123456789abcdef]::fmt`, with the id of the crate in brackets.
    let mut parts = name.split('[');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| match part.split_once(']') {
        Some((id, rest)) if id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            plain + rest
        }
        _ => plain + "[" + part,
    })
}

/// Parses an image of either kind.
///
/// # Errors
/// The bytes are not an image.
pub fn calls(image: &[u8]) -> Result<Calls, Box<dyn Error>> {
    if Parser::is_core_wasm(image) { wasm(image) } else { elf(image) }
}

/// Parses an ELF image that was linked with `--emit-relocs`.
fn elf(image: &[u8]) -> Result<Calls, Box<dyn Error>> {
    let image = object::File::parse(image)?;
    // The lowest bit of an address only says that the function has Thumb instructions, so it is cleared.
    let functions: BTreeMap<u64, (u64, String)> = image
        .symbols()
        .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0)
        .map(|symbol| Ok((symbol.address() & !1, (symbol.size(), plain(symbol.name()?)))))
        .collect::<Result<_, object::Error>>()?;
    let at = |address: u64| {
        let (start, (size, name)) = functions.range(..=address).next_back()?;
        (address < start + size).then_some(name)
    };
    let mut calls: Calls =
        functions.values().map(|(_, name)| (name.clone(), BTreeSet::new())).collect();
    for (address, relocation) in image.sections().flat_map(|section| section.relocations()) {
        let RelocationTarget::Symbol(index) = relocation.target() else { continue };
        let target = image.symbol_by_index(index)?;
        let (Some(from), Some(to)) = (at(address), at(target.address() & !1)) else {
            continue;
        };
        if target.kind() == SymbolKind::Text {
            calls.entry(from.clone()).or_default().insert(to.clone());
        }
    }
    Ok(calls)
}

/// Parses a WebAssembly module with names.
fn wasm(image: &[u8]) -> Result<Calls, Box<dyn Error>> {
    let mut imported = 0;
    let mut names = BTreeMap::new();
    let mut bodies = Vec::new();
    for payload in Parser::new(0).parse_all(image) {
        match payload? {
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    imported += u32::from(matches!(import?.ty, TypeRef::Func(_)));
                }
            }
            Payload::CodeSectionEntry(body) => bodies.push(body),
            Payload::CustomSection(section) => {
                if let KnownCustom::Name(section) = section.as_known() {
                    for part in section {
                        let Name::Function(functions) = part? else { continue };
                        for naming in functions {
                            let naming = naming?;
                            names.insert(naming.index, plain(naming.name));
                        }
                    }
                }
            }
            _ => {}
        }
    }
    let name = |index: u32| names.get(&index).cloned().unwrap_or_else(|| format!("#{index}"));
    let mut calls = Calls::new();
    for (index, body) in (imported..).zip(bodies) {
        let own = calls.entry(name(index)).or_default();
        for operator in body.get_operators_reader()? {
            if let Operator::Call { function_index } | Operator::ReturnCall { function_index } =
                operator?
            {
                own.insert(name(function_index));
            }
        }
    }
    Ok(calls)
}
