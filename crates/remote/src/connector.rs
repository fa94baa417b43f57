//! The HTTP client of this package: its connections by TCP, and with the feature `tls` by TLS, and the conversion of its errors.

use http_body_util::Empty;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::address::{Policy, Private, Resolver, Unresolved};
use crate::error::RemoteError;
use crate::options::TimeLimits;

#[cfg(feature = "tls")]
type Connector = hyper_rustls::HttpsConnector<HttpConnector<Resolver>>;
#[cfg(not(feature = "tls"))]
type Connector = HttpConnector<Resolver>;

/// The largest size in bytes of the status line and headers of a response.
const HEAD: usize = 64 << 10;
/// The largest number of idle connections to a server that are kept open for later requests.
const KEPT: usize = 8;

pub(crate) type HttpClient = Client<Connector, Empty<bytes::Bytes>>;

/// Creates an HTTP/1.1 client that connects only to addresses that `policy` allows for a host name. An address that a URL gives in
/// place of a name is not resolved, so `policy` does not see it. Of the time `limits`, the client keeps the one for making a
/// connection.
pub(crate) fn client(limits: &TimeLimits, policy: Policy) -> Result<HttpClient, RemoteError> {
    let mut tcp = HttpConnector::new_with_resolver(Resolver::new(policy));
    tcp.set_connect_timeout(Some(limits.connect));
    tcp.set_nodelay(true);
    tcp.enforce_http(false);
    let connector = secured(tcp)?;
    Ok(Client::builder(TokioExecutor::new())
        .pool_max_idle_per_host(KEPT)
        .pool_timer(TokioTimer::new())
        .http1_max_buf_size(HEAD)
        .build(connector))
}

#[cfg(not(feature = "tls"))]
#[expect(clippy::unnecessary_wraps, reason = "with TLS, it may fail")]
fn secured(tcp: HttpConnector<Resolver>) -> Result<Connector, RemoteError> {
    Ok(tcp)
}

/// Returns a connector that makes connections by `tcp`, and uses TLS for https. It trusts the root certificates of the system, or
/// those in the file `SSL_CERT_FILE` and the folder `SSL_CERT_DIR` if these environment variables are set. Fails if this processor
/// lacks instructions that the cryptography needs.
#[cfg(feature = "tls")]
fn secured(tcp: HttpConnector<Resolver>) -> Result<Connector, RemoteError> {
    use std::sync::Arc;

    if !has_instructions() {
        return Err(RemoteError::Tls(
            "this processor lacks instructions that the cryptography requires, such as those for AES",
        ));
    }
    let mut roots = rustls::RootCertStore::empty();
    // Root certificates that cannot be parsed are left out: connections that need them fail later.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls_graviola::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| tls_failure(&error))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let builder = hyper_rustls::HttpsConnectorBuilder::new().with_tls_config(config);
    Ok(builder.https_or_http().enable_http1().wrap_connector(tcp))
}

/// Returns whether this processor has the instructions that graviola, the library of cryptography, needs. The caller asks before it
/// uses the library, because graviola panics on a processor without them.
#[cfg(feature = "tls")]
fn has_instructions() -> bool {
    #[cfg(target_arch = "x86_64")]
    let has = is_x86_feature_detected!("aes")
        && is_x86_feature_detected!("pclmulqdq")
        && is_x86_feature_detected!("ssse3")
        && is_x86_feature_detected!("avx")
        && is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("adx");
    #[cfg(target_arch = "aarch64")]
    let has = std::arch::is_aarch64_feature_detected!("aes")
        && std::arch::is_aarch64_feature_detected!("pmull")
        && std::arch::is_aarch64_feature_detected!("sha2");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let has = true;
    has
}

