//! The words of tests that fetch: a room that may reach one server of the loopback, and names with addresses.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use petasos_testkit::page_server::{Page, PageServer};
use petasos_tools::{FetchOptions, Options, Resolve};

use crate::say::{Room, arguments, wait};

/// A room that fetches so.
pub fn room(fetch: FetchOptions) -> Room {
    Room::with(Options { fetch, ..Options::default() })
}

/// A server, and a room that may reach it.
pub fn browsing<'a>(pages: impl IntoIterator<Item = (&'a str, Page)>) -> (PageServer, Room) {
    let server = PageServer::start(pages);
    let room = room(FetchOptions { private: vec![server.address()], ..FetchOptions::default() });
    (server, room)
}

/// What a model reads of a page.
pub fn page(page: Page) -> String {
    let (server, room) = browsing([("/", page)]);
    wait(room.text("fetch_url", &arguments(&[("url", &server.url("/"))])))
}

/// Names with their addresses; each answer of a name comes once, the last again and again.
#[derive(Debug, Default)]
pub struct Names {
    known: Mutex<BTreeMap<String, Vec<Vec<IpAddr>>>>,
    asked: Mutex<Vec<String>>,
}

impl Names {
    /// Nobody is to be asked.
    pub fn nobody() -> Arc<Self> {
        Arc::default()
    }

    pub fn of(names: &[(&str, &[&str])]) -> Arc<Self> {
        let names = names.iter().map(|(name, addresses)| (lower(name), vec![parsed(addresses)]));
        Arc::new(Self { known: Mutex::new(names.collect()), ..Self::default() })
    }

    /// A name whose addresses change with each question.
    pub fn changing(name: &str, answers: &[&[&str]]) -> Arc<Self> {
        let answers = answers.iter().map(|addresses| parsed(addresses)).collect();
        Arc::new(Self { known: Mutex::new(BTreeMap::from([(lower(name), answers)])), ..Self::default() })
    }

    /// The names that were asked for, in order.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Resolve for Names {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        self.asked.lock().unwrap().push(host.to_owned());
        let mut known = self.known.lock().unwrap();
        let answer = known
            .get_mut(&lower(host))
            .map(|answers| if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() });
        let unknown = || io::Error::new(io::ErrorKind::NotFound, "nobody knows that name");
        Box::pin(std::future::ready(answer.ok_or_else(unknown)))
    }
}

fn lower(name: &str) -> String {
    name.to_lowercase()
}

fn parsed(addresses: &[&str]) -> Vec<IpAddr> {
    addresses.iter().map(|address| address.parse().unwrap()).collect()
}
