//! Which addresses a fetch may not reach, whatever name or spelling led there. Pure.
//!
//! A page, a name server or a redirect must not bring a fetch to this machine, to the network around it, or to the
//! service that tells a cloud machine its keys. Of IPv4 what the registry of special addresses lists is refused
//! (IANA, iana-ipv4-special-registry); of IPv6 all that is not global unicast (2000::/3) is, and what is special in it
//! (iana-ipv6-special-registry). An IPv6 address that carries one of IPv4 is judged by what it carries. Translation
//! behind a prefix of an operator's own (RFC 6052) looks like any other address and cannot be told.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// What an address is that a fetch may not reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// This machine.
    ThisMachine,
    /// A network of one's own.
    Private,
    /// Good on one cable only; the metadata service of most clouds is there.
    LinkLocal,
    /// The metadata service of a cloud.
    Metadata,
    /// Many at once.
    Multicast,
    /// Given to nobody, or to a purpose that no page is served for.
    Reserved,
}

impl fmt::Display for Special {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ThisMachine => "this machine",
            Self::Private => "a private network",
            Self::LinkLocal => "a link-local address, where clouds keep their keys",
            Self::Metadata => "the metadata service of a cloud",
            Self::Multicast => "a group of machines",
            Self::Reserved => "a reserved address",
        })
    }
}

/// Addresses of IPv4 that are refused: the network, the length of its prefix, and what it is.
const V4: [(Ipv4Addr, u32, Special); 17] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8, Special::ThisMachine),
    (Ipv4Addr::new(10, 0, 0, 0), 8, Special::Private),
    (Ipv4Addr::new(100, 100, 100, 200), 32, Special::Metadata),
    (Ipv4Addr::new(100, 64, 0, 0), 10, Special::Private),
    (Ipv4Addr::new(127, 0, 0, 0), 8, Special::ThisMachine),
    // Azure's, the one that lies among public addresses (learn.microsoft.com, "What is IP address 168.63.129.16").
    (Ipv4Addr::new(168, 63, 129, 16), 32, Special::Metadata),
    (Ipv4Addr::new(169, 254, 0, 0), 16, Special::LinkLocal),
    (Ipv4Addr::new(172, 16, 0, 0), 12, Special::Private),
    (Ipv4Addr::new(192, 0, 0, 0), 24, Special::Reserved),
    (Ipv4Addr::new(192, 0, 2, 0), 24, Special::Reserved),
    (Ipv4Addr::new(192, 88, 99, 0), 24, Special::Reserved),
    (Ipv4Addr::new(192, 168, 0, 0), 16, Special::Private),
    (Ipv4Addr::new(198, 18, 0, 0), 15, Special::Reserved),
    (Ipv4Addr::new(198, 51, 100, 0), 24, Special::Reserved),
    (Ipv4Addr::new(203, 0, 113, 0), 24, Special::Reserved),
    (Ipv4Addr::new(224, 0, 0, 0), 4, Special::Multicast),
    (Ipv4Addr::new(240, 0, 0, 0), 4, Special::Reserved),
];

/// Addresses of IPv6 that are refused, likewise. The first that fits counts.
const V6: [(Ipv6Addr, u32, Special); 15] = [
    (Ipv6Addr::UNSPECIFIED, 128, Special::ThisMachine),
    (Ipv6Addr::LOCALHOST, 128, Special::ThisMachine),
    (Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254), 128, Special::Metadata),
    (Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254), 128, Special::Metadata),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, Special::Private),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, Special::LinkLocal),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, Special::Private),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, Special::Multicast),
    // Protocols, Teredo (2001::/32) among them: a tunnel that ends at machines behind a router, and serves no pages.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, Special::Reserved),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, Special::Reserved),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, Special::Reserved),
    // All that is outside 2000::/3, in three parts.
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0, 0, 0), 3, Special::Reserved),
    (Ipv6Addr::new(0x4000, 0, 0, 0, 0, 0, 0, 0), 2, Special::Reserved),
    (Ipv6Addr::new(0x8000, 0, 0, 0, 0, 0, 0, 0), 2, Special::Reserved),
    (Ipv6Addr::new(0xc000, 0, 0, 0, 0, 0, 0, 0), 2, Special::Reserved),
];

/// What an address is, if a fetch may not reach it; none if it may.
pub fn special(address: IpAddr) -> Option<Special> {
    match address {
        IpAddr::V4(address) => special_v4(address),
        IpAddr::V6(address) => match carried(address) {
            Carried::Translated(inner) => special_v4(inner),
            Carried::Within(inner) => special_v4(inner).or_else(|| special_v6(address)),
            Carried::Nothing => special_v6(address),
        },
    }
}

/// Whose word an address is reached on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// It is public.
    Judgement,
    /// A person listed it.
    List,
}

/// Which of the addresses that a host has may be connected to: all of them if none is refused, else those that a
/// person listed by address and port.
///
/// # Errors
/// The first that is refused, if none is listed, and what it is.
pub(crate) fn reachable(
    addresses: &[SocketAddr],
    listed: &[SocketAddr],
) -> Result<(Vec<SocketAddr>, By), (IpAddr, Special)> {
    let is_listed = |address: &&SocketAddr| listed.iter().any(|listed| is_same(listed, address));
    let wanted: Vec<SocketAddr> = addresses.iter().filter(is_listed).copied().collect();
    if !wanted.is_empty() {
        return Ok((wanted, By::List));
    }
    // One private address among public ones is how a name is made to point inwards: the whole name is refused.
    match addresses.iter().find_map(|address| Some((address.ip(), special(address.ip())?))) {
        Some(refused) => Err(refused),
        None => Ok((addresses.to_vec(), By::Judgement)),
    }
}

fn is_same(one: &SocketAddr, other: &SocketAddr) -> bool {
    one.port() == other.port() && one.ip().to_canonical() == other.ip().to_canonical()
}

/// An address of IPv4 inside one of IPv6.
enum Carried {
    /// That is where it leads, wherever it stands.
    Translated(Ipv4Addr),
    /// It leads there by way of a tunnel, which must be a public one as well.
    Within(Ipv4Addr),
    Nothing,
}

fn carried(address: Ipv6Addr) -> Carried {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match [a, b, c, d, e, f] {
        // Mapped (RFC 4291), and the well-known prefix of translators (RFC 6052), by which a network of IPv6 alone
        // reaches every server of IPv4.
        [0, 0, 0, 0, 0, 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0] => Carried::Translated(v4(g, h)),
        // 6to4 (RFC 3056).
        [0x2002, ..] => Carried::Within(v4(b, c)),
        // ISATAP (RFC 5214), under any prefix.
        [_, _, _, _, 0 | 0x200, 0x5efe] => Carried::Within(v4(g, h)),
        _ => Carried::Nothing,
    }
}

fn special_v4(address: Ipv4Addr) -> Option<Special> {
    let is_in =
        |network: Ipv4Addr, bits: u32| (address.to_bits() ^ network.to_bits()).leading_zeros() >= bits;
    V4.iter().find(|(network, bits, _)| is_in(*network, *bits)).map(|(_, _, what)| *what)
}

fn special_v6(address: Ipv6Addr) -> Option<Special> {
    let is_in =
        |network: Ipv6Addr, bits: u32| (address.to_bits() ^ network.to_bits()).leading_zeros() >= bits;
    V6.iter().find(|(network, bits, _)| is_in(*network, *bits)).map(|(_, _, what)| *what)
}
