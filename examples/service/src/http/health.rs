//! Handles `GET /health`, which has a worker check an empty file to see whether that works.

use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Response, StatusCode};
use serde::Serialize;
use tokio::time::timeout;
use zten::json::Schema;
use zten_worker::JobError;

use super::{HttpFront, reply, upload};
use crate::Checked;

/// The time limit for a health check, in which a free worker checks an empty file. A few milliseconds are normal.
const PATIENCE: Duration = Duration::from_secs(2);

impl HttpFront {
    /// Answers whether files can be checked. If all workers are busy, or the check takes longer than [`PATIENCE`], the answer is
    /// `busy`, with status 200. If a check fails, the answer is `failing`, with status 503.
    pub(super) async fn health(&self) -> Response<Full<Bytes>> {
        let load = self.service.load();
        if load.running >= load.workers {
            return health("busy", None);
        }
        let ticket = match upload::nothing(&self.quota.spool) {
            Ok(file) => self.service.submit("", file),
            Err(error) => {
                return health("failing", Some(&format!("no file can be stored: {error}")));
            }
        };
        let answer = match ticket {
            // Another file may have taken the last worker since the load was read, and may keep it for long.
            Ok(ticket) => match timeout(PATIENCE, ticket).await {
                Ok(answer) => answer,
                Err(_) => return health("busy", None),
            },
            Err(error) => Err(error),
        };
        match answer.and_then(|answer| self.service.parse(&answer)) {
            // The check works if the empty file is rejected by a rule.
            Ok(Checked::Rejected { finding, .. }) if finding.row.is_some() => health("ok", None),
            Ok(Checked::Rejected { finding, .. }) => health("failing", Some(&finding.sentence)),
            Ok(Checked::Valid { .. }) => {
                health("failing", Some("a worker called an empty file valid"))
            }
            Err(JobError::QueueFull | JobError::Waited(_)) => health("busy", None),
            Err(error) => health("failing", Some(&error.to_string())),
        }
    }
}

#[derive(Serialize)]
struct Health<'a> {
    schema: Schema,
    status: &'a str,
    message: Option<&'a str>,
}

fn health(status: &str, message: Option<&str>) -> Response<Full<Bytes>> {
    let code = match message {
        None => StatusCode::OK,
        Some(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    reply::document(code, &Health { schema: Schema, status, message })
}
