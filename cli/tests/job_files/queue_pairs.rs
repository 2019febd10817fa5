//! Fields of queue pairs.

use super::*;

#[test]
fn queue_pairs_are_checked() {
    assert_eq!(
        set("/qps/0/qpn", json!(1 << 24)),
        "qps[0].qpn: must be at most 16777215, is 16777216"
    );
    assert_eq!(
        set("/qps/0/start_psn", json!(1 << 24)),
        "qps[0].start_psn: must be at most 16777215, is 16777216"
    );
    assert_eq!(
        set("/qps/0/mtu", json!(1500)),
        "qps[0].mtu: 1500 is none of 256, 512, 1024, 2048 and 4096"
    );
    assert_eq!(
        set("/qps/0/dest_mac", json!("02:00")),
        "qps[0].dest_mac: \"02:00\" is not a MAC address like 02:00:00:00:00:01"
    );
    assert_eq!(
        set("/qps/0/dest_ip", json!("10.0.0.256")),
        "qps[0].dest_ip: \"10.0.0.256\" is not an IPv4 address like 10.0.0.1"
    );
    assert_eq!(
        set("/qps/0/transport", json!("xrc")),
        "qps[0].transport: \"xrc\" is none of rc, uc and ud"
    );
    assert_eq!(set("/qps/1/name", json!("red")), "qps[1].name: \"red\" is already used by qps[0]");
    assert_eq!(set("/qps/1/qpn", json!(17)), "qps[1].qpn: 17 is already used by qps[0]");
}

#[test]
fn a_job_needs_no_more_queues_than_a_card_has() {
    let mut job = good();
    let red = job["qps"][0].clone();
    let qps = job["qps"].as_array_mut().unwrap();
    let others = 4096 - qps.len();
    for i in 0..others {
        let mut other = red.clone();
        (other["name"], other["qpn"]) = (json!(format!("other{i}")), json!(1000 + i));
        qps.push(other);
    }
    let text = parse(&job).unwrap_err().to_string();
    assert_eq!(text, "posts: the job needs 4097 send queues, a card has 4096");
    job["qps"].as_array_mut().unwrap().pop();
    assert!(parse(&job).is_ok(), "4,095 queue pairs and a shared send queue");
}

#[test]
fn addresses_that_no_interface_has_are_refused() {
    let must = "it must be the address of one interface";
    for (mac, what) in [
        ("00:00:00:00:00:00", "no address"),
        ("ff:ff:ff:ff:ff:ff", "the broadcast address"),
        ("01:00:5e:00:00:01", "a multicast address"),
    ] {
        let expected = format!("local.mac: {mac} is {what}: {must}");
        assert_eq!(message("/local/mac", Some(json!(mac))), expected);
        let expected = format!("qps[1].dest_mac: {mac} is {what}: {must}");
        assert_eq!(message("/qps/1/dest_mac", Some(json!(mac))), expected);
    }
    for (ip, what) in [
        ("0.0.0.0", "no address"),
        ("255.255.255.255", "the broadcast address"),
        ("224.0.0.1", "a multicast address"),
    ] {
        let expected = format!("local.ip: {ip} is {what}: {must}");
        assert_eq!(message("/local/ip", Some(json!(ip))), expected);
        let expected = format!("qps[0].dest_ip: {ip} is {what}: {must}");
        assert_eq!(message("/qps/0/dest_ip", Some(json!(ip))), expected);
    }
    for number in ["qpn", "dest_qpn"] {
        let expected = format!("qps[0].{number}: must be at least 1, is 0");
        assert_eq!(message(&format!("/qps/0/{number}"), Some(json!(0))), expected);
    }
}

/// Knows the peers' addresses in 10.0.0.0/24.
struct Rack;

