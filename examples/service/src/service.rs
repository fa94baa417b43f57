//! Hands files to workers, and parses their answers.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use zten::finding::Finding;
use zten_report::policy::Policy;
use zten_worker::{Budget, Confinement, Job, JobError, Load, Pool, StartError, Ticket};

use crate::CHECK;
use crate::answer::Answer;

/// The number of bytes of a file for which a worker gets one more second.
const PER_SECOND: u64 = 16 << 20;

/// The limits of workers, and the policy for files.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The number of files that are checked at the same time, each by a worker.
    pub workers: usize,
    /// The largest number of files that wait for a worker.
    pub queue: usize,
    /// The longest time for which a file waits for a worker.
    pub wait: Duration,
    /// The limits of a worker for a small file. Each 16 MiB of a file add a second.
    pub budget: Budget,
    /// The requirements on files beyond the rules of their formats.
    pub policy: Option<Box<Policy>>,
    /// The program that is started as a worker, and its arguments, or `None` for the program that runs the service.
    pub program: Option<(PathBuf, Vec<OsString>)>,
}

impl Default for Settings {
    /// Returns limits of one worker for each processor, 64 waiting files, 10 s of waiting, 512 MiB of memory and 10 s for a
    /// small file, and 16 MiB for an answer.
    fn default() -> Self {
        Self {
            workers: std::thread::available_parallelism().map_or(1, usize::from),
            queue: 64,
            wait: Duration::from_secs(10),
            budget: Budget { answer: 16 << 20, ..Budget::default() },
            policy: None,
            program: None,
        }
    }
}

/// The outcome of checking a file.
#[derive(Debug)]
pub enum Checked {
    /// The file is valid: it keeps all rules, and the policy if there is one.
    Valid {
        /// The format of the file.
        format: String,
        /// A sentence about the contents of the file, as `zten check` prints it.
        summary: String,
        /// The notes on the file.
        notes: Vec<Finding>,
    },
    /// The file is not valid, or could not be read.
    Rejected {
        /// The finding that decides the verdict.
        finding: Box<Finding>,
        /// The number of other objects with an error, or `None` if the other objects were not checked.
        more: Option<u64>,
        /// The notes on the file.
        notes: Vec<Finding>,
    },
}

/// A service that checks each file in a confined process. Any number of threads may use it at the same time.
#[derive(Debug)]
pub struct Service {
    pool: Pool,
    policy: Option<Box<Policy>>,
    /// The bytes that are sent to a worker with each job: the policy, serialized by `postcard`. Empty without a policy.
    argument: Vec<u8>,
}

impl Service {
    /// Starts the workers, which have to be confined completely.
    ///
    /// # Errors
    /// The system does not confine processes, or no worker can be started.
    pub fn start(settings: Settings) -> Result<Self, StartError> {
        let Settings { workers, queue, wait, budget, policy, program } = settings;
        let argument = policy.as_ref().map(postcard::to_allocvec).transpose();
        let argument = argument.map_err(|error| StartError::NotStarted(io::Error::other(error)))?;
        let mut pool = Pool::builder(Confinement::Require);
        if let Some((program, arguments)) = program {
            pool = pool.program(program, arguments);
        }
        let pool = pool.workers(workers).queue(queue).wait(wait).budget(budget).start()?;
        Ok(Self { pool, policy, argument: argument.unwrap_or_default() })
    }

    /// Hands `file`, which is open for reading, to a worker. The suffix of `name` decides the format if the first bytes do not.
    /// No file is opened by this name. Dropping the ticket cancels the check.
    ///
    /// # Errors
    /// Too many files wait, or `file` is not a regular file.
    pub fn submit(&self, name: &str, file: File) -> Result<Ticket, JobError> {
        let job = Job::new(&CHECK).file(file, name).map_err(JobError::NotStarted)?;
        let more = job.length() / PER_SECOND;
        let budget = self.pool.budget().with_more_time(more);
        self.pool.submit(job.argument(self.argument.clone()).budget(budget))
    }

    /// Returns what the `answer` of a worker says.
    ///
    /// # Errors
    /// The answer has an unknown form, or rejects the file for a rule that makes only notes.
    pub fn parse(&self, answer: &[u8]) -> Result<Checked, JobError> {
        let answer = serde_json::from_slice(answer);
        let answer = answer.map_err(|error| JobError::Answer(error.to_string()))?;
        // The policy is applied only to the finding of a rejection. If it denies a note, the worker sends the note as
        // such a finding.
        let notes = |notes: Vec<crate::answer::Found>| {
            notes.into_iter().map(|note| note.into_finding(None)).collect()
        };
        Ok(match answer {
            Answer::Valid { format, summary, notes: own } => {
                Checked::Valid { format, summary, notes: notes(own) }
            }
            Answer::Rejected { found, more, notes: own } => {
                let finding = Box::new(found.into_finding(self.policy.as_deref()));
                if finding.row.is_some() && finding.verdict == zten::finding::Verdict::Valid {
                    return Err(JobError::Answer(
                        "the rule of a rejection makes only notes".to_owned(),
                    ));
                }
                Checked::Rejected { finding, more, notes: notes(own) }
            }
        })
    }

    /// Checks a file, and waits for the outcome.
    ///
    /// # Errors
    /// The worker gave no valid answer in time, or could not be started.
    pub fn check(&self, name: &str, file: File) -> Result<Checked, JobError> {
        self.parse(&self.submit(name, file)?.wait()?)
    }

    /// Returns the number of files that are being checked, the number of files that wait for a worker, and the number of workers.
    pub fn load(&self) -> Load {
        self.pool.load()
    }
}
