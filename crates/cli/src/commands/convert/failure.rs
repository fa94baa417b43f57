//! Failures to write a file of another format than zTensor.

use std::path::Path;

use zten::formats::write::{self, Inexpressible, Subject};

use crate::output::report::Problem;

/// The reason why a file is not written. Errors of the source are problems of the input file.
pub(crate) type ConvertFailure = write::WriteFailure<Box<Problem>>;

/// Returns `failure` as a problem of the file `input` that is read, or of the file `output` that is written. A content that the
/// output cannot hold is a problem of `input`.
pub(crate) fn problem(failure: ConvertFailure, [input, output]: [&Path; 2]) -> Box<Problem> {
    match failure {
        ConvertFailure::Source(problem) => problem,
        ConvertFailure::Output(error) => Box::new(Problem::io(output, &error)),
        ConvertFailure::Inexpressible(Inexpressible { subject, sentence }) => {
            let (object, advice) = match &subject {
                Subject::Tensor(name) => (Some(name.as_str()), None),
                Subject::Attribute(_) => {
                    (None, Some("`zten convert --drop-attributes` leaves attributes out."))
                }
                Subject::File => (None, None),
            };
            Box::new(Problem::unwritable(input, object, &sentence).advising(advice))
        }
    }
}
