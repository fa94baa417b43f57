//! Files that break nothing: who refuses them all is not strict.

use super::{Case, one, two, unknown};

pub(super) fn cases() -> Vec<Case> {
    let valid = |name, header: String| Case::new(name, "", header);
    vec![
        valid("no tensor", "{}".to_owned()),
        valid("a vector", one(r#""U8""#, "[8]", "[0,8]")).data(8),
        valid("a scalar", one(r#""F64""#, "[]", "[0,8]")).data(8),
        valid("an empty tensor", one(r#""F64""#, "[0]", "[0,0]")),
        valid("a huge dimension and none", one(r#""F64""#, "[0,9223372036854775807]", "[0,0]")),
        valid("two tensors", two("[0,8]", "[8,16]")).data(16),
        valid("two tensors, the second first in the header", two("[8,16]", "[0,8]")).data(16),
        valid("metadata", r#"{"__metadata__":{"a":"b"}}"#.to_owned()),
        valid("an unknown field", unknown(1)).data(8),
        valid("a header of exactly 100,000,000 bytes", "{}".to_owned()).spaces(99_999_998),
    ]
}
