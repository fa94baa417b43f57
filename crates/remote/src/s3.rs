//! Access to S3: the endpoint, the region and the credentials.

use std::fmt;
use std::time::Duration;

use http::{Response, StatusCode};
use rusty_s3::{Bucket, Credentials, S3Action as _, UrlStyle};
use url::Url;

use crate::credentials::{Profile, profile};
use crate::error::RemoteError;
use crate::name::{NameError, encoded, has_tls};
use crate::response::single;

/// The time for which a signed URL is valid. A request takes less time, and a signature that leaks should not work for long.
const VALID: Duration = Duration::from_secs(15 * 60);

/// The largest length in bytes of the name of a region that a server sends. The names of AWS have at most 14 bytes.
const LONGEST_REGION: usize = 32;

/// The endpoint, region and credentials of S3. Without credentials, requests are not signed, which works for public buckets.
#[derive(Clone)]
pub struct S3Access {
    endpoint: Option<Url>,
    region: String,
    credentials: Option<Credentials>,
}

impl Default for S3Access {
    fn default() -> Self {
        Self { endpoint: None, region: "us-east-1".to_owned(), credentials: None }
    }
}

/// Formats the region, and whether requests are signed. Secrets are left out.
impl fmt::Debug for S3Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Access")
            .field("region", &self.region)
            .field("signs", &self.credentials.is_some())
            .finish_non_exhaustive()
    }
}

impl S3Access {
    /// Reads the region from the environment variable `AWS_REGION` or `AWS_DEFAULT_REGION`, the endpoint from
    /// `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL`, and the credentials from `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and
    /// `AWS_SESSION_TOKEN`. Reads a region or endpoint that is missing there, and all credentials if `AWS_ACCESS_KEY_ID` is
    /// missing, from the profile that `AWS_PROFILE` names, or the profile `default`, in the files `~/.aws/credentials` and
    /// `~/.aws/config`, or in the files that `AWS_SHARED_CREDENTIALS_FILE` and `AWS_CONFIG_FILE` name. A file that does not
    /// exist has no settings, and an empty setting counts as missing.
    ///
    /// # Errors
    /// [`RemoteError::Setting`] if a setting is invalid, or a file exists and cannot be read or is longer than 1 MiB;
    /// [`RemoteError::Name`] if the endpoint begins with `https://` and this package was built without TLS.
    pub fn from_environment() -> Result<Self, RemoteError> {
        Self::from_variables(&|name| std::env::var(name).ok())
    }

