//! Cases of the corpus about sparse objects.

use crate::cbor::{array, marked, text, uint, uints};
use crate::table::Table;
use crate::v2::{FileV2, coo, csr, part};

pub(super) fn sparse(t: &mut Table) {
    let mut reject = |rule, case: &str, file: FileV2| t.reject_v2(rule, case, file, "csr");
    reject("csr-roles", "lacks", csr().without("w:indptr").mark("w:/parts"));
    reject("csr-roles", "more", csr().set("w:more", part("u8", 4096, 0)).mark("w:/parts"));
    reject("csr-rank", "1", csr().bad("w:/shape", uints(&[6])));
    reject("index-dtype", "signed", csr().bad("w:indices/dtype", text("i32")));
    reject("index-dtype", "differ", {
        csr().set("w:indptr/blob", uints(&[12288, 24])).bad("w:indptr/dtype", text("u64"))
    });
    reject("index-type", "indices", csr().bad("w:indices/type", text("x")));
    reject(
        "csr-indptr-size",
        "rows",
        csr().set("w:/shape", uints(&[3, 3])).mark_length_of("w:indptr"),
    );
    let blob = |offset, length| array(vec![uint(offset), marked(uint(length))]);
    reject("csr-nnz", "indices", csr().set("w:indices/blob", blob(8192, 8)));
    reject("whole-elements", "indices", csr().set("w:indices/blob", blob(8192, 11)));
    reject("whole-elements", "values", csr().set("w:values/blob", blob(4096, 11)));
    let huge = array(vec![uint(u64::MAX), uint(0)]);
    reject("sparse-overflow", "rows", csr().bad("w:/shape", huge));
    let mut reject = |rule, case: &str, file: FileV2| t.reject_v2(rule, case, file, "coo");
    reject("coo-roles", "lacks", coo().without("w:coords").mark("w:/parts"));
    reject("coo-roles", "more", coo().set("w:more", part("u8", 4096, 0)).mark("w:/parts"));
    reject("coo-rank", "0", coo().bad("w:/shape", uints(&[])));
    reject("whole-elements", "coo-values", coo().set("w:values/blob", blob(4096, 7)));
    reject("whole-elements", "coo-coords", coo().set("w:coords/blob", blob(8192, 15)));
    reject("coo-nnz", "coords", coo().set("w:coords/blob", blob(8192, 12)));
}
