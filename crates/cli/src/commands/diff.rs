//! `zten diff`: prints the differences of the contents of two files.

mod change;
mod measure;
mod paired;
mod print;
mod value;

use std::collections::{HashMap, VecDeque};
use std::io;

use rayon::iter::{IntoParallelRefMutIterator as _, ParallelIterator as _};
use sha2::{Digest as _, Sha256};
use zten::conventions::Convention;
use zten::num::u64_from_usize;
use zten::{Generation, Tensor};
use zten_report::digests::kind;
use zten_report::glob::Glob;
use zten_report::natural;

use crate::args::nearest::no_match;
use crate::args::{Diff, Tolerance};
use crate::input::file::{FileWithShards, Opened, stored};
use crate::input::selection::is_selected;
use crate::input::sources::Sources;
use crate::input::sums::{Of, Sums, sums};
use crate::input::threads;
use crate::link::status::Status;
use crate::output::app::App;
use crate::output::progress::Progress;
use crate::output::report::Problem;
use change::Changes;
use paired::{Pair, paired};
use value::AttributeChange;

/// One of the two files, verified, with the sums of its components.
struct Side {
    archive: FileWithShards,
    sums: Sums,
}

impl Side {
    fn read(file: Opened, args: &Diff, globs: &[Glob]) -> Result<Self, Box<Problem>> {
        let archive = file.archive(&args.strictness.options())?.with_conventions(args.plain)?;
        let sums = sums(&archive, Of::Content, &|object| is_selected(globs, object))?;
        Ok(Self { archive, sums })
    }

    /// Returns whether `object` is unread, and so neither equal to another object nor different.
    fn is_unread(&self, object: &Tensor<'_>) -> bool {
        self.sums.components(object).iter().any(|(_, sum)| sum.sha256.is_none())
    }

    /// Binds the file and its shards, to read content from. Shards are verified first, because a component without a digest
    /// is only covered by the digest of its shard.
    fn bind<'a>(&'a self, progress: &'a Progress) -> Result<Sources<'a>, zten::Error> {
        let mut files = Sources::bind(&self.archive, progress)?;
        files.require()?;
        Ok(files)
    }

    /// Returns the selected objects in the natural order of their names.
    fn sorted(&self, globs: &[Glob]) -> Vec<Tensor<'_>> {
        let objects = self.archive.tensors().filter(|object| is_selected(globs, object));
        let mut objects: Vec<_> = objects.collect();
        objects.sort_by(|one, other| natural::compare(one.name(), other.name()));
        objects
    }

    /// Returns a hash of the components of `object`: roles, types and content, without the object's name and attributes.
    fn content(&self, object: &Tensor<'_>) -> [u8; 32] {
        let mut sum = Sha256::new();
        for (component, of) in self.sums.components(object) {
            for text in [component.role(), &kind(object, &component)] {
                sum.update(Sha256::digest(text));
            }
            sum.update(of.sha256.unwrap_or_default());
        }
        sum.finalize().into()
    }
}

/// Returns a message if one of `patterns`, parsed as `globs`, matches no tensor of either side.
fn unmatched(sides: &[Side; 2], patterns: &[String], globs: &[Glob]) -> Option<String> {
    let names = || sides.iter().flat_map(|side| side.archive.tensors()).map(|own| own.name());
    let is_unmatched = |glob: &Glob| !names().any(|name| glob.matches(name));
    let (pattern, _) = patterns.iter().zip(globs).find(|(_, glob)| is_unmatched(glob))?;
    Some(no_match(pattern, names()))
}

/// The differences of two files.
struct Found<'a> {
    attributes: Vec<AttributeChange<'a>>,
    /// Objects in the natural order of their names.
    objects: Vec<Object<'a>>,
    /// The number of objects that are equal.
    equal: u64,
    /// The number of objects that differ within the tolerance, or `None` if there is no tolerance.
    within: Option<u64>,
    /// The names of the objects that were not compared, because they are unread in one of the files.
    unread: Vec<&'a str>,
}

/// An object that is not the same in both files.
struct Object<'a> {
    name: &'a str,
    difference: Difference<'a>,
    changes: Changes<'a>,
}

/// The change of an object.
enum Difference<'a> {
    Added,
    Removed,
    Changed,
    /// The old name.
    Renamed(&'a str),
}

impl Found<'_> {
    fn is_equal(&self) -> bool {
        self.attributes.is_empty() && self.objects.is_empty()
    }

    /// Removes the tensors whose elements differ within the tolerance from `objects`, and counts the removed tensors in `within`.
    fn accept(&mut self) {
        let before = self.objects.len();
        let is_within = |object: &Object<'_>| {
            matches!(object.difference, Difference::Changed) && object.changes.is_within()
        };
        self.objects.retain(|object| !is_within(object));
        self.within = Some(u64_from_usize(before.saturating_sub(self.objects.len())));
    }
}

/// Compares two files.
pub(crate) fn run(
    app: &mut App,
    args: &Diff,
    files: [Result<Opened, Box<Problem>>; 2],
) -> io::Result<()> {
    let patterns = &args.select.patterns;
    let globs: Vec<_> = patterns.iter().map(|pattern| Glob::new(pattern)).collect();
    let [old, new] = files.map(|file| Side::read(file?, args, &globs));
    let sides = match (old, new) {
        (Ok(old), Ok(new)) => [old, new],
        // If both files are rejected, both problems are printed.
        (old, new) => {
            let problems = [old.err(), new.err()];
            return problems.iter().flatten().try_for_each(|problem| app.problem(problem));
        }
    };
    if let Some(message) = unmatched(&sides, patterns, &globs) {
        return app.usage(message);
    }
    let mut found = compare(&sides, &globs);
    let tolerance = args.tolerance();
    if (!args.quiet || tolerance.is_some())
        && let Err(problem) = measure(&sides, &mut found.objects, tolerance)
    {
        return app.problem(&problem);
    }
    if tolerance.is_some() {
        found.accept();
    }
    // If an object was not compared, the status says so, whatever else differs.
    if !found.is_equal() && found.unread.is_empty() {
        app.set_exit_status(Status::Invalid);
    }
    if args.json {
        print::document(&mut app.out, &found)?;
    } else if args.tree {
        print::tree(&mut app.out, &found)?;
    } else if !args.quiet {
        print::lines(&mut app.out, &found)?;
    }
    let unread = sides.iter().filter_map(|side| side.sums.unread.as_deref());
    unread.into_iter().try_for_each(|problem| app.problem(problem))
}

