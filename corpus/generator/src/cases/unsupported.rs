//! Cases of the corpus about objects that open and are listed, but cannot be interpreted.

use crate::base::{NONE, dense, dense_v0, object, v1};
use crate::cbor::{text, uint, uints};
use crate::file::File;
use crate::table::Table;

pub(crate) fn cases(t: &mut Table) {
    formats(t);
    entries(t);
}

/// Adds cases about formats whose components can be read one by one.
fn formats(t: &mut Table) {
    for (case, format) in [
        ("unknown", "block_sparse"),
        ("other-case", "Dense"),
        ("empty", ""),
        ("nul-after", "dense\0"),
    ] {
        let file = dense("1.2.0").set("w:/format", text(format));
        t.accept(format!("unsupported-format--v12-{case}"), file);
    }
    let none = object(&[2, 2], "x", NONE);
    t.accept("unsupported-format--v12-no-components", v1("1.2.0", vec![("w", none)]));
    t.accept("unsupported-format--v11-unknown", dense("1.1.0").set("w:/format", text("ragged")));
}

/// Adds cases about 0.1 entries that zten cannot read.
fn entries(t: &mut Table) {
    let entry = |field: &str, value: &str| dense_v0().set(&format!("#0/{field}"), text(value));
    for (case, value) in
        [("unknown", "float8"), ("v12-name", "f32"), ("other-case", "Float32"), ("empty", "")]
    {
        opens(t, "unsupported-dtype", case, entry("dtype", value));
    }
    for (case, value) in [("unknown", "lz4"), ("other-case", "RAW"), ("empty", "")] {
        opens(t, "unsupported-encoding", case, entry("encoding", value));
    }
    for value in ["sparse", "sparsecsr", "sparsecoo", "blocked", "Dense"] {
        opens(t, "unsupported-layout", value, entry("layout", value));
    }
    let format = entry("layout", "sparse").set("#0/sparse_format", text("csr"));
    opens(t, "unsupported-layout", "sparse-with-format", format);
    // If the layout or the dtype of an entry is unknown, its size is not validated.
    let size = entry("layout", "sparse").set("#0/size", uint(15));
    opens(t, "unsupported-layout", "any-size", size);
    let size = entry("dtype", "float8").set("#0/shape", uints(&[7]));
    opens(t, "unsupported-dtype", "any-size", size);
}

/// Accepts a 0.1 file whose content cannot be read because of `why`.
fn opens(t: &mut Table, why: &'static str, case: &str, file: File) {
    t.opens_only(format!("{why}--v01-{case}"), file, why);
}
