//! What is answered: always one document of JSON.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use serde::Serialize;
use zten_report::finding::{Finding, Report, Valid, Verdict};
use zten_report::json;

use crate::answer::Facts;

/// Seconds.
const LATER: HeaderValue = HeaderValue::from_static("1");

/// The file is valid.
pub(super) fn valid(facts: &Facts) -> Response<Full<Bytes>> {
    let Facts { format, summary, .. } = facts;
    let valid = Valid { verdict: Verdict::Valid, format, message: summary };
    document(StatusCode::OK, &Report::valid(&valid))
}

/// Something is wrong with the file, or it could not be read.
pub(super) fn found(finding: &Finding) -> Response<Full<Bytes>> {
    let status = match finding.verdict {
        Verdict::Error => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::OK,
    };
    document(status, &Report::found(finding, None))
}

/// Nothing is known of the file, and why.
pub(super) fn failed(status: StatusCode, sentence: &str) -> Response<Full<Bytes>> {
    let finding = Finding::new(Verdict::Error, sentence.to_owned());
    document(status, &Report::found(&finding, None))
}

/// It may be asked again later.
pub(super) fn busy(sentence: &str) -> Response<Full<Bytes>> {
    let mut reply = failed(StatusCode::SERVICE_UNAVAILABLE, sentence);
    reply.headers_mut().insert(RETRY_AFTER, LATER);
    reply
}

/// There is one method for that path.
pub(super) fn not_allowed(method: &'static str) -> Response<Full<Bytes>> {
    let mut reply = failed(StatusCode::METHOD_NOT_ALLOWED, "there is another method for that path");
    reply.headers_mut().insert(ALLOW, HeaderValue::from_static(method));
    reply
}

/// A document.
pub(super) fn document(status: StatusCode, document: &impl Serialize) -> Response<Full<Bytes>> {
    let mut text = Vec::new();
    // Memory takes all that is written.
    let _ = json::to_line(&mut text, document);
    let mut reply = Response::new(Full::new(Bytes::from(text)));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}
