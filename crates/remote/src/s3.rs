//! Access to S3: the endpoint, the region and the credentials.

use std::fmt;
use std::time::Duration;

use rusty_s3::{Bucket, Credentials, S3Action as _, UrlStyle};
use url::Url;

use crate::credentials::{Profile, profile};
use crate::error::RemoteError;
use crate::name::{NameError, encoded, has_tls};

/// The time for which a signed URL is valid. Requests take less; a signature that leaks should not work for long.
const VALID: Duration = Duration::from_secs(15 * 60);

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
    /// Reads the settings from the environment (`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`,
    /// `AWS_REGION`, `AWS_DEFAULT_REGION`, `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`), and missing settings from the profile
    /// `AWS_PROFILE` of `~/.aws/credentials` and `~/.aws/config`.
    ///
    /// # Errors
    /// [`RemoteError::Setting`] if a setting is invalid.
    pub fn from_environment() -> Result<Self, RemoteError> {
        Self::from_variables(&|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn from_variables(variable: &impl Fn(&str) -> Option<String>) -> Result<Self, RemoteError> {
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

    /// Returns the URL of the object `key` in `bucket`, signed if there are credentials.
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

/// Parses the URL of an S3 server.
fn endpoint_url(text: &str) -> Result<Url, RemoteError> {
    let url = Url::parse(text).ok().filter(|url| ["http", "https"].contains(&url.scheme()));
    let url = url.filter(|url| url.username().is_empty() && url.password().is_none());
    let url = url.ok_or(RemoteError::Setting("AWS_ENDPOINT_URL"))?;
    has_tls(&url)?;
    Ok(url)
}

/// Returns the credentials from the environment, or from the profile. Both keys come from the same source, because keys of two
/// sources do not belong together.
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
    use super::*;

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
