//! Cases of the corpus about the profiles that have attributes.

use crate::cbor::{array, fields, raw, text, uint, uints};
use crate::table::Table;
use crate::v2::{FileV2, gguf, mx, part, quant_group, typed};

pub(super) fn profiles(t: &mut Table) {
    of_mx(t);
    of_quant_group(t);
    types_of_codes(t);
    scales_and_zeros(t);
    of_gguf(t);
}

/// Returns a file with a `zt.mx/1` object of shape `[4, 3]` whose blocks of `i8` lie along the first axis.
fn mx_along_the_first() -> FileV2 {
    mx().set("w:/shape", uints(&[4, 3]))
        .set("w:/attributes/axis", uint(0))
        .set("w:data", part("i8", 4096, 12))
        .set("w:scales/blob", uints(&[8192, 6]))
        .blob(4096, &[1, 2, 3, 4, 5, 6, 255, 254, 253, 128, 127, 0])
        .blob(8192, &[0x7f, 0x80, 0x81, 0x7e, 0xff, 0x00])
}

/// Returns a file with a `zt.mx/1` object of three 4-bit elements in one block, whose last byte is `last`.
fn mx_odd(last: u8) -> FileV2 {
    mx().set("w:/shape", uints(&[3]))
        .set("w:/attributes/block_size", uint(3))
        .set("w:data/blob", uints(&[4096, 2]))
        .set("w:scales/blob", uints(&[8192, 1]))
        .blob(4096, &[0x21, last])
}

fn of_mx(t: &mut Table) {
    t.accept_v2("mx", mx());
    t.accept_v2("mx-along-the-first", mx_along_the_first());
    t.accept_v2("mx-odd", mx_odd(3));
    t.reject_v2("nibble-value", "mx", mx_odd(0x13).at_data(4097, 0, 0), "mx-odd");
    t.accept_v2("mx-other-attributes", mx().set("w:/attributes/more", uint(1)));
    for (case, logical) in [("e4m3fn", "f8_e4m3fn"), ("e5m2", "f8_e5m2")] {
        let bytes: Vec<u8> = (0_u8..8).map(|n| n.wrapping_mul(37)).collect();
        let file = mx().set("w:data", typed("u8", logical, 4096, 8)).blob(4096, &bytes);
        t.accept_v2(&format!("mx-{case}"), file);
    }
    let none = mx().set("w:/shape", uints(&[1 << 40, 1 << 40, 0]));
    let none = none.set("w:data/blob", uints(&[4096, 0])).set("w:scales/blob", uints(&[4096, 0]));
    t.accept_v2("mx-no-elements", none);
    let mut reject = |rule, case: &str, file| t.reject_v2(rule, case, file, "mx");
    reject("attribute-missing", "mx", mx().lacks("w:/attributes"));
    reject("attribute-missing", "block-size", mx().lacks("w:/attributes/block_size"));
    reject("attribute-missing", "scale-form", mx().lacks("w:/attributes/scale_form"));
    reject("attribute-type", "axis", mx().bad("w:/attributes/axis", raw(&[0x20])));
    reject("attribute-type", "block-size", mx().bad("w:/attributes/block_size", text("2")));
    reject("attribute-type", "scale-form", mx().bad("w:/attributes/scale_form", uint(0)));
    reject("attribute-axis", "2", mx().bad("w:/attributes/axis", uint(2)));
    reject("attribute-axis", "scalar", mx().bad("w:/shape", uints(&[])));
    reject("scale-form", "other", mx().bad("w:/attributes/scale_form", text("f32_factors")));
    for size in [0, 1, 3, 8] {
        let file = mx().bad("w:/attributes/block_size", uint(size));
        reject("mx-block-size", &size.to_string(), file);
    }
    reject("profile-roles", "mx-lacks", mx().without("w:scales").mark("w:/parts"));
    reject("profile-roles", "mx-more", mx().set("w:zeros", part("u8", 4096, 0)).mark("w:/parts"));
    for (case, logical) in [("fnuz", "f8_e4m3fnuz"), ("scale", "f8_e8m0")] {
        reject("profile-dtype", &format!("mx-{case}"), mx().bad("w:data/type", text(logical)));
    }
    reject("profile-dtype", "mx-bytes", mx().without("w:data/type").mark("w:data/dtype"));
    let wide = mx().set("w:data", part("f32", 4096, 4)).mark("w:data/dtype");
    reject("profile-dtype", "mx-f32", wide);
    reject("profile-dtype", "mx-scales", mx().without("w:scales/type").mark("w:scales/dtype"));
    let of = |part: &str, file: FileV2, length| {
        file.set(&format!("{part}/blob/#1"), uint(length)).mark_length_of(part)
    };
    reject("profile-size", "mx-data", of("w:data", mx(), 3));
    reject("profile-size", "mx-scales", of("w:scales", mx(), 2));
    // If the type of `data` is unknown, its dtype and size are not checked. The scales have a known type, so their
    // dtype and size are.
    let near = "mx-of-an-unknown-type";
    let later = || mx().set("w:data/type", text("later"));
    t.opens_only_v2(near, later(), "unsupported-type");
    let short = later().set("w:data/blob/#1", uint(3)).set("w:data/dtype", text("i8"));
    t.opens_only_v2("mx-of-an-unknown-size", short, "unsupported-type");
    let mut reject = |rule, case: &str, file| t.reject_v2(rule, case, file, near);
    reject("profile-size", "mx-behind-a-type", of("w:scales", later(), 2));
    reject("profile-dtype", "mx-behind-a-type", later().bad("w:scales/type", text("later")));
    reject("mx-block-size", "of-a-type", later().bad("w:/attributes/block_size", uint(3)));
}

