//! What the rules of the catalogue are about.

/// The group of a rule, as the document heads it.
pub(crate) fn group(rule: &str) -> &'static str {
    let starts = |with: &[&str]| with.iter().any(|with| rule.starts_with(with));
    if starts(&[
        "file-",
        "header-",
        "footer-",
        "manifest-",
        "limit-manifest",
        "data-shard",
        "shard-length",
        "shard-frame",
        "limit-shards",
    ]) {
        "framing"
    } else if starts(&["cbor-", "limit-depth"]) {
        "CBOR"
    } else if starts(&["key-", "name-form", "string-chunked", "duplicate-", "limit-keys"]) {
        "keys and names"
    } else if starts(&["blob-"]) {
        "extents"
    } else if starts(&["zstd-", "seek-", "frame-", "decoded-size", "limit-window", "limit-decoded"])
    {
        "zstd"
    } else if rule == "shard-digest" || starts(&["digest-", "unsupported-digest"]) {
        "digests"
    } else if starts(&[
        "csr-indptr-start",
        "csr-indptr-order",
        "csr-indptr-end",
        "csr-index-order",
        "coo-cell-repeated",
        "index-range",
    ]) {
        "sparse indices"
    } else if starts(&["bool-", "nibble-"]) {
        "bools"
    } else if starts(&[
        "shape-overflow",
        "shape-rank",
        "whole-",
        "dense-size",
        "sparse-",
        "limit-rank",
    ]) || rule.ends_with("-nnz")
        || rule.ends_with("-indptr-size")
    {
        "sizes"
    } else if starts(&[
        "dense-",
        "csr-",
        "coo-",
        "quantized-",
        "index-",
        "mx-",
        "quant-",
        "gguf-",
        "profile-",
        "scale-",
        "attribute-axis",
    ]) {
        "layouts"
    } else {
        "schema"
    }
}

/// All groups, in the order of the document.
pub(crate) const GROUPS: [&str; 11] = [
    "framing",
    "CBOR",
    "keys and names",
    "schema",
    "extents",
    "sizes",
    "layouts",
    "zstd",
    "digests",
    "sparse indices",
    "bools",
];

#[cfg(test)]
mod tests {
    use super::{GROUPS, group};

    #[test]
    fn every_rule_is_in_a_group_and_every_group_has_a_rule() {
        for row in zten::rules::rows() {
            assert!(GROUPS.contains(&group(row.id)), "{}", row.id);
        }
        for name in GROUPS {
            assert!(zten::rules::rows().any(|row| group(row.id) == name), "{name}");
        }
    }

    /// What no other group takes is about fields and their values.
    #[test]
    fn the_schema_has_rules_of_fields_only() {
        let ends = ["-type", "-missing", "-unknown", "-syntax", "-value", "-storage", "-raw"];
        let others = [
            "endianness-compressed",
            "decoded-length-alone",
            "components-empty",
            "shard-name",
            "shard-size",
            "shard-reference",
        ];
        for row in zten::rules::rows().filter(|row| group(row.id) == "schema") {
            let field = ends.iter().any(|end| row.id.ends_with(end)) || others.contains(&row.id);
            let asked = row.id.starts_with("unsupported-") || row.id.starts_with("canonical-");
            assert!(field || asked, "{}", row.id);
        }
    }
}
