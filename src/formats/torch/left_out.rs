//! The values of a checkpoint that are left out of the archive, because they are neither tensors nor attributes that zten can
//! represent. They are counted by kind.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{Display, Write as _};

use crate::escape::Short;
use crate::formats::error::{FormatError, copied};
use crate::formats::rules::Rule;

use super::pickle::Dropped;

/// The number of kinds that are counted separately. Values of all other kinds share one count, so that a file with many kinds
/// costs no more time and memory.
const MOST: usize = 16;

/// The number of bytes that the names of values take in memory before no further names are kept. A name repeats the keys of all
/// dictionaries around its value, so names could otherwise take much more memory than the pickle. Further values are only counted.
const MOST_NAME_BYTES: usize = 1 << 20;

/// Counts, by kind, of the values of a checkpoint that are left out because zten cannot represent them.
#[derive(Default)]
pub(super) struct LeftOut {
    /// The counts of the first [`MOST`] kinds.
    kinds: Vec<LeftOutKind>,
    /// The number of values whose kind is not among the first [`MOST`] kinds.
    others: u64,
    /// The names of the values, shortened, each with its kind, for programs that list them. Names are kept until they take
    /// [`MOST_NAME_BYTES`] bytes.
    names: Vec<String>,
    /// The number of bytes that `names` take.
    name_bytes: usize,
}

/// The number of values of one kind that are left out, and the name of the first of them.
struct LeftOutKind {
    /// The kind, such as the name of a class.
    what: String,
    /// The number of values of this kind that are left out of the archive.
    count: u64,
    /// The name of the first value.
    first: String,
}

impl LeftOut {
    /// Returns whether no value has been added, so that none is left out.
    pub(super) fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// Counts the value called `name`, which is of the kind `what`.
    pub(super) fn add(&mut self, what: impl Display, name: &str) -> Result<(), FormatError> {
        let what = copied(what)?;
        if self.name_bytes < MOST_NAME_BYTES {
            let named = copied(format_args!("{} ({what})", Short(name)))?;
            let bytes = named.len().saturating_add(size_of::<String>());
            self.name_bytes = self.name_bytes.saturating_add(bytes);
            self.names.try_reserve(1).map_err(|_| FormatError::memory())?;
            self.names.push(named);
        }
        if let Some(known) = self.kinds.iter_mut().find(|known| known.what == what) {
            known.count = known.count.saturating_add(1);
        } else if self.kinds.len() < MOST {
            self.kinds.try_reserve(1).map_err(|_| FormatError::memory())?;
            let first = copied(Short(name))?;
            self.kinds.push(LeftOutKind { what, count: 1, first });
        } else {
            self.others = self.others.saturating_add(1);
        }
        Ok(())
    }

    /// Removes and returns the names of the values, each with its kind.
    pub(super) fn take_names(&mut self) -> Vec<String> {
        core::mem::take(&mut self.names)
    }

    /// Returns the note with the number of values of each kind that are left out and the name of the first of them, and with
    /// the numbers of hooks, states and attributes that the machine has `dropped`. Returns `None` if nothing was left out or
    /// dropped.
    pub(super) fn note(&self, dropped: Dropped) -> Result<Option<FormatError>, FormatError> {
        let mut sentence = List(String::new());
        for LeftOutKind { what, count, first } in &self.kinds {
            match count {
                1 => sentence.add(format_args!("{first} ({what})"))?,
                _ => sentence.add(format_args!("{count} values ({what}), the first is {first}"))?,
            }
        }
        let parts = [
            (self.others, "", ["value of a further kind", "values of further kinds"]),
            (dropped.hooks, "the hooks of ", ["tensor", "tensors"]),
            (dropped.states, "the attributes of ", ["tensor", "tensors"]),
            (dropped.attributes, "the attributes of ", ["dictionary", "dictionaries"]),
        ];
        for (count, what, [one, many]) in parts.into_iter().filter(|(count, ..)| *count > 0) {
            let noun = if count == 1 { one } else { many };
            sentence.add(format_args!("{what}{count} {noun}"))?;
        }
        if sentence.0.is_empty() {
            return Ok(None);
        }
        let sentence = format_args!("left out: {}", sentence.0);
        Ok(Some(FormatError::violation(Rule::TorchLeftOut, sentence)))
    }
}

/// The text of a list of items, which are separated by semicolons.
struct List(String);

impl List {
    /// Appends `item` to the text.
    fn add(&mut self, item: core::fmt::Arguments<'_>) -> Result<(), FormatError> {
        let item = copied(item)?;
        self.0.try_reserve(item.len().saturating_add(2)).map_err(|_| FormatError::memory())?;
        let separator = if self.0.is_empty() { "" } else { "; " };
        write!(self.0, "{separator}{item}").map_err(|_| FormatError::memory())
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    /// Checks that a name uses up the memory of what is kept of it, so that one long name does not exhaust the memory for
    /// all names.
    #[test]
    fn names_are_kept_up_to_a_number_of_bytes() {
        let mut left_out = LeftOut::default();
        left_out.add("lib.Class", &"a".repeat(2 * MOST_NAME_BYTES)).unwrap();
        for number in 0..100_000_u32 {
            left_out.add("lib.Class", &number.to_string()).unwrap();
        }
        let names = left_out.take_names();
        assert_eq!(names.get(1).map(String::as_str), Some("\"0\" (lib.Class)"));
        let bytes: usize = names.iter().map(|name| name.len() + size_of::<String>()).sum();
        assert!((MOST_NAME_BYTES..MOST_NAME_BYTES + 100).contains(&bytes), "{bytes}");
        let note = left_out.note(Dropped::default()).unwrap().unwrap();
        let note = crate::error::Error::from(note).to_string();
        assert!(note.contains("100001 values (lib.Class)"), "{note}");
    }
}
