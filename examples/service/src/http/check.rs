//! Handles `PUT` and `POST` of `/check/NAME` and `/check`, whose body is the file or a form with the file.

use std::borrow::Cow;
use std::path::{Component, Path};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response, StatusCode};
use percent_encoding::percent_decode_str;
use zten_worker::JobError;

use super::log::Record;
use super::upload::{self, Failure};
use super::{HttpFront, reply};
use crate::Checked;

impl HttpFront {
    /// Receives a file, has a worker check it, and answers with the report. `name` is percent-encoded, and may be empty.
    pub(super) async fn check(
        &self,
        name: &str,
        request: Request<Incoming>,
        record: &mut Record,
    ) -> Response<Full<Bytes>> {
        let Some(name) = percent_decode_str(name).decode_utf8().ok().filter(|name| is_name(name))
        else {
            return reply::failed(StatusCode::BAD_REQUEST, reply::NAME);
        };
        if upload::is_too_large(&request, self.quota.size) {
            return self.not_taken(&Failure::TooLarge);
        }
        let Some(_place) = self.place().await else {
            return reply::busy("too many files are being checked");
        };
        let received = upload::receive(request, &self.quota, record).await;
        let (file, own) = match received {
            Ok(received) => received,
            Err(failure) => return self.not_taken(&failure),
        };
        // The name in the URL takes precedence over the name in the form: whoever sends the request chooses the URL for this
        // service, but clients such as curl take the name in the form from the path of the file.
        let name = if name.is_empty() { Cow::Owned(own) } else { name };
        record.named(&name);
        // The ticket stands for the check that was submitted. If the client leaves, this future is dropped, and with it the
        // ticket, which cancels the check.
        let answer = match self.service.submit(&name, file) {
            Ok(ticket) => ticket.await,
            Err(error) => Err(error),
        };
        let checked = answer.and_then(|answer| self.service.parse(&answer));
        if let Err(error) = &checked {
            record.lost(error);
        }
        match checked {
            Ok(Checked::Valid { format, summary, notes }) => {
                record.valid();
                reply::valid(&format, &summary, &notes)
            }
            Ok(Checked::Rejected { finding, more, notes }) => {
                record.rejected(&finding);
                reply::rejected(&finding, more, &notes)
            }
            Err(JobError::QueueFull | JobError::Waited(_)) => reply::busy("all workers are busy"),
            Err(error @ JobError::NotStarted(_)) => reply::busy(&error.to_string()),
            Err(error @ JobError::Deadline(_)) => {
                reply::failed(StatusCode::GATEWAY_TIMEOUT, &error.to_string())
            }
            Err(error) => reply::failed(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
        }
    }

    fn not_taken(&self, failure: &Failure) -> Response<Full<Bytes>> {
        match failure {
            Failure::TooLarge => {
                let most = self.quota.size;
                let sentence = format!("the file has more than {most} bytes");
                reply::failed(StatusCode::PAYLOAD_TOO_LARGE, &sentence)
            }
            Failure::Slow => {
                let sentence =
                    "the upload took longer than the time limit, so the file was not checked";
                reply::failed(StatusCode::REQUEST_TIMEOUT, sentence)
            }
            Failure::Broken => reply::failed(
                StatusCode::BAD_REQUEST,
                "the body of the request is incomplete or invalid, so the file was not checked",
            ),
            Failure::Form(why) => reply::failed(StatusCode::BAD_REQUEST, why),
            Failure::Disk(error) => {
                let sentence = format!("the file cannot be stored: {error}");
                reply::failed(StatusCode::INSUFFICIENT_STORAGE, &sentence)
            }
        }
    }
}

/// Returns the percent-encoded name of the file in `path`, which is empty for `/check` and `/check/`. Returns `None` for any path
/// that is not `/check` and does not begin with `/check/`. Whether the name is valid is checked later.
pub(super) fn name_in(path: &str) -> Option<&str> {
    match path.strip_prefix("/check")? {
        "" => Some(""),
        rest => rest.strip_prefix('/'),
    }
}

/// Returns whether `name` is empty, or the name of a file in a folder, of at most 255 bytes and without a zero byte.
pub(super) fn is_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    let own = matches!(parts.next(), Some(Component::Normal(own)) if own == name);
    name.is_empty() || own && name.len() <= 255 && !name.contains('\0')
}
