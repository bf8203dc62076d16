//! Where a provider is and how long to wait for it.

use std::fmt;
use std::net::Ipv4Addr;
use std::time::Duration;

use petasos_core::request::Wire;
use petasos_core::text::Text;
use reqwest::Url;
use tokio::time::Instant;

use crate::address::{is_loopback, is_near};
use crate::error::ProviderError;
use crate::http::request_path;
use crate::quirks::Quirks;
use crate::secret::Secret;

/// Whom requests go to. Its URL was checked when it was made.
#[derive(Clone)]
pub struct Endpoint {
    name: Text,
    base: Url,
    wire: Wire,
    /// The key, if it wants one.
    pub key: Option<Secret>,
    usual: Timeouts,
    set: TimeoutsSet,
}

// A query may hold a key, so only the host is shown.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Endpoint");
        shown.field("name", &self.name).field("host", &self.host()).field("wire", &self.wire);
        shown.field("key", &self.key).field("usual", &self.usual).field("set", &self.set).finish()
    }
}

/// How long to wait for what. Each wait ends in a failure that core retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Duration,
    /// From the request to the first piece of the reply, the connection included.
    pub first_byte: Duration,
    /// Between two pieces of the reply. A slow trickle of them is no stall; comments, pings and events that change
    /// nothing are no pieces.
    pub idle: Duration,
    /// For the whole reply; `None` is no limit.
    pub call: Option<Duration>,
}

/// What a person set of [`Timeouts`]: it counts whatever the address and the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeoutsSet {
    /// For a connection.
    pub connect: Option<Duration>,
    /// To the first piece of the reply.
    pub first_byte: Option<Duration>,
    /// Between two pieces of it.
    pub idle: Option<Duration>,
    /// For the whole of it.
    pub call: Option<Duration>,
}

impl Timeouts {
    /// For a server on this machine or in a network of one's own: 10 s, 1,800 s, 1,800 s, none. A model on a small
    /// computer may read a long request for many minutes before its first word, and there is little network between
    /// that could lose one.
    pub const LOCAL: Self = Self {
        connect: Duration::from_secs(10),
        first_byte: Duration::from_secs(1_800),
        idle: Duration::from_secs(1_800),
        call: None,
    };

    /// For the first byte and between two pieces of a model that may think for minutes before its first word: 600 s.
    /// The client of OpenAI waits as long, and DeepSeek closes what has not begun by then.
    pub const THINKING: Duration = Duration::from_secs(600);

    /// The longest that comments, pings and events that change nothing keep a reply from being taken for stalled,
    /// counted from what came last: 1,800 s, as long as a local server may be silent. OpenRouter and DeepSeek send
    /// comments for minutes while a request waits for its machine, so such a server is not gone; but one that sends
    /// nothing else for half an hour will not answer any more. Where a person set the wait, that is the whole of it.
    pub const ALIVE: Duration = Self::LOCAL.idle;
}

impl Default for Timeouts {
    /// 10 s, 120 s, 120 s, none.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(120),
            idle: Duration::from_secs(120),
            call: None,
        }
    }
}

/// The waits of one call: how long for each piece, and how long at most where the server shows that it is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Patience {
    pub(crate) timeouts: Timeouts,
    pub(crate) alive_first_byte: Duration,
    pub(crate) alive_idle: Duration,
}

/// The moment after this one by so much; far away where a person asked for more than a clock can hold.
pub(crate) fn after(moment: Instant, wait: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);
    moment + wait.min(FAR)
}

