//! Makes the answers to requests, each of which is one JSON document.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use serde::Serialize;
use zten::finding::{Finding, Verdict};
use zten::json;
use zten_report::check::{Report, Valid};

pub(super) const TWO_LENGTHS: &str =
    "the body has both Content-Length and Transfer-Encoding; send one of them";
pub(super) const ENCODED: &str = "unsupported Transfer-Encoding: expected chunked alone";
pub(super) const QUERY: &str = "unexpected query: no path takes one";
pub(super) const NAME: &str = "invalid file name: expected at most 255 bytes of UTF-8 without \"/\" and zeros, percent-encoded";
pub(super) const NO_PATH: &str =
    "no such path; expected PUT or POST of /check or /check/NAME, or GET of /health or /metrics";

/// The value of the header `Retry-After`: the client may try again after this many seconds.
const LATER: HeaderValue = HeaderValue::from_static("1");

/// Returns the answer for a valid file.
pub(super) fn valid(format: &str, summary: &str, notes: &[Finding]) -> Response<Full<Bytes>> {
    let valid = Valid { verdict: Verdict::Valid, format, message: summary, notes };
    document(StatusCode::OK, &Report::valid(&valid))
}

/// Returns the answer for a file that was rejected or could not be read.
pub(super) fn rejected(
    finding: &Finding,
    more: Option<u64>,
    notes: &[Finding],
) -> Response<Full<Bytes>> {
    let status = match finding.verdict {
        Verdict::Error => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::OK,
    };
    document(status, &Report::found(finding, more).with_notes(notes))
}

/// Returns the HTTP response for a file that was not checked. `sentence` is the reason.
pub(super) fn failed(status: StatusCode, sentence: &str) -> Response<Full<Bytes>> {
    let finding = Finding::new(Verdict::Error, sentence.to_owned());
    document(status, &Report::found(&finding, None))
}

/// Returns the HTTP response for a client that may ask again later, because the service is busy.
pub(super) fn busy(sentence: &str) -> Response<Full<Bytes>> {
    let mut reply = failed(StatusCode::SERVICE_UNAVAILABLE, sentence);
    reply.headers_mut().insert(RETRY_AFTER, LATER);
    reply
}

/// Returns the answer that rejects the method of a request. It names the methods that the path allows.
pub(super) fn not_allowed(methods: &'static str) -> Response<Full<Bytes>> {
    let sentence = format!("method not allowed; this path takes {methods}");
    let mut reply = failed(StatusCode::METHOD_NOT_ALLOWED, &sentence);
    reply.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    reply
}

/// Returns an HTTP response whose body is `text`, the metrics in the text format of Prometheus.
pub(super) fn text(text: String) -> Response<Full<Bytes>> {
    const KIND: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    let mut reply = Response::new(Full::new(Bytes::from(text)));
    reply.headers_mut().insert(CONTENT_TYPE, KIND);
    reply
}

/// Returns an HTTP response whose body is `document` as JSON.
pub(super) fn document(status: StatusCode, document: &impl Serialize) -> Response<Full<Bytes>> {
    let mut text = Vec::new();
    // Writing to a vector does not fail.
    let _ = json::to_line(&mut text, document);
    let mut reply = Response::new(Full::new(Bytes::from(text)));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}
