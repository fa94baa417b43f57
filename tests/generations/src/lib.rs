//! Which generations this package was built with.
//!
//! A package of its own, because other tests need the writer, which brings 1.2 with it:
//! `cargo test -p zten-generations --no-default-features --features v0`.

/// Whether the container of a file belongs to a generation that was compiled in. A file without
/// the magic of any is nothing that a generation could read, and is refused by all alike.
pub fn is_read(file: &[u8]) -> bool {
    match file.get(..8) {
        Some(b"ZTEN0001") => cfg!(feature = "v0"),
        Some(b"ZTEN1000") => cfg!(feature = "v1"),
        _ => true,
    }
}
