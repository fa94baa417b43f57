//! `zten diff`: in what the contents of two files differ.

mod change;
mod differences;
mod paired;
mod print;
mod value;

use std::io;

use zten::{Generation, OpenOptions, Tensor};

use crate::app::App;
use crate::args::Diff;
use crate::file::{FileWithShards, Opened};
use crate::report::Problem;
use crate::status::Status;
use crate::sums::{Of, Sums, sorted, sums};
use change::{Change, Summed};
use differences::{Difference, Differences};
use paired::{Pair, paired};

/// One of the files, all of which has been verified.
struct Side {
    archive: FileWithShards,
    sums: Sums,
}

impl Side {
    fn read(
        file: Result<Opened, Box<Problem>>,
        options: &OpenOptions,
    ) -> Result<Self, Box<Problem>> {
        let file = file?;
        let path = file.path.clone();
        let archive = file.archive(options)?;
        let mut sums = sums(&path, &archive, Of::Content)?;
        match sums.unread.take() {
            // What cannot be read is neither equal nor different.
            Some(problem) => Err(problem),
            None => Ok(Self { archive, sums }),
        }
    }
}

/// Compares two files.
pub(crate) fn run(
    app: &mut App,
    args: &Diff,
    files: [Result<Opened, Box<Problem>>; 2],
) -> io::Result<()> {
    let options = args.strictness.options();
    let [old, new] = files.map(|file| Side::read(file, &options));
    let (old, new) = match (old, new) {
        (Ok(old), Ok(new)) => (old, new),
        // Of two that are refused, both are told about.
        (old, new) => {
            let problems = [old.err(), new.err()];
            return problems.iter().flatten().try_for_each(|problem| app.problem(problem));
        }
    };
    let differences = compare(&old, &new);
    if differences.attributes || !differences.objects.is_empty() {
        app.worsen(Status::Refused);
    }
    if args.json {
        print::document(&mut app.out, &differences)
    } else {
        print::lines(&mut app.out, &differences)
    }
}

fn compare<'a>(old: &'a Side, new: &'a Side) -> Differences<'a> {
    // 0.1 has none to compare.
    let has_attributes = |side: &Side| side.archive.generation() != Some(Generation::V0_1);
    let attributes = has_attributes(old) && has_attributes(new);
    let differ = |old, new| attributes && !value::same(&old, &new);
    let mut objects = Vec::new();
    for pair in paired(sorted(&old.archive), sorted(&new.archive), Tensor::name) {
        match pair {
            Pair::Old(object) => objects.push((object.name(), Difference::Removed)),
            Pair::New(object) => objects.push((object.name(), Difference::Added)),
            Pair::Both(one, other) => {
                let before = Summed { object: &one, sums: &old.sums };
                let after = Summed { object: &other, sums: &new.sums };
                let mut changes = change::changes(&before, &after);
                if differ(one.attributes(), other.attributes()) {
                    changes.push(Change::attributes());
                }
                if !changes.is_empty() {
                    objects.push((one.name(), Difference::Changed(changes)));
                }
            }
        }
    }
    let differ = differ(old.archive.attributes(), new.archive.attributes());
    Differences { attributes: differ, objects }
}
