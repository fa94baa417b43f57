//! Functions that workers run.

use std::fmt;
use std::fs::File;
use std::path::PathBuf;

/// The type of the code of a [`Function`], which runs in a worker. It returns the answer, or a sentence that says why there is no answer.
type Run = fn(Work) -> Result<Vec<u8>, String>;
/// The type of the check of a [`Function`]'s answers, which runs in the process of the pool. It returns a sentence about what is wrong with
/// the answer, or nothing if the answer is right.
type Check = fn(&[u8]) -> Result<(), String>;

/// A function that workers run, and the name by which jobs refer to it.
///
/// The function runs on the main thread of a confined process: it can read the files of its job and use memory, and cannot
/// start threads. A panic ends the worker, and only this job fails.
///
/// A system call that the filter forbids kills the worker. `File::read`, `Read::take` and reading at an offset
/// (`FileExt::read_exact_at`) are allowed. `File::metadata` is not, and neither are `File::read_to_end` and
/// `fs::read_to_string`, which call it: use `file.take(limit).read_to_end(…)` and [`WorkFile::length`].
#[derive(Clone, Copy)]
pub struct Function {
    pub(crate) name: &'static str,
    pub(crate) run: Run,
    pub(crate) check: Option<Check>,
}

impl Function {
    /// Creates a function with the code `run`. Its `name` must differ from the names of all other functions that are passed to
    /// [`init`](crate::init).
    ///
    /// `run` returns the answer of the job, or a sentence that says why there is no answer. The sentence becomes
    /// [`JobError::Failed`](crate::JobError::Failed).
    pub const fn new(name: &'static str, run: fn(Work) -> Result<Vec<u8>, String>) -> Self {
        Self { name, run, check: None }
    }

    /// Returns the name by which jobs refer to this function.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the function with `check`, which the pool calls for each of its answers. The check runs in the process of the pool, on bytes
    /// that a file may have chosen, so keep it small: compare lengths, parse fields. An answer for which the check fails becomes
    /// [`JobError::Answer`](crate::JobError::Answer).
    #[must_use]
    pub const fn checked_by(self, check: fn(&[u8]) -> Result<(), String>) -> Self {
        Self { check: Some(check), ..self }
    }

    /// Checks `answer`, an answer of this function, with the check that [`checked_by`](Self::checked_by) set. Accepts every answer if no
    /// check was set.
    pub(crate) fn check(&self, answer: &[u8]) -> Result<(), String> {
        self.check.map_or(Ok(()), |check| check(answer))
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The input of a function that runs in a worker: the argument and the files of one job.
#[derive(Debug)]
pub struct Work {
    /// The bytes that the caller passed to [`Job::argument`](crate::Job::argument). Empty if the job has no argument.
    pub argument: Vec<u8>,
    /// The files of the job, in the order in which they were added.
    pub files: Vec<WorkFile>,
}

/// A file of a job, which the program that submitted the job has opened.
#[derive(Debug)]
pub struct WorkFile {
    /// The open file. Reads begin at the position that the file had when the caller submitted the job.
    pub file: File,
    /// The name that the caller gave. No file is opened by this name: a worker cannot open files.
    pub name: PathBuf,
    /// The length of the file in bytes when it was added to the job. A worker cannot ask the system for the length of a file.
    pub length: u64,
}