impl libdrdma::Resolver for Rack {
    fn resolve(
        &self,
        ip: std::net::Ipv4Addr,
    ) -> Result<libdrdma::MacAddress, libdrdma::ResolveError> {
        match ip.octets() {
            [10, 0, 0, host] => Ok(libdrdma::MacAddress([2, 0, 0, 0, 1, host])),
            _ => Err(libdrdma::ResolveError::NoRoute { ip }),
        }
    }
}

#[test]
fn a_mac_address_that_is_left_out_is_resolved() {
    let parse = |job: &Value| Job::parse_with(&job.to_string(), Path::new("."), &Rack);
    let mut job = good();
    job["qps"][0].as_object_mut().unwrap().remove("dest_mac");
    let found = parse(&job).unwrap();
    assert_eq!(found.qps[0].dest_mac, 0x0200_0000_0102);
    assert_eq!(found.qps[1].dest_mac, 0x0200_0000_0003, "one that is given wins");
    job["qps"][0]["dest_ip"] = json!("10.1.0.2");
    let error = parse(&job).unwrap_err().to_string();
    let text = "is missing, and not known: 10.1.0.2: the host has no route to it";
    assert_eq!(error, format!("qps[0].dest_mac: {text}"));
    // The host's own tables have no network for documentation (RFC 5737), or nobody there.
    job["qps"][0]["dest_ip"] = json!("192.0.2.7");
    let error = Job::parse(&job.to_string(), Path::new(".")).unwrap_err().to_string();
    assert!(error.starts_with("qps[0].dest_mac: is missing, and not known: "), "{error}");
}

#[test]
fn what_is_in_the_headers_has_limits() {
    let mut job = good();
    let found = Job::parse(&job.to_string(), Path::new(".")).unwrap();
    assert_eq!((found.qps[0].dscp, found.qps[0].ecn, found.qps[0].ttl), (0, 0, 64));
    for (field, value) in [("dscp", 63), ("ecn", 3), ("ttl", 255)] {
        job["qps"][0][field] = json!(value);
    }
    let found = Job::parse(&job.to_string(), Path::new(".")).unwrap();
    assert_eq!((found.qps[0].dscp, found.qps[0].ecn, found.qps[0].ttl), (63, 3, 255));
    for (field, value, text) in [
        ("dscp", json!(64), "must be at most 63, is 64"),
        ("ecn", json!(4), "must be at most 3, is 4"),
        ("ttl", json!(0), "must be at least 1, is 0"),
    ] {
        let mut job = job.clone();
        job["qps"][0][field] = value;
        let error = Job::parse(&job.to_string(), Path::new(".")).unwrap_err().to_string();
        assert_eq!(error, format!("qps[0].{field}: {text}"));
    }
}

#[test]
fn a_vlan_has_a_number_and_a_priority() {
    let with = |vlan: Value| {
        let mut job = good();
        job["qps"][0]["vlan"] = vlan;
        Job::parse(&job.to_string(), Path::new("."))
    };
    assert_eq!(Job::parse(&good().to_string(), Path::new(".")).unwrap().qps[0].vlan, None);
    for (vlan, id, priority) in
        [(json!({"id": 4094}), 4094, 0), (json!({"id": 1, "priority": 7}), 1, 7)]
    {
        assert_eq!(with(vlan).unwrap().qps[0].vlan, Some(VlanTag { id, priority }));
    }
    for (vlan, error) in [
        (json!({"id": 0}), "qps[0].vlan.id: must be at least 1, is 0"),
        (json!({"id": 4095}), "qps[0].vlan.id: must be at most 4094, is 4095"),
        (json!({"id": 1, "priority": 8}), "qps[0].vlan.priority: must be at most 7, is 8"),
        (json!({"priority": 1}), "qps[0].vlan.id: is missing"),
        (
            json!({"id": 1, "dei": 1}),
            "qps[0].vlan.dei: unknown field; the fields here are id and priority",
        ),
    ] {
        assert_eq!(with(vlan).unwrap_err().to_string(), error);
    }
}
