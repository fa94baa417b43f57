//! Public addresses, and name resolution that is restricted to permitted addresses.

use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::vec;

use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use tower_service::Service;

/// Blocks of IPv4 addresses that are not public, by their first address and prefix length: the blocks that IANA's registry of
/// special-purpose addresses (RFC 6890) does not call globally reachable, and multicast.
const RESERVED_V4: [(Ipv4Addr, u32); 15] = [
    (Ipv4Addr::UNSPECIFIED, 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    // IETF protocol assignments. Two anycast addresses in this block are globally reachable, but serve no files, so they are not
    // excepted.
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    // Relays of 6to4 (tunnels of IPv6 over IPv4), which RFC 7526 deprecates.
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // Multicast addresses, and the reserved addresses after them.
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// Blocks of IPv6 addresses within global unicast (`2000::/3`) that are not public, by their first address and prefix length.
/// Addresses outside of `2000::/3` are public only if they have a public IPv4 address embedded in them, so they need no row.
/// Neither do 6to4 addresses (`2002::/16`), which are judged by their IPv4 address.
const RESERVED_V6: [(Ipv6Addr, u32); 3] = [
    // IETF protocol assignments, and Teredo, which tunnels IPv6 over IPv4 and so may lead to private addresses. The globally
    // reachable addresses in this block serve no files, so they are not excepted.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Returns whether `address` is globally reachable. Redirects are followed to such addresses only, so that a stranger's server
/// cannot make zten send requests into a private network or to the metadata service of a cloud machine. An IPv6 address in which an
/// IPv4 address is embedded (mapped, NAT64 with the prefix `64:ff9b::/96`, or 6to4) is public if the IPv4 address is.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let is_within = |(first, bits): &(Ipv4Addr, u32)| {
        (first.to_bits() ^ address.to_bits()).leading_zeros() >= *bits
    };
    !RESERVED_V4.iter().any(is_within)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // An IPv4 address embedded in an IPv6 address: mapped, translated (NAT64), or tunneled (6to4).
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => v4(high, low),
        [first, ..] => {
            let is_within = |(first, bits): &(Ipv6Addr, u32)| {
                (first.to_bits() ^ address.to_bits()).leading_zeros() >= *bits
            };
            first & 0xe000 == 0x2000 && !RESERVED_V6.iter().any(is_within)
        }
    }
}

/// The rule that decides to which of the addresses that a host name resolves to a client may connect.
#[derive(Clone, Debug)]
pub(crate) enum Policy {
    /// The client may connect to any address to which the host name resolves.
    Any,
    /// A client may connect to public addresses only, and not to private, local or reserved ones.
    Public,
    /// A client, which talks to one server only, may connect to the addresses of the first DNS answer only. Later answers are
    /// ignored, so a server that was public at first cannot move to a private address later (DNS rebinding). If the first answer
    /// mixes public and private addresses, the private ones are dropped.
    First(Arc<OnceLock<Vec<SocketAddr>>>),
}

impl Policy {
    /// Returns those of `addresses`, the addresses in one DNS answer, to which this policy allows connections. Returns `None` if it
    /// allows none of them. If [`First`](Self::First) has an earlier answer already, the addresses of that answer are returned
    /// instead.
    fn allowed(&self, mut addresses: Vec<SocketAddr>) -> Option<Vec<SocketAddr>> {
        let is_strict = match self {
            Self::Any => false,
            Self::Public => true,
            Self::First(_) => addresses.iter().any(|address| is_public(address.ip())),
        };
        if is_strict {
            addresses.retain(|address| is_public(address.ip()));
        }
        match self {
            _ if addresses.is_empty() => None,
            // Two requests may resolve the name at the same time. The first of the two answers counts for both requests.
            Self::First(first) => Some(first.get_or_init(|| addresses).clone()),
            Self::Any | Self::Public => Some(addresses),
        }
    }
}

/// A resolver of host names that returns only the addresses that its policy allows.
#[derive(Clone, Debug)]
pub(crate) struct Resolver<R = GaiResolver> {
    inner: R,
    policy: Policy,
}

impl Resolver {
    pub(crate) fn new(policy: Policy) -> Self {
        Self { inner: GaiResolver::new(), policy }
    }
}

/// The error that a host name could not be resolved to an address. The message of the system is dropped, because it may repeat
/// bytes that a server has sent.
#[derive(Debug)]
pub(crate) struct Unresolved;

impl std::fmt::Display for Unresolved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the host name could not be resolved")
    }
}

impl std::error::Error for Unresolved {}

/// The error that a host name resolves only to addresses that the policy of the resolver forbids.
#[derive(Debug)]
pub(crate) struct Private;

impl std::fmt::Display for Private {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the host name resolves to private addresses only")
    }
}

