//! The pool: a queue of jobs, and one thread for each worker.

#[cfg(target_os = "linux")]
mod keeper;
#[cfg(not(target_os = "linux"))]
#[path = "pool/unconfined.rs"]
mod keeper;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, available_parallelism};
use std::time::{Duration, Instant};

use crate::ticket::Task;
use crate::{Budget, Confinement, Job, JobError, StartError, Ticket};
use keeper::Keeper;

/// The interval at which a thread that waits for an answer of its worker looks for canceled jobs, and for jobs that have waited in
/// the queue for too long.
const TICK: Duration = Duration::from_millis(50);

/// The settings of a pool before it is started. [`Pool::builder`] returns the defaults.
#[derive(Clone, Debug)]
pub struct Builder {
    confinement: Confinement,
    workers: usize,
    queue: usize,
    wait: Duration,
    budget: Budget,
    jobs_per_worker: u32,
    program: Option<(PathBuf, Vec<OsString>)>,
}

impl Builder {
    /// Sets the number of jobs that run at the same time, each in a worker of its own. 0 counts as 1. The default is the number of
    /// processors.
    #[must_use]
    pub fn workers(self, workers: usize) -> Self {
        Self { workers: workers.max(1), ..self }
    }

    /// Sets the number of jobs that may wait for a worker. The default is 64.
    #[must_use]
    pub fn queue(self, queue: usize) -> Self {
        Self { queue, ..self }
    }

    /// Sets the time for which a job may wait for a worker. The default is 10 s.
    #[must_use]
    pub fn wait(self, wait: Duration) -> Self {
        Self { wait, ..self }
    }

    /// Sets the limits of jobs for which [`Job::budget`] was not called.
    #[must_use]
    pub fn budget(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    /// Sets the number of jobs after which a worker is replaced by a new one. 0 counts as 1. The default is 1: a file that takes
    /// its worker over can then neither see nor answer for another file. With a larger number, jobs of the same worker have to
    /// trust each other, but take less time, because starting a worker takes a few milliseconds of a processor.
    #[must_use]
    pub fn jobs_per_worker(self, jobs: u32) -> Self {
        Self { jobs_per_worker: jobs.max(1), ..self }
    }

    /// Sets the program that is started as a worker, by the path of its file. The default is the running program. The program has
    /// to call [`init`](crate::init) first in `main`. The pool starts it with the argument `--zten-worker`, followed by
    /// `arguments`.
    #[must_use]
    pub fn program(
        self,
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Self {
        Self { program: Some((program.into(), arguments.into_iter().collect())), ..self }
    }

    /// Starts the pool and its workers, and waits until the first worker is confined.
    ///
    /// # Errors
    /// A layer of the required confinement is missing, a thread or the first worker cannot be started, or this worker ends before
    /// it is ready.
    pub fn start(self) -> Result<Pool, StartError> {
        let workers = self.workers;
        let shared = Arc::new(Shared {
            settings: self,
            queue: Mutex::default(),
            changed: Condvar::new(),
            missing: Mutex::new(None),
        });
        let (report, first) = mpsc::channel();
        let mut pool = Pool { shared: Arc::clone(&shared), keepers: Vec::new() };
        for number in 0..workers {
            let shared = Arc::clone(&shared);
            let report = (number == 0).then(|| report.clone());
            let name = format!("zten-worker-{number}");
            let keeper = thread::Builder::new().name(name).spawn(move || keep(&shared, report));
            pool.keepers.push(keeper.map_err(StartError::NotStarted)?);
        }
        drop(report);
        match first.recv() {
            Ok(Ok(missing)) => {
                *pool.shared.missing.lock().unwrap_or_else(PoisonError::into_inner) = missing;
                Ok(pool)
            }
            Ok(Err(error)) => Err(error),
            // The thread has panicked, which no code of this crate should do.
            Err(mpsc::RecvError) => Err(StartError::NotStarted(std::io::ErrorKind::Other.into())),
        }
    }
}

/// Runs one thread of the pool until the pool stops: starts a worker, and gives it one job after another. The first thread of a
/// pool gets `report`, to which it sends the layer that the confinement of its worker lacks, or why the worker did not start.
fn keep(shared: &Shared, report: Option<mpsc::Sender<Result<Option<String>, StartError>>>) {
    let mut keeper = Keeper::new(shared);
    keeper.prepare();
    if let Some(report) = report {
        let started = keeper.first();
        let has_failed = started.is_err();
        // Sending fails only if `start` has ended, and `start` waits for the report.
        let _ = report.send(started);
        if has_failed {
            return;
        }
    }
    while let Some(task) = shared.next() {
        let outcome = match task.take_job() {
            Some(job) => keeper.run(&task, job),
            None => Err(JobError::Canceled),
        };
        shared.ended();
        task.finish(outcome);
        keeper.prepare();
    }
}

/// The numbers of jobs and workers of a pool at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// The number of jobs in the queue, which wait for a worker.
    pub waiting: usize,
    /// The number of jobs that workers are doing.
    pub running: usize,
    /// The number of workers of the pool, which is the largest number of jobs that run at the same time.
    pub workers: usize,
}

/// A pool of confined processes. Any number of threads may use it at the same time.
///
/// Dropping the pool ends its workers. Jobs that have not ended then get [`JobError::Stopped`]. To stop gracefully, wait for
/// all tickets first.
#[derive(Debug)]
pub struct Pool {
    shared: Arc<Shared>,
    keepers: Vec<JoinHandle<()>>,
}

impl Pool {
    /// Returns the settings of a pool with the default limits. Services choose [`Confinement::Require`].
    pub fn builder(confinement: Confinement) -> Builder {
        Builder {
            confinement,
            workers: available_parallelism().map_or(1, usize::from),
            queue: 64,
            wait: Duration::from_secs(10),
            budget: Budget::default(),
            jobs_per_worker: 1,
            program: None,
        }
    }

