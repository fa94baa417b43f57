//! Text that is put into a file, and whose it is.

use std::ops::Range;

/// A mutant's number.
pub(crate) type Number = u32;

/// What is put into a file. Nothing is taken out of it.
#[derive(Debug, Default)]
pub(crate) struct Edits {
    edits: Vec<Edit>,
}

#[derive(Debug)]
struct Edit {
    at: usize,
    side: Side,
    text: String,
    owner: Option<Number>,
}

/// At one place, what ends there stands before what begins.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Side {
    End,
    Begin,
}

/// A file that is mutated.
#[derive(Debug, Default)]
pub(crate) struct Mutated {
    pub(crate) text: String,
    /// Where in it the text of each mutant is.
    owned: Vec<(Range<usize>, Number)>,
}

impl Edits {
    /// Puts text before what begins at `at`: what is around it has been opened before.
    pub(crate) fn open(&mut self, at: usize, text: String, owner: Option<Number>) {
        self.edits.push(Edit { at, side: Side::Begin, text, owner });
    }

    /// Puts text behind what ends at `at`: what is around it is closed after.
    pub(crate) fn close(&mut self, at: usize, text: String, owner: Option<Number>) {
        self.edits.push(Edit { at, side: Side::End, text, owner });
    }

    /// The file with all of it.
    pub(crate) fn apply(mut self, source: &str) -> Mutated {
        self.edits.sort_by_key(|edit| (edit.at, edit.side));
        let mut mutated = Mutated::default();
        let mut copied = 0;
        for edit in self.edits {
            mutated.text.push_str(source.get(copied..edit.at).unwrap_or_default());
            copied = edit.at;
            let start = mutated.text.len();
            mutated.text.push_str(&edit.text);
            if let Some(owner) = edit.owner {
                mutated.owned.push((start..mutated.text.len(), owner));
            }
        }
        mutated.text.push_str(source.get(copied..).unwrap_or_default());
        mutated
    }
}

impl Mutated {
    /// The mutant whose text that range lies in.
    pub(crate) fn owner(&self, range: &Range<usize>) -> Option<Number> {
        let mut around = self.owned.iter();
        let found = around.find(|(owned, _)| owned.start <= range.start && range.end <= owned.end);
        found.map(|(_, number)| *number)
    }

    /// The mutants whose text lies in that range.
    pub(crate) fn within(&self, range: &Range<usize>) -> impl Iterator<Item = Number> {
        let owned = self.owned.iter();
        let inside = |owned: &Range<usize>| range.start <= owned.start && owned.end <= range.end;
        owned.filter(move |(owned, _)| inside(owned)).map(|(_, number)| *number)
    }
}
