//! Handles `PUT` and `POST` of `/check/NAME` and `/check`, whose body is the file.

use std::borrow::Cow;
use std::path::{Component, Path};
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Response, StatusCode};
use percent_encoding::percent_decode_str;
use tokio::time::timeout;
use zten::finding::Finding;

use super::upload::{self, Failure};
use super::{HttpFront, reply};
use crate::service::{Loss, Verdict};

impl HttpFront {
    /// Receives the file `body`, has a worker check it, and answers with the report. `name` is percent-encoded, and may be
    /// empty.
    pub(super) async fn check(&self, name: &str, body: Incoming) -> Response<Full<Bytes>> {
        let Some(name) = decode(name) else {
            return reply::failed(StatusCode::BAD_REQUEST, reply::NAME);
        };
        if upload::is_too_large(&body, self.quota.size) {
            return self.not_taken(&Failure::TooLarge);
        }
        let Some(place) = self.place().await else {
            return reply::busy("too many files are being checked");
        };
        let file = match timeout(self.quota.body, upload::receive(body, self.quota.size)).await {
            Ok(Ok(file)) => file,
            Ok(Err(failure)) => return self.not_taken(&failure),
            Err(_) => {
                return reply::failed(
                    StatusCode::REQUEST_TIMEOUT,
                    "the upload exceeded the time limit",
                );
            }
        };
        let worker = timeout(self.quota.wait, Arc::clone(&self.workers).acquire_owned()).await;
        let Ok(Ok(worker)) = worker else {
            return reply::busy("all workers are busy");
        };
        match self.work(&name, file, [place, worker]).await {
            Ok(verdict) => answer_to(verdict),
            Err(error) => reply::busy(&format!("no worker could be started: {error}")),
        }
    }

    fn not_taken(&self, failure: &Failure) -> Response<Full<Bytes>> {
        match failure {
            Failure::TooLarge => {
                let most = self.quota.size;
                let sentence = format!("the file has more than {most} bytes");
                reply::failed(StatusCode::PAYLOAD_TOO_LARGE, &sentence)
            }
            Failure::Broken => reply::failed(StatusCode::BAD_REQUEST, "the upload is incomplete"),
            Failure::Memory(error) => reply::busy(&format!("out of memory for the file: {error}")),
        }
    }
}

/// Returns the percent-encoded name of the file in `path`, which is empty for `/check`. Returns `None` if the path does not
/// accept a file.
pub(super) fn name_in(path: &str) -> Option<&str> {
    match path.strip_prefix("/check")? {
        "" => Some(""),
        rest => rest.strip_prefix('/'),
    }
}

/// Decodes the percent-encoded `name`. Returns `None` if it is not the name of a file in a folder, or too long.
fn decode(name: &str) -> Option<Cow<'_, str>> {
    let name = percent_decode_str(name).decode_utf8().ok()?;
    let mut parts = Path::new(&*name).components();
    let own = matches!(parts.next(), Some(Component::Normal(own)) if own == &*name);
    let is_name = own && name.len() <= 255 && !name.contains('\0');
    (name.is_empty() || is_name).then_some(name)
}

fn answer_to(verdict: Verdict) -> Response<Full<Bytes>> {
    match verdict {
        Verdict::Valid(model) => reply::valid(&model.facts),
        Verdict::Rejected(rejection) => reply::found(&Finding::from(rejection)),
        Verdict::Lost(how) => {
            let status = match how {
                Loss::Time => StatusCode::GATEWAY_TIMEOUT,
                Loss::Ended(_) | Loss::Answer(_) => StatusCode::INTERNAL_SERVER_ERROR,
            };
            reply::failed(status, &format!("the worker is lost: {how}"))
        }
    }
}
