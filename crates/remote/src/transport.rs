//! Sending of requests to the servers of one file, and following of redirects.

use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::header::{self, HeaderName, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body_util::Empty;
use hyper::body::Incoming;
use url::{Host, Url};

use crate::address::{Policy, is_public};
use crate::connector::{HttpClient, client, failure};
use crate::error::RemoteError;
use crate::hub::{CommitPin, HubAccess, linked_length};
use crate::name::{Location, RemoteName, has_tls, is_read_otherwise};
use crate::options::{Redirects, RemoteOptions};
use crate::response::{KnownFile, RequestedBytes, single};
use crate::s3::S3Access;

/// The largest number of redirects in a row that are followed for one request.
const MOST: u32 = 5;

/// A request for the bytes `asked`. If the version of the file is `known`, the server must answer with the same version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByteRequest<'a> {
    pub(crate) asked: &'a RequestedBytes,
    pub(crate) known: Option<&'a KnownFile>,
}

/// Sends the requests for one file, and follows redirects. The credentials are for the server in the file's name. Other servers,
/// which redirects lead to, do not get them.
pub(crate) struct Transport {
    name: RemoteName,
    s3: S3Access,
    hub: HubAccess,
    /// The commit to which requests are pinned, if the file is on the hub. Sibling files share it.
    pin: Arc<CommitPin>,
    redirects: Redirects,
    /// The client for the server in the file's name. It connects only to the addresses of the first look-up.
    named: HttpClient,
    /// The client for servers that are reached by redirects.
    redirected: HttpClient,
    /// The target of the last redirect. The next request begins there, which saves a round trip.
    moved: Mutex<Option<Target>>,
}

/// A URL to request, at the start of a chain of redirects or within one.
#[derive(Clone)]
struct Target {
    url: Url,
    /// Whether the server in the file's name chose this URL, directly or by redirects to itself. Only such requests carry
    /// the token. If another server redirects back to the first server, that request has no token: otherwise the other
    /// server could choose what the token is used for.
    is_own: bool,
}

/// The response at the end of a chain of redirects, and the request it answers.
struct Reached {
    response: Response<Incoming>,
    /// [`Target::is_own`] of the request that this response answers.
    is_own: bool,
}

/// Forgets the target of the last redirect when this value is dropped, also when the request is canceled because its time is over.
struct ForgetMoved<'m>(&'m Mutex<Option<Target>>);

impl Drop for ForgetMoved<'_> {
    fn drop(&mut self) {
        if let Ok(mut moved) = self.0.lock() {
            *moved = None;
        }
    }
}

