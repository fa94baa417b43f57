//! Sending of requests, and following of redirects.

use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body_util::Empty;
use hyper::body::Incoming;
use url::{Host, Url};

use crate::address::{Policy, is_public};
use crate::connector::{HttpClient, client, failure};
use crate::error::RemoteError;
use crate::name::{Location, RemoteName, has_tls, is_read_otherwise};
use crate::options::{Redirects, RemoteOptions};
use crate::response::{Asked, Known, single};
use crate::s3::S3Access;

/// The largest number of redirects of a request.
const MOST: u32 = 5;

/// A request for bytes. If the version of the file is known, the server must answer with this version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask<'a> {
    pub(crate) asked: &'a Asked,
    pub(crate) known: Option<&'a Known>,
}

/// The sender of requests for one file.
pub(crate) struct Transport {
    name: RemoteName,
    s3: S3Access,
    redirects: Redirects,
    /// The client for the server in the name of the file, at the addresses of the first look-up.
    named: HttpClient,
    /// The client for servers that are reached by redirects.
    redirected: HttpClient,
    /// The URL to which the last request was redirected, where the next request begins.
    moved: Mutex<Option<Url>>,
}

/// Formats only the name. URLs may hold signatures.
impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}

impl Transport {
    pub(crate) fn new(name: RemoteName, options: &RemoteOptions) -> Result<Self, RemoteError> {
        let redirected = match options.redirects {
            Redirects::Public => Policy::Public,
            Redirects::Any => Policy::Any,
        };
        Ok(Self {
            name,
            s3: options.s3.clone(),
            redirects: options.redirects,
            named: client(&options.times, Policy::First(Arc::default()))?,
            redirected: client(&options.times, redirected)?,
            moved: Mutex::default(),
        })
    }

    /// Returns the name of the file.
    pub(crate) fn name(&self) -> &RemoteName {
        &self.name
    }

    /// Returns a sender of requests for the file `name`, over the same connections.
    pub(crate) fn to(&self, name: RemoteName) -> Self {
        Self {
            name,
            s3: self.s3.clone(),
            redirects: self.redirects,
            named: self.named.clone(),
            redirected: self.redirected.clone(),
            moved: Mutex::default(),
        }
    }

    /// Sends the request `ask`, follows redirects, and returns the response.
    pub(crate) async fn get(&self, ask: Ask<'_>) -> Result<Response<Incoming>, RemoteError> {
        let first = match &self.name.0 {
            Location::S3 { bucket, key } => {
                let url = self.s3.url(bucket, key)?;
                let response = send(&self.named, &url, ask).await?;
                return if location(&response)?.is_some() {
                    Err(RemoteError::Redirect)
                } else {
                    Ok(response)
                };
            }
            Location::Http(url) => url,
        };
        let moved = self.moved.lock().ok().and_then(|moved| moved.clone());
        if let Some(moved) = moved {
            let response = self.follow(first, moved, ask).await?;
            // The target of a redirect may be a signed URL that has expired. Then the request begins at the first URL again.
            let is_over = [401, 403, 404, 410].contains(&response.status().as_u16());
            if !is_over {
                return Ok(response);
            }
        }
        self.follow(first, first.clone(), ask).await
    }

    /// Sends the request to `url`, and follows redirects. `first` is the URL in the name of the file.
    async fn follow(
        &self,
        first: &Url,
        mut url: Url,
        ask: Ask<'_>,
    ) -> Result<Response<Incoming>, RemoteError> {
        for _ in 0..=MOST {
            let is_named = url.origin() == first.origin();
            let client = if is_named { &self.named } else { &self.redirected };
            let response = send(client, &url, ask).await?;
            let Some(next) = location(&response)? else {
                if let Ok(mut moved) = self.moved.lock() {
                    *moved = (url != *first).then_some(url);
                }
                return Ok(response);
            };
            url = self.allowed(first, &url, next)?;
        }
        Err(RemoteError::Redirect)
    }

    /// Returns the target `to` of a redirect from the URL `from`, if the redirect is allowed.
    fn allowed(&self, first: &Url, from: &Url, to: &HeaderValue) -> Result<Url, RemoteError> {
        let to = to.to_str().ok().filter(|to| !is_read_otherwise(to));
        let to = to.and_then(|to| from.join(to).ok());
        let mut to = to.ok_or(RemoteError::Redirect)?;
        to.set_fragment(None);
        let is_http = ["http", "https"].contains(&to.scheme());
        let is_strict = self.redirects == Redirects::Public;
        if !is_http || (is_strict && to.scheme() != first.scheme()) {
            return Err(RemoteError::RedirectScheme);
        }
        if !to.username().is_empty() || to.password().is_some() {
            return Err(RemoteError::Redirect);
        }
        // The addresses of a host name are checked by the resolver of the client.
        let address = match to.host() {
            Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
            Some(Host::Domain(_)) => None,
            None => return Err(RemoteError::Redirect),
        };
        let is_private = address.is_some_and(|address| !is_public(address));
        if is_strict && is_private && to.origin() != first.origin() {
            return Err(RemoteError::RedirectPrivate);
        }
        has_tls(&to)?;
        Ok(to)
    }
}

/// Returns the header `Location` of a redirect, or `None` if the response is not a redirect.
fn location(response: &Response<Incoming>) -> Result<Option<&HeaderValue>, RemoteError> {
    let moved = matches!(
        response.status(),
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    );
    if !moved {
        return Ok(None);
    }
    single(response.headers(), "Location")?.map(Some).ok_or(RemoteError::Redirect)
}

async fn send(
    client: &HttpClient,
    url: &Url,
    Ask { asked, known }: Ask<'_>,
) -> Result<Response<Incoming>, RemoteError> {
    let mut request = Request::get(url.as_str())
        .header(header::USER_AGENT, concat!("zten/", env!("CARGO_PKG_VERSION")))
        .header(header::ACCEPT_ENCODING, "identity");
    if let Some(range) = asked.header() {
        request = request.header(header::RANGE, range);
    }
    if let Some((name, value)) = known.and_then(|known| known.version.condition()) {
        request = request.header(name, value);
    }
    let request = request.body(Empty::<Bytes>::new());
    let request = request.map_err(|_| RemoteError::Name(crate::name::NameError::Url))?;
    client.request(request).await.map_err(|error| failure(&error))
}
