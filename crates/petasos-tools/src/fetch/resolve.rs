//! Who tells the addresses of a name.

use std::fmt;
use std::io;
use std::net::IpAddr;

use futures_util::future::BoxFuture;

/// Tells the addresses of a name. Asked once for each address that is fetched, and for each redirect to a name; never
/// for an address that stands there as numbers. The connection goes to what it told, and it is not asked again.
/// Dropping the answer gives it up.
pub trait Resolve: fmt::Debug + Send + Sync {
    /// The addresses of a host, in the order in which they are tried.
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The resolver of this machine.
#[derive(Clone, Copy, Debug)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}