/// Formats only the name of the file. Its URLs are left out, because they may hold signatures.
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
        let pin = match &name.0 {
            Location::Hub(name) => CommitPin::of(name),
            Location::Http(_) | Location::S3 { .. } => CommitPin::default(),
        };
        Ok(Self {
            name,
            s3: options.s3.clone(),
            hub: options.hub.clone(),
            pin: Arc::new(pin),
            redirects: options.redirects,
            named: client(&options.times, Policy::First(Arc::default()))?,
            redirected: client(&options.times, redirected)?,
            moved: Mutex::default(),
        })
    }

    /// Returns the name of the remote file to which this sender sends requests.
    pub(crate) fn name(&self) -> &RemoteName {
        &self.name
    }

    /// Returns the commit to which requests are pinned. Returns `None` if the file is not on the hub, or before the hub's first
    /// answer if the name of the file has no commit.
    pub(crate) fn commit(&self) -> Option<&str> {
        self.pin.commit()
    }

    /// Creates a sender of requests for the sibling file `name`. The new sender shares the credentials, the connections and the
    /// pinned commit of this one.
    pub(crate) fn to(&self, name: RemoteName) -> Self {
        Self {
            name,
            s3: self.s3.clone(),
            hub: self.hub.clone(),
            pin: Arc::clone(&self.pin),
            redirects: self.redirects,
            named: self.named.clone(),
            redirected: self.redirected.clone(),
            moved: Mutex::default(),
        }
    }

    /// Sends the request `ask`, follows redirects unless the file is in S3, and returns the response at their end. Begins at the
    /// target of the last redirect, if an earlier request was redirected.
    pub(crate) async fn get(
        &self,
        ask: ByteRequest<'_>,
    ) -> Result<Response<Incoming>, RemoteError> {
        let first = match &self.name.0 {
            Location::S3 { bucket, key } => {
                let url = self.s3.url(bucket, key)?;
                let response = send(&self.named, &url, &Headers::of(ask)).await?;
                if let Some(region) = self.s3.other_region(&response)? {
                    return Err(RemoteError::OtherRegion(region));
                }
                return if location(&response)?.is_some() {
                    Err(RemoteError::Redirect)
                } else {
                    Ok(response)
                };
            }
            Location::Http(url) => url.clone(),
            Location::Hub(name) => self.hub.url(name, self.pin.commit())?,
        };
        let moved = self.moved.lock().ok().and_then(|moved| moved.clone());
        if let Some(moved) = moved {
            // Unless this request is answered, `forget` drops the target of the redirect, and the next request is sent to the first
            // URL, which may redirect to another server. A request may fail, time out, or be aborted when nobody needs its bytes
            // any more.
            let forget = ForgetMoved(&self.moved);
            let reached = self.follow(&first, moved, ask).await?;
            // The target of the last redirect may be a signed URL that has expired, so the request is sent to the first URL
            // again. A storage service answers 400 if the session of the signature has expired.
            let is_over = [400, 401, 403, 404, 410].contains(&reached.response.status().as_u16());
            if !is_over {
                std::mem::forget(forget);
                return self.checked(reached);
            }
        }
        let own = Target { url: first.clone(), is_own: true };
        self.checked(self.follow(&first, own, ask).await?)
    }

    /// Returns whether the remote file is on the Hugging Face hub.
    fn is_hub(&self) -> bool {
        matches!(self.name.0, Location::Hub(_))
    }

    /// Returns the response `reached`. Responses of other servers than the hub are not checked here.
    ///
    /// # Errors
    /// The response is an answer of the hub itself, and has a status with a meaning of the hub's own (see [`HubAccess::check`]), or
    /// the commit is unknown although the status is no refusal, or 416. All other refusals are returned as responses.
    fn checked(&self, reached: Reached) -> Result<Response<Incoming>, RemoteError> {
        let Reached { response, is_own } = reached;
        if self.is_hub() && is_own {
            self.hub.check(&response)?;
            let status = response.status();
            let is_refused = status.is_client_error() || status.is_server_error();
            // Status 416 is how a server reports an empty file.
            if !is_refused || status == StatusCode::RANGE_NOT_SATISFIABLE {
                self.pin.check()?;
            }
        }
        Ok(response)
    }

    /// Sends the request `ask` to `target`, and follows redirects. `first` is the URL of the file, before any redirect.
    async fn follow(
        &self,
        first: &Url,
        mut target: Target,
        ask: ByteRequest<'_>,
    ) -> Result<Reached, RemoteError> {
        let mut headers = Headers::of(ask);
        for _ in 0..=MOST {
            let is_named = target.url.origin() == first.origin();
            let client = if is_named { &self.named } else { &self.redirected };
            let is_answer_of_hub = self.is_hub() && target.is_own;
            // The URL names the commit, which decides the content. The version that a storage server reports means nothing
            // to the hub, so the hub is not asked to compare it.
            headers.has_condition = !is_answer_of_hub;
            headers.authorization = self.hub.authorization().filter(|_| is_answer_of_hub).cloned();
            let response = send(client, &target.url, &headers).await?;
            if is_answer_of_hub {
                self.pin.compare(response.headers())?;
            }
            let Some(next) = location(&response)? else {
                let is_own = target.is_own;
                // A repetition of a request that failed begins at the first URL.
                let has_failed = response.status().is_server_error();
                if let Ok(mut moved) = self.moved.lock() {
                    *moved = (target.url != *first && !has_failed).then_some(target);
                }
                return Ok(Reached { response, is_own });
            };
            let next = self.allowed(first, &target.url, next)?;
            let is_own = target.is_own && next.origin() == first.origin();
            if is_answer_of_hub && !is_own {
                self.pin.check()?;
                // Not every storage server answers a request for the last bytes of a file (`bytes=-N`), so the range is
                // computed from the length that the hub declared.
                if let (RequestedBytes::Last(most), Some(length)) =
                    (ask.asked, linked_length(response.headers())?)
                {
                    headers.range =
                        RequestedBytes::Range(length.saturating_sub(*most)..length).header();
                }
            }
            target = Target { url: next, is_own };
        }
        Err(RemoteError::Redirect)
    }

    /// Parses `to`, the target to which the server at `from` redirects, and checks that this redirect is allowed. `first`
    /// is the URL of the file, before any redirect.
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
        // Only literal addresses are checked here. The addresses of a host name are checked by the client's resolver, after
        // the look-up.
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

/// Returns the header `Location` of a redirect, or `None` if the response is not a redirect. A redirect without this header, or
/// with several different ones, is an error.
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

/// The headers of a request that depend on the file and on the server.
struct Headers {
    range: Option<HeaderValue>,
    /// The header (`If-Match` or `If-Unmodified-Since`) that makes a server answer only with the known version of the file.
    condition: Option<(HeaderName, HeaderValue)>,
    /// Whether the next request carries `condition`.
    has_condition: bool,
    authorization: Option<HeaderValue>,
}

impl Headers {
    fn of(ByteRequest { asked, known }: ByteRequest<'_>) -> Self {
        let condition = known.and_then(|known| known.version.condition());
        Self { range: asked.header(), condition, has_condition: true, authorization: None }
    }
}

async fn send(
    client: &HttpClient,
    url: &Url,
    headers: &Headers,
) -> Result<Response<Incoming>, RemoteError> {
    let mut request = Request::get(url.as_str())
        .header(header::USER_AGENT, concat!("zten/", env!("CARGO_PKG_VERSION")))
        .header(header::ACCEPT_ENCODING, "identity");
    let Headers { range, condition, has_condition, authorization } = headers;
    if let Some(range) = range {
        request = request.header(header::RANGE, range);
    }
    if let Some((name, value)) = condition.as_ref().filter(|_| *has_condition) {
        request = request.header(name, value);
    }
    if let Some(authorization) = authorization {
        request = request.header(header::AUTHORIZATION, authorization);
    }
    let request = request.body(Empty::<Bytes>::new());
    let request = request.map_err(|_| RemoteError::Name(crate::name::NameError::Url))?;
    client.request(request).await.map_err(|error| failure(&error))
}
