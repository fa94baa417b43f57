//! Writes the request log, with one JSON document per line.

use std::fmt;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hyper::{Request, StatusCode};
use serde::Serialize;
use zten::finding::{Finding, Verdict};
use zten::json;
use zten_worker::{Ending, JobError};

/// The log entry of one request.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Record {
    /// The time at which the request began, in seconds since 1970-01-01 UTC.
    time: f64,
    client: SocketAddr,
    method: String,
    path: String,
    /// The name of the file, if there is one.
    name: Option<String>,
    /// The number of bytes of the file that were received.
    pub(super) bytes: u64,
    pub(super) status: u16,
    /// The verdict, if the file was checked.
    pub(super) verdict: Option<&'static str>,
    /// The id of the rule that the file breaks.
    rule: Option<&'static str>,
    /// A word for the reason why the uploaded file was not checked, such as `deadline`; `None` otherwise.
    pub(super) lost: Option<&'static str>,
    pub(super) seconds: f64,
}

impl Record {
    pub(super) fn new<B>(client: SocketAddr, request: &Request<B>) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            time: now.as_secs_f64(),
            client,
            method: request.method().to_string(),
            path: request.uri().path().to_owned(),
            name: None,
            bytes: 0,
            status: 0,
            verdict: None,
            rule: None,
            lost: None,
            seconds: 0.0,
        }
    }

    /// Notes the name of the file.
    pub(super) fn named(&mut self, name: &str) {
        self.name = Some(name.to_owned()).filter(|name| !name.is_empty());
    }

    /// Notes that the file is valid.
    pub(super) fn valid(&mut self) {
        self.verdict = Some(Verdict::Valid.as_str());
    }

    /// Notes why the file is not valid.
    pub(super) fn rejected(&mut self, finding: &Finding) {
        self.verdict = Some(finding.verdict.as_str());
        self.rule = finding.row.map(zten::rules::Row::id);
    }

    /// Records why the file was not checked, as one word for `error`, such as `deadline`.
    pub(super) fn lost(&mut self, error: &JobError) {
        self.lost = Some(match error {
            JobError::QueueFull | JobError::Waited(_) => "busy",
            JobError::NotStarted(_) | JobError::NotConfined(_) => "not-started",
            JobError::Deadline(_) => "deadline",
            JobError::Ended(Ending::ForbiddenCall) => "forbidden-call",
            JobError::Ended(Ending::ProcessorTime) => "processor-time",
            JobError::Ended(Ending::Aborted) => "aborted",
            JobError::Ended(Ending::Signal(_)) => "killed",
            JobError::Ended(_) => "ended",
            JobError::Answer(_) => "answer",
            _ => "failed",
        });
    }

    /// Notes the status and the duration of the request.
    pub(super) fn ended(&mut self, status: StatusCode, time: Duration) {
        self.status = status.as_u16();
        self.seconds = time.as_secs_f64();
    }
}

/// The destination of the log.
pub(super) struct Log(Mutex<Box<dyn Write + Send>>);

impl Log {
    pub(super) fn new(out: impl Write + Send + 'static) -> Self {
        Self(Mutex::new(Box::new(out)))
    }

    /// Writes `record` to the log as a line of JSON. Errors are ignored, because the service can run without its log.
    pub(super) fn write(&self, record: &Record) {
        let mut line = Vec::new();
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Each line is written by one call, because other processes may write to the same file.
        let _ = json::to_line(&mut line, record).and_then(|()| out.write_all(&line));
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").finish_non_exhaustive()
    }
}
