//! Selection and renaming of the objects that are written.

use std::borrow::Cow;

use zten::num::u64_from_usize;
use zten_report::glob::Glob;

use crate::args::Select;
use crate::args::nearest::no_match;
use crate::args::rename::{NAME, NO_MEMORY, Rename, Work};
use crate::escape;
use crate::input::file::TensorFile;

/// A selected object.
struct Pick {
    ordinal: u32,
    /// The new name, or `None` if the object keeps its name.
    name: Option<Box<str>>,
}

/// The objects that are written, in the order of the file. `None` means all objects under their own names.
pub(crate) struct Selection(Option<Vec<Pick>>);

impl Selection {
    /// Selects and renames objects of `archive` as the options `select` ask.
    ///
    /// # Errors
    /// A pattern or name matches no object, or a name that `--rename` names is not selected; two objects would get one name, the
    /// new names are too long, renaming takes too long, or memory runs out.
    pub(crate) fn new(select: &Select, archive: &TensorFile) -> Result<Self, String> {
        let Select { only, except, rename } = select;
        if only.is_empty() && except.is_empty() && rename.is_empty() {
            return Ok(Self(None));
        }
        let globs = |patterns: &[String]| -> Vec<_> {
            patterns.iter().map(|pattern| Glob::new(pattern)).collect()
        };
        let (only_globs, except_globs) = (globs(only), globs(except));
        let rename: Vec<_> =
            rename.iter().map(|text| Rename::parse(text)).collect::<Result<_, _>>()?;
        let (mut used, mut renamed) = (vec![false; only.len()], vec![false; rename.len()]);
        let mut excepted = vec![false; except.len()];
        let (mut picks, mut bytes) = (Vec::new(), 0_u64);
        let mut work = Work::new();
        let most = archive.manifest().limits().manifest();
        for object in archive.tensors() {
            let mut wanted = only.is_empty();
            for (only, used) in only_globs.iter().zip(&mut used) {
                let matches = only.matches(object.name());
                (wanted, *used) = (wanted | matches, *used | matches);
            }
            let mut is_excepted = false;
            for (except, used) in except_globs.iter().zip(&mut excepted) {
                let matches = except.matches(object.name());
                (is_excepted, *used) = (is_excepted | matches, *used | matches);
            }
            if !wanted || is_excepted {
                continue;
            }
            let mut name = Cow::Borrowed(object.name());
            let longest = name.len().max(NAME);
            for (rename, renamed) in rename.iter().zip(&mut renamed) {
                work.add(&name);
                if let Some(new) = rename.apply(&name, longest, &mut work)? {
                    (name, *renamed) = (Cow::Owned(new), true);
                }
            }
            let name = match name {
                Cow::Owned(name) => Some(name.into_boxed_str()),
                Cow::Borrowed(_) => None,
            };
            bytes = bytes.saturating_add(u64_from_usize(name.as_deref().map_or(0, str::len)));
            if bytes > most {
                return Err(format!(
                    "the new names of --rename together exceed the maximum of {most} bytes"
                ));
            }
            picks.try_reserve(1).map_err(|_| NO_MEMORY.to_owned())?;
            picks.push(Pick { ordinal: object.ordinal(), name });
        }
        // A pattern that matches nothing is a typing error: without this, `--except` would write the tensor that it was to
        // leave out. A file without tensors has nothing to leave out.
        let excepted: &[bool] = if archive.is_empty() { &[] } else { &excepted };
        for (option, patterns, used) in [("--only", only, &*used), ("--except", except, excepted)] {
            if let Some((unused, _)) = patterns.iter().zip(used).find(|(_, used)| !**used) {
                let names = archive.tensors().map(|object| object.name());
                return Err(format!("{option}: {}", no_match(unused, names)));
            }
        }
        for (rename, _) in rename.iter().zip(&renamed).filter(|(_, renamed)| !**renamed) {
            match rename {
                Rename::Exact(old, _) => {
                    archive.tensor(old).map_err(|error| error.to_string())?;
                    let old = escape::quoted(old);
                    return Err(format!("the tensor {old}, which --rename names, is not selected"));
                }
                Rename::Pattern { .. } if picks.is_empty() => {}
                Rename::Pattern { regex, .. } => {
                    let regex = escape::quoted(regex.as_str());
                    return Err(format!(
                        "--rename: no selected tensor has a name that {regex} matches"
                    ));
                }
            }
        }
        let selection = Self(Some(picks));
        if renamed.contains(&true) {
            selection.check_unique(archive)?;
        }
        Ok(selection)
    }

