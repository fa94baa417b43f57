//! Replaces the exports and imports that `wasm-bindgen` generates for a wasm module of `zten` by plain ones, which hosts call
//! directly.
//!
//! `wasm-bindgen` makes exports and imports without `unsafe`, together with glue code that serves only one instance. Each file
//! needs an instance of its own, so the hosts (`instance.ts`) call the module directly. This program gives imports back their plain
//! names, in the module `host`, and removes everything that only the glue needs. An import that no host provides is an error here,
//! rather than when a page is opened.
//!
//! If the output is named `.gz`, the module is compressed as densely as gzip allows, and the uncompressed module is written next to
//! it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use wasm_bindgen_cli_support::Bindgen;

/// The functions that the WebAssembly module imports from its JavaScript host.
const IMPORTS: [&str; 3] = ["read_at", "input", "take"];

fn main() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(built), Some(out), None) = (arguments.next(), arguments.next(), arguments.next())
    else {
        bail!("usage: border BUILT OUT");
    };
    let mut output = Bindgen::new()
        .input_path(&built)
        .bundler(true)?
        .typescript(false)
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate_output()
        .with_context(|| built.display().to_string())?;
    let module = output.wasm_mut();
    // The start function fills a table of JavaScript objects. Only the glue code of `wasm-bindgen` uses this table, and the
    // hosts call the module without the glue code, so the start function is removed.
    if let Some(start) = module.start.take() {
        module.funcs.delete(start);
    }
    let glue = module.exports.iter().filter(|export| export.name.starts_with("__"));
    for export in glue.map(walrus::Export::id).collect::<Vec<_>>() {
        module.exports.delete(export);
    }
    walrus::passes::gc::run(module);
    for import in module.imports.iter_mut() {
        import.name = plain(&import.name)?.to_owned();
        "host".clone_into(&mut import.module);
    }
    let wasm = module.emit_wasm();
    let write = |path: &Path, bytes: &[u8]| {
        std::fs::write(path, bytes).with_context(|| path.display().to_string())
    };
    if out.extension().is_none_or(|suffix| suffix != "gz") {
        return write(&out, &wasm);
    }
    let mut packed = Vec::new();
    zopfli::compress(zopfli::Options::default(), zopfli::Format::Gzip, &*wasm, &mut packed)?;
    write(&out, &packed)?;
    write(&out.with_extension(""), &wasm)
}

/// Returns the name `NAME` of an import that `wasm-bindgen` has called `__wbg_NAME_HASH`.
///
/// # Errors
/// `NAME` is not one of [`IMPORTS`].
fn plain(mangled: &str) -> Result<&'static str> {
    let name = mangled.strip_prefix("__wbg_").and_then(|rest| Some(rest.rsplit_once('_')?.0));
    let known = IMPORTS.into_iter().find(|known| name == Some(known));
    known.with_context(|| format!("the module imports {mangled}, which no host provides"))
}
