//! The names by which users may call dtypes in options and policies, and their names in zTensor.

use zten::DType;

/// The names that other programs use for a dtype, in lower case, each with the name in zTensor. A name that differs from the name
/// in zTensor only in case is not listed, because [`parse`] ignores case.
const ALIASES: [(&str, &str); 37] = [
    ("float64", "f64"),
    ("fp64", "f64"),
    ("double", "f64"),
    ("float32", "f32"),
    ("fp32", "f32"),
    ("float", "f32"),
    ("single", "f32"),
    ("float16", "f16"),
    ("fp16", "f16"),
    ("half", "f16"),
    ("bfloat16", "bf16"),
    ("int64", "i64"),
    ("long", "i64"),
    ("int32", "i32"),
    ("int", "i32"),
    ("int16", "i16"),
    ("short", "i16"),
    ("int8", "i8"),
    ("uint64", "u64"),
    ("uint32", "u32"),
    ("uint16", "u16"),
    ("uint8", "u8"),
    ("byte", "u8"),
    ("boolean", "bool"),
    ("c64", "complex64"),
    ("c128", "complex128"),
    ("f8_e4m3", "f8_e4m3fn"),
    ("fp8_e4m3", "f8_e4m3fn"),
    ("fp8_e5m2", "f8_e5m2"),
    ("float8_e4m3fn", "f8_e4m3fn"),
    ("float8_e5m2", "f8_e5m2"),
    ("float8_e4m3fnuz", "f8_e4m3fnuz"),
    ("float8_e5m2fnuz", "f8_e5m2fnuz"),
    ("float8_e8m0fnu", "f8_e8m0"),
    ("f4", "f4_e2m1"),
    ("fp4", "f4_e2m1"),
    ("float4_e2m1fn", "f4_e2m1"),
];

/// Returns the name in zTensor of the dtype that `name` means: `bf16` for `BF16` and `bfloat16`, `f32` for `fp32`. The case of
/// `name` does not matter. Returns `None` if no dtype has this name.
pub fn parse(name: &str) -> Option<&'static str> {
    let known = DType::ALL.iter().filter(|dtype| **dtype != DType::Unknown).map(|own| own.name());
    let names = known.map(|own| (own, own)).chain(ALIASES);
    names.into_iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, meant)| meant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dtype_has_many_names() {
        for (name, meant) in
            [("BF16", "bf16"), ("bfloat16", "bf16"), ("FP32", "f32"), ("F8_E4M3", "f8_e4m3fn")]
        {
            assert_eq!(parse(name), Some(meant));
        }
        for name in ["", "f33", "unknown", "bf 16"] {
            assert_eq!(parse(name), None);
        }
        for (alias, meant) in ALIASES {
            assert_eq!((parse(alias), parse(meant)), (Some(meant), Some(meant)), "{alias}");
            assert!(DType::ALL.iter().all(|dtype| dtype.name() != alias), "{alias}");
        }
    }
}
