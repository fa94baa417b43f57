//! Handles `GET /metrics`: counters in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use zten_worker::Load;

use super::log::Record;

/// The upper bounds, in seconds, of the buckets of the histogram of how long requests take whose file is checked. The upload
/// counts.
const BUCKETS: [f64; 8] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 60.0];

/// The counts of requests, verdicts, failures and bytes since the service started.
#[derive(Debug, Default)]
pub(super) struct Metrics(Mutex<Counters>);

#[derive(Debug, Default)]
struct Counters {
    requests: BTreeMap<u16, u64>,
    verdicts: BTreeMap<&'static str, u64>,
    lost: BTreeMap<&'static str, u64>,
    bytes: u64,
    /// For each of the [`BUCKETS`], the number of requests with a checked file that took at most that many seconds, including the
    /// upload.
    within: [u64; BUCKETS.len()],
    checks: u64,
    seconds: f64,
}

impl Metrics {
    fn lock(&self) -> MutexGuard<'_, Counters> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request and its result.
    pub(super) fn count(&self, record: &Record) {
        let mut counters = self.lock();
        *counters.requests.entry(record.status).or_default() += 1;
        counters.bytes = counters.bytes.saturating_add(record.bytes);
        if let Some(lost) = record.lost {
            *counters.lost.entry(lost).or_default() += 1;
        }
        if let Some(verdict) = record.verdict {
            *counters.verdicts.entry(verdict).or_default() += 1;
            counters.checks += 1;
            counters.seconds += record.seconds;
            for (within, bound) in counters.within.iter_mut().zip(BUCKETS) {
                *within += u64::from(record.seconds <= bound);
            }
        }
    }

    /// Returns all metrics in the text format of Prometheus.
    pub(super) fn text(&self, load: Load) -> String {
        let counters = self.lock();
        let mut text = String::new();
        let mut metric = |name: &str, kind: &str, help: &str, values: &[(String, String)]| {
            // Writing to a string does not fail.
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (labels, value) in values {
                let _ = writeln!(text, "{name}{labels} {value}");
            }
        };
        let labeled = |label: &str, counted: &mut dyn Iterator<Item = (String, u64)>| {
            let labels = |(value, count): (String, u64)| {
                (format!("{{{label}=\"{value}\"}}"), count.to_string())
            };
            counted.map(labels).collect::<Vec<_>>()
        };
        let named = |counted: &BTreeMap<&str, u64>| {
            counted.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect::<Vec<_>>()
        };
        let alone = |value: String| vec![(String::new(), value)];
        let requests = counters.requests.iter().map(|(status, count)| (status.to_string(), *count));
        metric(
            "zten_requests_total",
            "counter",
            "Answered requests by HTTP status.",
            &labeled("status", &mut requests.into_iter()),
        );
        metric(
            "zten_checks_total",
            "counter",
            "Checked files by verdict.",
            &labeled("verdict", &mut named(&counters.verdicts).into_iter()),
        );
        metric(
            "zten_checks_lost_total",
            "counter",
            "Files that were not checked, by reason.",
            &labeled("reason", &mut named(&counters.lost).into_iter()),
        );
        metric(
            "zten_upload_bytes_total",
            "counter",
            "Bytes of files that were received.",
            &alone(counters.bytes.to_string()),
        );
        metric("zten_workers", "gauge", "Workers.", &alone(load.workers.to_string()));
        metric(
            "zten_workers_busy",
            "gauge",
            "The number of workers that are checking a file.",
            &alone(load.running.to_string()),
        );
        metric(
            "zten_files_waiting",
            "gauge",
            "Received files that wait for a worker.",
            &alone(load.waiting.to_string()),
        );
        let bounds = BUCKETS.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
        let counts = counters.within.into_iter().chain([counters.checks]);
        let mut buckets = Vec::new();
        for (bound, count) in bounds.zip(counts) {
            buckets.push((format!("_bucket{{le=\"{bound}\"}}"), count.to_string()));
        }
        buckets.push(("_sum".to_owned(), counters.seconds.to_string()));
        buckets.push(("_count".to_owned(), counters.checks.to_string()));
        metric(
            "zten_request_seconds",
            "histogram",
            "Duration in seconds, including the upload, of requests whose file was checked.",
            &buckets,
        );
        text
    }
}