    /// Adds `job` to the queue of the pool, and returns a ticket by which the caller waits for the answer.
    ///
    /// # Errors
    /// [`JobError::QueueFull`] if as many jobs wait for a worker as the pool allows.
    pub fn submit(&self, job: Job) -> Result<Ticket, JobError> {
        let mut queue = self.shared.lock();
        // Jobs that a free worker is about to take do not count as waiting.
        let idle = self.keepers.len().saturating_sub(queue.running);
        if queue.tasks.len() >= self.shared.settings.queue.saturating_add(idle) {
            return Err(JobError::QueueFull);
        }
        let task = Arc::new(Task::new(queue.next_number, job));
        queue.next_number = queue.next_number.wrapping_add(1);
        queue.tasks.push_back(Arc::clone(&task));
        drop(queue);
        self.shared.changed.notify_one();
        Ok(Ticket::new(task))
    }

    /// Submits `job`, waits until a worker has done it, and returns its answer.
    ///
    /// # Errors
    /// The job has no answer, for the reason in the error.
    pub fn run(&self, job: Job) -> Result<Vec<u8>, JobError> {
        self.submit(job)?.wait()
    }

    /// Returns a sentence with the first layer that the confinement of the workers lacks, and the reason, as the first worker
    /// reported it. With [`Confinement::Off`], the sentence says that the workers are not confined. Returns `None` if no layer is
    /// missing; the kernel may enforce only a part of a layer.
    pub fn missing_layer(&self) -> Option<String> {
        self.shared.missing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the numbers of jobs and workers at this moment.
    pub fn load(&self) -> Load {
        let queue = self.shared.lock();
        Load { waiting: queue.tasks.len(), running: queue.running, workers: self.keepers.len() }
    }

    /// Returns the limits of jobs for which [`Job::budget`] was not called.
    pub fn budget(&self) -> Budget {
        self.shared.settings.budget
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        queue.is_stopped = true;
        let tasks = std::mem::take(&mut queue.tasks);
        drop(queue);
        for task in tasks {
            task.finish(Err(JobError::Stopped));
        }
        self.shared.changed.notify_all();
        for keeper in self.keepers.drain(..) {
            // A thread that has panicked has no work left.
            let _ = keeper.join();
        }
    }
}

/// The state that the threads of a pool share.
#[derive(Debug)]
struct Shared {
    settings: Builder,
    queue: Mutex<Queue>,
    /// The condition on which threads without a job wait. It is signaled when a job is added or the pool stops.
    changed: Condvar,
    missing: Mutex<Option<String>>,
}

#[derive(Debug, Default)]
struct Queue {
    /// The jobs that wait for a worker, the oldest first.
    tasks: VecDeque<Arc<Task>>,
    running: usize,
    next_number: u64,
    is_stopped: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a job is in the queue, and takes it from the queue. Returns `None` if the pool stops.
    fn next(&self) -> Option<Arc<Task>> {
        let mut queue = self.lock();
        loop {
            if queue.is_stopped {
                return None;
            }
            self.expire(&mut queue);
            if let Some(task) = queue.tasks.pop_front() {
                queue.running = queue.running.saturating_add(1);
                return Some(task);
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Records that a job of a worker has ended, so that it no longer counts as running.
    fn ended(&self) {
        let mut queue = self.lock();
        queue.running = queue.running.saturating_sub(1);
    }

    /// Ends jobs in the queue that were canceled or have waited too long, and returns whether the pool stops. Threads call this
    /// function while they wait for their worker, so that these jobs end even if all workers are busy.
    fn look_around(&self) -> bool {
        let mut queue = self.lock();
        self.expire(&mut queue);
        queue.is_stopped
    }

    fn expire(&self, queue: &mut Queue) {
        let limit = self.settings.wait;
        let now = Instant::now();
        queue.tasks.retain(|task| {
            let error = if task.is_canceled() {
                JobError::Canceled
            } else if now.saturating_duration_since(task.submitted) > limit {
                JobError::Waited(limit)
            } else {
                return true;
            };
            task.finish(Err(error));
            false
        });
    }
}