    fn from_variables(given: &impl Fn(&str) -> Option<String>) -> Result<Self, RemoteError> {
        // An empty variable counts as missing, because a shell script unsets a variable for a command by `NAME= command`.
        let variable = &|name: &str| given(name).filter(|value| !value.is_empty());
        let profile = profile(variable).map_err(|_| RemoteError::Setting("AWS_PROFILE"))?;
        let setting = |variables: &[&str], key: &str| {
            let given = variables.iter().find_map(|name| variable(name));
            given.or_else(|| profile.get(key).cloned())
        };
        let region = setting(&["AWS_REGION", "AWS_DEFAULT_REGION"], "region");
        let region = region.unwrap_or_else(|| Self::default().region);
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if !region.bytes().all(fits) {
            return Err(RemoteError::Setting("AWS_REGION"));
        }
        let endpoint = setting(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"], "endpoint_url");
        let endpoint = endpoint.map(|text| endpoint_url(&text)).transpose()?;
        Ok(Self { endpoint, region, credentials: credentials(variable, &profile)? })
    }

    /// Returns the region of the bucket, if `response` says that the bucket is in another region than the one that the request was
    /// sent to. S3 then redirects without a target (301) or rejects the signature (400), and names the region in a header. Fails if
    /// the header occurs more than once with different values.
    pub(crate) fn other_region<B>(
        &self,
        response: &Response<B>,
    ) -> Result<Option<String>, RemoteError> {
        let status = response.status();
        if !status.is_redirection() && status != StatusCode::BAD_REQUEST {
            return Ok(None);
        }
        let region = single(response.headers(), "x-amz-bucket-region")?;
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        // The region becomes a part of a message, so nothing else that a server may send is accepted.
        let region = region.and_then(|region| region.to_str().ok()).filter(|region| {
            (1..=LONGEST_REGION).contains(&region.len()) && region.bytes().all(fits)
        });
        Ok(region.filter(|region| *region != self.region).map(str::to_owned))
    }

    /// Returns the URL of the object `key` in `bucket`, signed if there are credentials. Fails if the key cannot be the path of a
    /// URL unchanged, or the endpoint cannot be used.
    pub(crate) fn url(&self, bucket: &str, key: &str) -> Result<Url, RemoteError> {
        let unusable = RemoteError::Setting("AWS_ENDPOINT_URL");
        let (endpoint, style) = if let Some(endpoint) = &self.endpoint {
            (endpoint.clone(), UrlStyle::Path)
        } else {
            let host = format!("https://s3.{}.amazonaws.com", self.region);
            // The wildcard certificate of `*.s3.REGION.amazonaws.com` does not cover a bucket name with a dot.
            let style = if bucket.contains('.') { UrlStyle::Path } else { UrlStyle::VirtualHost };
            (endpoint_url(&host)?, style)
        };
        let region = self.region.clone();
        let Ok(bucket) = Bucket::new(endpoint, style, bucket.to_owned(), region) else {
            return Err(unusable);
        };
        // Joins the key to the URL of the bucket as a relative URL, and checks that the result has exactly the key as its
        // path: no part of the key may become a host, another path or a query.
        let steps: Vec<_> = key.split('/').map(encoded).collect();
        let (base, path) = (bucket.base_url(), steps.join("/"));
        let is_meant = |url: &Url| {
            url.origin() == base.origin() && url.path().strip_prefix(base.path()) == Some(&path)
        };
        if !bucket.object_url(key).is_ok_and(|url| is_meant(&url)) {
            return Err(RemoteError::Name(NameError::Key));
        }
        let mut url = bucket.get_object(self.credentials.as_ref(), key).sign(VALID);
        if url.query() == Some("") {
            url.set_query(None);
        }
        Ok(url)
    }
}

/// Parses `text`, the URL of an S3 server. A URL with a user or a password, or with another scheme than http and https, is an
/// error. So is https in a build without TLS.
fn endpoint_url(text: &str) -> Result<Url, RemoteError> {
    let url = Url::parse(text).ok().filter(|url| ["http", "https"].contains(&url.scheme()));
    let url = url.filter(|url| url.username().is_empty() && url.password().is_none());
    let url = url.ok_or(RemoteError::Setting("AWS_ENDPOINT_URL"))?;
    has_tls(&url)?;
    Ok(url)
}

/// Returns the credentials from the environment variables, or else from the profile, or `None` if neither has a key id. A key id
/// without a secret key is an error. The key id, the secret key and the session token come from the same source, because those of
/// two sources do not belong together.
fn credentials(
    variable: &impl Fn(&str) -> Option<String>,
    profile: &Profile,
) -> Result<Option<Credentials>, RemoteError> {
    let entry = |key: &str| profile.get(key).cloned();
    let (key, secret, token) = match variable("AWS_ACCESS_KEY_ID") {
        Some(key) => (key, variable("AWS_SECRET_ACCESS_KEY"), variable("AWS_SESSION_TOKEN")),
        None => match entry("aws_access_key_id") {
            Some(key) => (key, entry("aws_secret_access_key"), entry("aws_session_token")),
            None => return Ok(None),
        },
    };
    let secret = secret.ok_or(RemoteError::Setting("AWS_SECRET_ACCESS_KEY"))?;
    Ok(Some(match token {
        Some(token) => Credentials::new_with_token(key, secret, token),
        None => Credentials::new(key, secret),
    }))
}

#[cfg(test)]
mod tests {
    use zten_testkit::server::{Reply, Server};

    use super::*;
    use crate::{RemoteFile, RemoteName, RemoteOptions};

    fn access(variables: &[(&str, &str)]) -> Result<S3Access, RemoteError> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        S3Access::from_variables(&variable)
    }

