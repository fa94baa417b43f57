//! `zten diff`: prints the differences of the contents of two files.

mod print;

use std::io;

use rayon::iter::{IntoParallelRefMutIterator as _, ParallelIterator as _};
use zten_report::diff::{self, ObjectDifference, Tolerance};
use zten_report::glob::Glob;

use crate::args::Diff;
use crate::args::nearest::no_match;
use crate::input::file::{FileWithShards, Opened, stored};
use crate::input::selection::is_selected;
use crate::input::sources::Sources;
use crate::input::sums::{Of, Sums, sums};
use crate::input::threads;
use crate::json::to_line;
use crate::link::status::Status;
use crate::output::app::App;
use crate::output::progress::Progress;
use crate::output::report::Problem;

/// One of the two files, verified, with a hash of the content of each component.
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

    /// Binds the file and its shards, to read content from. Shards are verified first, because a component without a digest
    /// is only covered by the digest of its shard.
    fn bind<'a>(&'a self, progress: &'a Progress) -> Result<Sources<'a>, zten::Error> {
        let mut files = Sources::bind(&self.archive, progress)?;
        files.require()?;
        Ok(files)
    }

    /// Returns the attributes of the file and the tensors that `globs` select, to compare them.
    fn compared(&self, globs: &[Glob]) -> diff::Side<'_> {
        let tensors = self.archive.tensors().filter(|object| is_selected(globs, object));
        let tensors = tensors.map(|object| (object, self.sums.of(&object)));
        diff::Side::new(self.archive.manifest(), tensors)
    }
}

/// Returns a message if one of `patterns`, parsed as `globs`, matches no tensor of either side.
fn unmatched(sides: &[Side; 2], patterns: &[String], globs: &[Glob]) -> Option<String> {
    let names = || sides.iter().flat_map(|side| side.archive.tensors()).map(|own| own.name());
    let is_unmatched = |glob: &Glob| !names().any(|name| glob.matches(name));
    let (pattern, _) = patterns.iter().zip(globs).find(|(_, glob)| is_unmatched(glob))?;
    Some(no_match(pattern, names()))
}

/// Compares two files, and prints their differences, or the problems of files that are rejected.
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
    let [old, new] = &sides;
    let compared = [old, new].map(|side| side.compared(&globs));
    // If only some tensors are selected, the attributes of the files are not compared.
    let mut found = diff::compare(compared, globs.is_empty());
    let tolerance = args.tolerance();
    if (!args.quiet || tolerance.is_some())
        && let Err(problem) = measure(&sides, &mut found.objects, tolerance)
    {
        return app.problem(&problem);
    }
    if tolerance.is_some() {
        found.accept();
    }
    // If an object could not be read, the exit status is that of this problem, which is printed below, even if other
    // objects differ.
    if !found.is_equal() && found.unread.is_empty() {
        app.set_exit_status(Status::Invalid);
    }
    if args.json {
        to_line(&mut app.out, &diff::document(&found))?;
    } else if args.tree {
        print::tree(&mut app.out, &found)?;
    } else if !args.quiet {
        print::lines(&mut app.out, &found)?;
    }
    let unread = sides.iter().filter_map(|side| side.sums.unread.as_deref());
    unread.into_iter().try_for_each(|problem| app.problem(problem))
}

/// Compares the elements of each of `objects` that [has elements to compare](ObjectDifference::has_elements). Works on several objects in
/// parallel if both files are local and there are several threads.
fn measure(
    sides: &[Side; 2],
    objects: &mut [ObjectDifference<'_>],
    tolerance: Option<Tolerance>,
) -> Result<(), Box<Problem>> {
    let [old, new] = sides;
    if !objects.iter().any(|object| object.has_elements(tolerance)) {
        return Ok(());
    }
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
    let one = |object: &mut ObjectDifference<'_>| {
        let [old, new] = &files;
        object.measure([old, new], tolerance).map_err(failed)
    };
    let is_local = sides.iter().all(|side| side.archive.source().is_local());
    if is_local && threads::count() > 1 {
        objects.par_iter_mut().filter(|object| object.has_elements(tolerance)).try_for_each(one)
    } else {
        objects.iter_mut().filter(|object| object.has_elements(tolerance)).try_for_each(one)
    }
}
