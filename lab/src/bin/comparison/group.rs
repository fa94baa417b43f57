//! The groups of the rules of the catalog, by their subject.

/// Returns the group of a rule, as the headings of the document name it.
pub(crate) fn group(format: &str, rule: &str) -> &'static str {
    if format == "ztensor" { of_ztensor(rule) } else { of_other(rule) }
}

/// Returns the group of a rule of another format than zTensor, by the last words of its id.
fn of_other(rule: &str) -> &'static str {
    let ends = |with: &[&str]| with.iter().any(|with| rule.ends_with(with));
    let of_pickle = ["pickle", "opcode", "global", "call", "persistent-id", "memo", "trailing"];
    if rule.strip_prefix("torch-").is_some_and(|rule| of_pickle.contains(&rule)) {
        "pickle"
    } else if ends(&["-value", "-crc", "-deflate"]) {
        "values"
    } else if ends(&["-duplicate-name", "-duplicate-key", "-name", "-utf8"]) {
        "keys and names"
    } else if ends(&[
        "-extent",
        "-bounds",
        "-contiguous",
        "-overlap",
        "-offset",
        "-size",
        "-length",
        "-shape",
        "-padding",
        "-trailing",
        "-alignment",
        "-count",
    ]) {
        "sizes"
    } else if ends(&["-magic", "-version", "-truncated", "-header", "-json", "-start"])
        || rule.contains("-end-record")
        || rule.contains("-directory")
        || rule.contains("-descriptor")
    {
        "framing"
    } else {
        "schema"
    }
}

fn of_ztensor(rule: &str) -> &'static str {
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
        "values"
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
pub(crate) const GROUPS: [&str; 12] = [
    "framing",
    "CBOR",
    "pickle",
    "keys and names",
    "schema",
    "extents",
    "sizes",
    "layouts",
    "zstd",
    "digests",
    "sparse indices",
    "values",
];

#[cfg(test)]
mod tests {
    use super::{GROUPS, group, of_ztensor};

    #[test]
    fn every_rule_is_in_a_group_and_every_group_has_a_rule() {
        let ours = zten::rules::rows().map(|row| (group("ztensor", row.id()), row.id()));
        let others = zten::formats::rules::rows().map(|row| (group("", row.id()), row.id()));
        let found: Vec<_> = ours.chain(others).collect();
        for (name, rule) in &found {
            assert!(GROUPS.contains(name), "{rule}");
        }
        for name in GROUPS {
            assert!(found.iter().any(|(found, _)| *found == name), "{name}");
        }
    }

    /// Rules that belong to no other group are about fields and their values.
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
        for row in zten::rules::rows().filter(|row| of_ztensor(row.id()) == "schema") {
            let field =
                ends.iter().any(|end| row.id().ends_with(end)) || others.contains(&row.id());
            let asked = row.id().starts_with("unsupported-") || row.id().starts_with("canonical-");
            assert!(field || asked, "{}", row.id());
        }
    }
}
