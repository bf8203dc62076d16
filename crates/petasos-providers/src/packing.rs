//! Bodies that are packed though nobody asked for it: told as such, for what is in them cannot be read.

use reqwest::header::{CONTENT_ENCODING, HeaderMap};

/// The first two bytes of a gzip (RFC 1952).
const GZIP: &[u8] = &[0x1f, 0x8b];

/// True if more has to come before it is known that a body is no gzip.
pub(crate) fn may_be_gzip(start: &[u8]) -> bool {
    start.len() < GZIP.len() && GZIP.starts_with(start)
}

/// True if a body is packed as gzip.
pub(crate) fn is_gzip(body: &[u8]) -> bool {
    body.starts_with(GZIP)
}

/// What is said of a body that is packed though nobody asked for it.
pub(crate) fn packed(host: &str, packing: &str) -> String {
    format!(
        "{host} sent a body packed as {packing}, which was not asked for; a proxy between may do so: take it out of \
         the way, or give the base URL of the server itself"
    )
}

/// How a body is packed, in the words of its head; none if it is not.
pub(crate) fn packing(headers: &HeaderMap) -> Option<String> {
    let told = headers.get(CONTENT_ENCODING)?.to_str().unwrap_or("an unknown way").to_ascii_lowercase();
    let told: String = told.trim().chars().take(50).collect();
    (!told.is_empty() && told != "identity").then_some(told)
}
