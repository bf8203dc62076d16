//! Case G-11: addresses that lead inwards, however they are written.

use std::net::{IpAddr, SocketAddr};

use petasos_core::tool::Outcome;
use petasos_testkit::page_server::{Page, PageServer};
use petasos_tools::{FetchOptions, Special, special};

use crate::say::{arguments, trouble, wait};
use crate::web::{Names, browsing, room};

fn is(address: &str, what: Option<Special>) {
    assert_eq!(special(address.parse::<IpAddr>().unwrap()), what, "{address}");
}

/// First and last of each network, and its neighbours outside.
#[test]
fn case_g11_every_special_network_of_ipv4_is_refused_to_its_ends() {
    use Special::{LinkLocal, Metadata, Multicast, Private, Reserved, ThisMachine};
    let refused = [
        ("0.0.0.0", "0.255.255.255", ThisMachine),
        ("10.0.0.0", "10.255.255.255", Private),
        ("100.64.0.0", "100.127.255.255", Private),
        ("100.100.100.200", "100.100.100.200", Metadata),
        ("127.0.0.0", "127.255.255.255", ThisMachine),
        ("168.63.129.16", "168.63.129.16", Metadata),
        ("169.254.0.0", "169.254.255.255", LinkLocal),
        ("169.254.169.254", "169.254.170.2", LinkLocal),
        ("172.16.0.0", "172.31.255.255", Private),
        ("192.0.0.0", "192.0.0.255", Reserved),
        ("192.0.2.0", "192.0.2.255", Reserved),
        ("192.88.99.0", "192.88.99.255", Reserved),
        ("192.168.0.0", "192.168.255.255", Private),
        ("198.18.0.0", "198.19.255.255", Reserved),
        ("198.51.100.0", "198.51.100.255", Reserved),
        ("203.0.113.0", "203.0.113.255", Reserved),
        ("224.0.0.0", "239.255.255.255", Multicast),
        ("240.0.0.0", "255.255.255.255", Reserved),
    ];
    for (first, last, what) in refused {
        is(first, Some(what));
        is(last, Some(what));
    }
    let reached = [
        "1.0.0.0",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "168.63.129.15",
        "168.63.129.17",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "191.255.255.255",
        "192.0.1.0",
        "192.0.3.0",
        "192.88.98.255",
        "192.88.100.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "198.51.99.255",
        "198.51.101.0",
        "203.0.112.255",
        "203.0.114.0",
        "223.255.255.255",
        "8.8.8.8",
        "93.184.216.34",
    ];
    for address in reached {
        is(address, None);
    }
}

