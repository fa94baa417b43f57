//! The reasons why a file of another format than zTensor is not written.

use std::path::Path;

use zten_formats::write::{self, Inexpressible, Subject};

use crate::report::Problem;

/// The reason why a file is not written; of the source, a problem.
pub(crate) type Failure = write::Failure<Box<Problem>>;

/// Returns the problem, of the file that is read or the one that is written.
pub(crate) fn problem(failure: Failure, [input, output]: [&Path; 2]) -> Box<Problem> {
    match failure {
        Failure::Source(problem) => problem,
        Failure::Output(error) => Box::new(Problem::io(output, &error)),
        Failure::Inexpressible(Inexpressible { subject, sentence }) => {
            let (object, advice) = match subject {
                Subject::Tensor(name) => (Some(name), ""),
                Subject::Attribute(_) => {
                    (None, "; `zten convert --drop-attributes` leaves attributes out")
                }
                Subject::File => (None, ""),
            };
            let sentence = format!("it can be read, but not written: {sentence}{advice}");
            Box::new(Problem::inexpressible(input, &sentence).in_object(object))
        }
    }
}