/// Converts `error`, an error of a TLS handshake, to an error with a fixed text. The text of `error` itself is not used, because it
/// may repeat parts of a server's certificate.
#[cfg(feature = "tls")]
fn tls_failure(error: &rustls::Error) -> RemoteError {
    use rustls::{CertificateError, Error};

    RemoteError::Tls(match error {
        Error::InvalidCertificate(error) => match error {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "the certificate of the server has expired"
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "the certificate of the server is not valid yet"
            }
            CertificateError::UnknownIssuer => {
                "the certificate of the server has an issuer that is not trusted"
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "the certificate of the server is for another name"
            }
            _ => "the certificate of the server is invalid",
        },
        Error::PeerIncompatible(_) => {
            "the server supports no TLS version or cipher that zten supports"
        }
        Error::AlertReceived(_) => "the server ended the handshake with a TLS alert",
        Error::InappropriateMessage { .. }
        | Error::InappropriateHandshakeMessage { .. }
        | Error::InvalidMessage(_)
        | Error::PeerMisbehaved(_)
        | Error::PeerSentOversizedRecord
        | Error::NoCertificatesPresented
        | Error::DecryptError => "the server does not speak TLS as it should",
        _ => "no secure connection could be made",
    })
}

/// Returns the innermost of the I/O errors that are nested in `error`. `Error::source` does not lead to them.
fn innermost(mut error: &std::io::Error) -> &std::io::Error {
    while let Some(inner) = error.get_ref().and_then(|inner| inner.downcast_ref::<std::io::Error>())
    {
        error = inner;
    }
    error
}

/// Converts `error`, an error of the HTTP client, to the reason why a connection could not be made or used. Looks for the reason
/// among the sources of `error`, because the outer errors do not tell it.
pub(crate) fn failure(error: &(dyn std::error::Error + 'static)) -> RemoteError {
    let mut found = None;
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            let innermost = innermost(error);
            let custom = innermost.get_ref();
            if custom.and_then(|custom| custom.downcast_ref::<Private>()).is_some() {
                return RemoteError::RedirectPrivate;
            }
            if custom.and_then(|custom| custom.downcast_ref::<Unresolved>()).is_some() {
                return RemoteError::Unresolved;
            }
            #[cfg(feature = "tls")]
            if let Some(tls) = custom.and_then(|custom| custom.downcast_ref::<rustls::Error>()) {
                return tls_failure(tls);
            }
            found = Some(RemoteError::Connect(innermost.kind()));
        } else if let Some(error) = error.downcast_ref::<hyper::Error>() {
            // These errors say that the server closed the connection before or during its response, so the request may be repeated.
            let cut = error.is_incomplete_message() || error.is_closed() || error.is_canceled();
            let kind = std::io::ErrorKind::UnexpectedEof;
            found = if cut {
                Some(RemoteError::Connect(kind))
            } else if error.is_parse() {
                return RemoteError::Protocol;
            } else {
                found
            };
        }
        next = error.source();
    }
    found.unwrap_or(RemoteError::Connect(std::io::ErrorKind::Other))
}

#[cfg(test)]
mod reasons {
    use std::io::{Error, ErrorKind};

    use super::failure;

    #[test]
    fn messages_name_the_reason_of_a_failed_connection() {
        for (kind, said) in [
            (ErrorKind::ConnectionRefused, "the server refused the connection"),
            (ErrorKind::TimedOut, "connecting to the server timed out"),
            (ErrorKind::NetworkUnreachable, "the server is unreachable"),
            (ErrorKind::ConnectionReset, "the server reset the connection"),
            (ErrorKind::BrokenPipe, "connecting to the server failed: broken pipe"),
        ] {
            assert_eq!(failure(&Error::new(kind, Error::from(kind))).to_string(), said);
        }
    }
}

#[cfg(all(test, feature = "tls"))]
mod tests {
    use rustls::{CertificateError, Error};

    use super::*;

    #[test]
    fn certificates_are_not_repeated() {
        let presented = vec!["DnsName(\"hidden\")".to_owned(); 10_000];
        let expected = "asked.example".try_into().unwrap();
        let certificate = CertificateError::NotValidForNameContext { expected, presented };
        let error = Error::InvalidCertificate(certificate);
        assert!(error.to_string().contains("hidden"));
        // The connector returns an error of TLS nested in two I/O errors.
        let error = std::io::Error::other(std::io::Error::other(error));
        let RemoteError::Tls(sentence) = failure(&error) else { panic!("{error}") };
        assert_eq!(sentence, "the certificate of the server is for another name");
        for error in [Error::General("hidden".to_owned()), Error::DecryptError] {
            assert!(!tls_failure(&error).to_string().contains("hidden"));
        }
    }
}