impl Endpoint {
    /// An endpoint without a key and with the default waits; on this machine and in a network of one's own (the
    /// addresses of the loopback and of private networks, `.local`, `.lan`, names of one label) with those of
    /// [`Timeouts::LOCAL`].
    ///
    /// The base URL is used as given; what requests of the wire go to, such as `/chat/completions`, and `/models` go
    /// behind its path. Slashes at its end do not count, nor does the path of requests, if it is there already.
    ///
    /// # Errors
    /// [`ProviderError`] if no request could go there, or none on this wire.
    pub fn new(name: &str, base_url: &str, wire: Wire) -> Result<Self, ProviderError> {
        let base_url = base_url.trim();
        let bad = |why: &str| ProviderError::BadUrl { url: shown(base_url), why: why.to_owned() };
        // `localhost:8080` would be read as a scheme.
        if !base_url.contains("://") && !base_url.starts_with("http:") && !base_url.starts_with("https:") {
            return Err(bad(&format!(
                "it does not begin with http:// or https://; {}",
                written_whole(base_url)
            )));
        }
        let base = Url::parse(base_url).map_err(|error| bad(&error.to_string()))?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(bad("its scheme is neither http nor https"));
        }
        if !base.has_host() {
            return Err(bad("it names no host"));
        }
        if !base.username().is_empty() || base.password().is_some() {
            return Err(bad("it holds a user name or a password; a key goes into its variable"));
        }
        let base = without_request_path(base, wire);
        let usual = if base.host_str().is_some_and(is_near) { Timeouts::LOCAL } else { Timeouts::default() };
        Ok(Self { name: name.into(), base, wire, key: None, usual, set: TimeoutsSet::default() })
    }

    /// With a key; an empty one is none.
    #[must_use]
    pub fn with_key(mut self, key: Secret) -> Self {
        self.key = Some(key).filter(|key| !key.is_empty());
        self
    }

    /// With other usual waits: what holds where a person set none.
    #[must_use]
    pub fn with_timeouts(mut self, usual: Timeouts) -> Self {
        self.usual = usual;
        self
    }

    /// With what a person set of its waits.
    #[must_use]
    pub fn with_set(mut self, set: TimeoutsSet) -> Self {
        self.set = set;
        self
    }

    /// How long to wait for what of this model: what a person set, else by the address and the model's name.
    pub fn timeouts(&self, model: &str) -> Timeouts {
        let usual = self.usual;
        let thinking =
            if Quirks::of(&self.name).is_slow(model) { Timeouts::THINKING } else { Duration::ZERO };
        Timeouts {
            connect: self.connect_timeout(),
            first_byte: self.set.first_byte.unwrap_or(usual.first_byte.max(thinking)),
            idle: self.set.idle.unwrap_or(usual.idle.max(thinking)),
            call: self.set.call.or(usual.call),
        }
    }

    /// The waits of a call of this model.
    pub(crate) fn patience(&self, model: &str) -> Patience {
        Patience {
            timeouts: self.timeouts(model),
            alive_first_byte: self.set.first_byte.unwrap_or(Timeouts::ALIVE),
            alive_idle: self.set.idle.unwrap_or(Timeouts::ALIVE),
        }
    }

    /// How long to wait for a connection.
    pub(crate) fn connect_timeout(&self) -> Duration {
        self.set.connect.unwrap_or(self.usual.connect)
    }

    /// What the provider is called.
    pub fn name(&self) -> &Text {
        &self.name
    }

    /// Which protocol it speaks.
    pub fn wire(&self) -> Wire {
        self.wire
    }

    /// Its host, with its port if that is not the usual one.
    pub fn host(&self) -> String {
        let host = self.base.host_str().unwrap_or_default();
        match self.base.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// The URL of something below the root of the server.
    pub(crate) fn root_url(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        url.set_path(&path.join("/"));
        url.set_query(None);
        url
    }

    /// True for this machine and a network of one's own.
    pub(crate) fn is_near(&self) -> bool {
        self.base.host_str().is_some_and(is_near)
    }

    /// The URL of something below the base.
    pub(crate) fn url(&self, below: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            for _ in self.base.path().bytes().rev().take_while(|byte| *byte == b'/') {
                path.pop_if_empty();
            }
            path.extend(below);
        }
        url
    }

    /// True if the base URL has no path, so that a missing `/v1` is likely.
    pub(crate) fn is_without_path(&self) -> bool {
        self.base.path().trim_matches('/').is_empty()
    }

    /// True if it is on this machine: no proxy is asked.
    pub(crate) fn is_loopback(&self) -> bool {
        self.base.host_str().is_some_and(is_loopback)
    }
}

/// A base URL without the path of requests: people give what they see in examples. On Messages, one that ends in
/// `/anthropic` goes on with `v1`: that is how such addresses are given to the vendor's own clients, which add it.
fn without_request_path(mut base: Url, wire: Wire) -> Url {
    let path = base.path().trim_end_matches('/');
    let requests = [Wire::Chat, Wire::Responses, Wire::Messages].map(|of| request_path(of).join("/"));
    let before = requests.iter().find_map(|request| path.strip_suffix(request)?.strip_suffix('/'));
    let before = before.unwrap_or(path);
    let version = if wire == Wire::Messages && before.ends_with("/anthropic") { "/v1" } else { "" };
    let path = format!("{before}{version}");
    base.set_path(&path);
    base
}

/// What to write for an address whose scheme was left out: on this machine and in a private network servers mostly
/// speak in the open.
fn written_whole(base_url: &str) -> String {
    let (typed, rest) = ["https//", "http//"]
        .iter()
        .find_map(|typed| Some((typed.trim_end_matches('/'), base_url.strip_prefix(typed)?)))
        .unwrap_or(("", base_url));
    let rest = shown(rest.trim_start_matches('/'));
    let host = rest.split('/').next().unwrap_or_default();
    if host.is_empty() {
        return String::from("write it whole");
    }
    let bare = host.rsplit_once(':').map_or(host, |(bare, _)| bare);
    let is_private = bare.parse::<Ipv4Addr>().is_ok_and(|address| address.is_private());
    let scheme = match typed {
        "" if is_loopback(bare) || is_private => "http",
        "" => "https",
        typed => typed,
    };
    format!("write {scheme}://{rest}")
}

/// A URL without what stands before its host and in its query: either may be a key.
fn shown(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    let short: String = host.chars().take(200).collect();
    if scheme.is_empty() { short } else { format!("{scheme}://{short}") }
}