fn of_quant_group(t: &mut Table) {
    let file = quant_group;
    t.accept_v2("quant-group", file());
    let at = |field: &str| format!("w:/attributes/{field}");
    let mut reject = |rule, case: &str, file| t.reject_v2(rule, case, file, "quant-group");
    for (case, field) in [
        ("quant-axis", "axis"),
        ("quant-bits", "bits"),
        ("quant-packing", "packing"),
        ("quant-word", "packing/word"),
        ("quant-order", "packing/order"),
        ("quant-per-word", "packing/per_word"),
        ("quant-group-size", "group_size"),
        ("quant-scale-form", "scale_form"),
        ("quant-zero-point", "zero_point"),
        ("quant-form", "zero_point/form"),
        ("quant-zeros", "zero_point/packing"),
    ] {
        reject("attribute-missing", case, file().lacks(&at(field)));
    }
    let implied = fields([("form", text("implied"))]);
    reject("attribute-missing", "quant-value", file().bad(&at("zero_point"), implied));
    for (case, field, value) in [
        ("quant-axis", "axis", text("0")),
        ("quant-packing", "packing", array(vec![])),
        ("quant-word", "packing/word", uint(8)),
        ("quant-per-word", "packing/per_word", raw(&[0x20])),
        ("quant-zero-point", "zero_point", text("none")),
        ("quant-zeros", "zero_point/packing", uint(0)),
    ] {
        reject("attribute-type", case, file().bad(&at(field), value));
    }
    reject("attribute-axis", "quant", file().bad(&at("axis"), uint(2)));
    for bits in [0, 1, 3, 5, 7, 16] {
        reject("quant-bits", &bits.to_string(), file().bad(&at("bits"), uint(bits)));
    }
    reject("quant-packing", "word", file().bad(&at("packing/word"), text("i8")));
    reject("quant-packing", "order", file().bad(&at("packing/order"), text("LSB")));
    reject("quant-packing", "per-word", file().bad(&at("packing/per_word"), uint(1)));
    reject("quant-group-size", "3", file().bad(&at("group_size"), uint(3)));
    reject("quant-group-size", "8", file().bad(&at("group_size"), uint(8)));
    reject("scale-form", "quant", file().bad(&at("scale_form"), text("f64_factors")));
    reject("quant-zero-point", "form", file().bad(&at("zero_point/form"), text("x")));
    reject("quant-zero-point", "packing", file().bad(&at("zero_point/packing"), text("x")));
    reject("profile-roles", "quant-lacks", file().without("w:scales").mark("w:/parts"));
    reject("profile-roles", "quant-zeros", file().without("w:zeros").mark("w:/parts"));
    let none = file().set(&at("zero_point/form"), text("none")).mark("w:/parts");
    reject("profile-roles", "quant-no-zeros", none);
    reject("profile-dtype", "quant-data", file().bad("w:data/dtype", text("u16")));
    reject("profile-dtype", "quant-scales", file().bad("w:scales/dtype", text("i16")));
    let wide = file().set("w:scales/blob/#1", uint(16)).blob(12288, &[0; 16]);
    reject("profile-dtype", "quant-wide-scales", wide.bad("w:scales/dtype", text("f32")));
    let factors = file().set(&at("scale_form"), text("f32_factors"));
    reject("profile-dtype", "quant-scales-of-f32", factors.bad("w:scales/dtype", text("i16")));
    reject("profile-dtype", "quant-zeros", file().bad("w:zeros/dtype", text("f16")));
    let length = |part: &str, length| {
        file().set(&format!("{part}/blob/#1"), uint(length)).mark_length_of(part)
    };
    reject("profile-size", "quant-data", length("w:data", 8));
    reject("profile-size", "quant-scales", length("w:scales", 16));
    reject("profile-size", "quant-zeros", length("w:zeros", 4));
    let odd = file().set("w:/shape", uints(&[2, 1])).set("w:data/blob", uints(&[4096, 1]));
    let odd = odd.set("w:scales/blob", uints(&[12288, 2]));
    // The object needs one scale and half a word of zero points, but a part can only have whole words.
    reject("profile-size", "quant-half-a-word", odd.mark_length_of("w:zeros"));
}

