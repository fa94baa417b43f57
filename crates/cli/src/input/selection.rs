//! Selection and sorting of the objects that `ls` and `stat` show.

use std::cmp::{Ordering, Reverse};

use zten::Tensor;
use zten_report::glob::Glob;
use zten_report::natural;

use crate::args::Sort;
use crate::args::nearest::no_match;
use crate::escape;
use crate::input::file::FileWithShards;
use crate::source::remote::shown;

/// Selected objects of a file, in the order to show them.
pub(crate) struct Selection<'a> {
    archive: &'a FileWithShards,
    ordinals: Vec<u32>,
}

/// Returns whether the name of `object` matches one of `globs`, or `globs` is empty.
pub(crate) fn is_selected(globs: &[Glob], object: &Tensor<'_>) -> bool {
    globs.is_empty() || globs.iter().any(|glob| glob.matches(object.name()))
}

impl<'a> Selection<'a> {
    /// Selects the tensors whose names match one of `patterns`, or all tensors if there are no patterns, in the order `sort`, or
    /// in the order of the file.
    ///
    /// # Errors
    /// A pattern matches no object.
    pub(crate) fn new(
        archive: &'a FileWithShards,
        patterns: &[String],
        sort: Option<Sort>,
    ) -> Result<Self, String> {
        let globs: Vec<_> = patterns.iter().map(|pattern| Glob::new(pattern)).collect();
        let mut found = vec![patterns.is_empty(); patterns.len().max(1)];
        let mut ordinals = Vec::new();
        for object in archive.tensors() {
            let mut is_asked = patterns.is_empty();
            for (glob, found) in globs.iter().zip(&mut found) {
                let matches = glob.matches(object.name());
                is_asked |= matches;
                *found |= matches;
            }
            if is_asked {
                ordinals.push(object.ordinal());
            }
        }
        let missing = patterns.iter().zip(&found).find(|(_, found)| !**found);
        if let Some((pattern, _)) = missing {
            let path = escape::path(&shown(&archive.path));
            let names = archive.tensors().map(|object| object.name());
            return Err(format!("{path}: {}", no_match(pattern, names)));
        }
        let mut selection = Self { archive, ordinals };
        match sort {
            None => {}
            Some(Sort::Name) => {
                selection.sort_by(|one, other| natural::compare(one.name(), other.name()));
            }
            Some(Sort::Size) => selection.sort_by_number(|object| Reverse(stored(object))),
            Some(Sort::Offset) => selection.sort_by_number(|object| {
                let offset = object.components().map(|component| component.extent().offset()).min();
                // A tensor without components has no offset, and comes last.
                offset.unwrap_or(u64::MAX)
            }),
        }
        Ok(selection)
    }

    fn sort_by(&mut self, compare: impl Fn(&Tensor<'a>, &Tensor<'a>) -> Ordering) {
        let manifest = self.archive.manifest();
        self.ordinals.sort_by(|one, other| {
            let both = manifest.tensor_at(*one).zip(manifest.tensor_at(*other));
            both.map_or(Ordering::Equal, |(one, other)| compare(&one, &other))
        });
    }

    fn sort_by_number<K: Ord>(&mut self, key: impl Fn(&Tensor<'a>) -> K) {
        let manifest = self.archive.manifest();
        self.ordinals
            .sort_by_cached_key(|ordinal| manifest.tensor_at(*ordinal).map(|object| key(&object)));
    }

    /// Returns the selected objects in order.
    pub(crate) fn objects(&self) -> impl Iterator<Item = Tensor<'a>> + Clone + use<'a, '_> {
        self.ordinals.iter().filter_map(|ordinal| self.archive.manifest().tensor_at(*ordinal))
    }

    /// Returns the number of selected objects.
    pub(crate) fn len(&self) -> usize {
        self.ordinals.len()
    }

    /// Returns whether all objects of the file are selected.
    pub(crate) fn is_all(&self) -> bool {
        self.len() == self.archive.len()
    }
}

/// Returns the stored bytes of all components of `object`. A field of records has none: its bytes are those of the records.
pub(crate) fn stored(object: &Tensor<'_>) -> u64 {
    let owners = object.components().filter(|component| !component.is_field_of_records());
    let lengths = owners.map(|component| component.extent().length());
    lengths.fold(0, u64::saturating_add)
}