    /// Checks that the selected objects have distinct names, after renaming.
    fn check_unique(&self, archive: &TensorFile) -> Result<(), String> {
        let old = |ordinal| archive.manifest().tensor_at(ordinal).map_or("", |own| own.name());
        let (mut names, picks) = (Vec::new(), self.0.as_deref().unwrap_or_default());
        names.try_reserve_exact(picks.len()).map_err(|_| NO_MEMORY.to_owned())?;
        names.extend(picks.iter().map(|Pick { ordinal, name }| {
            (name.as_deref().unwrap_or_else(|| old(*ordinal)), *ordinal)
        }));
        names.sort_unstable();
        let twice = names.windows(2).find(|two| matches!(two, [(a, _), (b, _)] if a == b));
        if let Some([(name, one), (_, other)]) = twice {
            let [name, one, other] = [*name, old(*one), old(*other)].map(escape::quoted);
            return Err(format!("two tensors would be named {name}: {one} and {other}"));
        }
        Ok(())
    }

    /// Removes objects from the selection. Their ordinals are the first numbers of the pairs in `ordinals`, which is sorted.
    /// Returns an error if memory runs out.
    pub(crate) fn leave_out(
        &mut self,
        archive: &TensorFile,
        ordinals: &[(u32, u32)],
    ) -> Result<(), String> {
        if ordinals.is_empty() {
            return Ok(());
        }
        let mut picks = if let Some(picks) = self.0.take() {
            picks
        } else {
            let mut all = Vec::new();
            all.try_reserve_exact(archive.len()).map_err(|_| NO_MEMORY.to_owned())?;
            all.extend(archive.tensors().map(|own| Pick { ordinal: own.ordinal(), name: None }));
            all
        };
        let is_left_out =
            |own: &Pick| ordinals.binary_search_by_key(&own.ordinal, |(own, _)| *own).is_ok();
        picks.retain(|pick| !is_left_out(pick));
        self.0 = Some(picks);
        Ok(())
    }

    /// Returns the number of selected objects of `archive`.
    pub(crate) fn len(&self, archive: &TensorFile) -> usize {
        self.0.as_ref().map_or(archive.len(), Vec::len)
    }

    /// Returns the ordinal in the file of the selected object number `at`, which must be less than [`len`](Self::len).
    pub(crate) fn ordinal(&self, at: usize) -> u32 {
        match &self.0 {
            Some(picks) => picks.get(at).map_or(u32::MAX, |pick| pick.ordinal),
            None => u32::try_from(at).unwrap_or(u32::MAX),
        }
    }

    /// Returns whether the object `ordinal` of the file is selected.
    pub(crate) fn holds(&self, ordinal: u32) -> bool {
        self.0.is_none() || self.pick(ordinal).is_some()
    }

    /// Returns the new name of the object `ordinal` of the file, or `None` if it keeps its name or is not selected.
    pub(crate) fn new_name(&self, ordinal: u32) -> Option<&str> {
        self.pick(ordinal)?.name.as_deref()
    }

    fn pick(&self, ordinal: u32) -> Option<&Pick> {
        let picks = self.0.as_ref()?;
        picks.get(picks.binary_search_by_key(&ordinal, |pick| pick.ordinal).ok()?)
    }
}