/// Adds cases about parts of `zt.quant_group/1` with a `type`, which its profile does not define.
fn types_of_codes(t: &mut Table) {
    let typed = |part: &str, name: &str| quant_group().set(&format!("{part}/type"), text(name));
    let near = "quant-typed";
    t.opens_only_v2(near, typed("w:data", "f8_e5m2"), "unsupported-type");
    t.opens_only_v2("quant-of-an-unknown-type", typed("w:data", "later"), "unsupported-type");
    t.opens_only_v2("quant-zeros-typed", typed("w:zeros", "f8_e4m3fn"), "unsupported-type");
    // If the type of the scales is unknown, neither their number of bytes nor the number of zero points can be
    // checked.
    let scales = typed("w:scales", "later").set("w:scales/blob/#1", uint(4));
    t.opens_only_v2("quant-scales-typed", scales, "unsupported-type");
    let mut reject = |rule, case: &str, file| t.reject_v2(rule, case, file, near);
    let wide = typed("w:data", "later").set("w:data/dtype", text("u16")).mark("w:data/type");
    reject("profile-dtype", "quant-typed", wide);
    let halves = typed("w:scales", "later").set("w:scales/dtype", text("i16"));
    reject("profile-dtype", "quant-typed-scales", halves.mark("w:scales/type"));
    let long = typed("w:data", "f8_e5m2").set("w:data/blob/#1", uint(8));
    reject("profile-size", "quant-typed", long.mark_length_of("w:data"));
    let bools = typed("w:data", "bool").at_data(4096, 0, 0);
    reject("bool-value", "quant-typed", bools);
}

