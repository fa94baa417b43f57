//! Checking one file of a format that has no archives.

use std::path::Path;

use zten::num::u64_from_usize;
use zten_formats::{Detected, Format};
use zten_present::finding::summary_of_other;

use super::kind::{Outcome, Valid};
use crate::args::Check;
use crate::file::Opened;
use crate::other;
use crate::progress::Progress;
use crate::report::Problem;

/// Validates a file of a format that has no archives, with the files beside it that it names.
pub(super) fn validate(path: &Path, opened: Opened, what: Detected, args: &Check) -> Outcome {
    let format = what.name();
    let problem = |trouble| Box::new(Problem::foreign(path, &trouble, format));
    let options = args.strictness.options();
    let mut input = other::open(opened, path, options.limit()).map_err(problem)?;
    let bytes = input.tensors().iter().fold(0_u64, |sum, tensor| sum.saturating_add(tensor.bytes));
    if !args.manifest_only {
        let progress = Progress::new(bytes);
        input.verify(&mut |read| progress.note(read)).map_err(problem)?;
    }
    if args.canonical {
        return Err(Box::new(Problem::not_canonical(path, input.format().words(), format)));
    }
    let tensors = u64_from_usize(input.tensors().len());
    let (verdict, summary) = summary_of_other(input.format().words(), args.scope(), tensors, bytes);
    Ok(Valid { verdict, summary, format: input.format().name() })
}

/// Returns whether a file is an index, which names others.
pub(super) fn is_index(what: Detected) -> bool {
    what == Detected::Read(Format::Index)
}

/// The names of the files that an index is to be given before it is validated.
pub(super) fn wanted(opened: &Opened, what: Detected, args: &Check) -> Vec<String> {
    if !is_index(what) || !args.strictness.looks_for_shards() {
        return Vec::new();
    }
    // What is wrong with it will be told when it is validated.
    let listed = other::listed(opened, args.strictness.options().limit());
    listed.ok().and_then(Result::ok).unwrap_or_default()
}