/// Finds the differences of the tensors that `globs` select, by the sums of both files. The attributes of the files are compared only
/// if `globs` is empty.
fn compare<'a>(sides: &'a [Side; 2], globs: &[Glob]) -> Found<'a> {
    let [old, new] = sides;
    // Files of 0.1 have no attributes to compare.
    let has_attributes = |side: &Side| side.archive.generation() != Some(Generation::V0_1);
    let compared = has_attributes(old) && has_attributes(new);
    let attributes = |old, new| if compared { value::attributes(&old, &new) } else { Vec::new() };
    let (mut objects, mut added, mut equal) = (Vec::new(), Vec::new(), 0_u64);
    let mut unread = Vec::new();
    let mut removed: HashMap<_, VecDeque<Tensor<'_>>> = HashMap::new();
    let by_name = |one: &Tensor<'_>, other: &Tensor<'_>| natural::compare(one.name(), other.name());
    for pair in paired(old.sorted(globs), new.sorted(globs), by_name) {
        let is_unread = match &pair {
            Pair::Old(one) => old.is_unread(one),
            Pair::New(other) => new.is_unread(other),
            Pair::Both(one, other) => old.is_unread(one) || new.is_unread(other),
        };
        match pair {
            Pair::Old(object) | Pair::New(object) | Pair::Both(object, _) if is_unread => {
                unread.push(object.name());
            }
            Pair::Old(object) => removed.entry(old.content(&object)).or_default().push_back(object),
            Pair::New(object) => added.push(object),
            Pair::Both(one, other) => {
                let components = [old.sums.components(&one), new.sums.components(&other)];
                let mut changes = Changes::new([&one, &other], components);
                // The attributes of a group say how its codes are divided, which no file stores as attributes.
                if [one, other].iter().all(|object| Convention::of(object).is_none()) {
                    changes.attributes = attributes(one.attributes(), other.attributes());
                }
                if changes.is_empty() {
                    equal = equal.saturating_add(1);
                } else {
                    let (name, difference) = (one.name(), Difference::Changed);
                    objects.push(Object { name, difference, changes });
                }
            }
        }
    }
    for object in added {
        let same = removed.get_mut(&new.content(&object)).and_then(VecDeque::pop_front);
        let mut changes = Changes::default();
        let difference = match same {
            Some(one) => {
                changes.attributes = attributes(one.attributes(), object.attributes());
                Difference::Renamed(one.name())
            }
            None => Difference::Added,
        };
        objects.push(Object { name: object.name(), difference, changes });
    }
    objects.extend(removed.into_values().flatten().map(|object| Object {
        name: object.name(),
        difference: Difference::Removed,
        changes: Changes::default(),
    }));
    // Renamed objects may have any new name, so the list is sorted again.
    objects.sort_by(|one, other| natural::compare(one.name, other.name));
    let attributes = if globs.is_empty() {
        attributes(old.archive.attributes(), new.archive.attributes())
    } else {
        Vec::new()
    };
    Found { attributes, objects, equal, within: None, unread }
}

/// Compares the elements of each object whose content differs. With a tolerance, compares the elements of objects whose dtype or
/// layout differs, too, because the tolerance may accept their values. Works on several objects in parallel if both files are local
/// and there are several threads.
fn measure(
    sides: &[Side; 2],
    objects: &mut [Object<'_>],
    tolerance: Option<Tolerance>,
) -> Result<(), Box<Problem>> {
    let has_content = |object: &Object<'_>| {
        let is_changed = matches!(object.difference, Difference::Changed);
        object.changes.has_content() || is_changed && tolerance.is_some()
    };
    if !objects.iter().any(has_content) {
        return Ok(());
    }
    let [old, new] = sides;
    let failed = |(place, error): (usize, zten::Error)| {
        let side = if place == 0 { old } else { new };
        Box::new(Problem::reading(&side.archive.path, &side.archive, &error))
    };
    let bytes = [old, new].map(|side| stored(side.archive.manifest()));
    let progress = Progress::new(bytes.into_iter().fold(0, u64::saturating_add));
    let bound = [old.bind(&progress), new.bind(&progress)];
    let files = match bound {
        [Ok(old), Ok(new)] => [old, new],
        [Err(error), _] => return Err(failed((0, error))),
        [_, Err(error)] => return Err(failed((1, error))),
    };
    let files = files.each_ref().map(Sources::all);
    let one = |object: &mut Object<'_>| {
        let find = [old, new].map(|side| side.archive.manifest().get(object.name));
        let [Some(one), Some(other)] = find else { return Ok(()) };
        let [old, new] = &files;
        let both = [one.read_from(old), other.read_from(new)];
        object.changes.measure(both, tolerance).map_err(failed)
    };
    let is_local = sides.iter().all(|side| side.archive.source().is_local());
    if is_local && threads::count() > 1 {
        objects.par_iter_mut().filter(|object| has_content(object)).try_for_each(one)
    } else {
        objects.iter_mut().filter(|object| has_content(object)).try_for_each(one)
    }
}