#[test]
fn case_g11_of_ipv6_only_what_is_global_is_reached() {
    use Special::{LinkLocal, Metadata, Multicast, Private, Reserved, ThisMachine};
    let refused = [
        ("::", ThisMachine),
        ("::1", ThisMachine),
        ("::2", Reserved),
        ("::8.8.8.8", Reserved),
        ("::ffff:0:8.8.8.8", Reserved),
        ("64:ff9b:1::8.8.8.8", Reserved),
        ("100::1", Reserved),
        ("2001::1", Reserved),
        ("2001:2::1", Reserved),
        ("2001:10::1", Reserved),
        ("2001:20::1", Reserved),
        ("2001:1ff:ffff::1", Reserved),
        ("2001:db8::1", Reserved),
        ("2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", Reserved),
        ("3fff::1", Reserved),
        ("3fff:fff:ffff::1", Reserved),
        ("4000::1", Reserved),
        ("5f00::1", Reserved),
        ("8000::1", Reserved),
        ("fc00::1", Private),
        ("fd00::1", Private),
        ("fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Private),
        ("fd00:ec2::254", Metadata),
        ("fd20:ce::254", Metadata),
        ("fe00::1", Reserved),
        ("fe80::1", LinkLocal),
        ("febf:ffff::1", LinkLocal),
        ("fec0::1", Private),
        ("feff::1", Private),
        ("ff02::1", Multicast),
        ("ff0e::1", Multicast),
    ];
    for (address, what) in refused {
        is(address, Some(what));
    }
    let reached =
        ["2001:200::1", "2001:db7:ffff::1", "2001:db9::1", "2400:cb00::1", "2606:2800:220:1::1", "2a00::1"];
    for address in reached.into_iter().chain(["3ffe:ffff::1", "3fff:1000::1"]) {
        is(address, None);
    }
}

/// Mapped, translated, tunnelled: each with an address that may be reached, and with one that may not.
#[test]
fn case_g11_an_address_that_carries_another_is_judged_by_it() {
    use Special::{LinkLocal, Metadata, Private, Reserved, ThisMachine};
    let refused = [
        ("::ffff:127.0.0.1", ThisMachine),
        ("::ffff:7f00:1", ThisMachine),
        ("::ffff:0.0.0.0", ThisMachine),
        ("::ffff:169.254.169.254", LinkLocal),
        ("::ffff:a9fe:a9fe", LinkLocal),
        ("::ffff:100.100.100.200", Metadata),
        ("::ffff:10.1.2.3", Private),
        ("64:ff9b::127.0.0.1", ThisMachine),
        ("64:ff9b::a9fe:a9fe", LinkLocal),
        ("64:ff9b::192.168.1.1", Private),
        ("2002:7f00:1::", ThisMachine),
        ("2002:a9fe:a9fe::1", LinkLocal),
        ("2002:c0a8:101:1::1", Private),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", Reserved),
        ("2606:2800:220:1:0:5efe:10.0.0.1", Private),
        ("2606:2800:220:1:200:5efe:127.0.0.1", ThisMachine),
        ("fe80::5efe:8.8.8.8", LinkLocal),
        ("fd00::200:5efe:8.8.8.8", Private),
    ];
    for (address, what) in refused {
        is(address, Some(what));
    }
    let reached = ["::ffff:93.184.216.34", "64:ff9b::93.184.216.34", "2002:5db8:d822::1"];
    for address in reached.into_iter().chain(["2606:2800:220:1:0:5efe:93.184.216.34"]) {
        is(address, None);
    }
}

/// Numbers are an address in many spellings, and no name server is asked of any.
#[test]
fn case_g11_every_spelling_of_a_private_address_is_refused() {
    let inward = PageServer::start([("/", Page::html("the inside"))]);
    let port = inward.address().port();
    let spelled = [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "127.255.255.254",
        "0.0.0.0",
        "0",
        "0x0",
        "0x7f.1",
        "0x7f.0.0.1",
        "0x7f000001",
        "0X7F000001",
        "2130706433",
        "017700000001",
        "0177.0.0.1",
        "0177.0x0.0.1",
        "127.0.0.1.",
        "%31%32%37.0.0.1",
        "１２７.0.0.1",
        "127。0。0。1",
        "①②⑦.0.0.1",
        "10.0.0.1",
        "0xa.0.0.1",
        "167772161",
        "172.16.0.1",
        "192.168.1.1",
        "0xc0a80101",
        "169.254.169.254",
        "0xa9fea9fe",
        "2852039166",
        "0251.0376.0251.0376",
        "169.254.43518",
        "100.100.100.200",
        "168.63.129.16",
        "100.64.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::FFFF:7F00:0001]",
        "[0:0:0:0:0:ffff:127.0.0.1]",
        "[::ffff:a9fe:a9fe]",
        "[::ffff:169.254.169.254]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b::169.254.169.254]",
        "[64:ff9b:1::1]",
        "[2002:7f00:1::]",
        "[2002:a9fe:a9fe::]",
        "[2001:0:4136:e378:8000:63bf:3fff:fdd2]",
        "[fd00::1]",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "[fec0::1]",
        "[ff02::1]",
        "[fe80::5efe:127.0.0.1]",
        "[2606:2800:220:1:0:5efe:127.0.0.1]",
    ];
    let nobody = Names::nobody();
    let room = room(FetchOptions { resolver: nobody.clone(), ..FetchOptions::default() });
    for host in spelled {
        for url in [format!("http://{host}:{port}/"), format!("https://{host}/latest/meta-data/")] {
            let output = wait(room.call("fetch_url", &arguments(&[("url", &url)])));
            let text = output.for_model.text();
            assert_eq!(output.outcome, Outcome::Error, "{url}: {text}");
            assert_eq!(trouble(text)["error"], "refused", "{url}: {text}");
        }
    }
    assert_eq!((inward.connections(), nobody.asked()), (0, Vec::new()));
}

/// One private address among public ones is refused with them; so is each name of this machine.
#[test]
fn case_g11_a_name_that_has_a_private_address_is_refused() {
    let inward = PageServer::start([("/", Page::html("the inside"))]);
    let port = inward.address().port();
    let names = Names::of(&[
        ("localhost", &["127.0.0.1"]),
        ("LOCALHOST.", &["::1"]),
        ("inside.test", &["93.184.216.34", "127.0.0.1"]),
        ("mapped.test", &["::ffff:127.0.0.1"]),
        ("nat64.test", &["64:ff9b::7f00:1", "93.184.216.34"]),
        ("metadata.test", &["169.254.169.254"]),
        ("any.test", &["0.0.0.0"]),
    ]);
    let room = room(FetchOptions { resolver: names.clone(), ..FetchOptions::default() });
    for name in
        ["localhost", "LOCALHOST.", "inside.test", "mapped.test", "nat64.test", "metadata.test", "any.test"]
    {
        let url = format!("http://{name}:{port}/");
        let text = wait(room.text("fetch_url", &arguments(&[("url", &url)])));
        assert_eq!(trouble(&text)["error"], "refused", "{url}: {text}");
    }
    assert_eq!((inward.connections(), names.asked().len()), (0, 7));
}

#[test]
fn case_g11_a_redirect_to_a_private_address_or_another_scheme_is_refused() {
    let inward = PageServer::start([("/", Page::html("the inside"))]);
    let mapped = format!("http://[::ffff:127.0.0.1]:{}/", inward.address().port());
    let name = format!("http://inside.test:{}/", inward.address().port());
    let inside = inward.url("/");
    let places = [
        ("/1", "http://169.254.169.254/latest/meta-data/", "refused"),
        ("/2", &*inside, "refused"),
        ("/3", &*mapped, "refused"),
        ("/4", &*name, "refused"),
        ("/5", "http://2130706433/", "refused"),
        ("/6", "//10.0.0.1/", "refused"),
        ("/7", "file:///etc/passwd", "sent on to where nothing is fetched"),
        ("/8", "ftp://93.184.216.34/", "sent on to where nothing is fetched"),
        ("/9", "data:text/html,inside", "sent on to where nothing is fetched"),
        ("/10", "http://user:word@93.184.216.34/", "sent on to where nothing is fetched"),
        ("/11", "http://[nothing/", "sent on to where nothing is fetched"),
    ];
    let pages = places.iter().map(|(path, place, _)| (*path, Page::to(place)));
    let outward = PageServer::start(pages.chain([("/12", Page::answer("302 Found", &[], ""))]));
    let names = Names::of(&[("inside.test", &["127.0.0.1"])]);
    let room =
        room(FetchOptions { private: vec![outward.address()], resolver: names, ..FetchOptions::default() });
    for (path, place, error) in places.into_iter().chain([("/12", "", "sent on to where nothing is fetched")])
    {
        let text = wait(room.text("fetch_url", &arguments(&[("url", &outward.url(path))])));
        assert_eq!(trouble(&text)["error"], error, "{place}: {text}");
    }
    assert_eq!((inward.connections(), outward.connections()), (0, 12));
}

/// What a person listed is there for who names it: a name says what its owner wants, and a page sends on to where it
/// likes.
#[test]
fn case_g11_what_a_person_listed_is_reached_by_nobody_elses_word() {
    let inward = PageServer::start([("/", Page::html("the inside")), ("/again", Page::to("/"))]);
    let port = inward.address().port();
    let names = Names::of(&[
        ("outside.test", &["127.0.0.1"]),
        ("both.test", &["93.184.216.34", "127.0.0.1"]),
        ("app.localhost", &["127.0.0.1"]),
    ]);
    let room =
        room(FetchOptions { private: vec![inward.address()], resolver: names, ..FetchOptions::default() });
    for name in ["outside.test", "both.test", "localhost.test"] {
        let url = format!("http://{name}:{port}/");
        let text = wait(room.text("fetch_url", &arguments(&[("url", &url)])));
        let error = if name == "localhost.test" { "no such host" } else { "refused" };
        assert_eq!(trouble(&text)["error"], error, "{url}: {text}");
    }
    assert_eq!(inward.connections(), 0);
    for url in [inward.url("/again"), format!("http://app.localhost:{port}/again")] {
        let text = wait(room.text("fetch_url", &arguments(&[("url", &url)])));
        assert!(text.contains("the inside"), "{url}: {text}");
    }
    assert_eq!(inward.connections(), 4);
}

/// A name server that answers differently the second time is not asked a second time: the connection goes to what was
/// judged. After a redirect the name is asked and judged anew.
#[test]
fn case_g11_a_name_that_changes_its_address_is_connected_where_it_was_checked() {
    let inward = PageServer::start([("/", Page::html("the inside"))]);
    // The first may be connected to, and nobody listens there.
    let names = Names::changing("rebind.localhost", &[&["127.0.0.3"], &["127.0.0.1"]]);
    let nobody = SocketAddr::from(([127, 0, 0, 3], inward.address().port()));
    let options = FetchOptions { private: vec![nobody], resolver: names.clone(), ..FetchOptions::default() };
    let url = format!("http://rebind.localhost:{}/", inward.address().port());
    let text = wait(room(options).text("fetch_url", &arguments(&[("url", &url)])));
    assert_eq!(trouble(&text)["error"], "not reached", "{text}");
    assert_eq!((inward.connections(), names.asked().len()), (0, 1));

    let (server, _) = browsing([("/page", Page::html("a page")), ("/again", Page::to("/page"))]);
    let names = Names::changing("rebind.localhost", &[&["127.0.0.1"], &["127.0.0.2"]]);
    let room = room(FetchOptions {
        private: vec![server.address()],
        resolver: names.clone(),
        ..FetchOptions::default()
    });
    let url = |path: &str| format!("http://rebind.localhost:{}{path}", server.address().port());
    let text = wait(room.text("fetch_url", &arguments(&[("url", &url("/again"))])));
    assert_eq!(trouble(&text)["error"], "refused", "{text}");
    assert!(text.contains("rebind.localhost (127.0.0.2) is this machine"), "{text}");
    let heads = server.asked();
    assert_eq!((heads.len(), names.asked().len()), (1, 2));
    assert!(
        heads[0].contains(&format!("host: rebind.localhost:{}", server.address().port())),
        "{}",
        heads[0]
    );
}
