//! Handles `GET /health`, which starts and confines a worker to see whether that works.

use std::sync::Arc;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Response, StatusCode};
use serde::Serialize;
use zten::json::Schema;

use super::{HttpFront, reply, upload};
use crate::answer::{Rejection, Want};
use crate::service::{Service, Verdict};

impl HttpFront {
    /// Answers whether files can be checked. If all workers are busy, the answer is `busy`, with status 200.
    pub(super) async fn health(&self) -> Response<Full<Bytes>> {
        let Ok(worker) = Arc::clone(&self.workers).try_acquire_owned() else {
            return health("busy", None);
        };
        let verdict = match upload::nothing() {
            Ok(file) => self.work("", file, worker).await,
            Err(error) => Err(error),
        };
        match healthy(verdict) {
            Ok(()) => health("ok", None),
            Err(why) => health("failing", Some(&why)),
        }
    }
}

/// Checks that a worker of `service` can be started and confined.
///
/// # Errors
/// The reason as a sentence.
pub fn probe(service: &Service) -> Result<(), String> {
    healthy(upload::nothing().and_then(|file| service.check(file, Want::Verdict)))
}

/// Checks that `verdict`, on an empty file, is that the file breaks a rule: a healthy worker finds that.
///
/// # Errors
/// The reason why the worker is not healthy, as a sentence.
fn healthy(verdict: std::io::Result<Verdict>) -> Result<(), String> {
    match verdict {
        Ok(Verdict::Rejected(Rejection { rule: Some(_), .. })) => Ok(()),
        Ok(Verdict::Rejected(rejection)) => Err(rejection.sentence),
        Ok(Verdict::Valid(_)) => Err("a worker finds an empty file valid".to_owned()),
        Ok(Verdict::Lost(how)) => Err(format!("a worker is lost: {how}")),
        Err(error) => Err(format!("no worker can be started: {error}")),
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