/// Adds cases about the parts that the words of the packing, the forms of scales and zero points, and the group size require, and
/// about fields that a form does not use.
fn scales_and_zeros(t: &mut Table) {
    let at = |field: &str| format!("w:/attributes/{field}");
    let words = |word, codes| {
        let file = quant_group().set(&at("packing/word"), text(word));
        file.set(&at("packing/per_word"), uint(codes))
    };
    let two = words("u16", 4).set("w:data", part("u16", 4096, 4));
    t.accept_v2("quant-words-of-2", two.set("w:zeros", part("u16", 8192, 2)));
    let eight =
        words("u64", 16).set("w:data", part("u64", 4096, 8)).set("w:/shape", uints(&[16, 1]));
    let eight = eight.set("w:scales", part("f16", 12288, 16)).without("w:zeros");
    let eight = eight.set(&at("zero_point/form"), text("none"));
    t.accept_v2("quant-words-of-8", eight.blob(12288, &[0; 16]));
    let plain =
        |zeros| quant_group().set("w:zeros", zeros).set(&at("zero_point/packing"), text("plain"));
    t.accept_v2("quant-plain", plain(part("f16", 8192, 8)).blob(8192, &[0; 8]));
    t.reject_v2(
        "profile-size",
        "quant-plain",
        plain(part("f16", 8192, 2)).mark_length_of("w:zeros"),
        "quant-plain",
    );
    let e8m0 = typed("u8", "f8_e8m0", 12288, 4);
    let exponents =
        quant_group().set(&at("scale_form"), text("e8m0_exponent")).set("w:scales", e8m0);
    t.accept_v2("quant-exponents", exponents.clone());
    let untyped = exponents.without("w:scales/type").mark("w:scales/dtype");
    t.reject_v2("profile-dtype", "quant-exponents", untyped, "quant-exponents");
    let later = quant_group().set(&at("scale_form"), text("e8m0_exponent"));
    let later = later.set("w:scales", typed("u8", "later", 12288, 4)).mark("w:scales/type");
    t.reject_v2("profile-dtype", "quant-exponents-typed", later, "quant-exponents");
    let without = |point| quant_group().without("w:zeros").set(&at("zero_point"), point);
    let implied = fields([("form", text("implied")), ("value", raw(&[0x27]))]);
    t.accept_v2("quant-implied", without(implied));
    let value = fields([("form", text("implied")), ("value", text("8"))]);
    let value = without(value).mark(&at("zero_point/value"));
    t.reject_v2("attribute-type", "quant-value", value, "quant-implied");
    // A field of the zero point that its form does not use is not validated.
    let point = |form, value, packing| {
        fields([("form", text(form)), ("value", value), ("packing", packing)])
    };
    t.accept_v2("quant-none-and-more", without(point("none", text("8"), array(vec![]))));
    t.accept_v2("quant-implied-and-more", without(point("implied", uint(8), text("x"))));
    let tensor = point("tensor", raw(&[0xf6]), text("same_as_data"));
    t.accept_v2("quant-tensor-and-more", quant_group().set(&at("zero_point"), tensor));
    let symmetric = || without(fields([("form", text("none"))]));
    t.accept_v2("quant-symmetric", symmetric());
    t.accept_v2("quant-signed", quant_group().set("w:data/dtype", text("i8")));
    // The group size 0 means one scale for each of the two columns, or one for each of the eight elements.
    let whole = |bytes| {
        symmetric()
            .set(&at("group_size"), uint(0))
            .set("w:scales/blob", uints(&[12288, bytes]))
            .blob(12288, &[0; 16])
    };
    t.accept_v2("quant-whole-axis", whole(4));
    t.accept_v2("quant-whole-axis-by-size", whole(16));
    t.reject_v2(
        "profile-size",
        "quant-whole-axis",
        whole(8).mark_length_of("w:scales"),
        "quant-whole-axis",
    );
    let none = quant_group().set("w:/shape", uints(&[0, 1 << 40, 1 << 40]));
    let none = ["w:data", "w:zeros", "w:scales"]
        .iter()
        .fold(none, |file, part| file.set(&format!("{part}/blob"), uints(&[4096, 0])));
    t.accept_v2("quant-no-elements", none);
}

fn of_gguf(t: &mut Table) {
    t.accept_v2("gguf", gguf());
    let other = gguf().set("w:/layout", text("gguf.other/1"));
    t.opens_only_v2("unsupported-format--v2-gguf", other, "unsupported-format");
    let mut reject = |rule, case: &str, file| t.reject_v2(rule, case, file, "gguf");
    reject("attribute-missing", "gguf", gguf().lacks("w:/attributes/block_bytes"));
    reject("attribute-missing", "gguf-elements", gguf().lacks("w:/attributes/elems_per_block"));
    reject("attribute-type", "gguf", gguf().bad("w:/attributes/block_bytes", text("34")));
    reject("gguf-block", "no-elements", gguf().bad("w:/attributes/elems_per_block", uint(0)));
    reject("gguf-block", "48", gguf().bad("w:/attributes/elems_per_block", uint(48)));
    reject("gguf-block", "no-bytes", gguf().bad("w:/attributes/block_bytes", uint(0)));
    reject("profile-roles", "gguf", gguf().set("w:more", part("u8", 4096, 0)).mark("w:/parts"));
    reject("profile-dtype", "gguf", gguf().bad("w:data/dtype", text("i8")));
    reject("profile-dtype", "gguf-typed", gguf().bad("w:data/type", text("bool")));
    let length = gguf().set("w:data/blob/#1", uint(34)).mark_length();
    reject("profile-size", "gguf", length);
    let huge = gguf().set("w:/attributes/block_bytes", uint(1 << 63)).mark_length();
    reject("profile-size", "gguf-overflow", huge);
}