    #[test]
    fn requests_are_signed_and_secrets_not_shown() {
        let variables = [
            ("AWS_ACCESS_KEY_ID", "identity"),
            ("AWS_SECRET_ACCESS_KEY", "hidden-secret"),
            ("AWS_SESSION_TOKEN", "hidden-token"),
            ("AWS_ENDPOINT_URL", "http://localhost:5000"),
        ];
        let access = access(&variables).unwrap();
        let url = access.url("bucket", "a b/c").unwrap();
        assert_eq!((url.path(), url.port()), ("/bucket/a%20b/c", Some(5000)));
        let query = url.query().unwrap();
        assert!(query.contains("X-Amz-Signature=") && query.contains("hidden-token"), "{query}");
        assert!(!query.contains("hidden-secret"));
        // Keys that would lead to another bucket or server.
        for key in ["/other/a", "//other/a", "a/../../b", "..", "./a", "a/."] {
            let error = access.url("bucket", key).unwrap_err();
            assert!(matches!(error, RemoteError::Name(NameError::Key)), "{key}: {error:?}");
        }
        for (key, path) in [("a?#%2e+\u{e4}\\", "a%3F%23%252e%2B%C3%A4%5C"), ("a//b:c", "a//b%3Ac")]
        {
            let url = access.url("bucket", key).unwrap();
            assert_eq!(url.path(), format!("/bucket/{path}"));
        }
        let debug = format!("{access:?}");
        assert!(!debug.contains("hidden") && !debug.contains("identity"), "{debug}");
    }

    #[test]
    fn public_buckets_need_no_credentials() {
        let access = access(&[("AWS_ENDPOINT_URL_S3", "http://h")]).unwrap();
        assert_eq!(access.url("bucket", "k").unwrap().as_str(), "http://h/bucket/k");
    }

    #[test]
    fn empty_settings_count_as_missing() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().to_str().unwrap();
        std::fs::create_dir(folder.path().join(".aws")).unwrap();
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(".aws").join(name), text).unwrap();
        };
        write("config", "[default]\nregion =\nendpoint_url = http://h\n");
        write("credentials", "[default]\naws_access_key_id =\naws_secret_access_key =\n");
        let empty = [
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "AWS_REGION",
            "AWS_ENDPOINT_URL",
            "AWS_PROFILE",
            "AWS_CONFIG_FILE",
        ];
        let mut variables: Vec<_> = empty.iter().map(|name| (*name, "")).collect();
        variables.push(("HOME", home));
        let unsigned = access(&variables).unwrap();
        assert_eq!(unsigned.region, "us-east-1");
        assert_eq!(unsigned.url("bucket", "k").unwrap().as_str(), "http://h/bucket/k");
        write(
            "credentials",
            "[default]\naws_access_key_id=k\naws_secret_access_key=s\naws_session_token =\n",
        );
        let signed = access(&variables).unwrap().url("bucket", "k").unwrap();
        let query = signed.query().unwrap();
        assert!(query.contains("X-Amz-Signature=") && !query.contains("Security-Token"), "{query}");
    }

    #[test]
    fn a_bucket_in_another_region_is_named() {
        for (status, region, expected) in [
            (301, "eu-west-1", Some("eu-west-1")),
            (307, "eu-west-1", Some("eu-west-1")),
            (400, "eu-west-1", Some("eu-west-1")),
            (301, "us-east-1", None),
            (301, "EU west: run this", None),
            (301, "", None),
            (403, "eu-west-1", None),
        ] {
            let server = Server::start(move |_, _| {
                Reply::status(status).with("x-amz-bucket-region", region)
            });
            let endpoint = format!("http://127.0.0.1:{}", server.port);
            let options =
                RemoteOptions::default().s3(access(&[("AWS_ENDPOINT_URL", &endpoint)]).unwrap());
            let name = RemoteName::parse("s3://bucket/key").unwrap();
            let error = RemoteFile::open(&name, &options).unwrap_err();
            match (&error, expected) {
                (RemoteError::OtherRegion(found), Some(expected)) => assert_eq!(found, expected),
                (RemoteError::Redirect | RemoteError::Denied(403), None) => {}
                _ => panic!("{status} {region}: {error:?}"),
            }
            assert_eq!(server.asked().len(), 1, "the same request would fail again");
        }
        let error = RemoteError::OtherRegion("eu-west-1".to_owned());
        assert_eq!(
            error.to_string(),
            "the bucket is in the region eu-west-1: set AWS_REGION to it"
        );
    }

    #[test]
    fn invalid_settings_are_rejected() {
        for (variables, setting) in [
            (&[("AWS_ACCESS_KEY_ID", "k")][..], "AWS_SECRET_ACCESS_KEY"),
            (&[("AWS_REGION", "a/b")], "AWS_REGION"),
            (&[("AWS_ENDPOINT_URL", "ftp://h")], "AWS_ENDPOINT_URL"),
            (&[("AWS_ENDPOINT_URL", "http://u:p@h")], "AWS_ENDPOINT_URL"),
        ] {
            let error = access(variables).unwrap_err();
            assert!(matches!(error, RemoteError::Setting(name) if name == setting), "{error}");
        }
    }
}