impl std::error::Error for Private {}

impl<R> Service<Name> for Resolver<R>
where
    R: Service<Name, Response: Iterator<Item = SocketAddr>, Error = io::Error, Future: Send>,
    R::Future: 'static,
{
    type Response = vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, io::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        if let Policy::First(first) = &self.policy
            && let Some(addresses) = first.get()
        {
            let addresses = addresses.clone();
            return Box::pin(async { Ok(addresses.into_iter()) });
        }
        let (found, policy) = (self.inner.call(name), self.policy.clone());
        Box::pin(async move {
            let addresses: Vec<SocketAddr> =
                found.await.map_err(|_| io::Error::other(Unresolved))?.collect();
            // A name without any address is an error of the inner resolver, so only disallowed addresses lead here.
            let allowed = policy.allowed(addresses).ok_or_else(|| io::Error::other(Private))?;
            Ok(allowed.into_iter())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// The first and last address of each block that is not public, and whether the addresses just before and after the block
    /// are public.
    const BLOCKS: &[(&str, &str, [bool; 2])] = &[
        // The blocks of IPv4 in RFC 6890 and its updates, in the order of the registry of IANA for IPv4.
        ("0.0.0.0", "0.255.255.255", [false, true]),
        ("10.0.0.0", "10.255.255.255", [true, true]),
        ("100.64.0.0", "100.127.255.255", [true, true]),
        ("127.0.0.0", "127.255.255.255", [true, true]),
        ("169.254.0.0", "169.254.255.255", [true, true]),
        ("172.16.0.0", "172.31.255.255", [true, true]),
        ("192.0.0.0", "192.0.0.255", [true, true]),
        ("192.0.0.0", "192.0.0.7", [true, false]),
        ("192.0.0.8", "192.0.0.8", [false, false]),
        ("192.0.0.170", "192.0.0.171", [false, false]),
        ("192.0.2.0", "192.0.2.255", [true, true]),
        ("192.88.99.0", "192.88.99.255", [true, true]),
        ("192.168.0.0", "192.168.255.255", [true, true]),
        ("198.18.0.0", "198.19.255.255", [true, true]),
        ("198.51.100.0", "198.51.100.255", [true, true]),
        ("203.0.113.0", "203.0.113.255", [true, true]),
        ("224.0.0.0", "239.255.255.255", [true, false]),
        ("240.0.0.0", "255.255.255.255", [false, false]),
        ("255.255.255.255", "255.255.255.255", [false, false]),
        // The blocks of IPv6 in RFC 6890 and its updates.
        ("::", "::", [false, false]),
        ("::1", "::1", [false, false]),
        ("::2", "::ffff:ffff", [false, false]),
        ("::ffff:0:0", "::ffff:0.255.255.255", [false, true]),
        ("::ffff:10.0.0.0", "::ffff:10.255.255.255", [true, true]),
        ("::ffff:127.0.0.0", "::ffff:127.255.255.255", [true, true]),
        ("::ffff:169.254.0.0", "::ffff:169.254.255.255", [true, true]),
        ("::ffff:224.0.0.0", "::ffff:255.255.255.255", [true, false]),
        ("64:ff9b::", "64:ff9b::0.255.255.255", [false, true]),
        ("64:ff9b::127.0.0.0", "64:ff9b::127.255.255.255", [true, true]),
        ("64:ff9b::169.254.0.0", "64:ff9b::169.254.255.255", [true, true]),
        ("64:ff9b::224.0.0.0", "64:ff9b::255.255.255.255", [true, false]),
        ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", [false, false]),
        ("100::", "100::ffff:ffff:ffff:ffff", [false, false]),
        ("100:0:0:1::", "100::1:ffff:ffff:ffff:ffff", [false, false]),
        ("2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", [true, false]),
        ("2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", [true, true]),
        ("2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff", [false, false]),
        ("2001:10::", "2001:1f:ffff:ffff:ffff:ffff:ffff:ffff", [false, false]),
        ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", [true, true]),
        ("2002::", "2002:ff:ffff:ffff:ffff:ffff:ffff:ffff", [true, true]),
        ("2002:a00::", "2002:aff:ffff:ffff:ffff:ffff:ffff:ffff", [true, true]),
        ("2002:7f00::", "2002:7fff:ffff:ffff:ffff:ffff:ffff:ffff", [true, true]),
        ("2002:a9fe::", "2002:a9fe:ffff:ffff:ffff:ffff:ffff:ffff", [true, true]),
        ("2002:c058:6300::", "2002:c058:63ff:ffff:ffff:ffff:ffff:ffff", [true, true]),
        ("2002:e000::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", [true, true]),
        ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", [true, true]),
        ("5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", [false, false]),
        ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", [false, false]),
        ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", [false, false]),
        ("fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", [false, false]),
        ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", [false, false]),
        // The other addresses of IPv6 are not assigned, so they are not public.
        ("4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", [true, false]),
        ("::", "::ffff:0.255.255.255", [false, true]),
    ];

    #[test]
    fn blocks_begin_and_end_where_the_registries_say() {
        for (first, last, around) in BLOCKS {
            let (before, behind) = match (first.parse().unwrap(), last.parse().unwrap()) {
                (IpAddr::V4(first), IpAddr::V4(last)) => {
                    let at = |bits: Option<u32>| bits.map(|bits| IpAddr::V4(Ipv4Addr::from(bits)));
                    (at(first.to_bits().checked_sub(1)), at(last.to_bits().checked_add(1)))
                }
                (IpAddr::V6(first), IpAddr::V6(last)) => {
                    let at = |bits: Option<u128>| bits.map(|bits| IpAddr::V6(Ipv6Addr::from(bits)));
                    (at(first.to_bits().checked_sub(1)), at(last.to_bits().checked_add(1)))
                }
                mixed => panic!("{mixed:?}"),
            };
            for own in [first, last] {
                assert!(!is_public(own.parse().unwrap()), "{own}");
            }
            let there = [before, behind].map(|address| address.is_some_and(is_public));
            assert_eq!(there, *around, "around {first} to {last}");
        }
        for public in ["1.1.1.1", "192.31.196.1", "192.52.193.1", "192.175.48.1", "2620:4f:8000::1"]
        {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }

    /// A resolver that returns a list of answers, one after another, and then errors.
    #[derive(Clone)]
    struct Answers(Arc<Mutex<Vec<&'static [&'static str]>>>);

    impl Service<Name> for Answers {
        type Response = vec::IntoIter<SocketAddr>;
        type Error = io::Error;
        type Future = std::future::Ready<io::Result<Self::Response>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Name) -> Self::Future {
            let answer = self.0.lock().unwrap().pop().ok_or(io::ErrorKind::NotFound.into());
            let address = |text: &&str| SocketAddr::new(text.parse().unwrap(), 0);
            std::future::ready(
                answer.map(|all| all.iter().map(address).collect::<Vec<_>>().into_iter()),
            )
        }
    }

    /// Resolves a name three times by `policy`, from the `answers` of the inner resolver. Returns the addresses of each time.
    fn resolved(policy: Policy, answers: &[&'static [&'static str]]) -> Vec<Option<Vec<String>>> {
        let answers = Answers(Arc::new(Mutex::new(answers.iter().copied().rev().collect())));
        let resolver = Resolver { inner: answers, policy };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let ask = |_| {
            // The resolver is cloned with its client for each shard, and must keep the first answer.
            let asked = resolver.clone().call("name".parse().unwrap());
            let found = runtime.block_on(asked).ok()?;
            Some(found.map(|address| address.ip().to_string()).collect())
        };
        (0..3).map(ask).collect()
    }

    #[test]
    fn a_name_keeps_its_first_addresses() {
        let of = |texts: &[&str]| Some(texts.iter().map(|text| (*text).to_owned()).collect());
        let first = || Policy::First(Arc::default());
        // In `answers`, the later answers differ from the first one, which counts. In `mixed`, one answer has a private
        // and a public address, of which only the public one is used.
        let answers: &[&[&str]] = &[&["8.8.8.8"], &["169.254.169.254"], &["8.8.4.4"]];
        assert_eq!(
            resolved(first(), answers),
            [of(&["8.8.8.8"]), of(&["8.8.8.8"]), of(&["8.8.8.8"])]
        );
        let mixed: &[&[&str]] = &[&["169.254.169.254", "8.8.8.8"]];
        assert_eq!(
            resolved(first(), mixed),
            [of(&["8.8.8.8"]), of(&["8.8.8.8"]), of(&["8.8.8.8"])]
        );
        // A name that has only private addresses keeps them, because the user may name a private server.
        let private: &[&[&str]] = &[&["10.0.0.1", "::1"], &["10.0.0.2"]];
        let both = || of(&["10.0.0.1", "::1"]);
        assert_eq!(resolved(first(), private), [both(), both(), both()]);
        // After an error the name is resolved again.
        assert_eq!(resolved(first(), &[&[], &["8.8.8.8"]])[..2], [None, of(&["8.8.8.8"])]);
        assert_eq!(resolved(Policy::Public, answers), [of(&["8.8.8.8"]), None, of(&["8.8.4.4"])]);
        assert_eq!(resolved(Policy::Public, mixed)[0], of(&["8.8.8.8"]));
        assert_eq!(resolved(Policy::Any, mixed)[0], of(mixed[0]));
    }
}
