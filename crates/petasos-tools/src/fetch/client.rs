//! Asks for a page: each address is judged before it is connected to, and each redirect anew.
//!
//! No proxy, no cookies, no credentials, no address that led here: nothing of this machine goes along.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};

use futures_util::future::ready;
use petasos_core::text::Text;
use reqwest::dns::{Addrs, Name, Resolving};
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, LOCATION, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, redirect};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use tokio::time::{Instant, timeout, timeout_at};
use url::{Host, Url};

use super::FetchOptions;
use super::address::{By, reachable};
use super::text::may_be_text;
use crate::output::Problem;

/// Redirects that are followed: as many as a site with a shortener, a change to https and a language needs.
const REDIRECTS: usize = 5;
/// The longest address, in bytes: what most servers take.
const LONGEST: usize = 8_000;
/// What is asked for. Some sites give the text they were made of, which reads best.
const WANTED: &str = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, \
    application/json;q=0.8, */*;q=0.5";

/// An answer, read.
#[derive(Debug)]
pub(crate) struct Fetched {
    /// Where it was, after all redirects.
    pub(crate) url: Url,
    pub(crate) status: u16,
    /// Its content type as the server told it; empty if it told none.
    pub(crate) media: String,
    pub(crate) bytes: Vec<u8>,
    /// Whether more would have come.
    pub(crate) is_cut: bool,
}

/// What asks for pages.
#[derive(Debug)]
pub(crate) struct Fetcher {
    options: FetchOptions,
    tls: OnceLock<Result<ClientConfig, String>>,
}

/// The page that is meant by an address, and its host.
pub(crate) fn target(address: &str) -> Result<(Url, Text), Problem> {
    let bad = |cause: String, hint: &str| Problem::new("no address of a page", cause, hint);
    let address = address.trim();
    if address.len() > LONGEST {
        let cause = format!("the address has {} bytes, and {LONGEST} is the most", address.len());
        return Err(bad(cause, "give the address alone, without data in it"));
    }
    let whole = "give the whole address, such as https://example.com/page";
    let mut url = Url::parse(address).map_err(|error| bad(format!("{address:?}: {error}"), whole))?;
    // What stands behind # is for who reads, and is never sent.
    url.set_fragment(None);
    let host = allowed(&url).map_err(|cause| bad(cause, whole))?;
    Ok((url, host))
}

/// The host of an address that may be asked by its looks.
fn allowed(url: &Url) -> Result<Text, String> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("{}: is no http or https, and nothing else is fetched", url.scheme()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("a name or password stands before the host, and none is ever sent".to_owned());
    }
    match url.host_str() {
        Some(host) if !host.is_empty() => Ok(host.into()),
        Some(_) | None => Err("there is no host in it".to_owned()),
    }
}

impl Fetcher {
    pub(crate) fn new(options: FetchOptions) -> Self {
        Self { options, tls: OnceLock::new() }
    }

    /// Asks for a page and follows its redirects.
    pub(crate) async fn fetch(&self, url: Url) -> Result<Fetched, Problem> {
        let until = Instant::now() + self.options.whole;
        let asked = url.clone();
        match timeout_at(until, self.follow(url)).await {
            Ok(fetched) => fetched,
            Err(_) => {
                let cause = format!("{asked} was not whole within {} s", self.options.whole.as_secs_f32());
                Err(Problem::new("too slow", cause, "try once more later, or another source"))
            }
        }
    }

    async fn follow(&self, mut url: Url) -> Result<Fetched, Problem> {
        let asked = url.clone();
        // What a person listed is there for who names it, not for whoever sends on to it.
        let mut listed = self.options.private.as_slice();
        for _ in 0..=REDIRECTS {
            let (answer, by) = self.ask(&url, listed).await?;
            match next(&answer, &url)? {
                Some(next) => {
                    url = next;
                    listed = if by == By::List { listed } else { &[] };
                }
                None => return self.read(answer, url).await,
            }
        }
        let cause = format!("{asked} sends on more than {REDIRECTS} times, at last to {url}");
        Err(Problem::new("sent on in a circle", cause, "try another address of the page"))
    }

    async fn ask(&self, url: &Url, listed: &[SocketAddr]) -> Result<(Response, By), Problem> {
        let (addresses, by) = self.addresses(url, listed).await?;
        let client = self.client(addresses).map_err(|cause| {
            Problem::new("not asked", cause, "this is a fault of the program; tell the person")
        })?;
        let request = client.get(url.clone()).header(ACCEPT, WANTED).header(ACCEPT_ENCODING, "identity");
        // Until the head of the answer is there, it is one wait.
        match timeout(self.options.connect + self.options.idle, request.send()).await {
            Ok(Ok(answer)) => Ok((answer, by)),
            Ok(Err(error)) => Err(unreached(url, &error)),
            Err(_) => {
                let waited = (self.options.connect + self.options.idle).as_secs_f32();
                let cause = format!("no answer from {url} for {waited} s");
                Err(Problem::new("too slow", cause, "try once more later, or another source"))
            }
        }
    }

    /// The addresses that the host has, all of them judged.
    async fn addresses(&self, url: &Url, listed: &[SocketAddr]) -> Result<(Vec<SocketAddr>, By), Problem> {
        let port = url.port_or_known_default().unwrap_or_default();
        let found: Vec<IpAddr> = match url.host() {
            Some(Host::Ipv4(address)) => vec![address.into()],
            Some(Host::Ipv6(address)) => vec![address.into()],
            Some(Host::Domain(name)) => {
                let found = timeout(self.options.connect, self.options.resolver.resolve(name)).await;
                let unknown = |cause: String| {
                    Problem::new("no such host", cause, "check the name, or use another source")
                };
                match found {
                    Ok(Ok(found)) if !found.is_empty() => found,
                    Ok(Ok(_)) => return Err(unknown(format!("{name} has no address"))),
                    Ok(Err(error)) => return Err(unknown(format!("{name}: {error}"))),
                    Err(_) => return Err(unknown(format!("nobody told the address of {name} in time"))),
                }
            }
            None => Vec::new(),
        };
        let found: Vec<SocketAddr> = found.into_iter().map(|ip| SocketAddr::new(ip, port)).collect();
        // A name says what its owner wants it to say, so it is let in on nobody's list but its own.
        let listed = if spells_its_address(url) { listed } else { &[] };
        reachable(&found, listed).map_err(|(ip, what)| {
            let host = url.host_str().unwrap_or_default();
            let place = if ip.to_string() == host { host.to_owned() } else { format!("{host} ({ip})") };
            let hint = "fetch_url reaches public addresses alone; a person may list one as tools.fetch_private \
                in the settings of the home folder";
            Problem::new("refused", format!("{place} is {what}"), hint)
        })
    }

    /// A client for one request, which connects to these addresses whatever the name.
    fn client(&self, addresses: Vec<SocketAddr>) -> Result<Client, String> {
        let tls = self.tls.get_or_init(tls).as_ref().map_err(Clone::clone)?;
        let client = Client::builder()
            .tls_backend_preconfigured(tls.clone())
            .dns_resolver(Arc::new(Judged(addresses)))
            .redirect(redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .pool_max_idle_per_host(0)
            .connect_timeout(self.options.connect)
            .user_agent(concat!("petasos/", env!("CARGO_PKG_VERSION")));
        client.build().map_err(|error| error.without_url().to_string())
    }

    async fn read(&self, mut answer: Response, url: Url) -> Result<Fetched, Problem> {
        let status = answer.status();
        if !status.is_success() {
            return Err(not_given(&answer, &url));
        }
        let header = |name| answer.headers().get(name).and_then(|value| value.to_str().ok());
        if let Some(packing) = header(CONTENT_ENCODING).filter(|packing| *packing != "identity") {
            let cause = format!("{url} sends it packed as {packing}, which was not asked for");
            return Err(Problem::new("not readable", cause, "use another source"));
        }
        let media = header(CONTENT_TYPE).unwrap_or_default().to_owned();
        if !may_be_text(&media) {
            let size =
                answer.content_length().map_or("of unknown size".to_owned(), |size| format!("{size} bytes"));
            return Err(not_shown(&url, &media, &size));
        }
        let (mut bytes, mut is_cut) = (Vec::new(), false);
        while !is_cut {
            let piece = match timeout(self.options.idle, answer.chunk()).await {
                Ok(Ok(Some(piece))) => piece,
                Ok(Ok(None)) => break,
                Ok(Err(_)) => {
                    let cause = format!("{url} broke off after {} bytes", bytes.len());
                    return Err(Problem::new("not whole", cause, "try once more"));
                }
                Err(_) => {
                    let waited = self.options.idle.as_secs_f32();
                    let cause = format!("{url} sent nothing more for {waited} s after {} bytes", bytes.len());
                    return Err(Problem::new("too slow", cause, "try once more later, or another source"));
                }
            };
            let room = self.options.most_bytes.saturating_sub(bytes.len());
            is_cut = piece.len() > room;
            bytes.extend(piece.iter().take(room));
        }
        Ok(Fetched { url, status: status.as_u16(), media, bytes, is_cut })
    }
}

/// True if who reads an address sees where it leads: numbers, or a name that no name server can give away (RFC 6761).
fn spells_its_address(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => true,
        Some(Host::Domain(name)) => {
            let name = name.strip_suffix('.').unwrap_or(name);
            name == "localhost" || name.ends_with(".localhost")
        }
        None => false,
    }
}

/// What a server gave that is no text.
pub(super) fn not_shown(url: &Url, media: &str, size: &str) -> Problem {
    let hint = "only text is shown; to have the file, get it with run_command (curl -O)";
    // The server's own words stand in no mark here, so no more is repeated than can be a type.
    let is_of_type = |letter: &char| letter.is_ascii_alphanumeric() || "/+.-_".contains(*letter);
    let media: String = media.chars().take_while(is_of_type).take(80).collect();
    let media = if media.contains('/') { &*media } else { "of unknown type" };
    Problem::new("not shown", format!("{url} is {media}, {size}"), hint)
}

/// Where an answer sends on to; none if it does not.
fn next(answer: &Response, at: &Url) -> Result<Option<Url>, Problem> {
    if !matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let refused = |cause: String| {
        Problem::new("sent on to where nothing is fetched", cause, "try another address of the page")
    };
    let place = answer.headers().get(LOCATION).map(|place| String::from_utf8_lossy(place.as_bytes()));
    let Some(place) = place else {
        return Err(refused(format!("{at} answers {} and tells no place", answer.status())));
    };
    if place.len() > LONGEST {
        return Err(refused(format!("{at} sends on to an address of {} bytes", place.len())));
    }
    // The server's own words stand in no mark here: of the place only what it is read as is told.
    let mut next =
        at.join(&place).map_err(|error| refused(format!("{at} sends on to what is no address: {error}")))?;
    next.set_fragment(None);
    allowed(&next).map_err(|cause| refused(format!("{at} sends on, and {cause}")))?;
    Ok(Some(next))
}

/// Gives addresses that were judged, for any name: nothing is looked up a second time.
#[derive(Debug)]
struct Judged(Vec<SocketAddr>);

impl reqwest::dns::Resolve for Judged {
    fn resolve(&self, _: Name) -> Resolving {
        let addresses: Addrs = Box::new(self.0.clone().into_iter());
        Box::pin(ready(Ok(addresses)))
    }
}

fn tls() -> Result<ClientConfig, String> {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

fn unreached(url: &Url, error: &reqwest::Error) -> Problem {
    // The innermost source says what happened; those around it that something did.
    let mut why: &dyn std::error::Error = error;
    while let Some(source) = why.source() {
        why = source;
    }
    let hint = "check the address; if it is right, the server is down or refuses: use another source";
    Problem::new("not reached", format!("{url}: {why}"), hint)
}

fn not_given(answer: &Response, url: &Url) -> Problem {
    let status = answer.status();
    let hint = match status {
        StatusCode::NOT_FOUND | StatusCode::GONE => {
            "the page is not there: check the address, or start from the site's root"
        }
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
            "the site wants a login or takes no programs, and no login is ever sent: use another source"
        }
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => "ask later, or use another source",
        status if status.is_server_error() => "the server failed: try once more later, or use another source",
        _ => "use another address or source",
    };
    let wait = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let wait = wait
        // Seconds or a date, and no other words of the server.
        .filter(|wait| {
            wait.len() < 40
                && wait.chars().all(|letter| letter.is_ascii_alphanumeric() || " ,:".contains(letter))
        })
        .map_or(String::new(), |wait| format!(", to be asked again after {wait}"));
    Problem::new("the page was not given", format!("{status} from {url}{wait}"), hint)
}
