//! Jobs: each is a call of a function in a worker, with an argument and files.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use crate::{Budget, Function, WorkFile};

/// The largest number of files of a job. The descriptors of all its files are sent to the worker in one packet.
const FILES: usize = 32;

/// A call of a function in a worker process, with the files that the function reads.
#[derive(Debug)]
pub struct Job {
    pub(crate) function: &'static Function,
    pub(crate) argument: Vec<u8>,
    pub(crate) files: Vec<WorkFile>,
    pub(crate) budget: Option<Budget>,
}

impl Job {
    /// Creates a call of `function` without an argument or files.
    pub const fn new(function: &'static Function) -> Self {
        Self { function, argument: Vec::new(), files: Vec::new(), budget: None }
    }

    /// Returns the job with the bytes `argument`, which the function gets as [`Work::argument`](crate::Work::argument).
    #[must_use]
    pub fn argument(self, argument: impl Into<Vec<u8>>) -> Self {
        Self { argument: argument.into(), ..self }
    }

    /// Returns the job with the open `file` added to its files. The function gets `name` with the file, for its messages and for
    /// parsers that look at the suffix of a name.
    ///
    /// # Errors
    /// `file` is not a regular file (a worker could wait for a pipe forever), the system does not tell its kind and length, or the
    /// job has 32 files already.
    pub fn file(mut self, file: File, name: impl Into<PathBuf>) -> io::Result<Self> {
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a file of a job must be a regular file",
            ));
        }
        if self.files.len() >= FILES {
            let why = format!("too many files for one job: the limit is {FILES}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        self.files.push(WorkFile { file, name: name.into(), length: metadata.len() });
        Ok(self)
    }

    /// Returns the sum of the lengths of all files of the job in bytes.
    pub fn length(&self) -> u64 {
        self.files.iter().fold(0, |sum, file| sum.saturating_add(file.length))
    }

    /// Returns the job with `budget` as its limits. A job without a budget of its own gets the budget of the pool.
    #[must_use]
    pub fn budget(self, budget: Budget) -> Self {
        Self { budget: Some(budget), ..self }
    }
}
