//! Case G-11: addresses that lead inwards, however they are written.

use std::net::IpAddr;

use petasos_tools::{Special, special};

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
