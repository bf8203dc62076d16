//! Addresses compared as servers are told apart: by scheme, host and port. How an address is spelt, and the path
//! of its requests, are no matter. Read by the very parser that requests go by, so that no spelling is one host
//! here and another there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use reqwest::Url;

/// Whom an address reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    is_sealed: bool,
    /// In small letters, an address of IPv6 in its brackets.
    host: String,
    port: u16,
    path: String,
}

impl Address {
    /// Reads an address; none if no request could go there, or if it has a user name or a password, behind which
    /// a host can be hidden.
    pub(crate) fn read(url: &str) -> Option<Self> {
        let url = Url::parse(url.trim()).ok()?;
        let is_sealed = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        if !url.username().is_empty() || url.password().is_some() {
            return None;
        }
        let (host, port) = (url.host_str()?.to_owned(), url.port_or_known_default()?);
        Some(Self { is_sealed, host, port, path: url.path().to_ascii_lowercase() })
    }

    /// True if these are one server, asked in the same way or in the open.
    pub(crate) fn is_host_of(&self, base_url: &str) -> bool {
        let Some(known) = Self::read(base_url) else { return false };
        let usual = if self.is_sealed { known.port } else { 80 };
        self.host == known.host && self.port == usual
    }

    /// True if it is on this machine, at this port.
    pub(crate) fn is_local_port(&self, port: u16) -> bool {
        self.port == port && is_loopback(&self.host)
    }

    /// True if what goes there is sealed on its way (`https`).
    pub(crate) fn is_sealed(&self) -> bool {
        self.is_sealed
    }

    /// The last word of its path, a `v1` behind it aside; empty if there is none.
    pub(crate) fn last_word(&self) -> &str {
        let path = self.path.trim_end_matches('/');
        let path = path.strip_suffix("/v1").unwrap_or(path);
        path.rsplit('/').next().unwrap_or_default()
    }
}

/// True for an address of a server on this machine.
pub(crate) fn is_on_this_machine(url: &str) -> bool {
    Address::read(url).is_some_and(|address| is_loopback(&address.host))
}

/// Names of the machine that a container runs on (docs.docker.com, podman.io), and the ends of names that are given
/// inside a network of one's own: those of multicast DNS (RFC 6762), and of most routers.
const HOST_NAMES: [&str; 2] = ["host.docker.internal", "host.containers.internal"];
const NEAR_ENDS: [&str; 3] = [".local", ".lan", ".home.arpa"];

/// True if a host is on this machine or in a network of one's own: no vendor serves many from there, and a model may
/// run on a small computer. Told by the address alone, for nothing may be asked to find out.
pub(crate) fn is_near(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.').to_ascii_lowercase();
    match bare.parse::<IpAddr>().map(|address| address.to_canonical()) {
        Ok(IpAddr::V4(address)) => is_near_v4(address),
        Ok(IpAddr::V6(address)) => is_near_v6(address),
        // A name of one label is found in one's own network or in `/etc/hosts`, never in the public one.
        Err(_) if !bare.is_empty() && !bare.contains('.') => true,
        Err(_) => {
            is_loopback(&bare)
                || HOST_NAMES.contains(&bare.as_str())
                || NEAR_ENDS.iter().any(|end| bare.ends_with(end))
        }
    }
}

fn is_near_v4(address: Ipv4Addr) -> bool {
    address.is_loopback() || address.is_unspecified() || address.is_private() || address.is_link_local()
}

fn is_near_v6(address: Ipv6Addr) -> bool {
    address.is_loopback()
        || address.is_unspecified()
        || address.is_unique_local()
        || address.is_unicast_link_local()
}

/// True for `localhost`, names below it, and the addresses of the loopback.
pub(crate) fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let is_local_name = bare == "localhost" || bare.ends_with(".localhost");
    is_local_name || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
