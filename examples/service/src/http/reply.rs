//! What is answered: always one document of JSON.

use std::io;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use zten_report::finding::{Finding, Valid, Verdict};
use zten_report::json::Json;

use crate::answer::Facts;

/// Seconds.
const LATER: HeaderValue = HeaderValue::from_static("1");

/// The file is valid.
pub(super) fn valid(facts: &Facts) -> Response<Full<Bytes>> {
    document(StatusCode::OK, |json| {
        let Facts { format, summary, .. } = facts;
        Valid { verdict: Verdict::Valid, format, message: summary }.json(json)
    })
}

/// Something is wrong with the file, or it could not be read.
pub(super) fn found(finding: &Finding) -> Response<Full<Bytes>> {
    let status = match finding.verdict {
        Verdict::Error => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::OK,
    };
    document(status, |json| finding.json(json, None))
}

/// Nothing is known of the file, and why.
pub(super) fn failed(status: StatusCode, sentence: &str) -> Response<Full<Bytes>> {
    let finding = Finding::new(Verdict::Error, sentence.to_owned());
    document(status, |json| finding.json(json, None))
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

/// A document with what `write` writes.
pub(super) fn document(
    status: StatusCode,
    write: impl FnOnce(&mut Json<'_, Vec<u8>>) -> io::Result<()>,
) -> Response<Full<Bytes>> {
    let mut text = Vec::new();
    // Memory takes all that is written.
    let _ = Json::document(&mut text).and_then(|mut json| {
        write(&mut json)?;
        json.close('}')?;
        json.line()
    });
    let mut reply = Response::new(Full::new(Bytes::from(text)));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}
