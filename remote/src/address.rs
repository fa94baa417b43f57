//! Which addresses are public, and resolving names to such alone.

use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::vec;

use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use tower_service::Service;

/// Whether an address is one of the public network.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let is_special = match address.octets() {
        // This network, shared by providers, protocols, benchmarks, reserved.
        [0 | 240..=255, ..] | [192, 0, 0, _] | [198, 18 | 19, ..] => true,
        [100, second, ..] => (64..128).contains(&second),
        _ => false,
    };
    !(is_special
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation())
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, third, fourth, fifth, sixth, high, low] = address.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    let middle = [third, fourth, fifth, sixth];
    match [first, second] {
        // An address of version 4 in one of version 6: mapped, translated, tunnelled.
        [0, 0] if middle == [0, 0, 0, 0xffff] => v4(high, low),
        [0x64, 0xff9b] if middle == [0; 4] => v4(high, low),
        [0x2002, _] => v4(second, third),
        [0x2001, 0xdb8 | 0] => false,
        // Global unicast is what has been given out.
        _ => first & 0xe000 == 0x2000,
    }
}

/// Resolves names; to public addresses alone, if that is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Resolver {
    inner: GaiResolver,
    public_only: bool,
}

impl Resolver {
    pub(crate) fn new(public_only: bool) -> Self {
        Self { inner: GaiResolver::new(), public_only }
    }
}

/// A name that has no public address.
#[derive(Debug)]
pub(crate) struct Private;

impl std::fmt::Display for Private {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a private address")
    }
}

impl std::error::Error for Private {}

impl Service<Name> for Resolver {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, io::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let (found, public_only) = (self.inner.call(name), self.public_only);
        Box::pin(async move {
            let mut addresses: Vec<SocketAddr> = found.await?.collect();
            if public_only {
                addresses.retain(|address| is_public(address.ip()));
                if addresses.is_empty() {
                    return Err(io::Error::other(Private));
                }
            }
            Ok(addresses.into_iter())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_are_public() {
        for public in ["1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:8.8.8.8"]
        {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "0.1.2.3",
            "224.0.0.1",
            "255.255.255.255",
            "192.0.2.1",
            "198.18.0.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:db8::1",
            "2001::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
    }
}
