//! Sizes in bytes as texts with a unit: formatting for people, and parsing.

/// Formats `bytes` for people, with a binary unit and at most four digits: `512 B`, `1.5 KiB`, `1023 MiB`.
pub fn human(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut text = String::new();
    let mut bits = 0;
    for name in UNITS {
        bits += 10;
        // The size in tenths of this unit, rounded to the nearest.
        let tenths = (u128::from(bytes) * 10 + (1 << (bits - 1))) >> bits;
        let tenths = u64::try_from(tenths).unwrap_or(u64::MAX);
        let (whole, tenth) = (tenths / 10, tenths % 10);
        if whole < 1000 {
            return format!("{whole}.{tenth} {name}");
        }
        let whole = if tenth < 5 { whole } else { whole + 1 };
        text = format!("{whole} {name}");
        if whole < 1024 {
            break;
        }
    }
    text
}

/// The units of sizes that [`parse`] accepts, in upper case, each with its number of bytes. The units `K`, `M`, `G` and `T` are
/// binary, because limits and memory usually are powers of two.
const UNITS: [(&str, u64); 14] = [
    ("", 1),
    ("B", 1),
    ("K", 1 << 10),
    ("KB", 1_000),
    ("KIB", 1 << 10),
    ("M", 1 << 20),
    ("MB", 1_000_000),
    ("MIB", 1 << 20),
    ("G", 1 << 30),
    ("GB", 1_000_000_000),
    ("GIB", 1 << 30),
    ("T", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("TIB", 1 << 40),
];

/// Parses a size: a whole number with an optional unit in upper or lower case. `5GB` is 5,000,000,000 bytes, and `8GiB` and `8G`
/// are 8 times 2^30 bytes.
///
/// # Errors
/// `text` has another form, or the number of bytes exceeds 64 bits. The sentence says what is expected.
pub fn parse(text: &str) -> Result<u64, String> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let scale = UNITS.iter().find(|(name, _)| unit.eq_ignore_ascii_case(name));
    let bytes = scale.and_then(|(_, scale)| digits.parse::<u64>().ok()?.checked_mul(*scale));
    bytes.ok_or_else(|| {
        format!(
            "invalid size {text:?}: expected a number of bytes, optionally with KB, MB, GB or TB (decimal), or KiB, MiB, GiB, TiB, K, M, G or T (binary), and less than 2^64 bytes in all"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_text() {
        let sizes = [
            ("0", 0),
            ("3K", 3 << 10),
            ("3MiB", 3 << 20),
            ("16G", 16 << 30),
            ("5GB", 5_000_000_000),
            ("8gib", 8 << 30),
            ("1T", 1 << 40),
            ("12B", 12),
            ("2tb", 2_000_000_000_000),
        ];
        for (text, bytes) in sizes {
            assert_eq!(parse(text), Ok(bytes));
        }
        for wrong in ["", "K", "-1", "+1", "1.5G", "1 G", "1P", "1KK", "17179869184G"] {
            assert!(parse(wrong).unwrap_err().starts_with("invalid size"), "{wrong}");
        }
    }

    #[test]
    fn sizes() {
        let sizes = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            ((1 << 20) - 1, "1.0 MiB"),
            ((1 << 20) - 600, "1023 KiB"),
            (1000 << 10, "1000 KiB"),
            ((1000 << 10) - 52, "999.9 KiB"),
            (4 << 30, "4.0 GiB"),
            (u64::MAX, "16.0 EiB"),
        ];
        for (bytes, text) in sizes {
            assert_eq!(human(bytes), text);
        }
    }
}
