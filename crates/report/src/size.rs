//! Readable forms of large numbers.

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
        // The number in tenths of the unit, rounded.
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

/// Parses a number of bytes with an optional binary unit.
///
/// # Errors
/// A sentence that says what is expected.
pub fn parse(text: &str) -> Result<u64, String> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let scale = match unit {
        "" => Some(1_u64),
        "K" | "KiB" => Some(1 << 10),
        "M" | "MiB" => Some(1 << 20),
        "G" | "GiB" => Some(1 << 30),
        _ => None,
    };
    let bytes = scale.and_then(|scale| digits.parse::<u64>().ok()?.checked_mul(scale));
    bytes.ok_or_else(|| {
        format!(
            "invalid size {text:?}: expected a number of bytes, optionally with K, M, G, KiB, MiB or GiB"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_text() {
        let sizes = [("0", 0), ("3K", 3 << 10), ("3MiB", 3 << 20), ("16G", 16 << 30)];
        for (text, bytes) in sizes {
            assert_eq!(parse(text), Ok(bytes));
        }
        for wrong in ["", "K", "-1", "+1", "1.5G", "1 G", "1T", "17179869184G"] {
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
